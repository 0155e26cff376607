"""What was at the paths that a call was about to change."""

from __future__ import annotations

from typing import Literal

import msgspec

Was = Literal["file", "folder", "link", "nothing", "moved"]

DESCRIPTION = "entry.json"
INCOMPLETE = "incomplete"
"""A file beside it if something was left out: a description takes too long to read where a call is only shown."""

WRITTEN_HERE = frozenset({DESCRIPTION, INCOMPLETE})
"""The files of an entry's folder that are ours. Any other may be a second name of a file that its owner still uses."""

MAX_ENTRY = 8_000_000
"""Bytes of the file that describes an entry."""


class SavedPath(msgspec.Struct, frozen=True, omit_defaults=True):
    """`path`: absolute, no link on the way to it. `kept`: the name of the file with the content, in the entry's folder.
    `modified`: in nanoseconds since 1970. `leads_to`: where a link leads, or where a file or folder was moved to. `inode`,
    `device`: which file was moved."""

    path: str
    was: Was
    mode: int = 0
    size: int = 0
    modified: int = 0
    kept: str = ""
    leads_to: str = ""
    inode: int = 0
    device: int = 0


class UndoCause(msgspec.Struct, frozen=True, omit_defaults=True):
    """The call that was about to run, or the entry that a person was about to restore (`restores`). `shown`: the call as it
    is shown to people; `at`: seconds since 1970; `nonce`: if it was held before."""

    at: float
    tool: str = ""
    shown: str = ""
    agent: str = ""
    session: str = ""
    call: str = ""
    nonce: str = ""
    restores: str = ""


class UndoEntry(msgspec.Struct, frozen=True, omit_defaults=True):
    """`size`: the bytes that its folder may take. `left_out`: what was not saved, with the reason. Folders stand before what
    is in them."""

    id: str
    cause: UndoCause
    paths: tuple[SavedPath, ...] = ()
    size: int = 0
    left_out: tuple[str, ...] = ()


ENTRIES = msgspec.json.Decoder(UndoEntry)
"""Made when the module is loaded: a type must be read before there is a second thread (`stores.decode_first`)."""
