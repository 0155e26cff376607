"""`toolguard fleet dashboard`: serves the fleet's page until Ctrl-C."""

from __future__ import annotations

import ipaddress
import re
from pathlib import Path
from typing import Annotated

import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.fleet import fleet_session
from toolguard_cli.fleet.page_settings import BIND, PORT, USER_HEADER, PageSettings
from toolguard_cli.person import require_human
from toolguard_cli.system import extras
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.system.tcp_ports import is_loopback
from toolguard_cli.terminal.result import Line, Result, show
from toolguard_engine.config import public_hosts
from toolguard_engine.wording import printable

COMMAND = "fleet dashboard"
LAST_PORT = 65_535
ORIGIN = re.compile(r"(?:https?://)?[A-Za-z0-9](?:[A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(?::[0-9]{1,5})?")
PageDsn = Annotated[
    str,
    typer.Option(
        "--dsn", help="The database, with the login toolguard_page [env: TOOLGUARD_FLEET_DSN].", show_default=False
    ),
]

app = command_app()


@command(
    app,
    "toolguard fleet dashboard --dsn 'host=db.example dbname=fleet user=toolguard_page'",
    "toolguard fleet dashboard --socket /run/toolguard/fleet.sock --hosts https://fleet.example",
)
def run(
    places: Places,
    *,
    dsn: PageDsn = "",
    listen: Annotated[str, typer.Option(metavar="ADDRESS:PORT", help="The address to listen on.")] = f"{BIND}:{PORT}",
    socket: Annotated[
        Path | None,
        typer.Option(metavar="PATH", help="Listen on a Unix socket instead, for a reverse proxy that authenticates people."),
    ] = None,
    socket_group: Annotated[
        str, typer.Option(metavar="GROUP", help="A group that may also connect to the socket.", show_default=False)
    ] = "",
    user_header: Annotated[
        str, typer.Option(metavar="NAME", help="The header in which the proxy sends the person's id.")
    ] = USER_HEADER,
    hosts: Annotated[
        list[str] | None,
        typer.Option("--hosts", metavar="ORIGIN", help="The public address, such as https://fleet.example."),
    ] = None,
) -> Result:
    """Serve the dashboard of the fleet: gateways, teams, held calls, decisions, costs, audit logs.

    People log in with a token (toolguard fleet tokens add) and see their own teams. They can deny calls and stop teams. An
    approval needs a signature, made with a passkey on the page or with the command that it shows.
    """
    require_human.refuse(places, COMMAND, loosens=False)
    extras.require(extras.FLEET, extras.DASHBOARD)
    settings = _settings(fleet_session.chosen(places, dsn), listen, socket, tuple(hosts or ()), socket_group, user_header)
    with fleet_session.user_errors():
        from toolguard_cli.fleet import run_page  # noqa: PLC0415 - needs the extras, and the server takes long to import

        run_page.run(settings, lambda address: show(Result(COMMAND, {}, tuple(_running(settings, address))), as_json=False))
    return Result(COMMAND, {}, (Line("info", "the fleet dashboard has stopped"),))


def _settings(
    dsn: str, listen: str, socket: Path | None, hosts: tuple[str, ...], group: str, user_header: str
) -> PageSettings:
    """Raises `UserError`."""
    bind, _, port = listen.rpartition(":")
    bind = bind.removeprefix("[").removesuffix("]")
    if not port.isdecimal() or int(port) > LAST_PORT or not _is_address(bind):
        raise UserError(f"{printable.cut(listen, 80)} is not ADDRESS:PORT", f"--listen {BIND}:{PORT}")
    for host in hosts:
        if not ORIGIN.fullmatch(host):
            raise UserError(f"--hosts {printable.cut(host, 80)} is not a public address", "--hosts https://fleet.example")
    if not socket and not hosts and not is_loopback(bind):
        raise UserError(
            f"{bind} is reachable from other machines, and nothing is encrypted",
            "listen on 127.0.0.1 behind a proxy with TLS, or state the public address with --hosts",
        )
    return PageSettings(dsn, bind, int(port), socket and socket.absolute(), group, hosts, user_header.lower())


def _is_address(text: str) -> bool:
    try:
        ipaddress.ip_address(text)
    except ValueError:
        return False
    return True


def _running(settings: PageSettings, address: str) -> list[Line]:
    lines = [Line("ok", f"the fleet dashboard is running at {address}")]
    lines += [Line("next", public_hosts.origin(host)) for host in settings.hosts]
    if settings.socket:
        lines.append(Line("warn", f"anyone who can connect to the socket can name any person in {settings.user_header}"))
    elif not is_loopback(settings.bind):
        lines.append(
            Line("warn", "it is reachable from other machines: make sure that only a proxy with TLS can connect to it")
        )
    lines.append(Line("info", "people log in with a token: toolguard fleet tokens add PERSON"))
    lines.append(Line("info", "press Ctrl-C to stop it"))
    return lines
