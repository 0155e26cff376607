"""What is typed into a running program, judged as the command that it comes to (`toolguard_engine.effects.terminal_input`).

The strictest of all judgements counts: of each program that may read the line, and of each way in which writes that are
under way may have arrived. A line that cannot be known is held. What enters nothing runs nothing, and costs nothing.
"""

from __future__ import annotations

from dataclasses import replace as with_fields
from typing import Any

from msgspec.structs import replace

from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.terminal_input import key_presses
from toolguard_engine.effects.terminal_input.running_programs import RunningProgram
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Call
from toolguard_engine.rules.judgement import Judgement

CODE = "typed.unsure"
NOTHING = Judgement("allow", "allow", free=True)
"""A write that enters nothing."""

STAYS = "Text that was typed earlier is still on the line; Ctrl-C discards it."

_STRICTNESS = {"allow": 0, "hold": 1, "block": 2}
_UNSURE_CLARITY = 8
_UNSURE_STAKES = 6


def judge(given: LayerInput, _: Judgement) -> Judgement | None:
    entries, judge_command = given.entries, given.judge_command
    if entries is None or judge_command is None:
        return None
    earlier, reads_only = NOTHING, True
    for process, entry in entries:
        for command in entry.commands:
            reading = reading_of(given.reading, process, command)
            earlier = _stricter(earlier, judge_command(reading))
            reads_only = reads_only and reading.reads_only
        if entry.doubt:
            earlier = _stricter(earlier, Judgement("hold", CODE, _UNSURE_CLARITY, _UNSURE_STAKES, reason=entry.doubt))
    if earlier.decision == "allow":  # what only reads would cost nothing as a command
        return replace(earlier, stakes=1) if earlier is not NOTHING and reads_only and not earlier.matches else earlier
    stays = any(process.pending.strip(key_presses.CUT) for process, _ in entries)
    return replace(earlier, reason=f"{earlier.reason} {STAYS}") if stays else earlier


def reading_of(reading: CallReading, process: RunningProgram, command: str) -> CallReading:
    """A command that a call types into a process, with the files that it runs."""
    place = process.workdir, process.env, command
    if (known := reading.typed.get(place)) is None:
        call = as_command(reading.call, process, command)
        known = CallReading(call, reading.host, reading.work, reading.files, reading.made, reading.config)
        reading.typed[place] = known
    return known


def as_command(call: Call, process: RunningProgram, command: str) -> Call:
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
