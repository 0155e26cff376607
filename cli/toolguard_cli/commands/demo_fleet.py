"""A fleet in a temporary folder: PostgreSQL, real gateways with scripted models, and a person who approves."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from toolguard_cli.commands import demo_person, joining
from toolguard_cli.commands.demo_person import DemoPerson
from toolguard_cli.fleet.fleet_session import user_errors
from toolguard_cli.operations import install_plugin, set_setting
from toolguard_cli.operations.change_setting import ChangeOptions
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.downloads import Openclaw
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.rig.temporary_postgres import SUPERUSER, NoPostgresError, TemporaryPostgres
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places

if TYPE_CHECKING:
    from toolguard_fleet.registry_rows import FleetCall

TEAM = "demo"
GATEWAYS = "toolguard_gateway"
TRACE = "deployments.txt"
COMMAND = f"echo deployed >> {TRACE}"
SESSION = "agent:main:demo"
CLOSING = "I have tried to deploy."

Progress = Callable[[str], None]


@dataclass(frozen=True)
class DemoGateway:
    """A running gateway; its agent always wants to deploy, with the same call."""

    id: str
    gateway: Gateway

    def deploy(self) -> None:
        """One message to the agent, which makes the call once."""
        self.gateway.turn("Deploy it, please.", SESSION)

    @property
    def ran(self) -> int:
        """How often the call has run."""
        trace = self.gateway.home.workspace_dir / TRACE
        return len(trace.read_text().splitlines()) if trace.exists() else 0


class DemoFleet:
    """A fleet as a context manager: on exit all processes end and all files are deleted."""

    def __init__(self, runtime: Openclaw, count: int, progress: Progress) -> None:
        self._runtime = runtime
        self._count = count
        self._progress = progress
        self._stack = ExitStack()
        self.gateways: list[DemoGateway] = []

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._stack = stack
            self._build()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._progress("stopping everything")
        self._stack.close()

    def _build(self) -> None:
        self.folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="toolguard-fleet-demo-")))
        self._passfile = self.folder / "passwords"
        self._progress("starting a temporary PostgreSQL server")
        try:
            self.postgres = self._stack.enter_context(TemporaryPostgres())
        except NoPostgresError as error:
            raise UserError(str(error), "install PostgreSQL 15 or later, then try again") from error
        self._set_up_database()
        self.trust = self.folder / "trust"
        self.trust.mkdir(mode=0o700)
        key = demo_person.make_key(self.trust)
        login = demo_person.register(self._owner, TEAM, self._passfile)
        self.person = DemoPerson(key, self._dsn(login))
        for number in range(1, self._count + 1):
            self._progress(f"starting gateway {number} of {self._count}")
            self.gateways.append(self._gateway())

    def _set_up_database(self) -> None:
        self._owner = self.postgres.dsn(SUPERUSER)
        with user_errors():
            from toolguard_fleet import registration  # noqa: PLC0415 - needs the extra

            registration.migrate(self._owner)
            demo_person.add_password(self._passfile, GATEWAYS, registration.new_gateway_password(self._owner))

    def _dsn(self, login: str) -> str:
        return f"{self.postgres.dsn(login)} passfile={self._passfile}"

    def _gateway(self) -> DemoGateway:
        model = self._stack.enter_context(scripted_model.ScriptedModel(_wants_to_deploy))
        home = self._stack.enter_context(Home(model.base_url))
        places = Places(home.state_dir, home.config_path)
        install_plugin.run(places, link=False, dry_run=False)
        joined = joining.join(places, self._dsn(GATEWAYS), TEAM, anew=True)
        settings = [
            ("fleet.trust", str(self.trust)),
            ("fleet.trustWritable", "true"),
            ("alwaysBlock", json.dumps(["exec"])),
            ("approval.wake", "false"),
        ]
        set_setting.run_all(places, settings, ChangeOptions(offline=True))
        gateway_id = str(joined.data["gateway"])
        with self.person.session() as session:
            session.admit(gateway_id)
        return DemoGateway(gateway_id, self._stack.enter_context(Gateway(self._runtime, home)))

    def held(self, gateway: DemoGateway) -> list[FleetCall]:
        """What waits of this gateway, as the person sees it."""
        with self.person.session() as session:
            return [row for row in session.waiting() if row.gateway == gateway.id]


def _wants_to_deploy(request: scripted_model.Request) -> scripted_model.Reply:
    """Once for each message of the user."""
    last = request.messages[-1].get("role") if request.messages else ""
    if request.tools and last == "user":
        return scripted_model.call("exec", {"command": COMMAND})
    return scripted_model.Reply(CLOSING)
