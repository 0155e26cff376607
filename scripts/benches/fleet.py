"""The fleet's figures, on a temporary PostgreSQL of the system's programs. Each group is a module beside this one."""

from __future__ import annotations

import sys

import fleet_shipping
from figures import options, report

from toolguard_cli.rig.temporary_postgres import NoPostgresError, TemporaryPostgres


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--rows", type=int, default=20_000, metavar="N", help="audit lines, and as many model calls")
    given = parser.parse_args()
    try:
        with TemporaryPostgres() as server:
            figures = list(fleet_shipping.measure(server, given.rows))
    except NoPostgresError as error:
        print(error, file=sys.stderr)
        return 1
    report(figures, given.json)
    return 0


if __name__ == "__main__":
    sys.exit(main())
