"""What an agent types into a program that runs in a terminal, in pieces: as if it had been one command."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gate import sampled
from gateway_stage import NEW_HOST, Played, Stage, audit, waiting
from toolguard_cli.rig import scripted_model

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="older hosts answer in other words")

STARTED = re.compile(r"session ([\w-]+), pid")
HELD = "TOOLGUARD_ESCALATE|"
FOLDER = "~/important"
PROGRAMS = {
    "bash": ("bash --norc", "rm -rf {}", "echo said > {}"),
    "python": ("python3 -i", "import os; os.system('rm -rf {}')", "open('{}', 'w').write('said')"),
    "sqlite": ("{}/sqlite3 said-sqlite", ".shell rm -rf {}", "insert into notes values ('said');"),
}
"""How it is started, what deletes a folder and what writes a file. `sqlite3` is a stand-in, as not every machine has it."""

STAND_IN = """#!/bin/sh
while read -r line; do
  case "$line" in
    .shell*) sh -c "${line#.shell }" ;;
    *) echo "$line" >> "$1" ;;
  esac
done
"""


@pytest.fixture
def tools(stage: Stage) -> Path:
    folder = stage.home.root / "stand-ins"
    folder.mkdir(exist_ok=True)
    (folder / "sqlite3").write_text(STAND_IN)
    (folder / "sqlite3").chmod(0o755)
    return folder


@pytest.fixture
def full(stage: Stage) -> Path:
    folder = stage.home.root / "important"
    folder.mkdir(exist_ok=True)
    (folder / "letter.txt").write_text("kept")
    return folder


def pieces(text: str) -> Iterator[dict[str, object]]:
    """The text in pieces of 1 to 7 characters, by each action that types, Enter as a key of its own."""
    lengths, ways = itertools.cycle((3, 7, 1, 6, 2, 5, 4)), itertools.cycle(("write", "hex", "literal", "paste"))
    left = text
    while left:
        size = next(lengths)
        piece, left = left[:size], left[size:]
        match next(ways):
            case "write":
                yield {"action": "write", "data": piece}
            case "hex":
                yield {"action": "send-keys", "hex": [f"{byte:02x}" for byte in piece.encode()]}
            case "literal":
                yield {"action": "send-keys", "literal": piece}
            case _:
                yield {"action": "paste", "text": piece, "bracketed": False}
    yield {"action": "submit"}


def typing(command: str, text: str) -> scripted_model.Script:
    """Starts a program in a terminal and types into it, a piece in each message."""
    steps = list(pieces(text))

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if request.index == 0:
            return scripted_model.call("exec", {"command": command, "background": True, "pty": True})
        started = STARTED.search("\n".join(request.texts("tool")))
        if started is None or request.index > len(steps) or not request.tools:
            return scripted_model.Reply("Done.")
        return scripted_model.call("process", {"sessionId": started[1], **steps[request.index - 1]})

    return script


def typed(stage: Stage, program: str, line: int, target: str, tools: Path) -> Played:
    command = PROGRAMS[program][0].format(tools)
    return stage.play(typing(command, PROGRAMS[program][line].format(target)))


@pytest.mark.parametrize("program", sampled(PROGRAMS, {"bash"}))
def test_what_is_typed_in_pieces_waits_for_a_yes(stage: Stage, full: Path, tools: Path, program: str) -> None:
    played = typed(stage, program, 1, FOLDER, tools)
    *pieces_, entered = played.results[1:]
    assert entered.startswith(HELD), played.results
    assert pieces_
    assert not any(text.startswith("TOOLGUARD_") for text in pieces_)
    (entry,) = [each for each in waiting(stage.home) if each.session == played.session]
    assert PROGRAMS[program][1].format(FOLDER) in entry.shown
    assert [event["event"] for event in audit(stage.home) if event.get("session") == played.session][:1] == ["hold"]
    assert (full / "letter.txt").read_text() == "kept"


@pytest.mark.parametrize("program", sampled(PROGRAMS, {"bash"}))
def test_honest_text_in_pieces_runs(
    stage: Stage, tools: Path, program: str, wait: Callable[[Callable[[], bool]], None]
) -> None:
    said = stage.home.workspace_dir / f"said-{program}"
    played = typed(stage, program, 2, said.name, tools)
    assert not any(text.startswith("TOOLGUARD_") for text in played.results), played.results
    wait(lambda: said.exists() and "said" in said.read_text())
