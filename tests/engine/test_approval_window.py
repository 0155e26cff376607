"""How long an approval lasts: pure, over made-up time; then the same through the watch, the ledger and other versions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from msgspec import structs

from effort import examples
from tables import each_row
from toolguard_engine.approvals import approval_window
from toolguard_engine.approvals.approval_window import NO_NEWS, WakeOutcome
from toolguard_engine.approvals.ledger import (
    MAX_APPROVED,
    REISSUED,
    REVIVED,
    UNPROVEN,
    Decision,
    HeldCall,
    Ledger,
    Woken,
    is_lapsed,
    latest_end,
)

NOW = 1_000_000.0
ANNA = Decision("anna", "cli", "fine")
LATER = WakeOutcome("later", "OpenClaw wakes no automation")
STEP = 1.0
"""Seconds between two looks of an engine."""


def held(nonce: str = "a" * 8, **more: object) -> HeldCall:
    made = HeldCall(
        nonce=nonce, binding="call", tool="exec", agent="main", session="s", run="r", code="c", reason="r", shown="rm x",
        created=NOW - 10, expires=NOW + 290,
    )  # fmt: skip
    return structs.replace(made, **more)


def approved(window: float = 30.0, **more: object) -> HeldCall:
    return structs.replace(Ledger([held()]).approve("a" * 8, ANNA, NOW, window), **more)


# --- one step -----------------------------------------------------------------------------------------------------------

STEPS = [
    ("idle", {}, 10, False, NO_NEWS, None),
    ("idle, a yes that nobody could use so far", {"expires": NOW + 600}, 10, False, NO_NEWS, (NOW + 40, "")),
    ("a run has just begun", {}, 1, True, NO_NEWS, None),
    ("a run goes on", {}, 8, True, NO_NEWS, (NOW + 38, "")),
    ("a run goes on to the end", {"expires": NOW + 599}, 590, True, NO_NEWS, (NOW + 600, "")),
    ("a run goes on beyond it", {"expires": NOW + 600}, 595, True, NO_NEWS, None),
    ("it is over", {}, 30, True, NO_NEWS, None),
    ("it is over, and was not to be told", {}, 30, False, LATER, None),
    ("woken", {}, 1, False, WakeOutcome("woken"), (NOW + 30, "woken")),
    ("cannot be woken", {}, 1, False, LATER, (NOW + 600, "later")),
    ("still cannot be woken", {"expires": NOW + 600, "woken": "later"}, 300, False, NO_NEWS, None),
    ("its next run begins", {"expires": NOW + 600, "woken": "later"}, 300, True, NO_NEWS, (NOW + 330, "told")),
    ("its next run ended without it", {"expires": NOW + 330, "woken": "told"}, 310, False, NO_NEWS, None),
    ("once told, not waited for again", {"woken": "told"}, 1, False, LATER, None),
    ("once woken, not waited for again", {"woken": "woken"}, 1, False, LATER, None),
    ("busy, and then not to be woken", {"woken": "busy"}, 1, False, LATER, (NOW + 600, "later")),
    ("of another version", {"latest": 0.0}, 8, True, NO_NEWS, (NOW + 38, "")),
    ("given back", {"latest": NOW + 20, "expires": NOW + 15}, 5, True, NO_NEWS, (NOW + 20, "")),
    ("given back by another version", {"latest": 0.0, "why": f"{REISSUED}x", "expires": NOW + 9}, 5, True, NO_NEWS, None),
]


@each_row(("change", "after", "busy", "outcome", "wanted"), [row[1:] for row in STEPS], ids=[r[0] for r in STEPS])
def test_what_an_engine_does(
    change: dict[str, object],
    after: float,
    outcome: WakeOutcome,
    wanted: tuple[float, Woken] | None,
    *,
    busy: bool,
) -> None:
    entry = approved(**change)
    move = approval_window.move(entry, NOW + after, 30.0, is_busy=busy, outcome=outcome)
    assert (move and (move.expires, move.woken)) == wanted


def test_a_clock_that_is_set_back_gives_no_time() -> None:
    entry = approved(expires=NOW + 600, woken="later")
    assert approval_window.move(entry, NOW + 100, 30.0, is_busy=False, left=500.0) is None
    move = approval_window.move(entry, NOW + 100, 30.0, is_busy=False, left=20.0)
    assert move is not None
    assert move.expires == NOW + 120


# --- the law ------------------------------------------------------------------------------------------------------------


@dataclass
class World:
    """One approval, an engine that looks every `STEP` while it runs, and a session whose runs begin and end.

    `idle_since`: since when nobody could use the approval who may; None while a run is in progress or is waited for.
    """

    window: float
    now: float = NOW
    ledger: Ledger = field(default_factory=lambda: Ledger([held()]))
    busy: bool = False
    engine: bool = True
    outcome: WakeOutcome = NO_NEWS
    idle: float = 0.0

    def __post_init__(self) -> None:
        self.ledger.approve("a" * 8, ANNA, NOW, self.window)

    @property
    def entry(self) -> HeldCall:
        return self.ledger.entries[0]

    @property
    def is_usable(self) -> bool:
        return self.ledger.waiting("call", self.now) is not None

    def pass_by(self, seconds: float) -> None:
        for _ in range(max(1, math.ceil(seconds / STEP))):
            self.now += STEP
            waits = self.entry.woken == "later"
            self.idle = 0.0 if self.busy or waits else self.idle + STEP
            if self.engine:
                self._look()

    def _look(self) -> None:
        move = approval_window.move(self.entry, self.now, self.window, is_busy=self.busy, outcome=self.outcome)
        if move:
            self.ledger.move_end(move.nonce, move.expires, move.woken, move.asleep)


SPANS = st.sampled_from([1.0, 4.0, 9.0, 10.0, 29.0, 31.0, 40.0, 200.0, 599.0])
ACTS = st.one_of(
    st.tuples(st.just("pass"), SPANS),
    st.tuples(st.sampled_from(["begin", "end", "kill", "start", "woken", "busy", "later"]), st.just(0.0)),
)


@example(acts=[("pass", 9.0), ("begin", 0.0), ("pass", 1.0)], window=10.0)
@settings(max_examples=examples(120), deadline=None)
@given(acts=st.lists(ACTS, max_size=14), window=st.sampled_from([10.0, 30.0, 120.0]))
def test_no_approval_outlives_its_law(acts: list[tuple[str, float]], window: float) -> None:
    """Never beyond ten minutes; never beyond a window in which nobody was at work or waited for; and while an engine runs,
    always while a run is in progress that began before the lapse, with a look of the engine between them."""
    world, certain = World(window), False
    for act, span in acts:
        was_usable = world.is_usable
        if act == "pass":
            world.pass_by(span)
        elif act in ("begin", "end"):
            world.busy = act == "begin"
            is_looked_at = world.entry.expires - world.now > STEP
            certain = world.busy and was_usable and world.engine and is_looked_at
        elif act in ("kill", "start"):
            world.engine = act == "start"
            certain = certain and world.engine
        else:
            world.outcome = WakeOutcome(act)  # type: ignore[arg-type]
        over = world.now - NOW >= MAX_APPROVED
        assert not (world.is_usable and over)
        assert not (world.is_usable and world.idle > window + 2 * STEP and world.engine)
        assert not (certain and not world.is_usable and not over)
        assert not (world.is_usable and not was_usable), "what has lapsed stays lapsed"


@pytest.mark.parametrize("answer", [5.0, 40.0, 200.0])
def test_a_model_may_take_its_time(answer: float) -> None:
    """Approved while idle, woken a moment later; the model answers with the call after that many seconds."""
    world = World(30.0)
    world.pass_by(1.0)
    world.busy, world.outcome = True, WakeOutcome("woken")
    world.pass_by(answer)
    assert world.is_usable
    world.busy = False
    world.pass_by(22.0)  # three quarters of a window are left at least
    assert world.is_usable
    world.pass_by(9.0)
    assert not world.is_usable


def test_without_an_engine_a_run_gives_no_time() -> None:
    """Killed while a run was in progress: what it has given so far is a window at most."""
    world = World(30.0)
    world.busy = True
    world.pass_by(100.0)
    world.engine = False
    world.pass_by(31.0)
    assert not world.is_usable


# --- other versions, and what has lapsed --------------------------------------------------------------------------------


def test_give_back_gives_no_time() -> None:
    ledger = Ledger([held()])
    yes = ledger.approve("a" * 8, ANNA, NOW, 30)
    used = ledger.use(ledger.move_end(yes.nonce, NOW + 430, "woken") or yes, NOW + 405)
    again = ledger.give_back(used, "b" * 8, NOW + 410)
    assert again is not None
    assert (again.expires, latest_end(again)) == (NOW + 430, NOW + MAX_APPROVED)


def test_an_end_is_moved_of_approvals_alone() -> None:
    for entry in (held(), held(status="used"), held(status="denied"), held(status="expired")):
        ledger = Ledger([entry])
        assert ledger.move_end(entry.nonce, NOW + 500, "woken") is None
        assert (ledger.entries, ledger.moved) == ([entry], [])
    assert Ledger().move_end("a" * 8, NOW, "woken") is None


def test_no_end_is_moved_beyond_the_latest() -> None:
    ledger = Ledger([approved()])
    moved = ledger.move_end("a" * 8, NOW + 9_999, "woken")
    assert moved is not None
    assert moved.expires == NOW + MAX_APPROVED


def test_an_end_is_moved_of_trusted_entries_alone() -> None:
    ledger = Ledger([approved()], trusted=lambda _: False)
    assert ledger.move_end("a" * 8, NOW + 60, "woken") is None
    assert ledger.forged == [approved()]


LAPSED = [
    ("approved, not used", {"by": "anna", "where": "cli"}, True),
    ("approved in chat by nobody's name", {"where": "chat", "latest": NOW + 600}, True),
    ("gave way to an approval that is there again", {"where": "fleet", "why": f"{REISSUED}waits as x"}, False),
    ("given back, not used", {"by": "anna", "where": "cli", "why": f"{REISSUED}x"}, True),
    ("unanswered", {}, False),
    ("the gateway's prompt ended", {"where": "native"}, False),
    ("the gateway's prompt ended, by somebody", {"where": "native", "by": "ann"}, False),
    ("revived", {"by": "anna", "where": "cli", "why": REVIVED}, False),
    ("unproven", {"why": f"{UNPROVEN}it is not signed"}, False),
]


@each_row(("change", "wanted"), [row[1:] for row in LAPSED], ids=[row[0] for row in LAPSED])
def test_what_counts_as_lapsed(change: dict[str, object], *, wanted: bool) -> None:
    assert is_lapsed(held(status="expired", **change)) is wanted
    for status in ("pending", "approved", "used", "denied"):
        assert not is_lapsed(held(status=status, **change))


def test_a_lapsed_approval_is_revived_for_a_new_decision() -> None:
    ledger = Ledger([approved()])
    ledger.sweep(NOW + 31)
    (lapsed,) = ledger.entries
    assert is_lapsed(lapsed)
    revived = ledger.revive(lapsed.nonce, ANNA, NOW + 40)
    assert (revived.status, revived.why) == ("expired", REVIVED)
    assert ledger.waiting("call", NOW + 40) is None, "nothing is approved"
