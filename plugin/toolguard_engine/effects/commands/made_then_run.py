"""Files that a command changes in an unknown way and then runs: `tr a b < x > z; sh z`, `tar xf kit.tar -C o && sh o/x.sh`.

As two calls, the second one would be judged by what lies there. In one command, nobody can know it beforehand, so the call
is held (`run-made`). What the command shows (`echo ... > z`), copies from a file that can be read, or compiles from sources
that are read is not meant.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase
from typing import NamedTuple

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun, RanScripts, Reading
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.effects.landings import copied
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.programs import file_programs
from toolguard_engine.effects.programs.unpacking import archive_of, folder_of, inflated, unpacks

MAX_MADE = 200
_COMPILERS = program_catalogue.programs("source_compiler")
_FETCHERS = program_catalogue.programs("fetcher")
_DECODERS = program_catalogue.programs("decoder", "gpg")
_OUTPUTS = manual_catalogue.spelled("(any)", "writes")
_CHANGES = frozenset({"write", "discard", "copy-in"})
_ELSEWHERE = frozenset({"remote", "null", "device"})


class UnknownChange(NamedTuple):
    """A file whose content is not known after a command.

    `path` is absolute. `at`: the position of the program that makes it; `below`: everything in this folder is meant.
    """

    path: str
    at: int
    below: bool = False
    program: ProgramRun | None = None
    """The program, where it changes the file itself."""
    landed: bool = False
    """Whether it may land there, with other files that an archive, a repository or a package decides."""

    def covers(self, path: str) -> bool:
        if self.below:
            return path.startswith(f"{self.path}/") or self.path == "/"
        if GLOB.search(path) or UNKNOWN in path:
            return fnmatchcase(self.path, path.replace(UNKNOWN, "*"))
        return path == self.path


def effects(seen: Reading, scripts: RanScripts, acts: Sequence[Effect], where: Where) -> Iterator[Effect]:
    """One `run-made` for each script that is run after it was changed. `acts`: the effects of the programs."""
    made = unknown_changes(seen, scripts, acts, where) if len(seen.runs) > 1 else []
    for path, position in scripts.ran if made else ():
        if any(change.at < position - 1 and change.covers(path) for change in made):
            yield Effect("run-made", _shown(path, where))


def _changes_by_program(acts: Sequence[Effect]) -> dict[int, list[Effect]]:
    """The effects that change files of this machine, by the id of the program."""
    changes: dict[int, list[Effect]] = {}
    for effect in acts:
        if effect.program is not None and effect.kind in _CHANGES and effect.place not in _ELSEWHERE:
            changes.setdefault(id(effect.program), []).append(effect)
    return changes


def unknown_changes(seen: Reading, scripts: RanScripts, acts: Sequence[Effect], where: Where) -> list[UnknownChange]:
    """The first `MAX_MADE`, in the order in which they happen."""
    opaque = {normal(path, where) for path in scripts.opaque}
    shown = {normal(path, where) for path, _ in seen.written} - opaque
    copies = dict(scripts.copies)
    written = _changes_by_program(acts)
    made: list[UnknownChange] = []
    for at, program in enumerate(seen.runs):
        if len(made) >= MAX_MADE:
            break
        if program.name in _COMPILERS or (program.origin is not None and not program.origin.made):
            continue
        if pairs := list(dict.fromkeys((*file_programs.copied(program, where), *copied(program)))):
            _move(made, pairs, at, program, where)
            continue
        made += _by_unpacking(made, scripts, at, program, where)
        paths = _written(program, written.get(id(program), ()), where)
        for path in paths:
            if path in copies and path not in opaque:
                _move(made, [(copies[path], path)], at, program, where)
            elif path not in shown:
                made.append(UnknownChange(path, at, program=program))
    return made


def _written(program: ProgramRun, acts: Iterable[Effect], where: Where) -> Iterator[str]:
    """The files whose content a program changes, as far as their names are known."""
    targets = [effect.target for effect in acts if "touched" not in effect.flags]
    if program.name in _DECODERS:
        targets += filter(None, option_parser.values(program.argv, _OUTPUTS))
    for target in targets:
        if UNKNOWN not in (path := normal(target, where, program.cwd)):
            yield path


def _move(made: list[UnknownChange], pairs: list[tuple[str, str]], at: int, program: ProgramRun, where: Where) -> None:
    """A copy is as unknown as what it is a copy of."""
    for before, after in pairs:
        source, target = normal(before, where, program.cwd), normal(after, where, program.cwd)
        unknown = [change for change in made if change.covers(source) or f"{change.path}/".startswith(f"{source}/")]
        made[:] = [change for change in made if change.path != target or change.below]
        below = {change.below or change.path != source for change in unknown}
        itself = any(change.covers(source) for change in unknown)
        made += [UnknownChange(target, at, below=is_below) for is_below in below | ({False} if itself else set())]


def _by_unpacking(
    made: list[UnknownChange], scripts: RanScripts, at: int, program: ProgramRun, where: Where
) -> Iterator[UnknownChange]:
    for name in inflated(program):
        yield UnknownChange(normal(name, where, program.cwd), at)
    if not unpacks(program):
        return
    folder = folder_of(program)
    if folder:
        yield UnknownChange(normal(folder, where, program.cwd), at, below=True)
        return
    archive = normal(archive_of(program), where, program.cwd)
    is_fed = program.stdin is not None and not _FETCHERS.isdisjoint(program.stdin.programs)
    if is_fed or archive in scripts.foreign or any(change.covers(archive) for change in made):
        yield UnknownChange(normal(".", where, program.cwd), at, below=True)


def _shown(path: str, where: Where) -> str:
    if where.cwd and path.startswith(f"{where.cwd}/"):
        return path[len(where.cwd) + 1 :]
    if where.home and path.startswith(f"{where.home}/"):
        return f"~/{path[len(where.home) + 1 :]}"
    return path
