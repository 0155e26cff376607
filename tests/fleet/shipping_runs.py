"""Runs shippers in tests: against a database, with files of a temporary state directory."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

from fleet_database import FleetDatabase, Gateway
from toolguard_fleet.deadline_connection import DeadlineConnection
from toolguard_fleet.shipping.audit_shipper import AuditShipper
from toolguard_fleet.shipping.gateway_connection import GatewayConnection

LIMIT = 60.0
"""Seconds for anything that must happen."""


def link_of(database: FleetDatabase, gateway: Gateway) -> GatewayConnection:
    return GatewayConnection(DeadlineConnection(database.dsn("toolguard_gateway"), "test"), gateway.id, gateway.token, LIMIT)


def with_link(
    database: FleetDatabase, gateway: Gateway, work: Callable[[GatewayConnection], Coroutine[Any, Any, Any]]
) -> Any:
    async def run() -> Any:
        link = link_of(database, gateway)
        try:
            async with asyncio.timeout(LIMIT):
                return await work(link)
        finally:
            await link.close_idle(0)

    return asyncio.run(run())


def ship_audit(database: FleetDatabase, gateway: Gateway, state_dir: Path) -> AuditShipper:
    """Sends all that there is. The shipper with its progress."""

    async def work(link: GatewayConnection) -> AuditShipper:
        shipper = AuditShipper(link, state_dir)
        while await shipper.step():
            pass
        return shipper

    shipper: AuditShipper = with_link(database, gateway, work)
    return shipper
