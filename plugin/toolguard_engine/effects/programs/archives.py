"""Packing files into an archive and unpacking it, for every program whose manual says that it does so.

A program needs an entry in `manuals/archives.toml`, and nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.facts.command import Effect, ProgramRun
from toolguard_engine.effects.facts.places import Where, place
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs import Act, by_manual, effect_on, secrets_read, write_effects

_WIDE = frozenset(["root", "home", "system", "credentials"])
_ROOTED = ("/", "~", "$")
_MAX_FOLDERS = 4


def members(words: CommandWords) -> list[str]:
    """What is packed, as paths from the folder that the program starts in: `-C` counts for the words after it. If there are
    several, each may also be the only one."""
    folders = words.named("folder")
    names: dict[str, None] = {}
    for word in words.named("member"):
        before = [directory.text for directory in folders if directory.at < word.at][-_MAX_FOLDERS:]
        path = word.text
        for folder in reversed(before):
            path = _inside(folder, path)
        names |= dict.fromkeys([path, *(_inside(folder, word.text) for folder in before)])
    if not names and "recurses" in words.does and words.one("archive") and not words.named("names"):
        return [folders[-1].text if folders else "."]
    return list(names)


def _inside(folder: str, path: str) -> str:
    return path if path.startswith(_ROOTED) else f"{folder}/{path}"


def _archives(program: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    acts = words.acts
    if "packs" in acts:
        yield from _packs(program, words, where)
    if "unpacks" in acts:
        for folder in words.named("target", "folder"):
            yield from write_effects(folder.text, program, where, "unpacked")
    elif "edits" in acts:
        yield from write_effects(words.one("archive"), program, where, "in-place")


def _packs(program: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    named = members(words)
    yield from secrets_read(named, program, where, "packed")
    yield from (effect_on("pack", path, program, where) for path in named if place(path, where, program.cwd) in _WIDE)
    yield from write_effects(words.one("archive"), program, where)
    if "moves" in words.does or words.trait("moves"):
        yield from (effect_on("delete", path, program, where, ["recursive"]) for path in named)
    if words.trait("encrypts"):
        yield from (effect_on("encrypt", path, program, where) for path in named)


PROGRAMS: dict[str, Act] = dict.fromkeys(
    manual_catalogue.doing("packs") | manual_catalogue.doing("unpacks"), by_manual(_archives)
)
