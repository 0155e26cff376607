"""Asks the database what is new for this gateway, at the pace that the database sets, and reports it to the engine.

What is known is also kept in a file: the kill switch counts while there is no contact, and `doctor` shows the rest.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import msgspec
from msgspec import structs

from toolguard_engine.stores.fleet import fleet_state
from toolguard_engine.stores.fleet.fleet_identity import FleetIdentity
from toolguard_engine.stores.fleet.pipe_messages import FleetStatus, HoldDecided, News
from toolguard_fleet.deadline_connection import DeadlineConnection
from toolguard_fleet.fleet_errors import FleetError

SYNC = "SELECT fleet.sync(%s, %s, %s, %s)"
DEADLINE = 5.0
LEAST_PACE, MOST_PACE = 0.1, 60.0
AWAY_PACE = 1.0
SPREAD = 0.9, 1.1
MAX_WAITING = 1_000
SAVE_SECONDS = 5.0


class _Synced(msgspec.Struct, frozen=True):
    kill: bool
    server_time: float
    kill_team: str | None = None
    kill_why: str | None = None
    kill_by: str | None = None
    policy_version: int | None = 0
    next_ms: float = 1_000.0
    decided: tuple[HoldDecided, ...] = ()


class SyncLoop:
    """`waiting`: the calls to ask about; `hint` is set when it is worth asking at once. `report` takes the news."""

    def __init__(
        self, connection: DeadlineConnection, identity: FleetIdentity, state_dir: Path, version: str,
        report: Callable[[News], None],
    ) -> None:  # fmt: skip
        self._connection = connection
        self._who = (identity.id, identity.token)
        self._state_dir = state_dir
        self._version = version
        self._report = report
        self._waiting: tuple[str, ...] = ()
        self._reported: dict[str, str] = {}
        self._saved_at = 0.0
        self.hint = asyncio.Event()
        self.status = structs.replace(fleet_state.load(state_dir).status, is_connected=False)
        self.policy_error = ""
        """Why the policy that the database has does not count here."""
        self.queue: dict[str, int] = {}
        """What waits to be shipped, by kind, for the file."""
        self.shipping_errors: dict[str, str] = {}
        """Why it is not shipped, by kind, for the file."""

    def wait_for(self, nonces: tuple[str, ...]) -> None:
        if not set(nonces) <= set(self._waiting):
            self.hint.set()
        self._waiting = nonces[-MAX_WAITING:]
        self._reported = {nonce: status for nonce, status in self._reported.items() if nonce in self._waiting}

    async def run(self) -> None:
        while True:
            self.hint.clear()
            pace = await self._sync() * random.uniform(*SPREAD)  # noqa: S311 - so that gateways do not ask in step
            with suppress(TimeoutError):
                async with asyncio.timeout(pace):
                    await self.hint.wait()

    async def _sync(self) -> float:
        """Seconds until the next one."""
        asked = time.time()
        try:
            answer = await self._connection.call(SYNC, (*self._who, list(self._waiting), self._version), DEADLINE)
            synced = msgspec.convert(answer, _Synced)
        except (FleetError, msgspec.ValidationError) as error:
            self._is_now(structs.replace(self.status, is_connected=False, error=str(error)))
            return AWAY_PACE
        now = time.time()
        skew = synced.server_time - (asked + now) / 2
        self._is_now(
            FleetStatus(
                contact=now, is_connected=True, kill=synced.kill, kill_team=synced.kill_team or "",
                kill_why=synced.kill_why or "", kill_by=synced.kill_by or "",
                policy_version=synced.policy_version or 0, skew=skew, policy_error=self.policy_error,
            )
        )  # fmt: skip
        for decided in synced.decided:
            if self._reported.get(decided.nonce) != decided.status:
                self._reported[decided.nonce] = decided.status
                self._report(decided)
        return min(max(synced.next_ms / 1000, LEAST_PACE), MOST_PACE)

    def _is_now(self, status: FleetStatus) -> None:
        """The file is written first: what it says outlives both processes."""
        before, self.status = self.status, status
        is_new = _state(before) != _state(status)
        if is_new or time.monotonic() - self._saved_at >= SAVE_SECONDS:
            self._saved_at = time.monotonic()
            with suppress(OSError):
                state = fleet_state.FleetState(status=status, queue=self.queue, shipping_errors=self.shipping_errors)
                fleet_state.save(self._state_dir, state, durable=before.kill != status.kill)
        self._report(status)


def _state(status: FleetStatus) -> FleetStatus:
    """The state without what each contact changes."""
    return structs.replace(status, contact=0.0, skew=0.0)
