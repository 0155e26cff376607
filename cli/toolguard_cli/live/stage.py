"""The canary's stage: the user's OpenClaw with the guard in a sealed throw-away home, and the scripted model behind it."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from http.client import HTTPException
from pathlib import Path
from typing import TypeVar

from toolguard_cli import stores
from toolguard_cli.errors import UserError
from toolguard_cli.live.guard import Guard, places_of
from toolguard_cli.live.seen import Told
from toolguard_cli.paths import Places
from toolguard_cli.rig import model
from toolguard_cli.rig.gateway import Gateway, openclaw
from toolguard_cli.rig.home import Home
from toolguard_cli.rig.runtime import Openclaw
from toolguard_engine.stores import engines
from toolguard_engine.stores.audit import AuditLog
from toolguard_engine.stores.engines import EngineInfo
from toolguard_engine.stores.nonces import FileNonces

START_SECONDS = 180
TURN_SECONDS = 90
"""Ten times what a slow machine takes: a guard that works must not be called broken."""

VERSION_SECONDS = 30
ENGINE_SECONDS = 15
NEWS_SECONDS = 5
"""The engine writes what it has seen a second late at most."""
PATIENCE_SECONDS = 5
POLL_SECONDS = 0.05
CATALOG_SINCE = (2026, 8)
"""The first release that asks for a list of models on the network, and knows the setting which forbids it."""

T = TypeVar("T")


class Silent(Exception):  # noqa: N818 - what happened, not who is to blame
    """The gateway did not answer a message."""


@dataclass
class Stage:
    """A running gateway with the guard. `folder`: where the plugin lies."""

    home: Home
    gateway: Gateway
    server: model.ScriptedModel
    folder: Path
    ready_after: float
    _said: int = field(default=0, init=False)

    @property
    def places(self) -> Places:
        return places_of(self.home)

    @property
    def workspace(self) -> Path:
        return self.home.workspace_dir

    @property
    def nonces(self) -> FileNonces:
        return stores.nonces(self.places)

    @property
    def audit(self) -> AuditLog:
        return AuditLog(self.home.state_dir)

    def say(self, message: str, script: model.Script, session: str) -> Told:
        """One message to the agent, whose model follows the script. Raises `Silent`."""
        marker = f"(canary {secrets.token_hex(8)})"
        self.server.play(script, marker)
        try:
            turn = self.gateway.turn(f"{message} {marker}", f"agent:main:{session}", TURN_SECONDS)
        except (OSError, HTTPException) as error:
            raise Silent(str(error) or type(error).__name__) from error
        requests = list(self.server.requests)
        results = tuple(request.last_result for request in requests[1:])
        return Told(len(requests), results, turn.answer, turn.ok, turn.seconds)

    def engine(self) -> EngineInfo | None:
        """The engine that this gateway runs."""
        return next(iter(engines.running(self.home.state_dir)), None)

    def log(self) -> list[str]:
        """The gateway's own lines, without the name of this home."""
        return self.gateway.log_text().replace(str(self.home.root), "").splitlines()


def version(program: Openclaw) -> str:
    """As this OpenClaw tells it. Raises `UserError` where it cannot be run."""
    name = program.command()[-1]
    with Home("", sealed=True) as home:
        try:
            done = openclaw(program, home, "--version", limit=VERSION_SECONDS)
        except OSError as error:
            raise UserError(f"{name} cannot be run: {error.strerror or error}") from error
    words = (done.stdout or done.stderr).split()
    found = next((word for word in words if numbers(word)), "")
    if done.returncode != 0 or not found:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise UserError(f"{name} does not tell its version: {lines[-1] if lines else f'exit code {done.returncode}'}")
    return found


def numbers(text: str) -> tuple[int, ...]:
    """Of a release, year first; empty where the text names none."""
    parts = text.partition("-")[0].split(".")
    return tuple(map(int, parts)) if len(parts) == len(("year", "month", "patch")) and all(map(str.isdecimal, parts)) else ()


@contextmanager
def set_up(program: Openclaw, guard: Guard, release: str) -> Iterator[Stage]:
    """The gateway, taking messages; whatever happens, it is ended and its home removed. Raises `UserError`."""
    quiet = {"models": {"catalogRefresh": {"enabled": False}}} if numbers(release) >= CATALOG_SINCE else {}
    with ExitStack() as stack:
        server = stack.enter_context(model.ScriptedModel(model.sequence([])))
        home = stack.enter_context(Home(server.base_url, plugins=guard.plugins, extra=quiet, sealed=True))
        folder = guard.put_into(home)
        started = time.monotonic()
        gateway = Gateway(program, home, within=START_SECONDS, patience=PATIENCE_SECONDS, watched=True)
        stack.callback(gateway.end_group)
        stack.enter_context(gateway)
        yield Stage(home, gateway, server, folder, time.monotonic() - started)


def soon(look: Callable[[], T], seconds: float) -> T:
    """What is looked for, as soon as it is there; at the latest what there is then."""
    limit = time.monotonic() + seconds
    while not (found := look()) and time.monotonic() < limit:
        time.sleep(POLL_SECONDS)
    return found
