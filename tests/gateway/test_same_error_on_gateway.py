"""One and the same error on the real gateway: whatever the arguments, and for calls that the gateway itself refuses."""

from __future__ import annotations

import secrets
import time

import pytest

from gateway_stage import LOOP, NEW_HOST, Stage, counting, repeating
from operator_client import Operator
from shared_gateway import Shared
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.scripted_model import call
from toolguard_engine.stores import audit_log

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="seen on this release only: automations differ before")

LIMIT = 120
MOST = 50
"""Requests after which the scripted model gives up by itself: the guard has to be faster."""

ASKING = {"tools": {"exec": {"host": "gateway", "security": "allowlist", "ask": "always"}}}
"""The gateway asks a person about each command, and refuses it where nobody can be asked."""

WORDS = ("alder", "birch", "cedar", "dogwood", "elm", "fir", "gum", "hazel", "ivy", "juniper")


def in_background(stage: Stage, script: scripted_model.Script) -> list[scripted_model.Request]:
    """The requests of an automation that runs now and plays this script, after it has ended."""
    marker = f"({secrets.token_hex(8)})"
    stage.server.play(script, marker)
    job = {
        "name": "nightly",
        "schedule": {"kind": "at", "at": audit_log.when(time.time() + 86_400)},
        "sessionTarget": "isolated",
        "wakeMode": "now",
        "payload": {"kind": "agentTurn", "message": f"go {marker}"},
        "delivery": {"mode": "none"},
    }
    with Operator(stage.home) as owner:
        identifier = owner.call("cron.add", job)["id"]
        owner.call("cron.run", {"id": identifier, "mode": "force"})
        until = time.monotonic() + LIMIT
        while not owner.call("cron.runs", {"id": identifier})["entries"]:
            assert time.monotonic() < until, "the automation does not end"
            time.sleep(0.2)
    return list(stage.server.requests)


@pytest.mark.thorough
def test_what_the_gateway_refuses_in_the_background_ends(shared: Shared) -> None:
    stage = shared.under(host=ASKING)
    requests = in_background(stage, repeating(call("exec", {"command": "date"}), most=MOST))
    results = requests[-1].texts("tool")
    assert "exec denied" in results[0]
    assert len(results) == 6
    assert LOOP in results[-1]


@pytest.mark.thorough
def test_one_error_with_ever_other_arguments_ends(shared: Shared) -> None:
    stage = shared.under()
    played = stage.play(counting(lambda n: call("exec", {"command": f"test -e {WORDS[n % 10]}{n}"}), most=MOST))
    assert len(played.results) == 30
    assert played.noted == [10]
    assert LOOP in played.results[-1]
    assert stage.codes(played) == ["loop.same-error"] * 2
