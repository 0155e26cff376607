"""What an agent did to a person's files on a real gateway, and its undo."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from gateway_stage import Stage, once, toolguard
from toolguard_cli.rig import scripted_model
from toolguard_engine.server import undo_saver
from toolguard_engine.stores.files.audit_log_file import AuditLog

ATTEMPTS = 5
"""A call waits 50 ms for its files to be saved, which a busy machine may not do; then the audit log says so."""


def destroyed(stage: Stage, folder: Path) -> list[Path]:
    """Files of a person that a tool and a command have destroyed."""
    thesis, letter = folder / "thesis.txt", folder / "old/letter.txt"
    letter.parent.mkdir(parents=True)
    thesis.write_text("three years of work")
    letter.write_text("dear")
    overwrites = scripted_model.call("write", {"path": f"{folder.name}/thesis.txt", "content": "lorem ipsum"})
    removes = scripted_model.call("exec", {"command": f"rm {folder.name}/old/letter.txt"})
    stage.play(once(overwrites, removes))
    assert (thesis.read_text(), letter.exists()) == ("lorem ipsum", False)
    return [thesis, letter]


def entry_of(stage: Stage, path: Path) -> dict[str, Any] | None:
    listed = json.loads(toolguard(stage.home, "undo", "--all", "--json").stdout)["data"]["entries"]
    return next((each for each in listed if str(path) in each["paths"]), None)


def test_what_a_tool_and_a_command_destroyed_comes_back(stage: Stage) -> None:
    for attempt in range(ATTEMPTS):
        thesis, letter = destroyed(stage, stage.home.workspace_dir / f"undo-papers-{attempt}")
        entries = [entry_of(stage, path) for path in (thesis, letter)]
        if None not in entries:
            break
        reasons = [line.get("reason", "") for line in AuditLog(stage.home.state_dir).events()]
        assert any(undo_saver.LATE in reason or undo_saver.BUSY in reason for reason in reasons)
    for entry in entries:
        assert entry is not None
        assert toolguard(stage.home, "undo", entry["id"], "--yes").returncode == 0
    assert (thesis.read_text(), letter.read_text()) == ("three years of work", "dear")
