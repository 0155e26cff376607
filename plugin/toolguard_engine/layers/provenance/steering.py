"""Text from outside that a call puts where later sessions take it for instructions: agent files, skills, settings. Pure.

A program that fetches, and a copy of a file that was fetched, count as they stand. Text that the agent writes itself counts
where it repeats external text: a line or a few words in a row; in the agent's own notes (`notes_file`) only a long
passage or an instruction, because notes name what was read. What a person said is theirs. The target of the effect names
the file and where the text came from.

Wherever it comes from, text counts that tells later sessions to run what they fetch, to conceal something or to trust
everything (`covert`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect
from toolguard_engine.effects.facts.places import normal
from toolguard_engine.layers.provenance import context as texts
from toolguard_engine.layers.provenance.context import RunContext
from toolguard_engine.layers.provenance.orders import is_instruction

MAX_TEXT = 32_768
MAX_EFFECTS = 20
_MAX_LINES = 400
_MAX_DEPTH = 3
_MIN_LINE = 24
_PIECE, _LONG_PIECE = 6, 12
_MAX_SHOWN = 100
_KINDS = frozenset({"write", "mcp-write", "link", "move"})
_FETCHERS = program_catalogue.programs("fetcher")
_FILES = program_catalogue.words("steering_file")
_FOLDERS = program_catalogue.words("steering_folder")
_NOTES = program_catalogue.words("notes_file")
_BODIES = ("content", "newtext", "new_string", "text", "patch", "input", "file_text", "data", "body")


def judge(reading: CallReading, effects: Sequence[Effect], context: RunContext | None) -> Effect | None:
    """The effect of kind `provenance` with the flag `steer` or `covert` that a call has, if any."""
    for effect in effects[:MAX_EFFECTS]:
        if effect.kind not in _KINDS or not (name := steered(effect.target)):
            continue
        if origin := _origin(reading, effect, name, context):
            shown = f"{effect.target[-_MAX_SHOWN:]}, from {origin[:_MAX_SHOWN]}"
            return Effect("provenance", shown, "", frozenset(["steer"]), effect.program)
        if name in _FILES and (order := _covert([*_written(reading, effect), *reading.commands])):
            return Effect("provenance", f"{effect.target[-_MAX_SHOWN:]}: {order}", "", frozenset(["covert"]), effect.program)
    return None


_COVERT = lazy_re.compile(
    r"\b(?:curl|wget)\b[^\n|]{1,300}\|\s{0,4}(?:sudo\s{1,4})?(?:\S{0,40}/)?(?:(?:ba|z|da|k)?sh|python3?|node|perl)\b"
    r"|\b(?:do not|don't|never)\s{1,4}(?:tell|mention|inform|reveal|disclose|show)\b[^.\n]{0,40}"
    r"\b(?:(?:this|these)\s{1,4}(?:step|steps|instruction|instructions|rule|rules|line|section)|the\s{1,4}(?:user|owner|human))\b"
    r"|\bignore\b[^.\n]{0,30}\b(?:security|safety)\b[^.\n]{0,20}\b(?:warnings?|rules?|prompts?|checks?|policies)\b"
    r"|\b(?:skip|bypass|disable)\s{1,4}(?:the\s{1,4}|all\s{1,4}|any\s{1,4})?(?:confirmations?|approvals?|permissions?|safety)\b"
    r"|\b(?:post|send|upload|report)\b[^.\n]{0,60}\b(?:env|environment|secrets?|tokens?|credentials|passwords?|keys)\b[^\n]{0,60}"
    r"https?://"
    r"|\b(?:approve|trust|allow|accept)\s{1,4}(?:all|any|every)\s{1,4}(?:commands?|requests?|instructions?|calls?)\b",
    re.IGNORECASE,
)


def _covert(bodies: Sequence[str]) -> str:
    """The first order to run what is fetched, to conceal something or to trust everything."""
    match = next(filter(None, (_COVERT.search(body[:MAX_TEXT]) for body in bodies)), None)
    return match[0][:_MAX_SHOWN] if match else ""


def steered(path: str) -> str:
    """The name under which a file steers agents or runs by itself; empty for any other file."""
    parts = path.replace("\\", "/").rstrip("/").lower().rsplit("/", 4)
    if parts[-1] in _FILES:
        return parts[-1]
    return next((part for part in parts[:-1] if part in _FOLDERS), "")


def _origin(reading: CallReading, effect: Effect, name: str, context: RunContext | None) -> str:
    run = effect.program
    if run is not None:
        before = run.stdin.programs if run.stdin is not None else ()
        if "fetched" in effect.flags or run.name in _FETCHERS or not _FETCHERS.isdisjoint(before):
            return "an address that it fetches"
        for word in run.argv[1:20] if effect.flags & {"copied", "linked"} or effect.kind in ("move", "link") else ():
            record = reading.made.recall(normal(word, reading.command_where, run.cwd))
            if record is not None and record.origin == "outside":
                return record.source or "a file that was fetched"
    if context is None or not (context.outside or context.others):
        return ""
    return _repeated(_written(reading, effect), context, is_notes=name in _NOTES)


def _written(reading: CallReading, effect: Effect) -> list[str]:
    return _argv_texts(effect) if effect.program is not None else list(_bodies(reading.params, 0))


def _argv_texts(effect: Effect) -> list[str]:
    run = effect.program
    if run is None:
        return []
    given = [run.stdin.text] if run.stdin is not None and run.stdin.text else []
    given += [redirect.target for redirect in run.redirects if redirect.kind == "text"]
    return [text.replace(UNKNOWN, " ") for text in (*run.argv[1:], *given)]


def _bodies(value: Any, depth: int, key: str = "content") -> Iterator[str]:
    if isinstance(value, str):
        if key.lower() in _BODIES:
            yield value
    elif isinstance(value, dict | list) and depth < _MAX_DEPTH:
        for name, item in islice(
            value.items() if isinstance(value, dict) else ((key, item_of_list) for item_of_list in value), 100
        ):
            yield from _bodies(item, depth + 1, str(name))


def _repeated(bodies: list[str], context: RunContext, *, is_notes: bool) -> str:
    """Where the external text came from that these texts repeat."""
    known = frozenset().union(*map(_runs_of_words, (*context.outside, context.others)))
    for line in islice((line for body in bodies for line in _lines(body[:MAX_TEXT])), _MAX_LINES):
        for piece in _shared(line, known):
            long = piece.count(b" ") >= _LONG_PIECE - 1 or is_instruction(piece) or is_instruction(line)
            if (long or not is_notes) and context.by_person(piece) < 0 and (origin := context.origin(piece)):
                return origin
    return ""


def _shared(line: bytes, known: frozenset[int]) -> Iterator[bytes]:
    """The parts of a line, as long as possible, that consist of runs of words in `known`; a short line is one part."""
    words = line.split(b" ")
    if len(words) < _PIECE:
        yield line
        return
    at = 0
    while at + _PIECE <= len(words):
        end = at
        while end + _PIECE <= len(words) and hash(tuple(words[end : end + _PIECE])) in known:
            end += 1
        if end > at:
            yield b" ".join(words[at : end + _PIECE - 1])
        at = end + 1


@lru_cache(maxsize=32)
def _runs_of_words(text: bytes) -> frozenset[int]:
    """Every run of `_PIECE` words, as a hash."""
    words = text.split(b" ")
    return frozenset(hash(tuple(words[at : at + _PIECE])) for at in range(len(words) - _PIECE + 1))


def _lines(body: str) -> Iterator[bytes]:
    for line in body.split("\n"):
        if len(line) >= _MIN_LINE:
            yield texts.normal(_MARKS.sub("", line, count=1))


_MARKS = lazy_re.compile(r"^[+\s>#*-]{0,8}(?:\d{1,3}[.)] )?")
"""What begins a line of a patch, a list or a heading."""
