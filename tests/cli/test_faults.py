"""A kill, a full disk, an error of the disk and a missing permission at each file system call of hold, approve, deny and
consume, and of every command that writes: nothing is lost, half written or reset, no call runs that must not, and the next
command works. In the gate a few calls of approve, of consume and of each third operation, another third in each share and
other calls at each commit; everything with `TOOLGUARD_TEST_ALL=1`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import fault_operations
import pytest
from fault_operations import CARELESS, Answer

import effort
import shares
from tables import each_row
from toolguard_cli.commands.command_table import ConfigGroup, RootGroup

FEW, MANY, ALL = 2, 120, 10_000
COMMANDS = [name for name in fault_operations.OPERATIONS if name != CARELESS]
IN_EVERY_RUN = ("approve", "consume")
OTHERS = {"status", "pending", "timeline", "usage", "grants", "check", "replay", "tune", "rules", "constraints", "audit"}
OTHERS |= {"watch", "dashboard", "demo", "help", "version", "containment"}
OTHERS |= {"state"}  # an import is ended at every step in `test_cli_state.py`
OTHERS |= {"undo"}  # it writes the person's files; `tests/engine/test_undo.py` kills it at every step
"""Commands that only read, or write as another one does; groups are named by their commands.

Those of `fleet` have their faults in the database as well (tests/fleet)."""
Try = Callable[..., Answer]

pytestmark = pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="the paths of open files are read from /proc")


@pytest.fixture(scope="module")
def tried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Try]:
    """A process that tries operations: it has no threads, so that it can be forked."""
    command = [sys.executable, fault_operations.__file__, str(tmp_path_factory.mktemp("faults"))]
    env = {name: value for name, value in os.environ.items() if not name.startswith(("TOOLGUARD_", "OPENCLAW_"))}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        asked, answered = process.stdin, process.stdout

        def ask(name: str, most: int, *, traced: bool = False, turn: int = 0) -> Answer:
            print(json.dumps([name, most, traced, turn]), file=asked, flush=True)
            count, wrong = json.loads(answered.readline())
            return count, wrong

        yield ask
        process.stdin.close()


def taken() -> list[str]:
    others = [name for name in COMMANDS if name not in IN_EVERY_RUN]
    return [*IN_EVERY_RUN, *(others if effort.ALL else others[shares.MINE or 0 :: shares.COUNT])]


@each_row("name", taken())
def test_a_fault_at_any_call(tried: Try, name: str) -> None:
    count, wrong = tried(name, ALL if effort.ALL else FEW, turn=effort.turn())
    assert count
    assert wrong == []


def test_each_fault_has_its_turn() -> None:
    for number in (1, 2, 7, 40):
        points = list(range(number))
        step = -(-number // FEW)
        shares_of = [fault_operations.spread(points, FEW, turn) for turn in range(step)]
        assert sorted(point for share in shares_of for point in share) == points


def test_every_command_is_considered() -> None:
    names = {name.replace(",", " ").partition(" ")[0] for name in COMMANDS}
    assert set(RootGroup.table) - OTHERS <= names
    assert {f"config {name}" for name in ConfigGroup.table} - set(COMMANDS) == {
        f"config {name}" for name in ("validate", "get", "show", "schema")
    }


def test_what_is_written_in_place_is_found(tried: Try) -> None:
    _, wrong = tried(CARELESS, ALL if effort.ALL else MANY)
    assert {text.partition(" ")[0] for text in wrong} >= {"kill", "torn", "ENOSPC", "EIO", "EACCES"}


@pytest.mark.thorough
@pytest.mark.skipif(shutil.which("strace") is None, reason="strace is not installed; it injects faults into SQLite as well")
@pytest.mark.parametrize("name", COMMANDS)
def test_a_fault_at_any_system_call(tried: Try, name: str) -> None:
    count, wrong = tried(name, MANY, traced=True)
    assert count
    assert wrong == []
