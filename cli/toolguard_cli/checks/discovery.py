"""Where the gateway finds the plugin: in the folders that it searches, and those that the config names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from toolguard_cli.checks import mending
from toolguard_cli.checks.check import Check, Step, Subject, shown
from toolguard_cli.checks.reading import json_object
from toolguard_cli.paths import PLUGIN_ID
from toolguard_cli.setup import folder
from toolguard_cli.setup.entry import LOAD_PATHS

EXTENSIONS = "extensions"


def locations(subject: Subject) -> list[Path]:
    """Every folder from which the gateway would load the plugin, each once; the first one counts."""
    copies = [path for root in _searched(subject) for path in _inside(root) if _is_plugin(path)]
    own = subject.places.extension
    return list(dict.fromkeys([*(p for p in linked(subject) if _is_plugin(p)), *([own] if own.exists() else []), *copies]))


def linked(subject: Subject) -> list[Path]:
    """The folders that `plugins.load.paths` names."""
    paths = subject.get(*LOAD_PATHS)
    named = [path for path in paths if isinstance(path, str) and "\0" not in path] if isinstance(paths, list) else []
    return [_absolute(Path(path), subject) for path in named]


def _absolute(path: Path, subject: Subject) -> Path:
    home = Path(subject.env.get("OPENCLAW_HOME") or subject.env.get("HOME") or Path.home())
    return home.joinpath(*path.parts[1:]) if path.parts[:1] == ("~",) else path


def _searched(subject: Subject) -> list[Path]:
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


def found(subject: Subject) -> Check:
    places = locations(subject)
    data = {"folders": [str(path) for path in places]}
    if not places:
        where = "the plugin is not where the gateway looks"
        return Check("plugin", "error", where, subject.command("install"), data)
    if len(places) > 1:
        return Check("plugin", "warn", f"two copies: {places[0]} and {places[1]}", _one_of(subject, places), data)
    return Check("plugin", "ok", f"{places[0]}", data=data)


def _one_of(subject: Subject, places: list[Path]) -> str:
    if _was_linked(subject) and folder.is_ours(subject.places.extension):
        return f"{subject.command('install', '--link')} (it removes the copy)"
    if stray := next(_strays(subject), None):
        return f"rm -r {shown(stray)}"
    foreign = next((path for path in places if path != subject.places.extension and path not in linked(subject)), None)
    if foreign:
        return f"mv {shown(foreign)} {shown(_free(subject.places.state_dir / f'{foreign.name}.aside'))}"
    return f"take {places[0]} out of plugins.load.paths in {subject.places.config}"


def _free(path: Path) -> Path:
    """This name, or the first one like it that nothing has."""
    names = (path.with_name(f"{path.name}{number or ''}") for number in range(1000))
    return next(name for name in names if not os.path.lexists(name))


def _was_linked(subject: Subject) -> bool:
    return subject.record is not None and subject.record.mode == "link"


def _strays(subject: Subject) -> Iterator[Path]:
    """Copies beside the one that `install` keeps, which it made itself once."""
    kept = subject.places.extension
    yield from (path for path in locations(subject) if path != kept and folder.is_ours(path))


def mend(subject: Subject) -> Iterator[Step]:
    """Removes copies with our marker, never another folder."""
    yield from mending.reinstall(subject)
    if subject.places.extension in locations(subject) and subject.places.extension.is_dir():
        for path in _strays(subject):
            yield Step(f"remove the second copy {path}", partial(_removed, path))


def _removed(path: Path) -> str:
    folder.remove(path)
    return ""
