"""The installed gateway stays as it is: its code, the service that starts it, and a release in which the guard's hooks hold.

Where the gateway's package lies is known from the gateway itself (`Host.code`) or plain from the path; a package of that
name in some project is held only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine.layers.protection.scene import Finding, Scene, base, is_textual
from toolguard_engine.model import Host
from toolguard_engine.shell import places
from toolguard_engine.shell.effects import effects
from toolguard_engine.shell.model import UNKNOWN, Reading, Run
from toolguard_engine.shell.places import Where

CODE = "This would change the code of the gateway that the guard runs in."
SERVICE = "This would change the service that starts the gateway, or the environment that it is started with."
RELEASE = "This would install a release of the gateway in which the guard's hooks may not hold, or one that is not known."

OLDEST = (2026, 6, 11)
"""The first release in which the guard's hooks hold; in those of `_WITHOUT_EMBEDDED` they do not for embedded runs."""

_WITHOUT_EMBEDDED = frozenset({(2026, 8, 2)})
_CHANGING = frozenset({"delete", "empty", "write", "move", "permissions", "owner", "link", "encrypt"})
_PACKAGE = re.compile(r"/node_modules/(?:openclaw|clawdbot)(?:/|\Z)")
_GLOBAL = re.compile(
    r"(?:/lib|/npm|/\.npm-global|/global/\d{1,3}|/\.bun/install/global|/\.volta/\S{1,100})/node_modules/(?:openclaw|clawdbot)"
)
_UNIT = re.compile(
    r"/(?:systemd/(?:user|system)|launchagents|launchdaemons|autostart|init\.d|runit|sv)/(?:[^/]{1,100}/)?[^/]{0,100}(?:openclaw|clawdbot)"
)
_ENVIRONMENT = re.compile(
    r"/environment\.d/|/etc/environment\Z|/\.pam_environment\Z|/systemd/(?:user|system)/|/launchagents/"
)
_OWN_VARIABLE = re.compile(r"(?:OPENCLAW|CLAWDBOT|TOOLGUARD)_[A-Z_]*")
_LOADING = frozenset(
    {
        "NODE_OPTIONS", "NODE_PATH", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PATH", "LD_PRELOAD", "LD_LIBRARY_PATH",
        "HOME",
        "XDG_CONFIG_HOME", "DYLD_INSERT_LIBRARIES", "DYLD_LIBRARY_PATH", "BASH_ENV", "NODE_EXTRA_CA_CERTS",
    }
)  # fmt: skip
"""Variables that decide which code, or which home folder, a program runs with."""

_SETS = {
    "systemctl": frozenset({"set-environment", "unset-environment", "import-environment"}),
    "launchctl": frozenset({"setenv", "unsetenv"}),
}
_CHANGES_UNIT = frozenset({"edit", "set-property", "revert", "link", "bind", "mount-image", "preset"})
_NAMED = re.compile(r"openclaw|clawdbot", re.IGNORECASE)
_PACKAGERS = frozenset({"npm", "pnpm", "yarn", "bun", "volta", "corepack"})
_INSTALLS = frozenset({"i", "install", "add", "in", "ins", "isntall", "update", "up", "upgrade", "global", "link", "ln"})
_GLOBALLY = frozenset({"-g", "--global", "global", "--location=global"})
_SPEC = re.compile(r"(?:[\w.-]+@npm:)?(?:openclaw|clawdbot)(?:@(.*))?", re.DOTALL)
_RELEASE = re.compile(r"v?(\d{1,5})(?:\.(\d{1,4}))?(?:\.(\d{1,4}))?(?:[-+][\w.+-]{0,60})?")
_FROM_ELSEWHERE = re.compile(
    r"(?:openclaw|clawdbot)[^\s]{0,200}(?:\.tgz|\.tar\.gz|\.git)|[:/](?:openclaw|clawdbot)(?:#\S{0,200})?\Z"
)
_CURRENT = frozenset({"", "latest", "stable"})


def findings(scene: Scene) -> Iterator[Finding]:
    for run in scene.runs:
        if not is_textual(run) and not scene.is_wrapper(run):
            yield from _service(run)
            yield from _release(run, scene.host)
    if "claw" in scene.text.lower() or scene.host.code or any("claw" in run.cwd for run in scene.runs):
        yield from _changed(scene)


def _changed(scene: Scene) -> Iterator[Finding]:
    where = Where(scene.host.home, scene.start, scene.start, scene.protected.state)
    for run in scene.runs:
        if run.name == "patch" and (found := of_path(places.normal(_patched(run.argv), where, run.cwd), scene.host)):
            yield found
    for effect in effects(Reading(scene.runs), where):
        if effect.kind in _CHANGING:
            path = places.normal(effect.target, where, effect.run.cwd if effect.run else "")
            if found := of_path(path, scene.host):
                yield found
            elif _ENVIRONMENT.search(path.lower()) and _OWN_VARIABLE.search(scene.text):
                yield Finding(SERVICE)


def _patched(argv: tuple[str, ...]) -> str:
    """The folder that `patch` works in."""
    for at, word in enumerate(argv[1:], 1):
        if word in ("-d", "--directory"):
            return "".join(argv[at + 1 : at + 2]) or "."
        if word.startswith(("-d", "--directory=")):
            return word.removeprefix("--directory=").removeprefix("-d")
    return "."


def of_path(path: str, host: Host) -> Finding | None:
    """Why a file of this absolute path must not be changed unasked."""
    lower = path.lower()
    if any(lower == folder.lower() or lower.startswith(f"{folder.lower()}/") for folder in host.code):
        return Finding(CODE)
    if _UNIT.search(lower):
        return Finding(SERVICE)
    if _PACKAGE.search(lower) is None:
        return None
    return Finding(CODE, certain=_GLOBAL.search(lower) is not None)


def _service(run: Run) -> Iterator[Finding]:
    words = run.argv[1:]
    if run.name == "dbus-update-activation-environment" or not _SETS.get(run.name, frozenset()).isdisjoint(words):
        names = {word.partition("=")[0] for word in words}
        if any(_OWN_VARIABLE.fullmatch(name) for name in names):
            yield Finding(SERVICE)
        elif not names.isdisjoint(_LOADING) or any(UNKNOWN in name for name in names):
            yield Finding(SERVICE, certain=False)
    elif run.name == "systemctl" and not _CHANGES_UNIT.isdisjoint(words) and any(map(_NAMED.search, words)):
        yield Finding(SERVICE)


def _release(run: Run, host: Host) -> Iterator[Finding]:
    """An installation for all of the machine; one in a project is another copy, which nothing starts by itself."""
    words = run.argv[1:]
    name = base(run.name)
    everywhere = name == "volta" or not _GLOBALLY.isdisjoint(words)
    if name not in _PACKAGERS or not everywhere or _INSTALLS.isdisjoint(words):
        return
    for word in words:
        if spec := _SPEC.fullmatch(word):
            yield from _spec(spec[1] or "", host)
        elif _FROM_ELSEWHERE.search(word):
            yield Finding(RELEASE, certain=False)


def _spec(spec: str, host: Host) -> Iterator[Finding]:
    if spec in _CURRENT:
        return
    found = _RELEASE.fullmatch(spec)
    if found is None or None in found.groups():
        yield Finding(RELEASE, certain=False)
        return
    release = _numbers(spec)
    if release < OLDEST:
        yield Finding(RELEASE)
    elif release in _WITHOUT_EMBEDDED or release < _numbers(host.release):
        yield Finding(RELEASE, certain=False)


def _numbers(release: str) -> tuple[int, ...]:
    """`2026.6.11-beta.1` as (2026, 6, 11); empty where it is no release."""
    found = _RELEASE.fullmatch(release)
    return tuple(int(part) for part in found.groups() if part) if found else ()
