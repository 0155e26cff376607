"""Bytes in any chunks, the same lines out; of an endless line only its beginning is kept."""

from __future__ import annotations

import itertools

from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.wire.line_reader import Lines

LIMIT = 100
KEPT = 64


def fed(chunks: list[bytes], limit: int = LIMIT) -> list[tuple[bytes, bool]]:
    lines = Lines(limit, KEPT)
    return [line for chunk in chunks for line in lines.feed(chunk)]


TABLE: list[tuple[str, list[bytes], list[tuple[bytes, bool]]]] = [
    ("nothing", [], []),
    ("no-end", [b"abc"], []),
    ("one", [b"abc\n"], [(b"abc", False)]),
    ("two", [b"abc\ndef\n"], [(b"abc", False), (b"def", False)]),
    ("halves", [b"ab", b"c\nde", b"f\n"], [(b"abc", False), (b"def", False)]),
    ("empty-lines", [b"\n\n"], [(b"", False), (b"", False)]),
    ("carriage-return-stays", [b"a\r\n"], [(b"a\r", False)]),
    ("nul", [b"a\0b\n"], [(b"a\0b", False)]),
    ("at-the-limit", [b"x" * LIMIT + b"\n"], [(b"x" * LIMIT, False)]),
    ("over-the-limit", [b"x" * (LIMIT + 1) + b"\n"], [(b"x" * KEPT, True)]),
    ("over-in-parts", [b"x" * LIMIT, b"y", b"z" * 500 + b"\nok\n"], [(b"x" * KEPT, True), (b"ok", False)]),
]


@each_row(("chunks", "expected"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_lines(chunks: list[bytes], expected: list[tuple[bytes, bool]]) -> None:
    assert fed(chunks) == expected


bytes_with_ends = st.lists(st.sampled_from([b"\n", b"x" * 60, b"{", b"\xff"]) | st.binary(max_size=30)).map(b"".join)


@given(data=bytes_with_ends, cuts=st.lists(st.integers(0, 2_000)))
def test_any_chunking_gives_the_same_lines(data: bytes, cuts: list[int]) -> None:
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    chunks = [data[start:end] for start, end in itertools.pairwise(places)]
    assert b"".join(chunks) == data
    expected = [(line, False) if len(line) <= LIMIT else (line[:KEPT], True) for line in data.split(b"\n")[:-1]]
    assert fed(chunks) == expected


def test_an_endless_line_is_not_kept() -> None:
    lines = Lines(LIMIT, KEPT)
    for _ in range(1_000):
        assert list(lines.feed(b"x" * 1_000)) == []
        assert sum(map(len, lines._parts)) <= LIMIT + 1_000
    assert list(lines.feed(b"\n")) == [(b"x" * KEPT, True)]
