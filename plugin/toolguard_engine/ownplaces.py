"""Where toolguard itself lies: what the engine guards, and what `toolguard check` judges by."""

from __future__ import annotations

import sys
from pathlib import Path


def own_places() -> tuple[str, ...]:
    """What the engine and the command line are made of: a virtual environment as a whole, else our packages in it."""
    if sys.prefix != sys.base_prefix:
        return (sys.prefix, str(Path(__file__).parent.parent))
    packages = Path(__file__).parent.parent
    names = ("toolguard_engine", "toolguard_cli", "toolguard_manifests")
    return (*(str(packages / name) for name in names), str(Path(sys.executable).with_name("toolguard")))
