"""The optional package apprise: whether it is installed, and which addresses it knows."""

from __future__ import annotations

import logging
import shlex
import sys
import warnings
from importlib import import_module
from importlib.util import find_spec
from typing import Any

EXTRA = "openclaw-toolguard[notify]"
MISSING = "its URL needs apprise, which is not installed"
UNKNOWN = "apprise does not know this kind of URL, or a part of it is missing"


def is_installed() -> bool:
    return find_spec("apprise") is not None


def install_command() -> str:
    """The command that installs apprise for the Python that runs."""
    return f"{shlex.quote(sys.executable)} -m pip install {shlex.quote(EXTRA)}"


def knows(address: str) -> bool:
    """Sends nothing. Call it if apprise is installed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        apprise: Any = import_module("apprise")  # 0.1 s
        with apprise.LogCapture(level=logging.WARNING):  # its messages quote the address
            return apprise.Apprise.instantiate(address, suppress_exceptions=True) is not None
