"""Where the gateway finds the plugin: in its extension folders and in `plugins.load.paths`."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolguard_cli.doctor import fixes
from toolguard_cli.doctor.check_types import Check, DoctorSubject, Fix, shown, unused
from toolguard_cli.doctor.read_once import json_object
from toolguard_cli.setup import plugin_folder
from toolguard_cli.setup.plugin_entry import LOAD_PATHS
from toolguard_cli.system.paths import PLUGIN_ID

EXTENSIONS = "extensions"
NPM_PROJECT = Path("npm", "projects", plugin_folder.PACKAGE, "node_modules", plugin_folder.PACKAGE)
"""Where `openclaw plugins install npm:...` puts the package, in the state directory."""


def locations(subject: DoctorSubject) -> list[Path]:
    """Every folder from which the gateway could load the plugin, without duplicates; it loads the first."""
    copies = [path for root in _searched(subject) for path in _inside(root) if _is_plugin(path)]
    copies += [path for path in [subject.places.state_dir / NPM_PROJECT] if _is_plugin(path)]
    own = subject.places.extension
    return list(dict.fromkeys([*(p for p in linked(subject) if _is_plugin(p)), *([own] if own.exists() else []), *copies]))


def package(subject: DoctorSubject) -> Path | None:
    """The npm package, if `openclaw plugins` manages the plugin."""
    return next((place for place in locations(subject) if plugin_folder.is_package(place)), None)


def linked(subject: DoctorSubject) -> list[Path]:
    paths = subject.get(*LOAD_PATHS)
    named = [path for path in paths if isinstance(path, str) and "\0" not in path] if isinstance(paths, list) else []
    return [_absolute(Path(path), subject) for path in named]


def _absolute(path: Path, subject: DoctorSubject) -> Path:
    home = Path(subject.env.get("OPENCLAW_HOME") or subject.env.get("HOME") or Path.home())
    return home.joinpath(*path.parts[1:]) if path.parts[:1] == ("~",) else path


def _searched(subject: DoctorSubject) -> list[Path]:
    named = subject.get("agents", "defaults", "workspace")
    workspace = _absolute(Path(named), subject) if isinstance(named, str) else subject.places.state_dir / "workspace"
    return [subject.places.state_dir / EXTENSIONS, workspace / ".openclaw" / EXTENSIONS]


def _inside(root: Path) -> list[Path]:
    try:
        return sorted(root.iterdir())
    except OSError:
        return []


def _is_plugin(path: Path) -> bool:
    return json_object(path / "openclaw.plugin.json").get("id") == PLUGIN_ID


def check(subject: DoctorSubject) -> Check:
    places = locations(subject)
    data = {"folders": [str(path) for path in places]}
    if not places:
        text = "the gateway cannot find the plugin"
        return Check("plugin", "error", text, subject.command("install"), data)
    if len(places) > 1:
        return Check("plugin", "warn", f"two copies: {places[0]} and {places[1]}", _one_of(subject, places), data)
    return Check("plugin", "ok", f"{places[0]}", data=data)


def _one_of(subject: DoctorSubject, places: list[Path]) -> str:
    if _was_linked(subject) and plugin_folder.is_ours(subject.places.extension):
        return f"{subject.command('install', '--link')} (it removes the copy)"
    if package(subject):
        return f"openclaw plugins uninstall {PLUGIN_ID}, then {subject.command('install')}"
    if stray := next(_strays(subject), None):
        return f"rm -r {shown(stray)}"
    foreign = next((path for path in places if path != subject.places.extension and path not in linked(subject)), None)
    if foreign:
        return f"mv {shown(foreign)} {shown(unused(subject.places.state_dir / f'{foreign.name}.aside'))}"
    return f"remove {places[0]} from plugins.load.paths in {subject.places.config}"


def _was_linked(subject: DoctorSubject) -> bool:
    return subject.record is not None and subject.record.mode == "link"


def _strays(subject: DoctorSubject) -> Iterator[Path]:
    """Copies with toolguard's marker, other than the one that `install` maintains."""
    kept = subject.places.extension
    yield from (path for path in locations(subject) if path != kept and plugin_folder.is_ours(path))


def fix(subject: DoctorSubject) -> Iterator[Fix]:
    """Removes only copies with toolguard's marker."""
    yield from fixes.reinstall(subject)
    if subject.places.extension in locations(subject) and subject.places.extension.is_dir():
        for path in _strays(subject):
            yield Fix(f"remove the second copy {path}", partial(_removed, path))


def _removed(path: Path) -> str:
    plugin_folder.remove(path)
    return ""
