"""The settings under `toolTrust`: tools of plugins and servers."""

from __future__ import annotations

from typing import Literal

import msgspec

FirstUse = Literal["ask", "allow"]


class ToolTrustConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`first_use`: what happens when an agent uses such a tool for the first time."""

    first_use: FirstUse = "ask"
