"""What judging a call may cost: short texts that mean much work are held at once, and honest ones never meet the limit."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from hostile_texts import BOMBS, CODE, FOUND, PIECES, SHELL, bomb, texts
from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.work_limit import BASE, MOST, WorkLimit
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints

HOST = Host(
    "/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ("/opt/tg/plugin",), frozenset({4242}),
    "/home/u/.openclaw/metrics.db", "127.0.0.1:18787",
)  # fmt: skip
GUARD = Guard(Config(), tool_hints.load(), HOST, packs.load())
OVER = 2_000
"""Steps that one piece of work may spend before it notices that the budget is used up."""


def of(command: str) -> Call:
    return Call("exec", {"command": command}, cwd="/home/u/work")


CALLS, CALLS_A_STEP, CALLS_A_CHARACTER, CHARACTERS = 3_000, 12, 25, 2_000
"""A judgement takes at most so many function calls, so many more for each step that it spends, and for each of so many
characters."""


def spent(command: str) -> float:
    reading = GUARD.read(of(command))
    GUARD.judge_reading(reading)
    return reading.work.spent


@each_row("name", BOMBS)
def test_a_bomb_is_held(name: str) -> None:
    verdict = GUARD.weigh(of(BOMBS[name]))
    assert verdict.decision == "hold"


@pytest.mark.parametrize("name", ["functions", "more functions", "a long variable"])
def test_its_code_says_why(name: str) -> None:
    assert GUARD.weigh(of(BOMBS[name])).code == "rule.too-intricate"


@pytest.mark.parametrize("words", [5, 10, 40])
def test_certain_harm_inside_a_bomb_is_no_more_allowed_than_alone(words: int) -> None:
    assert GUARD.weigh(of("rm -rf ~/.openclaw/toolguard; " + bomb(5, words))).decision == "block"


@given(
    st.integers(1, 12),
    st.integers(1, 60),
    st.sampled_from(["x", "$v", "rm", "coproc a*(a)", "echo $(x)", "case $1 in a) x;; esac;"]),
)
def test_the_work_is_bounded(levels: int, words: int, last: str) -> None:
    assert spent(bomb(levels, words, last)) <= MOST + BASE + OVER


@given(st.lists(st.sampled_from([*PIECES, *SHELL]), min_size=1, max_size=80))
def test_the_work_on_pieces_of_shell_is_bounded(pieces: list[str]) -> None:
    text = "".join(pieces)
    assert spent(text) <= min(2 * BASE + len(text), MOST + BASE) + OVER


def test_ordinary_work_uses_little_of_it() -> None:
    ordinary = "cd ~/work && git status && " + " && ".join(f"npm run build:{n} -- --out dist/{n}" for n in range(30))
    assert spent(ordinary) < BASE / 2
    assert GUARD.weigh(of(ordinary)).decision == "allow"


def uncounted(command: str) -> str:
    """What judging this takes, if that is more than its steps say. The first text of its kind compiles patterns, which
    costs once in a process: only what is too much for the next text as well is."""
    return _uncounted(command) and _uncounted(f"{command}\n# again")


def _uncounted(command: str) -> str:
    """Function calls need no clock."""
    calls = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    before = sys.getprofile()
    sys.setprofile(count)
    try:
        steps = spent(command)
    finally:
        sys.setprofile(before)
    most = CALLS + CALLS_A_STEP * steps + CALLS_A_CHARACTER * min(len(command), CHARACTERS)
    return f"{calls} calls, {steps:.0f} steps: {command[:200]!r}" if calls > most else ""


@each_row("found", FOUND)
def test_what_the_search_found_is_counted(found: str) -> None:
    """`scripts/test --fuzz cost` finds more."""
    assert uncounted(found) == ""


def test_the_work_on_hostile_texts_is_counted() -> None:
    assert [found for text in (*BOMBS.values(), *texts(800).values()) if (found := uncounted(text))] == []


@settings(max_examples=examples(60))
@given(
    st.lists(st.tuples(st.sampled_from([*PIECES, *SHELL, *CODE]), st.integers(1, 60)), min_size=1, max_size=12),
    st.sampled_from(["{}", "python3 -c '{}'", "python3 <<'E'\n{}\nE", "node -e '{}'", "node <<'E'\n{}\nE", "ssh h '{}'"]),
)
def test_the_work_on_mutated_texts_is_counted(pieces: list[tuple[str, int]], around: str) -> None:
    assert uncounted(around.format("".join(piece * times for piece, times in pieces)[:6_000])) == ""


def test_programs_that_are_alike_take_less_than_others() -> None:
    """They are judged with the first of them."""
    alike, others = "cp a00 b\n" * 99, "".join(f"cp a{number} b\n" for number in range(10, 109))
    assert spent(alike) < spent(others) * 0.75


def test_what_was_read_is_judged_however_little_is_left() -> None:
    work = WorkLimit()
    work.spend(BASE - 1)
    work.reserve()
    assert work.left == BASE
    assert work.spent == BASE - 1


def test_many_texts_that_may_be_paths_of_secrets_cost_what_they_take() -> None:
    texts = [f"test{n}/*/*.x" for n in range(1_800)]
    call = Call(
        "edit", {"path": "x.py", "edits": [{"oldText": text, "newText": text} for text in texts]}, cwd="/home/u/work"
    )
    reading = GUARD.read(call)
    assert GUARD.judge_reading(reading).decision == "hold"
    alike = {"path": "x.py", "edits": [{"oldText": texts[0], "newText": texts[0]}] * 1_800}
    assert GUARD.weigh(Call("edit", alike, cwd="/home/u/work")).decision == "allow"
