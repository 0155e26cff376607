"""The packages that only some features need: whether they are installed, and the command that installs them.

Each `Extra` is one of `pyproject.toml`. The command names the distribution that is already installed, so pip and uv take
only what it lacks, and leave toolguard itself as it is.
"""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from importlib.util import find_spec

from toolguard_cli.system.errors import UserError

DISTRIBUTION = "openclaw-toolguard"


@dataclass(frozen=True)
class Extra:
    """`feature`: what needs it, as the subject of a sentence; `modules`: what its packages are imported as."""

    name: str
    feature: str
    modules: tuple[str, ...]

    def is_installed(self) -> bool:
        return not self._missing()

    @property
    def lack(self) -> str:
        """What is missing, in words."""
        *others, last = self._missing() or self.modules
        names, are = (f"{', '.join(others)} and {last}", "are") if others else (last, "is")
        return f"{self.feature} needs {names}, which {are} not installed"

    def _missing(self) -> list[str]:
        return [module for module in self.modules if find_spec(module) is None]


DASHBOARD = Extra("dashboard", "the dashboard", ("starlette", "uvicorn", "websockets", "prometheus_client"))
NOTIFY = Extra("notify", "its URL", ("apprise",))
FLEET = Extra("fleet", "the fleet", ("psycopg",))
ALL = (DASHBOARD, NOTIFY, FLEET)


def require(*extras: Extra) -> None:
    """Raises `UserError` if one of them is not installed."""
    if missing := [extra for extra in extras if not extra.is_installed()]:
        raise UserError("; ".join(extra.lack for extra in missing), install_command(*missing))


def install_command(*extras: Extra) -> str:
    """The command for the Python that runs. The environments of uv have no pip."""
    python, wanted = shlex.quote(sys.executable), ",".join(extra.name for extra in extras)
    tool = f"{python} -m pip install" if find_spec("pip") else f"uv pip install --python {python}"
    return f"{tool} '{DISTRIBUTION}[{wanted}]'"
