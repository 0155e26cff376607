"""No test sees the home of the person who runs it: what a test writes to `~` lands in a folder of its own.

And how tests are spread where they run on several cores (`-n`): a file at a time, the longest work first. The tests that
share a gateway are one piece of work: on two cores each would start its own.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from xdist.scheduler import LoadScopeScheduling

from toolguard_cli.rig.runtime import cache_dir

settings.register_profile("toolguard", deadline=None)  # tests assert no times
settings.load_profile("toolguard")

FOREIGN = ("OPENCLAW_", "TOOLGUARD_")
KEPT = "TOOLGUARD_TEST_"

GATEWAY = "tests/gateway"
APART = {
    "test_config_on_gateway.py",
    "test_dashboard_on_gateway.py",
    "test_doctor_live.py",
    "test_doctor_on_gateway.py",
    "test_loops_embedded.py",
    "test_migrate_on_gateway.py",
    "test_settings_page.py",
}
"""Tests in `GATEWAY` that start for themselves what they need."""


def piece(test: str) -> str:
    """What the test of this id is done together with: its file, or all that share a gateway."""
    folder, _, file = test.partition("::")[0].rpartition("/")
    return GATEWAY if folder == GATEWAY and file not in APART else f"{folder}/{file}"


class Spread(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return piece(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Spread:
    config.option.loadscopereorder = False  # not by the number of tests, but as they are sorted here
    return Spread(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        items.sort(key=lambda item: (not piece(item.nodeid).startswith(GATEWAY), piece(item.nodeid) != GATEWAY))


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
