"""The settings under `containment`: what the kernel keeps from the commands of an agent."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Profile = Literal["protect", "secrets", "workspace", "offline", "off"]
"""Each keeps more from commands than the one before, `off` nothing."""

WhenUnavailable = Literal["run", "hold"]
Unknown = Literal["allow", "rehearse", "hold"]
"""What becomes of a command that runs code which cannot be read."""

WritablePath = Annotated[str, Meta(min_length=1, max_length=4096, pattern=r"^[~/][^\x00-\x1f\x7f]*$")]
WritablePaths = Annotated[list[WritablePath], Meta(max_length=100)]


class ContainmentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`when_unavailable`: what becomes of a command that cannot be contained. `write`: where commands may write beside the
    workspaces, under the profiles that limit that; absolute, or below `~`.
    `unknown`: what becomes of a command whose code cannot be read."""

    profile: Profile = "protect"
    when_unavailable: WhenUnavailable = "run"
    unknown: Unknown = "allow"
    write: WritablePaths = msgspec.field(default_factory=list)
