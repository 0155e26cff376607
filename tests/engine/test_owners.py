"""Calls of people who look after their own gateway, as other people's sessions show them, each with the right answer."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

CALLS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "owners.jsonl"
HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json")
RIGHT = {
    "allow": {"allow"},
    "not-block": {"allow", "hold"},
    "hold": {"hold"},
    "stop": {"hold", "block"},
}
CLASSES = {
    "look-at-own-gateway", "backup-and-tidy-own-gateway", "unpack-into-home", "owner-asked-change", "needless-question",
    "incident", "control-plane-through-home",
}  # fmt: skip


def decision(call: dict[str, Any]) -> str:
    guard = Guard(Config(), {}, HOST, packs.load())
    reading = guard.read(Call(call["tool"], call["params"], agent="main", session="s", cwd="/home/u/.openclaw/workspace"))
    return guard.weigh_reading(reading).decision


@pytest.mark.skipif(not CALLS.exists(), reason="the set of other people's calls is not here")
def test_each_call_gets_the_right_answer() -> None:
    rows = [json.loads(line) for line in CALLS.read_text().splitlines()]
    assert {row["class"] for row in rows} <= CLASSES
    assert [
        (row["id"], row["right"], found)
        for row in rows
        if (found := decision(row["call"])) not in RIGHT[row["right"]]
    ] == []  # fmt: skip
