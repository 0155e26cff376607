"""`python -m toolguard_cli.rig node tsc openclaw`: downloads these once and prints their paths as shell variables."""

from __future__ import annotations

import argparse
import shlex
import sys

from toolguard_cli.rig import downloads
from toolguard_cli.system.errors import UserError


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m toolguard_cli.rig", description=__doc__)
    parser.add_argument("parts", nargs="+", choices=["node", "tsc", "openclaw"])
    parser.add_argument("--openclaw", default=downloads.OPENCLAW_VERSION, metavar="VERSION")
    arguments = parser.parse_args()
    try:
        variables = _variables(arguments.parts, arguments.openclaw)
    except UserError as error:
        print(f"{error.message}\n-> {error.fix}", file=sys.stderr)  # noqa: T201
        print("false")  # noqa: T201 - fails the shell that evaluates the output
        return 1
    for name, value in variables.items():
        print(f"{name}={shlex.quote(value)}")  # noqa: T201
    return 0


def _variables(parts: list[str], version: str) -> dict[str, str]:
    def progress(text: str) -> None:
        print(f"  {text}", file=sys.stderr)  # noqa: T201

    variables: dict[str, str] = {}
    if "node" in parts:
        variables["NODE"] = str(downloads.node(progress))
    if "tsc" in parts:
        tools = downloads.npm_packages("typescript", downloads.TYPESCRIPT, progress)
        variables["TSC"] = str(tools / "typescript" / "bin" / "tsc")
        variables["TYPES"] = str(tools / "@types")
    if "openclaw" in parts:
        variables["OPENCLAW_VERSION"] = downloads.ensure(version, progress).version
    return variables


if __name__ == "__main__":
    sys.exit(main())
