"""What the tests of the command line share: the real console script, installs in this process, pictures of a folder."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

from toolguard_cli.commands import install, uninstall
from toolguard_cli.paths import Places, plugin_source
from toolguard_cli.result import Result

SCRIPT = Path(sys.executable).with_name("toolguard")
SOURCE = plugin_source()
LIMIT = 120
"""Seconds after which a command counts as hanging. No test asserts how long one takes."""


def toolguard(*arguments: str | Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The console script, in a process of its own."""
    return subprocess.run(
        [SCRIPT, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        stdin=subprocess.DEVNULL,
    )


def envelope(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    """The one JSON object on standard output."""
    (line,) = done.stdout.splitlines()
    found: dict[str, Any] = json.loads(line)
    return found


def put_in(places: Places, *, link: bool = False, dry_run: bool = False) -> Result:
    return install.run(places, link=link, dry_run=dry_run)


def take_out(places: Places, *, dry_run: bool = False) -> Result:
    return uninstall.run(places, dry_run=dry_run)


def picture(root: Path, *, times: bool = True) -> dict[str, tuple[object, ...]]:
    """Everything below a folder: kind and mode, the time of the last change, content or target."""
    found: dict[str, tuple[object, ...]] = {}
    for path in [root, *sorted(root.rglob("*"))]:
        info = path.lstat()
        content: object = None
        if stat.S_ISLNK(info.st_mode):
            content = str(path.readlink())
        elif stat.S_ISREG(info.st_mode):
            content = path.read_bytes()
        found[str(path.relative_to(root))] = (info.st_mode, info.st_mtime_ns if times else 0, content)
    return found


def texts(result: Result) -> list[str]:
    return [line.text for line in result.lines]


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())
