"""`toolguard status`: is it installed, is it running, what has it done, what waits."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from toolguard_cli import budgets, metered, overview, weakenings
from toolguard_cli.commands import killswitch
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_cli.setup import record
from toolguard_engine import answers, redact, settingrules
from toolguard_engine.config import Config
from toolguard_engine.stores import calllog, engines

SECONDS = ((86_400, "d"), (3_600, "h"), (60, "min"))
TAIL_BYTES = 200_000
LOG_COLUMNS = ("time", "model", "tool", "action")


def run(places: Places) -> Result:
    known = record.load(places.record)
    running = engines.running(places.state_dir)
    last = engines.last(places.state_dir)
    config, wrong = budgets.settings(places), budgets.invalid(places)
    log = calllog.resolve(settingrules.log_path(config), places.state_dir)
    entries = tail(log)
    held = overview.look(places, time.time())
    used = metered.look(places)
    weaker = weakenings.look(places)
    lines = [
        *_stopped(held),
        *_invalid(wrong),
        *weakenings.lines(weaker, places),
        _installed(places, known),
        *_running(running, last),
        *_log(log, entries),
        *overview.lines(replace(held, damaged=[each for each in held.damaged if each[0] != wrong])),
        *_budgets(held, config),
        *metered.lines(used),
    ]
    if known is None:
        lines.append(Line("next", "toolguard install"))
    data = {
        "installed": known is not None,
        "installation": _installation(known),
        "engines": [engines.describe(info) for info in running],
        "lastEngine": engines.describe(last) if last else None,
        "log": {"path": str(log), "recent": entries[-5:]},
        "held": overview.data(held),
        "killSwitch": killswitch.public(held.thrown),
        "weakened": weakenings.data(weaker),
        "budgets": [budgets.data(each, config) for each in budgets.worth_a_look(held.standings or [], config)],
        **metered.data(used),
    }
    return Result("status", data, tuple(lines))


def _installation(known: record.Record | None) -> dict[str, Any] | None:
    if known is None:
        return None
    wanted = ("version", "python", "mode", "plugin", "config")
    return {name: getattr(known, name) for name in wanted}


def _stopped(held: overview.Overview) -> list[Line]:
    """Before everything else."""
    if held.thrown is None:
        return []
    return [
        Line("warn", f"{killswitch.IS_ON}: {killswitch.words(held.thrown)}"),
        Line("next", f"{killswitch.OFF} lets them run again"),
    ]


def _invalid(why: str) -> list[Line]:
    return [Line("error", answers.plain(f"the settings are invalid (toolguard config validate): {why}"))] if why else []


def _budgets(held: overview.Overview, config: Config) -> list[Line]:
    if held.standings is None:
        return []  # damaged, which is told
    found = budgets.worth_a_look(held.standings, config)
    if not found:
        return [Line("info", said)] if (said := budgets.unused(config)) else []
    urgent = [bool(each.told) or budgets.waits(each, config) for each in found]
    pairs = list(zip(found, urgent, strict=True))[: budgets.SHOWN]
    lines = [Line("warn" if warn else "info", budgets.words(each, config)) for each, warn in pairs]
    if (more := len(found) - budgets.SHOWN) > 0:
        lines.append(Line("info", f"and {more} more budgets that were used"))
    if any(urgent):
        lines.append(Line("info", "toolguard checkpoint refills them, once you have looked at what was done"))
    return lines


def _installed(places: Places, known: record.Record | None) -> Line:
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
        return [Line("info", "no engine has run here yet; it starts with the gateway")]
    return [Line("info", f"no engine is running; the last one: {_done(last)}")]


def _done(info: engines.EngineInfo) -> str:
    return (
        f"mode {info.mode}, started {ago(info.started)} ago, {info.judged} calls judged, "
        f"{info.corrected} corrected, {info.loops} loops named, {info.stopped} runs ended"
    )


def ago(moment: float) -> str:
    """How long since, in one unit."""
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
    """A value of the log, fit for a terminal: the file may have lines that others wrote."""
    return redact.cut(redact.UNPRINTABLE.sub("?", str(value)))


def tail(path: Path) -> list[dict[str, Any]]:
    """The newest lines of the log that can be read."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, 2)
            file.seek(max(0, size - TAIL_BYTES))
            newest = deque(file.read().splitlines(), maxlen=50)
    except OSError:
        return []
    found = []
    for line in newest:
        try:
            found.append(msgspec.json.decode(line, type=dict[str, Any]))
        except msgspec.DecodeError:
            continue  # a first line that the seek cut in half, or somebody else's
    return found
