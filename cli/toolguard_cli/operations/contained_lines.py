"""Whether the commands of the running gateways are contained, in words."""

from __future__ import annotations

from collections.abc import Sequence

from toolguard_cli.terminal.result import Line
from toolguard_engine.stores.engines import EngineInfo
from toolguard_engine.wording import printable

CONTAINED = "CONTAINED: commands run in a room of the kernel, and a probe in it reached nothing that is kept from them"
NOT_REHEARSED = "commands whose code cannot be read are NOT rehearsed: {why}"
WITHOUT_COPIES = "set containment.unknown to allow or hold; docs/containment.md says what a rehearsal needs"


def lines(running: Sequence[EngineInfo]) -> list[Line]:
    """Empty if no agent's commands are to be contained."""
    if why := fault(running):
        return [Line("warn", f"commands are NOT contained: {why[0]}"), Line("next", why[1])]
    rows = [Line("ok", CONTAINED)] if any(info.contained for info in running) else []
    if cause := unrehearsed(running):
        rows += [Line("warn", NOT_REHEARSED.format(why=cause)), Line("next", WITHOUT_COPIES)]
    return rows


def unrehearsed(running: Sequence[EngineInfo]) -> str:
    """Why unknown commands are not rehearsed although they should be."""
    return next((printable.plain(info.unrehearsed) for info in running if info.unrehearsed), "")


def fault(running: Sequence[EngineInfo]) -> tuple[str, str] | None:
    """Why commands are not contained although they should be, and the way out."""
    for info in running:
        if info.uncontained:
            return printable.plain(info.uncontained), printable.plain(info.way_out)
    return None
