"""`toolguard status`: installation, running engines, recent activity and held calls."""

from __future__ import annotations

import os
import shlex
import time
from collections import deque
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from toolguard_cli.approvals import budgets
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.operations import contained_lines, guard_lines, guard_proof, set_kill_switch
from toolguard_cli.policy import accepted_view
from toolguard_cli.setup import install_record
from toolguard_cli.status import cost_format, limit_lines, overview, usage_lines
from toolguard_cli.status.limit_lines import LimitsView
from toolguard_cli.system import disk_trial
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result, dated
from toolguard_cli.validation import enabled_extras
from toolguard_engine.config import conflicts
from toolguard_engine.config.settings import Config
from toolguard_engine.stores import atomic, call_log, engines
from toolguard_engine.stores import open as stores
from toolguard_engine.wording import printable, redact
from toolguard_engine.wording.visible_text import visible_cut

SECONDS = ((86_400, "d"), (3_600, "h"), (60, "min"))
TAIL_BYTES = 200_000
LOG_COLUMNS = ("time", "model", "tool", "action")

app = command_app()


@command(app, "toolguard status", "toolguard status --json")
def run(places: Places) -> Result:
    """Show whether the guard is running and what it has done."""
    known, proof = install_record.load(places.record), guard_proof.look(places)
    running = stores.engines(places.state_dir).running()
    last = stores.engines(places.state_dir).last()
    config, wrong = budgets.settings(places), budgets.invalid(places)
    log = call_log.resolve(conflicts.log_path(config), places.state_dir)
    entries = tail(log)
    held = overview.look(places, time.time())
    used, limits = usage_lines.look(places), _limits_view(places)
    weaker = accepted_view.look(places)
    lines = [
        *_stopped(held),
        *_disk(places),
        *_fleet(places, config),
        *overview.first_lines(held),
        *_invalid(wrong),
        *accepted_view.lines(weaker, places),
        *enabled_extras.lines(config),
        *guard_lines.lines(proof if known else replace(proof, fix="")),
        _installed(places, known),
        *_running(running, last),
        *contained_lines.lines(running),
        *_log(log, entries),
        *overview.lines(replace(held, damaged=[damage for damage in held.damaged if damage[0] != wrong])),
        *_budgets(held, config),
        *usage_lines.lines(used),
        *_limits(limits),
    ]
    if known is None:
        lines.append(Line("next", shlex.join(["toolguard", "install", *places.given])))
    data = {
        "guard": guard_lines.data(proof),
        "installed": known is not None,
        "installation": _installation(known),
        "engines": [dated(engines.describe(info), "started") for info in running],
        "lastEngine": dated(engines.describe(last), "started") if last else None,
        "log": {"path": str(log), "recent": entries[-5:]},
        "held": overview.data(held),
        "killSwitch": set_kill_switch.public(held.thrown),
        **_fleet_data(places, config),
        "weakened": accepted_view.data(weaker),
        "budgets": [budgets.data(standing, config) for standing in budgets.worth_a_look(held.standings or [], config)],
        **usage_lines.data(used),
        "limits": limit_lines.data(limits)["limits"],
        "missingExtras": sorted({lacking.extra.name for lacking in enabled_extras.missing(config)}),
    }
    return Result("status", data, tuple(lines))


def _installation(known: install_record.Record | None) -> dict[str, Any] | None:
    if known is None:
        return None
    wanted = ("version", "python", "mode", "plugin", "config")
    return {name: getattr(known, name) for name in wanted}


def _stopped(held: overview.StatusOverview) -> list[Line]:
    if held.thrown is None:
        return []
    return [
        Line("warn", f"{set_kill_switch.IS_ON}: {set_kill_switch.describe(held.thrown)}"),
        Line("next", f"{set_kill_switch.OFF} allows calls again"),
    ]


def _disk(places: Places) -> list[Line]:
    """Only in the folder of the state: `doctor` tries the others."""
    try:
        mine = places.own.stat().st_uid == os.geteuid()
    except OSError:
        return []
    problem = disk_trial.problem(places.own) if mine else ""
    return [Line("error", printable.plain(f"{disk_trial.MEANS}: {problem} (toolguard doctor)"))] if problem else []


def _fleet(places: Places, config: Config) -> list[Line]:
    if not config.fleet.enabled:
        return []
    from toolguard_cli.status import fleet_lines  # noqa: PLC0415 - nothing of the fleet is loaded without one

    return fleet_lines.lines(places, config.fleet)


def _fleet_data(places: Places, config: Config) -> dict[str, Any]:
    if not config.fleet.enabled:
        return {}
    from toolguard_cli.status import fleet_lines  # noqa: PLC0415 - as above

    return {"fleet": fleet_lines.data(places, config.fleet)}


def _invalid(why: str) -> list[Line]:
    return [Line("error", printable.plain(f"the settings are invalid (toolguard config validate): {why}"))] if why else []


def _budgets(held: overview.StatusOverview, config: Config) -> list[Line]:
    if held.standings is None:
        return []  # damaged, which `overview` reports
    standings = budgets.worth_a_look(held.standings, config)
    if not standings:
        return [Line("info", text)] if (text := budgets.unused(config)) else []
    urgent = [bool(standing.reported) or budgets.waits(standing, config) for standing in standings]
    pairs = list(zip(standings, urgent, strict=True))[: budgets.SHOWN]
    lines = [Line("warn" if warn else "info", budgets.describe(standing, config)) for standing, warn in pairs]
    if (more := len(standings) - budgets.SHOWN) > 0:
        lines.append(Line("info", f"and {more} more budgets that were used"))
    if any(urgent):
        lines.append(Line("info", "toolguard checkpoint refills them once you have reviewed what was done"))
    return lines


def _limits_view(places: Places) -> LimitsView:
    """Empty without limits; invalid settings are reported elsewhere."""
    with suppress(UserError):
        if cost_format.usage_settings(places)[1]:
            return limit_lines.look(places)
    return LimitsView()


def _limits(view: LimitsView) -> list[Line]:
    return limit_lines.lines(view) if view.uses else []


def _installed(places: Places, known: install_record.Record | None) -> Line:
    if known is None:
        return Line("warn", f"not installed in {places.state_dir}")
    how = "linked from" if known.mode == "link" else "copied to"
    return Line("ok", f"toolguard {known.version} is installed, {how} {known.plugin}")


def _running(running: list[engines.EngineInfo], last: engines.EngineInfo | None) -> list[Line]:
    if running:
        return [
            Line("ok", f"engine {info.pid} of gateway {info.gateway_pid} ({info.host}): {_done(info)}") for info in running
        ]
    if last is None:
        return [Line("info", "no engine has run here yet; the gateway starts it")]
    return [Line("info", f"no engine is running; the last one: {_done(last)}")]


def _done(info: engines.EngineInfo) -> str:
    return (
        f"mode {info.mode}, started {ago(info.started)} ago, {_many(info.judged, 'call')} judged, "
        f"{info.corrected} corrected, {_many(info.loops, 'loop')} detected, {_many(info.stopped, 'run')} ended"
    )


def _many(count: int, name: str) -> str:
    return f"{count} {name}{'' if count == 1 else 's'}"


def ago(moment: float) -> str:
    seconds = max(0, int(time.time() - moment))
    for size, unit in SECONDS:
        if seconds >= size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"


def _log(path: Path, entries: list[dict[str, Any]]) -> list[Line]:
    if not entries:
        return [Line("info", f"no malformed call has been logged ({path})")]
    return [
        Line("info", f"last malformed calls, from {path}:"),
        *(Line("info", "  " + "  ".join(_shown(entry.get(name)) for name in LOG_COLUMNS)) for entry in entries[-5:]),
    ]


def _shown(value: object) -> str:
    """A value of the log, escaped for a terminal because others may have written to the file."""
    return visible_cut(str(value), redact.MAX_VALUE)


def tail(path: Path) -> list[dict[str, Any]]:
    try:
        with atomic.opened(path) as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            newest = deque(file.read().splitlines(), maxlen=50)
    except OSError:
        return []
    events = []
    for line in newest:
        try:
            events.append(msgspec.json.decode(line, type=dict[str, Any]))
        except msgspec.DecodeError:
            continue  # the seek cut the first line, or the line is not from toolguard
    return events
