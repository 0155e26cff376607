"""Which addresses something can be sent to: those of ntfy at once, all others through the optional package apprise."""

from __future__ import annotations

import logging
import warnings
from importlib import import_module
from typing import Any

from toolguard_cli.system import ntfy_address
from toolguard_cli.system.extras import NOTIFY

UNKNOWN = "apprise does not know this kind of URL, or a part of it is missing"


def problem(address: str) -> str:
    """Why nothing can be sent there; empty if it can. Sends nothing."""
    if lacks(address):
        return NOTIFY.lack
    return "" if ntfy_address.parse(address) or _knows(address) else UNKNOWN


def lacks(address: str) -> bool:
    """Whether it needs apprise, which is not installed."""
    return ntfy_address.parse(address) is None and not NOTIFY.is_installed()


def _knows(address: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        apprise: Any = import_module("apprise")  # 0.1 s
        with apprise.LogCapture(level=logging.WARNING):  # its messages quote the address
            return apprise.Apprise.instantiate(address, suppress_exceptions=True) is not None
