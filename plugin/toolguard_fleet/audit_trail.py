"""The audit logs of all gateways as a person reads them: their lines, and whether their chains are whole.

The chains are computed here, from the bytes of the lines: what the database says about itself proves nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import msgspec
from psycopg.rows import class_row, kwargs_row
from psycopg.types.json import Jsonb

from toolguard_fleet.blocking_connection import Connection, translated
from toolguard_fleet.shipping.chain_line import FIRST, ChainLine, parsed

PAGE = 2_000
_NAMED = re.compile(rb'"event":"segment-removed".{0,10000}?"reason":"[^"]{0,300}up to line (\d{1,15}), ([0-9a-f]{64})"')


class AuditGap(msgspec.Struct, frozen=True):
    """Lines of a chain that the gateway had lost before it sent them; see `fleet.audit_gap`. `at`: seconds since 1970."""

    first: int
    last: int
    hash: str
    reason: str
    at: float


@dataclass(frozen=True)
class StoredChain:
    """The end of a chain as the database states it; see `fleet.audit_chains`."""

    gateway: str
    team: str
    chain: str
    first: int
    prev: str
    seq: int
    hash: str
    lines: int
    forked: int | None
    gaps: tuple[AuditGap, ...]


@dataclass(frozen=True)
class ChainCheck:
    """`lines`: how many were read; `error`: what is wrong with them, empty if nothing is. `unnamed`: gaps whose last line is
    named by no line of the log. `removed`: how many of the oldest lines are no longer kept in the database."""

    chain: StoredChain
    lines: int
    removed: int
    error: str
    unnamed: tuple[AuditGap, ...] = ()

    @property
    def is_sound(self) -> bool:
        return not self.error and not self.unnamed and self.chain.forked is None


@dataclass(frozen=True)
class TrailLine:
    """`line`: its bytes, which come from a gateway. `stored`: seconds since 1970, the server's clock."""

    number: int
    gateway: str
    team: str
    chain: str
    seq: int
    stored: float
    line: bytes


class AuditTrail:
    """Raises `FleetError`."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def chains(self, gateway: str | None = None) -> list[StoredChain]:
        """Returns the chains of one gateway, or of all that this person may see."""
        with translated(), self._connection.cursor(row_factory=kwargs_row(_stored_chain)) as cursor:
            return cursor.execute("SELECT * FROM fleet.audit_chains(%s)", (gateway,)).fetchall()

    def lines(self, filters: dict[str, object], before: int | None = None, limit: int = 100) -> list[TrailLine]:
        """The latest first. `filters`: see `fleet.audit_lines`; `before`: the `number` of the last line that was shown."""
        statement = """
            SELECT number, gateway, team, chain, seq, extract(epoch FROM stored)::float8 AS stored, line
            FROM fleet.audit_lines(%s, %s, %s)"""
        with translated(), self._connection.cursor(row_factory=class_row(TrailLine)) as cursor:
            return cursor.execute(statement, (Jsonb(filters), before, limit)).fetchall()

    def verify(self, gateway: str | None = None) -> Iterator[ChainCheck]:
        """Computes each chain from its lines."""
        for chain in self.chains(gateway):
            yield self._check(chain)

    def _check(self, chain: StoredChain) -> ChainCheck:
        follow = _Follow(chain)
        for seq, line in self._read(chain):
            if error := follow.takes(seq, line):
                return follow.result(error)
        return follow.result(follow.end())

    def _read(self, chain: StoredChain) -> Iterator[tuple[int, bytes]]:
        after = 0
        while True:
            statement = "SELECT seq, line FROM fleet.audit_read(%s, %s, %s, %s)"
            with translated():
                rows = self._connection.execute(statement, (chain.gateway, chain.chain, after, PAGE)).fetchall()
            yield from rows
            if len(rows) < PAGE:
                return
            after = rows[-1][0]


class _Follow:
    """Takes the lines of a chain in order."""

    def __init__(self, chain: StoredChain) -> None:
        self._chain = chain
        self._gaps = {gap.first: gap for gap in chain.gaps}
        self._seq, self._hash = chain.first - 1, chain.prev
        self._lines = self._removed = 0
        self._named: set[tuple[int, str]] = set()

    def takes(self, seq: int, data: bytes) -> str:
        """What is wrong with this line; empty if nothing is."""
        line = parsed(data)
        if line is None or line.seq != seq:
            return f"line {seq} does not match its hash"
        if not self._lines and seq > self._next():
            self._seq, self._hash = seq - 1, line.prev  # older lines are no longer kept
            self._removed = seq - self._chain.first
        else:
            self._skip()
        if (line.seq, line.prev) != (self._seq + 1, self._hash):
            return f"line {seq} does not follow the line before it"
        if seq == self._chain.first and line.hash != self._chain.chain:
            return f"line {seq} is not the one that identifies the chain"
        return self._take(line)

    def _next(self) -> int:
        gap = self._gaps.get(self._seq + 1)
        return gap.last + 1 if gap else self._seq + 1

    def _skip(self) -> None:
        while gap := self._gaps.get(self._seq + 1):
            self._seq, self._hash = gap.last, gap.hash

    def _take(self, line: ChainLine) -> str:
        self._seq, self._hash = line.seq, line.hash
        self._lines += 1
        if match := _NAMED.search(line.data):
            self._named.add((int(match[1]), match[2].decode()))
        return ""

    def end(self) -> str:
        self._skip()
        if not self._lines and self._chain.lines:
            self._removed = self._chain.seq - self._chain.first + 1
            return ""
        if (self._seq, self._hash) != (self._chain.seq, self._chain.hash):
            return f"the lines end at {self._seq}, the chain at {self._chain.seq}"
        return ""

    def result(self, error: str) -> ChainCheck:
        gaps = [gap for gap in self._chain.gaps if gap.reason == "removed" and gap.last >= self._chain.first + self._removed]
        unnamed = tuple(gap for gap in gaps if not error and (gap.last, gap.hash) not in self._named)
        return ChainCheck(self._chain, self._lines, self._removed, error, unnamed)


def _stored_chain(**row: Any) -> StoredChain:
    del row["stored"]
    row["gaps"] = tuple(msgspec.convert(row["gaps"], list[AuditGap]))
    return StoredChain(**row)


def is_from_the_beginning(chain: StoredChain) -> bool:
    """Whether the chain has the first line of its log."""
    return chain.first == 1 and chain.prev == FIRST
