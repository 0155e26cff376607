"""Approving a call in chat and allowing exactly that call for a while."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomlkit

from chat_confirmation import confirmed
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.config.settings import Config, parse
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.model.held_details import HeldDetails, HeldEffect
from toolguard_engine.server.chat_grants import ChatGrants
from toolguard_engine.server.held_call_decisions import Approvals
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wire import messages

CALL = Call("exec", {"command": "git push --force"}, agent="main", session="agent:main:main", run="r", cwd="/w")
OTHER = Call("exec", {"command": "git push --force elsewhere"}, agent="main", session="agent:main:main", run="r", cwd="/w")
HOLD = Verdict("hold", "rule.vcs.push-force", reason="It rewrites history.", details=HeldDetails())
ELEVATES = Verdict("hold", "rule.x", reason="r", details=HeldDetails((HeldEffect("elevate", "x"),)))
CONFIG = parse({})
SIGNED = parse({"approval": {"signers": "/etc/signers"}})
FLEET = parse({"fleet": {"enabled": True, "dsn": "host=127.0.0.1", "trust": "/etc/trust"}})


class Chat:
    def __init__(self, state: Path) -> None:
        self.state = state
        self.start = self.now = float(int(time.time()))
        self.store = stores.held_calls(state, None, gateway="gw")
        grants = stores.grants(state)
        clock = lambda: self.now  # noqa: E731
        self.approvals = Approvals(self.store, grants, clock, chat_grants=ChatGrants(grants, stores.audit_log(state), clock))

    def held(self, call: Call = CALL, verdict: Verdict = HOLD) -> str:
        settled = self.approvals.settle(verdict, call, CONFIG)
        assert settled.entry is not None
        self.approvals.write_log()
        return settled.entry.nonce

    def says(self, nonce: str, lasts: str = "1d", config: Config = CONFIG, where: Any = "chat") -> messages.DecisionReply:
        def ask(why: str) -> messages.DecisionReply:
            asked = messages.PersonDecision(7, "approve", where, nonce, "telegram:42", why, lasts=lasts)
            return self.approvals.decide(asked, config)

        return confirmed(ask, text=lambda reply: reply.text)

    def code(self, call: Call = CALL) -> str:
        return self.approvals.settle(HOLD, call, CONFIG).verdict.code

    def status(self, nonce: str) -> str:
        return next(entry.status for entry in self.store.entries() if entry.nonce == nonce)

    def grants(self) -> tuple[Grant, ...]:
        return stores.grants(self.state).known()

    def events(self) -> list[dict[str, Any]]:
        return list(stores.audit_log(self.state).events())


@pytest.fixture
def chat(tmp_path: Path) -> Chat:
    (tmp_path / "state" / "toolguard").mkdir(parents=True)
    return Chat(tmp_path / "state")


@pytest.mark.parametrize(("lasts", "seconds"), [("1h", 3_600), ("8h", 28_800), ("1d", 86_400), ("7d", 604_800)])
def test_exactly_this_call_is_allowed_for_that_long(chat: Chat, lasts: str, seconds: int) -> None:
    nonce = chat.held()
    reply = chat.says(nonce[:4], lasts)
    assert reply.ok
    (grant,) = chat.grants()
    assert f"; {grant.id} allows just this command, in /w, by agent main for " in reply.text
    assert (grant.pattern, grant.agent, grant.cwd, grant.by) == ("git push --force", "main", "/w", "telegram:42")
    assert chat.code() == "approval.consumed"  # the approval comes first, and is used up
    chat.now = chat.start + seconds - 1
    assert chat.code() == f"grant.{grant.id}"
    assert chat.code(OTHER) == "approval.pending"
    chat.now = chat.start + seconds
    assert chat.code() == "approval.pending"


def test_the_grant_has_its_line_in_the_audit_log(chat: Chat) -> None:
    nonce = chat.held()
    chat.says(nonce)
    (line,) = [event for event in chat.events() if event["event"] == "grant"]
    assert (line["nonce"], line["by"], line["where"]) == (nonce, "telegram:42", "chat")
    assert chat.grants()[0].id in line["reason"]
    assert "git push --force" in line["shown"]


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"where": "tool"}, "toolguard approve NONCE --for 1d` in a terminal"),
    ({"config": SIGNED}, "toolguard approve NONCE --for 1d` in a terminal. It signs approval and grant"),
    ({"config": FLEET}, "toolguard approve NONCE` in a terminal"),
    ({"lasts": "2d"}, "'2d' is not one of 1h, 8h, 1d, 7d"),
    ({"lasts": "never"}, "'never' is not one of"),
    ({"lasts": "1d\n\x1b[2J"}, "is not one of"),
]


@pytest.mark.parametrize(("how", "text"), REFUSED)
def test_refused(chat: Chat, how: dict[str, Any], text: str) -> None:
    nonce = chat.held()
    reply = chat.says(nonce, **how)
    assert not reply.ok
    assert reply.text.startswith("Nothing was approved: ")
    assert text.replace("NONCE", nonce) in reply.text
    assert "\x1b" not in reply.text
    assert (chat.status(nonce), chat.grants()) == ("pending", ())


def test_what_is_not_narrow_is_only_approved_once(chat: Chat) -> None:
    nonce = chat.held(verdict=ELEVATES)
    reply = chat.says(nonce)
    assert (reply.ok, chat.status(nonce), chat.grants()) == (False, "pending", ())
    assert f"{nonce} can only be approved once: it changes permissions" in reply.text


def test_a_call_that_was_decided_is_granted_nothing(chat: Chat) -> None:
    nonce = chat.held()
    assert chat.approvals.decide(messages.PersonDecision(1, "deny", "chat", nonce), CONFIG).ok
    reply = chat.says(nonce)
    assert (reply.ok, chat.grants()) == (False, ())
    assert "was denied" in reply.text
    assert not chat.says("ffffffff").ok


def fails(*_: Any, **__: Any) -> Any:
    raise StoreError("No space left on device")


def test_nothing_is_granted_where_the_approval_fails(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    nonce = chat.held()
    monkeypatch.setattr(chat.store, "approve", fails)
    assert not chat.says(nonce).ok
    assert (chat.status(nonce), chat.grants()) == ("pending", ())


def replaced(*_: Any, **__: Any) -> Any:
    raise ModuleNotFoundError("tomlkit")


FAULTS = [(ChatGrants, "_log", fails), (tomlkit, "table", replaced)]


@pytest.mark.parametrize(("place", "name", "fault"), FAULTS, ids=["the audit log", "the packages"])
def test_without_its_grant_the_call_is_approved_once(
    chat: Chat, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, fault: Callable[..., Any]
) -> None:
    nonce = chat.held()
    monkeypatch.setattr(place, name, fault)
    reply = chat.says(nonce)
    assert (reply.ok, chat.status(nonce), chat.grants()) == (False, "approved", ())
    assert "It is not allowed for longer: " in reply.text


def test_pending_offers_it_only_where_it_is_narrow(chat: Chat) -> None:
    offer = "--for 1h|8h|1d|7d also allows just this command, in /w, by agent main"
    nonce = chat.held()
    asked = messages.PersonDecision(1, "pending", "chat")
    assert f"/toolguard approve {nonce} {offer}" in chat.approvals.decide(asked, CONFIG).text
    for config in (SIGNED, FLEET):
        assert "--for 1h" not in chat.approvals.decide(asked, config).text
    chat.approvals.decide(messages.PersonDecision(1, "deny", "chat", nonce), CONFIG)
    chat.held(Call("exec", {"command": "sudo x"}, agent="main", cwd="/w"), ELEVATES)
    assert "--for 1h" not in chat.approvals.decide(asked, CONFIG).text
