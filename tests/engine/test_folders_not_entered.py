"""`cd x; sh y`: where there is no folder `x`, the shell stays where it is, and runs the `y` that lies there."""

from __future__ import annotations

import pytest

from test_living_programs import HARM, JS_HARM, LOOP, PY_HARM, Stage, stage

__all__ = ["stage"]

FILES = {
    "x.sh": HARM, "x.py": PY_HARM, "x.js": JS_HARM, "Makefile": f"all:\n\t{HARM}\n",
    "package.json": f'{{"scripts": {{"test": "{HARM}"}}}}',
}  # fmt: skip
COMMANDS = {
    "cd gone; sh x.sh": "x.sh",
    "cd gone\nbash x.sh": "x.sh",
    "cd gone || true; ./x.sh": "x.sh",
    "cd gone 2> /dev/null; . ./x.sh": "x.sh",
    "pushd gone; sh x.sh": "x.sh",
    "cd a/b/c; sh x.sh": "x.sh",
    "cd a; cd b; sh x.sh": "x.sh",
    "cd /gone; sh x.sh": "x.sh",
    "cd ~/gone; sh < x.sh": "x.sh",
    "cd gone; cat x.sh | sh": "x.sh",
    "cd gone && make; sh x.sh": "x.sh",
    "cd gone; make": "Makefile",
    "cd gone; npm test": "package.json",
    "cd gone; python3 x.py": "x.py",
    "cd gone; node x.js": "x.js",
}


def wrote(stage: Stage, name: str, text: str) -> None:
    stage.does("write", {"path": name, "content": text}, lambda: stage.put(name, text))


@pytest.mark.parametrize("command", COMMANDS)
def test_what_an_agent_made_in_the_folder_before_is_judged(stage: Stage, command: str) -> None:
    name = COMMANDS[command]
    wrote(stage, name, FILES[name])
    assert "rule.filesystem.delete-recursive" in stage.verdict(command)


@pytest.mark.parametrize("command", COMMANDS)
def test_what_a_person_made_there_is_not(stage: Stage, command: str) -> None:
    stage.put(COMMANDS[command], FILES[COMMANDS[command]])
    assert stage.verdict(command).startswith("allow")


def test_a_file_in_the_new_folder_is_the_one_that_runs(stage: Stage) -> None:
    wrote(stage, "x.sh", HARM)
    wrote(stage, "sub/x.sh", "make\n")
    assert stage.verdict("cd sub; sh x.sh").startswith("allow")


def test_a_loop_that_has_stayed_reads_what_is_written_later(stage: Stage) -> None:
    stage.starts(f"cd gone; {LOOP}")
    assert stage.verdict(("job", HARM)).startswith("hold living.runs")
