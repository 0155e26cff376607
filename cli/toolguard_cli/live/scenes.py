"""What the canary does on the stage: each scene is some messages to the agent, and gives the facts.

All raise `stage.Silent`; what reads or decides in the stores raises `StoreError` or `Refused` as well.
"""

from __future__ import annotations

import secrets
import shlex
import time
from pathlib import Path

from toolguard_cli import stores
from toolguard_cli.live.seen import Forbidden, Held, Loop, Started, Told, Valid
from toolguard_cli.live.stage import ENGINE_SECONDS, NEWS_SECONDS, Stage, soon
from toolguard_cli.rig import model
from toolguard_engine.stores.engines import EngineInfo

OWN = "[toolguard]"
"""Before everything that the plugin writes into the gateway's log."""

CLOSING = "I could not read it: my call named no path."
DONE = "Done."
GIVE_UP = 8
"""Requests after which the scripted model ends a loop that nobody else ends."""

WINDOW_SECONDS = 120.0


def started(stage: Stage, release: str, python: str) -> Started:
    engine = soon(stage.engine, ENGINE_SECONDS)
    return Started(release, str(stage.folder), python, engine is not None, *said(stage.log()), stage.ready_after)


def said(log: list[str]) -> tuple[str, str]:
    """By the plugin, and about it: the last line of each, without what stands before the words."""
    own = [line.partition(OWN)[2].strip() for line in log if OWN in line]
    about = [line.rpartition("] ")[2] for line in log if "plugin" in line.lower() and "toolguard" in line.lower()]
    return own[-1] if own else "", about[-1] if about else ""


def valid(stage: Stage) -> Valid:
    word, told = _read_a_file(stage, "valid")
    engine = soon(lambda: _with_evidence(stage.engine()), NEWS_SECONDS) or stage.engine()
    return Valid(told, word, engine.seams.get("hooks", "") if engine else "", engine.judged if engine else 0)


def _with_evidence(engine: EngineInfo | None) -> EngineInfo | None:
    return engine if engine and engine.judged and engine.seams.get("hooks") == "works" else None


def _read_a_file(stage: Stage, session: str) -> tuple[str, Told]:
    """A word that only the file knows, and what came of reading it."""
    word = secrets.token_hex(8)
    name = f"{session}.txt"
    (stage.workspace / name).write_text(f"{word}\n", "utf-8")
    return word, stage.say("Read the file.", _once(model.call("read", {"path": name})), session)


def forbidden(stage: Stage) -> Forbidden:
    """A command that would write beside the stores of the guard: nobody can allow that."""
    trace = stage.places.own / "canary.txt"
    told = stage.say("Go on.", _once(_command(f"echo ran >> {shlex.quote(str(trace))}")), "forbidden")
    reason = soon(lambda: _reason(stage), NEWS_SECONDS)
    return Forbidden(told, reason, trace.exists())


def _reason(stage: Stage) -> str:
    return next((str(event.get("reason", "")) for event in stage.audit.events() if event.get("event") == "block"), "")


def loop(stage: Stage) -> Loop:
    told = stage.say("Read the notes.", model.endless(model.call("read", {}), CLOSING, GIVE_UP), "loop")
    word, after = _read_a_file(stage, "loop")
    return Loop(told, CLOSING, after, word)


def held(stage: Stage) -> Held:
    """The effect of the command in the workspace tells how often it ran."""
    trace = stage.workspace / "held.txt"
    call = _command("echo ran >> held.txt")
    told = stage.say("Run it.", _once(call), "held")
    unasked = _lines(trace)
    nonce = next((entry.nonce for entry in stage.nonces.entries() if entry.status == "pending"), "")
    if not nonce or unasked:
        return Held(told, nonce, unasked)
    stage.nonces.approve(nonce, stores.decision("toolguard doctor --live"), time.time(), WINDOW_SECONDS)
    again = stage.say("Run it again.", _once(call, call), "held")
    return Held(told, nonce, unasked, again, _lines(trace))


def _command(text: str) -> model.Reply:
    return model.call("exec", {"command": text})


def _once(*replies: model.Reply) -> model.Script:
    return model.sequence(list(replies), DONE)


def _lines(path: Path) -> int:
    return len(path.read_text("utf-8").split()) if path.exists() else 0
