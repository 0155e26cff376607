"""The settings under `fleet`: many gateways that share held calls, audit trail, policy and kill switch in one PostgreSQL."""

from __future__ import annotations

import re
from typing import Annotated, Literal
from urllib.parse import unquote_plus

import msgspec
from msgspec import Meta

from toolguard_engine import lazy_re

WhenAway = Literal["block", "local"]
WhenStale = Literal["keep", "stop"]
Dsn = Annotated[str, Meta(max_length=2_000)]
TeamName = Annotated[str, Meta(pattern="^([a-z0-9][a-z0-9_.-]{0,62})?$")]
Deadline = Annotated[int, Meta(ge=100, le=3_000)]
"""The gateway part blocks a call itself after 12 s, and a loop that sends nothing for 5 s is ended."""

StaleTime = Annotated[int, Meta(ge=10, le=86_400)]
TrustFolder = Annotated[str, Meta(min_length=1, max_length=4096)]

_PASSWORDS = ("password", "sslpassword")
_NAMED_PASSWORD = lazy_re.compile(rf"(?:^|\s)({'|'.join(_PASSWORDS)})\s*=", re.IGNORECASE)
_IN_URL = lazy_re.compile(r"postgres(?:ql)?://", re.IGNORECASE)


class ShippingConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """What is copied to the fleet's database from the files of this machine."""

    audit: bool = True
    metrics: bool = True


class FleetConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`dsn`: a connection string without a password. `trust`: the folder with `allowed_signers` and, optionally, `krl`."""

    enabled: bool = False
    dsn: Dsn = ""
    team: TeamName = ""
    deadline_ms: Deadline = 1_500
    when_away: WhenAway = "block"
    stale_seconds: StaleTime = 60
    when_stale: WhenStale = "keep"
    listen: bool = False
    ship: ShippingConfig = ShippingConfig()
    trust: TrustFolder = "/etc/toolguard"
    trust_writable: bool = False

    @property
    def problem(self) -> tuple[str, str]:
        """The setting that keeps the fleet from being used, and why; empty texts if there is none."""
        if not self.enabled:
            return "", ""
        if not self.dsn:
            return "enabled", "fleet.enabled needs fleet.dsn: until it is set, every held call is blocked"
        if not self.team:
            return "enabled", "fleet.enabled needs fleet.team: until it is set, every held call is blocked"
        if has_password(self.dsn):
            return (
                "dsn",
                "fleet.dsn contains a password, so it is not used: move it to a password file (passfile, ~/.pgpass)",
            )
        if not self.trust.startswith("/"):
            return "trust", "fleet.trust must be an absolute path: until it is, every held call is blocked"
        return "", ""


def has_password(dsn: str) -> bool:
    """Whether a connection string, in either form, contains a password."""
    if not _IN_URL.match(dsn.strip()):
        return bool(_NAMED_PASSWORD.search(dsn))
    _, _, rest = dsn.strip().partition("://")
    place, _, query = rest.partition("?")
    names = {unquote_plus(part.partition("=")[0]).strip().lower() for part in query.split("&")}
    return ":" in place.partition("/")[0].rpartition("@")[0] or not names.isdisjoint(_PASSWORDS)
