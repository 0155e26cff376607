"""In default settings: what cannot be undone waits, and after a yes the idle agent does it by itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway_stage import NEW_HOST, Stage, audit, once, toolguard, waiting
from standings_seen import batch
from toolguard_cli.rig import scripted_model

SPELLINGS = [
    "rm -rf {}",
    "rm -r -f {}",
    "'rm' -fr {}",
    'r"m" --recursive --force {}',
    "true; rm -rf {}",
    "sh -c 'rm -rf {}'",
    "A=rm; $A -rf {}",
    "echo cm0gLXJmIA== | base64 -d > x; rm -rf {}",
    "find {} -delete",
]


@pytest.fixture
def full(stage: Stage) -> Path:
    """A folder in the sandboxed home with something in it."""
    folder = stage.home.root / "precious"
    folder.mkdir(exist_ok=True)
    (folder / "letter.txt").write_text("dear")
    return folder


def test_a_folder_is_not_deleted_without_a_yes(stage: Stage, full: Path) -> None:
    commands = [spelling.format(full) for spelling in SPELLINGS]
    reported = stage.play(once(batch(*(scripted_model.call("exec", {"command": command}) for command in commands)))).results
    held = [command for command, text in zip(commands, reported, strict=True) if text.startswith("TOOLGUARD_ESCALATE|")]
    assert held == commands
    assert (full / "letter.txt").read_text() == "dear"


def test_after_a_yes_the_idle_agent_repeats_the_call_by_itself(stage: Stage, full: Path, wait) -> None:
    if not NEW_HOST:
        pytest.skip("older hosts take no message for an idle session")
    call = scripted_model.call("exec", {"command": f"rm -rf {full}"})
    stage.play(once(call), "agent:main:woken")
    (entry,) = [entry for entry in waiting(stage.home) if entry.session == "agent:main:woken"]
    stage.server.play(once(call), entry.nonce)  # an agent that an earlier test approved something for may wake now
    assert toolguard(stage.home, "approve", entry.nonce[:5], "--yes").returncode == 0
    wait(lambda: not full.exists())
    wait(lambda: len(stage.server.requests) == 2)
    reported = "\n".join(stage.server.requests[0].texts("user"))
    assert f"[TOOLGUARD] The user approved the call that waited under {entry.nonce}: {entry.shown}" in reported
    lines = [e for e in audit(stage.home) if e.get("nonce") == entry.nonce and e["event"] != "kept"]
    events = [(e["event"], e.get("where", "")) for e in lines]
    assert events == [("hold", ""), ("approve", "cli"), ("consume", "cli")]


def test_harmless_commands_run_at_once(stage: Stage) -> None:
    commands = ["echo 'rm -rf /'", "grep 'rm -rf' notes.txt || true", "mkdir -p build && touch build/a && rm build/a"]
    played = stage.play(once(*(scripted_model.call("exec", {"command": command}) for command in commands)))
    assert [text.startswith("TOOLGUARD_") for text in played.results] == [False] * 3
