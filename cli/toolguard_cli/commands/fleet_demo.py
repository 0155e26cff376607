"""`toolguard fleet demo`: a fleet of real gateways on this machine, and a call that somebody else approves."""

from __future__ import annotations

import shlex
import sys
import time
from typing import TYPE_CHECKING, Annotated

import typer

from toolguard_cli.commands.command_options import Yes, command, command_app
from toolguard_cli.commands.demo_fleet import DemoFleet, DemoGateway
from toolguard_cli.rig import downloads
from toolguard_cli.system import extras, subprocesses
from toolguard_cli.system.errors import UserError
from toolguard_cli.terminal.progress import Steps
from toolguard_cli.terminal.result import Line, Result

if TYPE_CHECKING:
    from toolguard_fleet.registry_rows import FleetCall

POLL_SECONDS = 0.5

app = command_app()


@command(app, "toolguard fleet demo", "toolguard fleet demo --yes", "toolguard fleet demo --gateways 2")
def run(
    *,
    yes: Yes = False,
    gateways: Annotated[int, typer.Option(min=2, max=5, help="How many gateways; each needs about 400 MB.")] = 3,
    openclaw: Annotated[str, typer.Option(help="The OpenClaw release to use.")] = "",
    as_json: bool = False,
) -> Result:
    """Try a fleet of three gateways: one holds a call, and another person approves it.

    Starts a temporary PostgreSQL server with the programs installed on this machine, starts real gateways with scripted
    models, and creates a person with a new SSH key. Approve the call in another terminal with the command that is
    shown, or let the demo approve it with --yes. When the demo ends, or on Ctrl-C, all its processes are stopped and
    all its files are deleted. Your own gateway, fleet and keys are not touched.

    Needs PostgreSQL 15 or later, the OpenSSH client, and the [fleet] extra. Downloads Node and OpenClaw
    into the cache folder if they are missing.
    """
    if as_json and not yes:
        raise typer.BadParameter("a script cannot answer in another terminal; add --yes", param_hint="--json")
    extras.require(extras.FLEET)
    progress = (lambda _: None) if as_json else Steps()
    real = downloads.ensure(openclaw or downloads.OPENCLAW_VERSION, progress)
    with subprocesses.interruptible(), DemoFleet(real, gateways, progress) as fleet:
        first, *others = fleet.gateways
        progress("the agents of the first two gateways make the same call")
        for gateway in (first, others[0]):
            gateway.deploy()
        mine, theirs = _only(fleet, first), _only(fleet, others[0])
        if yes:
            progress(f"anna approves {mine.nonce}")
            fleet.person.approve(first.id, mine.nonce)
        else:
            _wait_for_person(fleet, first, mine)
        progress("the agents repeat their calls; that of the first gateway does so twice")
        for gateway in (first, first, others[0]):
            gateway.deploy()
        return _result(fleet, mine, theirs)


def _only(fleet: DemoFleet, gateway: DemoGateway) -> FleetCall:
    calls = fleet.held(gateway)
    if len(calls) != 1:
        raise UserError(f"the gateway held {len(calls)} calls instead of 1\n{gateway.gateway.tail()}", "repeat the demo")
    return calls[0]


def _wait_for_person(fleet: DemoFleet, gateway: DemoGateway, call: FleetCall) -> None:
    """Returns when the call was approved or denied, or is over."""
    command = f"toolguard fleet approve {call.nonce} --dsn {shlex.quote(fleet.person.dsn)} --key {fleet.person.key}"
    lines = (
        f"\n{call.nonce} is waiting. Approve it in another terminal, as anna:\n",
        f"  {command}\n",
        "Ctrl-C ends the demo.\n",
    )
    print(*lines, sep="\n", file=sys.stderr, flush=True)  # noqa: T201 - progress, not a result
    while any(row.nonce == call.nonce and row.status == "pending" for row in fleet.held(gateway)):
        time.sleep(POLL_SECONDS)


def _result(fleet: DemoFleet, mine: FleetCall, theirs: FleetCall) -> Result:
    first, *others = fleet.gateways
    again = [row.nonce for row in fleet.held(first)]
    still = [row.nonce for row in fleet.held(others[0])]
    ran = {gateway.id: gateway.ran for gateway in fleet.gateways}
    is_right = list(ran.values()) == [1] + [0] * len(others) and still == [theirs.nonce] and mine.nonce not in again
    after = f", and was held again as {again[0]}" if again else ""
    lines = [
        Line("info", f"{first.id} held {mine.nonce}; the call ran there {_times(first.ran)}{after}"),
        Line("info", f"{others[0].id} held the same call as {theirs.nonce}; it ran there {_times(others[0].ran)}"),
        Line("ok", "one approval let one call run once, on its own gateway only")
        if is_right
        else Line("error", "the call did not run exactly once on its own gateway; without an approval, no call runs"),
        Line("next", "to set up your own fleet, see docs/fleet.md"),
    ]
    data = {"nonce": mine.nonce, "gateway": first.id, "ran": ran, "heldAgain": again, "elsewhere": theirs.nonce}
    return Result("fleet demo", data, tuple(lines), 0 if is_right else 1)


def _times(count: int) -> str:
    return {0: "never", 1: "once"}.get(count, f"{count} times")
