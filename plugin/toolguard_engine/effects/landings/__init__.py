"""What lands where: the one place that knows where programs put the files that they copy, move, link, unpack or check out.

Whatever asks where files may appear or be replaced asks `landings`. It says more where it cannot know, never less. Options
and operands are read by the programs' manuals (`effects.manuals`), in all their readings. Words are taken as the program
gets them, relative to the folder that it runs in; nothing is looked up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.landings import checked_out_files, copied_files, installed_files, unpacked_files
from toolguard_engine.effects.landings.landing import Landing as Landing
from toolguard_engine.effects.landings.landing import Lands, split_host
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.manuals.command_words import CommandWords

_FILLERS = manual_catalogue.doing("unpacks") | manual_catalogue.doing("restores")


def _named(table: dict[str, Lands]) -> dict[str, Lands]:
    return {name: act for program, act in table.items() for name in manual_catalogue.aliases(program)}


_PROGRAMS: dict[str, Lands] = {
    **dict.fromkeys(manual_catalogue.doing("copies") | manual_catalogue.doing("moves"), copied_files.from_afar),
    **dict.fromkeys(_FILLERS, unpacked_files.unpacked),
    **_named(copied_files.PROGRAMS), **_named(unpacked_files.PROGRAMS), **_named(checked_out_files.PROGRAMS),
}  # fmt: skip
_LISTED = {name: act for program, act in unpacked_files.LISTED.items() for name in manual_catalogue.aliases(program)}
_PLAIN: dict[str, Callable[[ProgramRun], Iterator[Landing]]] = {
    **dict.fromkeys(("docker", "podman", "nerdctl", "kubectl", "oc"), copied_files.by_container),
    **dict.fromkeys(("rename", "prename", "file-rename", "mmv", "mcp", "mln"), copied_files.by_pattern),
    **dict.fromkeys(checked_out_files.HOME_KEEPERS, checked_out_files.by_home_keeper),
    **dict.fromkeys(installed_files.MANAGERS, installed_files.by_package_manager),
    "robocopy": copied_files.by_robocopy, "xcopy": copied_files.by_robocopy,
    "Copy-Item": copied_files.by_power_shell, "Move-Item": partial(copied_files.by_power_shell, deep=True),
    "Expand-Archive": partial(copied_files.by_power_shell, unpacks=True),
}  # fmt: skip
"""Programs without a manual."""

MAX_KEPT_WORDS = 64
"""Words of a program of which the landings are worked out once: half a dozen judges ask for them."""

_COPIERS = (
    frozenset().union(*map(manual_catalogue.doing, ("copies", "moves", "links")))
    - manual_catalogue.doing("packs") - manual_catalogue.doing("restores") | frozenset(manual_catalogue.aliases("ditto"))
)  # fmt: skip

_LEAVES = frozenset({*manual_catalogue.aliases("stow"), *checked_out_files.HOME_KEEPERS})
"""Programs that put files beside the folder that they run in, though no word says so."""


def landings(program: ProgramRun, before: tuple[ProgramRun, ...] = ()) -> Iterator[Landing]:
    """`before`: the programs of its pipeline before it, which may give it the names of files."""
    if (before and program.name in _LISTED) or len(program.argv) > MAX_KEPT_WORDS:
        return _all_landings(program, before)
    known: tuple[Landing, ...] | None = program.__dict__.get("landings")
    if known is None:
        known = program.__dict__["landings"] = tuple(_all_landings(program, ()))
    return iter(known)


def copied(program: ProgramRun) -> Iterator[tuple[str, str]]:
    """What a program copies, moves or links from one place of this machine to another, before and after."""
    if program.name in _COPIERS:
        for landing in landings(program):
            if landing.source and UNKNOWN not in landing.source and not landing.host and not split_host(landing.source)[0]:
                yield landing.source, landing.path


def _all_landings(program: ProgramRun, before: tuple[ProgramRun, ...]) -> Iterator[Landing]:
    yield from _landings(program, before)
    if program.unset and any(program.argv[at] == UNKNOWN for at in program.unset if at < len(program.argv)):
        yield from _landings(_without_unset(program), before)


def _without_unset(program: ProgramRun) -> ProgramRun:
    """The program as it runs if variables that were never set are empty: words that are nothing else vanish."""
    places = [at for at, word in enumerate(program.argv) if at not in program.unset or word != UNKNOWN]
    return program.with_words(tuple(program.argv[at] for at in places), places=places)


def _landings(program: ProgramRun, before: tuple[ProgramRun, ...]) -> Iterator[Landing]:
    moves = program.moves_files
    if moves and len(program.readings) > 1:
        yield from dict.fromkeys(landing for words in program.readings for landing in _by_manual(program, words, before))
    elif moves:
        yield from _by_manual(program, program.readings[0], before)
        if not (program.readings[0].verb or program.readings[0].roles or _BRINGS.isdisjoint(program.argv[1:4])):
            yield from unpacked_files.by_verb(program)
    elif (act := _PLAIN.get(program.name)) is not None:
        yield from act(program)
    elif installed_files.is_generator(program.name):
        yield from installed_files.by_generator(program)
    elif program.name.startswith("py"):
        yield from unpacked_files.by_python_module(program)
    elif not _BRINGS.isdisjoint(program.argv[1:4]) and not program.name.startswith(UNKNOWN):
        yield from unpacked_files.by_verb(program)


def _by_manual(program: ProgramRun, words: CommandWords, before: tuple[ProgramRun, ...]) -> Iterator[Landing]:
    if (listed := _LISTED.get(program.name)) is not None:
        yield from listed(program, words, before)
    elif (act := _PROGRAMS.get(program.name)) is not None:
        yield from act(program, words)


_BRINGS = frozenset({
    "download", "download-batch", "pull", "extract", "unpack", "restore", "export", "copy", "cp", "scp", "receive", "mirror",
    "unarchive", "install", "--install", "checkout", "create-project", "startproject",
})  # fmt: skip
"""Sub-commands by which programs of which nothing else is known bring files into a folder that they are given."""

_AT_THE_TOP = lazy_re.compile(r"/[^/]{0,80}[*?\[]")
"""A wildcard in the first part of a path."""


def leaves_its_folder(program: ProgramRun) -> bool:
    """Whether it may put files outside its folder, though its words name no other."""
    if program.name in _LEAVES:
        return True
    return program.name in _FILLERS and any(landing.when == "absolute-names" for landing in landings(program))


def is_open(program: ProgramRun) -> bool:
    """Whether it puts files somewhere, and what it is given is not known in part."""
    if program.name not in _PROGRAMS and program.name not in _LISTED:
        return False
    return UNKNOWN in program.cwd or any(UNKNOWN in word or _AT_THE_TOP.match(word) for word in program.argv[1:])
