"""Switches the kill switch: for `toolguard kill-switch` and the dashboard."""

from __future__ import annotations

import shlex
import time
from typing import Any, Literal

from toolguard_cli.approvals import held_calls
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.person import require_human
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result, dated
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import KillSwitchStore
from toolguard_engine.stores.values import KILL_SWITCH_SECONDS, KillSwitchState
from toolguard_engine.wording import printable

KillSwitchRequest = Literal["on", "off", "status"]
REQUESTS: tuple[KillSwitchRequest, ...] = ("on", "off", "status")
IS_ON = "the kill switch is ON: no tool call by any agent runs, whatever the mode"
IS_OFF = "the kill switch is off: calls are judged according to the settings"
STOP = "openclaw gateway stop"
ON, OFF = "toolguard kill-switch on --why '...'", "toolguard kill-switch off"


def parse_request(text: str) -> KillSwitchRequest:
    """Raises `ValueError` with a message for the user."""
    wanted = next((request for request in REQUESTS if request == text.strip().lower()), None)
    if wanted is not None:
        return wanted
    from toolguard_engine.rules import vocabulary  # noqa: PLC0415 - it brings half of the engine along

    near = vocabulary.nearest(text.lower(), REQUESTS)
    raise ValueError(
        f"{printable.cut(text, 40)!r} is not one of {', '.join(REQUESTS)}{f'; did you mean {near}?' if near else ''}"
    )


def run(places: Places, request: KillSwitchRequest, *, why: str = "") -> Result:
    if request == "status":
        thrown = stores.kill_switch(places.state_dir).thrown()
        return _result(places, thrown, _state(thrown))
    caller = require_human.caller(places, f"kill-switch {request}", loosens=request == "off")
    if request == "off":
        thrown = stores.kill_switch(places.state_dir).thrown()
        caller.require([f"the kill switch is on: {describe(thrown)}", IS_OFF] if thrown else ["the kill switch is not on"])
    after, lines = throw(places, request, why, "cli")
    if request == "on":
        lines += unguarded(places)
    return _result(places, after, [*lines, Line("next", f"{OFF} allows calls again") if request == "on" else _off_next()])


def throw(places: Places, request: KillSwitchRequest, why: str, where: str) -> tuple[KillSwitchState | None, list[Line]]:
    """The state afterwards, and lines about it. When it returns, each engine uses the new state. Raises `UserError`."""
    held_calls.refuse_nowhere(places)
    switch = stores.kill_switch(places.state_dir)
    before = switch.thrown()
    logged = (
        _logged(places, request, why, where) if before and request == "off" else []
    )  # no call runs before that is in the log
    _set(switch, request, why, logged)
    after = switch.thrown()
    logged += _logged(places, request, why, where) if after and request == "on" else []
    time.sleep(KILL_SWITCH_SECONDS)  # after the audit line: an interrupt must not lose it
    return after, [*_done(request, before, after), *logged, *(_running(places) if before or after else [])]


def _logged(places: Places, request: KillSwitchRequest, why: str, where: str) -> list[Line]:
    """A line in the audit log; the answer is a warning where that fails."""
    reason = "no tool call runs until it is switched off" if request == "on" else "calls are judged as usual again"
    line = gateway_stores.event(
        "kill-switch", where=where, code=f"kill-switch.{request}", why=audit_log.plain(why), reason=reason
    )
    return [Line("warn", text) for text in gateway_stores.logged(places, line)]


def _set(switch: KillSwitchStore, request: KillSwitchRequest, why: str, logged: list[Line]) -> None:
    """Raises `UserError` with the actual state, and with the warnings about the audit log."""
    try:
        switch.set(on=request == "on", by=gateway_stores.who(), why=audit_log.plain(why))
    except StoreError as error:
        problem = "; ".join([printable.plain(str(error)), *(line.text for line in logged)])
        if switch.path.is_dir() and not switch.path.is_symlink():
            folder = f"its file is a folder, so the switch counts as on: {problem}"
            by_hand = f"check what is in it, then run: rm -r {printable.plain(shlex.quote(str(switch.path)))}"
            raise UserError(f"the kill switch could not be switched {request}; {folder}", by_hand) from error
        if switch.thrown() is not None:
            still = "it still counts as ON" if request == "on" else "the kill switch is still ON: no call runs"
            raise UserError(
                f"{still}: {problem}", "check the owner and mode of its folder, and the space on its disk"
            ) from error
        if request == "off":
            raise UserError(f"the kill switch is off, so calls run: {problem}", f"{ON} stops everything again") from error
        raise UserError(f"the kill switch is NOT on, so calls still run: {problem}", f"stop the gateway: {STOP}") from error


def unguarded(places: Places) -> list[Line]:
    """Warnings if no gateway has the plugin, because then nothing stops a call."""
    if _gateways(places):
        return []
    from toolguard_cli.policy import not_guarded  # noqa: PLC0415 - it brings the parser of configs along

    try:
        warnings = list(not_guarded.warnings(places, ""))
    except UserError as error:
        warnings = [error.message]
    except OSError as error:
        warnings = [f"{error.filename}: {error.strerror}"]
    lines = [Line("warn", printable.plain(f"nothing is stopped: {text}")) for text in warnings]
    return [*lines, Line("next", f"{STOP} stops the gateway itself")] if lines else []


def _done(request: KillSwitchRequest, before: KillSwitchState | None, after: KillSwitchState | None) -> list[Line]:
    if request == "on":
        same = before is not None and before == after
        again = f" (it was already on{' and stays unchanged' if same else ''}: {describe(before)})" if before else ""
        return [
            Line("ok", IS_ON + again),
            Line("info", "new calls are blocked and end their run; a call that is already running is not stopped"),
        ]
    if before is None:
        return [Line("ok", "the kill switch was not on")]
    return [Line("ok", f"{IS_OFF}; it had been on{_past(before)}")]


def _state(thrown: KillSwitchState | None) -> list[Line]:
    if thrown is None:
        return [Line("ok", IS_OFF), Line("next", f"{ON} stops everything at once")]
    return [Line("warn", f"{IS_ON}: {describe(thrown)}"), Line("next", f"{OFF} allows calls again")]


def _off_next() -> Line:
    return Line("next", "toolguard status shows held calls and what is left of the budgets")


def describe(thrown: KillSwitchState) -> str:
    since = f", since {printable.moment(thrown.at)}" if thrown.at > 0 else ""
    by = f" (by {printable.cut(thrown.by, 100)})" if thrown.by else ""
    return printable.plain(f"{printable.cut(thrown.why, 300) or 'no reason was given'}{by}{since}")


def _past(thrown: KillSwitchState) -> str:
    since = f" since {printable.moment(thrown.at)}" if thrown.at > 0 else ""
    by = f"{printable.cut(thrown.by, 100)}, " if thrown.by else ""
    return printable.plain(f"{since} ({by}{printable.cut(thrown.why, 300) or 'no reason given'})")


def _running(places: Places) -> list[Line]:
    ports = _gateways(places)
    if not ports and (between := _between_engines(places)):
        return [Line("info", f"it applies as soon as the engine of that gateway runs: {between}")]
    if not ports:
        return [Line("info", "no gateway with the plugin is running here; it applies as soon as one is")]
    names = ", ".join(map(str, ports))
    many = "gateway" if len(ports) == 1 else "gateways"
    return [Line("info", f"it applies to the next call of {many} {names}")]


def _between_engines(places: Places) -> str:
    """What `toolguard status` says of a gateway with the plugin, but no engine at this moment; empty if there is none."""
    from toolguard_cli.operations import guard_proof  # noqa: PLC0415 - slow to import, and seldom needed

    try:
        proof = guard_proof.look(places)
    except OSError:
        return ""
    return proof.text if proof.state in ("reloading", "starting", "engine-away") else ""


def public(thrown: KillSwitchState | None) -> dict[str, Any]:
    if thrown is None:
        return {"on": False}
    return dated({"on": True, "by": thrown.by, "why": thrown.why, "at": thrown.at}, "at")


def _result(places: Places, thrown: KillSwitchState | None, lines: list[Line]) -> Result:
    return Result("kill-switch", {**public(thrown), "gateways": _gateways(places)}, tuple(lines))


def _gateways(places: Places) -> list[int]:
    """The gateways that run here. An error there must not hide that the switch is set."""
    try:
        return [info.gateway_pid for info in stores.engines(places.state_dir).running()]
    except OSError:
        return []
