"""What a rehearsed command changed in the file system. Values only."""

from __future__ import annotations

from typing import Literal

import msgspec

What = Literal["file", "link", "folder", "nothing"]


class Before(msgspec.Struct, frozen=True):
    """What lay at the path when the command had run, and must still lie there when its changes are made. Of a folder only
    that it is one: what is in it has a change of its own."""

    what: What = "nothing"
    inode: int = 0
    size: int = 0
    modified: int = 0
    changed: int = 0
    mode: int = 0


class After(msgspec.Struct, frozen=True):
    """What will lie there. `modified`: of a file; `link`: where a link leads; `kept`: the file with the new content."""

    what: What = "nothing"
    mode: int = 0
    size: int = 0
    modified: int = 0
    link: str = ""
    kept: str = ""


class RehearsedChange(msgspec.Struct, frozen=True):
    """One path that is not what it was. `is_same`: the content of the file is, only its mode is another."""

    path: str
    before: Before
    after: After
    is_same: bool = False
