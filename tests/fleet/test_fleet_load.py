"""Test 9 of the specification: 200 gateways that connect within a second, 100 held calls and 1,000 rows a second, through
PgBouncer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from toolguard_cli.rig.temporary_pgbouncer import program

SCRIPT = Path(__file__).parents[2] / "scripts" / "benches" / "fleet_load.py"
LIMIT = 3_600
SMALL = ("--holds", "10", "--rows", "100", "--lines", "40", "--days", "400")


@pytest.mark.parametrize(
    ("gateways", "seconds", "load"),
    [
        pytest.param(20, 4, SMALL, id="small", marks=pytest.mark.thorough),
        pytest.param(200, 10, (), id="short", marks=pytest.mark.thorough),
        pytest.param(200, 600, (), id="long", marks=pytest.mark.thorough),
    ],
)
@pytest.mark.usefixtures("postgres")
def test_a_loaded_fleet_answers_everything(gateways: int, seconds: int, load: tuple[str, ...]) -> None:
    if program() is None:
        missing = "PgBouncer is not installed (Debian: apt-get install pgbouncer)"
        if os.environ.get("TOOLGUARD_TEST_POSTGRES") == "required":
            pytest.fail(missing)
        pytest.skip(missing)
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "--gateways", str(gateways), "--seconds", str(seconds), "--ramp", "1", *load],
        capture_output=True, text=True, timeout=LIMIT, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    assert found["errors"] == {}
    assert found["counts"]["holds used"] > seconds
    assert found["counts"]["metrics rows"] > 0
    assert found["counts"]["audit lines"] > 0
    assert not {"holds without an answer", "holds that were not held", "approvals that were not used"} & set(found["counts"])
    assert 0 < found["servers"] <= 20
    assert found["clients"] > gateways
