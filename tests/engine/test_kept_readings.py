"""A command that is run again means what it means now, whatever it meant when it was read before."""

from __future__ import annotations

import gc
import tracemalloc
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples, some
from tables import each_row
from test_failed_readings import raising
from test_run_files import HARM, HOME, PACKAGE, PYTHON, SHELL, SLIPS, WORK, guard
from toolguard_engine.effects.calls import kept_readings, made_folders
from toolguard_engine.effects.calls.kept_readings import KEPT
from toolguard_engine.effects.facts.command import Reading
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call
from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.file_tree import FileTree
from toolguard_engine.model.files import Unread
from toolguard_engine.rules.judgement import Judgement

AGENT = FileRecord("agent")
Files = dict[str, "str | Unread"]


def weighed(one: Guard, command: str) -> Judgement:
    return one.weigh(Call("exec", {"command": command}, cwd=WORK))


def anew(one: Guard, command: str) -> Judgement:
    """The same by a guard that has read nothing before."""
    KEPT.clear()
    return weighed(one, command)


def at(path: str) -> str:
    return path if path.startswith("/") else f"{WORK}/{path}"


@pytest.mark.parametrize(("command", "files"), [row[:2] for row in some(SLIPS)])
def test_files_that_come_and_go_between_two_runs(command: str, files: Files) -> None:
    one, there = guard({})
    KEPT.clear()
    first = weighed(one, command)
    there.files.update({at(path): text for path, text in files.items()})
    for path in files:
        one.files.wrote(at(path), AGENT)
    second = weighed(one, command)
    there.files.clear()
    one.files.removed(map(at, files))
    third = weighed(one, command)
    assert first.decision == third.decision == anew(one, command).decision
    assert second.decision == "hold"
    assert first.decision == "allow" or "sudo" in command


COMMANDS = [
    "ls -la", "git status && git commit -m x", "./x.sh", "sh *.sh", "pytest -q", "npm test", "make", "python3 main.py",
    "node .", "cp x.sh y.sh && sh y.sh", "mv x.sh sub/ && cd sub && ./x.sh", "./tool -rf ~/important",
    "cd sub && npm test; sh x.sh",
    "for f in *.sh; do sh $f; done", "cat notes.txt | sh", "tar xf a.tar && sh sub/x.sh", "docker compose up",
    "vim notes.txt",
]  # fmt: skip
PATHS = [
    "x.sh", "y.sh", "sub/x.sh", "main.py", "conftest.py", "sub/test_a.py", "package.json", "sub/package.json", "Makefile",
    ".git/hooks/pre-commit", ".git/config", "notes.txt", "a.tar", "tool", f"{HOME}/.npmrc", "docker-compose.yml", "sub",
]  # fmt: skip
TEXTS: dict[str, str] = {".py": PYTHON, ".json": PACKAGE, "Makefile": f"all:\n\t{HARM}\n", ".sh": SHELL, "pre-commit": SHELL}
RECORDS = [AGENT, FileRecord("outside"), FileRecord("agent", link=f"{WORK}/x.sh"), FileRecord("agent", was="/bin/rm")]
CHANGES = st.one_of(
    st.tuples(st.just("wrote"), st.sampled_from(PATHS), st.sampled_from(RECORDS)),
    st.tuples(st.just("lies"), st.sampled_from(PATHS), st.sampled_from([SHELL, HARM, "echo hi\n", ""])),
    st.tuples(st.just("moved"), st.sampled_from(PATHS), st.sampled_from(PATHS)),
    st.tuples(st.just("matching"), st.sampled_from(["*.sh", "sub/*", "*"]), st.sampled_from(["sub", "new"])),
    st.tuples(st.just("gone"), st.sampled_from(PATHS), st.none()),
    st.tuples(st.just("doubted"), st.sampled_from(PATHS), st.none()),
    st.tuples(st.just("again"), st.none(), st.none()),
)


def change(one: Guard, files: Files, what: tuple[str, str, object]) -> None:
    match what:
        case ("wrote", path, FileRecord() as record):
            one.files.wrote(at(path), record)
        case ("lies", path, str(text)):
            files[at(path)] = next((own for end, own in TEXTS.items() if text and path.endswith(end)), text)
        case ("moved", path, str(target)):
            one.files.moved(at(path), at(target))
        case ("matching", pattern, str(folder)):
            one.files.moved_matching(at(pattern), at(folder))
        case ("gone", path, _):
            files.pop(at(path), None)
            one.files.removed([at(path)])
        case ("doubted", path, _):
            one.files.doubts(at(path))
        case _:
            one.files.restore(one.files.records)


@given(st.lists(st.tuples(CHANGES, st.sampled_from(COMMANDS)), max_size=12))
@settings(max_examples=examples(400), deadline=None)
def test_whatever_changes_in_between(changes: list[tuple[tuple[str, str, object], str]]) -> None:
    one, there = guard({})
    KEPT.clear()
    for command in COMMANDS:
        weighed(one, command)
    for what, command in changes:
        change(one, there.files, what)
        found = weighed(one, command)
        fresh = kept_readings.KeptReadings()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr("toolguard_engine.effects.calls.reading.KEPT", fresh)
            assert found == weighed(one, command), command


def test_what_is_kept_is_bounded() -> None:
    one, _ = guard({})
    KEPT.clear()
    for number in range(300):
        weighed(one, f"echo {number}; " * 60)
    assert KEPT.size <= kept_readings.MAX_SIZE
    long = one.read(Call("exec", {"command": f"echo {'x' * kept_readings.MAX_EACH}"}, cwd=WORK))
    one.weigh_reading(long)
    assert KEPT.recall(long.commands, long.command_where) is None


def allocated() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def test_what_is_kept_takes_no_more_memory_than_is_counted() -> None:
    one, _ = guard({}, {"notes.txt": AGENT})
    texts = ["ls -la {}", "git commit -m {}", "cat {} | wc -l", "cp {} b && sh b", "npm test -- {}; cd {}; make", "echo {}"]
    commands = [text.format(number, number) for number in range(40) for text in texts]
    for command in commands:  # what is cached besides is there before it is measured
        weighed(one, command)
    KEPT.clear()
    tracemalloc.start()
    try:
        for command in commands:
            weighed(one, command)
        counted, before = KEPT.size, allocated()
        KEPT.clear()
        assert before - allocated() <= counted
    finally:
        tracemalloc.stop()


def test_a_command_is_read_once_while_nothing_changes() -> None:
    one, _ = guard({}, {"notes.txt": AGENT})
    KEPT.clear()
    first = one.read(Call("exec", {"command": "git status"}, cwd=WORK))
    second = one.read(Call("exec", {"command": "git status"}, cwd=WORK))
    assert first.command_effects == second.command_effects
    assert first.command_readings is second.command_readings
    assert (first.work.left, first.work.limit) == (second.work.left, second.work.limit)


@each_row("command", ["tar cf a.tar -T list", "cp -r a b", "ls -la", "git commit -m x", "xargs cat < list"])
def test_a_failure_in_a_layer_is_forgotten(command: str) -> None:
    """The timer may stop a reading anywhere: what is kept of the command has the full verdict afterwards."""
    one, _ = guard({})
    call = Call("exec", {"command": command}, cwd=WORK)
    plain = one.judge(call)
    with raising(0, MemoryError) as count:
        KEPT.clear()
        one.judge(call)
    for at in some(range(1, count[0] + 1)):
        KEPT.clear()
        with raising(at, MemoryError), suppress(MemoryError):
            one.judge(call)
        assert one.judge(call) == plain, at


def trees() -> int:
    gc.collect()
    return sum(type(each) is FileTree for each in gc.get_objects())


def test_what_is_kept_of_a_move_has_no_copy_of_the_memory() -> None:
    one, _ = guard({})
    KEPT.clear()
    one.files.wrote(f"{WORK}/a/x", AGENT)
    before = trees()
    for number in range(5):
        weighed(one, f"mv a b{number}")
    assert KEPT.size > 0
    assert trees() == before


def test_what_is_no_longer_kept_is_given_back_at_once() -> None:
    """Not by the garbage collector, which comes rarely to an engine."""
    one, _ = guard({})
    KEPT.clear()
    gc.collect()
    gc.disable()
    try:
        before = sum(isinstance(each, Reading) for each in gc.get_objects())
        for number in range(20):
            reading = one.read(Call("exec", {"command": f"mkdir -p a{number} && cp b a{number}/c"}, cwd=WORK))
            one.judge_reading(reading)
            assert made_folders.folders(reading)
        assert sum(isinstance(each, Reading) for each in gc.get_objects()) >= before + 20
        del reading
        KEPT.clear()
        assert sum(isinstance(each, Reading) for each in gc.get_objects()) <= before + 1
    finally:
        gc.enable()
