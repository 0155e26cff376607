"""Who is woken when a person has decided elsewhere, and how little is looked at until then."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from filelock import FileLock
from msgspec import structs

from engine_talk import Talk
from toolguard_engine.approvals.approval_window import WakeOutcome
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.server import store_queue, wake_watcher
from toolguard_engine.server.engine_context import Intervals
from toolguard_engine.server.wake_watcher import Wakes
from toolguard_engine.stores import locked
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.nonces import FileNonces
from toolguard_engine.wire import messages

NOW = 1_000_000.0
WINDOW = 30.0
ANNA = Decision("anna", "cli")


class HandClock:
    """Moved by the test. `slipped`: by how much the clock of the wall was set back meanwhile."""

    def __init__(self) -> None:
        self.at = NOW
        self.slipped = 0.0

    def time(self) -> float:
        return self.at - self.slipped

    def monotonic(self) -> float:
        return self.at

    def worked(self) -> float:
        return 0.0

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time(), UTC)


class Watch:
    """Wakes over a store below `state`, with the clock in hand; other processes have a store of their own."""

    def __init__(self, state: Path, *, wake: bool = True, native: bool = False, path: Path | None = None) -> None:
        self.state = state
        self.clock = HandClock()
        self.store = FileNonces(state, path)
        self.said: list[Any] = []
        self.queue = store_queue.at_once()
        self.wakes = Wakes(self.store, self.clock, self.queue, self.said.extend, wake=wake, window=WINDOW, native=native)

    @property
    def now(self) -> float:
        return self.clock.time()

    @now.setter
    def now(self, at: float) -> None:
        self.clock.at = at

    def held(self, call: str = "call", session: str = "agent:main:main") -> str:
        """A call is held, as the engine does it."""
        request = HeldCall(
            nonce="", binding=call, tool="exec", agent="main", session=session, run="run-1", code="c", reason="r",
            shown=f'exec({{ command: "{call}" }})', created=self.now, expires=self.now + 300,
        )  # fmt: skip
        nonce = self.store.present(request, self.now).entry.nonce
        self.wakes.look()
        return nonce

    def elsewhere(self, action: str, nonce: str) -> None:
        """Another process decides."""
        decide(self.state, action, nonce, self.now)

    def use(self, call: str = "call") -> None:
        self.held(call)

    def poll(self) -> list[Any]:
        self.wakes.poll()
        return self.take()

    def take(self) -> list[Any]:
        self.queue.settle()
        said, self.said[:] = list(self.said), []
        return said

    def ended(self, session: str) -> list[Any]:
        self.wakes.ended(session)
        return self.take()

    def woken(self) -> list[str]:
        return [wake.nonce for wake in self.poll()]


def decide(state: Path, action: str, nonce: str, now: float) -> None:
    store = FileNonces(state)
    if action == "approve":
        store.approve(nonce, ANNA, now, 30)
    elif action == "deny":
        store.deny(nonce, ANNA, now, 300)
    else:
        store.settle(nonce, "used", ANNA, now)


@pytest.fixture
def watch(tmp_path: Path) -> Watch:
    return Watch(tmp_path)


def test_a_checkpoint_elsewhere_wakes_each_session_once(watch: Watch) -> None:
    first, _, third = watch.held("a"), watch.held("b"), watch.held("c", "agent:main:other")
    assert watch.woken() == []
    FileNonces(watch.state).lapse(lambda entry: entry.nonce != third, ANNA, NOW)
    (wake,) = watch.poll()
    assert (wake.session, wake.text.startswith("[TOOLGUARD] The user ran a checkpoint")) == ("agent:main:main", True)
    assert watch.woken() == []
    FileNonces(watch.state).approve(third, ANNA, NOW, 30)
    assert watch.woken() == [third]
    assert Watch(watch.state).woken() == [third]  # an engine that starts later wakes nobody for the checkpoint
    assert first != third


def test_who_wants_no_wakes_gets_none_for_a_checkpoint(tmp_path: Path) -> None:
    watch = Watch(tmp_path, wake=False)
    watch.held()
    assert watch.woken() == []
    assert len(FileNonces(tmp_path).lapse(lambda _: True, ANNA, NOW)) == 1
    assert watch.woken() == []


def test_an_approval_elsewhere_wakes_the_agent_once(watch: Watch) -> None:
    nonce = watch.held()
    assert watch.woken() == []
    watch.elsewhere("approve", nonce)
    watch.now += 2
    assert watch.poll() == [
        messages.Wake(
            nonce,
            "main",
            "agent:main:main",
            f'[TOOLGUARD] The user approved the call that waited under {nonce}: exec({{ command: "call" }})\n'
            "Repeat exactly this call now, with the same arguments; it runs once. Then continue.",
        )
    ]
    for _ in range(3):
        watch.wakes.look()
        assert watch.woken() == []


def test_each_is_woken_for_its_own(watch: Watch) -> None:
    nonces = [watch.held(call, f"session {call}") for call in "abc"]
    assert watch.woken() == []
    watch.elsewhere("approve", nonces[2])
    assert watch.woken() == [nonces[2]]
    watch.elsewhere("approve", nonces[0])
    assert watch.woken() == [nonces[0]]
    assert watch.woken() == []


@pytest.mark.parametrize("action", ["deny", "settle"])
def test_nobody_is_woken_for_what_is_no_yes(watch: Watch, action: str) -> None:
    watch.elsewhere(action, watch.held())
    assert watch.woken() == []
    assert not watch.wakes.watching


@pytest.mark.parametrize("wake", [True, False])
def test_what_is_over_is_closed_and_wakes_nobody(tmp_path: Path, *, wake: bool) -> None:
    watch = Watch(tmp_path, wake=wake)
    watch.held("pending")
    watch.elsewhere("approve", watch.held("approved"))
    assert len(watch.woken()) == wake
    watch.now = NOW + 300
    assert watch.woken() == []
    assert not watch.wakes.watching
    assert [entry.status for entry in watch.store.entries()] == ["expired", "expired"]
    assert sorted(event["event"] for event in AuditLog(tmp_path).events()) == ["approve", "expire", "hold", "hold", "lapsed"]


def test_switched_off_it_wakes_nobody(tmp_path: Path) -> None:
    watch = Watch(tmp_path, wake=False)
    nonce = watch.held()
    watch.elsewhere("approve", nonce)
    assert watch.woken() == []
    assert watch.wakes.watching
    assert watch.ended("agent:main:main") == []


def test_whoever_was_busy_is_told_again_at_the_end_of_the_run(watch: Watch) -> None:
    nonce = watch.held()
    watch.elsewhere("approve", nonce)
    assert watch.woken() == [nonce]
    assert watch.ended("another session") == []
    watch.now += 10
    again = watch.ended("agent:main:main")
    assert [wake.nonce for wake in again] == [nonce]
    assert watch.woken() == []


GONE: list[tuple[str, Callable[[Watch, str], object]]] = [
    ("used", lambda watch, nonce: watch.use()),  # noqa: ARG005
    ("taken-back", lambda watch, nonce: watch.elsewhere("deny", nonce)),
    ("too-late", lambda watch, nonce: setattr(watch, "now", NOW + 30)),  # noqa: ARG005
]


@pytest.mark.parametrize("change", [row[1] for row in GONE], ids=[row[0] for row in GONE])
def test_at_the_end_of_the_run_nothing_is_told_that_is_no_more(watch: Watch, change: Callable[[Watch, str], object]) -> None:
    nonce = watch.held()
    watch.elsewhere("approve", nonce)
    assert watch.woken() == [nonce]
    change(watch, nonce)
    assert watch.ended("agent:main:main") == []
    assert watch.woken() == []


def test_an_engine_that_starts_later_tells_what_still_waits(watch: Watch) -> None:
    nonce = watch.held()
    watch.elsewhere("approve", nonce)
    assert Watch(watch.state).woken() == [nonce]


def test_the_memory_of_who_was_told_is_bounded(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wake_watcher, "MAX_WOKEN", 2)
    for call in "abcd":
        watch.store.approve(watch.held(call), ANNA, NOW, 30)
    assert len(watch.woken()) == 4
    assert len(watch.wakes._woken) == 2


# --- what is looked at --------------------------------------------------------------------------------------------------


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of files whose state is asked for or that are opened."""
    seen: list[str] = []
    whole_stat, whole_open = Path.stat, os.open

    def stat(path: Path, **more: Any) -> os.stat_result:
        seen.append(f"stat {path.name}")
        return whole_stat(path, **more)

    def opened(path: Any, *rest: Any, **more: Any) -> int:
        seen.append(f"open {Path(path).name}")
        return whole_open(path, *rest, **more)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setattr(os, "open", opened)
    return seen


def test_what_has_not_changed_is_not_read(watch: Watch, looks: list[str]) -> None:
    watch.held()
    assert watch.woken() == []
    looks.clear()
    for _ in range(5):
        assert watch.woken() == []
    assert looks == ["stat nonces.json"] * 5


def test_nothing_waits_nothing_is_watched(watch: Watch) -> None:
    watching = [watch.wakes.watching]  # it has not looked yet
    watch.woken()
    watching.append(watch.wakes.watching)
    nonce = watch.held()
    watching.append(watch.wakes.watching)
    watch.woken()
    watching.append(watch.wakes.watching)
    watch.elsewhere("deny", nonce)
    watch.woken()
    watching.append(watch.wakes.watching)
    assert watching == [True, False, True, True, False]


def test_an_engine_with_nothing_waiting_sleeps(talk: Talk, tmp_path: Path, looks: list[str]) -> None:
    """It looks once after its start; then only a held call makes it look again."""
    talk.hello(tmp_path, {"alwaysBlock": ["exec"]})
    talk.later(2)
    assert talk.engine.next_due() == math.inf
    for number in range(50):
        talk.send(id=number, type="judge", tool="read", params={"path": "a"}, run="r")
        talk.send(type="came", tool="read", params={"path": "a"}, run="r")
    talk.send(type="run-end", run="r", session="s")
    talk.later(2)
    looks.clear()
    talk.later(1_000)
    assert (looks, talk.engine.next_due()) == ([], math.inf)
    talk.send(id=1, type="judge", tool="exec", params={}, run="r")
    talk.later(10)
    assert talk.engine.next_due() < math.inf
    assert looks.count("stat nonces.json") >= 10 / Intervals.poll - 2
    talk.said()


# --- what can go wrong --------------------------------------------------------------------------------------------------


def test_no_file(watch: Watch) -> None:
    watch.held()
    assert watch.woken() == []
    watch.store.path.unlink()
    assert watch.woken() == []
    assert (watch.wakes.watching, watch.wakes.trouble) == (False, "")


def test_a_damaged_file_is_told_and_wakes_nobody(watch: Watch) -> None:
    nonce = watch.held()
    watch.elsewhere("approve", nonce)
    watch.store.path.write_bytes(watch.store.path.read_bytes()[:-20])
    assert watch.woken() == []
    assert "was damaged and is kept as nonces.json.corrupt-" in watch.wakes.trouble
    assert not watch.wakes.watching
    watch.wakes.look()
    assert watch.woken() == []
    assert watch.wakes.trouble.endswith("is what is left of a damaged store; run `toolguard doctor --fix`")
    for kept in watch.state.glob("toolguard/*.corrupt-*"):
        kept.unlink()
    watch.held()
    assert watch.woken() == []
    assert (watch.wakes.watching, watch.wakes.trouble) == (True, "")


def test_a_forged_yes_wakes_nobody(watch: Watch) -> None:
    watch.held()
    text = watch.store.path.read_text().replace('"status":"pending"', '"status":"approved"')
    assert "approved" in text
    watch.store.path.write_text(text)
    watch.wakes.look()
    assert watch.woken() == []
    assert "forged" in [event["event"] for event in AuditLog(watch.state).events()]


@pytest.mark.parametrize(
    "path", ["a\0b/nonces.json", "file/nonces.json", "missing/nonces.json"], ids=["nul", "file", "none"]
)
def test_a_place_that_cannot_be(tmp_path: Path, path: str) -> None:
    (tmp_path / "file").write_text("")
    watch = Watch(tmp_path, path=tmp_path / path)
    assert watch.woken() == []
    assert (watch.wakes.watching, watch.wakes.trouble) == (False, "")


def test_a_lock_that_is_held_meanwhile_makes_it_miss_nothing(watch: Watch, monkeypatch: pytest.MonkeyPatch) -> None:
    """One call's time is over just when somebody else holds the lock; another one is approved after that."""
    monkeypatch.setattr(locked, "LOCK_SECONDS", 0.02)
    watch.held("old")
    watch.now += 200
    nonce = watch.held("new")
    assert watch.woken() == []
    watch.now += 100
    with FileLock(watch.state / "toolguard" / "nonces.json.lock"):
        assert watch.woken() == []
    assert watch.wakes.watching
    watch.elsewhere("approve", nonce)
    assert watch.woken() == [nonce]


def missed(watch: Watch) -> str:
    """A call that nobody answered, as the engine knows it."""
    nonce = watch.held()
    assert watch.woken() == []
    watch.now += 301
    assert watch.woken() == []
    assert watch.wakes.may_revive
    return nonce


def test_a_revived_call_wakes_its_agent_once_also_after_a_busy_run(watch: Watch) -> None:
    nonce = missed(watch)
    FileNonces(watch.state).revive(nonce, ANNA, watch.now)
    (wake,) = watch.poll()
    assert (wake.nonce, wake.session, wake.text.startswith("[TOOLGUARD] The user is back.")) == (
        nonce,
        "agent:main:main",
        True,
    )
    assert (watch.woken(), watch.wakes.may_revive) == ([], False)
    assert [each.nonce for each in watch.ended("agent:main:main")] == [nonce]
    assert [each.nonce for each in watch.ended("agent:main:main")] == []


def test_who_made_the_revived_call_again_is_not_woken_for_it(watch: Watch) -> None:
    nonce = missed(watch)
    FileNonces(watch.state).revive(nonce, ANNA, watch.now)
    watch.held()
    assert watch.woken() == []


def test_a_revived_and_approved_call_wakes_once_under_its_new_nonce(watch: Watch) -> None:
    nonce = missed(watch)
    approved = FileNonces(watch.state).revive_approved(nonce, ANNA, watch.now, 30)
    assert approved.nonce != nonce
    assert watch.woken() == [approved.nonce]
    presented = watch.store.present(approved, watch.now + 1)
    assert (presented.outcome, presented.entry.nonce) == ("used", approved.nonce)


@pytest.mark.parametrize(
    ("native", "action", "decision"), [(True, "approve", "approve"), (True, "deny", "deny"), (False, "deny", "")]
)
def test_what_is_decided_elsewhere_is_passed_on_once_in_native_mode(
    tmp_path: Path, action: str, decision: str, *, native: bool
) -> None:
    watch = Watch(tmp_path, wake=False, native=native)
    nonce = watch.held()
    assert watch.poll() == []
    watch.elsewhere(action, nonce)
    assert watch.poll() == ([messages.Decided(nonce, decision)] if decision else [])
    watch.wakes.look()
    assert watch.poll() == []


# --- how long an approval lasts -----------------------------------------------------------------------------------------

MAIN = "agent:main:main"


def left(watch: Watch, nonce: str) -> float:
    """Seconds that an approval has yet; 0 where it has lapsed."""
    (entry,) = [each for each in watch.store.entries() if each.nonce == nonce]
    return max(0.0, entry.expires - watch.now) if entry.status == "approved" else 0.0


def go_on(watch: Watch, seconds: int) -> None:
    """Time passes, and the engine looks."""
    for _ in range(seconds):
        watch.now = watch.clock.at + 1
        watch.poll()


def yes(watch: Watch, session: str = MAIN) -> str:
    nonce = watch.held(session=session)
    watch.poll()
    watch.elsewhere("approve", nonce)
    watch.poll()
    return nonce


def test_the_clock_stands_while_a_run_is_in_progress(watch: Watch) -> None:
    nonce = yes(watch)
    watch.wakes.runs.begin("r1", MAIN)
    go_on(watch, 200)
    assert left(watch, nonce) >= 0.75 * WINDOW
    watch.wakes.runs.end("r1")
    go_on(watch, 22)
    assert left(watch, nonce) > 0
    go_on(watch, 9)
    assert left(watch, nonce) == 0
    assert [event["event"] for event in AuditLog(watch.state).events()] == ["hold", "approve", "lapsed"]


def test_a_run_of_another_session_gives_no_time(watch: Watch) -> None:
    nonce = yes(watch)
    watch.wakes.runs.begin("r1", "agent:main:other")
    go_on(watch, 31)
    assert left(watch, nonce) == 0


def test_ten_minutes_are_the_end_by_either_clock(watch: Watch) -> None:
    nonce = yes(watch)
    watch.wakes.runs.begin("r1", MAIN)
    go_on(watch, 300)
    watch.clock.slipped = 200
    go_on(watch, 290)
    assert left(watch, nonce) > 0
    go_on(watch, 20)
    assert left(watch, nonce) == 0


def test_who_cannot_be_woken_has_it_until_the_next_run(watch: Watch) -> None:
    nonce = yes(watch)
    watch.wakes.reported(nonce, WakeOutcome("later", "OpenClaw wakes no automation"))
    go_on(watch, 400)
    assert left(watch, nonce) == 200
    watch.wakes.runs.begin("r1", MAIN)
    go_on(watch, 50)
    watch.wakes.runs.end("r1")
    go_on(watch, 31)
    assert left(watch, nonce) == 0


def test_an_engine_that_starts_anew_gives_no_time(watch: Watch) -> None:
    """Its run is over with the gateway; another engine has learnt nothing of a run."""
    nonce = yes(watch)
    watch.wakes.runs.begin("r1", MAIN)
    go_on(watch, 100)
    before = left(watch, nonce)
    fresh = Watch(watch.state)
    fresh.now = watch.now
    fresh.poll()
    assert left(fresh, nonce) == before <= WINDOW
    go_on(fresh, int(before) + 1)
    assert left(fresh, nonce) == 0


def test_two_engines_on_one_store_do_not_take_time_from_each_other(watch: Watch) -> None:
    """An embedded run beside a gateway: only one of them knows of the run."""
    nonce = yes(watch)
    other = Watch(watch.state)
    other.clock = watch.clock
    other.wakes._time, other.wakes._clock = watch.clock, watch.clock.time
    watch.wakes.runs.begin("r1", MAIN)
    for _ in range(300):
        go_on(watch, 1)
        other.poll()
    assert left(watch, nonce) >= 0.75 * WINDOW - 1
    assert watch.store.present(_request_of(watch, nonce), watch.now).outcome == "used"
    assert other.store.present(_request_of(watch, nonce), watch.now).outcome == "pending"


def _request_of(watch: Watch, nonce: str) -> HeldCall:
    (entry,) = [each for each in watch.store.entries() if each.nonce == nonce]
    return structs.replace(entry, status="pending", created=watch.now, expires=watch.now + 300)


def test_a_yes_that_nobody_could_use_is_shortened_by_the_engine_that_can_wake(watch: Watch) -> None:
    """Given while no engine ran, for as long as an approval may last."""
    nonce = watch.held()
    FileNonces(watch.state).approve(nonce, ANNA, watch.now, 600)
    go_on(watch, 100)
    assert left(watch, nonce) == 0


def test_a_yes_of_an_earlier_version_gets_time_too(watch: Watch) -> None:
    """Its entry says nothing of a latest end."""
    nonce = watch.held()
    watch.poll()
    store = FileNonces(watch.state)
    store._change(lambda ledger: ledger._put(_without_latest(ledger.approve(nonce, ANNA, watch.now, 30))), watch.now)
    watch.poll()
    watch.wakes.runs.begin("r1", MAIN)
    go_on(watch, 590)
    assert left(watch, nonce) == 10
    go_on(watch, 11)
    assert left(watch, nonce) == 0


def _without_latest(entry: HeldCall) -> HeldCall:
    return structs.replace(entry, latest=0.0)


@pytest.mark.parametrize("after", ["deny", "settle"])
def test_no_time_is_given_to_what_was_denied_or_used(watch: Watch, after: str) -> None:
    nonce = yes(watch)
    watch.wakes.runs.begin("r1", MAIN)
    go_on(watch, 5)
    watch.elsewhere(after, nonce)
    go_on(watch, 40)
    (entry,) = watch.store.entries()
    assert entry.status == ("denied" if after == "deny" else "used")
    assert entry.woken == ""


def test_a_denial_while_the_end_is_being_moved(watch: Watch) -> None:
    """The engine has decided on a move; a person withdraws; the move comes too late."""
    nonce = yes(watch)
    watch.wakes.runs.begin("r1", MAIN)
    watch.now = NOW + 10
    (move,) = watch.wakes._moves(watch.now)
    watch.elsewhere("deny", nonce)
    watch.store.move_ends([move], watch.now)
    (entry,) = watch.store.entries()
    assert entry.status == "denied"


def test_a_move_that_comes_with_the_lapse_changes_nothing(watch: Watch) -> None:
    nonce = yes(watch)
    watch.wakes.runs.begin("r1", MAIN)
    watch.now = NOW + 29
    (move,) = watch.wakes._moves(watch.now)
    watch.store.move_ends([move], NOW + 30)
    assert left(watch, nonce) == 0
    assert watch.store.present(_request_of(watch, nonce), NOW + 30).outcome == "pending"


# --- what an agent is told that was not woken ---------------------------------------------------------------------------


def test_an_agent_that_cannot_be_woken_is_told_once_at_its_next_run(watch: Watch) -> None:
    nonce = yes(watch)
    watch.wakes.reported(nonce, WakeOutcome("later"))
    watch.poll()
    assert watch.wakes.take_note("agent:main:other") == ""
    assert watch.wakes.take_note(MAIN).startswith(f"[TOOLGUARD] The user approved the call that waited under {nonce}")
    assert watch.wakes.take_note(MAIN) == ""


def test_an_agent_that_was_woken_is_told_nothing_more(watch: Watch) -> None:
    nonce = yes(watch)
    watch.wakes.reported(nonce, WakeOutcome("woken"))
    watch.poll()
    assert watch.wakes.take_note(MAIN) == ""


def test_who_wants_no_wakes_is_told_nothing(tmp_path: Path) -> None:
    watch = Watch(tmp_path, wake=False)
    yes(watch)
    assert watch.wakes.take_note(MAIN) == ""


def test_an_agent_is_told_of_what_was_revived(watch: Watch) -> None:
    nonce = missed(watch)
    FileNonces(watch.state).revive(nonce, ANNA, watch.now)
    watch.poll()
    assert watch.wakes.take_note(MAIN).startswith("[TOOLGUARD] The user is back.")


def test_an_agent_that_was_woken_for_what_was_revived_is_told_nothing_more(watch: Watch) -> None:
    nonce = missed(watch)
    FileNonces(watch.state).revive(nonce, ANNA, watch.now)
    watch.poll()
    watch.wakes.reported(nonce, WakeOutcome("woken"))
    assert watch.wakes.take_note(MAIN) == ""


def test_who_was_woken_for_an_approval_is_woken_again_when_the_lapsed_call_is_revived(watch: Watch) -> None:
    nonce = yes(watch)
    watch.wakes.reported(nonce, WakeOutcome("woken"))
    go_on(watch, 31)
    assert watch.wakes.may_revive
    FileNonces(watch.state).revive(nonce, ANNA, watch.now)
    (wake,) = watch.poll()
    assert (wake.nonce, wake.text.startswith("[TOOLGUARD] The user is back.")) == (nonce, True)
    assert watch.woken() == []
