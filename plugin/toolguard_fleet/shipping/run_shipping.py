"""What the courier runs beside its own work: the two shippers, each until it is stopped.

While the database is away nothing is lost: the files on this machine grow, and what is missing is sent later.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from toolguard_engine.stores.locked import StoreError
from toolguard_fleet.shipping.audit_shipper import AuditRefused, AuditShipper
from toolguard_fleet.shipping.link import ANSWER_SECONDS, Connect, Link
from toolguard_fleet.shipping.metrics_shipper import MetricsShipper

FIRST_RETRY = 1.0
LAST_RETRY = 60.0
REFUSED_RETRY = 60.0
"""Seconds until it is tried again where a person must act first."""

IDLE_CLOSES = 30.0
"""Seconds without anything to send after which the connection is given back."""

Report = Callable[[str, str, int], None]
"""Takes `audit` or `metrics`, an error of one line (empty: it works), and the rows sent since the start."""


@dataclass(frozen=True)
class ShippingSettings:
    """`audit`, `metrics`: the settings `fleet.ship.*`; `metrics_path`: the metrics file, None where `metrics.enabled` is
    off. Seconds: between two looks at the files, and for one answer of the database."""

    audit: bool = True
    metrics: bool = True
    metrics_path: Path | None = None
    pause: float = 2.0
    answer: float = ANSWER_SECONDS


@dataclass(frozen=True)
class LocalGateway:
    """This gateway, as it proves itself to the database, and where its files are."""

    id: str
    token: bytes
    state_dir: Path


async def run_shipping(
    connect: Connect, gateway: LocalGateway, settings: ShippingSettings, stop: asyncio.Event, report: Report
) -> None:
    """Until `stop` is set. Each shipper has a connection of its own. Errors are reported and retried, never raised."""
    async with asyncio.TaskGroup() as group:
        if settings.audit:
            link = Link(connect, gateway.id, gateway.token, settings.answer)
            shipper = AuditShipper(link, gateway.state_dir)
            group.create_task(_run("audit", link, shipper, settings, stop, report))
        if settings.metrics and settings.metrics_path:
            link = Link(connect, gateway.id, gateway.token, settings.answer)
            other = MetricsShipper(link, gateway.state_dir, settings.metrics_path)
            group.create_task(_run("metrics", link, other, settings, stop, report))


async def _run(
    name: str,
    link: Link,
    shipper: AuditShipper | MetricsShipper,
    settings: ShippingSettings,
    stop: asyncio.Event,
    report: Report,
) -> None:
    failures, idle = 0, 0.0
    while not stop.is_set():
        try:
            more = await shipper.step()
        except Exception as error:  # noqa: BLE001 - a bug here must not end the shipping for good
            failures += 1
            await link.close()
            report(name, _in_one_line(error), shipper.progress.sent)
            await _wait(stop, _retry_after(error, failures))
            continue
        failures = 0
        report(name, "", shipper.progress.sent)
        if more:
            idle = 0.0
            continue
        pause = settings.pause * random.uniform(0.75, 1.25)  # noqa: S311 - so that gateways do not ask in step
        idle += pause
        if idle > IDLE_CLOSES:
            await link.close()
        await _wait(stop, pause)
    await link.close()


def _retry_after(error: Exception, failures: int) -> float:
    if isinstance(error, AuditRefused) or str(getattr(error, "sqlstate", None)).startswith("TG"):
        return REFUSED_RETRY * random.uniform(0.75, 1.25)  # noqa: S311 - as above
    return min(LAST_RETRY, FIRST_RETRY * 2.0 ** min(failures - 1, 10)) * random.uniform(0.5, 1.0)  # noqa: S311 - as above


def _in_one_line(error: Exception) -> str:
    """Without what the database quotes from rows or addresses."""
    if isinstance(error, AuditRefused | StoreError):
        return str(error)
    if isinstance(error, TimeoutError):
        return "the database does not answer"
    if isinstance(error, psycopg.Error):
        message = error.diag.message_primary
        return f"the database refuses: {message[:200]!a}" if message else "the database cannot be reached"
    if isinstance(error, OSError):
        return f"a file cannot be read: {error.strerror or type(error).__name__}"
    return f"{type(error).__name__} while sending; please report this"


async def _wait(stop: asyncio.Event, seconds: float) -> None:
    with suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await _set(stop)


def _set(stop: asyncio.Event) -> Awaitable[object]:
    return stop.wait()
