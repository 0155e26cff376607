"""`toolguard demo --hold`: a call that waits for you, on a real gateway in a temporary home.

The call deletes a folder that exists for the demo only. Its name is one that no user has, in case a gateway ignores `HOME`.
"""

from __future__ import annotations

import select
import shlex
import sys
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import typer

from toolguard_cli.approvals import held_calls
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import approve_call, deny_call, install_plugin
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.downloads import Openclaw, Progress
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.system import subprocesses
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import PLUGIN_ID, Places, find
from toolguard_cli.terminal import single_keys
from toolguard_cli.terminal.confirm import YES
from toolguard_cli.terminal.result import Line, Result, wrapped
from toolguard_engine.approvals.ledger import OPEN, HeldCall, RefusedError
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.wording import printable

FOLDER = "toolguard-demo"
MARGIN = 2
PICTURE_BYTES = 2_000_000
CALL = f"rm -rf ~/{FOLDER}"
MESSAGE = "Tidy up my home folder"
ASKED, DONE = "I have asked for your approval and am waiting for it.", "I deleted the folder."
ESCALATED = "TOOLGUARD_ESCALATE|"
NO, ENDED = frozenset({"n", "no"}), "\0"
RUN_SECONDS, POLL_SECONDS = 120.0, 0.2
WINDOW_MS = 120_000
SETTINGS = {"pendingTimeoutMs": 600_000, "approvalWindowMs": WINDOW_MS}
"""Time to read, and time for a slow machine to resume the agent."""

NOT_HELD = "run toolguard doctor --live, which shows what does not work with this version of OpenClaw"


@dataclass(frozen=True)
class HeldDemo:
    """What happened. `decision`: approved, denied or expired; `where`: `demo`, or where else it was answered."""

    openclaw: str
    nonce: str
    call: str
    decision: str
    where: str
    ran: bool
    requests: int
    answer: str


def run(real: Openclaw, version: str, progress: Progress, *, yes: bool) -> Result:
    """Waits for an answer from here or from elsewhere; with `yes`, approves the call itself. Raises `UserError`."""
    plugins = {"entries": {PLUGIN_ID: {"enabled": True, "config": SETTINGS}}}
    with ExitStack() as stack:
        stack.enter_context(subprocesses.interruptible())
        stack.enter_context(gateway_stores.user_errors())
        server = stack.enter_context(scripted_model.ScriptedModel(_script))
        home = stack.enter_context(Home(server.base_url, plugins=plugins))
        places, folder = Places(home.state_dir, home.config_path), home.root / FOLDER
        folder.mkdir()
        (folder / "holiday.jpg").write_bytes(bytes(PICTURE_BYTES))
        install_plugin.run(places, link=False, dry_run=False)
        progress(f"starting OpenClaw {version} with the guard in a temporary home")
        gateway = stack.enter_context(Gateway(real, home))
        progress(f'"{MESSAGE}", and the scripted model calls: {CALL}')
        gateway.turn(MESSAGE)
        ledger = gateway_stores.nonces(places)
        held = _held(ledger, folder)
        _show(held, places)
        answered = _answered(ledger, held, places, yes=yes)
        if answered.status in OPEN:
            progress("approved; the guard wakes the agent, which repeats the call")
            _until(lambda: not folder.exists() and server.last_answer == DONE, RUN_SECONDS)
        seen = HeldDemo(
            version,
            held.nonce,
            CALL,
            answered.status,
            answered.where,
            not folder.exists(),
            len(server.requests),
            server.last_answer,
        )
    return _result(seen)


def _script(request: scripted_model.Request) -> scripted_model.Reply:
    """Makes the call, reports that it waits, and makes it again when it is woken."""
    last: dict[str, Any] = next(
        (message for message in reversed(request.messages) if message.get("role") in ("tool", "assistant")), {}
    )
    if last.get("role") == "tool":  # behind it stands what the gateway adds to each request
        held = ESCALATED in scripted_model.content_text(last.get("content"))
        return scripted_model.Reply(ASKED if held else DONE)
    return scripted_model.call("exec", {"command": CALL}) if request.tools else scripted_model.Reply(ASKED)


def _held(ledger: HeldCallStore, folder: Path) -> HeldCall:
    """The call that waits. Raises `UserError`."""
    waiting = [entry for entry in ledger.entries() if entry.status == "pending"]
    if not waiting or not folder.exists():
        raise UserError("the call was not held", NOT_HELD)
    return waiting[0]


def _show(held: HeldCall, places: Places) -> None:
    """Prints on standard error: the result is for standard output."""
    where = shlex.quote(str(places.state_dir))
    details = held_calls.details(held, time.time())
    text = [
        "",
        *(wrapped(line, MARGIN) if sys.stderr.isatty() else line for line in details),
        "",
        "Answer it in another terminal with one of these commands:",
        f"  toolguard approve {held.nonce[:4]} --state-dir {where}",
        f"  toolguard deny {held.nonce[:4]} --state-dir {where}",
        "Then come back to this terminal: it shows whether the agent made the call again, and whether it ran.",
        f"In this demo, an approval lasts {WINDOW_MS // 60_000} minutes; on your gateway, 30 seconds by default.",
    ]
    for line in text:
        typer.echo(f"{' ' * MARGIN}{line}".rstrip(), err=True)


def _answered(ledger: HeldCallStore, held: HeldCall, places: Places, *, yes: bool) -> HeldCall:
    """The call as it was answered, or as it expired."""
    asks = not yes and sys.stdin.isatty()
    if asks:
        single_keys.discard_typed()
        typer.echo("  Or answer it here: approve? [y/n] ", nl=False, err=True)
    decision = gateway_stores.decision("toolguard demo", "demo")
    config = gateway_stores.settings(places)
    while (entry := _entry(ledger, held)).status == "pending" and time.time() < entry.expires:
        typed = "y" if yes else _typed(POLL_SECONDS) if asks else None
        try:
            if typed in YES:
                approve_call.approve(places, ledger, held.nonce, decision, config)
            elif typed in NO:
                deny_call.deny(ledger, held.nonce, decision, config)
            elif typed == ENDED:
                asks = False
            elif typed is not None:
                typer.echo("  Please answer y or n: ", nl=False, err=True)
        except RefusedError:
            continue  # it was answered elsewhere in the same moment
        if not asks and not yes:
            time.sleep(POLL_SECONDS)
    typer.echo("", err=True)
    return entry


def _entry(ledger: HeldCallStore, held: HeldCall) -> HeldCall:
    return next(entry for entry in ledger.entries() if entry.nonce == held.nonce)


def _typed(seconds: float) -> str | None:
    """The line that was typed within this time, None if there is none, `ENDED` if there will be none."""
    if not select.select([sys.stdin], [], [], seconds)[0]:
        return None
    line = sys.stdin.readline()
    return line.strip().lower() if line else ENDED


def _until(condition: Callable[[], bool], seconds: float) -> None:
    limit = time.monotonic() + seconds
    while not condition() and time.monotonic() < limit:
        time.sleep(POLL_SECONDS)


def next_step() -> str:
    """The command that installs the guard, as the beginning of a sentence; empty if it is installed."""
    return "" if find(None, None).record.exists() else "toolguard install, then "


def _result(seen: HeldDemo) -> Result:
    approved = seen.decision in ("approved", "used")
    good = seen.ran if approved else not seen.ran and seen.decision == "denied"
    text = {
        (True, True): "approved: the agent was resumed, and the call ran once",
        (True, False): "approved, but the agent did not repeat the call in time; it did not run",
        (False, False): f"{seen.decision}: the call did not run",
        (False, True): f"{seen.decision}, but the call ran",
    }[approved, seen.ran]
    lines = (
        Line("ok" if good else "error", f"OpenClaw {seen.openclaw}: {text}"),
        *([Line("info", f"the agent's last answer: {printable.plain(seen.answer)}")] if approved else []),
        Line("next", f"{next_step()}toolguard watch shows the waiting calls of your own agents"),
    )
    return Result("demo", asdict(seen), lines, 0 if good else 1)
