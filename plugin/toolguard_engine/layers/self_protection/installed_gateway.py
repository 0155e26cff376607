"""Protects the installed gateway: its code, the service that starts it, and a release in which the guard's hooks work.

The gateway itself reports where its package is (`Host.code`); other paths are recognized by their folders. A package of
that name in a project is only held.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from posixpath import dirname

from toolguard_engine import lazy_re
from toolguard_engine.effects.commands.effects import effects
from toolguard_engine.effects.facts import places
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, Reading
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.landings.checked_out_files import working_tree
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.programs.wrappers import SHELLS
from toolguard_engine.layers.self_protection import gateway_releases, service_environment
from toolguard_engine.layers.self_protection.process_signals import is_former
from toolguard_engine.layers.self_protection.scene import (
    FILE_CHANGES,
    CommandScene,
    ProtectionFinding,
    base,
    is_interpreter,
    is_textual,
)
from toolguard_engine.layers.self_protection.service_environment import OWN_VARIABLE, SERVICE
from toolguard_engine.model.call import Host

CODE = "This would change the code of the gateway that the guard runs in."
MODULE = "This would change a module beside the gateway's package, which the gateway may load."
_PACKAGE = lazy_re.compile(r"/node_modules/(?:openclaw|clawdbot)(?:/|\Z)")
_GLOBAL = lazy_re.compile(
    r"(?:/lib|/npm|/\.npm-global|/global(?:/\d{1,3})?|/\.bun/install/global|/\.volta/\S{1,100})/node_modules/(?:openclaw|clawdbot)"
)
_PROGRAM = lazy_re.compile(r"/\.?(?:bin|shims)/(?:openclaw|clawdbot)\Z")
_IN_PROJECT = lazy_re.compile(r"/node_modules/\.bin/|/\.openclaw/workspace/")
_IN_UNKNOWN = lazy_re.compile(
    rf"/{UNKNOWN}[^/]*/(?:[^/]*/){{0,20}}(?:openclaw|clawdbot)/(?:dist|openclaw\.mjs|package\.json|node_modules)(?:/|\Z)"
)
"""The gateway's code in an unknown folder."""

_UNIT = lazy_re.compile(
    r"/(?:systemd/(?:user|system)|launchagents|launchdaemons|autostart|init\.d|runit|sv)/(?:[^/]{1,100}/)?[^/]{0,100}(openclaw|clawdbot)"
)
_OTHER_UNIT = lazy_re.compile(r"[^/-]*-(?!gateway)[a-z]{3,40}[.@][^/]*\Z")
"""A name that need not be that of the gateway's service: `openclaw-backup.timer`."""

_ADDITION = lazy_re.compile(r"\.service\.d(?:/[^/]*)?\Z")
"""Settings beside a unit, or the folder of them: its memory limit, its time zone."""

_ENVIRONMENT = lazy_re.compile(
    r"/environment\.d/|/etc/environment\Z|/\.pam_environment\Z|/systemd/(?:user|system)/|/launchagents/"
)
_CHANGES_UNIT = frozenset({"edit", "set-property", "revert", "link", "bind", "mount-image", "preset"})
_GIT = frozenset({"apply", "am", "checkout", "restore", "pull", "reset", "clean", "merge", "rebase", "stash", "switch"})
_CHANGERS = frozenset(
    {
        "sed", "gsed", "cp", "mv", "rm", "ln", "tee", "dd", "install", "truncate", "patch", "perl", "rsync", "chmod",
        "tar", "sponge",
    }
)  # fmt: skip
_FINDERS = frozenset({"find", "fd", "fdfind", "locate", "plocate"})
_RESOLVED = lazy_re.compile(r"\bresolve\(\s{0,5}['\"](?:openclaw|clawdbot)|\bwhich\(\s{0,5}['\"](?:openclaw|clawdbot)")
_CODE_WRITES = lazy_re.compile(r"write|append|unlink|rename|\brm\w{0,4}\(|cop(?:y|ied)|['\"][rbt]{0,2}[wax]\+?['\"]")
_SOUGHT = lazy_re.compile(
    r"(?:openclaw|clawdbot)\S{0,100}(?:dist|js\b|node_modules)|node_modules/(?:openclaw|clawdbot)|\*(?:openclaw|clawdbot)\*"
)
_NAMED = lazy_re.compile(r"openclaw|clawdbot", re.IGNORECASE)


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    yield from service_environment.findings(scene)
    yield from gateway_releases.findings(scene)
    for run in scene.runs:
        if not is_textual(run) and not scene.is_wrapper(run):
            yield from _service(run)
    if "claw" in scene.text.lower() or scene.host.code or any("claw" in run.cwd for run in scene.runs):
        yield from _changed(scene)
        if _is_found(scene):
            yield ProtectionFinding(CODE, certain=False)


def _changed(scene: CommandScene) -> Iterator[ProtectionFinding]:
    where = Where(scene.host.home, scene.start, scene.start, scene.protected.state)
    for run in scene.runs:
        if run.name in ("patch", "git") and (
            finding := of_path(places.normal(_patched(run) or "/", where, run.cwd), scene.host, scene.text)
        ):
            yield ProtectionFinding(finding.reason, finding.certain and run.name == "patch")
    for effect in effects(Reading(scene.runs), where):
        if effect.kind in FILE_CHANGES:
            path = places.normal(effect.target, where, effect.program.cwd if effect.program else "")
            if finding := of_path(path, scene.host, scene.text):
                yield finding
            elif _ENVIRONMENT.search(path.lower()) and OWN_VARIABLE.search(scene.text):
                yield ProtectionFinding(SERVICE, certain=service_environment.names_own(scene.text))


def _is_found(scene: CommandScene) -> bool:
    """Whether the command searches for the gateway's code, and changes something that may be it."""
    changes = [run for run in scene.runs if manual_catalogue.kind(run.name) in _CHANGERS]
    unknown = bool(scene.writers) or any(run in scene.takers or "find" in run.via for run in changes)
    if _RESOLVED.search(scene.text) and (unknown or any(code.has(_CODE_WRITES) for _, code in scene.codes)):
        return True
    if unknown and any(run.name in _FINDERS and any(map(_SOUGHT.search, run.argv[1:])) for run in scene.runs):
        return True
    return any(_explores(run) for run in scene.runs)


def _explores(run: ProgramRun) -> bool:
    """Whether `npm explore` runs a program in the gateway's package that may change it."""
    end = run.words.end
    if not end or "explore" not in run.words.texts or not any(map(_NAMED.search, run.argv)):
        return False
    behind = run.argv[end + 1 :]
    return any(
        manual_catalogue.kind(base(word)) in _CHANGERS or base(word) in SHELLS or is_interpreter(base(word))
        for word in behind
    )


def _patched(run: ProgramRun) -> str:
    """The folder in which `patch` or `git` changes files; empty if it changes none."""
    if run.name == "git" and run.words.verb not in _GIT:
        return ""
    return working_tree(run, run.words)[1] or "." if run.name == "git" else run.words.one("folder") or "."


def of_path(path: str, host: Host, text: str) -> ProtectionFinding | None:
    """Why changing the file at this absolute path must be blocked or held. `text`: what the call says, the content of the
    file included."""
    lower = path.lower()
    if any(lower == folder.lower() or lower.startswith(f"{folder.lower()}/") for folder in host.code):
        return ProtectionFinding(CODE)
    if any(lower.startswith(f"{folder}/") for folder in module_folders(host)):
        return ProtectionFinding(MODULE, certain=False)
    if unit := _UNIT.search(lower):
        is_gateways = _OTHER_UNIT.match(lower, unit.start(1)) is None and not is_former(unit[1], host)
        decides = _ADDITION.search(lower) is None or service_environment.takes_over(text)
        return ProtectionFinding(SERVICE, certain=is_gateways and decides)
    if _PROGRAM.search(lower):
        return ProtectionFinding(CODE, certain=not _IN_PROJECT.search(lower))
    if _IN_UNKNOWN.match(lower):
        return ProtectionFinding(CODE, certain=False)
    if _PACKAGE.search(lower) is None:
        return None
    return ProtectionFinding(CODE, certain=_GLOBAL.search(lower) is not None)


@lru_cache(maxsize=8)
def module_folders(host: Host) -> tuple[str, ...]:
    """The folders of modules, in lower case, that hold the gateway's package, and from which it may load others."""
    return tuple(above.lower() for folder in host.code if (above := dirname(folder)).endswith("/node_modules"))


def _service(run: ProgramRun) -> Iterator[ProtectionFinding]:
    words = run.argv[1:]
    if run.name == "systemctl" and not _CHANGES_UNIT.isdisjoint(words) and any(map(_NAMED.search, words)):
        yield ProtectionFinding(SERVICE)
