"""The fleet's figures, on a temporary PostgreSQL of the system's programs. Each group is a module beside this one."""

from __future__ import annotations

import sys

import fleet_engine
import fleet_holds
import fleet_load
import fleet_shipping
from figures import Figure, options, quantile, report
from fleet_load import LoadResult, LoadSettings

from toolguard_cli.rig.temporary_pgbouncer import NoPgbouncerError
from toolguard_cli.rig.temporary_postgres import NoPostgresError, TemporaryPostgres

FULL = 10_000
"""Gateways of the fleet that a simulation is a part of, at the pace of that fleet: 100 held calls, 1,000 model calls and 400
audit lines a second."""

PER_WORKER = 100
"""Gateways of one process. Each waits its turn on a busy machine: with 500 in one, nothing else would be measured."""


def simulated(gateways: int, minutes: float) -> list[Figure]:
    part = gateways / FULL
    settings = LoadSettings(
        gateways=gateways, seconds=minutes * 60, holds=100 * part, rows=1_000 * part, lines=400 * part, ramp=gateways / 25,
        paced=FULL, workers=max(2, gateways // PER_WORKER),
    )  # fmt: skip
    return list(_figures(fleet_load.run(settings), settings))


def _figures(result: LoadResult, settings: LoadSettings) -> list[Figure]:
    figures = [
        Figure("load of the machine, most", max(result.load), "", f"least {min(result.load):.1f}"),
        Figure("fdatasync of 8 kB, p50, most", max(result.fdatasync), "ms", f"least {min(result.fdatasync):.2f} ms"),
        Figure("errors", sum(result.errors.values()), "", "; ".join(list(result.errors)[:3]), promise=0),
        Figure("held calls without an answer", sum(result.counts[name] for name in fleet_load.FAILED), "", promise=0),
        Figure("held calls used", result.counts["holds used"], ""),
        Figure("memory of PgBouncer, most", result.memory / 1e6, "MB"),
        Figure("clients of PgBouncer, most", result.clients, "", f"{settings.gateways} gateways"),
        Figure("connections of PostgreSQL, most", result.servers, ""),
    ]
    figures += [Figure(f"processor time of {name}", 100 * share, "% of a core") for name, share in result.cpu.items()]
    for kind, times in sorted(result.times.items()):
        beside = f"p99 {quantile(times, 0.99):.0f} ms, {len(times)} times"
        figures.append(Figure(f"{kind}, p50", quantile(times, 0.5), "ms", beside))
    day = 86_400 / result.seconds / 1e6
    figures += [Figure(f"growth of {name}", size * day, "MB a day") for name, size in result.sizes.items()]
    return figures


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=20_000, metavar="N", help="audit lines, and as many model calls")
    parser.add_argument("--holds", type=int, default=500, metavar="N", help="held calls of one client")
    parser.add_argument("--frozen", type=float, default=20, metavar="SECONDS", help="for which the server is frozen")
    parser.add_argument("--kills", type=int, default=20, metavar="N", help="times that the kill switch is turned on")
    parser.add_argument("--simulate", type=int, default=0, metavar="N", help="so many gateways through PgBouncer, instead")
    parser.add_argument("--minutes", type=float, default=10, help="of the simulation (10)")
    given = parser.parse_args()
    try:
        if given.simulate:
            figures = simulated(given.simulate, given.minutes)
        else:
            with TemporaryPostgres() as server:
                figures = list(fleet_shipping.measure(server, given.rows))
                figures += fleet_holds.measure(server, given.holds)
                figures += fleet_engine.measure(server, given.frozen, given.kills)
    except (NoPostgresError, NoPgbouncerError) as error:
        print(error, file=sys.stderr)
        return 1
    report(figures, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
