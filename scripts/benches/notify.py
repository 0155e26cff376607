"""Measures how soon a held call reaches a webhook, and that verdicts do not wait for targets that are down, slow or broken.

For each fault two engines are asked in turns, one with a notifier whose target is faulty and one without one. Both get
the same safe calls, and one after another that must be held.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from everyday import commands
from figures import Figure, options, quantile, report
from stuck import MANY, WARM_UP, Driven, in_turns

ARRIVAL_SECONDS, RATIO = 2.0, 1.5
SLOW_SECONDS = 5.0
HOLDS = 90
NOWHERE = 9
"""A port of this machine that nothing listens on."""


@contextmanager
def webhook(status: int, seconds: float, arrived: Callable[[], object] = lambda: None) -> Iterator[int]:
    """The port of a server that answers this status after this time."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            arrived()
            time.sleep(seconds)
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def down() -> Iterator[int]:
    yield NOWHERE


FAULTS = {
    "the target is down": down,
    "the target answers after 5 s": partial(webhook, 200, SLOW_SECONDS),
    "the target answers 500": partial(webhook, 500, 0),
}


@contextmanager
def notifier(home: Path, port: int) -> Iterator[None]:
    command = [sys.executable, "-m", "toolguard_cli.notify", "--state-dir", str(home)]
    settings = {"targets": {"hook": {"webhook": f"http://127.0.0.1:{port}/"}}, "mostPerHour": 600}
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"notify": settings}).encode() + b"\n")
        process.stdin.flush()
        yield
        process.kill()


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="how long each fault lasts (10)")
    chosen = parser.parse_args()
    report([arrival(), *(figure for fault in FAULTS for figure in measure(fault, chosen.seconds))], chosen.json)
    return 0


def arrival() -> Figure:
    arrived = threading.Semaphore(0)
    taken: list[float] = []
    with ExitStack() as stack:
        home = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="toolguard-bench-")))
        port = stack.enter_context(webhook(200, 0, arrived.release))
        engine = stack.enter_context(Driven(home))
        stack.enter_context(notifier(home, port))
        for number in range(5):  # more in a minute would be summarized
            time.sleep(1)
            engine.hold(number)
            begun = time.perf_counter()
            if not arrived.acquire(timeout=60):
                raise SystemExit("no notification arrived")
            taken.append(time.perf_counter() - begun)
            engine.look()
    half = f"p50: {quantile(taken, 0.5):.2f} s, {len(taken)} calls"
    return Figure("from the question about a call to the webhook, longest", max(taken), "s", half, ARRIVAL_SECONDS)


def measure(fault: str, seconds: float) -> list[Figure]:
    texts = commands(60, MANY)
    with ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory(prefix="toolguard-bench-")) for _ in range(2)]
        notified, plain = engines = [stack.enter_context(Driven(Path(folder))) for folder in folders]
        stack.enter_context(notifier(notified.home, stack.enter_context(FAULTS[fault]())))
        for number in range(WARM_UP):
            in_turns(engines, texts, number, measured=False)
        until, number, holds = time.perf_counter() + seconds, 0, 0
        while time.perf_counter() < until:
            if not any(engine.waits for engine in engines) and holds < HOLDS:
                holds += 1
                for engine in engines:
                    engine.hold(holds)
            in_turns(engines, texts, number := number + 1, measured=True)
        return [
            _ratio(f"{fault}: safe call with a notifier, p50", notified.safe, plain.safe),
            _ratio(
                "... call that is held, p50", [1_000 * one for one in notified.held], [1_000 * one for one in plain.held]
            ),
        ]


def _ratio(name: str, found: list[float], without: list[float]) -> Figure:
    one, other = quantile(found, 0.5), quantile(without, 0.5)
    return Figure(name, one / other, "x", f"{one:.2f} ms, {other:.2f} ms without; {len(found)} calls", RATIO)


if __name__ == "__main__":
    sys.exit(main())
