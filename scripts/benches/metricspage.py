"""Measures how long the dashboard's page takes over a metrics file: `python scripts/benches/metricspage.py METRICS.db`.

What counts is the time from the navigation until the overview's totals and both its charts are drawn in the system's own
Chromium, each time with an empty cache, the median of five. The server runs already; its first answer is not among them.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path

from figures import Figure, show
from playwright.sync_api import Browser, sync_playwright

from toolguard_cli.errors import UserError
from toolguard_cli.rig.home import free_port
from toolguard_engine.metrics import place

PROMISE_SECONDS = 1.0
TIMES = 5
START_SECONDS = 60
POLL_SECONDS = 0.05
BROWSERS = ("chromium", "chromium-browser", "google-chrome")
SIZE = {"width": 1280, "height": 900}
LOOK = """
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


def main() -> int:
    if len(sys.argv) != len(("script", "file")):
        print(__doc__, file=sys.stderr)
        return 2
    try:
        show(measure(Path(sys.argv[1])))
    except UserError as error:
        print(f"metricspage: {error}", file=sys.stderr)
        return 1
    return 0


def measure(db: Path) -> list[Figure]:
    """Of the page over this file, in each range. Raises `UserError`."""
    program = next(filter(None, map(shutil.which, BROWSERS)), None)
    if program is None:
        raise UserError("no Chromium here", "apt-get install chromium")
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with _server(db) as url, sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=program, args=as_root)
        address = f"{url}/#token={place.token_path(db).read_text().strip()}"
        _drawn(chromium, address, "24h")
        found = [_figure(chromium, address, reach) for reach in ("24h", "7d", "30d")]
        chromium.close()
        return found


def _figure(chromium: Browser, address: str, reach: str) -> Figure:
    times = [_drawn(chromium, address, reach) for _ in range(TIMES)]
    beside = f"{min(times):.2f} to {max(times):.2f} s"
    return Figure(f"the page, {reach}", statistics.median(times), "s", beside, PROMISE_SECONDS)


def _drawn(chromium: Browser, address: str, reach: str) -> float:
    """Seconds until it was drawn, for somebody who was never there and looks at this range."""
    with chromium.new_context(viewport=SIZE) as context:
        context.add_init_script(f"localStorage.setItem('toolguard.range', '{reach}');{LOOK}")
        page = context.new_page()
        page.goto(address)
        return float(page.locator("html[data-drawn]").get_attribute("data-drawn") or "nan") / 1000


@contextmanager
def _server(db: Path) -> Iterator[str]:
    """The address of a dashboard over this file, beside a gateway that has nothing else."""
    port = free_port()
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder:
        own = ["--db", str(db), "--state-dir", folder, "--config", f"{folder}/openclaw.json"]
        command = [sys.executable, "-m", "toolguard_cli.dashboard", *own, "--bind", "127.0.0.1", "--port", str(port)]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        try:
            _wait(process, port)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
            process.wait()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    limit = time.monotonic() + START_SECONDS
    while not _answers(port):
        if process.poll() is not None or time.monotonic() > limit:
            raise UserError("the dashboard's server does not start", "its reason stands above")
        time.sleep(POLL_SECONDS)


def _answers(port: int) -> bool:
    with closing(HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)) as connection, suppress(OSError):
        connection.request("GET", "/")
        return connection.getresponse().status == HTTPStatus.OK
    return False


if __name__ == "__main__":
    sys.exit(main())
