"""Where toolguard and its settings lie: what the engine guards, and what `toolguard check` judges by."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path

import toolguard_engine
from toolguard_engine import lazy_re
from toolguard_engine.config import notify_targets, public_hosts
from toolguard_engine.config.settings import MetricsConfig, NotifyConfig
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.host import file_names, metrics_path
from toolguard_engine.stores import atomic, gateway_config

MAX_LINKS = 100
MAX_ENTRIES = 2_000
"""Of a folder in which links are looked for."""

_KEY = "$include"
MAX_LIST = 20_000
"""Characters of one list of names."""
_LIST = lazy_re.compile(r"""["']?\s{0,20}:\s{0,20}\[""")
_VALUE = lazy_re.compile(r"""["']?\s{0,20}:\s{0,20}(\[[^\]]{0,20000}\]|"[^"\n]{1,4096}"|'[^'\n]{1,4096}')""")
_NAME = lazy_re.compile(r""""([^"\n]{1,4096})"|'([^'\n]{1,4096})'""")


def own_places() -> tuple[str, ...]:
    """What the engine and the command line are made of, and where the gateway part would look for them."""
    usual = (os.path.expanduser(f"~/{folder}") for folder in file_names.ENVIRONMENTS)  # noqa: PTH111
    return (*_packages(), *usual)


def _packages() -> tuple[str, ...]:
    """A virtual environment as a whole, else our packages in it."""
    packages = Path(toolguard_engine.__file__).parent.parent
    if sys.prefix != sys.base_prefix:
        return (sys.prefix, str(packages))
    names = ("toolguard_engine", "toolguard_cli", "toolguard_manifests")
    return (*(str(packages / name) for name in names), str(Path(sys.executable).with_name("toolguard")))


OWN_FILES = (toolguard_engine.__file__, sys.executable)
"""Which change if the package or its environment is replaced or removed."""


def links_to(home: str, state: str) -> tuple[tuple[str, str], ...]:
    """The symbolic links that lead to the home or the state folder, or to one above them, as (link, where it leads).

    Looked at are these folders themselves, those above them, and what lies in the home folder; others may exist.
    """
    targets = [path for path in (home, state) if path and "\0" not in path]
    links: dict[str, str] = {}
    for path in targets:
        real = os.path.realpath(path)
        if real != path:
            links[real] = path
    ends = [f"{os.path.realpath(path)}/" for path in targets]
    wanted = {identity for end in ends for folder in _upwards(end) if (identity := _identity(folder))}
    folders = [directory for path in targets for directory in (path, f"{path}/workspace", *map(str, Path(path).parents))]
    for folder in dict.fromkeys(folders):
        for link in _links_in(folder, wanted):
            real = os.path.realpath(link)
            if link not in targets and real != "/" and any(end.startswith(f"{real}/") for end in ends):
                links.setdefault(link, real)
    return tuple(links.items())[:MAX_LINKS]


def _upwards(path: str) -> Iterator[Path]:
    yield Path(path)
    yield from Path(path).parents


def _identity(path: str | Path) -> tuple[int, int] | None:
    """Device and inode of what lies there, after all links; None if it cannot be examined."""
    try:
        stat = os.stat(path)  # noqa: PTH116 - for each link of a folder
    except (OSError, ValueError):
        return None
    return stat.st_dev, stat.st_ino


def _links_in(folder: str, wanted: set[tuple[int, int]]) -> Iterator[str]:
    """The links that lead to one of `wanted`, or to where nothing lies yet. One look at each: to resolve it takes a look at
    each folder on the way."""
    try:
        with os.scandir(folder) as entries:
            for entry in islice(entries, MAX_ENTRIES):
                if entry.is_symlink() and ((identity := _identity(entry.path)) is None or identity in wanted):
                    yield entry.path
    except OSError:
        return


def package_of(script: str) -> tuple[str, ...]:
    """The folder of the package that a script belongs to, under every name; nothing where it is not the gateway's."""
    packages: dict[str, None] = {}
    if not script or "\0" in script:
        return ()
    for path in (Path(script), Path(os.path.realpath(script))):
        for folder in list(path.parents)[:4]:
            if (folder / "package.json").is_file():
                if folder.name in ("openclaw", "clawdbot") or (folder / "openclaw.mjs").is_file():
                    packages[str(folder)] = None
                break
    return tuple(packages)


def measured(config: MetricsConfig) -> tuple[str, str]:
    """The metrics file, and where the dashboard listens (empty where it is off), as `model.Host` has them."""
    page = config.dashboard
    is_on = page.enabled or page.hosts  # one with public names may be started by hand
    return str(metrics_path.resolve(config.db_path)), f"{page.bind}:{page.port}" if is_on else ""


def public_names(config: MetricsConfig) -> tuple[str, ...]:
    """Host names under which a proxy serves the dashboard."""
    return tuple(dict.fromkeys(map(public_hosts.name, config.dashboard.hosts)))


def notifying(config: NotifyConfig, home: str) -> tuple[str, ...]:
    """The files that decide where notifications go, and the user's own programs that get them. Not programs of the system
    or interpreters, which agents may run. Each with the file that it leads to if it is a link."""
    own = [
        path for path in (_at(home, program) for program in notify_targets.programs(config)) if path.startswith(f"{home}/")
    ]
    own = [path for path in own if not _is_usual(os.path.basename(path))]  # noqa: PTH119 - texts
    return (*notification_secrets(config, home), *_with_targets(own))


def notification_secrets(config: NotifyConfig, home: str) -> tuple[str, ...]:
    """The files with addresses and secrets of notifications: who reads them can read or forge what is sent. As above."""
    return _with_targets(_at(home, file) for file in notify_targets.files(config))


def _with_targets(files: Iterable[str]) -> tuple[str, ...]:
    named = [file for file in files if file.startswith("/") and file.isprintable()]
    return tuple(dict.fromkeys(path for file in named for path in (file, os.path.realpath(file))))


def _at(home: str, path: str) -> str:
    return home + path[1:] if path.startswith("~/") else path


def _is_usual(name: str) -> bool:
    return any(name in names for names in program_catalogue.load().programs.values()) or name.startswith("python")


def included(config_path: str) -> tuple[str, ...]:
    """The files that the gateway's config takes in with `$include`: the guard's settings may lie in any of them.

    Read as text, without the grammar of JSON5: what a comment names is guarded too. What cannot be read names nothing. Where
    there is more than `config.limits` allows, the whole folder of the config is guarded with what was found.
    """
    if not config_path:
        return ()
    main = Path(config_path)
    paths, is_all = _included(main)
    guarded = paths if is_all else [*paths, main.parent]
    return tuple(dict.fromkeys(file for path in guarded for file in (str(path), os.path.realpath(path))))


def _included(main: Path) -> tuple[list[Path], bool]:
    """The files, and whether these are all of them."""
    files: dict[Path, None] = {}
    todo, left = [main], gateway_config.MAX_BYTES
    while todo:
        path = todo.pop()
        data = _content(path, left)
        for name in _names(data[:left].decode("utf-8", "replace")):
            if name is None or (len(files) == gateway_config.MAX_FILES and path.parent / name not in files):
                return list(files), False
            if path.parent / name not in files:
                files[path.parent / name] = None
                todo.append(path.parent / name)
        left -= len(data)
        if left < 0:
            return list(files), False
    return list(files), True


def stamps(paths: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Returns what changes when a file changes; zeros for one that is not there."""
    return tuple(map(_stamp, paths))


def _stamp(path: str) -> tuple[int, int]:
    try:
        stat = Path(path).stat()
    except (OSError, ValueError):
        return 0, 0
    return stat.st_mtime_ns, stat.st_size


def _content(path: Path, limit: int) -> bytes:
    """The content of a file; one byte more than the limit where it has more. Nothing where it cannot be read."""
    try:
        with atomic.opened(path) as file:
            return file.read(limit + 1)
    except (OSError, ValueError):
        return b""


def _names(text: str) -> Iterator[str | None]:
    """What stands behind each `$include`, each once; None for a list that is too long to be read. A value ends where the
    next begins, so no character is read twice."""
    seen: set[str] = set()
    at = text.find(_KEY)
    while at >= 0:
        start, at = at + len(_KEY), text.find(_KEY, at + len(_KEY))
        end = at if at >= 0 else len(text)
        value = _VALUE.match(text, start, end)
        if value is None and end - start > MAX_LIST and _LIST.match(text, start, end):
            yield None
        for name in _NAME.finditer(value[1]) if value else ():
            named = name[1] or name[2]
            if named not in seen and "\0" not in named:
                seen.add(named)
                yield named
