"""A folder of a person in which an agent changes things between a yes and the run, for tests of what a yes covers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from toolguard_cli.operations import granted_folders
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.config.settings import parse
from toolguard_engine.effects.calls import named_places
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host, Verdict
from toolguard_engine.model.held_details import HeldDetails
from toolguard_engine.rules import packs
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.held_call_decisions import Approvals, Settled
from toolguard_engine.server.world_reader import WorldReader
from toolguard_engine.stores import open as stores

NOW = 1_000_000.0
CONFIG = parse({})
BOOK = packs.load()


class ChangingWorld:
    """A home with a workspace `w`, a guard that reads it, and approvals on a real store."""

    def __init__(self, root: Path) -> None:
        self.home = root / "home"
        self.work = self.home / "w"
        self.work.mkdir(parents=True)
        self.state = root / "state"
        (self.state / "toolguard").mkdir(parents=True)
        (self.state / "openclaw.json").write_text(json.dumps({"agents": {"defaults": {"workspace": str(self.work)}}}))
        self.now = NOW
        self.restart()

    def restart(self) -> None:
        """Another engine with the same state."""
        self.guard = Guard(CONFIG, {}, Host(home=str(self.home)), BOOK, files=FileReader())
        self.store = stores.held_calls(self.state, None, gateway="gw")
        self.grants = stores.grants(self.state)
        self.approvals = Approvals(self.store, self.grants, lambda: self.now, world=WorldReader())

    def put(self, path: str, text: str = "x\n") -> Path:
        """A file below the home folder, made with its folders."""
        full = self.home / path
        full.parent.mkdir(parents=True, exist_ok=True)
        full.write_text(text)
        return full

    def link(self, path: str, target: str) -> None:
        """A link at `path` to `target`, both below the home folder, in place of what was there."""
        full = self.home / path
        full.parent.mkdir(parents=True, exist_ok=True)
        (self.home / target).mkdir(parents=True, exist_ok=True) if not (self.home / target).exists() else None
        if full.is_symlink():
            full.unlink()
        full.symlink_to(self.home / target)

    def call(self, command: str, **more: Any) -> Call:
        return Call(
            "exec", {"command": command, **more}, agent="main", session="agent:main:main", run="r", cwd=str(self.work)
        )

    def file_call(self, tool: str, path: str, **params: Any) -> Call:
        return Call(tool, {"path": path, **params}, agent="main", session="agent:main:main", run="r", cwd=str(self.work))

    def ask(self, call: Call) -> Settled:
        """What becomes of a call that a rule holds."""
        judged = self.guard.judge(call)
        if judged.decision != "hold":  # what is asked here is what a yes covers, not what needs one
            reading = self.guard.read(call)
            judged = Verdict(
                "hold", "rule.test", reason="A test.", details=HeldDetails(), named=named_places.places_to_look_at(reading)
            )
        return self.approvals.settle(judged, call, CONFIG)

    def approved(self, call: Call) -> str:
        entry = self.ask(call).entry
        assert entry is not None
        assert entry.status == "pending"
        self.store.approve(entry.nonce, Decision("ana", "cli"), self.now, CONFIG.approval_window_ms / 1000)
        return entry.nonce

    def grant(self, pattern: str, tool: str = "exec", **more: Any) -> Grant:
        """A grant as `toolguard grant` gives it, for calls in the workspace."""
        places = Places(state_dir=self.state, config=self.state / "openclaw.json")
        drawn = Grant("", tool, pattern, created=self.now, **more)
        return self.grants.add(granted_folders.bound(places, drawn))
