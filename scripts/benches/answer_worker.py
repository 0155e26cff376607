"""Answers questions in this process and says how long each took: the part of `answer` that runs in one checkout.

Started with the folders of that checkout on `PYTHONPATH`. Each line of the input is a JSON list of questions; each line of
the output a list of nanoseconds, for the answer and for what is done behind it.
"""

from __future__ import annotations

import gc
import json
import sys
import time
from collections.abc import Callable
from typing import Any

HELLO = {"id": 0, "type": "hello", "v": 1, "stateDir": "/home/u/.openclaw", "config": {}, "gateway": "bench"}


def parts() -> tuple[Any, Any]:
    """The session and the messages, in the layout of today or in that of 0.1 before its modules were moved."""
    try:
        from toolguard_engine.server.composition import engine  # noqa: PLC0415 - the one that this checkout has
        from toolguard_engine.server.pipe import DescriptorPipe  # noqa: PLC0415
        from toolguard_engine.wire import messages  # noqa: PLC0415

        return engine(DescriptorPipe(0, 1)).session, messages
    except ImportError:
        from toolguard_engine import protocol, serve  # type: ignore[attr-defined] # noqa: PLC0415

        return serve.Engine(0, 1)._session, protocol  # noqa: SLF001


def main() -> int:
    session, messages = parts()
    session.answer(messages.decode(json.dumps(HELLO).encode()))
    gc.freeze()
    behind: Callable[[], object] = getattr(session, "settle", lambda: None)
    takers = [
        getattr(getattr(session, "outbox", session), name) for name in ("take_events", "take_verdicts", "take_records")
    ]
    clock = time.perf_counter_ns
    for line in sys.stdin:
        times = []
        for question in json.loads(line):
            data = json.dumps(question).encode()
            begun = clock()
            messages.encode(session.answer(messages.decode(data)))
            answered = clock()
            behind()
            times.append((answered - begun, clock() - answered))
            for take in takers:
                take()
        print(json.dumps(times), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
