"""The stage of the live proof: the user's OpenClaw with the guard in a temporary home, and a scripted model."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar

from toolguard_cli.doctor.live.installed_guard import InstalledGuard, places_of
from toolguard_cli.doctor.live.observations import AgentNotice
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.downloads import Openclaw
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway, openclaw
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.engines import EngineInfo
from toolguard_engine.stores.ports import AuditLogStore, HeldCallStore

START_SECONDS = 180
TURN_SECONDS = 90
"""Ten times what a slow machine needs: a working guard must not be reported as broken."""

VERSION_SECONDS = 30
ENGINE_SECONDS = 15
NEWS_SECONDS = 5
"""The engine writes its state with a delay of at most one second."""
PATIENCE_SECONDS = 5
POLL_SECONDS = 0.05
CATALOG_SINCE = (2026, 8)
"""The first release that fetches a list of models from the network, and has the setting that disables it."""

T = TypeVar("T")


class Silent(Exception):  # noqa: N818 - what happened, not who is to blame
    """The gateway did not answer a message."""


@dataclass
class Stage:
    """A running gateway with the guard. `folder`: the plugin's."""

    home: Home
    gateway: Gateway
    server: scripted_model.ScriptedModel
    folder: Path
    ready_after: float

    @property
    def places(self) -> Places:
        return places_of(self.home)

    @property
    def workspace(self) -> Path:
        return self.home.workspace_dir

    @property
    def nonces(self) -> HeldCallStore:
        return gateway_stores.nonces(self.places)

    @property
    def audit(self) -> AuditLogStore:
        return stores.audit_log(self.home.state_dir)

    def say(self, message: str, script: scripted_model.Script, session: str) -> AgentNotice:
        """Sends one message to the agent, whose model follows the script. Raises `Silent`."""
        marker = f"(canary {secrets.token_hex(8)})"
        self.server.play(script, marker)
        try:
            turn = self.gateway.turn(f"{message} {marker}", f"agent:main:{session}", TURN_SECONDS)
        except (OSError, HTTPException) as error:
            raise Silent(str(error) or type(error).__name__) from error
        requests = list(self.server.requests)
        results = tuple(request.last_result for request in requests[1:])
        return AgentNotice(len(requests), results, turn.answer, turn.ok, turn.seconds)

    def engine(self) -> EngineInfo | None:
        return next(iter(stores.engines(self.home.state_dir).running()), None)

    def log(self) -> list[str]:
        """The gateway's own lines, without the name of this home."""
        return self.gateway.log_text().replace(str(self.home.root), "").splitlines()


def version(program: Openclaw) -> str:
    """The version that this OpenClaw prints. Raises `UserError` if it cannot be run."""
    name = program.command()[-1]
    with Home("", sealed=True) as home:
        try:
            done = openclaw(program, home, "--version", limit=VERSION_SECONDS)
        except OSError as error:
            raise UserError(f"{name} cannot be run: {error.strerror or error}") from error
    words = (done.stdout or done.stderr).split()
    version_word = next((word for word in words if numbers(word)), "")
    if done.returncode != 0 or not version_word:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise UserError(f"{name} does not print its version: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return version_word


def numbers(text: str) -> tuple[int, ...]:
    """The numbers of a release, year first; empty if the text is not a release."""
    parts = text.partition("-")[0].split(".")
    return tuple(map(int, parts)) if len(parts) == len(("year", "month", "patch")) and all(map(str.isdecimal, parts)) else ()


@contextmanager
def set_up(program: Openclaw, guard: InstalledGuard, release: str) -> Iterator[Stage]:
    """A gateway that accepts messages; on exit, it is ended and its home removed. Raises `UserError`."""
    quiet = {"models": {"catalogRefresh": {"enabled": False}}} if numbers(release) >= CATALOG_SINCE else {}
    with ExitStack() as stack:
        server = stack.enter_context(scripted_model.ScriptedModel(scripted_model.sequence([])))
        home = stack.enter_context(Home(server.base_url, plugins=guard.plugins, extra=quiet, sealed=True))
        folder = guard.put_into(home)
        started = time.monotonic()
        gateway = Gateway(program, home, within=START_SECONDS, patience=PATIENCE_SECONDS)
        stack.callback(gateway.end_group)
        stack.enter_context(gateway)
        yield Stage(home, gateway, server, folder, time.monotonic() - started)


def soon(read: Callable[[], T], seconds: float) -> T:
    """Calls `read` until its result is true or the time is over; returns the last result."""
    limit = time.monotonic() + seconds
    while not (answer := read()) and time.monotonic() < limit:
        time.sleep(POLL_SECONDS)
    return answer
