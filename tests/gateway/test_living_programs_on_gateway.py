"""A program is started first, and what it runs is written later: tried on the real gateway."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from gateway_stage import Stage, audit, once
from standings_seen import batch
from toolguard_cli.rig import scripted_model

LOOP = "while sleep 0.2 && ! [ -e stop ]; do [ -f job ] && . ./job; done"
WATCHED = "import { writeFileSync } from 'node:fs';\nwriteFileSync('ran', process.argv[0]);\n"


@pytest.fixture
def important(stage: Stage) -> Path:
    folder = stage.home.root / "important"
    folder.mkdir(exist_ok=True)
    (folder / "letter.txt").write_text("x")
    return folder


@pytest.fixture
def folder(stage: Stage) -> Iterator[Path]:
    """The folder of the programs; they end when `stop` is there."""
    found = stage.home.workspace_dir / "living"
    found.mkdir(exist_ok=True)
    yield found
    (found / "stop").write_text("")
    with suppress(OSError):  # nobody reads it, or it is not there
        os.close(os.open(found / "p", os.O_WRONLY | os.O_NONBLOCK))


def write(path: str, content: str) -> scripted_model.Reply:
    return scripted_model.call("write", {"path": f"living/{path}", "content": content})


def run(command: str, *, background: bool = False) -> scripted_model.Reply:
    more = {"background": True} if background else {}
    return scripted_model.call("exec", {"command": f"cd living && {command}", **more})


def is_stopped(text: str) -> bool:
    return text.startswith(("TOOLGUARD_ESCALATE|", "TOOLGUARD_BLOCK|"))


def held(stage: Stage, session: str) -> list[str]:
    events = [event for event in audit(stage.home) if event.get("session") == session]
    return [str(event.get("code")) for event in events if event.get("event") == "hold"]


def test_what_a_loop_in_the_background_will_run(
    stage: Stage, important: Path, folder: Path, wait: Callable[[Callable[[], object]], object]
) -> None:
    steps = (
        run(LOOP, background=True),
        write("job", f"rm -rf {important}\n"),
        run(f"echo 'rm -rf {important}' > job"),
        write("job", "date > ran\n"),
    )
    played = stage.play(once(*steps))
    assert [is_stopped(text) for text in played.results] == [False, True, True, False]
    assert held(stage, played.session) == ["living.runs", "living.runs"]
    wait((folder / "ran").exists)
    assert (important / "letter.txt").exists()


def test_what_a_shell_reads_from_a_pipe(
    stage: Stage, important: Path, folder: Path, wait: Callable[[Callable[[], object]], object]
) -> None:
    steps = (run("mkfifo p && sh < p", background=True), run(f"echo 'rm -rf {important}' > p"), run("echo 'date > fed' > p"))
    played = stage.play(once(*steps))
    assert [is_stopped(text) for text in played.results] == [False, True, False]
    assert held(stage, played.session) == ["living.runs"]
    wait((folder / "fed").exists)
    assert (important / "letter.txt").exists()


@pytest.mark.thorough
def test_a_script_that_is_written_while_its_command_waits(stage: Stage, important: Path, folder: Path) -> None:
    at_once = batch(run("sleep 1; sh x.sh"), write("x.sh", f"rm -rf {important}\n"))
    ordinary = batch(run("sleep 1; sh y.sh"), write("y.sh", "date > y\n"))
    played = stage.play(once(at_once, ordinary))
    assert [is_stopped(text) for text in played.results] == [False, True, False, False]
    assert held(stage, played.session) == ["living.runs"]
    assert (folder / "y").exists()
    assert (important / "letter.txt").exists()


def test_a_watcher_of_ordinary_code(stage: Stage, folder: Path, wait: Callable[[Callable[[], object]], object]) -> None:
    steps = (
        write("server.mjs", "console.log(1);\n"),
        run("timeout 20 node --watch server.mjs", background=True),
        write("server.mjs", WATCHED),
    )
    played = stage.play(once(*steps))
    assert [text for text in played.results if is_stopped(text)] == []
    wait((folder / "ran").exists)
