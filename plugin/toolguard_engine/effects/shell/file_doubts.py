"""What a file that no agent made counts for: a person or a package wrote it, so it counts where it is sure what it does to
files, secrets and disks. What is guessed, a path or a method of an unknown service, counts in what agents write."""

from __future__ import annotations

from collections.abc import Collection

from toolguard_engine.effects.shell.command import UNKNOWN, Effect, FilePlace, ProgramRun
from toolguard_engine.effects.shell.places import Where, normal

_GUESSED_PLACES = frozenset({"", "unknown", "workspace", "in-workspace"})
_ON_PATHS = frozenset(
    "delete empty moved-away write move link read search permissions owner encrypt pack copied disguise".split()
)
_OUTPUTS = frozenset({"bin", "obj", "cjs", "esm", "umd"})
"""Folders that a build makes, though others keep programs of their own in a folder of that name."""

_SOURCES = frozenset("src source sources app data docs doc test tests spec notes content assets scripts config".split())
_BUILDERS = frozenset({"make", "gmake", "npm", "pnpm", "yarn", "bun", "just", "task", "go-task"})
_SCRIPT_FOLDERS = frozenset({"bin", "hack", "script", "scripts", "tools"})
_CONFIGS = (".json", ".yaml", ".yml", ".toml", ".ini", ".conf", ".cfg", ".env")
_ENOUGH = 2
"""Values that a program needs to ask its own service: the address and the key."""


def sure(effect: Effect, where: Where, found: Collection[Effect]) -> bool:
    """Whether an effect counts. `found`: all those of the call."""
    file = effect.run.origin if effect.run is not None else None
    if effect.run is None or file is None:
        return True
    if effect.kind == "delete" and _clears_output(effect, effect.run, file, where):
        return False
    if file.made:
        return True
    if effect.kind == "method":
        return False
    if effect.kind == "run-text":
        return not {"unknown", "variable"} & effect.flags or bool({"fetched", "decoded"} & effect.flags)
    if effect.kind == "exfiltrate":
        return not _asks_own_service(effect.run, file, found)
    return effect.kind not in _ON_PATHS or not _is_guess(effect, where)


def _is_guess(effect: Effect, where: Where) -> bool:
    if UNKNOWN not in effect.target or effect.place not in _GUESSED_PLACES:
        return False
    known = effect.target.partition(UNKNOWN)[0]
    return not known.startswith(("~/", f"{where.home}/" if where.home else "~/"))


def _clears_output(effect: Effect, run: ProgramRun, file: FilePlace, where: Where) -> bool:
    """Whether it deletes a folder of the project that the file belongs to, as a build does before it starts anew."""
    if effect.place != "in-workspace" or UNKNOWN in effect.target + run.cwd or "*" in effect.target:
        return False
    above, _, name = normal(effect.target, where, run.cwd).rpartition("/")
    builds = not _BUILDERS.isdisjoint(run.via)
    if file.made:
        return builds and name in _OUTPUTS
    root = file.path.rpartition("/")[0]
    if not builds and root.rpartition("/")[2] in _SCRIPT_FOLDERS:
        root = root.rpartition("/")[0]
    return name not in _SOURCES and not name.startswith(".") and f"{above}/".startswith(f"{root}/")


def _asks_own_service(run: ProgramRun, file: FilePlace, found: Collection[Effect]) -> bool:
    """Whether the address is as unknown as the key, and both come from the only configuration with keys that is read."""
    words = run.argv[1:]
    if any("://" in word for word in words) or not any(word.startswith(UNKNOWN) for word in words):
        return False
    keys = [each for each in found if each.kind == "read" and each.place == "credentials" and each.run is not None]
    taken = [each for each in keys if each.run is not None and each.run.origin == file and "$()" in each.run.via]
    paths = {each.target for each in keys}
    return len(paths) == 1 and len(taken) >= _ENOUGH and keys[0].target.endswith(_CONFIGS)
