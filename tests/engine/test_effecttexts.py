"""The message for a call that no rule matches and that is held only for its score."""

from __future__ import annotations

import pytest

from tables import each_row
from toolguard_engine.config.settings import parse
from toolguard_engine.effects.facts import descriptions
from toolguard_engine.effects.facts.command import UNKNOWN, Effect
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.wording import approval

GUARD = Guard(parse({"escalationThreshold": 20}), {}, Host("/home/u", "/home/u/.openclaw"), packs.load())
CUE = "It is too risky to run without approval:"


@pytest.mark.parametrize(
    ("tool", "params", "reason"),
    [
        (
            "exec",
            {"command": "rm -rf build"},
            f"It would delete build (forced, recursive). {CUE} clarity 4 x stakes 5 = 20 (calls are held at 20 or more).",
        ),
        (
            "exec",
            {"command": "weird-thing"},
            f"No rule describes what it would do. {CUE} clarity 4 x stakes 5 = 20 (calls are held at 20 or more).",
        ),
        (
            "exec",
            {"command": 'weird-thing "'},
            (
                "No rule describes what it would do. Its syntax is broken. "
                f"{CUE} clarity 6 x stakes 5 = 30 (calls are held at 20 or more)."
            ),
        ),
    ],
)
def test_a_call_held_for_its_score_says_what_it_would_do(tool: str, params: dict[str, object], reason: str) -> None:
    found = GUARD.weigh(Call(tool, params, cwd="/home/u/work"))
    assert (found.decision, found.code, found.reason) == ("hold", "rubric", reason)


@each_row(
    ("effects", "words"),
    [
        ([], ""),
        ([Effect("delete", "a", flags=frozenset({"recursive", "forced"}))], "delete a (forced, recursive)"),
        ([Effect("delete", "a"), Effect("delete", "a"), Effect("write", f"{UNKNOWN}/b")], "delete a, write ?/b"),
        ([Effect("write", name) for name in "abc"], "write a, write b, write c"),
        ([Effect("write", name) for name in "abcd"], "write a, write b, write c and more"),
        ([Effect("write", "a")] * 21, "write a and more"),
        ([Effect("http", "http://u:s3cretword@h/")], "http http://u:[redacted]@h/"),
    ],
)
def test_effects_in_a_line(effects: list[Effect], words: str) -> None:
    assert descriptions.in_line(effects) == words


def test_a_secret_is_not_cut_in_two_before_it_is_hidden() -> None:
    reported = descriptions.in_line([Effect("http", f"https://host/{'x' * 30}?token=ghp_{'a1B2' * 9}")])
    assert "ghp_" not in reported


def test_a_long_effect_leaves_room_for_the_score() -> None:
    command = " ".join(f"/home/u/work/{'long' * 40}{at}" for at in range(9))
    reason = approval.line(GUARD.weigh(Call("exec", {"command": f"touch {command}"}, cwd="/home/u/work")).reason)
    assert reason.endswith("(calls are held at 20 or more).")
