"""Pipes in place of files that commands read: without a writer, opening one would wait for ever."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from toolguard_cli.commands import show_status
from toolguard_cli.migrations import former_tables, journal, old_held_calls
from toolguard_cli.policy.transcripts import TranscriptSource
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places


def transcript(path: Path) -> str:
    source = TranscriptSource(path)
    assert list(source.calls()) == []
    return source.error


def journals(path: Path) -> str:
    places = Places(path.parent, path.parent / "openclaw.json")
    journal.folder(places).mkdir(parents=True)
    path.rename(journal.folder(places) / "1.json")
    with pytest.raises(UserError) as refused:
        journal.journals(places)
    return refused.value.message


def former_table(path: Path) -> str:
    with pytest.raises(UserError) as refused:
        former_tables.put_back(path, b"[[rule]]", b"[[constraint]]")
    return refused.value.message


READERS: dict[str, tuple[Callable[[Path], object], object]] = {
    "transcript": (transcript, "it is not a file"),
    "call log": (show_status.tail, []),
    "journal": (journals, "it is not a file"),
    "policy": (former_table, "it is not a file"),
    "held calls of another plugin": (old_held_calls._json, None),
}


@pytest.mark.parametrize(("read", "result"), READERS.values(), ids=READERS)
def test_a_pipe_is_not_waited_for(tmp_path: Path, read: Callable[[Path], object], result: object) -> None:
    os.mkfifo(tmp_path / "pipe")
    found = read(tmp_path / "pipe")
    assert str(result) in found if isinstance(found, str) else found == result
