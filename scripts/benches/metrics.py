"""Measures the metrics with a million model calls: recording, asking, the page, importing, cleaning up; prints a table.

The calls are spread over 30 days: 4 gateways, 30 agents that use 3 of 20 models each, 5,000 sessions that last a day or two;
and 200,000 verdicts. `--json FILE` also writes the figures.
"""

from __future__ import annotations

import argparse
import http.client
import json
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import metricspage
from figures import Figure, as_json, show
from oldmetrics import make_old

from toolguard_cli.errors import UserError
from toolguard_engine.config import Retention
from toolguard_engine.metrics import importing, queries, reading, retention
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.record import DAY_MS, Call, Verdict, record, record_verdicts
from toolguard_engine.metrics.shapes import Range
from toolguard_engine.stores.transactions import transaction

CALLS, VERDICTS, OLD_EVENTS = 1_000_000, 200_000, 200_000
DAYS = 30
BATCH = 1_000
SMALL = 10
"""Calls to a batch as a busy gateway writes it."""

ROUNDS = 40
ANSWER_MS, IMPORT_PER_SECOND = 100, 20_000
RANGES: tuple[Range, ...] = ("24h", "7d", "30d")
GATEWAYS = ("openclaw", "dev", "work", "lab")
CHANNELS = ("", "telegram", "discord")
KINDS = ("allow",) * 16 + ("hold", "block", "malformed", "stop")
STATIC = "/static/style.css"
ENDPOINTS = (
    *(f"/api/{name}?range={each}" for name in ("overview", "gateways", "models", "guard", "gateway/dev") for each in RANGES),
    *(f"/api/timeseries?range={each}{by}" for by in ("", "&by=gateway", "&by=model", "&by=agent") for each in RANGES),
    "/api/live?limit=200", "/api/decisions?limit=200", "/api/decisions?kind=hold&gateway=dev", "/api/state", "/api/pending",
    "/api/openapi.json", "/metrics",
)  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench metrics", description=__doc__)
    parser.add_argument("--calls", type=int, default=CALLS, help=f"model calls ({CALLS:,})")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"of each question ({ROUNDS})")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder:
        figures = measure(Path(folder), options.calls, options.rounds)
    show(figures)
    if options.json:
        options.json.write_text(json.dumps(as_json(figures), indent=2) + "\n")
        print(f"\nwritten to {options.json}")
    return 0


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def measure(folder: Path, calls: int, rounds: int) -> list[Figure]:
    path, now = folder / "metrics.db", time.time_ns() // 1_000_000
    say("recording")
    figures = recorded(path, calls, now)
    say("asking")
    figures += asked(path, now, rounds)
    say("asking over HTTP")
    figures += served(folder, path, rounds)
    say("drawing the page")
    figures += page(path)
    say("importing")
    figures += imported(folder)
    say("cleaning up")
    return figures + cleaned(path, now)


def page(path: Path) -> list[Figure]:
    try:
        return metricspage.measure(path)
    except UserError as error:
        say(f"left out: {error}")
        return []


# Recording


def recorded(path: Path, calls: int, now: int) -> list[Figure]:
    with closing(connect(path)) as connection:
        took = 0.0
        for batch in batches(made_calls(calls, now), BATCH):
            took += seconds(lambda batch=batch: _put(connection, record, batch))  # type: ignore[misc]
        verdicts = 0.0
        for some in batches(made_verdicts(calls * VERDICTS // CALLS, now), BATCH):
            verdicts += seconds(lambda some=some: _put(connection, record_verdicts, some))  # type: ignore[misc]
        small = [
            1000 * seconds(lambda batch=batch: _put(connection, record, batch))  # type: ignore[misc]
            for batch in batches(made_calls(SMALL * 200, now), SMALL)
        ]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return [
        Figure(f"{calls:,} calls recorded", calls / took, "calls/s", f"{BATCH:,} to a batch, hours and days included"),
        Figure("verdicts recorded", calls * VERDICTS / CALLS / verdicts, "verdicts/s", f"{BATCH:,} to a batch"),
        Figure(
            f"a batch of {SMALL} calls, p50", statistics.median(small), "ms", f"p95 {p95(small):.2f} ms, in the full file"
        ),
        Figure("size of the file", path.stat().st_size / 2**20, "MiB", f"{path.stat().st_size / calls:.0f} bytes a call"),
    ]


def _put(connection: object, write: Callable[..., None], rows: Sequence[object]) -> None:
    with transaction(connection):  # type: ignore[arg-type]
        write(connection, rows)


def made_calls(count: int, now: int) -> Iterator[Call]:
    rnd = random.Random(7)  # noqa: S311 - always the same
    start = now - DAYS * DAY_MS
    for number in range(count):
        at = start + number * DAYS * DAY_MS // count
        session = (number * 5_000 // count + rnd.randrange(300)) % 5_000
        agent = session % 30
        model = (agent * 7 + rnd.randrange(3)) % 20
        tokens = (rnd.randrange(4_000), rnd.randrange(900), rnd.randrange(9_000), rnd.randrange(500))
        known = None if model % 10 == 0 else sum(tokens) * 3e-6
        yield Call(
            at, GATEWAYS[agent % 4], f"agent-{agent}", f"agent:agent-{agent}:{session}", CHANNELS[session % 3],
            f"provider-{model % 5}", f"model-{model}", *tokens, sum(tokens), known, int(model % 10 == 1),
            rnd.randrange(200, 20_000), "error" if number % 50 == 0 else "completed",
        )  # fmt: skip


def made_verdicts(count: int, now: int) -> Iterator[Verdict]:
    start = now - DAYS * DAY_MS
    for number in range(count):
        kind, agent = KINDS[number % len(KINDS)], number % 30
        code = {"allow": "", "stop": "loop.same-error"}.get(kind, f"rule.example-{number % 40}")
        event = None if kind in ("allow", "malformed") else f"event-{number}"
        names = (
            GATEWAYS[agent % 4],
            f"agent-{agent}",
            f"agent:agent-{agent}:{number % 5_000}",
            f"run-{number // 9}",
            "exec",
        )
        at = start + number * DAYS * DAY_MS // count
        yield Verdict(at, *names, "allow", code, "because it deletes files", kind, event, "", "rm -rf build/out")


# Asking


def asked(path: Path, now: int, rounds: int) -> list[Figure]:
    with reading.asked(path) as db:
        questions: dict[str, Callable[[], object]] = {
            "live": lambda: queries.live(db, 200),
            "calls_after": lambda: queries.calls_after(db, queries.newest(db)[0] - 100, 200),
            "decisions": lambda: queries.decisions(db, 200),
            "decisions, none found": lambda: queries.decisions(db, 200, kind="nothing"),
            "usage by session": lambda: queries.usage(db, "session", now - 7 * DAY_MS, now),
        }
        for each in RANGES:
            questions |= {
                f"overview {each}": lambda each=each: queries.overview(db, each, now),  # type: ignore[misc]
                f"timeseries {each}": lambda each=each: queries.timeseries(db, each, now),  # type: ignore[misc]
                f"timeseries by model {each}": lambda each=each: queries.timeseries(db, each, now, "model"),  # type: ignore[misc]
                f"timeseries by agent {each}": lambda each=each: queries.timeseries(db, each, now, "agent"),  # type: ignore[misc]
                f"gateways {each}": lambda each=each: queries.gateways(db, each, now),  # type: ignore[misc]
                f"gateway {each}": lambda each=each: queries.gateway(db, "dev", each, now),  # type: ignore[misc]
                f"models {each}": lambda each=each: queries.models(db, each, now),  # type: ignore[misc]
                f"guard {each}": lambda each=each: queries.guard(db, each, now),  # type: ignore[misc]
            }
        return [_figure(f"query {name}", milliseconds(ask, rounds)) for name, ask in questions.items()]


def _figure(name: str, times: list[float], beside: str = "") -> Figure:
    return Figure(f"{name}, p95", p95(times), "ms", f"p50 {statistics.median(times):.1f} ms{beside}", ANSWER_MS)


# Asking over HTTP


def served(folder: Path, path: Path, rounds: int) -> list[Figure]:
    with server(folder, path) as address:
        bare = milliseconds(lambda: get(*address, STATIC), rounds)
        usual = statistics.median(bare)
        figures = [Figure(f"GET {STATIC}, p95", p95(bare), "ms", f"p50 {usual:.1f} ms")]
        for endpoint in ENDPOINTS:
            times = milliseconds(lambda endpoint=endpoint: get(*address, endpoint), rounds)  # type: ignore[misc]
            figures.append(_figure(f"GET {endpoint}", times, f", {statistics.median(times) / usual:.1f} x {STATIC}"))
        return figures


@contextmanager
def server(folder: Path, path: Path) -> Iterator[tuple[str, int]]:
    """Where it answers."""
    options = (
        "--db",
        path,
        "--state-dir",
        folder,
        "--config",
        folder / "openclaw.json",
        "--bind",
        "127.0.0.1",
        "--port",
        "0",
    )
    command = [sys.executable, "-m", "toolguard_cli.dashboard", *options, "--owned"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        try:
            said = child.stdout.readline().split()
            address = urlsplit(said[-1])
            yield address.hostname or "", address.port or 0
        finally:
            child.stdin.close()
            child.wait()


def get(host: str, port: int, path: str) -> None:
    connection = http.client.HTTPConnection(host, port, timeout=60)
    with closing(connection):
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{path}: {answer.status}")


# Importing and cleaning up


def imported(folder: Path) -> list[Figure]:
    make_old(folder / "old.db", OLD_EVENTS)
    took = seconds(lambda: importing.run(folder / "old.db", folder / "new.db"))
    return [
        Figure(
            "old plugin's events imported", OLD_EVENTS / took, "events/s", f"{OLD_EVENTS:,}", IMPORT_PER_SECOND, least=True
        )
    ]


def cleaned(path: Path, now: int) -> list[Figure]:
    """As of ten days later, so that a third of the calls are too old."""
    with closing(connect(path)) as connection:
        pieces: list[float] = []
        removed, started = 0, time.perf_counter()
        before = started
        for count in retention.clean(connection, Retention(), now + DAYS // 3 * DAY_MS):
            removed += count
            pieces.append(1000 * (time.perf_counter() - before))
            before = time.perf_counter()
        took = time.perf_counter() - started
    return [
        Figure("clean-up of a third", took, "s", f"{removed:,} rows, {removed / took:,.0f} a second"),
        Figure("a piece of it, p95", p95(pieces), "ms", f"longest {max(pieces):.0f} ms; others wait for one piece"),
    ]


def batches(rows: Iterator[object], size: int) -> Iterator[list[object]]:
    batch: list[object] = []
    for row in rows:
        batch.append(row)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch


def seconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def milliseconds(work: Callable[[], object], rounds: int) -> list[float]:
    """The first time is not counted."""
    work()
    return [1000 * seconds(work) for _ in range(rounds)]


def p95(times: list[float]) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * 0.95))]


if __name__ == "__main__":
    sys.exit(main())
