"""Whether the running gateway is guarded, in words: for `status`, and after `install`."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any

from toolguard_cli.hostconfig import config_tree, openclaw_check
from toolguard_cli.operations import guard_proof
from toolguard_cli.operations.guard_proof import GuardProof
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import progress
from toolguard_cli.terminal.result import Kind, Line, Result
from toolguard_cli.validation import startup

KINDS: dict[guard_proof.State, tuple[Kind, str]] = {
    "guarded": ("ok", "GUARDED"),
    "observing": ("warn", "OBSERVING"),
    "installed": ("info", "INSTALLED"),
    "port-taken": ("warn", "INSTALLED"),
    "not-installed": ("warn", "NOT guarded"),
    "unknown": ("warn", "unproven"),
    "unreadable": ("warn", "unproven"),
    "starting": ("warn", "unproven"),
    "reloading": ("warn", "reloading"),
    "old-version": ("error", "partly guarded"),
    "old-settings": ("error", "partly guarded"),
}
"""All other states are not guarded."""


NO_OPENCLAW = "openclaw is not on PATH: toolguard is a plugin of the OpenClaw gateway, and guards nothing without it"


def lines(proof: GuardProof) -> list[Line]:
    kind, word = KINDS.get(proof.state, ("error", "NOT guarded"))
    since = f" (engine started {moment(proof.since)})" if proof.guards else ""
    return [Line(kind, f"{word}: {proof.text}{since}"), *([Line("next", proof.fix)] if proof.fix else [])]


def data(proof: GuardProof) -> dict[str, Any]:
    return asdict(proof)


def moment(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds).astimezone():%Y-%m-%d %H:%M}"


def after(result: Result, places: Places) -> Result:
    """The result of a command that changed the installation, with what the running gateway has made of it."""
    try:
        with progress.reporting() as report:
            proof = guard_proof.settled(places, report)
    except OSError as error:  # the installation itself is complete
        reason = f"{error.filename or 'its files'}: {error.strerror or error}"
        proof = GuardProof("unknown", f"what the gateway has loaded cannot be read: {reason}", "")
    known = tuple(line for line in result.lines if line.kind != "next" or line.text.startswith("toolguard migrate"))
    then = Line("next", "toolguard doctor")
    missing = proof.fix == guard_proof.START and not openclaw_check.command()
    if missing:
        then = Line("next", f"{openclaw_check.MISSING}; then {_start(proof, places)}")
    elif proof.fix == guard_proof.START:
        then = Line("next", f"{_start(proof, places)}, then: toolguard doctor")
    elif proof.state in ("starting", "reloading"):
        then = Line("next", proof.fix)
    elif proof.fix:
        then = Line("next", f"{proof.fix}, then: toolguard doctor")
    host = (Line("warn", NO_OPENCLAW),) if missing else ()
    shown = (*known, *host, *lines(replace(proof, fix="")), then)
    return replace(result, data={**result.data, "guard": data(proof)}, lines=shown)


def _start(proof: GuardProof, places: Places) -> str:
    """How the gateway is started, and what it needs before: a config that `install` has just made has no mode."""
    start = f"start the gateway ({proof.fix})"
    with suppress(UserError, OSError):
        if startup.lacks_mode(config_tree.read(places.config)):
            return f"set the gateway up (openclaw onboard, or: toolguard config set gateway.mode local), {start}"
    return start
