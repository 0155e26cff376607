"""Code that agents have written is read before a program runs it, while nothing else is to be done."""

from __future__ import annotations

import math
import os
from pathlib import Path

import pytest

from test_file_watch import Play
from toolguard_engine.effects.commands import interpreters
from toolguard_engine.effects.languages import kept_code
from toolguard_engine.effects.languages.code_deeds import CodeReading, delete
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.files import FileText, NoFiles
from toolguard_engine.model.work_timer import WorkTimer
from toolguard_engine.server import code_ahead
from toolguard_engine.server.code_ahead import MAX_TEXT, MAX_WAITING, REST, CodeAhead

ENDINGS = ("py", "js", "test.ts", "rb", "pl", "php", "lua")


@pytest.fixture
def play(tmp_path: Path) -> Play:
    return Play(tmp_path)


def code_of_a_test(number: int) -> str:
    """Unlike any other, so that nothing of it is known."""
    return f"import helpers\n\n\ndef test_{os.urandom(8).hex()}():\n    assert helpers.add(1, {number}) == [{number}]\n"


def read_all(ahead: CodeAhead) -> None:
    while ahead.due < math.inf:
        ahead.read_one(max(ahead.due, 0.0))


def test_running_it_then_needs_no_reading_of_it(play: Play) -> None:
    for at in range(12):
        text = code_of_a_test(at)
        path = play.work / f"test_{at}.py"
        play.does("write", {"path": path.name, "content": text}, lambda path=path, text=text: path.write_text(text))
    read_all(play.session.files.code_ahead)
    before = kept_code.steps()
    assert play.may_run("exec", {"command": "pytest -q"})
    assert kept_code.steps() == before
    (play.work / "test_3.py").write_text(code_of_a_test(99))
    assert play.may_run("exec", {"command": "pytest -q tests"})
    assert kept_code.steps() > before


def test_what_is_edited_or_made_by_a_command_counts_as_well(play: Play) -> None:
    path = play.work / "test_a.py"
    for change in ("sed -i s/a/b/ test_a.py", "cp other.py test_a.py", "mv other.py test_a.py"):
        text = code_of_a_test(1)
        play.run(change, lambda text=text: path.write_text(text))
        read_all(play.session.files.code_ahead)
        before = kept_code.steps()
        interpreters.reading(text, "python")
        assert kept_code.steps() == before, change


def test_harm_that_was_read_ahead_is_held(play: Play) -> None:
    path, text = play.work / "test_a.py", "import os, shutil\nshutil.rmtree(os.path.expanduser('~/important'))\n"
    play.does("write", {"path": path.name, "content": text}, lambda: path.write_text(text))
    read_all(play.session.files.code_ahead)
    assert not play.may_run("exec", {"command": "pytest -q"})


class Files(NoFiles):
    def __init__(self, text: str = "x = 1\n") -> None:
        self.text = text
        self.reads: list[str] = []

    def read(self, path: str) -> FileText:
        self.reads.append(path)
        return FileText(path, self.text, "d", (1, 2, 3, 4))


def test_what_it_takes_in_is_read_after_it(play: Play) -> None:
    """A person wrote the modules; these take in each other, and are read once."""
    texts = {f"m{at}.py": f"import m{at + 1}, m0\n{code_of_a_test(at)}" for at in range(4)}
    for name, text in texts.items():
        (play.work / name).write_text(text)
    text = f"from m0 import add\n{code_of_a_test(9)}"
    path = play.work / "test_a.py"
    play.does("write", {"path": path.name, "content": text}, lambda: path.write_text(text))
    read_all(play.session.files.code_ahead)
    before = kept_code.steps()
    assert play.may_run("exec", {"command": "pytest -q"})
    assert kept_code.steps() == before


def test_only_code_is_read_and_the_latest_first() -> None:
    files = Files()
    ahead = CodeAhead(files, WorkTimer(), lambda: 0.0)
    ahead.add([*(f"/w/a.{ending}" for ending in ENDINGS), "/w/a.txt", "/w/Makefile", "/w/a.json"])
    read_all(ahead)
    assert files.reads == [f"/w/a.{ending}" for ending in reversed(ENDINGS)]
    ahead.read_one(1e9)
    assert len(files.reads) == len(ENDINGS)


def test_so_many_files_wait_at_most() -> None:
    files = Files()
    ahead = CodeAhead(files, WorkTimer(), lambda: 0.0)
    ahead.add(f"/w/{at}.py" for at in range(MAX_WAITING + 5))
    read_all(ahead)
    assert len(files.reads) == MAX_WAITING
    assert files.reads[0] == f"/w/{MAX_WAITING + 4}.py"


def test_it_takes_a_tenth_of_the_processor_at_most() -> None:
    moments = iter((0.0, 2.0, 5.0, 6.0))
    ahead = CodeAhead(Files(), WorkTimer(), lambda: next(moments))
    ahead.add(["/w/a.py", "/w/b.py"])
    ahead.read_one(100.0)
    assert ahead.due == 100.0 + 2.0 * REST
    ahead.read_one(100.0)
    assert ahead.due == 100.0 + 2.0 * REST
    ahead.read_one(ahead.due)
    ahead.add(["/w/c.py"])
    assert ahead.due == 100.0 + 3.0 * REST


def test_long_code_waits_until_it_runs() -> None:
    text = code_of_a_test(1)
    for path in ("/w/a.py", "/w/a.js"):
        ahead = CodeAhead(Files(text + "#" * MAX_TEXT), WorkTimer(), lambda: 0.0)
        ahead.add([path])
        before = kept_code.steps()
        read_all(ahead)
        assert kept_code.steps() == before


def test_it_gives_way_to_a_message_and_is_tried_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    timer, files, read = WorkTimer(), Files(code_of_a_test(1)), list[str]()
    ahead = CodeAhead(files, timer, lambda: 0.0)

    def imported(code: str, *_: str) -> tuple[()]:
        read.append(code)
        timer.tick(0.0)
        return ()

    monkeypatch.setattr(code_ahead.code_files, "imported", imported)
    ahead.add(["/w/a.js"])
    timer.is_awaited = lambda: True
    read_all(ahead)
    assert len(read) == 2
    timer.is_awaited = lambda: False
    ahead.add(["/w/a.js"])
    read_all(ahead)
    assert len(read) == 3


def test_what_an_engine_before_this_one_knew_is_read() -> None:
    memory, files = FileMemory(), Files()
    for name in ("a.py", "b.txt", "c.js"):
        memory.wrote(f"/w/{name}", FileRecord("agent", "write", "s"))
    ahead = CodeAhead(files, WorkTimer(), lambda: 0.0)
    ahead.restore(memory)
    read_all(ahead)
    assert sorted(files.reads) == ["/w/a.py", "/w/c.js"]


def test_only_the_last_files_of_an_earlier_engine_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    files, memory = Files(), FileMemory()
    monkeypatch.setattr(code_ahead, "MAX_LOOKED_AT", 20)
    for at in range(40):
        memory.wrote(f"/w/{at}.py", FileRecord("agent", "write", "s"))
    ahead = CodeAhead(files, WorkTimer(), lambda: 0.0)
    ahead.restore(memory)
    read_all(ahead)
    assert 0 < len(files.reads) <= 20
    assert files.reads[0] == "/w/39.py"


def test_what_is_kept_of_code_is_bounded_in_size() -> None:
    kept, reads = kept_code.KeptCode(most=10), list[str]()

    def read(code: str, _: str) -> CodeReading:
        reads.append(code)
        return CodeReading((delete("x" * len(code)),))

    for code in ("a" * 100, "b" * 100, "a" * 100, "c" * 1_000, "d" * 1_000, "a" * 100):
        kept.read(code, "python", read)
    assert [code[0] for code in reads] == ["a", "b", "c", "d", "a"]
    for _ in range(2):
        kept.read("e" * 1_000_000, "python", read)
    kept.read("a" * 100, "python", read)
    assert [code[0] for code in reads[5:]] == ["e", "e"]


def test_the_same_text_in_two_languages_is_read_twice() -> None:
    kept, languages = kept_code.KeptCode(), list[str]()

    def read(_: str, language: str) -> None:
        languages.append(language)

    for language in ("python", "ruby", "python"):
        kept.read("x" * 100, language, read)
    assert languages == ["python", "ruby"]
