"""What the gateway tests share: the stage they play on, and the loops that have to end."""

from __future__ import annotations

import json
import os
import secrets
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from toolguard_cli.operations import install_plugin
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway, Turn, engine_pids
from toolguard_cli.system import paths
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.stores import call_log
from toolguard_engine.stores.files import engine_files
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.nonces import FileNonces

RELEASE = os.environ.get("TOOLGUARD_TEST_OPENCLAW", downloads.OPENCLAW_VERSION)
EMBEDDED_HOOKS = not RELEASE.startswith("2026.8.")
"""Embedded runs of 2026.8 load the plugin but call none of its hooks."""
NEW_HOST = RELEASE >= "2026.9"
"""Has Tool Search, `plugins reload`, and a text-only pass after a run that was stopped."""
HOST_GIVES_UP = 11
"""Older hosts take calls of unknown tools out of the history, so that nothing of ours is in the next request; they give up
by themselves after ten."""


TOOL_ERROR = "[TOOL ERROR]"
LOOP = "[LOOP DETECTED]"
LIMIT = "[TOOL ERROR LIMIT]"
NOTE = "[TOOLGUARD NOTE]"

MAX_FAILURES = 5
"""The default of maxFailuresPerTurn."""


def alternating(*replies: scripted_model.Reply) -> scripted_model.Script:
    """Takes turns for as long as tools are offered."""

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if not request.tools or request.index > 40:
            return scripted_model.Reply("Stopped.")
        return replies[request.index % len(replies)]

    return script


def endless(reply: scripted_model.Reply) -> scripted_model.Script:
    return scripted_model.endless(reply, "Stopped.", give_up_after=40)


def endless_cases() -> dict[str, tuple[scripted_model.Script, int]]:
    """By name: the script, and the requests within which the run has to end, final answer included."""
    return {
        "read({})": (endless(scripted_model.call("read", {})), 4),
        "edit({})": (endless(scripted_model.call("edit", {})), MAX_FAILURES + 2),
        "write({path})": (endless(scripted_model.call("write", {"path": "a.txt"})), MAX_FAILURES + 2),
        "unknown tool": (
            endless(scripted_model.call("nosuchtool", {"a": 1})),
            MAX_FAILURES + 2 if NEW_HOST else HOST_GIVES_UP,
        ),
        "wrong type": (endless(scripted_model.call("read", {"path": {"a": 1}})), MAX_FAILURES + 2),
        "ping-pong": (alternating(scripted_model.call("read", {}), scripted_model.call("edit", {})), MAX_FAILURES + 2),
        "ever new arguments": (
            lambda r: (
                scripted_model.call("write", {"path": f"{r.index}"})
                if r.tools and r.index < 40
                else scripted_model.Reply("Stopped.")
            ),
            MAX_FAILURES + 2,
        ),
    }


_PATIENT_ENGINE = """
import runpy
from toolguard_engine.server import store_queue

store_queue.ANSWER_SECONDS = 4.0
runpy.run_module("toolguard_engine", run_name="__main__")
"""
PATIENCE = (
    ("engine.mjs", "SYNC_LIMIT_MS = 250;", "SYNC_LIMIT_MS = 3_000;"),
    (
        "command.mjs",
        '"-m", module,',
        f'...(module === "toolguard_engine" ? ["-c", {json.dumps(_PATIENT_ENGINE)}] : ["-m", module]),',
    ),
)
"""For a file of the plugin: what stands there, and what is put there for these tests. An engine that waits for its store
says nothing, and counts as silent after five seconds."""


WRITES_WAIT: dict[str, Any] = {"alwaysBlock": ["write"], "pendingTimeoutMs": 600_000, "approval": {"wake": False}}
"""Settings that several files share, because a change of them costs as much as ten turns. `write` waits for a person, and
nobody is woken, so that nothing happens by itself."""
ALL_WAITS: dict[str, Any] = {**WRITES_WAIT, "alwaysBlock": ["exec", "write"], "approvalWindowMs": 120_000}
"""So does `exec`. A gateway needs its time to start again between a yes and the call."""

WRITE_SECONDS = 60
INCLUDED = "words.json5"
CODER = "anthropic/claude-opus-5"
WITH_CODER: dict[str, Any] = {
    "agents": {
        "entries": {
            "main": {"default": True},
            "coder": {"model": CODER, "models": {CODER: {"agentRuntime": {"id": "claude-cli"}}}},
        }
    },
    "messages": {"$include": f"./{INCLUDED}"},
}
"""A part of the gateway's config is in a file of its own, and the model of one agent is run by the Claude CLI."""


def measured(home: Home) -> dict[str, Any]:
    """Settings under which model calls are kept, and links answer."""
    metrics = {"enabled": True, "dbPath": str(home.root / "usage.db")}
    return {"approval": {"wake": False, "answerLinks": True}, "metrics": metrics}


@dataclass
class Played:
    """What one scripted conversation came to."""

    turn: Turn
    requests: list[scripted_model.Request] = field(default_factory=list)
    session: str = ""

    @property
    def results(self) -> list[str]:
        """The tool results that the model saw, oldest first."""
        return self.requests[-1].texts("tool") if self.requests else []

    @property
    def kinds(self) -> list[str]:
        """The first words of those results, for those that are ours."""
        return [text.partition("]")[0] + "]" for text in self.results if text.startswith("[")]

    @property
    def noted(self) -> list[int]:
        """Behind which of those results, counted from 1, a note stands."""
        return [number for number, text in enumerate(self.results, 1) if NOTE in text]


@dataclass
class Stage:
    """A gateway with the guard, and the model behind it."""

    gateway: Gateway
    server: scripted_model.ScriptedModel
    count: int = 0

    @property
    def home(self) -> Home:
        return self.gateway.home

    def play(self, script: scripted_model.Script, session: str = "", message: str = "go", agent: str = "main") -> Played:
        """One message in a session of its own, unless one is named."""
        self.count += 1
        session = session or f"agent:{agent}:test-{self.count}"
        agent = session.split(":")[1] if session.startswith("agent:") else agent
        marker = f"({secrets.token_hex(8)})"
        self.server.play(script, marker)
        turn = self.gateway.turn(f"{message} {marker}", session, agent=agent)
        self._let_write()
        return Played(turn, list(self.server.requests), session)

    def _let_write(self) -> None:
        """The engine answers before it writes the audit log: once nothing of it runs or waits for the disk, it has written.
        One that is stopped is not waited for."""
        limit = time.monotonic() + WRITE_SECONDS
        while any(is_at_work(info.pid) for info in engine_files.running(self.home.state_dir)) and time.monotonic() < limit:
            time.sleep(0.005)

    def codes(self, played: Played) -> list[str]:
        """Under which codes the audit log tells of this conversation, oldest first."""
        return [event.get("code", "") for event in audit(self.home) if event.get("session") == played.session]

    def engines(self) -> list[int]:
        return engine_pids(self.home.state_dir)

    def log(self) -> list[dict[str, Any]]:
        return read_log(self.home)


def is_at_work(pid: int) -> bool:
    """Whether a thread of this process runs, could run or waits for the disk, on a system that tells."""
    try:
        stats = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/stat")]
    except OSError:  # it ends
        return False
    return any(stat.rpartition(")")[2].split()[0] in ("R", "D") for stat in stats)


def read_log(home: Home) -> list[dict[str, Any]]:
    path = call_log.resolve("~/.openclaw/tool-guard.log", home.state_dir)
    return [msgspec.json.decode(line) for line in path.read_bytes().splitlines()] if path.exists() else []


def put_in(home: Home, *, link: bool = False) -> None:
    """What `toolguard install` does, into this home. A copy is patient."""
    places = _installed(home, link=link)
    if not link:
        _make_patient(places.extension)


@contextmanager
def as_shipped(home: Home) -> Iterator[None]:
    """The copy is not patient, for as long as this lasts: to the commands it is the one that they would install."""
    places = _installed(home, link=False)
    try:
        yield
    finally:
        _make_patient(places.extension)


def _installed(home: Home, *, link: bool) -> paths.Places:
    places = paths.Places(home.state_dir, home.config_path)
    done = install_plugin.run(places, link=link, dry_run=False)
    assert done.exit_code == 0
    return places


def _make_patient(plugin: Path) -> None:
    """Its notes and stops come, and calls are held, also where another process has the processor for seconds: the limits
    themselves have tests that need no gateway."""
    for name, usual, patient in PATIENCE:
        path = plugin / name
        text = path.read_text()
        assert text.count(usual) == 1, f"{name} has no {usual}"
        path.write_text(text.replace(usual, patient))


def configure(home: Home, **settings: Any) -> None:
    """Sets these keys of the plugin's entry."""
    value = json.loads(home.config_path.read_text())
    value["plugins"]["entries"]["toolguard"].setdefault("config", {}).update(settings)
    home.config_path.write_text(json.dumps(value, indent=2))


def toolguard(home: Home, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The command line in a process of its own, as a person would run it."""
    command = [sys.executable, "-m", "toolguard_cli", *arguments, "--state-dir", str(home.state_dir)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)


def nonces(home: Home) -> FileNonces:
    return FileNonces(home.state_dir)


def waiting(home: Home) -> list[HeldCall]:
    """The calls that wait for a person."""
    return [entry for entry in nonces(home).entries() if entry.status == "pending"]


def once(*replies: scripted_model.Reply, closing: str = "Done.") -> scripted_model.Script:
    """These replies one after another, then the closing words; tools that are not offered are not called."""
    return lambda r: replies[r.index] if r.tools and r.index < len(replies) else scripted_model.Reply(closing)


def repeating(*replies: scripted_model.Reply, closing: str = "Stopped.", most: int = 50) -> scripted_model.Script:
    """These replies in turn, for as long as tools are offered."""
    return lambda r: replies[r.index % len(replies)] if r.tools and r.index < most else scripted_model.Reply(closing)


def counting(
    reply: Callable[[int], scripted_model.Reply], closing: str = "Stopped.", most: int = 50
) -> scripted_model.Script:
    """A reply made from the number of the request, for as long as tools are offered."""
    return lambda r: reply(r.index) if r.tools and r.index < most else scripted_model.Reply(closing)


def audit(home: Home) -> list[dict[str, Any]]:
    """The audit log, but for lines that say what a machine was too busy to save for undo."""
    return [line for line in AuditLog(home.state_dir).events() if not line.get("code", "").startswith("undo.")]
