"""Where toolguard and its settings lie: what the engine guards, and what `toolguard check` judges by."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from toolguard_engine.config import MetricsConfig
from toolguard_engine.metrics import place
from toolguard_engine.stores import files

MAX_FILES = 100
MAX_BYTES = 20 * 1024 * 1024
"""Of one file, as the command line takes them."""
_INCLUDE = re.compile(r"""\$include["']?\s*+:\s*+(\[[^\]]{0,20000}\]|"[^"\n]{1,4096}"|'[^'\n]{1,4096}')""")
_NAME = re.compile(r""""([^"\n]+)"|'([^'\n]+)'""")


def own_places() -> tuple[str, ...]:
    """What the engine and the command line are made of: a virtual environment as a whole, else our packages in it."""
    if sys.prefix != sys.base_prefix:
        return (sys.prefix, str(Path(__file__).parent.parent))
    packages = Path(__file__).parent.parent
    names = ("toolguard_engine", "toolguard_cli", "toolguard_manifests")
    return (*(str(packages / name) for name in names), str(Path(sys.executable).with_name("toolguard")))


def measured(config: MetricsConfig) -> tuple[str, str]:
    """The metrics file, and where the dashboard listens (empty where it is off), as `model.Host` has them."""
    page = config.dashboard
    return str(place.resolve(config.db_path)), f"{page.bind}:{page.port}" if page.enabled else ""


def included(config_path: str) -> tuple[str, ...]:
    """The files that the gateway's config takes in with `$include`: the guard's settings may lie in any of them.

    Read as text, without the grammar of JSON5: what a comment names is guarded too. What cannot be read names nothing.
    """
    if not config_path:
        return ()
    found: dict[Path, None] = {}
    todo = [Path(config_path)]
    while todo and len(found) < MAX_FILES:
        fresh = [name for name in dict.fromkeys(_named(todo.pop())) if name not in found]
        found |= dict.fromkeys(fresh)
        todo += fresh
    return tuple(dict.fromkeys(str(each) for path in found for each in (path, path.resolve())))


def stamps(paths: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """By what one sees that a file has changed; zeros for one that is not there."""
    return tuple(map(_stamp, paths))


def _stamp(path: str) -> tuple[int, int]:
    try:
        found = Path(path).stat()
    except (OSError, ValueError):
        return 0, 0
    return found.st_mtime_ns, found.st_size


def _named(path: Path) -> Iterator[Path]:
    try:
        with files.opened(path) as file:
            text = file.read(MAX_BYTES).decode("utf-8", "replace")
    except (OSError, ValueError):
        return
    for include in _INCLUDE.finditer(text):
        for name in _NAME.finditer(include[1]):
            yield path.parent / (name[1] or name[2])
