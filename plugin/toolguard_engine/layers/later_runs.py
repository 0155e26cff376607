"""What a call writes into files that programs of earlier calls, which run on, may run: judged as if these ran it now.

A text that is not known is held if such a program may read it at any time. What the program itself would do was judged when
it was started; what counts is what the new text adds to that.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from toolguard_engine.effects.calls import living_readings
from toolguard_engine.effects.calls.arrivals import Arrivals
from toolguard_engine.effects.calls.arrivals import arrivals as arrivals_of
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.layers import typed_input
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.living_programs import LivingProgram, LivingPrograms
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.wording.redact import redact_text

HARM = "living.runs"
UNKNOWN = "living.unknown"
_UNWRITTEN = "It runs {file}, which an earlier call may still be writing, and what it writes there is not known."
MAX_READ = 16
"""Programs that are read again for one call, the last ones that were started. Of the others, only the files are judged."""

MAX_SHOWN = 80
_STRICTNESS = {"allow": 0, "hold": 1, "block": 2}
_CLARITY, _STAKES = 6, 6
_NOT_KNOWN = "{program} may run {file}, and what this call writes there is not known."


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    if not given.living or given.judge_command is None or earlier.decision == "block":
        return None
    result = earlier
    for reading in _readings(given):
        if path := _unwritten(given, reading):
            result = Judgement("hold", UNKNOWN, _CLARITY, _STAKES, reason=_UNWRITTEN.format(file=path))
        for judgement in _judged(given, given.living, reading, arrivals) if (arrivals := arrivals_of(reading)) else ():
            if (_STRICTNESS[judgement.decision], judgement.score) > (_STRICTNESS[result.decision], result.score):
                result = judgement
    return None if result is earlier or _STRICTNESS[result.decision] <= _STRICTNESS[earlier.decision] else result


def _readings(given: LayerInput) -> Iterator[CallReading]:
    """The call itself, or the commands that it types into a running program."""
    if given.entries is None:
        yield given.reading
        return
    for process, entry in given.entries:
        yield from (typed_input.reading_of(given.reading, process, command) for command in entry.commands)


def _unwritten(given: LayerInput, reading: CallReading) -> str:
    """A file that the call runs, and that an earlier call may still be writing; empty if there is none."""
    making = [program for program in given.living or () if program.makes] if reading.commands else []
    if not making or not reading.command_readings:
        return ""
    paths = living_readings.run_by(reading.running)
    return next((path for path in paths if any(program.is_making(path, given.call.at) for program in making)), "")


def _judged(given: LayerInput, living: LivingPrograms, reading: CallReading, arrivals: Arrivals) -> Iterator[Judgement]:
    read, others, made = 0, dict[str, str](), living_readings.MadeByAgents(reading.made)
    for program in arrivals.concerned(living):
        if not (changed := arrivals.collect(program)):
            continue
        texts = {name: text for name, text in changed.items() if text is not None}
        unknown = next((name for name, text in changed.items() if text is None and program.may_read(name)), "")
        if unknown:
            yield Judgement(
                "hold", UNKNOWN, _CLARITY, _STAKES, reason=_NOT_KNOWN.format(program=_shown(program), file=unknown)
            )
        if read >= MAX_READ:
            others |= texts
        elif texts:
            read += 1
            yield from _as_it_runs(given, reading, program, texts, made.also(texts))
    if (forgotten := arrivals.forgotten(living)) is not None:
        changed = arrivals.collect(forgotten)
        others |= {name: text for name, text in changed.items() if text is not None}
        if unknown := next((name for name, text in changed.items() if text is None), ""):
            yield Judgement("hold", UNKNOWN, _CLARITY, _STAKES, reason=_NOT_KNOWN.format(program="A program", file=unknown))
    if others:
        general = living_readings.in_general(reading, others, made.also(others))
        yield from _harmful(given, general, None, "A program", others)


def _as_it_runs(
    given: LayerInput, reading: CallReading, program: LivingProgram, texts: dict[str, str], made: FileMemory
) -> Iterator[Judgement]:
    before = living_readings.again(program, reading, {}, reading.made)
    yield from _harmful(given, living_readings.again(program, reading, texts, made), before, _shown(program), texts)


def _harmful(
    given: LayerInput, reading: CallReading, before: CallReading | None, program: str, texts: dict[str, str]
) -> Iterator[Judgement]:
    """`before`: the reading without the texts, of which nothing counts."""
    assert given.judge_command is not None  # noqa: S101 - `judge` has asked
    after = given.judge_command(reading)
    if after.decision == "allow":
        return
    known = given.judge_command(before) if before is not None else Judgement("allow", "allow")
    if _STRICTNESS[after.decision] <= _STRICTNESS[known.decision] and _about(after) <= _about(known):
        return
    code = after.code if after.decision == "block" else HARM
    reason = f"{program} would run what this call writes to {next(iter(texts))}: {after.reason}"
    yield replace(after, code=code, reason=reason, ends=False, free=False)


def _about(judgement: Judgement) -> frozenset[tuple[str, str]]:
    """What a judgement is about, wherever in a file it stands."""
    return frozenset((match.rule, match.target) for match in judgement.matches) or frozenset({(judgement.code, "")})


def _shown(program: LivingProgram) -> str:
    command = redact_text(" ".join(program.commands[0].split())[: 4 * MAX_SHOWN], active=True)
    command = command if len(command) <= MAX_SHOWN else f"{command[: MAX_SHOWN - 3]}..."
    return f"`{command}`, which was started earlier and may still run,"
