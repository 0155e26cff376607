"""The settings under `runLimits`: how long one run may go on."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

MOST = 100_000
MostOrOff = Annotated[int, Meta(ge=0, le=MOST)]
"""0: no limit."""


class RunLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What one run may take at most: tool calls that ran, requests to the model, minutes since its first call."""

    calls: MostOrOff = 0
    requests: MostOrOff = 0
    minutes: MostOrOff = 0

    @property
    def are_set(self) -> bool:
        return bool(self.calls or self.requests or self.minutes)
