"""What an agent did to a person's files on a real gateway, and its undo."""

from __future__ import annotations

import json

from gateway_stage import Stage, once, toolguard
from toolguard_cli.rig import scripted_model


def test_what_a_tool_and_a_command_destroyed_comes_back(stage: Stage) -> None:
    folder = stage.home.workspace_dir / "undo-papers"
    (folder / "old").mkdir(parents=True)
    thesis, letter = folder / "thesis.txt", folder / "old/letter.txt"
    thesis.write_text("three years of work")
    letter.write_text("dear")
    overwrites = scripted_model.call("write", {"path": "undo-papers/thesis.txt", "content": "lorem ipsum"})
    removes = scripted_model.call("exec", {"command": "rm undo-papers/old/letter.txt"})
    stage.play(once(overwrites, removes))
    assert thesis.read_text() == "lorem ipsum"
    assert not letter.exists()
    listed = json.loads(toolguard(stage.home, "undo", "--all", "--json").stdout)["data"]["entries"]
    for path in (thesis, letter):
        [entry] = [each for each in listed if str(path) in each["paths"]]
        assert toolguard(stage.home, "undo", entry["id"], "--yes").returncode == 0
    assert (thesis.read_text(), letter.read_text()) == ("three years of work", "dear")
