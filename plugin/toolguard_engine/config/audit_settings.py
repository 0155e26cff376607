"""The settings under `audit`: when the audit log is written."""

from __future__ import annotations

import msgspec


class AuditConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """`durable`: a blocked call is on the disk before the gateway is told."""

    durable: bool = False
