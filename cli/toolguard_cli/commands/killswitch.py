"""`toolguard kill-switch`: stops every tool call of every agent at once, and frees them again."""

from __future__ import annotations

import secrets
import shlex
import time
from typing import Any, Literal

from toolguard_cli import held, inside, standing, stores, tables
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers, rulenames
from toolguard_engine.stores import audit, engines
from toolguard_engine.stores.killswitch import KillSwitch, Thrown
from toolguard_engine.stores.locked import StoreError

Wish = Literal["on", "off", "status"]
WISHES: tuple[Wish, ...] = ("on", "off", "status")
IS_ON = "the kill switch is ON: no tool call of any agent runs, whatever the mode"
IS_OFF = "the kill switch is off: calls are judged as the settings say"
STOP = "openclaw gateway stop"
ON, OFF = "toolguard kill-switch on --why '...'", "toolguard kill-switch off"


def wish_of(text: str) -> Wish:
    """Raises `ValueError`, whose text is for a person."""
    found = next((wish for wish in WISHES if wish == text.strip().lower()), None)
    if found is not None:
        return found
    near = rulenames.nearest(text.lower(), WISHES)
    raise ValueError(f"{answers.cut(text, 40)!r} is none of {', '.join(WISHES)}{f'; did you mean {near}?' if near else ''}")


def run(places: Places, wish: Wish, *, why: str = "") -> Result:
    if wish == "status":
        thrown = KillSwitch(places.state_dir).thrown()
        return _result(places, thrown, _state(thrown))
    inside.refuse(places, f"kill-switch {wish}", loosens=wish == "off")
    after, told = throw(places, wish, why, "cli")
    if wish == "on":
        told += unguarded(places)
    return _result(places, after, [*told, Line("next", f"{OFF} lets them run again") if wish == "on" else _off_next()])


def throw(places: Places, wish: Wish, why: str, where: str) -> tuple[Thrown | None, list[Line]]:
    """How it stands then, and what there is to say about it. Raises `UserError`."""
    if held.never_been(places):
        raise UserError(held.nowhere(places), "name the state directory of your gateway; toolguard doctor looks at it")
    switch = KillSwitch(places.state_dir)
    before = switch.thrown()
    _set(switch, wish, why)
    after = switch.thrown()
    told = _done(wish, before, after)
    if before or after:
        told += [*_logged(places, wish, why, where), *_running(places)]
    return after, told


def _set(switch: KillSwitch, wish: Wish, why: str) -> None:
    """Raises `UserError`, which says what is so now."""
    try:
        switch.set(on=wish == "on", by=stores.who(), why=audit.plain(why))
    except StoreError as error:
        said = answers.plain(str(error))
        if switch.path.is_dir() and not switch.path.is_symlink():
            folder = f"a folder stands in the place of its file, so it counts as on: {said}"
            by_hand = f"look into it, then: rm -r {answers.plain(shlex.quote(str(switch.path)))}"
            raise UserError(f"the kill switch could not be switched {wish}; {folder}", by_hand) from error
        if switch.thrown() is not None:
            still = "it counts as ON as before" if wish == "on" else "the kill switch is still ON, no call runs"
            raise UserError(
                f"{still}: {said}", "check the owner and mode of its folder, and the space on its disk"
            ) from error
        raise UserError(f"the kill switch is NOT on, calls still run: {said}", f"stop the gateway: {STOP}") from error


def unguarded(places: Places) -> list[Line]:
    """Where no gateway has the plugin there is nobody to stop a call."""
    if engines.running(places.state_dir):
        return []
    try:
        found = list(standing.warnings(places, ""))
    except UserError as error:
        found = [error.message]
    lines = [Line("warn", answers.plain(f"nothing is stopped: {text}")) for text in found]
    return [*lines, Line("next", f"{STOP} stops the gateway itself")] if lines else []


def _done(wish: Wish, before: Thrown | None, after: Thrown | None) -> list[Line]:
    if wish == "on":
        same = before is not None and before == after
        again = f" (it was on already{', which stays as it was' if same else ''}: {words(before)})" if before else ""
        return [
            Line("ok", IS_ON + again),
            Line("info", "what an agent tries now is blocked and its run ends; a call that already runs is not stopped"),
        ]
    if before is None:
        return [Line("ok", "the kill switch was not on")]
    return [Line("ok", f"{IS_OFF}; it was on: {words(before)}")]


def _state(thrown: Thrown | None) -> list[Line]:
    if thrown is None:
        return [Line("ok", IS_OFF), Line("next", f"{ON} stops everything at once")]
    return [Line("warn", f"{IS_ON}: {words(thrown)}"), Line("next", f"{OFF} lets them run again")]


def _off_next() -> Line:
    return Line("next", "toolguard status shows what waits and what the agents have left")


def words(thrown: Thrown) -> str:
    """Why, who and since when, for a person."""
    since = f", since {tables.local(thrown.at)}" if thrown.at > 0 else ""
    by = f" (by {answers.cut(thrown.by, 100)})" if thrown.by else ""
    return answers.plain(f"{answers.cut(thrown.why, 300) or 'no reason was given'}{by}{since}")


def _running(places: Places) -> list[Line]:
    running = engines.running(places.state_dir)
    if not running:
        return [Line("info", "no gateway runs with the plugin here; it counts as soon as one does")]
    names = ", ".join(str(info.gateway_pid) for info in running)
    many = "gateway" if len(running) == 1 else "gateways"
    return [Line("info", f"it counts for the next call of {many} {names}")]


def _logged(places: Places, wish: Wish, why: str, where: str) -> list[Line]:
    """What is stopped stays so, even if that cannot be written down."""
    told = "no tool call runs until it is switched off" if wish == "on" else "calls are judged as usual again"
    line = audit.Event(
        id=secrets.token_hex(8),
        time=audit.when(time.time()),
        event="kill-switch",
        code=f"kill-switch.{wish}",
        by=stores.who(),
        where=where,
        why=audit.plain(why),
        reason=told,
    )
    try:
        audit.AuditLog(places.state_dir).append([line])
    except StoreError as error:
        return [Line("warn", answers.plain(f"this could not be written to the audit log: {error}"))]
    return []


def public(thrown: Thrown | None) -> dict[str, Any]:
    """For scripts."""
    if thrown is None:
        return {"on": False}
    return {"on": True, "by": thrown.by, "why": thrown.why, "at": thrown.at}


def _result(places: Places, thrown: Thrown | None, lines: list[Line]) -> Result:
    gateways = [info.gateway_pid for info in engines.running(places.state_dir)]
    return Result("kill-switch", {**public(thrown), "gateways": gateways}, tuple(lines))
