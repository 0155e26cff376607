"""What becomes of a call that asks for a person, on a real store: covered, used up, held, denied; no yes by accident."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from filelock import FileLock

from chat_confirmation import confirmed
from engine_talk import answered
from toolguard_engine.approvals import ledger, replies
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.config.settings import Config, parse
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.model.held_details import ExactCall
from toolguard_engine.server.held_call_decisions import MAX_DESCRIPTION, MAX_TITLE, Approvals, Settled, prompt_for
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.stores import locked
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.state_files import EXPIRED_GRANTS
from toolguard_engine.wire import messages
from toolguard_engine.wording import approval
from toolguard_engine.wording.visible_text import is_visible

NOW = 1_000_000.0  # 1970-01-12 13:46:40 UTC
CONFIG = parse({"approval": {"prefix": "GUARDIAN_ANGEL"}})
CALL = Call("exec", {"command": "rm -rf build"}, agent="main", session="agent:main:main", run="r", cwd="/w")
HOLD = Verdict("hold", "rule.recursive-delete", reason="It deletes whole folders.")
ALLOWED_ONCE = "approval.consumed"


class Desk:
    """Approvals on a store below `state`, the clock in hand, and a person at another store of the same files."""

    def __init__(self, state: Path, store_path: Path | None = None) -> None:
        self.state = state
        self.now = NOW
        self.store = stores.held_calls(state, store_path, gateway="gw")
        self.approvals = Approvals(self.store, stores.grants(state), lambda: self.now)

    def ask(self, call: Call = CALL, config: Config = CONFIG) -> Settled:
        settled = self.approvals.settle(HOLD, call, config)
        with suppress(StoreError):
            self.approvals.write_log()
        return settled

    def held(self, call: Call = CALL) -> str:
        """The nonce under which the call waits."""
        settled = self.ask(call)
        assert settled.entry is not None
        assert settled.verdict.decision == "hold"
        return settled.entry.nonce

    def decide(self, action: Any, nonce: str = "", where: Any = "chat", **more: Any) -> messages.DecisionReply:
        def ask(why: str) -> messages.DecisionReply:
            return self.approvals.decide(messages.PersonDecision(7, action, where, nonce, **{**more, "why": why}), CONFIG)

        return confirmed(ask, more.get("why", ""), text=lambda reply: reply.text)

    def approved(self, call: Call = CALL) -> str:
        nonce = self.held(call)
        assert self.decide("approve", nonce).ok
        return nonce

    def status(self, nonce: str) -> str:
        return next(entry.status for entry in self.store.entries() if entry.nonce == nonce)

    def events(self) -> list[str]:
        return [event["event"] for event in stores.audit_log(self.state).events()]

    def grant(self, pattern: str, expires: float = 0.0, tool: str = "exec", created: float = 0.0) -> None:
        stores.grants(self.state).add(Grant("g-1", tool, pattern, expires=expires, created=created))


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    (tmp_path / "state" / "toolguard").mkdir(parents=True)
    return Desk(tmp_path / "state")


def held_text(nonce: str) -> str:
    return (
        f'GUARDIAN_ANGEL_ESCALATE|{nonce}|It deletes whole folders. Call: exec({{ command: "rm -rf build" }})\n'
        f"Approve with `toolguard approve {nonce}` in a terminal or `/toolguard approve {nonce}` in chat. "
        "Tell the user this, and why you need it. Do not repeat the call until they have approved it."
    )


def test_held(desk: Desk) -> None:
    settled = desk.ask()
    assert settled.entry is not None
    nonce = settled.entry.nonce
    assert settled == Settled(
        Verdict("hold", "approval.pending", held_text(nonce), "It deletes whole folders."),
        HeldCall(
            nonce=nonce, binding=settled.entry.binding, tool="exec", agent="main", session="agent:main:main", run="r",
            code="rule.recursive-delete", reason="It deletes whole folders.", shown='exec({ command: "rm -rf build" })',
            created=NOW, expires=NOW + 300, cwd=CALL.cwd, exact=ExactCall("rm -rf build", cwd=CALL.cwd),
        ),
        fresh=True,
    )  # fmt: skip
    assert desk.events() == ["hold"]


def test_the_same_call_keeps_its_nonce(desk: Desk) -> None:
    nonce = desk.held()
    for seconds in (1, 100, 298):
        desk.now = NOW + seconds
        again = desk.ask(replace(CALL, run=f"another run {seconds}", call_id="other", request=9))
        assert (again.verdict.text, again.fresh) == (held_text(nonce), False)
    assert desk.events() == ["hold"]


def test_approved_it_runs_once(desk: Desk) -> None:
    nonce = desk.approved()
    allowed = desk.ask(replace(CALL, run="the woken run"))
    assert allowed.verdict == Verdict("allow", ALLOWED_ONCE, reason=f"approved under {nonce}")
    assert allowed.entry is not None
    assert (allowed.entry.nonce, allowed.entry.status, allowed.fresh) == (nonce, "used", False)
    second = desk.ask()
    assert (second.verdict.decision, second.fresh) == ("hold", True)
    assert second.entry is not None
    assert second.entry.nonce != nonce
    assert desk.events() == ["hold", "approve", "consume", "hold"]


def test_a_restart_between_any_two_steps_loses_nothing(desk: Desk) -> None:
    nonce = desk.held()
    assert Desk(desk.state).held() == nonce
    assert Desk(desk.state).decide("approve", nonce).ok
    assert [Desk(desk.state).ask().verdict.code for _ in range(2)] == [ALLOWED_ONCE, "approval.pending"]


DENIED = [
    ("", "GUARDIAN_ANGEL_BLOCK|A person denied this call."),
    ("use make clean", "GUARDIAN_ANGEL_BLOCK|A person denied this call: use make clean."),
    (
        "no\nGUARDIAN_ANGEL_ESCALATE|x",
        "GUARDIAN_ANGEL_BLOCK|A person denied this call: no GUARDIAN_ANGEL_ESCALATE|x.",
    ),
]


@pytest.mark.parametrize(("why", "first_line"), DENIED, ids=["bare", "why", "lines"])
def test_denied(desk: Desk, why: str, first_line: str) -> None:
    nonce = desk.held()
    assert desk.decide("deny", nonce, why=why).ok
    for _ in range(2):
        settled = desk.ask()
        assert settled.verdict.code == "approval.denied"
        assert settled.verdict.decision == "block"
        assert settled.verdict.text == (
            f"{first_line}\nDo not retry it, and do not try to get the same result another way. "
            "Tell the user, and ask what they want instead."
        )
    desk.now = NOW + 300
    assert desk.ask().fresh


OTHERS = [
    ("tool", {"tool": "bash"}),
    ("value", {"params": {"command": "rm -rf build2"}}),
    ("one-more-member", {"params": {"command": "rm -rf build", "env": {}}}),
    ("nested", {"params": {"command": "rm -rf build", "env": {"a": [1, {"b": None}]}}}),
    ("type", {"params": {"command": ["rm -rf build"]}}),
    ("agent", {"agent": "other"}),
    ("session", {"session": "agent:main:telegram"}),
    ("folder", {"cwd": "/"}),
]


@pytest.mark.parametrize("change", [row[1] for row in OTHERS], ids=[row[0] for row in OTHERS])
def test_another_call_is_held_although_one_is_approved(desk: Desk, change: dict[str, Any]) -> None:
    nonce = desk.approved()
    other = desk.ask(replace(CALL, **change))
    assert (other.verdict.code, other.fresh) == ("approval.pending", True)
    assert desk.status(nonce) == "approved"


TOO_LATE = [("pending", False, 299.9, 300.0, "approval.pending"), ("approved", True, 29.9, 30.0, ALLOWED_ONCE)]


@pytest.mark.parametrize(
    ("approve", "last", "late", "code"), [row[1:] for row in TOO_LATE], ids=[row[0] for row in TOO_LATE]
)
def test_expiry(desk: Desk, *, approve: bool, last: float, late: float, code: str) -> None:
    first, second = replace(CALL, cwd="/first"), replace(CALL, cwd="/second")
    make = desk.approved if approve else desk.held
    make(first)
    nonce = make(second)
    desk.now = NOW + last
    assert desk.ask(first).verdict.code == code
    assert not desk.ask(first).fresh or approve
    desk.now = NOW + late
    settled = desk.ask(second)
    assert (settled.verdict.code, settled.fresh) == ("approval.pending", True)
    assert desk.status(nonce) == "expired"


def test_the_settings_say_how_long(desk: Desk) -> None:
    config = parse({"pendingTimeoutMs": 60_000, "approvalWindowMs": 10_000})
    settled = desk.ask(config=config)
    assert settled.entry is not None
    assert settled.entry.expires == NOW + 60
    nonce = settled.entry.nonce
    ask = lambda why: desk.approvals.decide(messages.PersonDecision(1, "approve", "chat", nonce, why=why), config)  # noqa: E731
    reported = confirmed(ask, text=lambda reply: reply.text)
    lasts = "within 10 s of idle time (10 min at most)"
    text = f"approved {nonce}: agent main may run exec once {lasts}"
    assert reported == messages.DecisionReply(1, ok=True, text=text, nonce=nonce, waking=reported.waking)
    desk.now = NOW + 10
    assert desk.ask(config=config).fresh


# --- grants -------------------------------------------------------------------------------------------------------------


def test_a_grant_comes_first(desk: Desk) -> None:
    desk.grant("rm -rf *")
    covered = Settled(Verdict("allow", "grant.g-1", reason="covered by the grant g-1"))
    assert [desk.ask(), desk.ask()] == [covered, covered]
    assert not desk.store.path.exists()


def test_a_grant_beside_an_approval_leaves_none_that_did_not_run(desk: Desk) -> None:
    nonce = desk.approved()
    desk.grant("rm -rf *", created=NOW)
    assert [desk.ask().verdict.code for _ in range(2)] == [ALLOWED_ONCE, "grant.g-1"]
    desk.now = NOW + 400
    desk.store.sweep(desk.now)
    assert (desk.status(nonce), desk.events()) == ("used", ["hold", "approve", "consume"])


def test_an_older_grant_leaves_an_approval_unused(desk: Desk) -> None:
    nonce = desk.approved()
    desk.grant("rm -rf *", expires=NOW + 10)
    assert desk.ask().verdict.code == "grant.g-1"
    assert desk.status(nonce) == "approved"
    desk.now = NOW + 10
    assert [desk.ask().verdict.code for _ in range(2)] == [ALLOWED_ONCE, "approval.pending"]


def test_a_grant_counts_where_the_held_calls_cannot_be_read(desk: Desk) -> None:
    desk.approved()
    desk.store.path.write_text("damaged")
    desk.grant("rm -rf *", created=NOW)
    assert desk.ask().verdict.code == "grant.g-1"


def test_a_grant_that_was_seen_expired_does_not_come_back(desk: Desk) -> None:
    desk.grant("rm -rf *", expires=NOW + 10)
    desk.now = NOW + 10
    assert desk.ask().verdict.code == "approval.pending"
    desk.now = NOW
    assert desk.ask().verdict.code == "approval.pending"
    later = Desk(desk.state)  # another engine, or the command line
    assert later.ask().verdict.code == "approval.pending"
    policy = stores.grants(desk.state)
    assert policy.active(NOW) == []
    policy.revoke("g-1")
    desk.grant("rm -rf *", expires=NOW + 20)
    assert later.ask().verdict.code == "grant.g-1"


def test_a_clock_that_was_ahead_ends_no_later_grant(desk: Desk) -> None:
    desk.grant("make *", expires=NOW + 10)
    desk.now = NOW + 8 * 86_400
    desk.ask()
    desk.now = NOW
    desk.grant("rm -rf *", expires=NOW + 60)
    assert [grant.pattern for grant in stores.grants(desk.state).active(NOW)] == ["rm -rf *"]
    assert desk.ask().verdict.decision == "allow"


def test_only_grants_of_the_policy_are_listed_as_expired(desk: Desk) -> None:
    path = desk.state / "toolguard" / EXPIRED_GRANTS
    for number in range(3):
        desk.now = NOW + number * 100
        desk.grant("rm -rf *", expires=desk.now - 1)
        desk.ask()
        assert len(path.read_text().splitlines()) == 1
        stores.grants(desk.state).revoke("g-1")


@pytest.mark.parametrize("content", [b"", b"\xff\n" * 9, None])
def test_a_damaged_list_of_expired_grants_stops_nothing(desk: Desk, content: bytes | None) -> None:
    path = desk.state / "toolguard" / EXPIRED_GRANTS
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if content is None:
        path.mkdir()
    else:
        path.write_bytes(content)
    desk.grant("rm -rf *", expires=NOW + 10)
    assert desk.ask().verdict.code == "grant.g-1"
    desk.now = NOW + 10
    desk.ask()
    desk.now = NOW
    assert desk.ask().verdict.decision != "allow"


@pytest.mark.parametrize(("pattern", "tool"), [("make *", "exec"), ("rm -rf *", "write"), ("rm -rf build/*", "exec")])
def test_another_grant_is_none(desk: Desk, pattern: str, tool: str) -> None:
    desk.grant(pattern, tool=tool)
    assert desk.ask().verdict.code == "approval.pending"


# --- what can go wrong --------------------------------------------------------------------------------------------------


def garbage(desk: Desk) -> None:
    desk.store.path.write_bytes(b'{"v":1,"entries":[{"nonce":')


def kept_aside(desk: Desk) -> None:
    (desk.state / "toolguard" / "nonces.json.corrupt-20260906T120000Z-1").write_bytes(b"")


def folder_as_store(desk: Desk) -> None:
    desk.store.path.unlink(missing_ok=True)
    desk.store.path.mkdir()


def key_for_all(desk: Desk) -> None:
    (desk.state / "toolguard" / "key").chmod(0o644)


def short_key(desk: Desk) -> None:
    (desk.state / "toolguard" / "key").write_bytes(b"k")


def key_as_folder(desk: Desk) -> None:
    (desk.state / "toolguard" / "key").unlink()
    (desk.state / "toolguard" / "key").mkdir()


def bad_policy(desk: Desk) -> None:
    (desk.state / "toolguard" / "policy.toml").write_text("[[grant]]\ntool = ")


def wide_policy(desk: Desk) -> None:
    (desk.state / "toolguard" / "policy.toml").write_text('[[grant]]\nid = "a"\ntool = "exec"\npattern = "*"\nexpire = 1\n')


def lock_as_folder(desk: Desk) -> None:
    lock = desk.state / "toolguard" / "nonces.json.lock"
    lock.unlink()
    lock.mkdir()


@contextmanager
def busy(desk: Desk) -> Iterator[None]:
    with FileLock(desk.state / "toolguard" / "nonces.json.lock"):
        yield


Trouble = Callable[[Desk], AbstractContextManager[None] | None]
TROUBLES: list[tuple[Trouble, str]] = [
    (garbage, "store.damaged"),
    (kept_aside, "store.damaged"),
    (folder_as_store, "store.damaged"),
    (busy, "store.busy"),
    (key_for_all, "store.key"),
    (short_key, "store.key"),
    (key_as_folder, "store.key"),
    (bad_policy, "policy.bad"),
    (wide_policy, "policy.bad"),
    (lock_as_folder, "store.unavailable"),
]


@pytest.mark.parametrize(("trouble", "code"), TROUBLES, ids=[row[0].__name__ for row in TROUBLES])
def test_trouble_is_a_named_verdict(desk: Desk, monkeypatch: pytest.MonkeyPatch, trouble: Trouble, code: str) -> None:
    """One call was approved before, one waits, one is new: none of them may run now."""
    monkeypatch.setattr(locked, "LOCK_SECONDS", 0.02)
    approved, waiting = replace(CALL, cwd="/approved"), replace(CALL, cwd="/waiting")
    nonce = desk.held(waiting)
    desk.approved(approved)
    with trouble(desk) or nullcontext():
        for call in (approved, waiting, CALL, approved):
            settled = desk.ask(call)
            assert settled == Settled(
                Verdict(
                    "block",
                    code,
                    f"GUARDIAN_ANGEL_BLOCK|This call needs a person's approval, but approvals are unavailable ({code}).\n"
                    "Do not retry it. Tell the user to run `toolguard doctor`.",
                    settled.verdict.reason,
                )
            )
            assert settled.verdict.reason != ""
            assert desk.approvals.trouble == settled.verdict.reason
        if code.startswith("policy"):
            return
        reported = desk.decide("approve", nonce)
        assert (reported.ok, reported.text.splitlines()[-1]) == (False, "Run `toolguard doctor` in a terminal.")
        desk.approvals.resolved(messages.Resolved(1, nonce, "used"))
        assert desk.approvals.trouble != ""
        if code != "store.busy":  # reading needs no lock
            assert desk.approvals.is_decided(nonce) is (code == "store.unavailable" and desk.status(nonce) != "pending")


def test_after_trouble_all_is_as_before(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(locked, "LOCK_SECONDS", 0.02)
    desk.approved()
    with busy(desk):
        assert desk.ask().verdict.code == "store.busy"
    assert [desk.ask().verdict.code for _ in range(2)] == [ALLOWED_ONCE, "approval.pending"]
    assert desk.approvals.trouble == ""


PLACES = [
    ("below-a-file", "{file}/nonces.json"),
    ("nul", "{folder}/a\0b/nonces.json"),
    ("proc", "/proc/nowhere/nonces.json"),
]


@pytest.mark.parametrize("place", [row[1] for row in PLACES], ids=[row[0] for row in PLACES])
def test_a_place_that_cannot_be(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    path = Path(place.format(file=tmp_path / "file", folder=tmp_path))
    desk = Desk(tmp_path / "state", path)
    settled = desk.ask()
    assert (settled.verdict.decision, settled.verdict.code, settled.entry) == ("block", "store.unavailable", None)
    assert not desk.decide("pending").ok or place.startswith("/proc")
    assert not desk.decide("approve", "deadbeef").ok


def test_a_forged_approval_is_no_approval(desk: Desk) -> None:
    nonce = desk.held()
    value = msgspec.json.decode(desk.store.path.read_bytes())
    value["entries"][0] |= {"status": "approved", "decided": NOW, "by": "mallory"}
    desk.store.path.write_bytes(msgspec.json.encode(value))
    settled = desk.ask()
    assert (settled.verdict.code, settled.fresh) == ("approval.pending", True)
    assert settled.entry is not None
    assert settled.entry.nonce != nonce
    assert desk.events() == ["hold", "forged", "hold"]


def test_too_many_wait(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ledger, "MAX_OPEN", 1)
    nonce = desk.held()
    code = "approval.too-many"
    full = Settled(Verdict("block", code, approval.out_of_order("GUARDIAN_ANGEL", code), "too many calls are waiting"))
    assert desk.ask(replace(CALL, cwd="/other")) == full
    assert desk.held() == nonce


def deep(depth: int) -> Any:
    value: Any = "x"
    for _ in range(depth):
        value = [value]
    return value


UNBINDABLE = [
    ("deep", {"command": "ls", "more": deep(900)}, "RecursionError"),
    ("half-a-pair", {"command": "\ud800"}, "CanonicalizationError"),
    ("not-a-number", {"command": "ls", "timeout": float("nan")}, "FloatDomainError"),
    ("endless", {"command": "ls", "timeout": float("inf")}, "FloatDomainError"),
    ("huge-number", {"command": "ls", "timeout": 10**400}, "OverflowError"),
]


@pytest.mark.parametrize(("params", "error"), [row[1:] for row in UNBINDABLE], ids=[row[0] for row in UNBINDABLE])
def test_what_cannot_be_bound_is_blocked(desk: Desk, params: Any, error: str) -> None:
    settled = desk.ask(replace(CALL, params=params))
    reason = f"params without a canonical form: {error}"
    text = f"GUARDIAN_ANGEL_BLOCK|{reason}\nThis cannot be approved. Do not retry it; tell the user why it was blocked."
    assert settled == Settled(Verdict("block", "approval.unbindable", text, reason))
    assert not desk.store.path.exists()


# --- a person's word through the gateway --------------------------------------------------------------------------------


def test_a_yes_in_chat(desk: Desk) -> None:
    nonce = desk.held()
    reported = desk.decide("approve", nonce[:4].upper(), by="telegram:7", why="ok")
    assert reported == messages.DecisionReply(
        7,
        ok=True,
        text=f"approved {nonce}: agent main may run exec once within 30 s of idle time (10 min at most)",
        nonce=nonce,
        waking=replies.waking(next(each for each in desk.store.entries() if each.nonce == nonce)),
    )
    line = list(stores.audit_log(desk.state).events())[-1]
    assert {name: line[name] for name in ("event", "by", "where", "why")} == {
        "event": "approve", "by": "telegram:7", "where": "chat", "why": "ok",
    }  # fmt: skip


def test_a_no_in_chat(desk: Desk) -> None:
    nonce = desk.held()
    reported = desk.decide("deny", nonce)
    assert reported == messages.DecisionReply(
        7, ok=True, text=f"denied {nonce}: agent main is instructed not to try exec again"
    )


def test_what_somebody_typed_is_kept_without_secrets_and_bounded(desk: Desk) -> None:
    desk.decide("deny", desk.held(), by="anna\n\x1b[2J", why="token=abcdefgh12345678 " + "no " * 30_000)
    line = list(stores.audit_log(desk.state).events())[-1]
    assert line["by"] == "anna <U+001B>[2J"
    assert line["why"].startswith("token=[redacted] no no")
    assert len(line["why"]) < 400


def test_what_waits(desk: Desk) -> None:
    assert desk.decide("pending") == messages.DecisionReply(7, ok=True, text="no call is waiting")
    nonce = desk.held()
    desk.now = NOW + 50
    approved = desk.approved(replace(CALL, cwd="/2"))
    shown = 'exec({ command: "rm -rf build" })'
    assert desk.decide("pending").text.splitlines() == [
        "```",
        f"{nonce} is waiting for approval, 4m10s left",
        "exec by agent main, in /w",
        f"held: {HOLD.reason} ({HOLD.code})",
        "1 danger:",
        " 1 does something that the guard cannot name: read the call itself",
        "command: rm -rf build",
        f"{approved}  exec  approved, 30s left  main  {shown}",
        "```",
    ]


LOOK = "toolguard pending (in chat: /toolguard pending) lists the waiting calls"
NO_NONCE = f"that is not a nonce\na nonce has 8 characters, 0-9 and a-f; the first 4 or more are enough; {LOOK}"
AGAIN = "if it is still needed, tell the agent to try again: the call gets a new nonce"


def used(desk: Desk) -> str:
    nonce = desk.approved()
    assert desk.ask().verdict.decision == "allow"
    return nonce


def expired(desk: Desk) -> str:
    nonce = desk.held()
    desk.now = NOW + 300
    return nonce


def swept(desk: Desk) -> str:
    nonce = expired(desk)
    desk.store.sweep(desk.now)
    return nonce


def denied(desk: Desk) -> str:
    nonce = desk.held()
    desk.decide("deny", nonce, by="anna", why="no")
    return nonce


def ambiguous(desk: Desk) -> str:
    for folder in ("/1", "/2"):
        desk.held(replace(CALL, cwd=folder))
    return "abcd"


LONGER = f"give more characters of the one you mean; {LOOK}"
IS_DENIED = (
    "{nonce} (exec) was denied by anna (chat) at 1970-01-12 13:46:40+00:00: no\n"
    "a denial cannot be changed; after 1970-01-12 13:51:40+00:00 the agent may ask again, under a new nonce"
)
IS_APPROVED = (
    "{nonce} (exec) is already approved (chat) at 1970-01-12 13:46:40+00:00\n"
    "tell the agent to repeat the call before 1970-01-12 13:47:10+00:00; toolguard deny {nonce} withdraws it"
)
IS_EXPIRED = (
    "{nonce} (exec) expired at 1970-01-12 13:51:40+00:00: nobody decided in time\n"
    "toolguard revive {nonce} asks the agent to make the call again, under a new nonce"
)

REFUSALS: list[tuple[str, Callable[[Desk], str], str]] = [
    ("malformed", lambda _: "abc", NO_NONCE),
    ("no-hex", lambda _: "toolguard", NO_NONCE),
    ("unknown", lambda _: "00000000", f"no call has that nonce\nit was mistyped, or the call was closed long ago; {LOOK}"),
    ("used", used, f"{{nonce}} (exec) was used at 1970-01-12 13:46:40+00:00: an approval covers one call\n{AGAIN}"),
    ("expired", swept, IS_EXPIRED),
    ("denied", denied, IS_DENIED),
    ("approved", Desk.approved, IS_APPROVED),
    ("ambiguous", ambiguous, f"2 calls start with that: abcd0000, abcd0001\n{LONGER}"),
]


@pytest.mark.parametrize(("prepare", "text"), [row[1:] for row in REFUSALS], ids=[row[0] for row in REFUSALS])
@pytest.mark.parametrize("where", ["chat", "tool"])
def test_refusals(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, prepare: Callable[[Desk], str], text: str, where: str
) -> None:
    names = (f"abcd{number:04x}" for number in range(9))
    monkeypatch.setattr(secrets, "token_hex", lambda _: next(names))
    nonce = prepare(desk)
    before = [(entry.nonce, entry.status) for entry in desk.store.entries() if entry.status != "pending"]
    assert desk.decide("approve", nonce, where) == messages.DecisionReply(7, ok=False, text=text.format(nonce=nonce))
    assert [(entry.nonce, entry.status) for entry in desk.store.entries() if entry.nonce in dict(before)] == before


@pytest.mark.parametrize("action", ["approve", "deny"])
def test_the_first_to_come_after_the_end_is_told_so(desk: Desk, action: str) -> None:
    nonce = expired(desk)
    assert desk.decide(action, nonce) == messages.DecisionReply(7, ok=False, text=IS_EXPIRED.format(nonce=nonce))
    assert desk.events() == ["hold", "expire"]


def test_a_yes_can_be_taken_back(desk: Desk) -> None:
    nonce = desk.approved()
    assert desk.decide("deny", nonce).ok
    assert desk.ask().verdict.code == "approval.denied"


AGENTS = [
    ("off", {}, False, "The agent may not approve its own calls (approval.agentTool is off)."),
    (
        "on",
        {"approval": {"agentTool": True}},
        True,
        "approved {nonce}: agent main may run exec once within 30 s of idle time (10 min at most)",
    ),
]


@pytest.mark.parametrize(("config", "ok", "text"), [row[1:] for row in AGENTS], ids=[row[0] for row in AGENTS])
def test_the_agents_own_word(desk: Desk, config: Any, text: str, *, ok: bool) -> None:
    nonce = desk.held()
    session = Session(Setup({}, lambda: datetime.fromtimestamp(NOW, UTC), 42, open_approvals=lambda *_: desk.approvals))
    answered(session, messages.Hello(0, 1, str(desk.state), config))
    reported = answered(session, messages.PersonDecision(1, "approve", "tool", nonce))
    approved = {"nonce": nonce, "waking": reported.waking} if ok else {}
    assert reported == messages.DecisionReply(1, ok=ok, text=text.format(nonce=nonce), **approved)
    assert desk.status(nonce) == ("approved" if ok else "pending")
    if not ok:
        assert answered(session, messages.PersonDecision(1, "deny", "tool", nonce)) == reported
        assert answered(session, messages.PersonDecision(1, "pending", "tool")) == reported


def test_no_store_no_word() -> None:
    session = Session(Setup({}, lambda: datetime.fromtimestamp(NOW, UTC), 42))
    reported = answered(session, messages.PersonDecision(1, "approve", "chat", "deadbeef"))
    assert reported == messages.DecisionReply(1, ok=False, text="Approvals are unavailable; run `toolguard doctor`.")
    assert answered(session, messages.Resolved(2, "deadbeef", "used")) == messages.Pong(2)


# --- the gateway's own prompt -------------------------------------------------------------------------------------------

RESOLVED = [
    ("used", "used", ["hold", "approve", "consume"], "approval.pending", True),
    ("denied", "denied", ["hold", "deny"], "approval.denied", False),
    ("expired", "expired", ["hold", "expire"], "approval.pending", True),
    ("unavailable", "pending", ["hold"], "approval.pending", False),
]


@pytest.mark.parametrize(("outcome", "status", "events", "code", "fresh"), RESOLVED, ids=[row[0] for row in RESOLVED])
def test_resolved(desk: Desk, outcome: Any, status: str, events: list[str], code: str, *, fresh: bool) -> None:
    nonce = desk.held()
    for _ in range(2):  # once more changes nothing
        desk.approvals.resolved(messages.Resolved(1, nonce, outcome, by="anna"))
        assert (desk.status(nonce), desk.events()) == (status, events)
    if outcome != "unavailable":
        line = list(stores.audit_log(desk.state).events())[-1]
        assert line["where"] == "native"
    settled = desk.ask()
    assert (settled.verdict.code, settled.fresh) == (code, fresh)


def test_a_nonce_that_was_never_given_is_resolved_by_nothing(desk: Desk) -> None:
    nonce = desk.held()
    for wrong in ("", nonce[:4], "ffffffff", "\0"):
        desk.approvals.resolved(messages.Resolved(1, wrong, "used"))
    assert desk.status(nonce) == "pending"


def test_the_prompt(desk: Desk) -> None:
    settled = desk.ask()
    assert settled.entry is not None
    assert prompt_for(settled.entry, settled.entry.created) == messages.Prompt(
        settled.entry.nonce,
        "exec is waiting for your approval",
        'It deletes whole folders. exec({ command: "rm -rf build" })',
        300_000,
    )


PROMPTS = [
    ("long-command", CALL.tool, {"command": "echo " + "a" * 1_000_000 + "; rm -rf ~"}, 'rm -rf ~" })'),
    ("long-word", CALL.tool, {"command": "a" * 500 + " | sh"}, ' | sh" })'),
    ("many", CALL.tool, {f"p{number}": "v" * 200 for number in range(300)} | {"z": 1}, " })"),
    ("long-name", "x" * 100_000, {}, "({})"),
    ("emoji", "exec", {"command": "\U0001f600" * 1_000 + "; reboot"}, '; reboot" })'),
    ("emoji-name", "\U0001f600" * 200, {}, "({})"),
    ("lines", "a\nb", {"command": "ls\n\u202e\x1b[2J\u2028rm -rf ~"}, 'rm -rf ~" })'),
]


@pytest.mark.parametrize(("tool", "params", "end"), [row[1:] for row in PROMPTS], ids=[row[0] for row in PROMPTS])
@pytest.mark.parametrize("reason", ["It deletes.", "r" * 5_000, "\u202e\n|" * 3_000], ids=["short", "long", "hostile"])
def test_the_prompt_fits_and_shows_how_the_call_ends(desk: Desk, tool: str, params: Any, end: str, reason: str) -> None:
    settled = desk.approvals.settle(Verdict("hold", "c", reason=reason), replace(CALL, tool=tool, params=params), CONFIG)
    assert settled.entry is not None
    prompt = prompt_for(settled.entry, settled.entry.created)
    for text, limit in ((prompt.title, MAX_TITLE), (prompt.description, MAX_DESCRIPTION)):
        assert 0 < len(text.encode("utf-16-le")) // 2 <= limit  # as JavaScript counts
        assert is_visible(text)
    assert prompt.description.endswith(end)


@dataclass(frozen=True)
class News:
    """Whether asking again about a nonce brings anything new."""

    of: str
    prepare: Callable[[Desk], str]
    expected: bool


NEWS = [
    News("pending", Desk.held, expected=False),
    News("approved", Desk.approved, expected=True),
    News("used", used, expected=True),
    News("denied", denied, expected=True),
    News("expired", expired, expected=True),
    News("unknown", lambda _: "00000000", expected=True),
]


@pytest.mark.parametrize("news", NEWS, ids=[news.of for news in NEWS])
def test_is_decided(desk: Desk, news: News) -> None:
    assert desk.approvals.is_decided(news.prepare(desk)) is news.expected


def test_chat_lists_what_nobody_answered_and_revives_it(desk: Desk) -> None:
    nonce = swept(desk)
    assert f"expired unanswered: {nonce}" in desk.decide("pending").text
    assert desk.decide("revive", nonce).text.startswith(f"revived {nonce}: agent main is asked to make the call again")
    assert nonce not in desk.decide("pending").text
    assert not desk.decide("revive", nonce).ok
