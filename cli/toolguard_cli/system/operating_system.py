"""Which operating system this is: the only module of the command line that asks. Tests set `NAME`."""

from __future__ import annotations

import sys

NAME = sys.platform


def is_linux() -> bool:
    return NAME.startswith("linux")


def is_macos() -> bool:
    return NAME == "darwin"
