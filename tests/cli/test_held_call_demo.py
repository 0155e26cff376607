"""What `toolguard demo --hold` tells its user, without a gateway."""

from __future__ import annotations

import shlex

import pytest
from cli_stage import toolguard
from held_stage import hold

from toolguard_cli.commands import held_call_demo
from toolguard_cli.system.paths import Places


def test_the_commands_for_another_terminal_answer_the_call(places: Places, capsys: pytest.CaptureFixture[str]) -> None:
    held = hold(places)
    held_call_demo._show(held, places)
    lines = [line.strip() for line in capsys.readouterr().err.splitlines()]
    commands = [line for line in lines if line.startswith("toolguard ")]
    assert [shlex.split(line)[1] for line in commands] == ["approve", "deny"]
    assert lines.index(commands[-1]) < next(n for n, line in enumerate(lines) if line.startswith("Then come back"))
    done = toolguard(*shlex.split(commands[1])[1:])
    assert (done.returncode, f"denied {held.nonce}" in done.stdout) == (0, True)
