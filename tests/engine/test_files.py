"""Reading what may be anything: bounded, and never waited for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from toolguard_engine.stores import atomic


@pytest.mark.parametrize("content", [b"", b"ab", b"abcd"], ids=["empty", "short", "just as long as it may be"])
def test_a_file(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "file").write_bytes(content)
    assert atomic.read_bounded(tmp_path / "file", 4) == content


def test_a_file_that_is_too_large(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abcde")
    with pytest.raises(atomic.Unfit, match="it is larger than 4 bytes"):
        atomic.read_bounded(tmp_path / "file", 4)


@pytest.mark.parametrize("make", [os.mkfifo, os.mkdir], ids=["pipe", "folder"])
def test_what_is_no_file(tmp_path: Path, make: object) -> None:
    assert callable(make)
    make(tmp_path / "odd")
    with pytest.raises(atomic.Unfit, match="it is not a file"):
        atomic.read_bounded(tmp_path / "odd", 4)


def test_nothing_stays_open(tmp_path: Path) -> None:
    """The lowest free number is the same afterwards."""
    before = os.open(os.devnull, os.O_RDONLY)
    os.close(before)
    with pytest.raises(atomic.Unfit):
        atomic.read_bounded(tmp_path, 4)
    after = os.open(os.devnull, os.O_RDONLY)
    os.close(after)
    assert after == before
