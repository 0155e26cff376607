"""Which chain of the database a local log belongs to, and from where on it is to be sent.

Nothing about this is stored on the machine: the database says what it has, and the log shows whether it has the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from toolguard_fleet.shipping.audit_reader import AuditReader, Position, is_beginning
from toolguard_fleet.shipping.chain_line import ChainLine

ROWS, BYTES = 500, 512 * 1024
"""Of an offer. Where a fork is older than that, its first line stays unknown."""

COMPARED = 10
"""Chains of the database that are looked for in the log, the latest first."""


class Head(msgspec.Struct, frozen=True):
    """The end of a chain in the database; see `fleet.audit_head`."""

    chain: str
    first: int
    seq: int
    hash: str
    forked: int | None = None


@dataclass(frozen=True)
class Offer:
    """The log differs from the chain, or ends before it: the database is to compare these lines, which follow each other."""

    chain: str
    lines: list[ChainLine]


def locate(log: AuditReader, heads: list[Head]) -> Position | Offer | None:
    """`heads`: the latest first. None: there is nothing to send, or the log is being rotated. A new chain is a position
    before its first line. Raises `OSError`."""
    parts = log.parts()
    position = _located(log, heads)
    return position if log.parts() == parts else None


def _located(log: AuditReader, heads: list[Head]) -> Position | Offer | None:
    first = log.first()
    if first is None:
        return None
    growing = [head for head in heads if head.forked is None][:COMPARED]
    for head in growing:
        if _continues(log, head):
            return Position(head.chain, head.seq, head.hash)
    for head in growing:
        if first.hash == head.chain or (first.seq > head.first and head.seq >= first.seq):
            return _offer(log, head)
    if not is_beginning(first):
        for head in growing:
            if head.seq < first.seq:
                return Position(head.chain, head.seq, head.hash)
    return _anew(log, first, [head for head in heads if head.forked is not None][:COMPARED])


def _continues(log: AuditReader, head: Head) -> bool:
    line = log.read_line(head.seq)
    if line is not None:
        return line.hash == head.hash
    following = log.read_line(head.seq + 1)
    return following is not None and following.prev == head.hash


def _offer(log: AuditReader, head: Head) -> Offer | None:
    last = log.last()
    lines = log.until(min(head.seq, last.seq), ROWS, BYTES) if last else []
    return Offer(head.chain, lines) if lines else None


def _anew(log: AuditReader, first: ChainLine, forked: list[Head]) -> Position | None:
    """A new chain: all of the log, or after a fork what is not stored under the old chain."""
    for head in forked:
        seq = head.seq + 1 if _continues(log, head) else head.forked or 0
        if first.hash == head.chain or first.seq > head.first:
            line = log.read_line(seq)
            return Position(line.hash, line.seq - 1, line.prev) if line else None
    return Position(first.hash, first.seq - 1, first.prev)
