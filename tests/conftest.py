"""No test sees the home of the person who runs it: what a test writes to `~` lands in a folder of its own."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from toolguard_cli.rig.runtime import cache_dir

FOREIGN = ("OPENCLAW_", "TOOLGUARD_")
KEPT = "TOOLGUARD_TEST_"


@pytest.fixture(scope="session", autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of all tests. Downloads stay where they were."""
    cache = cache_dir()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(FOREIGN) and not name.startswith(KEPT)]:
            patch.delenv(name)
        home = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(home))
        patch.setenv("TOOLGUARD_CACHE_DIR", str(cache))
        yield home
