"""The plugin's folder: copied into the state directory with a marker, or loaded from where it is.

Only folders with toolguard's marker are replaced or removed. Files are copied, never linked: OpenClaw refuses hard-linked
files, which some installers create. Folders get mode 0755, files 0644: OpenClaw also refuses files writable by others.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import stat
import tempfile
from pathlib import Path

from toolguard_cli.system.errors import UserError
from toolguard_cli.system.exchange import exchange
from toolguard_engine.stores import atomic

PACKAGE = "openclaw-toolguard"
"""The name of the npm package, and of the Python package."""
MARKER = ".toolguard.json"
BESIDE = ".toolguard-"
FILE_MODE = 0o644
MANIFEST = "openclaw.plugin.json"
MAX_MANIFEST_BYTES = 1024 * 1024


def source_files(source: Path) -> list[Path]:
    return sorted(
        path.relative_to(source) for path in source.iterdir() if path.suffix in (".mjs", ".json") and path.name != MARKER
    )


def is_ours(target: Path) -> bool:
    return not target.is_symlink() and (target / MARKER).is_file()


def same(source: Path, target: Path) -> bool:
    if not is_ours(target):
        return False
    names = source_files(source)
    if names != source_files(target):
        return False
    return all(_unchanged(source / name, target / name) for name in names)


def _unchanged(source: Path, target: Path) -> bool:
    info = target.stat()
    return (
        stat.S_ISREG(info.st_mode)
        and info.st_nlink == 1
        and stat.S_IMODE(info.st_mode) == FILE_MODE
        and source.read_bytes() == target.read_bytes()
    )


def copy(source: Path, target: Path, version: str) -> None:
    """Copies the plugin to `target` atomically. Raises `UserError`."""
    refuse_foreign(target)
    target.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=BESIDE, dir=target.parent.parent))
    try:
        for name in source_files(source):
            shutil.copyfile(source / name, beside / name)
            (beside / name).chmod(FILE_MODE)
        (beside / MARKER).write_text(json.dumps({"installedBy": "toolguard", "version": version}) + "\n", "utf-8")
        (beside / MARKER).chmod(FILE_MODE)
        beside.chmod(0o755)
        _swap(beside, target)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def _swap(beside: Path, target: Path) -> None:
    """Replace the plugin in one step, so that there is one at any time.

    Where the system has no such step, the old one comes back if the new one cannot be moved in.
    """
    if not target.exists():
        beside.rename(target)
        return
    if exchange(beside, target):
        return  # what is beside now is the old one
    away = _away(target)
    target.rename(away)
    try:
        beside.rename(target)
    except OSError:
        away.rename(target)
        raise
    shutil.rmtree(away, ignore_errors=True)  # `sweep` removes what is left


def remove(target: Path) -> bool:
    """Removes a folder with toolguard's marker atomically; returns whether there was one. Raises `UserError` for others."""
    refuse_foreign(target)
    if not target.exists():
        return False
    away = _away(target)
    target.rename(away)
    shutil.rmtree(away, ignore_errors=True)  # as above
    return True


def _away(target: Path) -> Path:
    """A free name. No folder is made: there may be no space left."""
    return target.parent.parent / f"{BESIDE}{secrets.token_hex(8)}"


def sweep(state_dir: Path) -> None:
    """Removes what an interrupted `copy` or `remove` left. The caller must hold the lock."""
    for left in state_dir.glob(f"{BESIDE}*"):
        if left.is_dir() and not left.is_symlink():
            shutil.rmtree(left, ignore_errors=True)


def is_package(folder: Path) -> bool:
    """Whether it is toolguard's npm package, which `openclaw plugins install` put there; only a checkout is private."""
    if folder.is_symlink() or is_ours(folder):
        return False
    try:
        about = json.loads((folder / "package.json").read_bytes()[:MAX_MANIFEST_BYTES])
    except (OSError, ValueError, RecursionError):
        return False
    return isinstance(about, dict) and about.get("name") == PACKAGE and not about.get("private")


def refuse_foreign(target: Path) -> None:
    if is_package(target):
        raise UserError(
            f"{target} was installed by `openclaw plugins install`",
            "openclaw plugins uninstall toolguard, then try again; "
            "or keep it, and name this Python if it is not found: toolguard config set python PATH",
        )
    if target.is_symlink() or (target.exists() and not is_ours(target)):
        raise UserError(f"{target} was not created by toolguard", "move it away, then try again")


def refusals(folder: Path, user: int | None = None) -> list[str]:
    """Why OpenClaw would not load the plugin from this folder; empty if it would. `user`: who runs the gateway."""
    if not (folder / MANIFEST).is_file():
        return [f"{folder} has no {MANIFEST}"]
    runs = os.getuid() if user is None else user
    return [reason for path in [folder, *sorted(folder.rglob("*"))] if (reason := _refusal(path, runs))]


def _refusal(path: Path, user: int) -> str:
    info = path.lstat()
    if stat.S_ISLNK(info.st_mode):
        return f"{path} is a symbolic link"
    if stat.S_IMODE(info.st_mode) & 0o002:
        return f"{path} is writable by everyone (mode {stat.S_IMODE(info.st_mode):o})"
    if info.st_uid not in (user, 0):
        return f"{path} belongs to user {info.st_uid}, not to the user who runs the gateway ({user})"
    if stat.S_ISREG(info.st_mode) and info.st_nlink > 1:
        return f"{path} is a hard link ({info.st_nlink} names)"
    return ""


def has_same_manifest(source: Path, target: Path) -> bool:
    """Whether both folders describe the same settings."""
    try:
        ours, theirs = (atomic.read_bounded(folder / MANIFEST, MAX_MANIFEST_BYTES) for folder in (source, target))
    except OSError:
        return False
    return ours == theirs


def plugin_id(path: Path) -> str:
    try:
        value = json.loads(atomic.read_bounded(path / MANIFEST, MAX_MANIFEST_BYTES))
    except (OSError, ValueError, RecursionError):
        return ""
    name = value.get("id") if isinstance(value, dict) else None
    return name if isinstance(name, str) else ""
