"""What a person sees of a held call before deciding, on every surface: a small structure that each of them only lays out.

Dangers come first, the worst at the top, each with its target and what is there now. So do rules without an effect.
Code has its lines; of many, those that are dangerous are always there, and the others are counted. Pure: what is on disk is
given as `Facts`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from msgspec import Struct, structs

from toolguard_engine.approvals import call_source, effect_words
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.model.held_details import HeldDetails, HeldEffect, HeldRule
from toolguard_engine.wording.folded_text import MAX_PARTS, NARROW, folded, places
from toolguard_engine.wording.printable import counted, plain

MAX_ROWS = 8
"""Lines of code that are shown, if no more of them are dangerous."""
MAX_MARKED = 8
"""Dangerous lines that are shown."""
MAX_ROW = 220
"""Characters of a line of code."""
MAX_FIELD = 60
"""Characters of an argument that stands beside others, not as code."""
MAX_FIELDS = 6
MAX_BLOCKS = 4
"""Arguments that are shown on their own; the others are together in the last block."""
TAB = "    "

UNNAMED = "does something that the guard cannot name: read the call itself"
"""Instead of effects, where none is known."""
UNREAD = "the guard cannot say that what is left out is harmless: read the whole call"

UNKNOWN = "unknown-program"

CODE_NAMES = frozenset({"command", ""})
"""Arguments that are code, however short."""


Spellings = tuple[str, ...]
"""How one thing may be written in a call."""


class Facts(Struct, frozen=True):
    """What is on disk or on the other side now: of each effect, in their order, and of rules by their ids."""

    effects: tuple[str, ...] = ()
    rules: Mapping[str, str] = {}


class Danger(Struct, frozen=True, rename="camel"):
    """`text`: a verb and its target; `brief`: the same where there is less room; `now`: what is there now; `why`: what the
    rules about it say; `target`: what it is about, where there is no room for a verb."""

    text: str
    brief: str
    now: str = ""
    why: tuple[str, ...] = ()
    target: str = ""


class CodeRow(Struct, frozen=True, rename="camel"):
    number: int
    text: str
    danger: bool = False


class CodeBlock(Struct, frozen=True, rename="camel"):
    """One argument as code, or those together that there is no room for. `rows`: the lines that are shown; `hidden`: how
    many others there are; `whole`: all of them."""

    name: str
    rows: tuple[CodeRow, ...]
    hidden: int
    whole: str


class HeldView(Struct, frozen=True, rename="camel"):
    """`title`: how many dangers, in words. `also`: effects that no rule is about. `changes`: what is new since it was shown
    or granted. `why`: why it is held, where that is more than the dangers say. `notes`: what is not shown. `complete`:
    nothing of the call is left out; `read`: the guard has read all of it, and what it found dangerous is shown;
    `enough`: one of both."""

    title: str
    dangers: tuple[Danger, ...]
    also: tuple[str, ...]
    changes: tuple[str, ...]
    why: str
    fields: tuple[str, ...]
    blocks: tuple[CodeBlock, ...]
    notes: tuple[str, ...]
    complete: bool
    read: bool
    enough: bool


def view(entry: HeldCall, facts: Facts | None = None) -> HeldView:
    details = entry.details or HeldDetails()
    named, also = _listed(details, facts or Facts())
    effects = (
        () if named else tuple(_of_effect(effect, now) for effect, now in _with_facts(details.effects, facts or Facts()))
    )
    dangers = named or effects or (Danger(UNNAMED, UNNAMED),)
    fields, blocks, placed = _code(entry, details)
    complete = entry.whole and not any(block.hidden or _is_cut(block) for block in blocks)
    read = entry.whole and placed and _is_read(entry, details)
    enough = complete or read
    return HeldView(
        _title(named, dangers, details.more),
        dangers,
        tuple(_with(text, now) for text, now in also) if named else (),
        tuple(plain(line) for line in entry.changes),
        _why(entry, details),
        fields,
        blocks,
        tuple(_notes(entry, details, hidden=not complete, enough=enough)),
        complete,
        read,
        enough,
    )


def dangers_of(entry: HeldCall) -> list[Spellings]:
    """What the call does something to, and what its reason and its rules name, each in the spellings that it may have."""
    if entry.details is None:
        return []
    named = re.findall(r"\(([^()]{3,})\)$", entry.reason)[:1]
    texts = [*named, *(rule.target for rule in entry.details.rules)]
    effects = [(effect.target, effect.path) for effect in entry.details.effects]
    parts = [tuple(filter(None, effect)) for effect in [*effects, *((text,) for text in texts)]]
    return list(dict.fromkeys(tuple(text.removesuffix("...") for text in part) for part in parts if part))


def _title(named: Sequence[Danger], shown: Sequence[Danger], more: int) -> str:
    noun = "danger" if named or not shown or shown[0].text == UNNAMED else "effect"
    return f"{'at least ' if more else ''}{counted(len(shown), noun)}"


def _listed(details: HeldDetails, facts: Facts) -> tuple[tuple[Danger, ...], list[tuple[str, str]]]:
    """The dangers, those of the strongest rule first, and the effects that no rule is about, each with what is there now."""
    details, acts = _listed_once(details, facts)
    rules = sorted(details.rules, key=lambda rule: (not rule.severity, -rule.strength))
    if not rules:
        return (), []
    dangerous = _dangerous(details)
    ranked: dict[str, tuple[int, Danger]] = {}
    also: list[tuple[str, str]] = []
    for effect, now in acts:
        own = [rule for rule in rules if rule.target and rule.target == effect.target]
        rank = rules.index(own[0]) if own else len(rules)
        if effect.target not in dangerous:
            also.append((_in_short(_does(effect)), now))
        elif effect.target in ranked:
            ranked[effect.target] = (rank, _joined(ranked[effect.target][1], _does(effect), now))
        else:
            known = "; ".join(filter(None, (_known(own, facts), now)))
            danger = Danger(_does(effect), _acts(effect), known, tuple(map(_reason, own)), plain(effect.target))
            ranked[effect.target] = (rank, danger)
    for target, group in _grouped([rule for rule in rules if not rule.target or rule.target not in ranked]).items():
        ranked[target] = (rules.index(group[0]), _of_rules(target, group, facts))
    return tuple(danger for _, danger in sorted(ranked.values(), key=lambda pair: pair[0])), also


def _listed_once(details: HeldDetails, facts: Facts) -> tuple[HeldDetails, list[tuple[HeldEffect, str]]]:
    """The details, and the effects with what is there now, without programs that only their words describe though a rule is
    about the same with its arguments: rules about these words are then about that."""
    words = [effect.target for effect in details.effects if effect.kind == UNKNOWN]
    targets = [(word, rule.target) for rule in details.rules for word in words if rule.target.startswith(f"{word} ")]
    known = dict(reversed(targets))
    acts = _with_facts(details.effects, facts)
    acts = [(effect, now) for effect, now in acts if effect.kind != UNKNOWN or effect.target not in known]
    rules = tuple(structs.replace(rule, target=known.get(rule.target, rule.target)) for rule in details.rules)
    return structs.replace(details, effects=tuple(effect for effect, _ in acts), rules=rules), acts


def _of_effect(effect: HeldEffect, now: str) -> Danger:
    """An effect that no rule is about, where there are no others."""
    text, brief, target = (_in_short(text) for text in (_does(effect), _acts(effect), plain(effect.target)))
    return Danger(text, brief, now, target=target)


def _joined(danger: Danger, text: str, now: str) -> Danger:
    """One danger for two effects on the same."""
    known = danger.now if now in danger.now else _with(now, danger.now)
    return Danger(f"{danger.text}; {text}", danger.brief, known, danger.why, danger.target)


def _in_short(text: str) -> str:
    """The first line of a text, which stands as a whole in the code."""
    first, line_end, _ = text.partition("<U+000A>")
    return f"{first}..." if line_end else first


def _with_facts(effects: Sequence[HeldEffect], facts: Facts) -> list[tuple[HeldEffect, str]]:
    known = [*facts.effects, *[""] * len(effects)]
    return list(zip(effects, known, strict=False))


def _grouped(rules: Sequence[HeldRule]) -> dict[str, list[HeldRule]]:
    """Rules about the same; one without a target is alone."""
    groups: dict[str, list[HeldRule]] = {}
    for rule in rules:
        groups.setdefault(rule.target or f"\0{rule.rule}", []).append(rule)
    return groups


def _of_rules(target: str, rules: Sequence[HeldRule], facts: Facts) -> Danger:
    first, *others = rules
    about = "" if target.startswith("\0") else f": {target}"
    text = plain(f"{_clause(first)}{about}")
    brief = text if target.startswith("\0") else plain(target)
    return Danger(text, brief, _known(rules, facts), (_named(first), *map(_reason, others)))


def _known(rules: Sequence[HeldRule], facts: Facts) -> str:
    """What is known of that which the rules are about."""
    return plain(next((facts.rules[rule.rule] for rule in rules if rule.rule in facts.rules), ""))


def _does(effect: HeldEffect) -> str:
    return plain(effect_words.does(effect.kind, effect.target, effect.flags))


def _acts(effect: HeldEffect) -> str:
    return plain(effect_words.does(effect.kind, effect.target, ()))


def _clause(rule: HeldRule) -> str:
    """Its reason behind "it": without the pronoun and the full stop."""
    return rule.reason.removeprefix("It ").rstrip(".")


def _reason(rule: HeldRule) -> str:
    return f"{plain(_clause(rule))} ({_named(rule)})"


def _named(rule: HeldRule) -> str:
    return plain(f"{rule.rule}, {rule.severity}" if rule.severity else rule.rule)


def _with(text: str, now: str) -> str:
    return f"{text}; {now}" if now else text


def _why(entry: HeldCall, details: HeldDetails) -> str:
    """The reason without what a rule says, which stands with the dangers."""
    reason = entry.reason
    for rule in details.rules:
        reason = reason.replace(f"{rule.reason} ({rule.target})", "").replace(rule.reason, "")
    reason = plain(reason.strip())
    return f"{reason} ({plain(entry.code)})" if reason and entry.code and not details.rules else reason


def _code(entry: HeldCall, details: HeldDetails) -> tuple[tuple[str, ...], tuple[CodeBlock, ...], bool]:
    """The short arguments, those that are code, and whether all that is dangerous stands in the lines that are shown."""
    given = [_Argument(name, _lines(text)) for name, text in call_source.arguments(entry.shown, entry.tool)]
    parts, dangerous = dangers_of(entry), _dangerous(details)
    fields, code = _parted(given, [part for part in parts if not dangerous.isdisjoint(part)])
    blocks, in_sight, marks = list[CodeBlock](), set[Spellings](), MAX_MARKED
    for name, lines in code:
        block, here = _block(name, lines, parts, dangerous, (max(1, MAX_ROWS // len(code)), marks))
        blocks.append(block)
        in_sight |= here
        marks -= sum(row.danger for row in block.rows)
    in_sight |= {part for part in parts if any(places(field, text) for field in fields for text in part)}
    return fields, tuple(blocks), bool(parts) and in_sight >= set(parts)


class _Argument(NamedTuple):
    name: str
    lines: list[str]


def _parted(given: Sequence[_Argument], dangers: Sequence[Spellings]) -> tuple[tuple[str, ...], list[_Argument]]:
    """The short arguments in words, and those that are code: what runs first, then what is dangerous. Of more than there is
    room for, the others are one block, in which each line has its argument's name or is indented."""
    short = {at for at, argument in enumerate(given) if _is_short(argument)}
    if short and len(short) == len(given):
        short.remove(max(short, key=lambda at: len(given[at].lines[0])))

    def rank(at: int) -> tuple[bool, bool, int]:
        name, lines = given[at]
        return name not in CODE_NAMES, not any(_numbers(lines, part) for part in dangers), at

    fields, code = sorted(short, key=rank), sorted(set(range(len(given))) - short, key=rank)
    if len(fields) <= MAX_FIELDS and len(code) <= MAX_BLOCKS:
        others = []
    else:
        others = sorted([*fields[MAX_FIELDS:], *code[MAX_BLOCKS - 1 :]])
        fields, code = fields[:MAX_FIELDS], code[: MAX_BLOCKS - 1]
    blocks = [_Argument(plain(given[at].name), given[at].lines) for at in code]
    if others:
        rest = [line for at in others for line in _in_one(given[at])]
        blocks.append(_Argument(counted(len(others), "other argument"), rest))
    return tuple(line for at in sorted(fields) for line in _in_one(given[at])), blocks


def _is_short(argument: _Argument) -> bool:
    name, (first, *others) = argument
    return not others and name not in CODE_NAMES and max(len(name), len(first)) <= MAX_FIELD


def _in_one(argument: _Argument) -> list[str]:
    first, *others = argument.lines
    return [f"{plain(argument.name)}: {first}", *(f"{TAB}{line}" for line in others)]


def _dangerous(details: HeldDetails) -> set[str]:
    """The targets of all dangers: what rules are about and what is done like that, or everything where no rule names any."""
    targets = {rule.target for rule in details.rules if rule.target}
    kinds = {effect.kind for effect in details.effects if effect.target in targets}
    return targets | {effect.target for effect in details.effects if effect.kind in kinds or not targets}


def _lines(text: str) -> list[str]:
    return [plain(line.replace("\t", TAB)) for line in text.replace("\r\n", "\n").split("\n")]


def _block(
    name: str, lines: Sequence[str], parts: Sequence[Spellings], dangerous: set[str], room: tuple[int, int]
) -> tuple[CodeBlock, set[Spellings]]:
    """One argument, and which of `parts` are there, those of dangers in sight. `room`: how many lines, if not more are
    dangerous, and how many of those that are."""
    most, marks = room
    spots = {part: _numbers(lines, part) for part in parts}
    dangers = {part for part in parts if not dangerous.isdisjoint(part)}
    marked = sorted({at for part in dangers for at in spots[part]})
    kept = set(marked[:marks])
    for at in range(len(lines)):
        if len(kept) >= most and len(lines) > most + 1:
            break
        kept.add(at)
    shown = {at: _row(lines[at], [part for part, numbers in spots.items() if at in numbers]) for at in sorted(kept)}
    rows = tuple(CodeRow(at + 1, _ends(lines[at]) if text is None else text, at in marked) for at, text in shown.items())
    in_sight = {at for at, text in shown.items() if text is not None}
    here = {part for part, numbers in spots.items() if numbers and (part not in dangers or in_sight.issuperset(numbers))}
    return CodeBlock(name, rows, len(lines) - len(rows), "\n".join(lines)), here


def _numbers(lines: Sequence[str], part: Spellings) -> list[int]:
    """The lines where this begins, in the first of its spellings that stands there."""
    text = "\n".join(lines)
    for spelling in part:
        if spans := places(text, "\n".join(_lines(_with_line_ends(spelling)))) or places(text, _first_line(spelling)):
            if len(spans) > MAX_PARTS:
                return list(range(len(lines)))
            starts = [0, *accumulate(len(line) + 1 for line in lines)]
            return sorted({bisect_right(starts, start) - 1 for start, _ in spans})
    return []


def _with_line_ends(text: str) -> str:
    return text.replace("<U+000A>", "\n")


def _first_line(text: str) -> str:
    return _lines(_with_line_ends(text))[0]


def _row(line: str, parts: Sequence[Spellings]) -> str | None:
    """A line in about `MAX_ROW` characters: whole, or around each place where one of `parts` stands. None if that is not
    possible; without parts, its two ends."""
    if len(line) <= MAX_ROW:
        return line
    return folded(line, [tuple(map(_first_line, part)) for part in parts], 2 * MAX_ROW, NARROW) if parts else _ends(line)


def _ends(line: str) -> str:
    left, right = MAX_ROW * 2 // 3, MAX_ROW // 6
    return f"{line[:left]} ...[{len(line) - left - right:,} characters not shown]... {line[-right:]}"


def _is_cut(block: CodeBlock) -> bool:
    lines = block.whole.split("\n")
    return any(row.text != lines[row.number - 1] for row in block.rows)


def _is_read(entry: HeldCall, details: HeldDetails) -> bool:
    """Whether the guard has read all of it, so that what is not named is harmless: of commands it has, of files that are
    written and of messages it has not."""
    from toolguard_engine.approvals.grant_matching import kind_of  # noqa: PLC0415 - reads commands, and is slow to import

    return kind_of(entry.tool) == "words" and not details.more and all(effect.kind != "write" for effect in details.effects)


def _notes(entry: HeldCall, details: HeldDetails, *, hidden: bool, enough: bool) -> list[str]:
    notes = []
    if details.more:
        notes.append(f"and {details.more} more that there is no room for")
    if not entry.whole:
        notes.append("parts of this call are too long to be shown anywhere: see the agent's session")
    if hidden and entry.whole and not enough:
        notes.append(UNREAD)
    return notes
