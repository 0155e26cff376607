"""A short year of use, played by `scripts/bench year`: memory and files stay small, and what was spent is kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

BENCH = Path(__file__).parents[2] / "scripts/benches/year.py"
FEW = {"--calls": "60000", "--sessions": "2400"}
KEPT = ("memory after the year", "files after the year", "spent budgets that a restart kept")


@pytest.mark.thorough
def test_nothing_grows_too_large_and_budgets_are_kept(tmp_path: Path) -> None:
    found = tmp_path / "figures.json"
    options = [word for pair in FEW.items() for word in pair]
    subprocess.run([sys.executable, str(BENCH), *options, "--json", str(found)], check=True, capture_output=True)
    figures = {figure["name"]: figure for figure in json.loads(found.read_text())}
    assert [name for name in KEPT if not figures[name]["kept"]] == []
