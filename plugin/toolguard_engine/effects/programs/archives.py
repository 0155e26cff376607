"""Packing files into an archive and unpacking it, for every program whose manual says that it does so.

A program needs an entry in `manuals/archives.toml`, and nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs import Act, by_manual, effect_on, secrets_read, write_effects
from toolguard_engine.effects.shell.command import Effect, ProgramRun
from toolguard_engine.effects.shell.places import Where, place

_WIDE = frozenset(["root", "home", "system", "credentials"])
_ROOTED = ("/", "~", "$")


def members(words: CommandWords) -> list[str]:
    """What is packed, as paths from the folder that the program starts in: `-C` counts for the words after it."""
    folders = words.named("folder")
    found = []
    for word in words.named("member"):
        path = word.text
        for folder in reversed([each.text for each in folders if each.at < word.at]):
            path = path if path.startswith(_ROOTED) else f"{folder}/{path}"
        found.append(path)
    if not found and "recurses" in words.does and words.one("archive") and not words.named("names"):
        found = [folders[-1].text if folders else "."]
    return found


def _archives(run: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    acts = words.acts
    if "packs" in acts:
        yield from _packs(run, words, where)
    if "unpacks" in acts:
        yield from write_effects(words.one("target") or words.one("folder"), run, where, "unpacked")
    elif "edits" in acts:
        yield from write_effects(words.one("archive"), run, where, "in-place")


def _packs(run: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    named = members(words)
    yield from secrets_read(named, run, where, "packed")
    yield from (effect_on("pack", path, run, where) for path in named if place(path, where, run.cwd) in _WIDE)
    yield from write_effects(words.one("archive"), run, where)
    if "moves" in words.does or words.trait("moves"):
        yield from (effect_on("delete", path, run, where, ["recursive"]) for path in named)
    if words.trait("encrypts"):
        yield from (effect_on("encrypt", path, run, where) for path in named)


PROGRAMS: dict[str, Act] = dict.fromkeys(
    manual_catalogue.doing("packs") | manual_catalogue.doing("unpacks"), by_manual(_archives)
)
