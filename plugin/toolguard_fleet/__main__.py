"""`python -m toolguard_fleet`: the courier. The engine starts it where `fleet.enabled` is set."""

from __future__ import annotations

import asyncio
import os
import signal
import sys

from toolguard_engine.stores import system_calls
from toolguard_fleet import courier, engine_pipe

MEMORY = 1 << 30
"""Bytes: what the database sends is not ours to bound, and must not use up the memory of the gateway beside us."""


async def _run(sink: int) -> None:
    await courier.serve(await engine_pipe.opened(0, sink))


def main() -> None:
    if sys.stdin.isatty():
        print("The engine starts the courier automatically. To see how it is doing: toolguard doctor", file=sys.stderr)  # noqa: T201
        sys.exit(1)
    system_calls.limit_memory(MEMORY)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the engine decides when this ends
    sink = os.dup(1)
    os.dup2(2, 1)
    try:
        asyncio.run(_run(sink))
    finally:
        os._exit(0)  # a name that is being looked up in a thread must not keep the process


if __name__ == "__main__":
    main()
