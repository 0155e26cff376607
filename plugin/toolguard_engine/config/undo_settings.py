"""The settings under `undo`: what is kept of the person's files before a call changes them."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

MaxMegabytes = Annotated[int, Meta(ge=10, le=1_000_000)]
UndoDays = Annotated[int, Meta(ge=1, le=365)]


class UndoConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`max_megabytes`: what all entries together may take; the oldest go first."""

    enabled: bool = True
    max_megabytes: MaxMegabytes = 2_000
    days: UndoDays = 7
