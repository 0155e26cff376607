"""Finds changes to the environment of services with which the gateway could start without the guard."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.layers.self_protection.scene import CommandScene, ProtectionFinding, is_textual

SERVICE = "This would change the service that starts the gateway, or that service's environment."
OWN_VARIABLE = lazy_re.compile(r"(?:OPENCLAW|CLAWDBOT|TOOLGUARD)_[A-Z_]*")
_OWN_SET = lazy_re.compile(rf"\b{OWN_VARIABLE.pattern}\s*=|\bexport\b[^\n]*\b{OWN_VARIABLE.pattern}")
_LOGIN = lazy_re.compile(r"(?:OPENCLAW|CLAWDBOT)_[A-Z_]{0,40}(?:TOKEN|PASSWORD)")
"""With what people and programs log in at the gateway: the guard does not depend on it."""

_LOADING = frozenset(
    {
        "NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PATH", "LD_PRELOAD", "LD_LIBRARY_PATH",
        "HOME",
        "XDG_CONFIG_HOME", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "BASH_ENV", "NODE_EXTRA_CA_CERTS",
    }
)  # fmt: skip
"""Variables that determine which code or home folder a program uses."""

_TAKES_OVER = lazy_re.compile(rf"Exec[A-Z]\w*\s*=|\b(?:{'|'.join(sorted(_LOADING - {'PATH'}))})\b")
"""What in a file for a service decides which code runs as the service. `PATH` does not for a program with a whole path."""

_SETS = {
    "systemctl": frozenset({"set-environment", "unset-environment", "import-environment"}),
    "launchctl": frozenset({"setenv", "unsetenv"}),
}
_DBUS = "dbus-update-activation-environment"
_BUS = frozenset({"busctl", "dbus-send", "gdbus"})
_BUS_SETS = lazy_re.compile(r"(?:Set|Unset|UnsetAndSet|UpdateActivation)Environment")
_CODE_SETS = lazy_re.compile(
    rf"(?:import|set|unset)-environment|{_BUS_SETS.pattern}|update-activation-environment|launchctl\b.{{0,20}}setenv"
)
_NAMES = lazy_re.compile(r"[A-Za-z_]\w*")
_SPLIT = lazy_re.compile(r"[\s'\"{}\[\],:;()]+")
_SOURCES = frozenset({"source", "."})


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    for run in scene.runs:
        if is_textual(run) or scene.is_wrapper(run) or not _changes(run):
            continue
        names = _named(run)
        own = [name for name in names if OWN_VARIABLE.fullmatch(name)]
        if own:
            yield ProtectionFinding(SERVICE, certain=any(map(names_own, own)))
        elif not names.isdisjoint(_LOADING) or any(UNKNOWN in name for name in names):
            yield ProtectionFinding(SERVICE, certain=False)
        elif _takes_all(run):
            yield from _taken(scene)
    for _, code in scene.codes:
        if code.has(_CODE_SETS) and code.has(OWN_VARIABLE):
            yield ProtectionFinding(SERVICE, certain=False)


def names_own(text: str) -> bool:
    """Whether it names variables of the gateway with which it could start without the guard."""
    return any(_LOGIN.fullmatch(match[0]) is None for match in OWN_VARIABLE.finditer(text))


def takes_over(text: str) -> bool:
    """Whether what is written for a service may have it start without the guard."""
    return names_own(text) or _TAKES_OVER.search(text) is not None


def _changes(run: ProgramRun) -> bool:
    if run.name in _BUS:
        return any(map(_BUS_SETS.search, run.argv[1:]))
    return run.name == _DBUS or not _SETS.get(run.name, frozenset()).isdisjoint(run.argv[1:])


def _named(run: ProgramRun) -> set[str]:
    words = run.argv[1:]
    if run.name in _BUS:
        words = tuple(piece for word in words for piece in _SPLIT.split(word))
    return {word.partition("=")[0] for word in words}


def _takes_all(run: ProgramRun) -> bool:
    """Whether it exports all variables of the shell."""
    if run.name == _DBUS:
        return "--all" in run.argv[1:]
    words = run.argv[1:]
    if "import-environment" not in words:
        return False
    behind = words[words.index("import-environment") + 1 :]
    return not any(_NAMES.fullmatch(word) for word in behind)


def _taken(scene: CommandScene) -> Iterator[ProtectionFinding]:
    """Variables that the command itself sets before exporting all."""
    assigned = {name for run in scene.runs for name, _ in run.assigns}
    if any(map(OWN_VARIABLE.fullmatch, assigned)) or _OWN_SET.search(scene.text):
        yield ProtectionFinding(SERVICE)
        return
    exported = {
        word.partition("=")[0] for run in scene.runs if run.name in ("export", "declare", "env") for word in run.argv
    }
    read = any(run.name in _SOURCES for run in scene.runs)
    if read or not _LOADING.isdisjoint(assigned | exported) or any(UNKNOWN in name for name in exported):
        yield ProtectionFinding(SERVICE, certain=False)
