"""Programs that run other programs, and where the inner command is among their words.

A program that does nothing else is in `wrappers.toml`, which explains the keys at the top. One with a manual has the same
keys in a table `runs` of that manual. `scripts/build_manifest` makes `wrappers.json` from both.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable
from functools import cache, lru_cache
from typing import Any

import msgspec

from toolguard_engine import packaged
from toolguard_engine.effects.manuals import manual_catalogue, manual_form, option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords, ParsedWord
from toolguard_engine.effects.manuals.manual_form import Manual

MADE = "wrappers.json"
_SOURCE = "wrappers.toml"
_OWN_KEYS = frozenset({"joined", "away", "dashes"})
_FEW = 32
"""Words among which the inner command mostly begins, so that a long command is not read as a whole."""


class Wrapper(msgspec.Struct, frozen=True, omit_defaults=True):
    """One program; see `wrappers.toml` for each member."""

    manual: Manual
    joined: bool = False
    away: bool = False
    dashes: bool = False


class WrapperWords(msgspec.Struct, frozen=True):
    """What a wrapper's words say. `runs`: whether it runs another program at all; `at`: where that begins, `len(argv)` if it
    is not there; `texts`: what options have for a shell, each of which may run; `folder`: where the program starts;
    `options`: those of the wrapper."""

    wrapper: Wrapper
    runs: bool
    at: int
    texts: tuple[ParsedWord, ...]
    folder: str
    options: CommandWords


class _Index(msgspec.Struct, frozen=True):
    """`wrappers`: by the names of each program; `away`: those that run it elsewhere."""

    away: frozenset[str]
    wrappers: dict[str, msgspec.Raw]


def load() -> None:
    """Reads which wrappers there are, and the type that they are decoded into."""
    _named()
    msgspec.json.Decoder(Wrapper)


@cache
def names() -> frozenset[str]:
    """The names of all wrappers."""
    return frozenset(_named())


def away() -> frozenset[str]:
    """Those that run a program on another machine or in a container."""
    return _index().away


def wrapper(program: str) -> Wrapper:
    """Decoded when it is first asked for. Raises `KeyError` if the program is no wrapper."""
    return _decoded(_named()[program])


@cache
def _decoded(names: str) -> Wrapper:
    return msgspec.json.decode(_index().wrappers[names], type=Wrapper)


def verbs(program: str) -> Iterable[tuple[str, ...]]:
    """The sub-commands, one of which it must have to run another program; none if it does so without one."""
    known = wrapper(program).manual
    return () if known.usage.words else [tuple(verb.split()) for verb in known.usages]


def spellings(program: str) -> Iterable[str]:
    """The spellings of all options that the wrapper is known to have."""
    return wrapper(program).manual.known("")


def read(program: str, argv: tuple[str, ...]) -> WrapperWords:
    """What the words of a wrapper say. Raises `KeyError` if the program is no wrapper."""
    few = len(argv) <= option_parser.MAX_KEPT_WORDS and sum(map(len, argv)) <= option_parser.MAX_KEPT_TEXT
    return _known(program, argv) if few else _of(program, argv)


def _of(program: str, argv: tuple[str, ...]) -> WrapperWords:
    known = wrapper(program)
    if len(argv) > _FEW and known.manual.stops and not known.dashes:
        reading = _read(known, argv[:_FEW])
        if reading.at < _FEW and not reading.texts:
            return reading
    return _read(known, argv)


_known = lru_cache(maxsize=512)(_of)
"""Agents put the same programs into new commands again and again."""


def _read(known: Wrapper, argv: tuple[str, ...]) -> WrapperWords:
    manual = known.manual
    words = option_parser.first_reading(manual, argv)
    at = next((word.at for role, word in words.roles if role == "command"), len(argv))
    if known.dashes and words.end:
        at = words.end + 1
    start = next((option for option in words.given if "starts" in option.entry.traits), None)
    if start is not None and start.word < start.value.at < len(argv) - 1:
        at = start.value.at
    texts = (
        option.value
        for option in words.given
        if option.entry.role == "script" and option.value.text and option.value.at != at
    )
    folders = words.named("folder")
    return WrapperWords(
        known,
        runs=bool(words.verb or manual.usage.words or not manual.verbs) and not words.trait("asks"),
        at=at,
        texts=tuple(texts),
        folder=folders[0].text if folders else "",
        options=words,
    )


@cache
def _named() -> dict[str, str]:
    return {name: names for names in _index().wrappers for name in names.split()}


@cache
def _index() -> _Index:
    return msgspec.json.decode(packaged.FOLDER.joinpath(MADE).read_bytes(), type=_Index)


def from_toml() -> list[Wrapper]:
    """The wrappers from their sources. Raises `ValueError` as `manual_form.parse` does, and for a name that stands there
    twice."""
    table = tomllib.loads((packaged.FOLDER / _SOURCE).read_text("utf-8"))
    wrappers = [_wrapper(name, entry) for name, entry in table.items()]
    for pages in manual_catalogue.tables():
        wrappers += [_with_manual(name, pages) for name, page in pages.items() if manual_form.RUNS in page]
    spelled = [name for wrapper in wrappers for name in wrapper.manual.names]
    if twice := {name for name in spelled if spelled.count(name) > 1}:
        raise ValueError(f"{', '.join(sorted(twice))}: two wrappers")
    return wrappers


def _wrapper(name: str, entry: dict[str, Any]) -> Wrapper:
    own = {key: value for key, value in entry.items() if key not in _OWN_KEYS}
    manual = next(iter(manual_form.parse({name: own})))
    return Wrapper(manual, entry.get("joined", False), entry.get("away", False), entry.get("dashes", False))


def _with_manual(name: str, pages: dict[str, dict[str, Any]]) -> Wrapper:
    """The wrapper with a manual, whose names, options and words it has unless the table `runs` says otherwise."""
    page = next(manual for manual in manual_form.parse(pages) if manual.names[0] == name)
    given: dict[str, Any] = pages[name][manual_form.RUNS]
    own = {"names": " ".join(page.names[1:]), "stops": page.stops, **given}
    if given.keys().isdisjoint(("words", "verbs")):
        own["words"] = " ".join(page.usage.words)
    wrapper = _wrapper(name, own)
    if "options" in given:
        return wrapper
    usage = msgspec.structs.replace(wrapper.manual.usage, options=page.usage.options)
    return msgspec.structs.replace(wrapper, manual=msgspec.structs.replace(wrapper.manual, usage=usage))


def encode(wrappers: Iterable[Wrapper]) -> str:
    """JSON with one wrapper per line."""
    listed = list(wrappers)
    away = msgspec.json.encode(sorted(name for wrapper in listed if wrapper.away for name in wrapper.manual.names)).decode()
    lines = (
        f'"{" ".join(wrapper.manual.names)}": {msgspec.json.encode(wrapper, order="deterministic").decode()}'
        for wrapper in listed
    )
    return '{"away": ' + away + ',\n"wrappers": {\n' + ",\n".join(lines) + "\n}}\n"
