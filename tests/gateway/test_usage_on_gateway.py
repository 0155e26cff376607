"""What model calls used, on the real gateway: the rows of the metrics file say what the model server sent."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

import gateway_stage
from gateway_stage import NEW_HOST, Played, Stage, once
from operator_client import Operator
from shared_gateway import Shared
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.scripted_model import Reply, TokenUsage, call

INPUT_USD, OUTPUT_USD = 1e-6, 2e-6
"""What the gateway's config says a token of the scripted model costs; the cache is free."""

USED = [TokenUsage(1_000, 50), TokenUsage(1_200, 70, cached=1_000), TokenUsage(1_500, 11, cached=1_499)]
CLOSING = TokenUsage(7, 3)


@dataclass
class Measured:
    """A gateway that keeps metrics."""

    stage: Stage
    file: Path
    wait: Callable[[Callable[[], bool]], None]

    def calls(self, session: str, many: int) -> list[dict[str, Any]]:
        """The rows of a session's model calls, oldest first, once there are so many; they never become more."""
        self.wait(lambda: len(self._rows("calls", session)) >= many)
        return self._rows("calls", session)

    def verdicts(self, session: str, many: int) -> list[tuple[str, str]]:
        """Kind and tool of a session's verdicts."""
        self.wait(lambda: len(self._rows("verdicts", session)) >= many)
        return [(row["kind"], row["tool"]) for row in self._rows("verdicts", session)]

    def _rows(self, table: str, session: str) -> list[dict[str, Any]]:
        if not self.file.exists():
            return []
        with closing(sqlite3.connect(f"file:{self.file}?mode=ro", uri=True, timeout=10)) as connection:
            connection.row_factory = sqlite3.Row
            query = f"SELECT * FROM toolguard_{table} WHERE session = ? ORDER BY id"  # noqa: S608 - our own name
            return [dict(row) for row in connection.execute(query, (session,))]


@pytest.fixture
def measured(shared: Shared, wait) -> Measured:
    settings = gateway_stage.measured(shared.home)
    return Measured(shared.under(**settings), Path(settings["metrics"]["dbPath"]), wait)


def row_of(usage: TokenUsage, session: str, channel: str = "") -> dict[str, Any]:
    return {
        "agent": "main",
        "session": session,
        "channel": channel,
        "provider": scripted_model.PROVIDER,
        "model": scripted_model.MODEL,
        "input": usage.prompt - usage.cached,
        "output": usage.completion,
        "cache_read": usage.cached,
        "cache_write": 0,
        "total": usage.prompt + usage.completion,
        "cost_usd": pytest.approx((usage.prompt - usage.cached) * INPUT_USD + usage.completion * OUTPUT_USD),
        "cost_estimated": 0,
        "outcome": "completed",
    }


def recorded(row: dict[str, Any]) -> dict[str, Any]:
    """A row without what no test can foresee."""
    return {name: value for name, value in row.items() if name not in ("id", "at", "gateway", "source", "duration_ms")}


def conversation(measured: Measured, session: str = "") -> Played:
    """Three messages with calls, and a closing one."""
    (measured.stage.home.workspace_dir / "a.txt").write_text("This is a.txt.\n")
    replies = [replace(call("read", {"path": "a.txt"}), usage=used) for used in USED]
    return measured.stage.play(
        lambda r: replies[r.index] if r.index < len(replies) else Reply("Read.", usage=CLOSING), session
    )


def test_rows_are_what_the_model_server_sent(measured: Measured) -> None:
    played = conversation(measured)
    assert len(played.requests) == len(USED) + 1
    rows = measured.calls(played.session, len(USED) + 1)
    assert [recorded(row) for row in rows] == [row_of(used, played.session) for used in (*USED, CLOSING)]
    assert all(row["duration_ms"] > 0 and row["gateway"] and row["source"] == 1 for row in rows)
    assert [row["at"] for row in rows] == sorted(row["at"] for row in rows)


@pytest.mark.thorough
def test_the_channel_is_in_the_name_of_the_session(measured: Measured) -> None:
    session = "agent:main:telegram:direct:4711"
    conversation(measured, session)
    assert {row["channel"] for row in measured.calls(session, len(USED) + 1)} == {"telegram"}


@pytest.mark.skipif(not NEW_HOST, reason="another protocol")
def test_the_channel_on_which_somebody_wrote(measured: Measured) -> None:
    session = "agent:main:by-chat"
    measured.stage.server.play(lambda _: Reply("Hello.", usage=CLOSING), "(by chat)")
    with Operator(measured.stage.home) as operator:
        operator.chat(session, "Hi (by chat)")
    (row,) = measured.calls(session, 1)
    assert recorded(row) == row_of(CLOSING, session, "webchat")


@pytest.mark.thorough
def test_a_model_server_that_refuses(measured: Measured) -> None:
    played = measured.stage.play(lambda _: Reply("no such thing", error="invalid_request_error"))
    rows = measured.calls(played.session, len(played.requests))
    nothing = row_of(TokenUsage(0, 0), played.session)
    assert [recorded(row) for row in rows] == [{**nothing, "outcome": "error"}] * len(played.requests)


@pytest.mark.skipif(not NEW_HOST, reason="older hosts ask for no final answer")
def test_the_closing_answer_of_a_run_that_was_ended(measured: Measured) -> None:
    """The gateway tells nobody what it took, but what it said."""
    used = TokenUsage(1_000, 50)
    loop = replace(call("read", {}), usage=used)
    played = measured.stage.play(lambda r: loop if r.tools else Reply("Stopped.", usage=CLOSING))
    rows = measured.calls(played.session, len(played.requests))
    closing = row_of(TokenUsage(0, CLOSING.completion), played.session) | {"cost_usd": None}
    assert [recorded(row) for row in rows] == [row_of(used, played.session)] * (len(rows) - 1) + [closing]


@pytest.mark.thorough
def test_what_was_let_run_and_what_was_corrected(measured: Measured) -> None:
    """Of a call inside Tool Search only the inner one is told."""
    (measured.stage.home.workspace_dir / "a.txt").write_text("This is a.txt.\n")
    inner = call("tool_call", {"id": "session_status", "args": {}}) if NEW_HOST else call("session_status", {})
    played = measured.stage.play(once(call("read", {}), call("read", {"path": "a.txt"}), inner))
    expected = [("malformed", "read"), ("allow", "read"), ("allow", "session_status")]
    assert measured.verdicts(played.session, len(expected)) == expected


@pytest.mark.thorough
def test_each_malformed_call_of_a_loop_is_counted_as_it_is_logged(measured: Measured) -> None:
    """Also the last one, which is never executed."""
    played = measured.stage.play(lambda r: call("read", {}) if r.tools else Reply("Stopped."))
    found = measured.verdicts(played.session, 4)
    assert sorted(kind for kind, _ in found) == ["loop", "malformed", "malformed", "stop"]
    logged = [line["action"] for line in measured.stage.log() if line["session"] == played.session]
    assert logged == ["corrected", "loop-detected", "stopped"]
