"""The book of held calls: every transition, every answer, and nothing that could happen twice."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import msgspec
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from effort import examples
from tables import each_row
from toolguard_engine.approvals import ledger as book
from toolguard_engine.approvals.ledger import OPEN, Decision, HeldCall, Ledger, RefusedError, Status, TooManyHeldError

ANNA = Decision("anna", "cli", "looks right")
STATUSES: tuple[Status, ...] = ("pending", "approved", "used", "denied", "expired")


def entry(nonce: str = "a1b2c3d4", status: Status = "pending", *, binding: str = "", **more: object) -> HeldCall:
    made = HeldCall(
        nonce=nonce, binding=binding or f"call-{nonce}", tool="exec", agent="main", session="s", run="r", code="tool.exec",
        reason="exec asks", shown="rm -rf build " * 40, created=1_000.0, expires=1_300.0, status=status,
        decided=0.0 if status == "pending" else 1_010.0,
    )  # fmt: skip
    return msgspec.structs.replace(made, **more)


def changes(ledger: Ledger) -> list[tuple[str, Status]]:
    return [(found.nonce, found.status) for found in ledger.changed]


def test_a_held_call_waits_is_approved_and_runs_once() -> None:
    ledger = Ledger()
    held = ledger.enter(entry())
    assert ledger.waiting(held.binding, 1_001) == held
    approved = ledger.approve("a1b2", ANNA, 1_100, 30)
    assert (approved.status, approved.decided, approved.expires) == ("approved", 1_100, 1_130)
    assert (approved.by, approved.where, approved.why) == ("anna", "cli", "looks right")
    assert ledger.waiting(held.binding, 1_101) == approved
    used = ledger.use(approved, 1_101)
    assert (used.status, used.decided, used.by, used.shown) == ("used", 1_101, "anna", held.shown[: book.MAX_CLOSED_SHOWN])
    assert ledger.waiting(held.binding, 1_101) is None
    assert changes(ledger) == [("a1b2c3d4", "pending"), ("a1b2c3d4", "approved"), ("a1b2c3d4", "used")]


@each_row(
    ("status", "approve", "deny"),
    [
        ("pending", "approved", "denied"),
        ("approved", RefusedError, "denied"),
        ("used", RefusedError, RefusedError),
        ("denied", RefusedError, RefusedError),
        ("expired", RefusedError, RefusedError),
    ],
)
def test_decisions(status: Status, approve: object, deny: object) -> None:
    for wanted, decide in ((approve, Ledger.approve), (deny, Ledger.deny)):
        before = entry(status=status)
        ledger = Ledger([before])
        if wanted is RefusedError:
            with pytest.raises(RefusedError) as refused:
                decide(ledger, before.nonce, ANNA, 1_020, 30)
            assert (refused.value.cause, refused.value.entry, ledger.changed) == (status, before, [])
            continue
        after = decide(ledger, before.nonce, ANNA, 1_020, 30)
        assert after == msgspec.structs.replace(
            before, status=wanted, decided=1_020, expires=1_050, by="anna", where="cli", why="looks right",
            latest=1_020 + book.MAX_APPROVED if wanted == "approved" else 0,
        )  # fmt: skip
        assert ledger.entries == ledger.changed == [after]


@each_row("status", STATUSES)
@each_row(("outcome", "expires"), [("used", 1_300), ("denied", 1_320), ("expired", 1_300)])
def test_settling_what_the_gateway_asked(status: Status, outcome: Status, expires: float) -> None:
    before = entry(status=status)
    ledger = Ledger([before])
    after = ledger.settle(before.nonce, outcome, Decision("anna", "native"), 1_020)
    if status not in OPEN or (status, outcome) == ("approved", "expired"):
        assert after is None
        assert ledger.entries == [before]
        assert ledger.changed == []
        return
    assert after is not None
    where = before.where if (status, outcome) == ("approved", "used") else "native"
    assert (after.status, after.decided, after.expires, after.where) == (outcome, 1_020, expires, where)
    assert ledger.settle(before.nonce, "used", ANNA, 1_021) is None


@each_row(
    ("now", "since", "nonce"),
    [
        (1_020, None, "b"),
        (1_300, None, None),  # its time is over
        (1_020, "pending", "c"),
        (1_020, "approved", None),
        (1_020, "denied", None),
        (1_020, "expired", "b"),
    ],
)
def test_an_approval_whose_call_did_not_run_is_given_back(now: float, since: Status | None, nonce: str | None) -> None:
    used = entry("a" * 8, status="used", binding="same")
    ledger = Ledger([used, *([entry("c" * 8, status=since, binding="same")] if since else [])])
    back = ledger.give_back(used, "b" * 8, now)
    assert (back and back.nonce) == (nonce and nonce * 8)
    if back is not None:
        assert (back.status, back.binding, back.expires, back.by) == ("approved", used.binding, used.expires, used.by)
        assert ledger.waiting(used.binding, now) == back
    assert ledger.changed == ([back] if back else [])


def test_settling_an_unknown_nonce() -> None:
    assert Ledger().settle("a1b2c3d4", "used", ANNA, 1) is None


@each_row(
    ("status", "now", "answers"),
    [
        ("pending", 1_000, True),
        ("pending", 1_299.999, True),
        ("pending", 1_300, False),
        ("pending", 0, True),  # the clock stepped back: it only waits longer
        ("approved", 1_010, True),
        ("approved", 1_005, True),  # stepped back a little
        ("approved", 1_004.999, False),
        ("approved", 1_299.999, True),
        ("approved", 1_300, False),
        ("denied", 1_299.999, True),
        ("denied", 1_300, False),
        ("used", 1_011, False),
        ("expired", 1_011, False),
    ],
)
def test_who_answers_and_when(status: Status, now: float, answers: bool) -> None:  # noqa: FBT001
    known = entry(status=status)
    for swept in (False, True):
        ledger = Ledger([known])
        if swept:
            ledger.sweep(now)
        assert ledger.waiting(known.binding, now) == (known if answers else None)
        assert ledger.waiting("another call", now) is None


@each_row(
    ("status", "now", "after"),
    [
        ("pending", 1_299.999, "pending"),
        ("pending", 1_300, "expired"),
        ("approved", 1_299.999, "approved"),
        ("approved", 1_300, "expired"),
        ("approved", 1_004.999, "expired"),  # nobody knows when its window would end
        ("approved", 1_005, "approved"),
        ("denied", 1_300, "denied"),
        ("used", 1_300, "used"),
        ("expired", 1_300, "expired"),
    ],
)
def test_sweeping(status: Status, now: float, after: Status) -> None:
    ledger = Ledger([entry(status=status, shown="x" * 2_000, by="anna" if status == "approved" else "")])
    ledger.sweep(now)
    assert [found.status for found in ledger.entries] == [after]
    assert changes(ledger) == ([] if after == status else [("a1b2c3d4", after)])
    assert ledger.dropped is False
    if after != status:
        assert ledger.changed[0].decided == now
        kept = (book.MAX_MISSED_SHOWN, False) if status in OPEN else (book.MAX_CLOSED_SHOWN, True)
        assert (len(ledger.changed[0].shown), ledger.changed[0].whole) == kept


@each_row("status", STATUSES)
def test_what_was_closed_is_forgotten_after_a_while(status: Status) -> None:
    known = entry(status=status, decided=1_010.0, expires=1e12)
    edge = 1_010 + (book.MISSED_REMEMBERED if status == "expired" else book.REMEMBERED)
    for now, kept in ((edge - 0.001, True), (edge, status in OPEN)):
        ledger = Ledger([known])
        ledger.sweep(now)
        assert (ledger.entries, ledger.dropped, ledger.changed) == ([known] if kept else [], not kept, [])


def test_an_unanswered_call_that_was_made_again_does_not_come_back() -> None:
    missed = entry("0000000a", "expired", binding="call", decided=1_300.0)
    again = entry("0000000b", "used", binding="call", created=1_400.0, decided=1_410.0)
    ledger = Ledger([missed, again])
    ledger.sweep(1_410 + book.REMEMBERED)
    assert ledger.entries == []


def test_closed_entries_are_bounded_and_the_newest_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "MAX_CLOSED", 10)
    closed = [entry(f"{number:08x}", "used", decided=1_000.0 + number) for number in range(25)]
    waits = [entry(f"f{number:07x}") for number in range(15)]
    ledger = Ledger([*reversed(closed), *waits])
    ledger.sweep(1_100)
    assert sorted(found.nonce for found in ledger.entries) == sorted(found.nonce for found in [*closed[15:], *waits])
    assert ledger.dropped
    ledger = Ledger(closed[:10])
    ledger.sweep(1_100)
    assert (ledger.entries, ledger.dropped) == (closed[:10], False)


def test_a_denial_that_lasts_is_not_crowded_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "MAX_CLOSED", 10)
    no = entry("0000000a", "denied", decided=1_010.0, expires=1_400.0)
    ledger = Ledger([no, *(entry(f"{number:08x}", "expired", decided=1_300.0) for number in range(100, 150))])
    ledger.sweep(1_310)
    assert len(ledger.entries) == 10
    assert ledger.waiting(no.binding, 1_310) == no


def test_a_newer_call_answers_before_an_old_denial_that_the_clock_brought_back() -> None:
    no, yes = entry("0000000a", "denied", binding="c", expires=1_100.0), entry("0000000b", "approved", binding="c")
    for order in ([no, yes], [yes, no]):
        assert Ledger(order).waiting("c", 1_050) == yes


def test_more_than_a_person_can_look_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(book, "MAX_OPEN", 3)
    ledger = Ledger([entry("0000000a", "used"), entry("0000000b", "denied")])
    for number in range(3):
        ledger.enter(entry(f"{number:08x}"))
    with pytest.raises(TooManyHeldError):
        ledger.enter(entry("0000000c"))
    assert len(ledger.changed) == 3
    ledger.deny("00000000", ANNA, 1_001, 10)
    assert ledger.enter(entry("0000000c")).nonce == "0000000c"


@each_row(
    ("prefix", "found"),
    [
        ("", "malformed"),
        ("abc", "malformed"),
        (" abc ", "malformed"),
        ("abcx", "malformed"),
        ("ab\u0441d", "malformed"),  # a Cyrillic letter
        ("\u0661234", "malformed"),  # a digit, but not one of ours
        ("*" * 8, "malformed"),
        ("0xabcd", "malformed"),
        ("abcdabcdab", "unknown"),
        ("ffff", "unknown"),
        ("abcd1", "abcd1111"),
        (" ABCD1111\n", "abcd1111"),
        ("abcd", ("abcd1111", "abcd2222")),
        ("1234", "12345678"),  # one can be decided on, one is over
        ("12340", "12340000"),
        ("7777", ("77771111", "77772222")),  # all over: then they are alike
        ("5555", "55551111"),  # what waits comes before what was approved
        ("55552", "55552222"),
        ("6666", "66661111"),  # what was approved comes before what is over
    ],
)
def test_prefixes(prefix: str, found: str | tuple[str, ...]) -> None:
    book_of: list[tuple[str, Status]] = [
        ("abcd2222", "pending"), ("abcd1111", "pending"), ("12345678", "pending"), ("12340000", "used"),
        ("77772222", "used"), ("77771111", "denied"), ("55551111", "pending"), ("55552222", "approved"),
        ("66661111", "approved"), ("66662222", "expired"),
    ]  # fmt: skip
    ledger = Ledger([entry(nonce, status) for nonce, status in book_of])
    if found in dict(book_of):
        assert ledger.find(prefix).nonce == found
        return
    with pytest.raises(RefusedError) as refused:
        ledger.find(prefix)
    if isinstance(found, tuple):
        assert (refused.value.cause, refused.value.matches) == ("ambiguous", found)
    else:
        assert (refused.value.cause, refused.value.matches) == (found, ())


def test_what_is_not_trusted_does_not_exist() -> None:
    forged = {status: entry(f"{number:08x}", status) for number, status in enumerate(STATUSES)}
    for status, false in forged.items():
        true = entry("0000ffff", binding=false.binding)
        asked: list[Callable[[Ledger, str], HeldCall]] = [
            Ledger.find,
            lambda ledger, nonce: ledger.approve(nonce, ANNA, 1_020, 30),
            lambda ledger, nonce: ledger.deny(nonce, ANNA, 1_020, 30),
        ]
        for ask in asked:
            ledger = Ledger([false, true], lambda found: found.nonce == "0000ffff")
            with pytest.raises(RefusedError, match="unknown"):
                ask(ledger, false.nonce)
            assert (ledger.forged, ledger.entries, ledger.changed) == ([false], [true], [])
        ledger = Ledger([false, true], lambda found: found.nonce == "0000ffff")
        assert ledger.waiting(false.binding, 1_020) == true
        assert ledger.forged == ([false] if status in OPEN else [])
        ledger = Ledger([false], lambda found: found.nonce == "none")
        assert ledger.settle(false.nonce, "used", ANNA, 1_020) is None
        ledger.sweep(1_301)
        assert ledger.changed == []
        assert ledger.forged == ([false] if status in OPEN else [])


@dataclass
class Model:
    """One binding, as a person would think of it."""

    state: Status | None = None
    until: float = 0.0
    decided: float = 0.0


class LedgerLaw(RuleBasedStateMachine):
    """The ledger against `Model`, with time that goes on, and steps back. Each step loads it anew, as the store does."""

    CALLS = st.integers(0, 3).map(lambda number: f"call-{number}")
    SPANS = st.sampled_from([0.001, 1.0, 4.999, 5.0, 30.0])

    def __init__(self) -> None:
        super().__init__()
        self.now = 10_000.0
        self.kept: list[HeldCall] = []
        self.models: dict[str, Model] = {}
        self.seen: dict[str, Status] = {}
        self.used: list[str] = []
        self.count = 0
        self.nonces: dict[str, str] = {}
        """The latest of each call, which may be forgotten before an older one that nobody answered."""

    def ledger(self) -> Ledger:
        for model in self.models.values():
            early = model.state == "approved" and self.now < model.decided - book.SKEW
            if model.state in OPEN and (self.now >= model.until or early):
                model.state = "expired"
        made = Ledger(self.kept)
        made.sweep(self.now)
        return made

    def keep(self, ledger: Ledger) -> None:
        for changed in ledger.changed:
            before = self.seen.get(changed.nonce)
            assert before in (OPEN if before else {None}), "a closed nonce was opened or closed again"
            assert (before, changed.status) not in {("approved", "pending"), ("pending", "pending"), (None, "approved")}
            self.seen[changed.nonce] = changed.status
        self.kept = ledger.entries

    def nonce_of(self, call: str) -> str:
        return self.nonces.get(call, "00000000")

    @rule(span=st.sampled_from([0.001, 1.0, 10.0, 29.999, 30.0, 300.0, 90_000.0]))
    def time_goes_on(self, span: float) -> None:
        self.now += span

    @rule(span=SPANS)
    def clock_steps_back(self, span: float) -> None:
        self.now -= span

    @rule(call=CALLS)
    def present(self, call: str) -> None:
        ledger = self.ledger()
        model = self.models.setdefault(call, Model())
        known = ledger.waiting(call, self.now)
        if model.state in ("pending", "approved") or (model.state == "denied" and self.now < model.until):
            assert known is not None
            assert known.status == model.state
            if known.status == "approved":
                assert known.decided - book.SKEW <= self.now < known.expires
                assert known.nonce not in self.used
                self.used.append(known.nonce)
                ledger.use(known, self.now)
                model.state = "used"
        elif known is not None:  # the clock stepped back: an old denial answers again, and nothing else does
            assert known.status == "denied"
            assert self.now < known.expires
        else:
            self.count += 1
            self.nonces[call] = f"{self.count:08x}"
            ledger.enter(entry(self.nonces[call], binding=call, created=self.now, expires=self.now + 300))
            self.models[call] = Model("pending", self.now + 300)
        self.keep(ledger)

    @rule(call=CALLS, window=st.sampled_from([0.5, 30.0]), yes=st.booleans())
    def decide(self, call: str, window: float, yes: bool) -> None:  # noqa: FBT001
        nonce = self.nonce_of(call)
        ledger = self.ledger()
        model = self.models.setdefault(call, Model())
        allowed = model.state == "pending" if yes else model.state in OPEN
        act = ledger.approve if yes else ledger.deny
        if allowed:
            act(nonce, ANNA, self.now, window)
            self.models[call] = Model("approved" if yes else "denied", self.now + window, self.now)
        else:
            with pytest.raises(RefusedError) as refused:
                act(nonce, ANNA, self.now, window)
            assert refused.value.cause in (model.state, "unknown")
        self.keep(ledger)

    @precondition(lambda self: self.kept)
    @rule(call=CALLS, outcome=st.sampled_from(["used", "denied", "expired"]))
    def settle(self, call: str, outcome: Status) -> None:
        ledger = self.ledger()
        model = self.models.setdefault(call, Model())
        after = ledger.settle(self.nonce_of(call), outcome, ANNA, self.now)
        overruled = model.state == "approved" and outcome != "expired"
        assert (after is not None) == (model.state == "pending" or overruled)
        if after is not None:
            self.models[call] = Model(outcome, after.expires, self.now)
        if outcome == "used" and after is not None:
            self.used.append(after.nonce)
        self.keep(ledger)

    @invariant()
    def one_live_entry_for_each_call(self) -> None:
        bindings = [known.binding for known in self.kept if known.status in OPEN]
        assert len(bindings) == len(set(bindings))

    @invariant()
    def nothing_was_used_twice(self) -> None:
        assert len(self.used) == len(set(self.used))


TestLedgerLaw = LedgerLaw.TestCase
TestLedgerLaw.settings = settings(max_examples=examples(150), stateful_step_count=40)


@each_row(
    ("change", "cause"),
    [
        ({}, ""),
        ({"where": "native"}, ""),  # nobody answered the gateway's prompt
        ({"status": "pending"}, "pending"),
        ({"status": "used"}, "used"),
        ({"status": "denied"}, "denied"),
        ({"by": "anna", "where": "cli"}, ""),  # approved, and not used
        ({"why": f"{book.UNPROVEN}it is not signed"}, "expired"),
        ({"why": book.LAPSED}, "expired"),
        ({"why": book.REVIVED}, "expired"),
    ],
)
def test_what_can_be_revived(change: dict[str, object], cause: str) -> None:
    before = entry(**{"status": "expired", "shown": "rm", **change})
    for revive in (
        lambda ledger: ledger.revive(before.nonce, ANNA, 1_400),
        lambda ledger: ledger.revive_approved(before.nonce, "0000000a", ANNA, 1_400, 30),
    ):
        ledger = Ledger([before])
        if cause:
            with pytest.raises(RefusedError) as refused:
                revive(ledger)
            assert (refused.value.cause, ledger.changed) == (cause, [])
            continue
        revived = revive(ledger)
        assert [found.why for found in ledger.entries if found.nonce == before.nonce] == [book.REVIVED]
        assert (revived.status, revived.binding) == (
            "expired" if revived.nonce == before.nonce else "approved",
            before.binding,
        )
        with pytest.raises(RefusedError):
            revive(ledger)


def test_a_call_that_waits_again_is_not_revived_nor_one_that_cannot_be_shown_approved() -> None:
    gone, again = entry("0000000a", "expired", binding="c"), entry("0000000b", binding="c")
    with pytest.raises(RefusedError, match="again"):
        Ledger([gone, again]).revive(gone.nonce, ANNA, 1_100)
    for cut in ({"whole": False}, {"shown": "x" * book.MAX_CLOSED_SHOWN}):  # by this version, and by earlier ones
        with pytest.raises(RefusedError, match="unseen"):
            Ledger([entry("0000000a", "expired", **cut)]).revive_approved("0000000a", "0000000c", ANNA, 1_400, 30)


def test_a_denial_never_lasts_for_hours() -> None:
    long = entry(expires=1_000 + 80_000)
    assert Ledger([long]).deny(long.nonce, ANNA, 1_100, 80_000).expires == 1_100 + book.MAX_DENIAL
    settled = Ledger([long]).settle(long.nonce, "denied", ANNA, 1_100)
    assert settled is not None
    assert settled.expires == 1_100 + book.MAX_DENIAL


@pytest.mark.parametrize(("more", "said"), [(0, ""), (1, " and 1 more change"), (2, " and 2 more changes")])
def test_the_reason_names_the_first_change_and_counts_the_others(more: int, said: str) -> None:
    changes = tuple(f"to {where}" for where in ("a.example", "b.example", "c.example")[: more + 1])
    changed = entry(reason="It sends.", changes=changes)
    assert Ledger([]).compared(changed).reason == f"It goes to a.example{said}. It sends."
