"""Finds machine-wide installations of gateway releases in which the guard's hooks do not work.

Installing into a project is ordinary work: nothing starts that copy by itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import places, program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.layers.self_protection.scene import CommandScene, ProtectionFinding, base, is_textual
from toolguard_engine.model.call import Host

RELEASE = "This would install a gateway release with which the guard may not work, or an unknown one."
TOO_OLD = "This would install a gateway release with which the guard does not work: no call would be judged any more."

OLDEST = (2026, 6, 11)
"""The first release in which the guard's hooks work; in `_WITHOUT_EMBEDDED` they do not for embedded runs."""

_WITHOUT_EMBEDDED = frozenset({(2026, 8, 2)})
_NODE = program_catalogue.programs("node_package_manager")
_MACHINE = program_catalogue.programs("machine_package_manager")
_VERSIONED = program_catalogue.programs("tool_version_manager")
_MANAGERS = _NODE | _MACHINE | _VERSIONED
_FIRST_WORDS = 6
_INSTALLS = frozenset(
    {
        "i", "in", "ins", "inst", "insta", "instal", "install", "isnt", "isnta", "isntal", "isntall", "it", "install-test",
        "add", "a", "update", "up", "upgrade", "udpate", "global", "link", "ln", "use", "u", "set", "prepare", "hydrate",
        "reinstall", "pin", "extract", "switch",
    }
)  # fmt: skip
_GLOBALLY = lazy_re.compile(
    r"-\w*g\w*|--glob?(?:al?)?(?:=(?!false|0).*)?|global|--loca(?:t(?:i(?:on?)?)?)?=global|--location-global"
)
_FOR_ACCOUNT = lazy_re.compile(r"-\w*g\w*|--global|global|-u|--home|--pin(?:=global|=user)?|--path(?:=.*)?|-p")
_NPM_GLOBAL = lazy_re.compile(
    r"(?i)npm_config_(?:global\s*=\s*['\"]?(?!false|0|['\"]*(?:\s|\Z))|location\s*=\s*['\"]?global)"
)
_SET_GLOBAL = lazy_re.compile(r"(?im)^[^\S\n]*(?:global\s*=\s*true|location\s*=\s*[\"']?global)\b")
_NPM_VARIABLES = {"npm_config_global": ("", "false", "0"), "npm_config_location": ("", "user", "project")}
"""Variables that make npm install for the whole machine, and their values with which it does not."""

_MACHINE_PLACES = frozenset({"root", "system", "startup", "unknown"})
_SPEC = lazy_re.compile(
    r"(?:npm:|[\w.-]+@npm:|homebrew/core/|ubi:\S{0,60}/)?(?:openclaw|clawdbot)(?:-cli)?(?:[@=](.*))?", re.DOTALL
)
_RELEASE = lazy_re.compile(r"v?(\d{1,5})(?:\.(\d{1,4}))?(?:\.(\d{1,4}))?(?:[-+][\w.+-]{0,60})?")
_FROM_ELSEWHERE = lazy_re.compile(
    r"(?:openclaw|clawdbot)[^\s]{0,200}(?:\.tgz|\.tar\.gz|\.git|\.rb)|[:/#](?:openclaw|clawdbot)(?:#\S{0,200})?/?\Z"
)
_HERE = frozenset({".", "./", "..", "../"})
_CURRENT = frozenset({"", "latest", "stable"})


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    """Machine-wide installations of the gateway other than its current release."""
    settings = _Settings(scene)
    for run in scene.runs:
        if scene.is_wrapper(run) or is_textual(run):
            continue
        name = _manager(run)
        if name and _installs(run) and _is_everywhere(name, run, settings):
            yield from _specs(run, scene.host)


class _Settings:
    """What of a command makes installations global, besides their own words: found out once for all of them."""

    def __init__(self, scene: CommandScene) -> None:
        self.scene = scene

    @cached_property
    def is_global(self) -> bool:
        """Whether the environment, or a text of the command, says so."""
        scene = self.scene
        assigned = {name.lower(): value.lower() for program in scene.runs for name, value in program.assigns}
        if any(assigned.get(name, off[0]) not in off for name, off in _NPM_VARIABLES.items()):
            return True
        return _NPM_GLOBAL.search(scene.text) is not None or _SET_GLOBAL.search(scene.text) is not None

    @cached_property
    def setters(self) -> frozenset[str]:
        """The programs that the command has write such a setting for themselves."""
        return frozenset(
            run.name for run in self.scene.runs if "set" in run.argv and not {"global", "location"}.isdisjoint(_names(run))
        )


def _installs(run: ProgramRun) -> bool:
    return not _INSTALLS.isdisjoint(run.argv[1:]) or run.words.has("-S", "-U", "-i", "--install")


def _manager(run: ProgramRun) -> str:
    """The package manager among the first words; a Node version manager may start it."""
    return next((name for name in map(_name, run.argv[:_FIRST_WORDS]) if name in _MANAGERS), "")


def _name(word: str) -> str:
    return base(word).partition("@")[0].removesuffix("-cli.js")


def _is_everywhere(name: str, run: ProgramRun, settings: _Settings) -> bool:
    words = run.argv[1:]
    if name in _MACHINE:
        return True
    if name in _VERSIONED:
        return any(map(_FOR_ACCOUNT.fullmatch, words))
    if name not in _NODE:
        return False
    is_set = settings.is_global or run.name in settings.setters
    return is_set or any(map(_GLOBALLY.fullmatch, words)) or _is_for_machine(run, settings.scene)


def _names(run: ProgramRun) -> set[str]:
    return {word.partition("=")[0] for word in run.argv[1:]}


_FOLDERS = manual_catalogue.spelled("npm", "places")


def _is_for_machine(run: ProgramRun, scene: CommandScene) -> bool:
    """Whether it installs into a system folder or a hidden folder of the home."""
    at = next(at for at, word in enumerate(run.argv) if _name(word) in _NODE)
    readings = option_parser.readings("npm", run.argv[at:])
    given = [value.text for words in readings for value in words.values(*_FOLDERS)]
    folders = given or ([run.cwd] if run.cwd else [scene.folder] if scene.folder else [])
    where = Where(scene.host.home, scene.start, scene.start, scene.protected.state)
    return any(_is_machine_folder(places.normal(folder, where, run.cwd), where) for folder in folders)


def _is_machine_folder(path: str, where: Where) -> bool:
    if UNKNOWN in path or places.place(path, where) in _MACHINE_PLACES:
        return True
    if path.startswith(f"{where.workspace}/") or path == where.workspace:
        return False
    hidden = path.removeprefix(f"{where.home}/") if where.home else path
    return hidden != path and hidden.startswith(".")


def _specs(run: ProgramRun, host: Host) -> Iterator[ProtectionFinding]:
    words = run.argv[1:]
    for at, word in enumerate(words):
        if spec := _SPEC.fullmatch(word):
            after = "".join(words[at + 1 : at + 2])
            yield from _spec(spec[1] or (after if _RELEASE.fullmatch(after) else ""), host)
        elif _FROM_ELSEWHERE.search(word) or (word in _HERE and "claw" in base(run.cwd)):
            yield ProtectionFinding(RELEASE, certain=False)


def _spec(spec: str, host: Host) -> Iterator[ProtectionFinding]:
    if spec in _CURRENT:
        return
    match = _RELEASE.fullmatch(spec)
    if match is None or None in match.groups():
        yield ProtectionFinding(RELEASE, certain=False)
        return
    release = _numbers(spec)
    if release < OLDEST:
        yield ProtectionFinding(TOO_OLD, certain=False)
    elif release in _WITHOUT_EMBEDDED or release < _numbers(host.release):
        yield ProtectionFinding(RELEASE, certain=False)


def _numbers(release: str) -> tuple[int, ...]:
    """`2026.6.11-beta.1` as (2026, 6, 11); empty if it is not a release."""
    match = _RELEASE.fullmatch(release)
    return tuple(int(part) for part in match.groups() if part) if match else ()
