"""Measures verdicts and notifications while two targets are down, then slow, then answer 500, and then work again.

Two engines decide the same calls in turns, one with a notifier and one without. The targets are a webhook and a server like
ntfy's, both on this machine. It runs in real time: an hour and about five minutes by default, mostly idle.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from everyday import commands
from figures import Figure, options, quantile, report
from stuck import MANY, Driven, in_turns

from toolguard_engine.stores import open as stores

SLOW_SECONDS = 20.0
"""Longer than an attempt is waited for, shorter than the connection."""

HOLD_SECONDS, TURN_SECONDS = 30.0, 2.0
BACK_SECONDS = 420.0
"""Longer than the longest pause between two attempts."""

RATIO = 1.5
PHASES = ("down", "slow", "500", "back")


@dataclass
class Faulty:
    """A server that can be down. `taken`: how often each message was answered with 200, by key or by its text."""

    name: str
    port: int = 0
    phase: str = "down"
    attempts: Counter[str] = field(default_factory=Counter)
    taken: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    _server: ThreadingHTTPServer | None = None

    def enter(self, phase: str) -> None:
        self.phase = phase
        if phase != "down" and self._server is None:
            self._server = ThreadingHTTPServer(("127.0.0.1", self.port), self._handler())
            self._server.daemon_threads = True
            threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def reserve(self) -> None:
        """Chooses the port, which nothing listens on until the server is no longer down."""
        with ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as probe:
            self.port = probe.server_address[1]

    def _handler(self) -> type[BaseHTTPRequestHandler]:
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                phase = owner.phase
                owner.attempts[phase] += 1
                if phase == "slow":
                    time.sleep(SLOW_SECONDS)
                if phase != "500":
                    owner.taken[self.headers["Idempotency-Key"] or body] += 1
                    owner.texts.append(body)
                self.send_response(500 if phase == "500" else 200)
                self.send_header("Content-Length", "2")
                self.end_headers()
                self.wfile.write(b"{}")

            def log_message(self, *_: object) -> None: ...

        return Handler


@contextmanager
def notifier(home: Path, targets: list[Faulty]) -> Iterator[None]:
    command = [sys.executable, "-m", "toolguard_cli.notify", "--state-dir", str(home)]
    hook, push = targets
    addresses = {
        hook.name: {"webhook": f"http://127.0.0.1:{hook.port}/"},
        push.name: {"url": f"ntfy://127.0.0.1:{push.port}/topic"},
    }
    settings = {"targets": addresses, "mostPerHour": 600, "events": ["held", "expiring", "expired", "blocked"]}
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        assert process.stdin is not None
        process.stdin.write(json.dumps({"notify": settings}).encode() + b"\n")
        process.stdin.flush()
        try:
            yield
        finally:
            process.terminate()
            process.wait()


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--minutes", type=float, default=20, help="how long each of the three faults lasts (20)")
    parser.add_argument("--back", type=float, default=BACK_SECONDS, help="seconds with working targets at the end (420)")
    chosen = parser.parse_args()
    report(measure(chosen.minutes * 60, chosen.back), chosen.json)
    return 0


def measure(seconds: float, back: float) -> list[Figure]:
    texts = commands(60, MANY)
    targets = [Faulty("hook"), Faulty("push")]
    figures: list[Figure] = []
    with ExitStack() as stack:
        folders = [stack.enter_context(tempfile.TemporaryDirectory(prefix="toolguard-bench-")) for _ in range(2)]
        notified, plain = engines = [stack.enter_context(Driven(Path(folder))) for folder in folders]
        for target in targets:
            target.reserve()
        stack.enter_context(notifier(notified.home, targets))
        for number in range(10):
            in_turns(engines, texts, number, measured=False)
        holds = 0
        for phase in PHASES:
            for target in targets:
                target.enter(phase)
            for engine in engines:
                engine.safe, engine.held = [], []
            holds = _drive(engines, texts, holds, back if phase == "back" else seconds, holding=phase != "back")
            figures += _compared(phase, notified, plain)
            print(f"{time.strftime('%H:%M:%S')} end of {phase}: {[dict(each.attempts) for each in targets]}", flush=True)
        figures += _delivered(notified.home, targets, holds)
    return figures


def _drive(engines: list[Driven], texts: list[str], holds: int, seconds: float, *, holding: bool) -> int:
    """How many calls were held so far."""
    until, number, next_hold = time.monotonic() + seconds, 0, 0.0
    while time.monotonic() < until:
        if holding and time.monotonic() > next_hold:
            next_hold = time.monotonic() + HOLD_SECONDS
            holds += 1
            for engine in engines if holds % 2 else reversed(engines):
                engine.hold(holds)
                engine.wait()
        in_turns(engines, texts, number := number + 1, measured=True)
        time.sleep(TURN_SECONDS)
    return holds


def _compared(phase: str, notified: Driven, plain: Driven) -> list[Figure]:
    pairs: list[tuple[str, Callable[[Driven], list[float]]]] = [
        ("safe call", lambda engine: engine.safe),
        ("held call", lambda engine: [1_000 * one for one in engine.held]),
    ]
    found = []
    for name, times in pairs:
        if not times(notified):
            continue
        one, other = quantile(times(notified), 0.5), quantile(times(plain), 0.5)
        beside = f"{one:.2f} ms, {other:.2f} ms without; {len(times(notified))} calls"
        found.append(Figure(f"{phase}: {name} with a notifier, p50", one / other, "x", beside, RATIO))
    return found


def _delivered(home: Path, targets: list[Faulty], holds: int) -> list[Figure]:
    store = stores.notifications(home)
    health = {each.target: each for each in store.health()}
    store.close()
    lost = [line for line in (home / "toolguard/audit.jsonl").read_text().splitlines() if "notification-lost" in line]
    found = []
    for target in targets:
        mine, attempts = health[target.name], ", ".join(f"{phase} {count}" for phase, count in target.attempts.items())
        twice = sum(count - 1 for count in target.taken.values())
        found += [
            Figure(f"{target.name}: messages accepted twice", twice, "", f"{len(target.taken)} accepted", 0),
            Figure("... events sent", mine.sent, "", f"{holds} held calls; attempts: {attempts}"),
            Figure("... events lost", mine.lost, "", f"{sum(f'to {target.name} ' in line for line in lost)} in the log"),
            Figure("... events that still wait", mine.waiting, "", mine.error, 0),
            Figure("... messages that report a loss", sum("not delivered" in text for text in target.texts), ""),
        ]
    return found


if __name__ == "__main__":
    sys.exit(main())
