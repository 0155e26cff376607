"""`toolguard dashboard`: shows the address of the running dashboard with its token, or runs one until Ctrl-C."""

from __future__ import annotations

import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.dashboard import discovery, open_browser, token
from toolguard_cli.dashboard.server_settings import DashboardSettings
from toolguard_cli.person import require_human
from toolguard_cli.status import cost_format
from toolguard_cli.system import extras
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.system.tcp_ports import is_loopback
from toolguard_cli.terminal.progress import reporting
from toolguard_cli.terminal.result import Line, Result, show
from toolguard_engine.config import public_hosts
from toolguard_engine.config.settings import MetricsConfig
from toolguard_engine.host import metrics_path
from toolguard_engine.stores import open as stores

COMMAND = "dashboard"
SETTINGS = "metrics.dashboard"
GATEWAY_SECONDS, POLL_SECONDS = 15.0, 0.2
SECRET = "anyone with this address can approve and deny, because it contains the token; keep it secret"  # noqa: S105 - a text

app = command_app()


@command(app, "toolguard dashboard --open", "toolguard dashboard --port 9000", "toolguard dashboard --json")
def dashboard(
    places: Places,
    *,
    port: Annotated[int | None, typer.Option(min=1, max=65_535, help="[default: metrics.dashboard.port]")] = None,
    bind: Annotated[str | None, typer.Option(metavar="ADDRESS", help="[default: metrics.dashboard.bind]")] = None,
    opens: Annotated[bool, typer.Option("--open", help="Open the dashboard in the browser.")] = False,
    as_json: bool = False,
) -> Result:
    """Open the dashboard of agent activity, cost and held calls.

    Prints the address of the running dashboard, which includes its token. If none is running, the command serves one
    until you press Ctrl-C. The gateway starts one if metrics.dashboard.enabled is set. With --json, the command never
    starts one, and exits with code 1 if none is running.
    """
    return run(places, DashboardRequest(port, bind, opens), as_json=as_json)


@dataclass(frozen=True)
class DashboardRequest:
    """The options; `None`: use the settings."""

    port: int | None = None
    bind: str | None = None
    opens: bool = False


def run(places: Places, request: DashboardRequest, *, as_json: bool) -> Result:
    """Raises `UserError`."""
    require_human.refuse(places, COMMAND)
    metrics = cost_format.settings(places)
    db = metrics_path.resolve(metrics.db_path)
    if running := discovery.running(db) or (None if as_json else _started_by_the_gateway(places, metrics, db, request)):
        return _shown(running, db, request, metrics, cost_format.switch(places))
    if as_json:
        raise UserError("no dashboard is running", "toolguard dashboard starts one; --json only reports a running one")
    return _serve(places, metrics, db, request)


def _started_by_the_gateway(
    places: Places, metrics: MetricsConfig, db: Path, request: DashboardRequest
) -> discovery.Running | None:
    """A running gateway takes a few seconds to start the one that its settings ask for."""
    if not metrics.dashboard.enabled or request.port or request.bind or not stores.engines(places.state_dir).running():
        return None
    limit = time.monotonic() + GATEWAY_SECONDS
    with reporting() as report:
        while (left := limit - time.monotonic()) > 0:
            if running := discovery.running(db):
                return running
            report("waiting for the gateway to start the dashboard", GATEWAY_SECONDS - left, GATEWAY_SECONDS)
            time.sleep(POLL_SECONDS)
    return None


def _shown(running: discovery.Running, db: Path, request: DashboardRequest, metrics: MetricsConfig, switch: str) -> Result:
    """The running dashboard, which has proven that it knows the token. Raises `UserError` if another is requested."""
    address = urlsplit(running.url)
    host, port = address.hostname or "", address.port or 0
    if request.port not in (None, port) or (request.bind and _numeric(request.bind, port) != host):
        raise UserError(
            f"a dashboard for this metrics file is already running at {running.url} (process {running.pid})",
            _moved(running, request),
        )
    url = open_browser.url(discovery.url(host, port), token.obtain(db))
    lines = [_runs(running), *_addresses(url, metrics), Line("warn", SECRET), *_unrecorded(metrics, switch)]
    if request.opens:
        lines.append(open_browser.in_browser(url, db))
    data = {"url": url, "pid": running.pid, "started": running.started, "version": running.version}
    return Result(COMMAND, data, tuple(lines))


def _addresses(url: str, metrics: MetricsConfig) -> list[Line]:
    """The page under its public names, and on this machine."""
    fragment = urlsplit(url).fragment
    public = [f"{public_hosts.origin(host)}/#{fragment}" for host in metrics.dashboard.hosts]
    return [Line("next", address) for address in (*public, url)]


def _unrecorded(metrics: MetricsConfig, switch: str) -> list[Line]:
    if metrics.enabled:
        return []
    text = "metrics are disabled: only held calls and the state of the guard are shown"
    return [Line("info", text), Line("info", f"-> {switch}")]


def _runs(about: discovery.Running) -> Line:
    return Line("ok", f"the dashboard is running at {about.url} (process {about.pid}); open it with the token:")


def _moved(running: discovery.Running, request: DashboardRequest) -> str:
    if not running.owned:
        return f"stop that one first: press Ctrl-C where it was started, or run kill {running.pid}"
    wanted = {"port": request.port, "bind": request.bind}
    moves = [f"toolguard config set {SETTINGS}.{name} {value}" for name, value in wanted.items() if value]
    stop = f"toolguard config set {SETTINGS}.enabled false"
    return f"the gateway runs that one; move it with {' and '.join(moves)}, or stop it with {stop}"


def _serve(places: Places, metrics: MetricsConfig, db: Path, request: DashboardRequest) -> Result:
    extras.require(extras.DASHBOARD)
    from toolguard_cli.dashboard import run_server  # noqa: PLC0415 - needs the extra, and takes long to import

    bind, port = request.bind or metrics.dashboard.bind, request.port or metrics.dashboard.port

    def announce(about: discovery.Running) -> None:
        url = open_browser.url(about.url, token.obtain(db))
        show(Result(COMMAND, {}, tuple(running_lines(about, url, bind, metrics, cost_format.switch(places)))), as_json=False)
        if request.opens:
            open_browser.when_it_answers(url, db)

    try:
        code = run_server.run(DashboardSettings(db, places, bind, port, tuple(metrics.dashboard.hosts)), announce)
    finally:
        open_browser.forget(db)
    if code == run_server.RUNS_ALREADY and (running := discovery.running(db)):
        return _shown(running, db, request, metrics, cost_format.switch(places))
    return Result(COMMAND, {}, (Line("info", "the dashboard has stopped"),), code)


def _numeric(bind: str, port: int) -> str:
    """The address to bind; for a host name, its first address."""
    try:
        return str(socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError):
        return bind


def running_lines(about: discovery.Running, url: str, bind: str, metrics: MetricsConfig, switch: str) -> list[Line]:
    """`url`: with the token; `switch`: the command that enables metrics."""
    lines = [_runs(about), *_addresses(url, metrics), Line("warn", SECRET)]
    if not is_loopback(bind):
        lines.append(
            Line(
                "warn",
                f"{bind} is reachable from other machines and nothing is encrypted: anyone reading the traffic can approve",
            )
        )
        port = urlsplit(url).port
        lines.append(
            Line("info", f"-> safer: --bind 127.0.0.1, and from another machine: ssh -L {port}:127.0.0.1:{port} HOST")
        )
    return [*lines, *_unrecorded(metrics, switch), Line("info", "press Ctrl-C to stop it")]
