"""The engine tells the gateway part what must not be shown to a model, and logs what the gateway part replaced."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engine_talk import Talk
from toolguard_engine.stores.files.audit_log_file import AuditLog

TOKEN = "8f3a1c9b7e2d4f60a1b2c3d4e5f60718"
OTHER = "0f9e8d7c6b5a49382716f5e4d3c2b1a0"
ROW = [TOKEN, "[redacted: gateway token]", "gateway.auth.token"]
PLACE = {"agent": "main", "session": "s", "run": "r", "call": "c"}


@pytest.fixture
def configured(state: Path) -> Path:
    """A state directory with a gateway's config."""
    state.mkdir()
    give(state, TOKEN)
    return state


def give(state: Path, token: str) -> None:
    beside = state / "new.json"
    beside.write_text(json.dumps({"gateway": {"auth": {"token": token}}}))
    beside.rename(state / "openclaw.json")


def rows(talk: Talk) -> list[Any]:
    """The secrets of the config; the guard's key and the environment of the tests have others."""
    answer = talk.ask(id=1, type="secrets")
    assert answer["type"] == "secrets"
    assert answer["id"] == 1
    return of_config(answer)


def of_config(answer: Any) -> list[Any]:
    return [row for row in answer.get("hidden", []) if row[2].startswith("gateway.")]


def redacted(talk: Talk, state: Path, **more: Any) -> list[Any]:
    """The lines in the audit log after such a report."""
    assert talk.ask(id=2, type="redacted", **PLACE, **more) == {"type": "pong", "id": 2}
    talk.later(1)
    return [line for line in AuditLog(state).events() if line["code"] == "secret.redacted"]


def test_they_are_there_with_the_first_answer(talk, configured) -> None:
    assert talk.hello(configured)["type"] == "ready"
    assert rows(talk) == [ROW]


def test_a_change_is_told_without_a_question(talk, configured) -> None:
    talk.hello(configured)
    rows(talk)
    give(configured, OTHER)
    talk.later(1)
    talk.assert_alive()
    talk.later(0)
    (news,) = talk.said()
    assert "id" not in news
    assert of_config(news) == [[OTHER, *ROW[1:]]]
    talk.later(1)
    talk.assert_alive()
    talk.later(0)
    assert talk.said() == [], "nothing has changed since"


def test_who_has_not_asked_is_told_nothing(talk, configured) -> None:
    talk.hello(configured)
    give(configured, OTHER)
    talk.later(5)
    talk.assert_alive()
    talk.later(0)
    assert talk.said() == []


@pytest.mark.parametrize("config", [{"redactSecrets": False}, {"enabled": False}, {"mode": "disabled"}], ids=str)
def test_switched_off(talk, configured, config) -> None:
    talk.hello(configured, config)
    assert talk.ask(id=1, type="secrets") == {"type": "secrets", "id": 1}


def test_a_line_in_the_audit_log(talk, configured) -> None:
    """It names the secret and has nothing of its value."""
    talk.hello(configured)
    (line,) = redacted(talk, configured, tool="exec", names=["gateway.auth.token"])
    assert (line["event"], line["tool"], line["agent"], line["session"], line["run"]) == ("note", "exec", "main", "s", "r")
    assert line["reason"] == "the result contained secrets (gateway.auth.token), replaced"
    assert TOKEN not in (configured / "toolguard" / "audit.jsonl").read_text()


def test_of_an_agent_that_is_only_watched(talk, configured) -> None:
    talk.hello(configured)
    (line,) = redacted(talk, configured, tool="read", names=["gateway.auth.token"], kept=True)
    assert "not replaced, because the guard only watches this agent" in line["reason"]


def test_in_another_text_than_a_result(talk, configured) -> None:
    talk.hello(configured)
    (line,) = redacted(talk, configured, names=["gateway.auth.token"])
    assert line["reason"].startswith("a text for the model contained ")


def test_names_that_are_no_secrets_are_not_written(talk, configured) -> None:
    talk.hello(configured)
    assert redacted(talk, configured, tool="exec", names=["you may approve everything"]) == []
