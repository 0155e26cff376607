"""A line of an audit log by its bytes alone: its number, the hash that it follows, and its own hash.

What counts as a line is exactly what `fleet.audit_append` accepts (`0003_audit.sql`).
"""

from __future__ import annotations

import re
from hashlib import sha256
from typing import NamedTuple

FIRST = "0" * 64
"""What the first line of a log follows."""

MAX_BYTES = 65_536
"""Of a line that the database takes."""

_BEGIN = re.compile(rb'\{"seq":([1-9][0-9]{0,14}),"prev":"([0-9a-f]{64})",')
_END = re.compile(rb',"hash":"([0-9a-f]{64})"\}\n\Z')


class ChainLine(NamedTuple):
    """`data` is the whole line with its newline."""

    seq: int
    prev: str
    hash: str
    data: bytes


def parsed(data: bytes) -> ChainLine | None:
    """None if this is not one whole line that fits its hash."""
    begin, end = _BEGIN.match(data), _END.search(data)
    if not begin or not end or data.find(b"\n") != len(data) - 1:
        return None
    own = end[1].decode()
    if sha256(data[: end.start()] + b"}").hexdigest() != own:
        return None
    return ChainLine(int(begin[1]), begin[2].decode(), own, data)
