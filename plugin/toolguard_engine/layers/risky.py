"""Commands that wait for a person, by rules that are data (`toolguard_manifests/risky.toml` has their law)."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from toolguard_engine.layers import calltexts
from toolguard_engine.model import Call, Verdict
from toolguard_engine.shelltext import MAX_CHARS
from toolguard_engine.shellwords import INTERPRETERS, UNKNOWN, WRAPPERS, Line, Simple, base, is_textual, names, read
from toolguard_engine.toolsearch import tool_name

TOO_LONG_CODE = "rule.too-long"
TOO_LONG = f"A command of more than {MAX_CHARS} characters is not looked through."
NOT_WHOLE = "This command is too intricate to be looked through."
_MAX_WRAPPERS = 12
_MAX_PIPELINE = 600
_SHELLS = names("sh bash zsh dash ksh ash fish")
_FETCHERS = frozenset({"curl", "wget", "fetch"})
_SUBCOMMANDS = names("git svn hg dvc npm pnpm yarn")
"""Commands of which `rm` is a sub-command that takes back nothing but what they keep themselves."""


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
    if not isinstance(call.params, dict):
        return None
    tool = tool_name(call.tool)
    commands = calltexts.commands(tool, call.params)
    ran = [rule for rule in rules if (tool in rule.tools or (commands and "exec" in rule.tools))]
    if not ran:
        return None
    if not commands:
        return _first(ran, [f"{tool} {path}" for path in calltexts.paths(tool, call.params)])
    return next((found for command in commands if (found := _judge(command, ran))), None)


def _judge(command: str, rules: list[Rule]) -> Verdict | None:
    if len(command) > MAX_CHARS:
        return Verdict("hold", TOO_LONG_CODE, reason=TOO_LONG)
    reading = read(command)
    if not reading.whole or any(_long_pipeline(line) for line in reading.lines):
        return Verdict("hold", TOO_LONG_CODE, reason=NOT_WHOLE)
    return _first(rules, [text for line in reading.lines for text in _texts(line)])


def _first(rules: list[Rule], texts: list[str]) -> Verdict | None:
    for rule in rules:
        if any(rule.pattern.match(text) for text in texts):
            return Verdict("hold", f"rule.{rule.id}", reason=rule.reason)
    return None


def _texts(line: Line) -> Iterator[str]:
    """What rules are matched against: each pipeline from each of its commands on, with and without wrappers."""
    spelled = [_spelled(simple, simple.words) for simple in line]
    for at, simple in enumerate(line):
        piped = _piped_to(line, spelled, at)
        yield spelled[at] + piped
        for start in _starts(simple):
            yield _spelled(simple, simple.words[start:]) + piped
    yield from _fetched(line)


def _starts(simple: Simple) -> set[int]:
    """Where else in its words something may begin that runs: after wrappers, and at every `rm`."""
    last = len(simple.words) - len(simple.unwrapped())
    wrappers = {at for at in range(1, min(last, _MAX_WRAPPERS)) if base(simple.words[at]) in WRAPPERS}
    removing = set()
    if not is_textual(simple) and simple.name not in _SUBCOMMANDS:
        removing = {at for at, word in enumerate(simple.words) if word.endswith("rm") and base(word) == "rm"}
        removing = {*sorted(removing)[:_MAX_WRAPPERS], *sorted(removing)[-1:]}
    return {last, *wrappers, *removing} - {0}


def _fetched(line: Line) -> Iterator[str]:
    """`sh -c "$(curl x)"`, `bash <(curl x)` and the like, as the pipeline that they amount to."""
    if any(simple.name in _FETCHERS for simple in line) and any(_runs_output(simple) for simple in line):
        yield "curl | sh"


def _runs_output(simple: Simple) -> bool:
    """Whether the text that it runs is what another command prints."""
    words = simple.unwrapped()
    if simple.words[:1] and simple.words[0] in {"source", "."}:
        words = simple.words
    elif words and not _is_output(words[0]) and not (base(words[0]) in _SHELLS or INTERPRETERS.fullmatch(base(words[0]))):
        return False
    given = next((word for word in words[1:] if not word.startswith("-")), "")
    return any(_is_output(word) for word in (*words[:1], given))


def _is_output(word: str) -> bool:
    return word.startswith((UNKNOWN, "$(", "`"))


def _piped_to(line: Line, spelled: list[str], at: int) -> str:
    text = ""
    while line[at].piped and at + 1 < len(line) and len(text) < _MAX_PIPELINE:
        at += 1
        text += " | " + spelled[at]
    return text


def _long_pipeline(line: Line) -> bool:
    """Whether a pipeline goes on after so much text that its end was not matched with its beginning."""
    length, first = 0, True
    for simple in line:
        length = length + len(_spelled(simple, simple.words)) if simple.piped and not first else 0
        if length > _MAX_PIPELINE:
            return True
        first = not simple.piped
    return False


def _spelled(simple: Simple, words: list[str]) -> str:
    shown = [base(words[0]), *words[1:]] if words else []
    text = " ".join(["_" if " " in word or "\n" in word else word for word in shown])
    return text + "".join([f" > {target}" for target in simple.writes])
