"""Looks at what held calls name: links, wildcards, digests. In the thread of the stores, never for a call that just runs.

Bounded: in number by `model.call_world.Named`, in size by `MAX_BYTES`, in names by `MAX_NAMES`, in time by `WAIT` for each
of three looks. What is beyond the size is bound by its identity (inode, size, time of change), what is beyond the names by a
digest of the names that were seen and the times of their folders: any change there counts.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatch
from hashlib import sha256
from itertools import islice

from toolguard_engine.effects.calls.path_owners import GLOBS
from toolguard_engine.model.call_world import Named, NamedTarget, SeenFile, SeenPlaces, SeenTarget
from toolguard_engine.server.file_reader import FileReader, identity_of

WAIT = 0.3
"""Seconds; a held call is answered within 1.5."""

MAX_BYTES = 8 * 1024 * 1024
"""Of all files of a call that are read."""

MAX_NAMES = 2_000
"""Names in folders that are looked at for the wildcards of a call."""

MAX_BEYOND = 8
MAX_SETTINGS = 32
_SETTINGS = (
    ".yml", ".yaml", ".toml", ".tf", ".tfvars", ".hcl", ".ini", ".cfg", ".conf", ".env", ".jsonc", ".json5",
    ".tf.json", ".tfvars.json",
)  # fmt: skip
"""Endings of files that people write for programs. Not `.json`: programs keep their state in such files."""

_FILES = ("Dockerfile", "Containerfile", "Procfile", "Jenkinsfile")
_OPEN = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC
_DATABASE = b"SQLite format 3\0"
"""Programs write into such a file while a call waits; what they do is in their words."""


class WorldReader:
    """`World` of this machine. For one thread at a time."""

    def __init__(self, wait: float = WAIT) -> None:
        self._files = FileReader(wait=wait)

    def look(self, named: Named) -> SeenPlaces:
        paths = self._files.bounded(_real_paths, named)
        if paths is None:
            return SeenPlaces(named.folder, tuple(SeenTarget(target.path) for target in named.targets), {}, late=True)
        folder, real = paths
        files = self._files.bounded(_files_of, named)
        reached = self._files.bounded(_reached, (named, real))
        is_late = files is None or reached is None
        targets = tuple(reached or (SeenTarget(path) for path in real))
        return SeenPlaces(folder, targets, files or {}, late=is_late)


def _real(path: str) -> str:
    try:
        return os.path.realpath(path) if path else ""
    except (OSError, ValueError):
        return path


class _Links:
    """Follows links like `os.path.realpath`, which looks at each part of each path: a call may name a thousand places in
    folders that are hundreds of levels deep. Each folder is looked at once, and nothing below what is not there."""

    def __init__(self) -> None:
        self._known: dict[str, str] = {}

    def real(self, path: str) -> str:
        if path[:1] != "/":
            return _real(path)
        at, file = 0, ""
        while at < len(path):
            end = path.find("/", at + 1)
            end = len(path) if end < 0 else end
            before = path[:end]
            if (after := self._known.get(before)) is None:
                after = f"{file}{path[at:end]}"
                try:
                    status = os.lstat(after)
                except (OSError, ValueError):
                    return after + path[end:]
                if stat.S_ISLNK(status.st_mode):
                    after = _real(after)
                self._known[before] = after
            at, file = end, after.rstrip("/")
        return file or "/"

    def of_target(self, target: NamedTarget) -> str:
        """The part before the first wildcard, with its links followed."""
        known, rest = _parts(target.path)
        if rest or not target.on_link:
            return self.real(known)
        folder, _, name = known.rpartition("/")
        return f"{self.real(folder or '/').rstrip('/')}/{name}" if name else known


def _real_paths(named: Named) -> tuple[str, list[str]]:
    links = _Links()
    return links.real(named.folder), [links.of_target(target) for target in named.targets]


def _parts(path: str) -> tuple[str, list[str]]:
    parts = path.split("/")
    at = next((at for at, part in enumerate(parts) if GLOBS.intersection(part)), len(parts))
    return "/".join(parts[:at]) or ("/" if path else ""), parts[at:]


def _files_of(named: Named) -> dict[str, SeenFile]:
    left, files, links = MAX_BYTES, dict[str, SeenFile](), _Links()
    settings = [path for folder in named.settings for path in _settings_in(folder)]
    for path in dict.fromkeys((*named.unread, *settings, *named.words, *named.data)):
        if (seen := _seen(path, links.real(path), left)) is not None:
            files[path], used = seen
            left -= used
    return files


def _settings_in(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            names = [entry.name for entry in islice(entries, MAX_NAMES) if _is_setting(entry.name)]
    except (OSError, ValueError):
        return []
    return [f"{folder.rstrip('/')}/{name}" for name in sorted(names)[:MAX_SETTINGS]]


def _is_setting(name: str) -> bool:
    return name.endswith(_SETTINGS) or name.startswith(_FILES)


def _seen(path: str, real: str, left: int) -> tuple[SeenFile, int] | None:
    """What lies at a path, and how many bytes were read; None where there is nothing that could be bound."""
    try:
        status = os.stat(real)  # noqa: PTH116
        if stat.S_ISDIR(status.st_mode):
            return (SeenFile(real), 0) if real != path else None
        if not stat.S_ISREG(status.st_mode):
            return None
        if status.st_size > left:
            return SeenFile(real, _digest_of(identity_of(status))), 0
        handle = os.open(real, _OPEN)
    except (OSError, ValueError):
        return None
    try:
        return _content(real, handle, left)
    except OSError:
        return SeenFile(real, _digest_of(identity_of(status))), 0
    finally:
        os.close(handle)


def _content(real: str, handle: int, left: int) -> tuple[SeenFile, int] | None:
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        return None
    digest, used = sha256(), 0
    while used <= left and (part := os.read(handle, 262_144)):
        if used == 0 and part.startswith(_DATABASE):
            return None
        digest.update(part)
        used += len(part)
    return SeenFile(real, digest.hexdigest()), used


def _digest_of(value: object) -> str:
    return sha256(repr(value).encode()).hexdigest()


def _reached(asked: tuple[Named, list[str]]) -> list[SeenTarget]:
    named, real = asked
    names = _Names()
    return [_with_wildcards(target, path, names) for target, path in zip(named.targets, real, strict=True)]


def _with_wildcards(target: NamedTarget, base: str, names: _Names) -> SeenTarget:
    _, rest = _parts(target.path)
    if not rest:
        return SeenTarget(base, shared=not target.on_link and _is_shared(base))
    if len(rest) == 1 and target.on_link:  # no link is followed, however many names there are
        return SeenTarget(base)
    before = names.listing
    inside = base.rstrip("/") + "/"
    places = {place for place in names.meant(base, rest, on_link=target.on_link) if not f"{place}/".startswith(inside)}
    beyond = sorted(places)
    listing = names.listing if names.is_over else ""
    if len(beyond) > MAX_BEYOND:
        beyond, listing = beyond[:MAX_BEYOND], _digest_of((before, beyond))
    return SeenTarget(base, tuple(beyond), listing)


def _is_shared(path: str) -> bool:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):
        return False
    return stat.S_ISREG(status.st_mode) and status.st_nlink > 1


class _Names:
    """The names in folders that the wildcards of one call mean."""

    def __init__(self) -> None:
        self._left = MAX_NAMES
        self._digest = sha256()

    @property
    def is_over(self) -> bool:
        return self._left <= 0

    @property
    def listing(self) -> str:
        return self._digest.hexdigest()

    def meant(self, folder: str, rest: list[str], *, on_link: bool) -> Iterator[str]:
        """Where links lead among what a pattern means below a folder, each with its links followed."""
        if not rest:
            return
        if not GLOBS.intersection(rest[0]):
            yield from self._entered(f"{folder.rstrip('/')}/{rest[0]}", rest[1:], on_link=on_link)
            return
        pattern = rest[0].replace("[^", "[!")  # as a shell reads it
        for name in self._in(folder):
            if fnmatch(name, pattern) and (name[:1] != "." or rest[0][:1] == "."):
                yield from self._entered(f"{folder.rstrip('/')}/{name}", rest[1:], on_link=on_link)

    def _entered(self, path: str, rest: list[str], *, on_link: bool) -> Iterator[str]:
        if os.path.islink(path) and (rest or not on_link):  # noqa: PTH114
            path = _real(path)
            yield path
        yield from self.meant(path, rest, on_link=on_link)

    def _in(self, folder: str) -> list[str]:
        try:
            names = sorted(entry.name for entry in self._scanned(folder))
        except (OSError, ValueError):
            return []
        return names

    def _scanned(self, folder: str) -> Iterator[os.DirEntry[str]]:
        self._digest.update(repr((folder, os.stat(folder).st_mtime_ns)).encode())  # noqa: PTH116
        with os.scandir(folder) as entries:
            for entry in entries:
                self._left -= 1
                if self._left <= 0:
                    return
                self._digest.update(repr((entry.name, entry.is_symlink())).encode("utf-8", "surrogateescape"))
                yield entry
