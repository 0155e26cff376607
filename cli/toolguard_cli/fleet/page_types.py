"""Requests and answers of the fleet dashboard. Every text is untrusted: it comes from gateways, and is shown as plain text.

Times are milliseconds since 1970 by the database's clock, durations are seconds.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from toolguard_cli.dashboard.request_context import Query
from toolguard_engine.approvals.held_view import HeldView
from toolguard_engine.metrics.result_types import Shape

FleetGatewayId = Annotated[str, Meta(pattern="^gw-[0-9a-f]{16}$")]
FleetNonce = Annotated[str, Meta(pattern="^[0-9a-f]{8,32}$")]
TeamName = Annotated[str, Meta(pattern=r"^(\*|[a-z0-9][a-z0-9._-]{0,62})$")]
Why = Annotated[str, Meta(max_length=300)]
Word = Annotated[str, Meta(max_length=200)]
Hours = Annotated[int, Meta(ge=1, le=2160)]

BASE64 = "^[A-Za-z0-9_-]+$"
CredentialId = Annotated[str, Meta(pattern=BASE64, max_length=1364)]
"""Of at most 1,023 bytes, in base64url without padding, as all binary data from browsers."""


class FleetVisitor(Shape, frozen=True):
    """Who has logged in. `proxied`: by a reverse proxy, which is also where to log out."""

    id: str
    role: str
    teams: list[str]
    now: int
    version: str
    proxied: bool


class FleetDecision(Shape, frozen=True):
    approver: str
    verdict: str
    at: int
    why: str


class FleetCallView(Shape, frozen=True):
    """A held call. `readable`: its entry has a known form; `whole`: `shown` is the complete call. `need`: how many
    approvers; `may_approve`: who they may be, `may`: whether this person is one of them; `command`: what signs a yes.
    `rejected`: why its gateway did not count an approval that the database had, as the gateway's audit log says; empty
    where nothing says so. `view`: what a person sees of it, null where `readable` is false."""

    gateway: str
    team: str
    host: str
    nonce: str
    status: str
    tool: str
    agent: str
    session: str
    requester: str
    code: str
    reason: str
    shown: str
    whole: bool
    readable: bool
    cwd: str
    would: list[str]
    rules: list[str]
    created: int
    expires: int
    decided: int
    by: str
    why: str
    need: int
    need_teams: list[str]
    decisions: list[FleetDecision]
    may_approve: list[str]
    may: bool
    command: str
    rejected: str = ""
    view: HeldView | None = None


class FleetCalls(Shape, frozen=True):
    """`all`: how many wait; `calls`: the oldest of them."""

    now: int
    all: int
    calls: list[FleetCallView]


class FleetHistory(Shape, frozen=True):
    calls: list[FleetCallView]


class TeamState(Shape, frozen=True):
    """`yours`: whether this person may act for it. `*`: the whole fleet."""

    team: str
    kill: bool
    kill_why: str
    kill_by: str
    kill_at: int
    policy_version: int
    gateways: int
    waiting: int
    yours: bool


class TeamStates(Shape, frozen=True):
    teams: list[TeamState]


class FleetGatewayState(Shape, frozen=True):
    """`state`: also `left`; `forks`: quarantined audit logs, `gaps`: lines that are missing from them. `silent`: seconds
    since the last contact, audit line, metrics row; None: never."""

    id: str
    team: str
    state: str
    host: str
    version: str
    silent: float
    audit_silent: float | None
    metrics_silent: float | None
    forks: int
    gaps: int
    lines: int
    waiting: int


class FleetGatewayStates(Shape, frozen=True):
    all: int
    gateways: list[FleetGatewayState]


class FleetCost(Shape, frozen=True):
    """`name`: of a team, gateway, agent or model, or the milliseconds since 1970 at which a day or hour begins."""

    name: str
    calls: int
    failed: int
    total: int
    priced: int
    cost_usd: float
    estimated_usd: float


class FleetCosts(Shape, frozen=True):
    calls: int
    total: int
    priced: int
    cost_usd: float
    estimated_usd: float
    verdicts: dict[str, int]
    rows: list[FleetCost]


class AuditLineView(Shape, frozen=True):
    """`line`: as the gateway stored it; cut after 8 kB."""

    number: int
    gateway: str
    team: str
    seq: int
    stored: int
    line: str


class AuditLineViews(Shape, frozen=True):
    lines: list[AuditLineView]


class KeptPartitions(Shape, frozen=True):
    """`ahead`: the days for which there are partitions, from today; None without any. `astray`: rows outside of them."""

    table: str
    keep_days: int
    ahead: int | None
    size: int
    astray: int


class FleetHealth(Shape, frozen=True):
    version: int
    known: int
    server: str
    size: int
    connections: int
    most_connections: int
    durable: bool
    standbys: bool
    partitions: list[KeptPartitions]


class HistoryQuery(Query, frozen=True):
    """`before`: `decided` of the last call that is known; 0: the latest are wanted."""

    hours: Hours = 24
    before: Annotated[int, Meta(ge=0, le=2**53)] = 0


class CostQuery(Query, frozen=True):
    hours: Hours = 24
    by: Literal["team", "gateway", "agent", "model", "day", "hour"] = "team"


class AuditQuery(Query, frozen=True):
    """`before`: the `number` of the last line that is known."""

    team: Word = ""
    gateway: Word = ""
    event: Word = ""
    agent: Word = ""
    nonce: Word = ""
    hours: Hours = 168
    before: Annotated[int, Meta(ge=0, le=2**53)] = 0


class FleetDenial(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    gateway: FleetGatewayId
    nonce: FleetNonce
    why: Why = ""


class PasskeyView(Shape, frozen=True):
    """`id`: of the credential. `host`: where it signs. `line`: for the gateways' `allowed_signers`."""

    id: str
    host: str
    name: str
    created: int
    line: str


class PasskeyViews(Shape, frozen=True):
    passkeys: list[PasskeyView]


class NewPasskey(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`public_key`: SubjectPublicKeyInfo."""

    id: CredentialId
    public_key: Annotated[str, Meta(pattern=BASE64, max_length=200)]
    name: Annotated[str, Meta(max_length=50)] = ""


class PasskeyChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    id: CredentialId


class CallChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    gateway: FleetGatewayId
    nonce: FleetNonce


class SignedCall(Shape, frozen=True):
    """What `body` of a `SigningRequest` is about, as in `FleetCallView`."""

    tool: str
    agent: str
    session: str
    requester: str
    reason: str
    shown: str
    whole: bool
    cwd: str
    would: list[str]
    rules: list[str]
    view: HeldView | None = None


class SigningRequest(Shape, frozen=True):
    """`call`: what is signed, for the person; it was read once, together with `body`. `body`: the text that is signed;
    `challenge`: the same for the authenticator, base64url; `passkeys`: which may sign it. `until`: when the signature
    expires."""

    call: SignedCall
    body: str
    challenge: str
    host: str
    passkeys: list[str]
    digest: str
    need: int
    until: int


class PasskeyApproval(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`body`: as in the `SigningRequest`; the rest as the browser returns it."""

    gateway: FleetGatewayId
    nonce: FleetNonce
    body: Annotated[str, Meta(max_length=2_000)]
    id: CredentialId
    authenticator_data: Annotated[str, Meta(pattern=BASE64, max_length=800)]
    client_data: Annotated[str, Meta(pattern=BASE64, max_length=2_800)]
    signature: Annotated[str, Meta(pattern=BASE64, max_length=100)]


class KillRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    team: TeamName
    on: bool
    why: Why = ""


class Done(Shape, frozen=True):
    text: str
