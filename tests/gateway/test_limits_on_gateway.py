"""Limits on cost and tokens, on the real gateway: a warning, the end of the run, and an answer that says how to go on."""

from __future__ import annotations

import json
import secrets
import sqlite3
import time
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway_stage import NEW_HOST, NOTE, Stage, audit, configure, counting, put_in, toolguard
from operator_client import Operator
from shared_gateway import Shared
from standings_seen import command
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.rig.scripted_model import Reply, TokenUsage

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="seen on this release only")

USED = TokenUsage(40_000, 5_000)
"""Five cents, by the prices of the gateway's config."""
WARNING_SECONDS = 60
"""How long rows of model calls may take to get into the file."""


def burning(most: int = 40) -> scripted_model.Script:
    """Ever new harmless calls, each of which costs five cents."""
    return counting(lambda number: replace(command(f"echo {number}"), usage=USED), most=most)


def under(shared: Shared, *limits: dict[str, Any], **more: Any) -> tuple[Stage, Path]:
    file = shared.home.root / f"limits-{secrets.token_hex(4)}.db"
    return shared.under(limits=list(limits), metrics={"dbPath": str(file)}, **more), file


def once_warned(script: scripted_model.Script, file: Path, after: int) -> scripted_model.Script:
    """Replies to the request behind this many model calls only when the warning is due, for which their rows must be in the
    file: on a busy machine the limit is reached before they are, and a limit that is reached warns no more. One more call
    must be possible below the limit, because the warning may come with that."""

    def answer(request: scripted_model.Request) -> Reply:
        until = time.monotonic() + WARNING_SECONDS
        while request.index == after and not is_warning_due(file):
            assert time.monotonic() < until, "no warning is due"
            time.sleep(0.02)
        return script(request)

    return answer


def is_warning_due(file: Path) -> bool:
    if not file.exists():
        return False
    with closing(sqlite3.connect(file, timeout=WARNING_SECONDS)) as connection:
        tables = "SELECT count(*) FROM sqlite_master WHERE name = 'toolguard_upkeep'"
        if connection.execute(tables).fetchone() == (0,):
            return False
        (claims,) = connection.execute("SELECT count(*) FROM toolguard_upkeep WHERE name GLOB 'limit *'").fetchone()
    return bool(claims)


def test_a_run_is_warned_once_then_ended_and_the_person_learns_how_to_go_on(shared: Shared) -> None:
    stage, file = under(shared, {"per": "day", "usd": 0.6})
    played = stage.play(once_warned(burning(), file, after=10))
    (noted,) = played.noted
    assert 10 <= noted < 12
    assert "More than 80% of the limit of $0.60 a day has been used ($0." in played.results[noted - 1]
    assert played.results[11].startswith("TOOLGUARD_BLOCK|The limit of $0.60 a day is reached: $0.60 used.")
    assert "toolguard limits set day --usd=1.2" in played.results[11]
    assert len(played.requests) == 14
    assert played.requests[-1].tools == []
    assert stage.codes(played) == ["limit.reached", "limit.reached"]
    assert [event["reason"][:13] for event in audit(stage.home) if event["code"] == "limit.near"] == ["More than 80%"]

    stage.server.play(burning(), "(by chat)")
    with Operator(stage.home) as operator:
        answer = operator.chat("agent:main:by-chat", "Hi (by chat)")
        assert "toolguard limits set day --usd=1.2" in answer
        assert stage.server.requests == []
        assert "no call" in operator.chat("agent:main:by-chat", "/toolguard pending")
    again = stage.play(burning())
    assert (len(again.requests), again.noted) == (3, [])

    assert toolguard(stage.home, "limits").stdout.count("REACHED") == 1
    with closing(sqlite3.connect(file)) as connection:
        (spent,) = connection.execute("SELECT total(cost_usd) FROM toolguard_calls").fetchone()
    assert spent == pytest.approx(0.75, abs=0.01)


@pytest.mark.thorough
def test_a_person_in_chat_gets_the_commands_when_their_run_ends(shared: Shared) -> None:
    stage, _ = under(shared, {"per": "session", "tokens": 90_000, "agent": "main"})
    stage.server.play(burning(), "(by chat)")
    with Operator(stage.home) as operator:
        answer = operator.chat("agent:main:ended", "Hi (by chat)")
        assert "toolguard limits set session --tokens=180000 --agent=main" in answer
        assert len(stage.server.requests) <= 4
        stage.server.play(lambda _: Reply("Hello."), "(other)")
        assert operator.chat("agent:main:another", "Hi (other)") == "Hello."


@pytest.mark.thorough
def test_with_conversation_access_no_run_begins(shared: Shared) -> None:
    host = {"plugins": {"entries": {"toolguard": {"hooks": {"allowConversationAccess": True}}}}}
    stage, _ = under(shared, {"per": "day", "tokens": 1}, host=host)
    first = stage.play(lambda _: Reply("Hello."))
    assert first.turn.answer == "Hello."
    second = stage.play(lambda _: Reply("Hello."))
    assert "toolguard limits set day --tokens=2" in second.turn.answer
    assert second.requests == []


@pytest.mark.thorough
def test_a_limit_on_a_model_ends_the_first_run_of_a_session_too(shared: Shared) -> None:
    host = {"plugins": {"entries": {"toolguard": {"hooks": {"allowConversationAccess": True}}}}}
    stage, _ = under(shared, {"per": "day", "tokens": 1, "model": "scripted/*"}, host=host)
    assert stage.play(lambda _: Reply("Hello.")).turn.answer == "Hello."
    second = stage.play(lambda _: Reply("Hello."))
    assert second.requests == []
    assert "toolguard limits set day --tokens=2" in second.turn.answer


@pytest.mark.thorough
def test_a_limit_on_another_model_ends_nothing(shared: Shared) -> None:
    host = {"plugins": {"entries": {"toolguard": {"hooks": {"allowConversationAccess": True}}}}}
    stage, _ = under(shared, {"per": "day", "tokens": 1, "model": "other/*"}, host=host)
    assert [stage.play(lambda _: Reply("Hello.")).turn.answer for _ in range(2)] == ["Hello.", "Hello."]


def used(home: Home) -> float:
    found = json.loads(toolguard(home, "limits", "--json").stdout)
    return float(found["data"]["limits"][0]["used"])


@pytest.mark.thorough
def test_two_gateways_share_a_limit(shared: Shared, server: scripted_model.ScriptedModel, wait) -> None:
    stage, file = under(shared, {"per": "day", "usd": 1})
    with Home(server.base_url) as home:
        put_in(home)
        configure(home, limits=[{"per": "day", "usd": 1}], metrics={"dbPath": str(file)})
        with Gateway(stage.gateway.runtime, home) as gateway:
            other = Stage(gateway, server)
            first = other.play(burning(12))
            assert len(first.requests) == 13
            wait(lambda: used(stage.home) > 0.59)
            played = stage.play(burning())
            assert len(played.requests) < 13
            assert "The limit of $1.00 a day is reached" in played.results[-1]
            noted = [event for each in (stage.home, home) for event in audit(each) if event["code"] == "limit.near"]
            assert len(noted) == 1
            assert sum(NOTE in text for text in played.results) <= 1


def test_a_run_ends_after_its_calls_and_the_next_one_begins_anew(shared: Shared) -> None:
    stage = shared.under(runLimits={"calls": 5})
    for _ in range(2):
        played = stage.play(burning())
        (noted,) = played.noted
        assert "This run has used 4 of its 5 tool calls." in played.results[noted - 1]
        assert played.results[5].startswith("TOOLGUARD_BLOCK|This run has reached its limit of 5 tool calls, and ends.")
        assert "toolguard config set runLimits.calls 10" in played.results[5]
        assert len(played.requests) == 8
        assert played.requests[-1].tools == []
        assert stage.codes(played) == ["limit.run-near", "limit.run", "limit.run"]
