"""The part of `reference` that runs in one checkout: handles messages in this process and says what each cost.

Started with the folders of that checkout on `PYTHONPATH`. Each line of the input is a JSON list of messages; each line of
the output a list of microseconds of processor time for the whole answer, and the number of calls that were not allowed.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from answer_worker import HELLO, parts


def warm_up(session: Any) -> None:
    """What an engine does once it has nothing else to do; the fixed checkout does nothing then."""
    try:
        from toolguard_engine.server import warm_up as steps  # noqa: PLC0415 - only where this checkout has it
    except ImportError:
        return
    for _ in steps.steps(session.guard):
        pass


def result_of(question: dict[str, Any]) -> dict[str, Any]:
    """The result of a call, without which it would count as running on."""
    return {**question, "type": "came", "id": None, "text": "done"}


def done(session: Any, takers: list[Callable[[], object]]) -> None:
    """What follows an answer, and is not measured here."""
    getattr(session, "settle", lambda: None)()
    for take in takers:
        take()


def main() -> int:
    session, messages = parts()
    session.answer(messages.decode(json.dumps({**HELLO, "stateDir": sys.argv[1]}).encode()))
    warm_up(session)
    gc.collect()
    gc.freeze()
    takers = [
        getattr(getattr(session, "outbox", session), name) for name in ("take_events", "take_verdicts", "take_records")
    ]
    for line in sys.stdin:
        costs, refused = [], 0
        for message in json.loads(line):
            data = json.dumps(message).encode()
            begun = time.thread_time_ns()
            answer: Any = session.answer(messages.decode(data))
            if answer is not None:
                messages.encode(answer)
            costs.append((time.thread_time_ns() - begun) / 1e3)
            allowed = getattr(answer, "decision", "") == "allow" or message["type"] != "judge"  # without one, it is held
            refused += not allowed
            done(session, takers)
            if message["type"] == "judge" and allowed:
                session.answer(messages.decode(json.dumps(result_of(message)).encode()))
                done(session, takers)
        print(json.dumps([costs, refused]), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
