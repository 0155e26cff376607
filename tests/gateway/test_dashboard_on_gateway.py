"""The dashboard beside two real gateways that share a port for it and a metrics file: started, killed, taken over."""

from __future__ import annotations

import json
import os
import secrets
import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass, replace
from http.client import HTTPConnection, HTTPException
from typing import Any

import psutil
import pytest

from gateway_stage import NEW_HOST, Stage, audit, configure, put_in
from operator_client import Operator
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.private_home import Home, free_port
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.rig.scripted_model import TokenUsage

pytestmark = pytest.mark.thorough
"""The gate has `test_approval_in_dashboard.py`, where the gateway starts the server, and `test_usage_on_gateway.py`."""

MILLION = 1_000_000
INPUT_USD, OUTPUT_USD = 1 / MILLION, 2 / MILLION
"""What the gateway's config says a token of the scripted model costs."""

WRITERS = 3
LIMIT, POLL = 120.0, 0.1
"""Seconds until an answer counts as never coming, and between two questions."""

RECORDED = frozenset({"hold", "block", "approve", "deny", "consume", "stop"})
"""Events of the audit log that are verdicts."""


@dataclass
class Machine:
    """Two gateways. The first one has the dashboard's port as long as it lives."""

    first: Stage
    second: Stage
    port: int

    def ask(self, path: str) -> Any:
        """What the dashboard answers; None where it does not."""
        connection = HTTPConnection("127.0.0.1", self.port, timeout=10)
        try:
            connection.request("GET", path)
            return json.loads(connection.getresponse().read())
        except (OSError, HTTPException):
            return None
        finally:
            connection.close()

    def asked(self, path: str) -> Any:
        """What it answers; where it does not, it is asked again."""
        limit = time.monotonic() + LIMIT
        while (answer := self.ask(path)) is None:
            assert time.monotonic() < limit, f"the dashboard never answers {path}"
            time.sleep(POLL)
        return answer

    def servers(self) -> list[int]:
        """Processes that serve the dashboard, or wait for the port just now."""
        wanted = {"toolguard_cli.dashboard", f"--port={self.port}"}
        return [each.pid for each in psutil.process_iter(["cmdline"]) if wanted <= set(each.info["cmdline"] or ())]

    def serves(self) -> bool:
        """Whether one answers, and there is one only."""
        return self.ask("/api/state") is not None and len(self.servers()) == 1

    def totals(self) -> dict[str, Any]:
        found: dict[str, Any] = self.asked("/api/overview?range=24h")["totals"]
        return found


@pytest.fixture(scope="module")
def machine(real, server, tmp_path_factory) -> Iterator[Machine]:
    port, db = free_port(), tmp_path_factory.mktemp("usage") / "m.db"
    with ExitStack() as kept:
        stages = []
        for _ in range(2):
            home = kept.enter_context(Home(server.base_url))
            put_in(home)
            configure(home, metrics={"enabled": True, "dbPath": str(db), "dashboard": {"enabled": True, "port": port}})
            stages.append(Stage(kept.enter_context(Gateway(real, home)), server))
        yield Machine(*stages, port)


def said(stage: Stage) -> str:
    """What the gateway's log has about the dashboard."""
    return "\n".join(line for line in stage.gateway.log_text().splitlines() if "[toolguard] dashboard:" in line)


def test_one_server_serves_both_gateways(machine: Machine, wait) -> None:
    wait(machine.serves)
    wait(lambda: len({row["id"] for row in machine.asked("/api/gateways?range=24h")["gateways"]}) == 2)
    wait(lambda: f"http://127.0.0.1:{machine.port}" in said(machine.first))
    wait(lambda: f"already http://127.0.0.1:{machine.port}" in said(machine.second))


def test_tokens_and_cost_are_what_the_model_sent(machine: Machine, wait) -> None:
    wait(machine.serves)
    before = machine.totals()
    uses = [TokenUsage(1_000, 50), TokenUsage(1_200, 70, cached=1_000), TokenUsage(1_500, 11)]
    replies = [
        replace(scripted_model.call("exec", {"command": f"echo {number}"}), usage=use) for number, use in enumerate(uses)
    ]
    replies.append(scripted_model.Reply("Done.", usage=TokenUsage(7, 3)))
    played = machine.first.play(lambda request: replies[min(request.index, 3)])
    assert len(played.requests) == 4
    wait(lambda: machine.totals()["calls"] == before["calls"] + 4)
    after = machine.totals()
    names = ("input", "output", "cacheRead", "total", "costUsd", "priced", "failed")
    grown = {name: after[name] - before[name] for name in names}
    used = [*uses, TokenUsage(7, 3)]
    prompt, completion, cached = (sum(getattr(use, name) for use in used) for name in ("prompt", "completion", "cached"))
    assert (grown["input"], grown["output"], grown["cacheRead"]) == (prompt - cached, completion, cached)
    assert (grown["total"], grown["priced"], grown["failed"]) == (prompt + completion, 4, 0)
    assert grown["costUsd"] == pytest.approx((prompt - cached) * INPUT_USD + completion * OUTPUT_USD)


def test_both_write_at_once_and_no_row_is_lost(machine: Machine, wait) -> None:
    wait(machine.serves)
    before = machine.totals()
    marker = f"({secrets.token_hex(8)})"

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        done = len(request.texts("tool"))
        return (
            scripted_model.call("exec", {"command": f"echo {done}"})
            if request.tools and done < 5
            else scripted_model.Reply("Done.")
        )

    machine.first.server.play(script, marker)
    with ThreadPoolExecutor(2 * WRITERS) as pool:
        turns = [
            pool.submit(stage.gateway.turn, f"go {marker}", f"agent:main:at-once-{number}")
            for stage in (machine.first, machine.second)
            for number in range(WRITERS)
        ]
    assert all(turn.result().ok for turn in turns)
    answered = len(machine.first.server.requests)
    assert answered >= 2 * WRITERS * 6
    wait(lambda: machine.totals()["calls"] - before["calls"] >= answered)
    assert machine.totals()["calls"] - before["calls"] == answered


@pytest.mark.skipif(not NEW_HOST, reason="this release has no `plugins reload`")
def test_ten_reloads_leave_one_server(machine: Machine, wait) -> None:
    wait(machine.serves)
    with Operator(machine.first.home) as operator:
        for _ in range(10):
            operator.call("plugins.reload", {"plugins": [{"pluginId": "toolguard"}]})
    wait(machine.serves)
    wait(lambda: len(machine.first.engines()) == 1)


def test_a_killed_server_is_back(machine: Machine, wait) -> None:
    wait(machine.serves)
    (killed,) = machine.servers()
    os.kill(killed, signal.SIGKILL)
    wait(lambda: machine.serves() and machine.servers() != [killed])


def test_the_server_outlives_the_engine(machine: Machine, wait) -> None:
    wait(machine.serves)
    wait(lambda: [len(stage.engines()) for stage in (machine.first, machine.second)] == [1, 1])
    serving = machine.servers()
    killed = machine.first.engines() + machine.second.engines()
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    assert machine.first.play(scripted_model.sequence([], "Here.")).turn.answer == "Here."
    wait(lambda: bool(machine.first.engines()))
    wait(lambda: machine.serves() and machine.servers() == serving)  # one that waits for the port goes again


def test_a_killed_gateway_leaves_nothing_and_loses_no_verdict(machine: Machine, wait) -> None:
    """The other gateway's server takes over, and tells all that the audit log knows of the one that was killed."""
    wait(machine.serves)
    (owner,) = [stage for stage in (machine.first, machine.second) if parent(machine.servers()[0]) == stage.gateway.pid]
    (other,) = {id(stage): stage for stage in (machine.first, machine.second) if stage is not owner}.values()
    marker, session = f"({secrets.token_hex(8)})", f"agent:main:{secrets.token_hex(4)}"
    before = machine.totals()["calls"]

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        again = scripted_model.call("exec", {"command": f"toolguard approve {request.index:04x}"})
        return again if request.tools else scripted_model.Reply("Done.")

    def kill(request: scripted_model.Request) -> None:
        if request.index == 3:
            os.kill(owner.gateway.pid, signal.SIGKILL)

    engines, servers = owner.engines(), machine.servers()
    owner.server.play(script, marker)
    owner.server.on_request = kill
    try:
        with pytest.raises((OSError, HTTPException)):
            owner.gateway.turn(f"go {marker}", session)
    finally:
        owner.server.on_request = None
    wait(lambda: not any(psutil.pid_exists(pid) for pid in (*engines, *servers)))
    wait(machine.serves)  # the other gateway looks every 15 seconds, and the server has to start
    assert parent(machine.servers()[0]) == other.gateway.pid
    owner.gateway.stop()
    owner.gateway.start()
    events = [event for event in audit(owner.home) if event.get("session") == session]
    logged = [event["event"] for event in events if event["event"] in RECORDED]
    assert logged.count("block") == 3
    wait(lambda: sorted(kinds(machine, session)) == sorted(logged))
    assert machine.totals()["calls"] - before >= 2


def kinds(machine: Machine, session: str) -> list[str]:
    rows = machine.asked("/api/decisions?limit=200")["decisions"]
    return [row["kind"] for row in rows if row["session"] == session and row["kind"] in RECORDED]


def parent(pid: int) -> int:
    return psutil.Process(pid).ppid()
