"""Ships as the courier does, in a process of its own, until its input ends: DSN GATEWAY TOKEN STATE_DIR METRICS_FILE.

Writes a line for each change of what it reports.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from shipping_runs import connector
from toolguard_fleet.shipping.run_shipping import LocalGateway, ShippingSettings, run_shipping


async def main() -> None:
    dsn, gateway, token, state_dir, metrics = sys.argv[1:]
    stop = asyncio.Event()
    known: dict[str, str] = {}

    def report(name: str, error: str, sent: int) -> None:
        if known.get(name) != f"{error} {sent}":
            known[name] = f"{error} {sent}"
            print(f"{name} {sent} {error}", flush=True)  # noqa: T201

    async def wait_for_end() -> None:
        await asyncio.to_thread(sys.stdin.buffer.read)
        stop.set()

    end = asyncio.create_task(wait_for_end())
    settings = ShippingSettings(metrics_path=Path(metrics), pause=0.02, answer=5.0)
    await run_shipping(connector(dsn), LocalGateway(gateway, bytes.fromhex(token), Path(state_dir)), settings, stop, report)
    await end


asyncio.run(main())
