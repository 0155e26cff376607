"""Many own rules and grants: whatever is skipped at a quick look would not have fitted."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from toolguard_engine.approvals.grant_matching import covering, covers
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.layers import constraints
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules.patterns import MANY, Pattern, PatternFilter, why_refused
from toolguard_engine.rules.rulebook import Rulebook, rule_from

PIECES = [
    "a",
    "ab",
    "Deploy",
    "prod",
    "größe",
    "ß",
    "İ",
    "K",
    "s",
    "\\d+",
    ".*",
    "x?",
    "(?i)",
    "[a-c]",
    "|",
    "^",
    "$",
    "\\bab",
    "(ab|cd)+",
    "\\Z",
    " ",
    ".",
    "é{2}",
    "\\x{212A}",
    "\u017f",
]
TEXTS = [
    "a",
    "ab",
    "DEPLOY",
    "deploy",
    "prod",
    "Größe",
    "GRÖSSE",
    "ẞ",
    "i̇",
    "K",
    "k",
    "\u017f",
    "S",
    "1",
    "x",
    " ",
    "\n",
    "ab\x00cd",
    "éé",
    "\ud800",
]
PATTERN = st.lists(st.sampled_from(PIECES), min_size=1, max_size=5).map("".join).filter(lambda text: not why_refused(text))
TEXT = st.lists(st.sampled_from(TEXTS), max_size=6).map("".join)


@settings(max_examples=examples(2_000), deadline=None)
@given(st.lists(PATTERN, min_size=1, max_size=20), st.lists(TEXT, min_size=1, max_size=4))
def test_what_the_filter_leaves_out_is_not_there(patterns: list[str], texts: list[str]) -> None:
    filtered = PatternFilter(patterns)
    for text in texts:
        assert {each for each in patterns if Pattern(each).search(text)} <= filtered.possible(text)


def test_most_patterns_are_left_out() -> None:
    filtered = PatternFilter(f"deploy-{at}.*prod" for at in range(2_000))
    assert filtered.possible("kubectl apply -f deploy-1234 --env prod") <= {
        f"deploy-{at}.*prod" for at in (1, 12, 123, 1234)
    }


def _rules(tool: str, name: str, number: int) -> list[dict[str, object]]:
    return [
        {
            "id": f"own.r{at}",
            "reason": "x",
            "clarity": 2,
            "stakes": 2,
            "tool": [tool],
            "params": {name: f"host-{at}\\b.*(prod|live)"},
        }
        for at in range(number)
    ]


@pytest.mark.parametrize("number", [1, MANY, 1_000])
@pytest.mark.parametrize(("tool", "params"), [
    ("exec", {"command": "ssh host-{} uptime {}"}),
    ("write", {"path": "/w/host-{}/{}", "content": ""}),
    ("write", {"path": "x" * 5_000 + "/host-{}/{}", "content": ""}),
])  # fmt: skip
def test_the_same_rules_speak_however_many_there_are(tool: str, params: dict[str, str], number: int) -> None:
    name = next(iter(params))
    book = Rulebook(rule_from(each, "own") for each in _rules(tool, name, number))
    for at, where in ((0, "prod"), (number - 1, "live"), (number, "prod"), (0, "test")):
        call = Call(tool, {key: value.format(at, where) for key, value in params.items()}, cwd="/w")
        reading = CallReading(call, Host("/home/u"))
        found = [*constraints.matches(reading, (), book), *book.for_call(reading.tool, call.params, ())]
        speaking = {match.rule for match in found}
        assert speaking == ({f"own.r{at}"} if at < number and where != "test" else set())


@settings(max_examples=examples(500), deadline=None)
@given(
    st.lists(
        st.sampled_from(["git *", "git push", "*", "git push *", "npm run a", "** x", "", "g*"]).filter(bool), max_size=6
    ),
    st.sampled_from(["git push", "git push -f", "git status", "npm run a", "g", " git push", "x"]),
)
def test_the_first_grant_is_found(patterns: list[str], command: str) -> None:
    grants = [Grant(f"g{at}", "exec" if at % 3 else "Bash", pattern) for at, pattern in enumerate(patterns)]
    call = Call("exec", {"command": command})
    assert covering(call, grants, 0.0) == next((grant for grant in grants if covers(grant, call, 0.0)), None)
