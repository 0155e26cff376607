"""What lands where: the one place that knows where programs put the files that they copy, move, link, unpack or check out.

Whatever asks where files may appear or be replaced asks `landings`. It says more where it cannot know, never less. Words are
taken as the program gets them, relative to the folder that it runs in; nothing is looked up.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.effects.landings import checked_out_files, copied_files, unpacked_files
from toolguard_engine.effects.landings.landing import Landing as Landing
from toolguard_engine.effects.shell.command import ProgramRun

_PROGRAMS = copied_files.PROGRAMS | unpacked_files.PROGRAMS | checked_out_files.PROGRAMS
_LEAVES = frozenset({"stow", "xstow"})
"""Programs that put files beside the folder that they run in, though no word says so."""


def landings(run: ProgramRun, before: tuple[ProgramRun, ...] = ()) -> Iterator[Landing]:
    """`before`: the programs of its pipeline before it, which may give it the names of files."""
    if (act := _PROGRAMS.get(run.name)) is not None:
        yield from act(run)
    elif (listed := unpacked_files.LISTED.get(run.name)) is not None:
        yield from listed(run, before)
    elif run.name.startswith("py"):
        yield from unpacked_files.by_python_module(run)


def leaves_its_folder(run: ProgramRun) -> bool:
    """Whether it may put files outside its folder, though its words name no other."""
    if run.name in _LEAVES:
        return True
    return run.name in _ARCHIVERS and any(each.when == "absolute-names" for each in landings(run))


_ARCHIVERS = unpacked_files.PROGRAMS.keys() | unpacked_files.LISTED.keys()
