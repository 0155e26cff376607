"""What a held call touches, as its words name it (`Named`), and what lies there now (`SeenPlaces`).

An approval covers what was there when the person was asked. Deciding is pure, so the guard lists what has to be looked at,
and the server looks (`server.world_reader`), for held calls only. Paths are absolute and normalised.
"""

from __future__ import annotations

from typing import Protocol

import msgspec

NAMES = "names"
"""The kind of a target that a file tool names, whatever it does there."""

MANY = "it names too much"
"""The gap of a call of which not all can be listed, so that nothing can be compared with it."""


class NamedTarget(msgspec.Struct, frozen=True, gc=False):
    """What an effect of a call is about. `path`: empty where it is no place on this machine; it may contain wildcards.
    `text`: as the call names it. `on_link`: a link at this path is itself the target, and not what it leads to.
    `from_file`: a file that the call runs names it.
    """

    kind: str
    text: str
    path: str = ""
    dangers: tuple[str, ...] = ()
    on_link: bool = False
    from_file: bool = False


class Named(msgspec.Struct, frozen=True, gc=False):
    """`folder`: where the call runs, empty if it does not matter; `targets`: of its effects; `code`: the files that it
    runs, with their digests; `unread`: others that it runs, if they are there; `words`: paths in its words, which may
    be files or folders that it reads; `data`: paths in its code, likewise; `settings`: folders whose files of settings
    decide what it does. `gap`: why not all of that is known; empty where it is."""

    folder: str = ""
    targets: tuple[NamedTarget, ...] = ()
    code: tuple[tuple[str, str], ...] = ()
    unread: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    data: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    gap: str = ""


class SeenTarget(msgspec.Struct, frozen=True, gc=False):
    """`path`: with links followed, of a path with wildcards the part before them; `beyond`: the places outside of that which
    its wildcards reach through links. `listing`: where they mean too much to be followed one by one, a digest of what was
    seen. `shared`: a file that has another name as well (a hard link), which is changed under both."""

    path: str
    beyond: tuple[str, ...] = ()
    listing: str = ""
    shared: bool = False


class SeenFile(msgspec.Struct, frozen=True, gc=False):
    """Something at a path. `real`: with links followed; `digest`: of the content of a file, empty for a folder."""

    real: str
    digest: str = ""


class SeenPlaces(msgspec.Struct, frozen=True, gc=False):
    """What lies where a call names something. `targets`: in the order of `Named.targets`; `files`: by path, without those at
    which there is nothing. `late`: the file system did not answer in time, so the paths are as they are named."""

    folder: str
    targets: tuple[SeenTarget, ...]
    files: dict[str, SeenFile]
    late: bool = False


class World(Protocol):
    def look(self, named: Named) -> SeenPlaces:
        """Bounded in number, size and time. Never raises."""


class NoWorld:
    """Nothing is looked at: every path is what it is named."""

    def look(self, named: Named) -> SeenPlaces:
        return SeenPlaces(named.folder, tuple(SeenTarget(target.path) for target in named.targets), {})
