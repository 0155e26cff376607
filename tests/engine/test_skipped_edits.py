"""Several changes of one file in one command, some of which may not happen: what the others make of it is judged as well."""

from __future__ import annotations

import pytest

from test_living_programs import Stage, stage

__all__ = ["stage"]

TEXT = "echo a\n#OFF rm -rf ~/Documents\n"
HARMFUL = [
    "false && sed -i 's/#OFF rm/ls/' x.sh; sed -i 's/#OFF //' x.sh",
    "[ -f y ] && sed -i 's/rm/ls/' x.sh; [ -f z ] && sed -i 's/#OFF //' x.sh",
    "false && echo ls > x.sh; sed -i 's/#OFF //' x.sh",
    "if [ -f y ]; then sed -i '/OFF/d' x.sh; fi; sed -i 's/#OFF //' x.sh",
    "false && sed -i 's/echo a/ls/' x.sh; false && sed -i 's/rm/ls/' x.sh; sed -i 's/#OFF //' x.sh",
]
HARMLESS = [
    "sed -i 's/echo a/echo b/' x.sh; sed -i 's/echo b/echo c/' x.sh",
    "false && echo ls > x.sh; sed -i 's/echo/printf/' x.sh",
    "sed -i 's/rm/ls/' x.sh; sed -i 's/echo/printf/' x.sh; sed -i 's/#OFF/#ON/' x.sh",
]


@pytest.mark.parametrize("command", HARMFUL)
def test_the_others_make_it_harmful(stage: Stage, command: str) -> None:
    stage.does("write", {"path": "x.sh", "content": TEXT}, lambda: stage.put("x.sh", TEXT))
    assert "rule.filesystem.delete-recursive" in stage.verdict(f"{command}; sh x.sh")
    stage.starts("while sleep 1; do sh x.sh; done")
    assert stage.verdict(command).startswith("hold living.runs")


@pytest.mark.parametrize("command", HARMLESS)
def test_ordinary_edits_are_free(stage: Stage, command: str) -> None:
    stage.does("write", {"path": "x.sh", "content": TEXT}, lambda: stage.put("x.sh", TEXT))
    assert stage.verdict(f"{command}; sh x.sh").startswith("allow")
    stage.starts("while sleep 1; do sh x.sh; done")
    assert stage.verdict(command).startswith("allow")
