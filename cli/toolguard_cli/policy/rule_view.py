"""The person's own rules in `policy.toml`, in words, and what is wrong with one."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import msgspec

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.policy import offline_guard
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.rules import vocabulary
from toolguard_engine.rules.rulebook import Rule
from toolguard_engine.stores import open as stores
from toolguard_engine.stores import toml_file
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.toml_file import InvalidTomlError
from toolguard_engine.stores.values import InvalidRulesError, Placed, PolicyError
from toolguard_engine.wording import printable
from toolguard_engine.wording.visible_text import one_line, visible

LIST = "toolguard check --list"
MAX_LINE = 160
_DOES = {"mandatory": "blocks", "required": "asks before", "advisory": "notes"}


def broken(places: Places) -> StoreError | None:
    """What is wrong with the policy, if something is. Raises `UserError` where it cannot be read at all."""
    with gateway_stores.user_errors():
        try:
            stores.grants(places.state_dir).grants()
            stores.user_rules(places.state_dir).rules()
        except (PolicyError, InvalidRulesError) as error:
            return error
    return None


def report(command: str, error: StoreError) -> Result:
    text = printable.plain(str(error))
    message, _, fix = text.rpartition("; ")
    if not isinstance(error, InvalidRulesError):
        return Result(command, {"error": {"said": text}}, (Line("error", message or text), Line("next", fix or text)), 1)
    lines = [Line("error", message.removesuffix("; ")), *_excerpt(error), Line("next", error.fix)]
    at = {"file": str(error.path), "line": error.at.line, "column": error.at.column}
    return Result(command, {"error": {**at, "said": error.message, "mend": error.fix}}, tuple(lines), 1)


def _excerpt(error: InvalidRulesError) -> list[Line]:
    try:
        lines = toml_file.text_of(error.path).splitlines()
    except (InvalidTomlError, StoreError):
        return []
    if not 0 < error.at.line <= len(lines):
        return []
    shown = visible(one_line(lines[error.at.line - 1]))
    if error.at.column > MAX_LINE:
        return []
    mark = [Line("info", f"{'':>5} | {' ' * (error.at.column - 1)}^")] if error.at.column else []
    return [Line("info", f"{error.at.line:>5} | {shown[:MAX_LINE]}"), *mark]


def unknown_off(names: Iterable[str], own: Iterable[str] = ()) -> Iterator[tuple[str, str]]:
    """Names in `rulesOff` that no rule and no pack has, each with a message."""
    rules = {rule.id for rule in offline_guard.all_rules()}.union(own)
    known = rules.union(name.partition(".")[0] for name in rules)
    for name in names:
        if name not in known:
            near = vocabulary.nearest(name, known)
            meant = f"; did you mean {near}?" if near else ""
            yield name, f"rulesOff names {printable.cut(printable.plain(name), 80)}: there is no such rule or pack{meant}"


def off(judged: offline_guard.Judging) -> list[Line]:
    return [Line("warn", text) for _, text in unknown_off(judged.config.rules_off, judged.own)]


def taken(placed: Placed, path: Path) -> str:
    """The error if a rule has the id of a built-in one; else empty."""
    if all(known.id != placed.rule.id for known in offline_guard.all_rules()):
        return ""
    return f"{printable.plain(str(path))}, line {placed.at.line}: {placed.rule.id} is the id of a built-in rule"


def describe(rule: Rule) -> str:
    """What it asks for and does, for a person: `blocks write, delete to ~/prod/** by main`."""
    return printable.plain(f"{_DOES.get(rule.severity) or adds(rule)} {' '.join(_parts(rule))}")


def adds(rule: Rule) -> str:
    return rule.severity or ("blocks" if rule.verdict else f"+{rule.clarity}, +{rule.stakes}")


def _parts(rule: Rule) -> Iterator[str]:
    yield "/".join(rule.run) or ("/".join(rule.tool) if rule.tool and "*" not in rule.tool else "every call")
    yield from _acts(rule)
    if rule.path:
        yield f"on {', '.join(rule.path)}"
    if rule.not_path:
        yield f"{'but' if rule.path else 'on anything but'} {', '.join(rule.not_path)}"
    for name, who in (("by", rule.agent), ("in", rule.channel), ("for", rule.requester)):
        if who:
            yield f"{name} {', '.join(_negated(other_name) for other_name in who)}"
    if rule.hours:
        yield f"from {rule.hours.replace('-', ' to ')}"
    if rule.days:
        yield f"on {', '.join(rule.days)}"
    if rule.timezone:
        yield f"({rule.timezone})"


def _acts(rule: Rule) -> Iterator[str]:
    for name, value in (("with", (*rule.any, *rule.all)), ("without", rule.none), ("through", rule.via)):
        if value:
            yield f"{name} {'/'.join(value)}"
    if rule.effect:
        yield f"that does {'/'.join(rule.effect)}"
    for name, place in (("in", rule.place), ("not in", rule.no_place)):
        if place:
            yield f"{name} {'/'.join(place)}"
    if rule.flags:
        yield f"({', '.join(rule.flags)})"
    if rule.params:
        yield "with " + " and ".join(f"{name} ~ {pattern}" for name, pattern in rule.params)
    yield from (f"~ {pattern}" for pattern in (rule.arg, rule.text) if pattern)
    yield from (f"but not ~ {pattern}" for pattern in (rule.no_arg, rule.unless) if pattern)


def _negated(name: str) -> str:
    return f"anybody but {name[1:]}" if name.startswith("!") else name


def public(rule: Rule) -> dict[str, Any]:
    """Its keys without the examples, the id as it is written, and the code of its verdicts."""
    bare = msgspec.structs.replace(rule, id=rule.name, matches=(), passes=())
    values: dict[str, Any] = {**msgspec.to_builtins(bare), "code": rule.code}
    return {**values, **({"params": dict(rule.params)} if rule.params else {})}
