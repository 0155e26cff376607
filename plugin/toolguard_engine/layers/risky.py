"""Commands that wait for a person, by rules that are data (`toolguard_manifests/risky.toml` has their law)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolguard_engine.model import Call, Verdict
from toolguard_engine.shelltext import MAX_CHARS
from toolguard_engine.shellwords import WRAPPERS, Line, Simple, base, lines
from toolguard_engine.toolsearch import tool_name

TOO_LONG = f"A command of more than {MAX_CHARS} characters is not looked through."
_MAX_COMMANDS = 2000
_MAX_WRAPPERS = 12
_MAX_PIPELINE = 300
_MAX_TEXT = 4000


@dataclass(frozen=True, slots=True)
class Rule:
    """One kind of command that asks for a person. `matches` and `passes` are examples of what it is about and what not."""

    id: str
    tools: frozenset[str]
    pattern: re.Pattern[str]
    reason: str
    matches: tuple[str, ...] = ()
    passes: tuple[str, ...] = ()


def judge(call: Call, rules: tuple[Rule, ...]) -> Verdict | None:
    tool = tool_name(call.tool)
    apply = [rule for rule in rules if tool in rule.tools]
    command = call.params.get("command") if apply and isinstance(call.params, dict) else None
    if isinstance(command, list):
        command = " ".join(map(str, command))
    if not isinstance(command, str):
        return None
    if len(command) > MAX_CHARS:
        return Verdict(
            "hold", "rule.too-long", reason=f"A command of more than {MAX_CHARS} characters is not looked through."
        )
    texts = [text for line in lines(command) for text in _texts(line)]
    for rule in apply:
        if any(rule.pattern.match(text) for text in texts):
            return Verdict("hold", f"rule.{rule.id}", reason=rule.reason)
    return None


def _texts(line: Line) -> Iterator[str]:
    """What rules are matched against: each pipeline from each of its commands on, with and without wrappers."""
    for at, simple in enumerate(line[:_MAX_COMMANDS]):
        last = len(simple.words) - len(simple.unwrapped())
        for start in {*range(min(last, _MAX_WRAPPERS)), last}:
            if start in (0, last) or base(simple.words[start]) in WRAPPERS:
                yield _spelled(simple, simple.words[start:]) + _piped_to(line, at)


def _piped_to(line: Line, at: int) -> str:
    text = ""
    while line[at].piped and at + 1 < len(line) and len(text) < _MAX_PIPELINE:
        at += 1
        text += " | " + _spelled(line[at], line[at].words)
    return text


def _spelled(simple: Simple, words: list[str]) -> str:
    shown = [base(words[0]), *words[1:]] if words else []
    text = " ".join("_" if " " in word or "\n" in word else word for word in shown[:400])[:_MAX_TEXT]
    return text + "".join(f" > {target}" for target in simple.writes)
