"""Every rule's own examples, and the shape of what the layer says."""

from __future__ import annotations

import pytest

from toolguard_engine import rules, shelltext
from toolguard_engine.layers import risky
from toolguard_engine.model import Call, Verdict

RULES = rules.load()


def verdict(command: object, tool: str = "exec") -> Verdict | None:
    return risky.judge(Call(tool, {"command": command}), RULES)


@pytest.mark.parametrize(("rule", "command"), [(r, c) for r in RULES for c in r.matches], ids=lambda v: getattr(v, "id", v))
def test_matches(rule: risky.Rule, command: str) -> None:
    assert verdict(command) is not None
    assert risky.judge(Call("exec", {"command": command}), (rule,)) == Verdict("hold", f"rule.{rule.id}", reason=rule.reason)


@pytest.mark.parametrize("command", [c for rule in RULES for c in rule.passes])
def test_passes(command: str) -> None:
    assert verdict(command) is None


@pytest.mark.parametrize(
    "command", ["echo cm0gLXJmIC90bXAvYQ== | base64 -d | sh", "r''m -rf a", "a=rm; $a -rf x", "echo 'rm -rf x' | sh"]
)
def test_hidden(command: str) -> None:
    found = verdict(command)
    assert found is not None
    assert found.code == "rule.recursive-delete"


def test_other_tools_and_shapes() -> None:
    assert verdict("rm -rf x", "message") is None
    assert verdict(None) is None
    assert risky.judge(Call("exec", None), RULES) is None


def test_what_is_too_long_to_be_looked_through_asks() -> None:
    held = verdict("echo " + "a" * shelltext.MAX_CHARS)
    assert held is not None
    assert (held.decision, held.code) == ("hold", "rule.too-long")
    assert verdict("echo " + "a" * (shelltext.MAX_CHARS - 5)) is None
