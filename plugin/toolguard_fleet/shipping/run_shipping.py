"""What the courier runs beside its own work: the two shippers, each until it is stopped.

While the database is away nothing is lost: the files on this machine grow, and what is missing is sent later.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from toolguard_engine.stores.fleet.fleet_identity import FleetIdentity
from toolguard_engine.stores.locked import StoreError
from toolguard_fleet.deadline_connection import DeadlineConnection
from toolguard_fleet.fleet_errors import QUOTA, QUOTA_RETRY, FleetError
from toolguard_fleet.shipping.audit_shipper import AuditRefused, AuditShipper
from toolguard_fleet.shipping.gateway_connection import ANSWER_SECONDS, GatewayConnection
from toolguard_fleet.shipping.metrics_shipper import MetricsShipper

FIRST_RETRY = 1.0
LAST_RETRY = 60.0
REFUSED_RETRY = 60.0
"""Seconds until it is tried again where a person must act first."""

IDLE_CLOSES = 30.0
"""Seconds without anything to send after which the connection is given back."""

Connect = Callable[[str], DeadlineConnection]
"""A connection by its name, not opened yet."""


@dataclass(frozen=True)
class ShippingReport:
    """`kind`: `audit` or `metrics`. `error`: one line, empty while it works. `sent`: rows since the start. `behind`: about
    how many wait on this machine."""

    kind: str
    error: str
    sent: int
    behind: int


Report = Callable[[ShippingReport], None]


@dataclass(frozen=True)
class ShippingSettings:
    """`audit`, `metrics`: the settings `fleet.ship.*`; `metrics_path`: the metrics file, None where `metrics.enabled` is
    off. Seconds: between two looks at the files, and for one answer of the database."""

    audit: bool = True
    metrics: bool = True
    metrics_path: Path | None = None
    pause: float = 2.0
    answer: float = ANSWER_SECONDS


async def run_shipping(
    connect: Connect,
    gateway: FleetIdentity,
    state_dir: Path,
    settings: ShippingSettings,
    report: Report,
    stop: asyncio.Event,
) -> None:
    """Ships until `stop` is set or the task is cancelled. The shippers share one connection, which is open only while there
    is something to send. Errors are reported and retried, never raised."""
    connection = GatewayConnection(connect("shipping"), gateway.id, gateway.token, settings.answer)
    async with asyncio.TaskGroup() as group:
        if settings.audit:
            shipper = AuditShipper(connection, state_dir)
            group.create_task(_run("audit", connection, shipper, settings, stop, report))
        if settings.metrics and settings.metrics_path:
            other = MetricsShipper(connection, state_dir, settings.metrics_path)
            group.create_task(_run("metrics", connection, other, settings, stop, report))


async def _run(
    name: str,
    connection: GatewayConnection,
    shipper: AuditShipper | MetricsShipper,
    settings: ShippingSettings,
    stop: asyncio.Event,
    report: Report,
) -> None:
    failures = 0
    await _wait(stop, settings.pause * random.random())  # noqa: S311 - so that gateways do not begin in step
    while not stop.is_set():
        try:
            more = await shipper.step()
        except Exception as error:  # noqa: BLE001 - a bug here must not end the shipping for good
            failures += 1
            await connection.close_idle(0.0)
            report(ShippingReport(name, _in_one_line(error), shipper.progress.sent, shipper.progress.behind))
            await _wait(stop, retry_after(name, error, failures))
            continue
        failures = 0
        report(ShippingReport(name, "", shipper.progress.sent, shipper.progress.behind))
        if not more:
            await connection.close_idle(IDLE_CLOSES)
            await _wait(stop, settings.pause * random.uniform(0.75, 1.25))  # noqa: S311 - so that gateways do not ask in step
    await connection.close_idle(0.0)


def retry_after(name: str, error: Exception, failures: int) -> float:
    """Seconds until the next step. Beyond a quota the shipper of metrics still has standings to copy; it keeps its rows back
    itself."""
    if name == "audit" and isinstance(error, FleetError) and error.code == QUOTA:
        return QUOTA_RETRY * random.uniform(0.75, 1.0)  # noqa: S311 - as above
    if isinstance(error, AuditRefused) or (isinstance(error, FleetError) and error.code.startswith("TG")):
        return REFUSED_RETRY * random.uniform(0.75, 1.25)  # noqa: S311 - as above
    return min(LAST_RETRY, FIRST_RETRY * 2.0 ** min(failures - 1, 10)) * random.uniform(0.5, 1.0)  # noqa: S311 - as above


def _in_one_line(error: Exception) -> str:
    if isinstance(error, AuditRefused | StoreError | FleetError):
        return str(error)
    if isinstance(error, OSError):
        return f"a file cannot be read: {error.strerror or type(error).__name__}"
    return f"{type(error).__name__} while sending; please report this"


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await stop.wait()
