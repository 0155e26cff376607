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

from engine_talk import Talk
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

    def now(self) -> datetime:
        return datetime.fromtimestamp(self.time(), UTC)

    def worked(self) -> float:
        return 0.0


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
