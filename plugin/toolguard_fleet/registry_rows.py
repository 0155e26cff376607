"""What the functions for people return. Times are seconds since 1970, durations are seconds."""

from __future__ import annotations

from typing import Literal

import msgspec

from toolguard_engine.stores.fleet.pipe_messages import SignedVerdict

PersonRole = Literal["viewer", "approver", "admin"]


class FleetPerson(msgspec.Struct, frozen=True):
    """Who the login of a session is. The owner of the schema counts as an admin of all teams (`*`)."""

    id: str
    login: str
    role: PersonRole
    teams: tuple[str, ...]
    server_time: float


class FleetApprover(msgspec.Struct, frozen=True):
    """`revoked`: None while the person counts."""

    id: str
    login: str
    role: PersonRole
    teams: tuple[str, ...]
    added: float
    added_by: str
    revoked: float | None = None
    revoked_by: str = ""


class FleetGateway(msgspec.Struct, frozen=True):
    """`silent`: since it asked last. `fingerprint`: of its token, as `toolguard fleet join` printed it."""

    id: str
    team: str
    state: Literal["new", "admitted", "quarantined", "revoked", "left"]
    host: str
    version: str
    joined: float
    seen: float
    silent: float
    decided_by: str
    fingerprint: str


class FleetCall(msgspec.Struct, frozen=True):
    """A held call as persons get it. `entry`: the gateway's JSON of a `HeldCall`; None where the answer would be too large.
    `at`: when it was decided. `you`: the id of the person who asks."""

    gateway: str
    team: str
    host: str
    nonce: str
    status: Literal["pending", "approved", "used", "denied", "expired"]
    binding: str
    session: str
    requester: str
    digest: bytes
    entry: bytes | None
    need: int
    need_teams: tuple[str, ...]
    created: float
    age: float
    left: float
    expires: float
    wait: float
    window: float
    at: float | None
    by: str
    where: str
    why: str
    decisions: tuple[SignedVerdict, ...]
    you: str = ""


class FleetEvent(msgspec.Struct, frozen=True):
    """What was done to the registry, or what the database noticed. `who`: a person; empty for what a gateway caused."""

    id: int
    at: float
    kind: str
    team: str
    gateway: str
    who: str
    detail: str


class MaintenanceReport(msgspec.Struct, frozen=True):
    """`created`, `dropped`: partitions; `expired`: held calls that nobody answered; `forgotten_gateways`: never admitted.
    `spared`: logins of gateways whose sessions the owner may not end; `open`: others than the fleet may use the database."""

    created: tuple[str, ...]
    dropped: tuple[str, ...]
    expired: int
    forgotten_gateways: int
    spared: tuple[str, ...] = ()
    open: bool = False


class PushedPolicy(msgspec.Struct, frozen=True):
    """A policy as the database has it: not verified. `by`: the admin whose login pushed it."""

    team: str
    version: int
    toml: bytes
    signature: bytes
    by: str
    at: float


class TeamSwitch(msgspec.Struct, frozen=True):
    """The kill switch of a team, or of the whole fleet (`*`). `at`: when it was switched on, None while it is off."""

    team: str
    on: bool
    why: str
    by: str
    at: float | None
    policy_version: int


class PageToken(msgspec.Struct, frozen=True):
    """A token for the fleet dashboard, without the token. `used`: when it last began a session."""

    id: str
    person: str
    created: float
    created_by: str
    expires: float
    used: float | None
    revoked: float | None
    revoked_by: str
    valid: bool
