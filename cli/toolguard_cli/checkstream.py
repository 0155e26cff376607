"""`toolguard check --stdin`: calls in, verdicts out, one JSON line each, in the same order, for as long as lines come.

A line is `{"tool", "params"}`, and may have `agent`, `session`, `cwd`, `channel`, `requester`, `at` (seconds since 1970; now
where it is not there), and an `id` that is sent back; an answer has a `note` where a constraint notes something. The law:
every line that says anything gets exactly one answer; one that is not understood, or that the gateway would refuse for what
it lacks, is never allowed (`hold`, code `check.bad-input`); and nothing is kept back while more input is waited for.
"""

from __future__ import annotations

import gc
import os
import sys
import time
import traceback
from typing import Any

import msgspec

from toolguard_cli.judging import Judging, missing
from toolguard_engine import effecttexts
from toolguard_engine.lines import Lines
from toolguard_engine.model import Call

MAX_LINE = 2 * 1024 * 1024
CHUNK = 1 << 16
MANY = 64
"""So many answers are sent at once, at most."""
BAD_INPUT = "check.bad-input"
ERROR = "check.error"
EXAMPLE = '{"tool": "exec", "params": {"command": "ls"}}'

_ENCODE = msgspec.json.Encoder().encode


class Asked(msgspec.Struct, frozen=True):
    """One line."""

    tool: str
    params: Any = None
    agent: str = ""
    session: str = ""
    cwd: str = ""
    channel: str = ""
    requester: str = ""
    at: float | None = None
    id: Any = msgspec.UNSET


class Told(msgspec.Struct, frozen=True, omit_defaults=True):
    """The answer to one line."""

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


_DECODE = msgspec.json.Decoder(Asked).decode


def run(judging: Judging, source: int = 0, sink: int = 1) -> int:
    """Answers until the input ends or nobody reads the answers any more. The exit code."""
    lines, count = Lines(MAX_LINE), 0
    gc.freeze()  # what is loaded by now stays: looking through it again and again costs a tenth of the time
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
    """The answer to one line, without its end."""
    try:
        asked = _DECODE(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return _ENCODE(_bad(number, str(error) or type(error).__name__, _id_of(line)))
    try:
        call = _call(asked)
        if lacks := missing(call):
            return _ENCODE(_bad(number, f"{lacks}, so the gateway would refuse this call", asked.id))
        found = judging.weigh(call)
        told = Told(
            found.decision,
            found.code,
            found.clarity,
            found.stakes,
            found.score,
            effecttexts.each(found.effects),
            [match.rule for match in found.matches],
            found.reason,
            found.note,
            asked.id,
        )
        return _ENCODE(told)
    except Exception as error:  # noqa: BLE001 - one line must not end the stream for all others
        traceback.print_exc(file=sys.stderr)
        return _ENCODE(_none("hold", ERROR, f"a bug in toolguard: {type(error).__name__}; please report it", asked.id))


def _call(asked: Asked) -> Call:
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


def _bad(number: int, reason: str, name: Any = msgspec.UNSET) -> Told:
    return _none("hold", BAD_INPUT, f"line {number}: {reason}; a line is like {EXAMPLE}", name)


def _none(verdict: str, code: str, reason: str, name: Any) -> Told:
    return Told(verdict, code, 0, 0, 0, [], [], reason, id=name)


def _id_of(line: bytes) -> Any:
    """The id of a line that is no call, where it is JSON at all."""
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.UNSET
    return value.get("id", msgspec.UNSET) if isinstance(value, dict) else msgspec.UNSET
