"""What the engine and its courier say to each other: one JSON object per line. Bytes are base64.

The engine asks (`Present`, `Close`, `GiveBack`, `Entries`) and notes (`Begin`, `Waiting`). The courier answers each question
once, with its id, and reports news (`HoldDecided`, `FleetStatus`) whenever there are any. Durations are in seconds.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from toolguard_engine.approvals.ledger import Status

VERSION = 1
MAX_LINE = 32 * 1024 * 1024

ClosedStatus = Literal["denied", "expired"]
Outcome = Literal["used", "pending", "denied", "too-many"]


class Begin(msgspec.Struct, frozen=True, tag="begin"):
    """The first line. `state_dir`: of the gateway, where its fleet identity is."""

    state_dir: str
    dsn: str
    team: str
    version: str
    deadline: float
    listen: bool = False
    ship_audit: bool = True
    ship_metrics: bool = True
    metrics_path: str = ""
    trust: str = ""
    v: int = VERSION


class Present(msgspec.Struct, frozen=True, tag="present"):
    """See `fleet.present`. `attempt`: 16 random bytes, the same if the same question is asked again."""

    id: int
    seconds: float
    attempt: bytes
    nonce: str
    binding: str
    session: str
    requester: str
    digest: bytes
    entry: bytes
    wait: float
    window: float
    need: int = 1
    need_teams: tuple[str, ...] = ()


class Close(msgspec.Struct, frozen=True, tag="close"):
    """A call of this gateway waits no more: its own prompt, a denial in chat, a checkpoint."""

    id: int
    seconds: float
    nonce: str
    status: ClosedStatus
    by: str = ""
    where: str = ""
    why: str = ""


class GiveBack(msgspec.Struct, frozen=True, tag="give-back"):
    """The approval that `attempt` used up was for a call that was not let run."""

    id: int
    seconds: float
    nonce: str
    attempt: bytes


class MoveEnd(msgspec.Struct, frozen=True, tag="move-end"):
    """An approval ends in `left` seconds, if the database does not say less."""

    id: int
    seconds: float
    nonce: str
    left: float


class Entries(msgspec.Struct, frozen=True, tag="entries"):
    """All open entries of this gateway, and those that were closed in the last day."""

    id: int
    seconds: float


class Waiting(msgspec.Struct, frozen=True, tag="waiting"):
    """The calls that an agent may be woken for: while there are any, the courier looks once a second."""

    nonces: tuple[str, ...]


Question = Present | Close | GiveBack | MoveEnd | Entries
FromEngine = Begin | Present | Close | GiveBack | MoveEnd | Entries | Waiting


class SignedVerdict(msgspec.Struct, frozen=True, omit_defaults=True):
    """One person's decision, as the database has it: nothing in it is believed but a valid signature of `body`."""

    approver: str
    verdict: Literal["approved", "denied"]
    body: bytes | None = None
    signature: bytes | None = None
    why: str | None = None
    at: float = 0.0


class PresentAnswer(msgspec.Struct, frozen=True, tag="presented"):
    """`left`: until the end of waiting, of the approval's window or of the denial; `at`: when it was
    decided, by the server's clock."""

    id: int
    outcome: Outcome
    nonce: str = ""
    entry: bytes = b""
    fresh: bool = False
    left: float = 0.0
    at: float | None = None
    by: str = ""
    where: str = ""
    why: str = ""
    decisions: tuple[SignedVerdict, ...] = ()


class FleetEntry(msgspec.Struct, frozen=True):
    """An entry of this gateway. `entry`: the bytes that were presented; `decided`: by the server's clock."""

    nonce: str
    status: Status
    entry: bytes
    left: float = 0.0
    decided: float = 0.0
    by: str = ""
    where: str = ""
    why: str = ""
    decisions: tuple[SignedVerdict, ...] = ()


class EntriesAnswer(msgspec.Struct, frozen=True, tag="entries"):
    id: int
    entries: tuple[FleetEntry, ...]


class DoneAnswer(msgspec.Struct, frozen=True, tag="done"):
    """`done`: whether it was still open."""

    id: int
    done: bool


class AwayAnswer(msgspec.Struct, frozen=True, tag="away"):
    """There is no answer of the database, or it refused (`is_refusal`): `why` is one line."""

    id: int
    why: str
    is_refusal: bool = False


class HoldDecided(msgspec.Struct, frozen=True, tag="decided"):
    """Something became of a call that waits."""

    nonce: str
    status: Status
    by: str = ""
    where: str = ""
    why: str = ""


class FleetStatus(msgspec.Struct, frozen=True, tag="status"):
    """What the last contact brought, or why there is none. `contact`: seconds since 1970 of the last one; `skew`: the
    server's clock minus ours."""

    contact: float = 0.0
    is_connected: bool = False
    kill: bool = False
    kill_team: str = ""
    kill_why: str = ""
    kill_by: str = ""
    policy_version: int = 0
    skew: float = 0.0
    error: str = ""
    policy_error: str = ""


Answer = PresentAnswer | EntriesAnswer | DoneAnswer | AwayAnswer
News = HoldDecided | FleetStatus
FromCourier = PresentAnswer | EntriesAnswer | DoneAnswer | AwayAnswer | HoldDecided | FleetStatus
