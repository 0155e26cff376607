"""Fetches the team's policy when there may be another one, verifies it, and keeps it for the engine.

What the database says of versions is a hint when to ask: what counts is the signed text (`last_good_policy`).
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Protocol

import msgspec

from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.fleet.fleet_identity import FleetIdentity
from toolguard_engine.stores.fleet.last_good_policy import LastGoodPolicy, PolicyRefusedError, SignedPolicy, Stamps
from toolguard_engine.stores.fleet.pipe_messages import Begin
from toolguard_engine.stores.locked import StoreError
from toolguard_fleet.deadline_connection import DeadlineConnection
from toolguard_fleet.fleet_errors import FleetError
from toolguard_fleet.sync_loop import SyncLoop

POLICY_OF = "SELECT fleet.policy_of(%s, %s)"
DEADLINE = 10.0
PACE = 0.5
AGAIN_SECONDS = 60.0
"""After which a policy that was refused, or is missing here, is asked for again."""


class _Offered(msgspec.Struct, frozen=True):
    """`toml` and `signature` are base64 in the answer."""

    version: int
    toml: bytes
    signature: bytes


class PolicyDuty(Protocol):
    """See `courier.Duty`."""

    @property
    def begin(self) -> Begin: ...

    @property
    def identity(self) -> FleetIdentity: ...

    @property
    def sync(self) -> SyncLoop: ...

    @property
    def state_dir(self) -> Path: ...

    @property
    def connection(self) -> DeadlineConnection: ...


async def follow_policy(duty: PolicyDuty) -> None:
    """A task of the courier."""
    begin = duty.begin
    follower = PolicyFollower(duty, LastGoodPolicy(duty.state_dir, begin.team, Path(begin.trust)))
    while True:
        await follower.look()
        await asyncio.sleep(PACE)


class PolicyFollower:
    def __init__(self, duty: PolicyDuty, kept: LastGoodPolicy) -> None:
        self._duty = duty
        self._kept = kept
        self._connection = duty.connection
        self._asked_for = -1
        self._asked_at = 0.0
        self._refused = ""
        self._stamp = self._stamp_now()

    async def look(self) -> None:
        status = self._duty.sync.status
        is_due = self._problem() and time.monotonic() - self._asked_at >= AGAIN_SECONDS
        if not status.is_connected or not (status.policy_version != self._asked_for or is_due):
            return
        version = status.policy_version
        self._asked_at = time.monotonic()
        try:
            offered = await self._fetched()
            before = await asyncio.to_thread(self._before)
            if offered is not None:
                await asyncio.to_thread(self._adopt, offered, before)
            elif before is not None:
                raise PolicyRefusedError(f"the database has no policy; version {before.policy.version} stays in force")
            self._duty.sync.policy_error, self._stamp = "", self._stamp_now()
        except (FleetError, StoreError) as error:
            self._duty.sync.policy_error = str(error)
            if isinstance(error, FleetError):
                return
            await asyncio.to_thread(self._note_refusal, str(error))
        self._asked_for = version

    def _problem(self) -> bool:
        """Whether the last answer was not the end of it."""
        return bool(self._duty.sync.policy_error) or (self._asked_for > 0 and self._stamp_now() != self._stamp)

    def _stamp_now(self) -> Stamps:
        """Changes when somebody replaces the file, or removes it."""
        try:
            return self._kept.stamp()
        except StoreError:
            return ()

    async def _fetched(self) -> _Offered | None:
        who = (self._duty.identity.id, self._duty.identity.token)
        policy = await self._connection.call(POLICY_OF, who, DEADLINE)
        try:
            return None if policy is None else msgspec.convert(policy, _Offered)
        except msgspec.ValidationError as error:
            raise PolicyRefusedError(f"the fleet's database returned an unexpected policy: {error}") from error

    def _before(self) -> SignedPolicy | None:
        try:
            return self._kept.load()
        except PolicyRefusedError:
            return None

    def _adopt(self, offered: _Offered, before: SignedPolicy | None) -> None:
        try:
            text, signature = offered.toml.decode(), offered.signature.decode()
        except UnicodeDecodeError as error:
            raise PolicyRefusedError("the fleet's policy is not UTF-8 text") from error
        try:
            adopted = self._kept.adopt(text, signature)
        except PolicyRefusedError as error:
            raise PolicyRefusedError(f"version {offered.version} was refused: {error}") from error
        self._refused = ""
        if before is None or before.policy.text != adopted.policy.text:
            policy = adopted.policy
            words = f"version {policy.version} of the fleet's policy for the team {policy.team} is in force"
            self._log(f"policy-{policy.version}-{int(adopted.accepted)}", words, adopted.signer)

    def _note_refusal(self, why: str) -> None:
        """Once for each cause."""
        if why != self._refused:
            self._refused = why
            self._log(f"policy-refused-{time.time_ns()}", f"the fleet's policy: {why}", "")

    def _log(self, name: str, reason: str, by: str) -> None:
        line = audit_log.AuditEvent(
            id=name, time=audit_log.when(time.time()), event="policy", code="fleet.policy", by=audit_log.plain(by),
            where="fleet", reason=audit_log.plain(reason), gateway=self._duty.identity.id,
        )  # fmt: skip
        try:
            stores.audit_log(self._duty.state_dir).append([line])
        except StoreError as error:
            self._duty.sync.policy_error = f"the audit log could not be written: {error}"
