"""A command for a folder that does not exist is held with the releases that would run it elsewhere.

OpenClaw 2026.6 and 2026.7 run such a command in the folder that the gateway was started in, so relative paths in it mean
other files than those that were judged. Later releases refuse it.
"""

from __future__ import annotations

from functools import lru_cache
from posixpath import normpath

from toolguard_engine.effects.calls.call_place import named_folder
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.places import normal
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Verdict
from toolguard_engine.model.files import Unread
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement

CODE = "path.lost-folder"
REASON = (
    "The folder {folder} does not exist, and OpenClaw {release} would run the command in the folder that the gateway was "
    "started in. Create the folder first, or name one that exists."
)
REFUSES_SINCE = (2026, 8)
_THERE = frozenset({"not-regular", "forbidden"})
"""What a file source says of a folder that exists."""


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    """A hold in place of an allow."""
    reading = given.reading
    if earlier.decision != "allow" or not reading.executes or not falls_back(reading.host.release):
        return None
    folder = named_folder(reading.params) if reading.has_params else ""
    if not folder or _exists(reading):
        return None
    return judgement.changed(
        earlier, Verdict("hold", CODE, reason=REASON.format(folder=folder, release=reading.host.release))
    )


@lru_cache(maxsize=8)
def falls_back(release: str) -> bool:
    """Whether this release runs a command elsewhere if its folder does not exist; not if the release is unknown."""
    parts = tuple(int(part) for part in release.partition("-")[0].split(".")[:2] if part.isdecimal())
    return bool(parts) and parts < REFUSES_SINCE


def _exists(reading: CallReading) -> bool:
    path = normal(".", reading.command_where)
    if UNKNOWN in path or "\0" in path:
        return False
    file = reading.files.read(normpath(path))
    return isinstance(file, Unread) and file.reason in _THERE
