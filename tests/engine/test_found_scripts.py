"""Scripts without an ending that `find` runs by the names that it is given."""

from __future__ import annotations

import pytest

from test_living_programs import HARM, Stage, stage

__all__ = ["stage"]

RUNS = {
    "find . -name job -exec {} \\;": "job",
    "find . -name job -exec sh {} \\;": "d/job",
    "find . -iname 'jo*' -type f -exec bash {} +": "d/e/job",
    "find d -name job -exec {} \\;": "d/job",
    "find job -exec sh {} \\;": "job",
    "find d/job -exec {} \\;": "d/job",
}


@pytest.mark.parametrize("command", RUNS)
def test_it_is_judged(stage: Stage, command: str) -> None:
    text = f"#!/bin/sh\n{HARM}\n"
    stage.does("write", {"path": RUNS[command], "content": text}, lambda: stage.put(RUNS[command], text))
    assert "rule.filesystem.delete-recursive" in stage.verdict(command)


OTHERS = ["find . -name other -exec sh {} \\;", "find . -name job -exec cat {} \\;", "find . -name job -exec chmod +x {} +"]


@pytest.mark.parametrize("command", [*RUNS, *OTHERS])
def test_other_files_and_other_programs_are_free(stage: Stage, command: str) -> None:
    text = "make\n" if command in RUNS else HARM
    name = RUNS.get(command, "job")
    stage.does("write", {"path": name, "content": text}, lambda: stage.put(name, text))
    assert stage.verdict(command).startswith("allow")
