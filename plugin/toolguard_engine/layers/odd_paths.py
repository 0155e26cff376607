"""A file tool's path with a sign that is invisible or belongs in no file name is held unless the file exists.

Gateways repair such paths in ways that nobody can know in advance, so an unknown name may become that of another file. A
name that is on disk as it is written leaves nothing to guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from posixpath import normpath

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.host import path_repairs
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model import odd_signs
from toolguard_engine.model.call import Verdict
from toolguard_engine.model.files import Unread
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement

CODE = "path.odd-sign"
REASON = (
    "A path contains {sign}, and it is not known that such a file exists; the gateway may open another one. "
    "Write the path without that sign."
)
MAX_FILES = 16
"""Paths of one call that are looked up; the file system is not asked about more."""

_FILE_TOOLS = frozenset({"read", "write", "edit", "ls", "apply_patch"})
"""Tools that take any of the usual names for their path."""

_UNKNOWN = frozenset({"absent", "forbidden", "too-many", "too-slow"})
"""What a file source says if it did not see the file."""

_ADDRESS = lazy_re.compile(r"(?!file:)[a-z][a-z0-9+.-]+://|data:", re.IGNORECASE)


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    """A hold in place of an allow."""
    if earlier.decision != "allow" or given.reading.executes or not given.reading.has_params:
        return None
    sign = _unknown_sign(given.reading)
    return judgement.changed(earlier, Verdict("hold", CODE, reason=REASON.format(sign=sign))) if sign else None


def _unknown_sign(reading: CallReading) -> str:
    """The sign in the first odd path that is not known to exist; empty if there is none."""
    odd = [(path, sign) for path in _paths(reading) if (sign := odd_signs.first(path))]
    for number, (path, sign) in enumerate(odd):
        if number >= MAX_FILES or not _exists(path, reading):
            return sign
    return ""


def _paths(reading: CallReading) -> Iterator[str]:
    if reading.tool in _FILE_TOOLS:
        yield from reading.paths
    else:
        yield from (text for text in path_repairs.bundled().named(reading.tool, reading.params) if not _ADDRESS.match(text))


def _exists(path: str, reading: CallReading) -> bool:
    home, folder = reading.host.home, reading.where.cwd
    if path.startswith("~/") and home:
        path = home + path[1:]
    elif not path.startswith("/"):
        path = f"{folder}/{path}"
    if not path.startswith("/") or "\0" in path:
        return False
    file = reading.files.read(normpath(path))
    return not (isinstance(file, Unread) and file.reason in _UNKNOWN)
