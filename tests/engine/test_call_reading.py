"""A call is read once, whatever judges it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from sources import parsed
from toolguard_engine.effects.calls import read_only
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.commands import unwrap
from toolguard_engine.layers.layer_order import LAYERS
from toolguard_engine.model.call import Call
from toolguard_engine.rules import packs
from toolguard_engine.rules.rule_form import rule_from
from toolguard_engine.server import tool_hints
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.wire import messages

NOW = datetime(2026, 9, 6, 12, 0, tzinfo=UTC)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The texts that the shell grammar was given, from the outside."""
    texts: list[str] = []

    class CountedWalk(unwrap.Walk):
        def __init__(self, *given: Any) -> None:
            texts.append("")
            super().__init__(*given)

        def text(self, text: str, *given: Any, **named: Any) -> Any:
            texts[-1] = texts[-1] or text
            return super().text(text, *given, **named)

    monkeypatch.setattr(unwrap, "Walk", CountedWalk)
    return texts


@pytest.mark.parametrize(
    ("command", "decision"),
    [
        ("ls -la", "allow"),
        ("git push --force && rm -rf ~/letters", "block"),
        ("cat ~/.openclaw/toolguard/key", "block"),
        ('for f in a b; do bash -c "touch $f"; done', "allow"),
    ],
)
def test_the_shell_reads_a_command_once(command: str, decision: str, reads: list[str]) -> None:
    session = Session(Setup(tool_hints.load(), lambda: NOW, 42, packs.load(), home="/home/u"))
    config = {"budget": {"mode": "enforce"}, "loopDetection": {"enabled": True}}
    session.answer(messages.Hello(0, messages.VERSION, "/home/u/.openclaw", config))
    limits = {"id": "constraint.c", "severity": "advisory", "reason": "No.", "path": ["/srv/**"], "effect": ["write"]}
    scored = {"id": "user.d", "clarity": 1, "reason": "No.", "path": ["/srv/**"], "not_path": ["/x/**"]}
    programs = {**limits, "id": "constraint.e", "run": ["curl"]}
    severe = [rule_from(each, "constraint") for each in (limits, programs)]
    session.use_rules((*severe, rule_from(scored, "user")))
    reads.clear()
    answer = session.answer(messages.Judge(1, "exec", {"command": command}, agent="main", session="s", run="r", cwd="/w"))
    assert isinstance(answer, messages.VerdictAnswer)
    assert (answer.decision, reads) == (decision, [command])


def test_all_layers_have_one_shape() -> None:
    assert len(set(LAYERS)) == len(LAYERS)
    shapes = {tuple(_annotations(layer)) for layer in LAYERS}
    assert shapes == {("LayerInput", "Judgement", "Judgement | None")}


def _annotations(layer: Any) -> Iterator[str]:
    """The code that runs may have been packed without them."""
    tree = parsed(Path(layer.__file__))
    (judge,) = (node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "judge")
    yield from (ast.unparse(argument.annotation) for argument in judge.args.args if argument.annotation)
    yield ast.unparse(judge.returns) if judge.returns else ""


def test_the_quick_look_at_programs_hides_no_command_that_only_reads() -> None:
    shown = [example for rule in packs.load().rules for example in (*rule.matches, *rule.passes)]
    own = ("timeout 5 /usr/bin/ls", "time git log | xargs wc", "LC_ALL=C ls", "[ -f a ] && cat a", "printf '%s' a")
    params: list[dict[str, Any]] = [{"command": each} for each in (*shown, *own)]
    reads_only = [each for each in params if read_only.is_read_only("exec", each)]
    assert len(reads_only) >= len(own)
    assert [each for each in params if CallReading(Call("exec", each)).reads_only] == reads_only
