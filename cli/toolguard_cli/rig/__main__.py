"""`python -m toolguard_cli.rig node tsc openclaw`: gets these, once, and prints where they are as shell variables."""

from __future__ import annotations

import argparse
import shlex
import sys

from toolguard_cli.errors import UserError
from toolguard_cli.rig import runtime


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m toolguard_cli.rig", description=__doc__)
    parser.add_argument("parts", nargs="+", choices=["node", "tsc", "openclaw"])
    parser.add_argument("--openclaw", default=runtime.OPENCLAW_VERSION, metavar="VERSION")
    arguments = parser.parse_args()
    try:
        found = _variables(arguments.parts, arguments.openclaw)
    except UserError as error:
        print(f"{error.message}\n-> {error.fix}", file=sys.stderr)  # noqa: T201
        print("false")  # noqa: T201 - the shell that evaluates this stops here
        return 1
    for name, value in found.items():
        print(f"{name}={shlex.quote(value)}")  # noqa: T201
    return 0


def _variables(parts: list[str], version: str) -> dict[str, str]:
    def progress(text: str) -> None:
        print(f"  {text}", file=sys.stderr)  # noqa: T201

    found: dict[str, str] = {}
    if "node" in parts:
        found["NODE"] = str(runtime.node(progress))
    if "tsc" in parts:
        tools = runtime.npm_packages("typescript", runtime.TYPESCRIPT, progress)
        found["TSC"] = str(tools / "typescript" / "bin" / "tsc")
        found["TYPES"] = str(tools / "@types")
    if "openclaw" in parts:
        found["OPENCLAW_VERSION"] = runtime.ensure(version, progress).version
    return found


if __name__ == "__main__":
    sys.exit(main())
