"""A grant as it is stored. What it covers is `grant_matching`'s, which reads commands and is slow to import."""

from __future__ import annotations

from typing import Annotated

import msgspec
from msgspec import Meta

from toolguard_engine.approvals.call_meaning import Meaning

GrantId = Annotated[str, Meta(min_length=1, max_length=40, pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]
Short = Annotated[str, Meta(max_length=400)]
Pattern = Annotated[str, Meta(min_length=1, max_length=4_000)]


class Grant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One permission. `agent`, `cwd`: "" is any. `expires`: 0 is never. `params`: a glob for each named parameter.

    `mac` proves that a person gave it (see `stores.files.grants_file`); what is covered does not depend on it. `bound`: what
    its calls meant when it was given, one for each folder (see `granted_meaning`); None for a grant of an earlier version,
    which covers the words alone. It is not part of `policy.toml`. `uncontained`: its commands run outside of a room.
    """

    id: GrantId
    tool: Annotated[str, Meta(min_length=1, max_length=200)]
    pattern: Pattern
    agent: Short = ""
    expires: float = 0.0
    created: float = 0.0
    by: Short = ""
    reason: Short = ""
    params: dict[str, Pattern] = msgspec.field(default_factory=dict)
    cwd: Short = ""
    uncontained: bool = False
    mac: Short = ""
    bound: tuple[Meaning, ...] | None = None


IN_POLICY = tuple(name for name in Grant.__struct_fields__ if name != "bound")
"""The members of a grant that are written into the policy."""


def is_expired(grant: Grant, now: float) -> bool:
    return grant.expires != 0 and not now < grant.expires
