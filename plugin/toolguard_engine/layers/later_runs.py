"""What a call writes into files that programs of earlier calls, which run on, may run: judged as if these ran it now.

A text that is not known is held if such a program may read it at any time. What the program itself would do was judged when
it was started; what counts is what the new text adds to that.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from toolguard_engine.effects import living_readings
from toolguard_engine.effects.living_readings import Arrivals
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.living_programs import LivingProgram
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.wording.redact import redact_text

HARM = "living.runs"
UNKNOWN = "living.unknown"
MAX_READ = 12
"""Programs that are read again for one call."""

MAX_SHOWN = 80
_STRICTNESS = {"allow": 0, "hold": 1, "block": 2}
_CLARITY, _STAKES = 6, 6
_NOT_KNOWN = "{program} may run {file}, and what this call writes there is not known."
_TOO_MANY = "Too many programs that still run may run {file} to tell what they would do with it."


def judge(given: LayerInput, found: Judgement) -> Judgement | None:
    if not given.living or given.judge_command is None or found.decision == "block":
        return None
    arrivals = Arrivals(given.reading)
    if not arrivals:
        return None
    result = found
    for each in _judged(given, arrivals):
        if (_STRICTNESS[each.decision], each.score) > (_STRICTNESS[result.decision], result.score):
            result = each
    return None if result is found or _STRICTNESS[result.decision] <= _STRICTNESS[found.decision] else result


def _judged(given: LayerInput, arrivals: Arrivals) -> Iterator[Judgement]:
    read = 0
    for program in given.living or ():
        changed = arrivals.at(program)
        if not changed:
            continue
        texts = {name: text for name, text in changed.items() if text is not None}
        unknown = next((name for name, text in changed.items() if text is None and program.may_read(name)), "")
        if unknown:
            yield Judgement(
                "hold", UNKNOWN, _CLARITY, _STAKES, reason=_NOT_KNOWN.format(program=_shown(program), file=unknown)
            )
        if texts and read >= MAX_READ:
            yield Judgement("hold", UNKNOWN, _CLARITY, _STAKES, reason=_TOO_MANY.format(file=next(iter(texts))))
        elif texts:
            read += 1
            yield from _as_it_runs(given, program, texts)


def _as_it_runs(given: LayerInput, program: LivingProgram, texts: dict[str, str]) -> Iterator[Judgement]:
    assert given.judge_command is not None  # noqa: S101 - `judge` has asked
    made = living_readings.made_by_agents(given.reading.made, texts)
    after = given.judge_command(living_readings.again(program, given.reading, texts, made))
    if after.decision == "allow":
        return
    before = given.judge_command(living_readings.again(program, given.reading, {}, given.reading.made))
    if _STRICTNESS[after.decision] <= _STRICTNESS[before.decision] and _about(after) <= _about(before):
        return
    code = after.code if after.decision == "block" else HARM
    reason = f"{_shown(program)} would run what this call writes to {next(iter(texts))}: {after.reason}"
    yield replace(after, code=code, reason=reason, ends=False, free=False)


def _about(found: Judgement) -> frozenset[tuple[str, str]]:
    """What a judgement is about, wherever in a file it stands."""
    return frozenset((match.rule, match.target) for match in found.matches) or frozenset({(found.code, "")})


def _shown(program: LivingProgram) -> str:
    command = redact_text(" ".join(program.commands[0].split())[: 4 * MAX_SHOWN], active=True)
    command = command if len(command) <= MAX_SHOWN else f"{command[: MAX_SHOWN - 3]}..."
    return f"`{command}`, which was started earlier and may still run,"
