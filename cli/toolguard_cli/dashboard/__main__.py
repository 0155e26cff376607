"""Starts the dashboard's server: `python -m toolguard_cli.dashboard --db PATH --state-dir DIR --config PATH`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from toolguard_cli.dashboard.discovery import Running
from toolguard_cli.dashboard.server_settings import BIND, PORT, DashboardSettings
from toolguard_cli.dashboard.vouched import Voucher
from toolguard_cli.person import require_human
from toolguard_cli.system import extras
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.host import metrics_path


def main(arguments: list[str], on_serving: Callable[[Running], None] | None = None, held: int | None = None) -> int:
    """The exit code. `on_serving` and `held` are those of `run_server.run`."""
    parser = argparse.ArgumentParser(prog="python -m toolguard_cli.dashboard")
    for name in ("--db", "--state-dir", "--config"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--bind", default=BIND)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--host", action="append", default=[], help="a public name; see metrics.dashboard.hosts")
    parser.add_argument("--owned", action="store_true", help="end when standard input closes")
    parser.add_argument("--vouched", action="store_true", help="require the parent process to prove that it is the gateway")
    given = parser.parse_args(arguments)
    places = Places(given.state_dir.absolute(), given.config.absolute())
    try:
        voucher = Voucher() if given.owned and given.vouched else None
        if not (voucher and voucher.speaks_for(places)):
            require_human.refuse(places, "dashboard")
        settings = DashboardSettings(
            metrics_path.resolve(str(given.db)), places, given.bind, given.port, tuple(given.host), given.owned, voucher
        )
        extras.require(extras.DASHBOARD)
        from toolguard_cli.dashboard import run_server  # noqa: PLC0415 - needs the extra

        return run_server.run(settings, on_serving, held)
    except UserError as error:
        print(f"{error.message}{f'; {error.fix}' if error.fix else ''}", file=sys.stderr)  # noqa: T201 - for the parent process
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
