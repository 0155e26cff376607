"""Measures the metrics with a million model calls: recording, the API, the page, importing, cleaning up.

The calls are spread over 30 days: 4 gateways, 30 agents that use 3 of 20 models each, 5,000 sessions of a day or two, and
200,000 verdicts. The page is timed in the system's Chromium, with an empty cache, until totals and charts are drawn.
"""

from __future__ import annotations

import http.client
import os
import random
import shutil
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from functools import partial
from itertools import islice
from pathlib import Path
from urllib.parse import urlsplit

from figures import Figure, milliseconds, options, quantile, report
from playwright.sync_api import Browser, sync_playwright

from toolguard_engine.config.settings import Retention
from toolguard_engine.host import metrics_path
from toolguard_engine.metrics import importing, retention
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.row_writer import DAY_MS, CallRecord, VerdictRecord, record, record_verdicts
from toolguard_engine.stores.transactions import transaction

CALLS, VERDICTS, OLD_EVENTS = 1_000_000, 200_000, 200_000
DAYS = 30
BATCH = 1_000
SMALL = 10
"""Calls to a batch as a busy gateway writes it."""

PAGES = 5
ANSWER_MS, PAGE_SECONDS, IMPORT_PER_SECOND = 100, 1, 20_000
RANGES = ("24h", "7d", "30d")
GATEWAYS = ("openclaw", "dev", "work", "lab")
CHANNELS = ("", "telegram", "discord")
KINDS = ("allow",) * 16 + ("hold", "block", "malformed", "stop")
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
STATIC = "/static/style.css"
ENDPOINTS = (
    *(f"/api/{name}?range={each}" for name in ("overview", "gateways", "models", "guard", "gateway/dev") for each in RANGES),
    *(f"/api/timeseries?range={each}{by}" for by in ("", "&by=gateway", "&by=model", "&by=agent") for each in RANGES),
    "/api/decisions?limit=200", "/api/decisions?kind=hold&gateway=dev", "/api/state", "/api/pending",
    "/api/openapi.json", "/metrics",
)  # fmt: skip
DRAWN = """
(() => {
    const painted = canvas => {
        const row = Math.floor(canvas.height * 0.8);
        return canvas.getContext('2d').getImageData(0, row, canvas.width, 1).data.some(value => value > 0);
    };
    const look = () => {
        const canvases = [...document.querySelectorAll('#overview canvas')];
        const told = document.querySelector('#overview [data-total=tokens][data-value]');
        if (!told || canvases.length < 2 || !canvases.every(painted)) requestAnimationFrame(look);
        else document.documentElement.dataset.drawn = performance.now();
    };
    requestAnimationFrame(look);
})();
"""
"""Looks in every frame; `data-drawn` is in milliseconds since the navigation."""

OLD_TABLES = """
    CREATE TABLE schema_version (version INTEGER PRIMARY KEY, applied_at TEXT NOT NULL);
    INSERT INTO schema_version VALUES (1, '2025-06-01T00:00:00.000Z');
    CREATE TABLE usage_events (
        id INTEGER PRIMARY KEY AUTOINCREMENT, ts TEXT NOT NULL, gateway_id TEXT, channel TEXT, provider TEXT, model TEXT,
        session_key TEXT, session_id TEXT, input_tokens INTEGER, output_tokens INTEGER, cache_read_tokens INTEGER,
        cache_write_tokens INTEGER, prompt_tokens INTEGER, total_tokens INTEGER, cost_usd REAL, duration_ms INTEGER,
        context_limit INTEGER, context_used INTEGER
    );
    CREATE INDEX idx_usage_events_ts ON usage_events (ts);
    CREATE TABLE hourly_stats (
        hour TEXT NOT NULL, gateway_id TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
        event_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
        total_tokens INTEGER DEFAULT 0, cost_usd REAL DEFAULT 0, PRIMARY KEY (hour, gateway_id, model)
    );
    CREATE TABLE daily_stats (
        day TEXT NOT NULL, gateway_id TEXT NOT NULL DEFAULT '', model TEXT NOT NULL DEFAULT '',
        event_count INTEGER DEFAULT 0, input_tokens INTEGER DEFAULT 0, output_tokens INTEGER DEFAULT 0,
        total_tokens INTEGER DEFAULT 0, cost_usd REAL DEFAULT 0, PRIMARY KEY (day, gateway_id, model)
    );
"""
"""Those of the plugin that toolguard replaces."""


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--calls", type=int, default=CALLS, help=f"model calls ({CALLS:,})")
    parser.add_argument("--rounds", type=int, default=40, help="repetitions of each query (40)")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as name:
        folder, now = Path(name), time.time_ns() // 1_000_000
        path = folder / "metrics.db"
        figures = recorded(path, chosen.calls, now)
        with server(folder, path) as address:
            figures += [*answers(address, chosen.rounds), *page(address, path)]
        figures += [*imported(folder), *cleaned(path, now)]
    report(figures, chosen.json)
    return 0


def recorded(path: Path, calls: int, now: int) -> list[Figure]:
    verdicts = calls * VERDICTS // CALLS
    with closing(connect(path)) as connection:
        put = partial(_put, connection)
        took = sum(milliseconds(partial(put, record, rows)) for rows in batched(made_calls(calls, now), BATCH)) / 1000
        judged = sum(
            milliseconds(partial(put, record_verdicts, rows)) for rows in batched(made_verdicts(verdicts, now), BATCH)
        )
        small = [milliseconds(partial(put, record, rows)) for rows in batched(made_calls(SMALL * 200, now), SMALL)]
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    size, beside = path.stat().st_size, f"p95 {quantile(small, 0.95):.2f} ms, in the full file"
    return [
        Figure(f"{calls:,} calls recorded", calls / took, "calls/s", f"{BATCH:,} to a batch, hours and days included"),
        Figure("verdicts recorded", verdicts / judged * 1000, "verdicts/s", f"{BATCH:,} to a batch"),
        Figure(f"a batch of {SMALL} calls, p50", statistics.median(small), "ms", beside),
        Figure("size of the file", size / 2**20, "MiB", f"{size / calls:.0f} bytes a call"),
    ]


def _put(connection: sqlite3.Connection, write: Callable[..., None], rows: Sequence[object]) -> None:
    with transaction(connection):
        write(connection, rows)


def made_calls(count: int, now: int) -> Iterator[CallRecord]:
    rnd = random.Random(7)  # noqa: S311 - always the same
    start = now - DAYS * DAY_MS
    for number in range(count):
        session = (number * 5_000 // count + rnd.randrange(300)) % 5_000
        agent = session % 30
        model = (agent * 7 + rnd.randrange(3)) % 20
        tokens = (rnd.randrange(4_000), rnd.randrange(900), rnd.randrange(9_000), rnd.randrange(500))
        yield CallRecord(
            start + number * DAYS * DAY_MS // count, GATEWAYS[agent % 4], f"agent-{agent}", f"agent:agent-{agent}:{session}",
            CHANNELS[session % 3], f"provider-{model % 5}", f"model-{model}", *tokens, sum(tokens),
            None if model % 10 == 0 else sum(tokens) * 3e-6, int(model % 10 == 1), rnd.randrange(200, 20_000),
            "error" if number % 50 == 0 else "completed",
        )  # fmt: skip


def made_verdicts(count: int, now: int) -> Iterator[VerdictRecord]:
    start = now - DAYS * DAY_MS
    for number in range(count):
        kind, agent = KINDS[number % len(KINDS)], number % 30
        code = {"allow": "", "stop": "loop.same-error"}.get(kind, f"rule.example-{number % 40}")
        event = None if kind in ("allow", "malformed") else f"event-{number}"
        yield VerdictRecord(
            start + number * DAYS * DAY_MS // count, GATEWAYS[agent % 4], f"agent-{agent}",
            f"agent:agent-{agent}:{number % 5_000}", f"run-{number // 9}", "exec", "allow", code,
            "because it deletes files", kind, event, "", "rm -rf build/out",
        )  # fmt: skip


@contextmanager
def server(folder: Path, path: Path) -> Iterator[str]:
    """The address of a dashboard over this file, beside a gateway that has nothing else."""
    where = ("--db", path, "--state-dir", folder, "--config", folder / "openclaw.json", "--bind", "127.0.0.1", "--port", "0")
    command = [sys.executable, "-m", "toolguard_cli.dashboard", *where, "--owned"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout is not None
        assert child.stdin is not None
        try:
            yield child.stdout.readline().split()[-1]
        finally:
            child.stdin.close()
            child.wait()


def answers(address: str, rounds: int) -> list[Figure]:
    """Every answer of the API, beside a static file; the first one of each is not counted."""
    times = {
        path: [milliseconds(partial(get, address, path)) for _ in range(rounds + 1)][1:] for path in (STATIC, *ENDPOINTS)
    }
    usual = statistics.median(times[STATIC])
    return [
        Figure(
            f"GET {path}, p95", quantile(each, 0.95), "ms",
            f"p50 {statistics.median(each):.1f} ms, {statistics.median(each) / usual:.1f} x {STATIC}", ANSWER_MS,
        )
        for path, each in times.items()
    ]  # fmt: skip


def get(address: str, path: str) -> None:
    split = urlsplit(address)
    with closing(http.client.HTTPConnection(split.hostname or "", split.port, timeout=60)) as connection:
        connection.request("GET", path)
        answer = connection.getresponse()
        answer.read()
        if answer.status != http.client.OK:
            raise RuntimeError(f"{path}: {answer.status}")


def page(address: str, path: Path) -> list[Figure]:
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        print("the page is left out: no Chromium here (apt-get install chromium)", file=sys.stderr)
        return []
    split, token = urlsplit(address), metrics_path.token_path(path).read_text().strip()
    url = f"{split.scheme}://{split.netloc}/#token={token}"
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"] if os.geteuid() == 0 else [])
        drawn(browser, url, "24h")
        found = {reach: [drawn(browser, url, reach) for _ in range(PAGES)] for reach in RANGES}
        browser.close()
    return [
        Figure(
            f"the page, {reach}, p50", statistics.median(times), "s", f"{min(times):.2f} to {max(times):.2f} s", PAGE_SECONDS
        )
        for reach, times in found.items()
    ]


def drawn(browser: Browser, url: str, reach: str) -> float:
    """Seconds until the page was drawn, for somebody who was never there and looks at this range."""
    with browser.new_context(viewport={"width": 1280, "height": 900}) as context:
        context.add_init_script(f"localStorage.setItem('toolguard.range', '{reach}');{DRAWN}")
        opened = context.new_page()
        opened.goto(url)
        return float(opened.locator("html[data-drawn]").get_attribute("data-drawn") or "nan") / 1000


def imported(folder: Path) -> list[Figure]:
    with closing(sqlite3.connect(folder / "old.db")) as connection:
        connection.executescript(OLD_TABLES)
        connection.executemany(
            "INSERT INTO usage_events (ts, gateway_id, channel, provider, model, session_key, input_tokens, output_tokens,"
            " cache_read_tokens, cache_write_tokens, total_tokens, cost_usd, duration_ms)"
            " VALUES (?, ?, '', ?, ?, ?, 900, 90, 5, 5, 1000, 0.01, 1500)",
            map(_old_event, range(OLD_EVENTS)),
        )
        connection.commit()
    took = milliseconds(lambda: importing.run(folder / "old.db", folder / "new.db")) / 1000
    done = f"{OLD_EVENTS:,} events"
    return [Figure("imported from the old plugin", OLD_EVENTS / took, "events/s", done, IMPORT_PER_SECOND, least=True)]


def _old_event(number: int) -> tuple[object, ...]:
    at = datetime.fromtimestamp(time.time() - (1 - number / OLD_EVENTS) * (DAYS - 1) * 86_400, UTC)
    session = number // 2_000 * 50 + number % 50
    agent = session % 30
    model = (agent * 7 + number % 3) % 20
    ts = at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return ts, f"gateway-{agent % 4}", f"provider-{model % 5}", f"model-{model}", session


def cleaned(path: Path, now: int) -> list[Figure]:
    """Clean up as ten days later, so that a third of the calls are too old."""
    with closing(connect(path)) as connection:
        removed, pieces, before = 0, [], time.perf_counter()
        for count in retention.clean(connection, Retention(), now + DAYS // 3 * DAY_MS):
            removed, now_at = removed + count, time.perf_counter()
            pieces.append((now_at - before) * 1000)
            before = now_at
    return [
        Figure("deleting a third of the rows", sum(pieces) / 1000, "s", f"{removed:,} rows"),
        Figure("a piece of it, p95", quantile(pieces, 0.95), "ms", f"longest {max(pieces):.0f} ms; others wait for one"),
    ]


def batched(rows: Iterator[object], size: int) -> Iterator[list[object]]:
    while batch := list(islice(rows, size)):
        yield batch


if __name__ == "__main__":
    sys.exit(main())
