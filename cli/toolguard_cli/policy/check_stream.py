"""`toolguard check --stdin`: reads calls and writes verdicts, one JSON line each, in the same order, until the input ends.

A line is `{"tool", "params"}`, optionally with `agent`, `session`, `cwd`, `channel`, `requester`, `at` (seconds since 1970;
default: now), and an `id` that is sent back; an answer has a `note` if a constraint notes something. Invariants: every line
that is not empty gets exactly one answer; a line that is invalid or that the gateway would refuse is never allowed (`hold`,
code `check.bad-input`); and no answer is kept back while waiting for more input.
"""

from __future__ import annotations

import gc
import os
import sys
import time
import traceback
from typing import Any

import msgspec

from toolguard_cli.policy.offline_guard import Judging, missing
from toolguard_engine.effects.facts import descriptions
from toolguard_engine.model.call import Call
from toolguard_engine.wire.line_reader import Lines

MAX_LINE = 2 * 1024 * 1024
CHUNK = 1 << 16
MANY = 64
"""The maximum number of answers sent at once."""
BAD_INPUT = "check.bad-input"
ERROR = "check.error"
EXAMPLE = '{"tool": "exec", "params": {"command": "ls"}}'

_ENCODE = msgspec.json.Encoder().encode


class CheckRequest(msgspec.Struct, frozen=True):
    tool: str
    params: Any = None
    agent: str = ""
    session: str = ""
    cwd: str = ""
    channel: str = ""
    requester: str = ""
    at: float | None = None
    id: Any = msgspec.UNSET


class CheckAnswer(msgspec.Struct, frozen=True, omit_defaults=True):
    verdict: str
    code: str
    clarity: int
    stakes: int
    score: int
    effects: list[str]
    rules: list[str]
    reason: str
    note: str = ""
    id: Any = msgspec.UNSET


_DECODE = msgspec.json.Decoder(CheckRequest).decode


def run(judging: Judging, source: int = 0, sink: int = 1) -> int:
    """Answers until the input or the output is closed; returns the exit code."""
    lines, count = Lines(MAX_LINE), 0
    gc.freeze()  # collecting what is loaded by now would cost a tenth of the time
    gc.enable()  # the command line keeps it off until all is loaded
    try:
        while data := os.read(source, CHUNK):
            count = _answer_all(judging, lines, data, sink, count)
        _answer_all(judging, lines, b"\n", sink, count)
    except BrokenPipeError:
        pass
    except KeyboardInterrupt:
        return 130
    return 0


def _answer_all(judging: Judging, lines: Lines, data: bytes, sink: int, before: int) -> int:
    """The number of the last line; `before`: that of the line before these."""
    answers: list[bytes] = []
    number = before
    for number, (line, too_long) in enumerate(lines.feed(data), before + 1):
        if too_long:
            answers.append(_ENCODE(_bad(number, f"it has more than {MAX_LINE} bytes")))
        elif line.strip():
            answers.append(answer(judging, line, number))
        if len(answers) >= MANY:
            _send(answers, sink)
            answers = []
    if answers:
        _send(answers, sink)
    return number


def _send(answers: list[bytes], sink: int) -> None:
    data = memoryview(b"\n".join(answers) + b"\n")
    while data:
        data = data[os.write(sink, data) :]


def answer(judging: Judging, line: bytes, number: int = 1) -> bytes:
    try:
        asked = _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _ENCODE(_bad(number, str(error) or type(error).__name__, _id_of(line)))
    try:
        call = _call(asked)
        if lacks := missing(call):
            return _ENCODE(_bad(number, f"{lacks}, so the gateway would refuse this call", asked.id))
        judgement = judging.weigh(call)
        effects, rules = descriptions.distinct_effects(judgement.effects), [match.rule for match in judgement.matches]
        scores = (judgement.clarity, judgement.stakes, judgement.score)
        return _ENCODE(
            CheckAnswer(
                judgement.decision, judgement.code, *scores, effects, rules, judgement.reason, judgement.note, asked.id
            )
        )
    except Exception as error:  # noqa: BLE001 - one line must not end the stream for all others
        traceback.print_exc(file=sys.stderr)
        return _ENCODE(_none("hold", ERROR, f"a bug in toolguard: {type(error).__name__}; please report it", asked.id))


def _call(asked: CheckRequest) -> Call:
    return Call(
        asked.tool,
        asked.params,
        agent=asked.agent,
        session=asked.session,
        cwd=asked.cwd,
        channel=asked.channel,
        requester=asked.requester,
        at=time.time() if asked.at is None else asked.at,
    )


def _bad(number: int, reason: str, name: Any = msgspec.UNSET) -> CheckAnswer:
    return _none("hold", BAD_INPUT, f"line {number}: {reason}; a line looks like {EXAMPLE}", name)


def _none(verdict: str, code: str, reason: str, name: Any) -> CheckAnswer:
    return CheckAnswer(verdict, code, 0, 0, 0, [], [], reason, id=name)


def _id_of(line: bytes) -> Any:
    """The id of an invalid line, if it is JSON."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.UNSET
    return value.get("id", msgspec.UNSET) if isinstance(value, dict) else msgspec.UNSET
