"""`toolguard dashboard`: the address of the dashboard with the secret in it, or the dashboard itself until Ctrl-C."""

from __future__ import annotations

import ipaddress
import socket
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

from toolguard_cli import inside, metering
from toolguard_cli.dashboard import asking, opening, token
from toolguard_cli.dashboard.settings import Settings
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result, show
from toolguard_engine.config import MetricsConfig
from toolguard_engine.metrics import place

COMMAND = "dashboard"
SETTINGS = "metrics.dashboard"
SECRET = "whoever has this address can approve and deny: it holds the token; give it to nobody"  # noqa: S105 - a text


@dataclass(frozen=True)
class Wish:
    """What the person wants; `None`: as the settings say."""

    port: int | None = None
    bind: str | None = None
    opens: bool = False


def run(places: Places, wish: Wish, *, as_json: bool) -> Result:
    """Raises `UserError`."""
    inside.refuse(places, COMMAND)
    metrics = metering.settings(places)
    db = place.resolve(metrics.db_path)
    if found := asking.running(db):
        return _shown(found, db, wish)
    if as_json:
        raise UserError("no dashboard runs", "toolguard dashboard starts one; --json tells about one that runs")
    return _serve(places, metrics, db, wish)


def _shown(found: asking.Running, db: Path, wish: Wish) -> Result:
    """One that runs has answered, and has proven that it knows the token. Raises `UserError` where another is wanted."""
    address = urlsplit(found.url)
    host, port = address.hostname or "", address.port or 0
    if wish.port not in (None, port) or (wish.bind and _numeric(wish.bind, port) != host):
        raise UserError(
            f"one runs over this metrics file already, at {found.url} (process {found.pid})", _moved(found, wish)
        )
    url = opening.url(asking.url(host, port), token.of(db))
    lines = [_runs(found), Line("next", url), Line("warn", SECRET)]
    if wish.opens:
        lines.append(opening.in_browser(url, db))
    data = {"url": url, "pid": found.pid, "started": found.started, "version": found.version}
    return Result(COMMAND, data, tuple(lines))


def _runs(about: asking.Running) -> Line:
    return Line("ok", f"the dashboard runs at {about.url} (process {about.pid}); open it with the token:")


def _moved(found: asking.Running, wish: Wish) -> str:
    """How to get it elsewhere."""
    if not found.owned:
        return f"end that one first: Ctrl-C where it was started, or kill {found.pid}"
    wanted = {"port": wish.port, "bind": wish.bind}
    moves = [f"toolguard config set {SETTINGS}.{name} {value}" for name, value in wanted.items() if value]
    return (
        f"the gateway runs that one: {' and '.join(moves)} (or toolguard config set {SETTINGS}.enabled false, which ends it)"
    )


def _serve(places: Places, metrics: MetricsConfig, db: Path, wish: Wish) -> Result:
    """Until Ctrl-C."""
    from toolguard_cli.dashboard import serve  # noqa: PLC0415 - the server itself takes long to load

    bind, port = wish.bind or metrics.dashboard.bind, wish.port or metrics.dashboard.port

    def tell(about: asking.Running) -> None:
        url = opening.url(about.url, token.of(db))
        show(Result(COMMAND, {}, tuple(told(about, url, bind, metrics, metering.switch(places)))), as_json=False)
        if wish.opens:
            opening.when_it_answers(url, db)

    try:
        code = serve.run(Settings(db, places, bind, port), tell)
    finally:
        opening.forget(db)
    if code == serve.RUNS_ALREADY and (found := asking.running(db)):
        return _shown(found, db, wish)
    return Result(COMMAND, {}, (Line("info", "the dashboard has ended"),), code)


def _numeric(bind: str, port: int) -> str:
    """The address that is bound: of those of a name only the first."""
    try:
        return str(socket.getaddrinfo(bind, port, type=socket.SOCK_STREAM)[0][4][0])
    except (OSError, UnicodeError):
        return bind


def told(about: asking.Running, url: str, bind: str, metrics: MetricsConfig, switch: str) -> list[Line]:
    """`url`: with the token; `switch`: what to call so that something is recorded."""
    lines = [_runs(about), Line("next", url), Line("warn", SECRET)]
    if not is_loopback(bind):
        lines.append(
            Line(
                "warn", f"{bind} is not this machine alone, and nothing is encrypted: whoever listens on the way can approve"
            )
        )
        port = urlsplit(url).port
        lines.append(Line("info", f"-> better: --bind 127.0.0.1, and from afar: ssh -L {port}:127.0.0.1:{port} HOST"))
    if not metrics.enabled:
        lines.append(Line("info", "metrics are off: only what waits and how the guard stands is shown"))
        lines.append(Line("info", f"-> {switch}"))
    lines.append(Line("info", "Ctrl-C ends it"))
    return lines


def is_loopback(bind: str) -> bool:
    """Whether only this machine reaches it. A name counts as far away unless it is `localhost`."""
    try:
        return ipaddress.ip_address(bind.partition("%")[0]).is_loopback
    except ValueError:
        return bind.lower() == "localhost"
