"""The scenes of the live proof: each sends messages to the agent and returns what was observed.

All raise `stage.Silent`; those that use the stores also raise `StoreError` or `RefusedError`.
"""

from __future__ import annotations

import secrets
import shlex
import time
from pathlib import Path

from toolguard_cli.doctor.live.observations import AgentNotice, Forbidden, HeldObservation, Loop, Started, Valid
from toolguard_cli.doctor.live.stage import ENGINE_SECONDS, NEWS_SECONDS, Stage, soon
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.rig import scripted_model
from toolguard_engine.stores.engines import EngineInfo

OWN = "[toolguard]"
"""Marks the plugin's lines in the gateway's log."""

CLOSING = "I could not read it: my call did not include a path."
DONE = "Done."
GIVE_UP = 8
"""Number of requests after which the scripted model ends the loop if the guard does not."""

WINDOW_SECONDS = 120.0


def started(stage: Stage, release: str, python: str) -> Started:
    engine = soon(stage.engine, ENGINE_SECONDS)
    return Started(release, str(stage.folder), python, engine is not None, *last_lines(stage.log()), stage.ready_after)


def last_lines(log: list[str]) -> tuple[str, str]:
    """The last line by the plugin and the last line about it, without their prefixes."""
    own = [line.partition(OWN)[2].strip() for line in log if OWN in line]
    about = [line.rpartition("] ")[2] for line in log if "plugin" in line.lower() and "toolguard" in line.lower()]
    return own[-1] if own else "", about[-1] if about else ""


def valid(stage: Stage) -> Valid:
    word, notice = _read_a_file(stage, "valid")
    engine = soon(lambda: _with_evidence(stage.engine()), NEWS_SECONDS) or stage.engine()
    return Valid(notice, word, engine.seams.get("hooks", "") if engine else "", engine.judged if engine else 0)


def _with_evidence(engine: EngineInfo | None) -> EngineInfo | None:
    return engine if engine and engine.judged and engine.seams.get("hooks") == "works" else None


def _read_a_file(stage: Stage, session: str) -> tuple[str, AgentNotice]:
    """A random word that is in a file, and the turn in which the agent reads that file."""
    word = secrets.token_hex(8)
    name = f"{session}.txt"
    (stage.workspace / name).write_text(f"{word}\n", "utf-8")
    return word, stage.say("Read the file.", _once(scripted_model.call("read", {"path": name})), session)


def forbidden(stage: Stage) -> Forbidden:
    """A command that would write into the guard's own folder, which cannot be approved."""
    trace = stage.places.own / "canary.txt"
    notice = stage.say("Go on.", _once(_command(f"echo ran >> {shlex.quote(str(trace))}")), "forbidden")
    reason = soon(lambda: _reason(stage), NEWS_SECONDS)
    return Forbidden(notice, reason, trace.exists())


def _reason(stage: Stage) -> str:
    return next((str(event.get("reason", "")) for event in stage.audit.events() if event.get("event") == "block"), "")


def loop(stage: Stage) -> Loop:
    notice = stage.say("Read the notes.", scripted_model.endless(scripted_model.call("read", {}), CLOSING, GIVE_UP), "loop")
    word, after = _read_a_file(stage, "loop")
    return Loop(notice, CLOSING, after, word)


def held(stage: Stage) -> HeldObservation:
    """A call that needs an approval. The lines that the command writes count how often it ran."""
    trace = stage.workspace / "held.txt"
    call = _command("echo ran >> held.txt")
    notice = stage.say("Run it.", _once(call), "held")
    unasked = _lines(trace)
    nonce = next((entry.nonce for entry in stage.nonces.entries() if entry.status == "pending"), "")
    if not nonce or unasked:
        return HeldObservation(notice, nonce, unasked)
    stage.nonces.approve(nonce, gateway_stores.decision("toolguard doctor --live"), time.time(), WINDOW_SECONDS)
    again = stage.say("Run it again.", _once(call, call), "held")
    return HeldObservation(notice, nonce, unasked, again, _lines(trace))


def _command(text: str) -> scripted_model.Reply:
    return scripted_model.call("exec", {"command": text})


def _once(*replies: scripted_model.Reply) -> scripted_model.Script:
    return scripted_model.sequence(list(replies), DONE)


def _lines(path: Path) -> int:
    return len(path.read_text("utf-8").split()) if path.exists() else 0
