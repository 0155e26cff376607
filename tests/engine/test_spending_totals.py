"""The totals of the limits: whatever happens to the file, each call counts once and nothing is forgotten in its period."""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from toolguard_engine.config.settings import parse
from toolguard_engine.config.spending_limits import SpendingCap, caps, period
from toolguard_engine.layers.spending_totals import SpendingTotals
from toolguard_engine.model.counted_sums import CountedSums, UsedCall

DAY, HUGE = 24 * 3_600_000, 10**9
AGENTS, SESSIONS, MODELS = ("main", "other"), ("s", "t"), ("big", "small")


def limits(*given: dict[str, Any]) -> tuple[SpendingCap, ...]:
    return caps(parse({"limits": list(given)}).limits)


CAPS = limits(
    {"per": "day", "tokens": HUGE}, {"per": "month", "tokens": HUGE, "agent": "main"},
    {"per": "day", "tokens": HUGE, "model": "*/big"}, {"per": "session", "tokens": HUGE, "agent": "other"},
)  # fmt: skip


def used_call(at: int, agent: str = "main", session: str = "s", model: str = "big", tokens: int = 1) -> UsedCall:
    return UsedCall(at, agent, session, "p", model, tokens, tokens / 100)


class Spending(RuleBasedStateMachine):
    """One engine with its file, into which others write too. Tokens are whole, so that sums are exact."""

    def __init__(self) -> None:
        super().__init__()
        self.totals = SpendingTotals(CAPS)
        self.now = 100 * DAY
        self.queue: list[UsedCall] = []
        self.file: list[UsedCall] = []
        self.own: list[UsedCall] = []
        self.others: list[UsedCall] = []
        self.added = self.passed = 0
        self.least: dict[tuple[str, str], float] = {}
        self.is_intact = True
        self.seen: dict[str, int] = {}

    def begins(self) -> dict[str, int]:
        return {cap.per: period(cap.per, self.now)[0] for cap in CAPS} | {"session": period("day", self.now)[0]}

    @rule(
        agent=st.sampled_from(AGENTS), session=st.sampled_from(SESSIONS), model=st.sampled_from(MODELS), n=st.integers(1, 9)
    )
    def uses(self, agent: str, session: str, model: str, n: int) -> None:
        call = used_call(self.now, agent, session, model, n)
        self.totals.use([call])
        self.own.append(call)
        self.queue.append(call)
        self.totals.placed(self.added)
        self.added += 1

    @rule(agent=st.sampled_from(AGENTS), n=st.integers(1, 9))
    def another_engine_writes(self, agent: str, n: int) -> None:
        call = used_call(self.now, agent, "elsewhere", "big", n)
        self.others.append(call)
        self.file.append(call)

    @rule(many=st.integers(1, 3))
    def writes(self, many: int) -> None:
        taken, self.queue = self.queue[:many], self.queue[many:]
        self.file += taken
        self.passed += len(taken)

    @rule()
    def loses_the_oldest(self) -> None:
        if self.queue:
            self.queue.pop(0)
            self.passed += 1
            self.is_intact = False

    @rule()
    def removes_the_file(self) -> None:
        self.file.clear()
        self.is_intact = False

    @rule(is_read=st.booleans())
    def learns(self, is_read: bool) -> None:  # noqa: FBT001 - drawn
        self.totals.learn(CountedSums(self.begins(), *self.sums(self.file), self.passed, is_read))
        if self.seen != self.begins():
            self.seen, self.least = self.begins(), {}

    @rule()
    def begins_anew(self) -> None:
        self.totals = SpendingTotals(CAPS)
        self.own, self.queue, self.least = [], [], {}
        self.added = self.passed = 0
        self.learns(is_read=True)

    @rule(days=st.integers(1, 40))
    def time_passes(self, days: int) -> None:
        """The engine learns of it later."""
        self.now += days * DAY

    def sums(self, calls: list[UsedCall]) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
        amounts: dict[str, float] = {}
        sessions: dict[str, dict[str, float]] = {}
        for cap in CAPS:
            for call in calls:
                if call.at < self.begins()[cap.per] or not cap.covers(call.agent, call.provider, call.model):
                    continue
                if cap.per == "session":
                    of = sessions.setdefault(cap.key, {})
                    of[call.session] = of.get(call.session, 0) + call.tokens
                else:
                    amounts[cap.key] = amounts.get(cap.key, 0) + call.tokens
        return amounts, sessions

    @invariant()
    def nothing_is_forgotten(self) -> None:
        own, of_sessions = self.sums(self.own)
        for cap in CAPS:
            for session in SESSIONS if cap.per == "session" else ("",):
                used = self.totals.used(cap.key, session)
                mine = of_sessions.get(cap.key, {}).get(session, 0) if session else own.get(cap.key, 0)
                assert used >= mine
                assert used >= self.least.get((cap.key, session), 0)
                self.least[cap.key, session] = used

    @invariant()
    def nothing_counts_twice(self) -> None:
        if not self.is_intact or self.seen != self.begins():
            return
        everything, of_sessions = self.sums([*self.file, *self.queue])
        for cap in CAPS:
            if cap.per != "session":
                assert self.totals.used(cap.key) <= everything.get(cap.key, 0)
        for key, of in of_sessions.items():
            for session in SESSIONS:
                assert self.totals.used(key, session) <= of.get(session, 0)


TestSpending = Spending.TestCase
TestSpending.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)


def test_what_was_used_before_the_first_sums_counts_in_its_own_period_only() -> None:
    totals = SpendingTotals(limits({"per": "day", "tokens": 10}))
    totals.use([used_call(DAY, tokens=7)])
    totals.learn(CountedSums({"session": 0, "day": 2 * DAY, "month": 0}))
    assert totals.used("tokens per day") == 0


def test_who_is_stopped_by_which_limit() -> None:
    totals = SpendingTotals(
        limits(
            {"per": "day", "tokens": 10, "agent": "capped"},
            {"per": "day", "tokens": 20, "model": "p/big"},
            {"per": "session", "tokens": 30},
        ),
        name=str.upper,
    )
    totals.learn(CountedSums({"session": 0, "day": 0, "month": 0}))
    assert totals.use([used_call(1, "capped", "A", "small", 7)]) is False
    assert totals.use([used_call(1, "capped", "A", "small", 2)]) is True
    assert totals.reached("capped", "a") is None
    totals.use(
        [used_call(1, "capped", "A", "small", 1), used_call(1, "x", "B", "big", 20), used_call(1, "y", "C", "big", 1)]
    )
    found = {name: totals.reached(*name) for name in (("capped", "new"), ("x", "b"), ("y", "c"), ("z", "new"))}
    assert {name: each and each[0].key for name, each in found.items()} == {
        ("capped", "new"): "tokens per day of agent capped",
        ("x", "b"): "tokens per day of model p/big",
        ("y", "c"): "tokens per day of model p/big",
        ("z", "new"): None,
    }
    assert totals.reached("z", "new", ("p", "small")) is None
    by_model = totals.reached("z", "new", ("p", "big"))
    assert by_model is not None, "the first run of a session, whose model is chosen"
    assert by_model[0].key == "tokens per day of model p/big"
    totals.use([used_call(1, "x", "D", "small", 30)])
    assert [each and each[0].per for each in (totals.reached("x", "d"), totals.reached("x", "e"))] == ["session", None]


def test_a_warning_is_for_the_next_call_that_counts() -> None:
    general, of_agent = limits({"per": "day", "usd": 1}, {"per": "session", "usd": 1, "agent": "main"})
    totals = SpendingTotals((general, of_agent))
    totals.warn(of_agent, "s", "one")
    assert [totals.take_note("main", "t"), totals.take_note("other", "s"), totals.take_note("main", "s")] == ["", "", "one"]
    totals.warn(general, "", "all")
    assert [totals.take_note("any", "t"), totals.take_note("main", "s")] == ["all", ""]


DAY_CAP, SESSION_CAP = limits({"per": "day", "tokens": 10}, {"per": "session", "tokens": 10})
BEGINS = {"day": 0, "session": 0, "month": 0}


def learned(caps: tuple[SpendingCap, ...], **sums: Any) -> SpendingTotals:
    totals = SpendingTotals(caps)
    totals.learn(CountedSums(BEGINS, **sums))
    return totals


def test_a_limit_of_the_day_is_reached_by_what_others_used() -> None:
    totals = learned((DAY_CAP,), amounts={DAY_CAP.key: 10.0})
    assert totals.reached("main", "s") == (DAY_CAP, 10.0)
    assert totals.reached("main", "another") == (DAY_CAP, 10.0)


def test_a_limit_of_a_session_is_reached_in_that_session_only() -> None:
    totals = learned((SESSION_CAP,), amounts={SESSION_CAP.key: 10.0}, sessions={SESSION_CAP.key: {"s": 10.0, "t": 9.0}})
    assert totals.reached("main", "s") == (SESSION_CAP, 10.0)
    assert totals.reached("main", "t") is None
    assert totals.reached("main", "another") is None


def test_what_is_below_its_limit_is_not_reached() -> None:
    totals = learned((DAY_CAP, SESSION_CAP), amounts={DAY_CAP.key: 9.0}, sessions={SESSION_CAP.key: {"s": 9.0}})
    assert totals.reached("main", "s") is None
    totals.use([used_call(1)])
    assert totals.reached("main", "s") == (DAY_CAP, 10.0)


def test_a_sum_that_falls_below_a_raised_limit_frees_again() -> None:
    totals = learned((DAY_CAP,), amounts={DAY_CAP.key: 10.0})
    totals.learn(CountedSums({**BEGINS, "day": DAY}, amounts={DAY_CAP.key: 1.0}))
    assert totals.reached("main", "s") is None
