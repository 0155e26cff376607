"""Programs under another name: `cp /bin/rm t; ./t -rf x` and `hash -p /bin/rm ls; ls -rf x` run rm."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import basename

from toolguard_engine.effects.commands.guesses import spelled
from toolguard_engine.effects.commands.run_files import RunFiles
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.manuals import manual_catalogue

_COPIERS = frozenset().union(*map(manual_catalogue.aliases, ("cp", "ln", "mv", "install")))
_RENAMING = _COPIERS | {"hash"}
_COPYING = _COPIERS | {"dd"}
_LOCATORS = frozenset(["which", "command", "type", "whereis", "realpath"])
_FOLDERS = ("/bin/", "/sbin/", "/usr/bin/", "/usr/sbin/", "/usr/local/bin/", "/opt/homebrew/bin/")


def resolved(runs: list[ProgramRun], running: RunFiles | None = None) -> list[ProgramRun]:
    """The runs with the real names of the programs that this command, or an earlier call, gave new ones."""
    for program in runs:
        if program.name in _RENAMING or "/" in program.argv[0] or program.assigns:
            return _resolved(runs, running)
    return runs


def _resolved(runs: list[ProgramRun], running: RunFiles | None) -> list[ProgramRun]:
    names: dict[str, str] = {}
    programs, located = [], ""
    for program in runs:
        if program.name in _LOCATORS:
            located = program.argv[-1]
        if program.redirects or program.name in _COPYING:
            names |= {
                basename(target.rstrip("/")): spelled(basename(source)) for source, target in _copied(program, located)
            }
        if program.name == "hash" and program.words.has("-p") and len(program.words.texts) > 1:
            path, name, *_ = program.words.texts
            names[f"hash {name}"] = basename(path)
        real = _real(program, names, running) if names or "/" in program.argv[0] else ""
        programs.append(program.with_words((real, *program.argv[1:]), real) if real else program)
    return programs


def _real(program: ProgramRun, names: dict[str, str], running: RunFiles | None) -> str:
    """The real name of a program; empty if it is the one that it is started by."""
    by_path = "/" in program.argv[0] or any(name == "PATH" for name, _ in program.assigns)
    real = names.get(program.name if by_path else f"hash {program.name}")
    if real is None and running is not None and "/" in program.argv[0] and not program.argv[0].startswith(_FOLDERS):
        source = running.copied_from(program.argv[0], program.cwd)
        return basename(source) if source.startswith(_FOLDERS) else ""
    return real or ""


def _is_systems(path: str) -> bool:
    return path.lower().startswith(_FOLDERS)


def _copied(program: ProgramRun, located: str) -> Iterator[tuple[str, str]]:
    """Programs of the system and the files that they are copied to. `located`: what `which` was asked for."""
    options = set(program.words.option_words(program.argv))
    words = [word for word in program.argv[1:] if word not in options]
    if program.name in _COPIERS and len(words) > 1:
        if _is_systems(words[-2]):
            yield words[-2], words[-1]
        elif located and (UNKNOWN in words[-2] or words[-2] == located):
            yield located, words[-1]
    elif program.name == "dd":
        given = dict(word.split("=", 1) for word in words if "=" in word)
        if _is_systems(given.get("if", "")):
            yield given["if"], given.get("of", "")
    for redirect in program.redirects:
        if redirect.kind in ("write", "append"):
            yield from ((word, redirect.target) for word in words if _is_systems(word))
