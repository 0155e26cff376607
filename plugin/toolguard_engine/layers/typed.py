"""What is typed into a running program, judged as the command that it comes to (`toolguard_engine.typed`).

The strictest of all judgements counts: of each program that may read the line, and of each way in which writes that are
under way may have arrived. A line that cannot be known is held. What enters nothing runs nothing, and costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace as with_fields
from typing import Any

from msgspec.structs import replace

from toolguard_engine import looks
from toolguard_engine.judgement import Judgement
from toolguard_engine.model import Call
from toolguard_engine.typed import keys
from toolguard_engine.typed.processes import Entry, Process

CODE = "typed.unsure"
NOTHING = Judgement("allow", "allow")
"""What a write is that enters nothing. The very object says so."""

STAYS = "What was typed before it still stands in the line; Ctrl-C throws it away."

_STRICTNESS = {"allow": 0, "hold": 1, "block": 2}
_UNSURE_CLARITY = 8
_UNSURE_STAKES = 6


def judge(call: Call, entries: list[tuple[Process, Entry]], weigh: Callable[[Call], Judgement]) -> Judgement:
    found = NOTHING
    for process, entry in entries:
        for command in entry.commands:
            found = _stricter(found, weigh(as_command(call, process, command)))
        if entry.doubt:
            found = _stricter(found, Judgement("hold", CODE, _UNSURE_CLARITY, _UNSURE_STAKES, reason=entry.doubt))
    if found.decision == "allow":
        return replace(found, stakes=1) if found is not NOTHING and _only_look(call, entries, found) else found
    stays = any(process.pending.strip(keys.CUT) for process, _ in entries)
    return replace(found, reason=f"{found.reason} {STAYS}") if stays else found


def _only_look(call: Call, entries: list[tuple[Process, Entry]], found: Judgement) -> bool:
    """Whether all that is entered only looks: as a command it would cost nothing."""
    if found.matches:
        return False
    commands = (as_command(call, process, command) for process, entry in entries for command in entry.commands)
    return all(looks.only_looks(each.tool, each.params) for each in commands)


def as_command(call: Call, process: Process, command: str) -> Call:
    """The `exec` that would do the same."""
    params: dict[str, Any] = {"command": command}
    if process.workdir:
        params["workdir"] = process.workdir
    if process.env:
        params["env"] = dict(process.env)
    return with_fields(call, tool="exec", params=params)


def _stricter(one: Judgement, other: Judgement) -> Judgement:
    if one is NOTHING:
        return other
    return other if (_STRICTNESS[other.decision], other.score) > (_STRICTNESS[one.decision], one.score) else one
