"""The details of a hold: all its effects and rules, not only the one that names the verdict."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import UNKNOWN, Effect
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.model.held_details import MAX_EFFECTS, MAX_RULES, MAX_TARGET, HeldDetails, HeldEffect, HeldRule
from toolguard_engine.rules import alike, worked_on
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.rules.rulebook import Match
from toolguard_engine.wording.redact import cut, redact_text


def collect(judgement: Judgement, reading: CallReading, waits: Mapping[str, int]) -> HeldDetails:
    """Collects the details for a judgement that holds a call. `waits`: see `Rulebook.waits`."""
    where = reading.command_where
    files = tuple(sorted({file.digest for file in reading.running.judged.values()})) if reading.commands else ()
    distinct = {
        (effect.kind, effect.target, effect.place, effect.flags, effect.program and effect.program.cwd): effect
        for effect in judgement.effects
    }
    strength = {match.target: _strength(match) for match in reversed(judgement.matches)}
    strongest = sorted(distinct.values(), key=lambda effect: -strength.get(effect.target, 0))  # they are what is cut last
    effects = list(dict.fromkeys(_effect(other_effect, where) for other_effect in strongest))
    matches = _distinct(judgement.matches, {effect.target for effect in distinct.values()})
    rules = [
        *(HeldRule(rule.id, _text(rule.reason), severity=rule.severity) for rule in judgement.severe),
        *(_rule(match, reading) for match in matches),
    ]
    more = max(0, len(effects) - MAX_EFFECTS) + max(0, len(rules) - MAX_RULES) + judgement.partial
    wait = min((waits[rule.rule] for rule in rules if rule.rule in waits), default=0)
    stakes = judgement.stakes if judgement.effects or judgement.matches else 0
    return HeldDetails(
        tuple(effects[:MAX_EFFECTS]), tuple(rules[:MAX_RULES]), more, files, wait, stakes, alike.collect(judgement, reading)
    )


def _distinct(matches: Sequence[Match], targets: set[str]) -> list[Match]:
    """One match of each rule, and all about what is no effect; the first about each target before others about the same, so
    that what there is no room for is a further reason and not a further danger."""
    by_rule = {(match.rule, "" if match.target in targets else match.target): match for match in reversed(matches)}
    first: dict[str, Match] = {}
    ordered = list(reversed(by_rule.values()))
    for match in ordered:
        first.setdefault(match.target, match)
    return sorted(ordered, key=lambda match: first[match.target] is not match)


def _strength(match: Match) -> int:
    return (match.clarity + 1) * (match.stakes + 1)


def _effect(effect: Effect, where: Where) -> HeldEffect:
    path = ""
    if effect.place not in ("", "remote") and effect.target:
        path = normal(effect.target, where, effect.program.cwd if effect.program else "")
    flags = tuple(sorted(effect.flags))
    return HeldEffect(effect.kind, _text(effect.target), worked_on.shown(path), flags, effect.place)


def _rule(match: Match, reading: CallReading) -> HeldRule:
    on = worked_on.place(match.program, reading) if match.program else ""
    return HeldRule(match.rule, _text(match.reason), _strength(match), target=_text(match.target), on=on)


def _text(text: str) -> str:
    return cut(redact_text(text[: 4 * MAX_TARGET].replace(UNKNOWN, "?")), MAX_TARGET)
