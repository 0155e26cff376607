"""What the dashboard's API takes and gives beyond the metrics (`toolguard_engine.metrics.shapes`).

Everything that is not a number or one of our own words comes from models, files and the network, and is shown as text.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from toolguard_engine.config import Mode
from toolguard_engine.metrics.shapes import CallRow, DecisionRow, Shape

GatewayId = Annotated[str, Meta(min_length=1, max_length=200)]
Nonce = Annotated[str, Meta(pattern="^[0-9a-f]{8}$")]
Name = Annotated[str, Meta(max_length=200)]
Text = Annotated[str, Meta(max_length=2_000)]


class Held(Shape, frozen=True):
    """A call that waits for a person, or was approved and has not run. `whole`: `shown` is all of it."""

    gateway: str
    nonce: str
    status: str
    tool: str
    agent: str
    session: str
    code: str
    reason: str
    shown: str
    whole: bool
    cwd: str
    created: int
    expires: int


class Pending(Shape, frozen=True):
    """`problems`: files that cannot be read, in words. `unread`: gateways whose held calls cannot be told now."""

    now: int
    pending: list[Held]
    problems: list[str]
    unread: list[str]


class Switch(Shape, frozen=True):
    """The kill switch is on: since when (0 where not known), by whom, why."""

    at: int
    by: str
    why: str


class Standing(Shape, frozen=True):
    """How an agent stands in a session. `signals`: drift and what else was noted, in words; `waits`: its next call may."""

    agent: str
    session: str
    spent: float
    left: float
    size: float
    trust: float
    mode: str
    signals: list[str]
    waits: bool
    touched: int


class Weakened(Shape, frozen=True):
    """Something that guards less than what a person accepted. `setting`: empty where it is none; `since`: 0 if not known."""

    setting: str
    text: str
    since: int


class GatewayState(Shape, frozen=True):
    """A gateway as it stands now. `recording`: it writes metrics. `mode`: as its settings say. `weakened_mark`: stands for
    all of `weakened`, to accept exactly that."""

    id: str
    running: bool
    recording: bool
    mode: str
    kill_switch: Switch | None
    standings: list[Standing]
    weakened: list[Weakened]
    weakened_mark: str
    host: str
    version: str
    problems: list[str]


class State(Shape, frozen=True):
    """`may_change`: the token was given, so that changes are taken. `notes`: what else a change has to say."""

    now: int
    version: str
    may_change: bool
    gateways: list[GatewayState]
    notes: list[str]


class Refill(Shape, frozen=True, forbid_unknown_fields=True):
    """Whose budget is full again: this agent's in this session, either of which may be empty; or with `all` everybody's."""

    agent: Text = ""
    session: Text = ""
    all: bool = False


class Change(Shape, frozen=True, forbid_unknown_fields=True):
    """One of `mode`, `kill_switch`, `checkpoint` and `accept`: the mark of what became weaker, and is accepted."""

    gateway: GatewayId
    mode: Mode | None = None
    kill_switch: bool | None = None
    checkpoint: Refill | None = None
    accept: Name | None = None
    why: Text = ""


class Word(Shape, frozen=True, forbid_unknown_fields=True):
    """A person's yes or no to a held call. `unseen`: also where not all of it can be shown; counts for a yes only."""

    gateway: GatewayId
    nonce: Nonce
    why: Text = ""
    unseen: bool = False


class Reported(Shape, frozen=True, forbid_unknown_fields=True):
    """A decision that something else made (the bridge of a plugin that toolguard replaces, a script), for log and feed."""

    gateway: GatewayId
    tool: Annotated[str, Meta(min_length=1, max_length=200)]
    decision: Literal["allow", "hold", "block"]
    code: Name = ""
    reason: Text = ""
    agent: Name = ""
    session: Annotated[str, Meta(max_length=2_000)] = ""
    shown: Text = ""


class Done(Shape, frozen=True):
    """A change was made; `text` says what it means, for a person."""

    text: str


class Problem(Shape, frozen=True):
    """Why a request was refused. `code` is stable; `fix` says what to do, where something can be done."""

    code: str
    message: str
    fix: str = ""


class Refusal(Shape, frozen=True):
    error: Problem


class HelloEvent(Shape, frozen=True, tag_field="type", tag="hello"):
    """The first message of `/ws`, after the page has sent `{"token": "..."}` (empty where it has none)."""

    now: int
    may_change: bool


class CallEvent(Shape, frozen=True, tag_field="type", tag="call"):
    call: CallRow


class DecisionEvent(Shape, frozen=True, tag_field="type", tag="decision"):
    decision: DecisionRow


class PendingEvent(Shape, frozen=True, tag_field="type", tag="pending"):
    """All held calls, whenever one of them changed; the rest as in `Pending`."""

    now: int
    pending: list[Held]
    problems: list[str]
    unread: list[str]


class StateEvent(Shape, frozen=True, tag_field="type", tag="state"):
    """Something else changed: ask `/api/state` again."""


class TickEvent(Shape, frozen=True, tag_field="type", tag="tick"):
    """Every five seconds, so that silence means that the server is gone; and whenever `problems` changes: why the metrics
    file cannot be read, in words."""

    now: int
    problems: list[str]
