"""Where links lead: what else has to be watched where a file or a folder has to be."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice

MAX_LINKS = 40
"""As many as Linux follows."""
MAX_ENTRIES = 500
"""Of a folder."""


def on_the_way(path: str) -> Iterator[str]:
    """The path, each link that leads on from it, where it ends, and the same for the links in a folder."""
    yield path
    yield from _followed(path)
    with suppress(OSError), os.scandir(path) as entries:
        links = [entry.path for entry in islice(entries, MAX_ENTRIES) if entry.is_symlink()]
        for link in links:
            yield from _followed(link)


def _followed(path: str) -> Iterator[str]:
    """Follows them by their real paths, as changes name them."""
    for _ in range(MAX_LINKS):
        link = _first_link(path)
        if not link:
            break
        yield link
        path = os.path.join(os.path.dirname(link), os.readlink(link), os.path.relpath(path, link))
    yield os.path.realpath(path)


def _first_link(path: str) -> str:
    """The outermost part of the path that is a link; empty if there is none."""
    at = "/"
    for name in os.path.normpath(path).strip("/").split("/"):
        at = os.path.join(at, name)
        if os.path.islink(at):
            return at
    return ""
