"""What a later call must have in common with a held one to be like it: the same rules, each about the same thing.

What a rule is about is a path, where its effect has one on this machine; else the whole address, as long as nothing but the
address says where the program connects to; else the program with its words. The words alone do not say where a program acts
if it is given anything else (input, variables, a wrapper such as `ssh`) or another program may have prepared the ground.
Then only the same call is like it. No call is like one of a client whose target settings choose (`kubectl config
use-context`).
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import structs

from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.places import normal
from toolguard_engine.model.held_details import BY_SETTINGS, MAX_ALIKE, MAX_TARGET, HeldAlike
from toolguard_engine.rules import session_areas
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.rules.rulebook import Match
from toolguard_engine.wording.redact import redact_text

_CLIENTS = program_catalogue.programs("context_client")
_BESIDE = program_catalogue.programs("safe_reader")
"""Programs that only read or print: they change nothing about what the others do."""

_ORDINARY_PARAMETERS = frozenset({"command", "workdir", "timeout", "yieldMs", "background"})
"""Parameters of a command that do not say where or as whom it runs, nor set variables; the folder is compared anyway."""

_FILE_PARAMETERS = frozenset({"path", "content", "edits"})
_BY_ADDRESS = frozenset({"web_fetch"})
"""Tools, other than commands, whose address says where they act."""


def collect(judgement: Judgement, reading: CallReading) -> tuple[HeldAlike, ...]:
    """Each thing once, in a fixed order; empty where there is too much, or something that cannot be compared."""
    try:
        whole = _whole(reading)
    except (TypeError, ValueError, RecursionError, OverflowError):
        return ()
    keys = {*_of_matches(judgement, reading, whole), *_beyond(judgement, reading, whole)}
    keys |= {HeldAlike(rule.id, about=whole, exact=True) for rule in judgement.severe}
    if reading.executes and not reading.params.keys() <= _ORDINARY_PARAMETERS:
        keys = {structs.replace(key, about=whole, exact=True) for key in keys}
    if keys and reading.params.keys() <= _parameters(reading) and (area := session_areas.find(judgement, reading)):
        keys = {structs.replace(key, area=area) for key in keys}
    kept = _without_repeats({_with_client(key, reading) for key in keys})
    return tuple(kept) if len(kept) <= MAX_ALIKE and all(map(_is_kept, kept)) else ()


def _parameters(reading: CallReading) -> frozenset[str]:
    """What a call may say, so that one like it may say something else."""
    return _ORDINARY_PARAMETERS if reading.executes else _FILE_PARAMETERS


def _of_matches(judgement: Judgement, reading: CallReading, whole: str) -> Iterator[HeldAlike]:
    """A match names one effect of the call, so all of that kind are listed."""
    by_target: dict[str, list[Effect]] = {}
    for effect in judgement.effects:
        by_target.setdefault(effect.target, []).append(effect)
    for match in judgement.matches:
        kinds = {effect.kind for effect in by_target.get(match.target, [])} if match.target else set()
        yield from (
            _of_effect(match.rule, other_effect, reading, whole)
            for other_effect in judgement.effects
            if other_effect.kind in kinds
        )
        if not kinds:
            yield _of_words(match, reading, whole)


def _beyond(judgement: Judgement, reading: CallReading, whole: str) -> Iterator[HeldAlike]:
    """Where the call reaches other machines, whatever the rules are about."""
    yield from (_of_effect("", effect, reading, whole) for effect in judgement.effects if effect.place == "remote")


def _without_repeats(keys: set[HeldAlike]) -> list[HeldAlike]:
    """The effects without those that a rule is about as well, in a fixed order."""
    stated = {(key.kind, key.about) for key in keys if key.rule}
    kept = [key for key in keys if key.rule or (key.kind, key.about) not in stated]
    return sorted(kept, key=lambda key: (key.rule, key.kind, key.about, key.flags))


def _of_effect(rule: str, effect: Effect, reading: CallReading, whole: str) -> HeldAlike:
    flags = tuple(sorted(effect.flags))
    if effect.place == "remote":
        address = _address(effect, reading)
        return HeldAlike(rule, effect.kind, address or whole, flags, effect.place, exact=not address)
    if effect.place not in ("", "unknown") and not _is_elsewhere(effect.program):
        path = normal(effect.target, reading.command_where, effect.program.cwd if effect.program else "")
        return HeldAlike(rule, effect.kind, path, flags, effect.place)
    words = _words(effect.program, reading) if effect.program else ""
    return HeldAlike(rule, effect.kind, words or whole, flags, effect.place, exact=not words)


def _with_client(key: HeldAlike, reading: CallReading) -> HeldAlike:
    """Says so where settings choose what a program of the call acts on. A path says it itself, and so does a request."""
    is_stated = not key.exact and (key.place not in ("", "unknown", "remote") or _is_request(key.about))
    if is_stated or not reading.commands or not any(run.name in _CLIENTS for run in reading.runs):
        return key
    return structs.replace(key, flags=tuple(sorted({*key.flags, BY_SETTINGS})))


def _is_request(address: str) -> bool:
    return address.rpartition(" ")[2].startswith(("http://", "https://"))


def _of_words(match: Match, reading: CallReading, whole: str) -> HeldAlike:
    runs = [run for run in reading.runs if " ".join((run.name, *run.argv[1:])) == match.target] if reading.commands else []
    words = _words(runs[0], reading) if len(runs) == 1 else ""
    return HeldAlike(match.rule, about=words or whole, exact=not words)


def _address(effect: Effect, reading: CallReading) -> str:
    """The whole address on another machine, with the method of a request; empty where it does not say enough."""
    if reading.tool == "message":
        return _recipient(reading.params)
    if not effect.target or not (reading.executes or reading.tool in _BY_ADDRESS):
        return ""
    return effect.target if effect.program is None or _goes_straight(effect.program, reading) else ""


def _goes_straight(run: ProgramRun, reading: CallReading) -> bool:
    """Whether only the address says where a program connects to: no option, variable, wrapper or other program does."""
    is_given = run.assigns or run.given or run.unset or run.via or run.cwd or run.origin is not None
    return not is_given and _is_alone(run, reading) and _has_ordinary_options(run)


def _has_ordinary_options(run: ProgramRun) -> bool:
    """Whether its manual says of all options that they change neither the connection nor the address."""
    if not run.readings:
        return not run.words.given
    words = run.readings[0]
    known = all("ordinary" in option.entry.traits for option in words.given)
    return known and len(run.readings) == 1 and not (words.unknown or words.doubtful)


def _is_alone(run: ProgramRun, reading: CallReading) -> bool:
    """Whether all other programs of the call only read or print."""
    return all(program is run or program.name in _BESIDE for program in reading.runs)


def _recipient(params: dict[str, Any]) -> str:
    """Who gets a message, whatever it says; empty where the call says more than that."""
    words = [params.get(name, "-") for name in _TO]
    is_known = all(isinstance(word, str) and word and not any(map(str.isspace, word)) for word in words)
    return " ".join(words) if is_known and params.keys() <= {*_TO, *_WORDING} else ""


_TO, _WORDING = ("channel", "target", "action"), ("message", "text")


def _is_elsewhere(run: ProgramRun | None) -> bool:
    """Whether a wrapper may carry the program to another machine, container or user, or into another folder."""
    return run is not None and any(name not in _LOCAL for name in run.via)


_LOCAL = program_catalogue.programs("shell", "sourcer") | {"sudo", "env", "nice", "nohup", "time", "timeout", "()"}
"""Wrappers that run a program here."""


def _words(run: ProgramRun, reading: CallReading) -> str:
    """A program with its words, where nothing else says what it does; empty otherwise."""
    is_given = run.stdin is not None or run.assigns or run.given or run.unset or run.cwd or run.origin is not None
    if is_given or run.via or any(redirect.kind in ("read", "text") for redirect in run.redirects):
        return ""
    text = _shown(run) if _is_alone(run, reading) else ""
    return "" if UNKNOWN in text else text


def _shown(run: ProgramRun) -> str:
    """Its words, quoted so that none of them can pass for several."""
    return shlex.join((run.name, *run.argv[1:]))


def _whole(reading: CallReading) -> str:
    text = msgspec.json.encode([reading.tool, reading.params], order="deterministic")
    return sha256(text).hexdigest()[:32]


def _is_kept(key: HeldAlike) -> bool:
    return len(key.about) <= MAX_TARGET and UNKNOWN not in key.about and redact_text(key.about) == key.about
