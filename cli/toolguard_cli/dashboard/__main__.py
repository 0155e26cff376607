"""Starts the dashboard's server: `python -m toolguard_cli.dashboard --db PATH --state-dir DIR --config PATH`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from toolguard_cli import inside
from toolguard_cli.dashboard import serve
from toolguard_cli.dashboard.settings import BIND, PORT, Settings
from toolguard_cli.dashboard.vouched import Voucher
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_engine.metrics import place


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m toolguard_cli.dashboard")
    for name in ("--db", "--state-dir", "--config"):
        parser.add_argument(name, type=Path, required=True)
    parser.add_argument("--bind", default=BIND)
    parser.add_argument("--port", type=int, default=PORT)
    parser.add_argument("--owned", action="store_true", help="end when standard input ends")
    parser.add_argument("--vouched", action="store_true", help="have whoever holds it prove to be the gateway")
    given = parser.parse_args(arguments)
    places = Places(given.state_dir.absolute(), given.config.absolute())
    try:
        voucher = Voucher() if given.owned and given.vouched else None
        if not (voucher and voucher.speaks_for(places)):
            inside.refuse(places, "dashboard")
        return serve.run(Settings(place.resolve(str(given.db)), places, given.bind, given.port, given.owned, voucher))
    except UserError as error:
        print(f"{error.message}{f'; {error.fix}' if error.fix else ''}", file=sys.stderr)  # noqa: T201 - why it ends
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
