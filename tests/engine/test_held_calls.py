"""What happens to calls that are held or blocked again and again, through a session with a real store, as tables.

An event is a word: `?a` asks whether the call may run, `!ab` is a message of the model with these calls, `a` a malformed
call, `+a` a success, `=a` a person's yes, `-a` a person's no, `>n` n seconds pass. `a` to `m` are calls of a tool under
`alwaysBlock`, `n` to `z` of one that is free, `A` to `Z` calls that the guard protects itself from.
What comes of it: `held` (the whole text), `waits` (that it waits already), `denied`, `blocked`, `allow`, `used`, or another
code, and `/end` behind it where that ends the run; `go` or `stop` for a message; `corrected`, `loop-detected`, `limit`; else
`.`.
"""

from __future__ import annotations

import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chat_confirmation import confirmed
from engine_talk import Talk, answered
from tables import each_row
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.model.call import Call
from toolguard_engine.rules.rule_form import InvalidRuleError, rule_from
from toolguard_engine.server import tool_hints
from toolguard_engine.server.held_call_decisions import Approvals
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import SessionTally, Setup
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.wire import messages as protocol

NOW = 1_000_000.0
TEXT = 'Validation failed for tool "exec":\n  - command: must be string\n\nReceived arguments:\n{}'
ENVELOPE = "tool_call"


class Scene:
    """A session, its store, and a person beside them."""

    def __init__(self, state: Path, config: dict[str, Any] | None = None) -> None:
        self.state = state
        self.now = NOW
        self.request = 0
        self.stopped: list[str] = []
        self.store = stores.held_calls(state)
        clock = lambda: datetime.fromtimestamp(self.now, UTC)  # noqa: E731
        open_approvals = lambda *_: Approvals(self.store, stores.grants(state), lambda: self.now)  # noqa: E731
        self.session = Session(Setup(tool_hints.load(), clock, 42, home="/home/me", open_approvals=open_approvals))
        answered(self.session, protocol.Hello(0, 1, str(state), {"alwaysBlock": ["exec"], **(config or {})}, gateway="gw"))

    def place(self, **more: Any) -> dict[str, Any]:
        return {"agent": "main", "session": "s", "run": "r", "request": self.request, **more}

    def ask(self, letter: str = "a", **more: Any) -> protocol.VerdictAnswer:
        tool, params = spelled(letter)
        answer = answered(self.session, protocol.Judge(1, tool, params, **self.place(**more)))
        assert isinstance(answer, protocol.VerdictAnswer)
        return answer

    def message(self, letters: str, **more: Any) -> str:
        self.request += 1
        calls = [protocol.MessageCall(*spelled(letter)) for letter in letters]
        answer = answered(self.session, protocol.Message(1, calls, **self.place(**more)))
        assert isinstance(answer, protocol.Stopped)
        return answer.stop

    def nonces(self) -> list[str]:
        """What waits, the oldest first."""
        return [entry.nonce for entry in self.store.entries() if entry.status == "pending"]

    def nonce_of(self, letter: str) -> str:
        shown = spelled(letter)[1]["command"]
        return next(entry.nonce for entry in self.store.entries() if shown in entry.shown and entry.status == "pending")

    def decide(self, action: Any, nonce: str) -> None:
        ask = lambda why: answered(self.session, protocol.PersonDecision(1, action, "chat", nonce, why=why))  # noqa: E731
        reported = confirmed(ask, text=lambda reply: reply.text)
        assert isinstance(reported, protocol.DecisionReply)
        assert reported.ok

    def events(self) -> list[tuple[str, str, str]]:
        """What the session wants in the audit log: event, code, tool."""
        return [(event.event, event.code, event.tool) for event in self.session.outbox.take_events()]

    def play(self, events: str) -> str:
        return " ".join(self.one(event) for event in events.split())

    def one(self, event: str) -> str:
        kind, letter = event[0], event[1:]
        match kind:
            case "?":
                return self.asked(letter)
            case "!":
                stop = self.message(letter)
                self.stopped += [stop] if stop else []
                return "stop" if stop else "go"
            case "=" | "-":
                self.decide("approve" if kind == "=" else "deny", self.nonce_of(letter))
            case "+":
                tool, params = spelled(letter)
                answered(self.session, protocol.ToolResult(tool, params, **self.place()))
            case ">":
                self.now += float(letter)
            case _:
                return self.failed(event)
        return "."

    def asked(self, letter: str) -> str:
        answer = self.ask(letter)
        if answer.decision == "hold":
            word = "waits" if "already waiting" in answer.text else "held"
            assert answer.text.startswith("TOOLGUARD_ESCALATE|")
            assert ("Call: exec(" in answer.text) == (word == "held")
        else:
            words = {"approval.consumed": "used", "approval.denied": "denied", "rule.self-protection": "blocked"}
            word = words.get(answer.code, answer.code)
        self.stopped += [answer.stop] if answer.stop else []
        return f"{word}/end" if answer.stop else word

    def failed(self, letter: str) -> str:
        tool, params = spelled(letter)
        answer = answered(self.session, protocol.Failed(1, tool, TEXT, params, **self.place()))
        assert isinstance(answer, protocol.Corrected)
        if answer.stop:
            return "limit"
        return "loop-detected" if answer.text.startswith("[LOOP") else "corrected"


def spelled(letter: str) -> tuple[str, dict[str, Any]]:
    if letter.isupper():
        return "exec", {"command": f"toolguard approve {ord(letter):04x}"}
    return ("exec" if letter < "n" else "read"), {"command": f"make {letter}-{letter}"}


SEQUENCES = [
    ("first", "!a ?a", "go held"),
    ("second", "!a ?a !a ?a", "go held go waits"),
    ("third", "!a ?a !a ?a !a", "go held go waits stop"),
    ("third-where-no-message-is-seen", "?a ?a ?a", "held waits waits/end"),
    ("after-the-end", "!a ?a !a ?a !a ?b ?n !n", "go held go waits stop approval.waiting/end approval.waiting/end stop"),
    ("batch", "!abc ?a ?b ?c", "go held held held"),
    ("batch-of-many", "!abcdefgh ?a ?b ?c ?d ?e ?f ?g ?h", "go held held held held held held held held"),
    ("after-a-batch-of-many", "!abcde ?a ?b ?c ?d ?e !f ?f", "go held held held held held go held/end"),
    ("batch-twice", "!ab ?a ?b !ab ?a ?b !ab", "go held held go waits waits stop"),
    ("batch-of-the-same", "!aaa ?a ?a ?a !a ?a !a", "go held held held go waits stop"),
    ("neighbour", "!a ?a !a ?a !an", "go held go waits go"),
    ("neighbour-first", "!a ?a !a ?a !an ?n ?a", "go held go waits go allow waits/end"),
    ("free-calls-between", "!a ?a +n !n ?n +n !a ?a", "go held . go allow . go waits"),
    ("varying", "!a ?a !b ?b !c ?c !d ?d !e ?e !f", "go held go held go held go held go held/end stop"),
    ("mixed", "!an ?a n !an ?a n !an", "go held corrected go waits loop-detected stop"),
    ("malformed-then-held", "!n n !o o !p p !q q !a ?a", "go corrected go corrected go corrected go corrected go held/end"),
    ("held-then-malformed", "!a ?a !b ?b !n n !o o !p p", "go held go held go corrected go corrected go limit"),
    ("malformed-and-then-well-formed", "!a a !a ?a !a ?a", "go corrected go held go waits"),
    ("approved-between", "!a ?a !a ?a =a !a ?a +a", "go held go waits . go used ."),
    ("approved-at-once", "!a ?a =a !a ?a +a !a ?a", "go held . go used . go held"),
    ("approved-and-the-call-failed", "!a ?a !a ?a =a !a ?a !a ?a", "go held go waits . go used go held"),
    ("approved-too-long-ago", "!a ?a !a ?a =a >31 !a ?a", "go held go waits . . go held"),
    ("approved-another", "!ab ?a ?b !ab ?a ?b =b !a", "go held held go waits waits . stop"),
    ("approved-one-of-two", "!a ?a !a ?a !b ?b =b !ab ?b ?a", "go held go waits go held . go used waits/end"),
    ("denied-between", "!a ?a -a !a ?a !a ?a !a", "go held . go denied go denied stop"),
    ("denied-after-two", "!a ?a !a ?a -a !a ?a", "go held go waits . go denied"),
    ("expired-between", "!a ?a !a ?a >301 !a ?a !a ?a", "go held go waits . go held go waits"),
    ("blocked", "!A ?A !A ?A !A", "go blocked go blocked stop"),
    ("blocked-where-no-message-is-seen", "?A ?A ?A", "blocked blocked loop.identical/end"),
    ("blocked-varying", "!A ?A !B ?B !C ?C !D ?D !E ?E", "go blocked go blocked go blocked go blocked go blocked/end"),
    ("blocked-and-held", "!Aa ?A ?a !Aa ?A ?a !Aa", "go blocked held go blocked waits stop"),
]  # fmt: skip


@pytest.mark.parametrize(("events", "expected"), [row[1:] for row in SEQUENCES], ids=[row[0] for row in SEQUENCES])
def test_sequences(tmp_path: Path, events: str, expected: str) -> None:
    assert Scene(tmp_path).play(events) == expected


def how(nonce: str) -> str:
    return f"Approve with `toolguard approve {nonce}` in a terminal or `/toolguard approve {nonce}` in chat."


ENDS = [
    ("one", "?a ?a !a", 1),
    ("asked", "?a ?a ?a", 1),
    ("two", "!ab ?a ?b !ab ?a ?b !ab", 2),
    ("mixed", "!an ?a n !an ?a n !an", 1),
    ("varying", "!a ?a !b ?b !c ?c !d ?d !e ?e", 5),
    ("malformed-first", "!n n !o o !p p !q q !a ?a", 1),
    ("blocked-too", "!Aa ?A ?a !Aa ?A ?a !Aa", 1),
]


@pytest.mark.parametrize(("events", "waiting"), [row[1:] for row in ENDS], ids=[row[0] for row in ENDS])
def test_the_end_tells_how_to_approve_all_that_waits(tmp_path: Path, events: str, waiting: int) -> None:
    scene = Scene(tmp_path)
    scene.play(events)
    reported = "a call is waiting" if waiting == 1 else f"{waiting} calls are waiting"
    by_name = {nonce: how(nonce) for nonce in scene.nonces()}
    assert len(by_name) == waiting
    (stop,) = scene.stopped
    first, *lines = stop.splitlines()
    assert first == f"This turn ends here: {reported} for approval."
    assert sorted(lines) == sorted(by_name.values())


@settings(deadline=None)
@given(identical=st.integers(1, 12), total=st.integers(1, 12), same=st.booleans(), messages=st.booleans())
def test_held_calls_end_within_the_limit(
    tmp_path_factory: pytest.TempPathFactory, identical: int, total: int, *, same: bool, messages: bool
) -> None:
    """The first message alone ends no run: the model could not know."""
    config = {"maxIdenticalFailures": identical, "maxFailuresPerTurn": total}
    scene = Scene(tmp_path_factory.mktemp("state"), config)
    asked = 0
    while not scene.stopped:
        letter = "a" if same else "abcdefghijklm"[asked]
        if messages and scene.one(f"!{letter}") == "stop":
            break
        scene.one(f"?{letter}")
        asked += 1
    least = 2 if messages else 1
    assert asked == (min(identical + (not messages), max(least, total)) if same else max(least, total))


def test_a_held_call_whole(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    first = scene.ask()
    (nonce,) = scene.nonces()
    assert first == protocol.VerdictAnswer(
        1,
        "hold",
        "approval.pending",
        f"TOOLGUARD_ESCALATE|{nonce}|The settings require a person's approval for every call to this tool (alwaysBlock). "
        f'Call: exec({{ command: "make a-a" }})\n{how(nonce)} Tell the user this, and why you need it. '
        "Do not repeat the call until they have approved it.",
    )
    waits = (
        f"TOOLGUARD_ESCALATE|{nonce}|This call is already waiting for a decision.\n"
        f"Do not repeat it. End your turn now: tell the user what you want to do, and how to approve it: {how(nonce)}"
    )
    end = f"This turn ends here: a call is waiting for approval.\n{how(nonce)}"
    assert scene.ask() == protocol.VerdictAnswer(1, "hold", "approval.pending", waits)
    assert scene.message("a") == end
    assert scene.ask() == protocol.VerdictAnswer(1, "block", "approval.waiting", end, stop=end, waiting=(nonce,))
    assert scene.session.tally == SessionTally(judged=3, held=2, blocked=1, stopped=1)
    assert scene.events() == [
        ("hold-again", "approval.pending", "exec"),
        ("stop", "approval.waiting", "exec"),
        ("block", "approval.waiting", "exec"),
    ]
    assert [event["event"] for event in stores.audit_log(tmp_path).events()] == ["hold"]
    assert scene.session.outbox.records == []


SIGNED = ({"fleet": {"enabled": True, "team": "ops", "dsn": "host=/nowhere"}}, {"approval": {"signers": "/etc/signers"}})


@pytest.mark.parametrize("config", SIGNED, ids=["fleet", "signers"])
def test_nothing_offers_an_approval_in_chat_that_takes_a_signature(tmp_path: Path, config: dict[str, Any]) -> None:
    scene = Scene(tmp_path, config)
    texts = [scene.ask().text, scene.ask().text, scene.message("a")]
    (nonce,) = scene.nonces()
    for text in texts:
        assert f"`toolguard approve {nonce}` in a terminal, which signs the approval" in text
        assert "in chat" not in text


def test_another_turn_is_told_the_whole_again(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    scene.play("?a ?a ?a")
    answered(scene.session, protocol.RunEnd("r", "s"))
    nonce = scene.nonces()
    assert scene.play("!a ?a !a ?a !a") == "go held go waits stop"
    assert scene.nonces() == nonce


def test_a_call_of_no_known_run_is_held_and_ends_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    answers = [scene.ask(run="") for _ in range(9)]
    assert {(answer.decision, answer.stop) for answer in answers} == {("hold", "")}
    assert len(scene.nonces()) == 1


# --- settings -----------------------------------------------------------------------------------------------------------

MODES: list[tuple[str, dict[str, Any], str, str, int]] = [
    ("enforce", {}, "hold", "approval.pending", 1),
    ("soft", {"mode": "soft"}, "hold", "approval.pending", 1),
    ("shadow", {"mode": "shadow"}, "allow", "shadow.approval.always-block", 0),
    ("disabled", {"mode": "disabled"}, "allow", "allow.disabled", 0),
    ("off", {"enabled": False}, "allow", "allow.disabled", 0),
    ("never-block", {"neverBlock": ["exec"]}, "allow", "allow.exempt", 0),
    ("never-block-spelled", {"neverBlock": ["openclaw:core:EXEC"]}, "allow", "allow.exempt", 0),
    ("always-block-spelled", {"alwaysBlock": ["openclaw:core:Exec"]}, "hold", "approval.pending", 1),
    ("other-tool", {"alwaysBlock": ["write", "executor"]}, "allow", "allow", 0),
    ("agent-has-it", {"alwaysBlock": [], "agents": {"main": {"alwaysBlock": ["exec"]}}}, "hold", "approval.pending", 1),
    ("agent-has-it-not", {"agents": {"main": {"alwaysBlock": []}}}, "allow", "allow", 0),
    ("other-agent", {"alwaysBlock": [], "agents": {"other": {"alwaysBlock": ["exec"]}}}, "allow", "allow", 0),
    ("agent-in-shadow", {"agents": {"main": {"mode": "shadow"}}}, "allow", "shadow.approval.always-block", 0),
]


@pytest.mark.parametrize(("config", "decision", "code", "stored"), [row[1:] for row in MODES], ids=[row[0] for row in MODES])
def test_settings(tmp_path: Path, config: Any, decision: str, code: str, stored: int) -> None:
    scene = Scene(tmp_path / "state", config)
    answers = [scene.ask() for _ in range(3)]
    assert (answers[0].decision, answers[0].code) == (decision, code)
    assert len(scene.nonces()) == stored
    assert (tmp_path / "state").exists() == bool(stored)
    if not stored:
        assert {(answer.decision, answer.text, answer.stop) for answer in answers} == {("allow", "", "")}
        assert scene.message("a") == ""
        reported = [("would-refuse", "shadow.approval.always-block", "exec")] * 3 if code.startswith("shadow") else []
        assert scene.events() == reported


def test_what_shadow_tells_the_audit_log(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"mode": "shadow"})
    scene.ask("A")
    event = next(event for event in scene.session.outbox.take_events() if event.event == "would-refuse")
    assert event == audit_log.AuditEvent(
        id=event.id, time=audit_log.when(NOW), event="would-refuse", code="shadow.rule.self-protection", tool="exec",
        agent="main", session="s", run="r", reason=event.reason, shown='exec({ command: "toolguard approve 0041" })',
        gateway="gw",
    )  # fmt: skip
    assert event.reason != ""


PINS: list[tuple[str, dict[str, Any], str, str, bool]] = [
    ("free", {}, "n", "allow", False),
    ("free-always", {"pinParams": "always"}, "n", "allow", True),
    ("exempt-always", {"pinParams": "always", "neverBlock": ["read"]}, "n", "allow.exempt", True),
    ("shadow-always", {"pinParams": "always", "mode": "shadow"}, "a", "shadow.approval.always-block", False),
    ("shadow-free-always", {"pinParams": "always", "mode": "shadow"}, "n", "allow", False),
    ("disabled-always", {"pinParams": "always", "mode": "disabled"}, "a", "allow.disabled", False),
    ("held-always", {"pinParams": "always"}, "a", "approval.pending", False),
    ("blocked-always", {"pinParams": "always"}, "A", "rule.self-protection", False),
]


@pytest.mark.parametrize(("config", "letter", "code", "pin"), [row[1:] for row in PINS], ids=[row[0] for row in PINS])
def test_pins(tmp_path: Path, config: Any, letter: str, code: str, *, pin: bool) -> None:
    answer = Scene(tmp_path, config).ask(letter)
    assert (answer.code, answer.pin) == (code, pin)


@pytest.mark.parametrize("config", [{}, {"pinParams": "always"}, {"mode": "soft"}], ids=str)
def test_what_a_person_allowed_is_pinned(tmp_path: Path, config: Any) -> None:
    scene = Scene(tmp_path, config)
    scene.play("?a =a")
    assert scene.ask() == protocol.VerdictAnswer(1, "allow", "approval.consumed", pin=True, outcome="tell", approved=True)
    assert scene.ask().decision == "hold"
    stores.grants(tmp_path).add(Grant("g-1", "exec", "make *"))
    scene.events()
    assert scene.ask() == protocol.VerdictAnswer(1, "allow", "grant.g-1", pin=True, outcome="tell")
    assert scene.events() == [("grant-used", "grant.g-1", "exec")]
    assert scene.session.tally.approved == 2


def test_no_approval_lifts_self_protection(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    stores.grants(tmp_path).add(Grant("g-1", "exec", "*"))
    answer = scene.ask("A")
    assert (answer.decision, answer.code) == ("block", "rule.self-protection")
    assert answer.text.startswith("TOOLGUARD_BLOCK|")
    assert "This cannot be approved." in answer.text
    assert scene.nonces() == []
    assert scene.events() == [("block", "rule.self-protection", "exec")]


def test_the_settings_name_the_prefix(tmp_path: Path) -> None:
    scene = Scene(tmp_path, {"approval": {"prefix": "GUARDIAN_ANGEL"}})
    assert [scene.ask(letter).text.partition("|")[0] for letter in ("a", "a", "A")] == [
        "GUARDIAN_ANGEL_ESCALATE",
        "GUARDIAN_ANGEL_ESCALATE",
        "GUARDIAN_ANGEL_BLOCK",
    ]


def test_without_a_store_what_asks_is_blocked() -> None:
    session = Session(Setup({}, lambda: datetime.fromtimestamp(NOW, UTC), 42))
    answered(session, protocol.Hello(0, 1, "/state", {"alwaysBlock": ["exec"]}))
    answer = answered(session, protocol.Judge(1, "exec", {}, run="r"))
    assert isinstance(answer, protocol.VerdictAnswer)
    assert (answer.decision, answer.code) == ("block", "approval.no-store")


# --- Tool Search --------------------------------------------------------------------------------------------------------


def test_through_tool_search_the_inner_call_is_held(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    tool, params = spelled("a")
    outer = {"id": f"openclaw:core:{tool}", "args": params}
    for word in ("held", "waits"):
        asked = answered(scene.session, protocol.Judge(1, ENVELOPE, outer, **scene.place()))
        assert asked == protocol.VerdictAnswer(1, "allow", "allow.tool-search")
        assert scene.one("?a") == word
    calls = [protocol.MessageCall(ENVELOPE, outer)]
    stopped = answered(scene.session, protocol.Message(1, calls, **scene.place()))
    nonce = scene.nonces()[0]
    end = f"This turn ends here: a call is waiting for approval.\n{how(nonce)}"
    assert stopped == protocol.Stopped(1, end, waiting=(nonce,))


# --- the gateway's own prompt -------------------------------------------------------------------------------------------


def test_a_call_that_a_person_is_asked_about_at_once_counts_as_nothing(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    answers = [scene.ask(native=True) for _ in range(9)]
    (nonce,) = scene.nonces()
    prompts = {(answer.decision, answer.stop, answer.prompt and answer.prompt.nonce) for answer in answers}
    assert prompts == {("hold", "", nonce)}
    assert scene.session.tally == SessionTally(judged=9)
    answered(scene.session, protocol.Resolved(1, nonce, "unavailable"))
    assert scene.play("!a ?a !a ?a !a") == "go held go waits stop"
    assert scene.nonces() == [nonce]


# --- what ran -----------------------------------------------------------------------------------------------------------

REWRITTEN = (
    "TOOLGUARD_BLOCK|Another plugin changed a call to exec after it was judged; "
    "the changed call would not have been allowed.\n"
    "This turn ends here. Tell the user to check the gateway's log and `toolguard audit show`."
)
SECURITY = ("security", "security.rewritten", "exec")
ENDED = ("stop", "security.rewritten", "exec")
RAN: list[tuple[str, dict[str, Any], str, str, list[tuple[str, str, str]]]] = [
    ("harmless", {}, "n", "", []),
    ("held", {}, "a", REWRITTEN, [SECURITY, ENDED]),
    ("blocked", {}, "A", REWRITTEN, [SECURITY, ENDED]),
    ("shadow", {"mode": "shadow"}, "a", "", [SECURITY]),
    ("shadow-harmless", {"mode": "shadow"}, "n", "", []),
    ("disabled", {"mode": "disabled"}, "a", "", []),
    ("exempt", {"neverBlock": ["exec"]}, "a", "", []),
]


@pytest.mark.parametrize(("config", "letter", "stop", "events"), [row[1:] for row in RAN], ids=[row[0] for row in RAN])
def test_ran(tmp_path: Path, config: Any, letter: str, stop: str, events: list[tuple[str, str, str]]) -> None:
    scene = Scene(tmp_path / "state", config)
    tool, params = spelled(letter)
    answer = answered(scene.session, protocol.ParamsChanged(3, tool, params, others="evil (priority 0)", **scene.place()))
    assert answer == protocol.Stopped(3, stop)
    assert scene.events() == events
    assert not (tmp_path / "state").exists()
    after = scene.ask("n")
    assert (after.decision, after.stop, scene.message("n")) == ("block" if stop else "allow", stop, stop)
    assert scene.ask("n", run="another").decision == "allow"


def test_who_may_have_changed_it_is_told(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    answered(scene.session, protocol.ParamsChanged(3, *spelled("a"), others="evil\n(priority 0)", **scene.place()))
    event = scene.session.outbox.take_events()[0]
    assert event.reason == (
        "this ran instead of the call that was judged, and would not have been allowed (approval.always-block); "
        "it may have been changed by: evil (priority 0)"
    )
    assert event.shown == 'exec({ command: "make a-a" })'


# --- calls that ask for nobody ------------------------------------------------------------------------------------------


class Untouchable(Approvals):
    """Fails on any use."""

    def __init__(self) -> None:
        super().__init__(Untouched(), Nothing(), Untouched().clock)


class Untouched:
    """A store that nobody may open, and its clock."""

    def clock(self) -> float:
        raise AssertionError

    def _refuse(self, *_: Any) -> Any:
        raise AssertionError

    present = approve = deny = settle = entries = sweep = _refuse


class Nothing:
    def active(self, _now: float) -> tuple[Grant, ...]:
        raise AssertionError

    def note_expired(self) -> None:
        raise AssertionError


def test_ordinary_calls_never_touch_the_store(tmp_path: Path) -> None:
    scene = Scene(tmp_path / "state")
    scene.session.approvals = Untouchable()
    looping = "!n ?n n !n ?n n !n ?n +n"
    assert scene.play(looping) == "go allow corrected go allow loop-detected stop loop.identical/end ."
    answered(scene.session, protocol.RunEnd("r", "s"))
    assert scene.play("!nopq ?n ?o ?p ?q +n +o +p +q " * 5) == " ".join(["go allow allow allow allow . . . ."] * 5)
    assert scene.play("!A ?A !A ?A !A") == "go blocked go blocked stop"
    for message in (
        protocol.ParamsChanged(1, *spelled("n")),
        protocol.ParamsChanged(1, *spelled("a")),
        protocol.Warned("w"),
        protocol.Ping(1),
    ):
        answered(scene.session, message)
    answered(scene.session, protocol.Seams({"inPlace": "works"}))
    assert scene.ask("a", run="another").code == "guard.error", "a call that asks does touch it"
    assert not (tmp_path / "state").exists()


@pytest.mark.parametrize("member", ["command", "other"])
def test_a_call_too_deep_to_be_looked_at_never_runs(tmp_path: Path, member: str) -> None:
    """Near the limit of recursion params can be read and not written."""
    scene = Scene(tmp_path)
    reported = set()
    for depth in range(600, 1_010, 3):
        params = b'{"%s":%s%s}' % (member.encode(), b"[" * depth, b"]" * depth)
        try:
            message = protocol.decode(b'{"id":1,"type":"judge","tool":"exec","run":"r%d","params":%s}' % (depth, params))
        except protocol.ProtocolError:
            continue
        reported.add(msgspec.json.encode(answered(scene.session, message)).partition(b',"text"')[0])
    assert reported <= {
        b'{"type":"verdict","id":1,"decision":"block","code":"%s"' % code
        for code in (b"approval.unbindable", b"call.too-deep")
    }
    assert reported


def test_the_tool_of_a_call_is_compared_by_its_short_name(tmp_path: Path) -> None:
    scene = Scene(tmp_path)
    for tool in ("exec", "EXEC", " exec ", "openclaw:core:Exec"):
        verdict = scene.session.guard.judge(Call(tool, {"command": "ls"}))
        assert (verdict.decision, verdict.code) == ("hold", "approval.always-block")


WAIT = """
[[rule]]
id = "slow"
severity = "required"
run = ["make deploy"]
pending_timeout = "8h"
reason = "It deploys."

[[rule]]
id = "slower"
clarity = 1
stakes = 1
run = ["make deploy"]
pending_timeout = "9h"
reason = "It takes long."
"""


def test_a_rule_sets_how_long_its_calls_wait_and_the_prompt_names_all_rules(tmp_path: Path) -> None:
    state = tmp_path / ".openclaw"
    (state / "toolguard").mkdir(parents=True, mode=0o700)
    (state / "toolguard" / "policy.toml").write_text(WAIT)
    talk = Talk()
    talk.hello(state, {"approval": {"mode": "native"}})
    place = {"agent": "main", "session": "agent:main:main", "run": "r", "callId": "c", "native": True}
    talk.send(id=1, type="judge", tool="exec", params={"command": "make deploy && dropdb prod && git push -f"}, **place)
    (prompt,) = [each["prompt"] for each in talk.said() if each["type"] == "verdict"]
    talk.kill()
    (entry,) = stores.held_calls(state).entries()
    assert entry.expires - entry.created == 8 * 3_600
    assert prompt["timeoutMs"] == 8 * 3_600_000
    reasons = [rule.reason.removeprefix("It ").rstrip(".") for rule in entry.details.rules] if entry.details else []
    assert len(reasons) >= 4
    assert all(reason in prompt["description"] for reason in reasons)
    assert len(prompt["description"]) <= 512


@each_row(
    ("wait", "more"),
    [("8", ""), ("59s", ""), ("25h", ""), (8, ""), ("8h", 'verdict = "block"'), ("8h", 'severity = "advisory"')],
)
def test_a_wait_that_means_nothing_is_refused(wait: object, more: str) -> None:
    table = {"id": "user.a", "run": ["make"], "reason": "r", "pending_timeout": wait, **tomllib.loads(more)}
    table["id"] = "constraint.a" if "severity" in table else "user.a"
    with pytest.raises(InvalidRuleError) as refused:
        rule_from(table, "user")
    assert refused.value.key == "pending_timeout"
