"""No test sees the home of the person who runs it: what a test writes to `~` lands in a folder of its own.

And how tests are spread where they run on several cores (`-n`): a file at a time, the longest work first. The tests that
share a gateway are one piece of work: spread over the cores each part of them would start its own.
"""

from __future__ import annotations

import copy
import gc
import os
import signal
import time
from collections.abc import Iterator
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import json5
import pytest
from xdist.scheduler import LoadScopeScheduling

import effort
import shares
from toolguard_cli.rig.downloads import cache_dir
from toolguard_engine.rules import packs

effort.load_profile()
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    # As for a job that a shell runs in the background. Programs that tests start and interrupt would ignore it as well.
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("PYTHONFAULTHANDLER", "1")  # pytest enables it in its own processes only

FOREIGN = ("OPENCLAW_", "TOOLGUARD_")
KEPT = "TOOLGUARD_TEST_"

GATEWAY = "tests/gateway"
SHARED, LINKED = f"{GATEWAY}/shared", f"{GATEWAY}/linked"
"""The tests of each of the two gateways that are shared; in the gate there is the first one only."""
SOURCES = "tests/sources"
"""The tests that parse the same modules."""
LONG = (GATEWAY, "tests/fleet", "tests/dashboard", "tests/cli/test_faults.py", SOURCES)
"""Their files take the longest: begun last, they would run alone."""

ON_SHARED = {
    "test_agent_tool.py",
    "test_approval_in_dashboard.py",
    "test_approvals_in_chat.py",
    "test_approvals_native.py",
    "test_approvals_on_gateway.py",
    "test_chat_senders.py",
    "test_claude_cli.py",
    "test_control_plane_on_gateway.py",
    "test_fail_mode.py",
    "test_guard_proof_on_gateway.py",
    "test_heartbeats_on_gateway.py",
    "test_limits_on_gateway.py",
    "test_meaning_on_gateway.py",
    "test_notify_on_gateway.py",
    "test_same_error_on_gateway.py",
    "test_self_approval_ways.py",
    "test_self_protection.py",
    "test_session_answers_on_gateway.py",
    "test_settings_page.py",
    "test_signed_approvals_on_gateway.py",
    "test_slow_models_on_gateway.py",
    "test_stuck_store_on_gateway.py",
    "test_two_reviewers_on_gateway.py",
    "test_usage_on_gateway.py",
    "test_weakening_on_gateway.py",
}
OWN_SETTINGS = {"test_fleet_on_gateway.py", "test_secrets_on_gateway.py"}
"""Tests that put the gateway of `either` under settings other than those of `stage`."""

TOGETHER = (
    # The first of these compares the store of held calls as it is on disk: no call of an earlier test may lapse meanwhile.
    ("test_self_protection.py", "test_approvals_in_chat.py", "test_chat_senders.py", "test_self_approval_ways.py"),
    ("test_approvals_on_gateway.py", "test_meaning_on_gateway.py"),
    ("test_session_answers_on_gateway.py", "test_usage_on_gateway.py"),
    ("test_claude_cli.py", "test_control_plane_on_gateway.py"),
)
"""Tests that put the first gateway under the same settings as each other."""
IN_ORDER = [file for files in TOGETHER for file in files]

APART = {
    "test_codex.py",
    "test_config_on_gateway.py",
    "test_dashboard_on_gateway.py",
    "test_doctor_live.py",
    "test_doctor_on_gateway.py",
    "test_loops_embedded.py",
    "test_migrate_on_gateway.py",
}
"""Tests in `GATEWAY` that start for themselves what they need."""
OF_SOURCES = {"test_structure.py", "test_complexity.py", "test_patterns.py", "test_word_readers.py"}
ONE_BY_ONE = {"test_faults.py"}
"""Tests that take minutes each if all is tried, and share nothing."""


def piece(test: str) -> str:
    """What the test of this id is done together with: its file, or all that share a gateway."""
    folder, _, file = test.partition("::")[0].rpartition("/")
    if file in ONE_BY_ONE and effort.ALL:
        return test
    if folder == "tests" and file in OF_SOURCES:
        return SOURCES
    if folder != GATEWAY or file in APART:
        return f"{folder}/{file}"
    return SHARED if file in ON_SHARED or not effort.ALL else LINKED


class Spread(LoadScopeScheduling):  # type: ignore[misc]
    def _split_scope(self, nodeid: str) -> str:
        return piece(nodeid)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Spread:
    config.option.loadscopereorder = False  # not by the number of tests, but as they are sorted here
    return Spread(config, log)


@pytest.hookimpl(trylast=True)  # the tests that `-m` leaves out are not counted
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    kept = shares.mine(items)
    if len(kept) < len(items):
        chosen = set(kept)
        config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
        items[:] = kept
    if hasattr(config, "workerinput"):
        for item in items:
            _assert_in_its_piece(item)
        items.sort(key=lambda item: (_rank(piece(item.nodeid)), _under(item)))


def pytest_runtest_setup(item: pytest.Item) -> None:
    if hasattr(item.config, "workerinput") and piece(item.nodeid) not in (SHARED, LINKED):
        _give_way()


@cache
def _give_way() -> None:
    """To the work that takes the longest: the whole run ends no sooner than that does."""
    os.nice(5)


def _assert_in_its_piece(item: pytest.Item) -> None:
    """Otherwise a worker would start both gateways where everything is run."""
    used = set(getattr(item, "fixturenames", ())) & {"shared", "either"}
    own = {"shared" if item.path.name in ON_SHARED else "either"}
    if used and used != own and item.nodeid.startswith(GATEWAY):
        raise pytest.UsageError(f"{item.nodeid} uses {' and '.join(sorted(used))}; see ON_SHARED in tests/conftest.py")


def pytest_collection_finish() -> None:
    """The tests themselves, some 15,000 objects with all that belongs to them, are not looked through for garbage again and
    again: a tenth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


_parsed = lru_cache(1_000)(json5.loads)


def _parsed_once(text: str, **options: bool) -> Any:
    return copy.deepcopy(_parsed(text, **options))


json5.loads = _parsed_once
"""Each edit of a config is read again by json5, which takes 10 ms; many tests begin with the same config."""


packs.packs = cache(packs.packs)
"""Reading all rules with their examples takes 0.1 s, and a dozen test files do so when they are imported."""


def _rank(work: str) -> int:
    """The longest work is begun first."""
    if work in (SHARED, LINKED):
        return 0
    return 1 if work.startswith(LONG) else 2


def _under(item: pytest.Item) -> int:
    """What a gateway shows under the same settings comes together: a change of them costs as much as ten turns."""
    if "either" in getattr(item, "fixturenames", ()):
        return int(item.path.name in OWN_SETTINGS)
    return 2 + (IN_ORDER.index(item.path.name) if item.path.name in IN_ORDER else len(IN_ORDER))


@pytest.fixture(scope="session", autouse=True)
def private_home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The home of all tests. Downloads stay where they were."""
    cache = cache_dir()
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(FOREIGN) and not name.startswith(KEPT)]:
            patch.delenv(name)
        home = tmp_path_factory.mktemp("home")
        patch.setenv("HOME", str(home))
        patch.setenv("TZ", "UTC")
        time.tzset()
        patch.setenv("TOOLGUARD_CACHE_DIR", str(cache))
        yield home
