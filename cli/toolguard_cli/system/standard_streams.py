"""Standard streams for a command whose caller has closed one of them, as `>&-` does in a shell."""

from __future__ import annotations

import os
import sys


def open_closed() -> None:
    """What is said there goes nowhere. The descriptor is taken, too: otherwise the next file would get it, and a program
    that is started would write its output into that."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))
