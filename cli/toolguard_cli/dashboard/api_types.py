"""Requests and answers of the dashboard's API, apart from the metrics (`toolguard_engine.metrics.result_types`).

Every text that is not from a fixed set is untrusted: it comes from models, files or the network, and is shown as plain text.
"""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from toolguard_engine.approvals.held_view import HeldView
from toolguard_engine.config.settings import Mode
from toolguard_engine.metrics.result_types import CallRow, CapUse, DecisionRow, Range, Savings, Shape, SpendingForecast

GatewayId = Annotated[str, Meta(min_length=1, max_length=200)]
Nonce = Annotated[str, Meta(pattern="^[0-9a-f]{8}$")]
Name = Annotated[str, Meta(max_length=200)]
Text = Annotated[str, Meta(max_length=2_000)]


class HeldCallView(Shape, frozen=True):
    """A call that waits for approval, or was approved and has not run. `whole`: `shown` is the complete call; `view`: what
    a person sees of it, with what was there when the call was first listed; `would`, `rules`: the same in lines, all effects
    and all rules that matched. `allows`: what a grant for
    exactly this call covers, empty if there is none; `alike`: what an answer for the rest of the session covers; `why_once`:
    why there is neither."""

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
    view: HeldView
    would: list[str]
    rules: list[str]
    allows: str
    alike: str
    why_once: str


class Pending(Shape, frozen=True):
    """`problems`: why files cannot be read. `unread`: gateways whose held calls cannot be read."""

    now: int
    pending: list[HeldCallView]
    problems: list[str]
    unread: list[str]


class SettledCall(Shape, frozen=True):
    """A held call that is over. `status`: `used`, `denied`, `expired`; `missed` if nobody answered it and it was not held
    again since, `lapsed` if it was approved, did not run in time and was not held again since, `revived` if its agent was
    asked to make it again, `unused` if it was approved but did not run, and was held again. `by`, `where`, `why`: who
    decided, if anybody did. `undo`: how to undo it; empty if nothing of it is kept."""

    gateway: str
    nonce: str
    status: str
    tool: str
    agent: str
    session: str
    code: str
    reason: str
    shown: str
    created: int
    decided: int
    by: str
    where: str
    why: str
    undo: str = ""


class SettledCalls(Shape, frozen=True):
    """The missed and lapsed calls of the last 7 days, and the others of the last 24 hours. `missed`: how many missed and
    lapsed ones, including those that are not listed."""

    now: int
    settled: list[SettledCall]
    missed: int
    problems: list[str]


class Spending(Shape, frozen=True):
    """`savings`: of this range; `caps`: the limits of all gateways."""

    range: Range
    forecast: SpendingForecast
    savings: Savings
    caps: list[CapUse]


class Switch(Shape, frozen=True):
    """A kill switch that is on: since when (0: not known), by whom, why."""

    at: int
    by: str
    why: str


class StandingView(Shape, frozen=True):
    """The standing of an agent in a session. `signals`: drift and other findings; `waits`: its next call may wait."""

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
    """A setting weaker than the accepted one. `setting`: empty if it is not a single setting; `since`: 0 if not known."""

    setting: str
    text: str
    since: int


class Protection(Shape, frozen=True):
    """Whether calls are judged, and since when (0: not known). `stopped`: all are blocked; `observing`: they are only
    recorded; `off`: the guard is not loaded, away or switched off; `partly`: by another version or other settings than those
    of now; `idle`: no gateway runs. `fix`: what to do, if anything."""

    state: Literal["guarded", "stopped", "observing", "off", "partly", "idle", "unproven"]
    since: int
    text: str
    fix: str = ""


class GatewayState(Shape, frozen=True):
    """The state of a gateway. `recording`: it writes metrics. `mode`: from its settings. `weakened_mark`: identifies all of
    `weakened`, to accept exactly that."""

    id: str
    protection: Protection
    running: bool
    recording: bool
    mode: str
    kill_switch: Switch | None
    standings: list[StandingView]
    weakened: list[Weakened]
    weakened_mark: str
    host: str
    version: str
    problems: list[str]


class GatewayStatus(Shape, frozen=True):
    """`may_change`: the token was given, so changes are permitted. `notes`: warnings of a change."""

    now: int
    version: str
    may_change: bool
    gateways: list[GatewayState]
    notes: list[str]


class Refill(Shape, frozen=True, forbid_unknown_fields=True):
    """The budget to refill: of this agent in this session, either of which may be empty; with `all` every budget."""

    agent: Text = ""
    session: Text = ""
    all: bool = False


class ChangeRequest(Shape, frozen=True, forbid_unknown_fields=True):
    """Exactly one of `mode`, `kill_switch`, `checkpoint` and `accept` (the mark of the weaker settings to accept)."""

    gateway: GatewayId
    mode: Mode | None = None
    kill_switch: bool | None = None
    checkpoint: Refill | None = None
    accept: Name | None = None
    why: Text = ""


class DecisionRequest(Shape, frozen=True, forbid_unknown_fields=True):
    """Approves or denies a held call. `unseen`: approve even if parts of the call cannot be shown; ignored for a denial."""

    gateway: GatewayId
    nonce: Nonce
    why: Text = ""
    unseen: bool = False


class NonceRequest(Shape, frozen=True, forbid_unknown_fields=True):
    """Something about one held call."""

    gateway: GatewayId
    nonce: Nonce
    why: Text = ""


class AllowRequest(Shape, frozen=True, forbid_unknown_fields=True):
    """Approves a held call, and allows exactly the same call for an hour, a day or a week, or the calls like it for the rest
    of the session."""

    gateway: GatewayId
    nonce: Nonce
    period: Literal["1h", "1d", "1w", "session"]
    why: Text = ""


class LinkRequest(Shape, frozen=True, forbid_unknown_fields=True):
    """Shows the call of an answer link."""

    link: Name


class LinkedCall(Shape, frozen=True):
    """The call of an answer link. `expires`: of the link; `page`: a secret that is valid for one answer."""

    now: int
    expires: int
    page: str
    call: HeldCallView


class LinkAnswer(Shape, frozen=True, forbid_unknown_fields=True):
    """The answer of the page that was opened with the link."""

    link: Name
    page: Name
    answer: Literal["approve", "session", "deny"]


class Reported(Shape, frozen=True, forbid_unknown_fields=True):
    """An external decision (of the bridge of a plugin that toolguard replaces, of a script), for the log and the feed."""

    gateway: GatewayId
    tool: Annotated[str, Meta(min_length=1, max_length=200)]
    decision: Literal["allow", "hold", "block"]
    code: Name = ""
    reason: Text = ""
    agent: Name = ""
    session: Annotated[str, Meta(max_length=2_000)] = ""
    shown: Text = ""


class ActionResult(Shape, frozen=True):
    """A change was made; `text` describes it for the user."""

    text: str


class Problem(Shape, frozen=True):
    """Why a request was refused. `code` is stable; `fix`: what to do, if anything."""

    code: str
    message: str
    fix: str = ""


class ErrorBody(Shape, frozen=True):
    error: Problem


class HelloEvent(Shape, frozen=True, tag_field="type", tag="hello"):
    """The first message of `/ws`, after the page has sent `{"token": "..."}` (empty if it has none)."""

    now: int
    may_change: bool


class CallEvent(Shape, frozen=True, tag_field="type", tag="call"):
    call: CallRow


class DecisionEvent(Shape, frozen=True, tag_field="type", tag="decision"):
    decision: DecisionRow


class PendingEvent(Pending, frozen=True, tag_field="type", tag="pending"):
    """All held calls, sent when one of them changes."""


class StateEvent(Shape, frozen=True, tag_field="type", tag="state"):
    """The state of a gateway changed: reload `/api/state`."""


class TickEvent(Shape, frozen=True, tag_field="type", tag="tick"):
    """Sent every five seconds, so that silence means that the server is gone, and when `problems` changes: why the metrics
    file cannot be read."""

    now: int
    problems: list[str]
