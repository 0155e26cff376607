"""Fixtures of the dashboard's tests: a real server over a metrics file with something in it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from dashboard_stage import Served, machine, served


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Served]:
    with served(machine(tmp_path)) as running:
        yield running


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """For tests that only ask."""
    with served(machine(tmp_path_factory.mktemp("shared"))) as running:
        yield running
