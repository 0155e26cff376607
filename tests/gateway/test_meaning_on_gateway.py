"""The world changes between a yes and the run, on the real gateway: what was approved or granted is not what would run."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gateway_stage import ALL_WAITS, Stage, audit, once, toolguard, waiting
from shared_gateway import Shared
from toolguard_cli.rig import scripted_model
from toolguard_engine.approvals.ledger import HeldCall

Wait = Callable[[Callable[[], bool]], None]


@pytest.fixture
def held(shared: Shared) -> Stage:
    """Asks for every `exec` and `write`; nobody is woken, so that a test says itself when a call is repeated."""
    return shared.under(**ALL_WAITS)


def run(command: str, **more: Any) -> scripted_model.Reply:
    return scripted_model.call("exec", {"command": command, **more})


def asked(stage: Stage, reply: scripted_model.Reply, session: str) -> HeldCall:
    """The model makes this call once; how it is held."""
    before = {entry.nonce for entry in waiting(stage.home)}
    played = stage.play(once(reply), session)
    (entry,) = [entry for entry in waiting(stage.home) if entry.nonce not in before]
    assert entry.nonce in played.results[-1]
    return entry


def command_line(stage: Stage, *words: str) -> str:
    done = toolguard(stage.home, *words)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def events(stage: Stage, nonce: str) -> list[str]:
    """The audit log's. It is written behind the decision."""
    return [line["event"] for line in audit(stage.home) if line.get("nonce") == nonce and line["event"] != "kept"]


def folders(stage: Stage, *names: str) -> list[Path]:
    """Other tests use the same home, so they lie in a folder of their own."""
    base = Path(tempfile.mkdtemp(dir=stage.home.root))
    found = [base / name for name in names]
    for folder in found:
        folder.mkdir()
        (folder / "letter.txt").write_text("x")
    return found


def test_a_yes_for_a_link_is_not_one_for_where_it_leads_later(held: Stage, wait: Wait) -> None:
    old, documents = folders(held, "old-pictures", "documents")
    link, session = held.home.workspace_dir / "cache", "agent:main:link"
    link.symlink_to(old)
    first = asked(held, run("rm -rf cache/*"), session)
    command_line(held, "approve", first.nonce, "--yes")
    link.unlink()
    link.symlink_to(documents)
    second = asked(held, run("rm -rf cache/*"), session)
    assert second.nonce != first.nonce
    assert f"now also: delete {documents}" in [line.replace("~", str(held.home.root)) for line in second.changes]
    assert (documents / "letter.txt").exists()
    assert f"Not as it was shown under {first.nonce}" in second.reason
    link.unlink()
    link.symlink_to(old)
    held.play(once(run("rm -rf cache/*")), session)
    assert not (old / "letter.txt").exists()
    wait(lambda: len(events(held, first.nonce)) > 2)
    assert events(held, first.nonce) == ["hold", "approve", "consume"]


@pytest.mark.thorough
def test_a_grant_for_a_script_is_not_one_for_what_it_becomes(held: Stage) -> None:
    (documents,) = folders(held, "letters")
    script, session = held.home.workspace_dir / "deploy.sh", "agent:main:script"
    script.write_text("echo one >> deployed.txt\n")
    command_line(held, "grant", "sh deploy.sh", "--tool", "exec")
    played = held.play(once(run("sh deploy.sh")), session)
    assert not played.results[-1].startswith("TOOLGUARD_")
    script.write_text(f"rm -rf {documents}\n")
    entry = asked(held, run("sh deploy.sh"), session)
    assert [line for line in entry.changes if line.endswith("deploy.sh has changed since")] != []
    assert (documents / "letter.txt").exists()
    assert (held.home.workspace_dir / "deployed.txt").read_text() == "one\n"


def test_a_grant_for_a_folder_is_not_one_for_where_its_links_lead(held: Stage) -> None:
    notes, other = folders(held, "notes", "private")
    session = "agent:main:notes"
    command_line(held, "grant", f"{notes}/**", "--tool", "write")
    held.play(once(scripted_model.call("write", {"path": f"{notes}/today.md", "content": "a"})), session)
    assert (notes / "today.md").read_text() == "a"
    (notes / "out.md").symlink_to(other / "letter.txt")
    entry = asked(held, scripted_model.call("write", {"path": f"{notes}/out.md", "content": "b"}), session)
    assert "it would write" in entry.reason
    assert (other / "letter.txt").read_text() == "x"


def test_a_grant_holds_in_its_folder_and_a_yes_for_the_same_runs(held: Stage) -> None:
    (project,) = folders(held, "project")
    for folder in (held.home.workspace_dir / "build", project / "build"):
        folder.mkdir(exist_ok=True)
    session = "agent:main:folder"
    command_line(held, "grant", "rm -rf build", "--tool", "exec")
    held.play(once(run("rm -rf build")), session)
    assert not (held.home.workspace_dir / "build").exists()
    entry = asked(held, run("rm -rf build", workdir=str(project)), session)
    assert (project / "build").exists()
    (project / "build" / "more.txt").write_text("x")
    command_line(held, "approve", entry.nonce, "--yes")
    held.play(once(run("rm -rf build", workdir=str(project))), session)
    assert not (project / "build").exists()
