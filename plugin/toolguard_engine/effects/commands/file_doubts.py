"""What a file that no agent made counts for: a person or a package wrote it, so it counts where it is sure what it does to
files, secrets and disks. What is guessed, a path or a method of an unknown service, counts in what agents write."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from toolguard_engine.effects.facts.command import UNKNOWN, Effect, FilePlace, ProgramRun
from toolguard_engine.effects.facts.places import Where, normal
from toolguard_engine.effects.programs import code_connections, code_search

_GUESSED_PLACES = frozenset({"", "unknown", "workspace", "in-workspace"})
_ON_PATHS = frozenset(
    ["delete", "empty", "moved-away", "write", "move", "link", "read", "search", "permissions", "owner", "encrypt", "pack"]
)
_OUTPUTS = frozenset({"bin", "obj", "cjs", "esm", "umd", "pkg"})
"""Folders that a build makes, though others keep programs of their own in a folder of that name."""

_SOURCES = frozenset(
    [
        "src",
        "source",
        "sources",
        "app",
        "data",
        "doc",
        "docs",
        "test",
        "tests",
        "spec",
        "notes",
        "content",
        "assets",
        "scripts",
    ]
)
_BUILDERS = frozenset({"make", "gmake", "npm", "pnpm", "yarn", "bun", "just", "task", "go-task", "rake"})
_SCRIPT_FOLDERS = frozenset({"bin", "hack", "script", "scripts", "tools"})
_CONFIGS = (".json", ".yaml", ".yml", ".toml", ".ini", ".conf", ".cfg", ".env")
_ENOUGH = 2
"""Values that a program needs to ask its own service: the address and the key."""


def counted(effects: Sequence[Effect], where: Where) -> tuple[Effect, ...]:
    """The effects that count, of all those of a call."""
    own = frozenset(_asking_own_service(effects))
    return tuple([effect for effect in effects if _counts(effect, where, own)])


def _counts(effect: Effect, where: Where, own: frozenset[str]) -> bool:
    program = effect.program
    if program is None or (file := program.origin) is None:
        return True
    if effect.kind == "delete" and _clears_output(effect, program, file, where):
        return False
    if file.made:
        return True
    if effect.kind == "method":
        return False
    if effect.kind == "run-text":
        return {"unknown", "variable"}.isdisjoint(effect.flags) or not {"fetched", "decoded"}.isdisjoint(effect.flags)
    if effect.kind == "remote-shell" and effect.target == code_search.clip(file.text):
        return code_connections.connects_shell_nearby(file.text)
    if file.path in own and _asks_it(effect, program):
        return False
    return effect.kind not in _ON_PATHS or not _is_guess(effect, where)


def _is_guess(effect: Effect, where: Where) -> bool:
    if effect.kind == "delete" and not effect.target:
        return True
    if effect.target.startswith(f"/proc/{UNKNOWN}"):
        return True
    if UNKNOWN not in effect.target or effect.place not in _GUESSED_PLACES:
        return False
    known = effect.target.partition(UNKNOWN)[0]
    return not known.startswith(("~/", f"{where.home}/" if where.home else "~/"))


def _clears_output(effect: Effect, program: ProgramRun, file: FilePlace, where: Where) -> bool:
    """Whether it deletes a folder of the project that the file belongs to, as a build does before it starts from scratch."""
    if effect.place != "in-workspace" or UNKNOWN in effect.target + program.cwd or "*" in effect.target:
        return False
    above, _, name = normal(effect.target, where, program.cwd).rpartition("/")
    builds = not _BUILDERS.isdisjoint(program.via)
    if file.made:
        return builds and name in _OUTPUTS
    root = file.path.rpartition("/")[0]
    if not builds and root.rpartition("/")[2] in _SCRIPT_FOLDERS:
        root = root.rpartition("/")[0]
    if not root or root == where.home or name.startswith("."):
        return False
    return name not in _SOURCES and f"{above}/".startswith(f"{root}/")


def _substituted_in(program: ProgramRun) -> str:
    """The file in whose substitution a program runs; empty for any other."""
    return program.origin.path if program.origin is not None and "$()" in program.via else ""


def _asking_own_service(effects: Sequence[Effect]) -> Iterator[str]:
    """The files that read several values of one configuration with keys, and ask an address that they do not name."""
    leaks = [leak.program for leak in effects if leak.kind == "exfiltrate" and leak.program is not None]
    read: dict[str, list[str]] = {}
    for effect in effects if leaks and all(map(_is_open, leaks)) else ():
        if effect.kind == "read" and effect.place == "credentials" and effect.program is not None:
            read.setdefault(_substituted_in(effect.program), []).append(effect.target)
    for path, targets in read.items():
        if path and "" not in read and len(set(targets)) == 1 and len(targets) >= _ENOUGH and targets[0].endswith(_CONFIGS):
            yield path


def _asks_it(effect: Effect, program: ProgramRun) -> bool:
    if effect.kind in ("send", "http"):
        return _is_open(program) and "file" not in effect.flags
    return effect.kind == "exfiltrate" or (effect.kind == "read" and "$()" in program.via)


def _is_open(program: ProgramRun) -> bool:
    """Whether a request goes to an address that the command does not name."""
    words = program.argv[1:]
    return not any("://" in word for word in words) and any(word.startswith(UNKNOWN) for word in words)
