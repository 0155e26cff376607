"""Ships as the courier does, in a process of its own, until its input ends: DSN GATEWAY TOKEN STATE_DIR METRICS_FILE.

Writes a line for each change of what it reports.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from toolguard_engine.stores.fleet.fleet_identity import FleetIdentity
from toolguard_fleet.deadline_connection import DeadlineConnection
from toolguard_fleet.shipping.run_shipping import ShippingReport, ShippingSettings, run_shipping


async def main() -> None:
    dsn, gateway, token, state_dir, metrics = sys.argv[1:]
    stop = asyncio.Event()
    known: dict[str, str] = {}

    def report(now: ShippingReport) -> None:
        text = f"{now.kind} {now.sent} {now.error}"
        if known.get(now.kind) != text:
            known[now.kind] = text
            print(text, flush=True)  # noqa: T201

    async def wait_for_end() -> None:
        await asyncio.to_thread(sys.stdin.buffer.read)
        stop.set()

    end = asyncio.create_task(wait_for_end())
    settings = ShippingSettings(metrics_path=Path(metrics), pause=0.02, answer=5.0)
    identity = FleetIdentity(gateway, bytes.fromhex(token))
    await run_shipping(lambda name: DeadlineConnection(dsn, name), identity, Path(state_dir), settings, report, stop)
    await end


asyncio.run(main())
