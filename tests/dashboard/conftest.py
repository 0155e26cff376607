"""Fixtures of the dashboard's tests: a browser for each file of tests, and a person of its own for each visit."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parent.parent / "cli"))

from machine import Machine
from visitor import Visitor, Visits, running_chromium, visit

import browser


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if browser.MISSING:
        pytest.skip("no Chromium here")
    with running_chromium() as running:
        yield running


@pytest.fixture
def visits(chromium: Browser) -> Iterator[Visits]:
    """Makes visitors of a machine: `visits(machine, expected=..., ...)`. None of them may have met a fault at the end."""
    with ExitStack() as stack:

        def begin(machine: Machine, **how: Any) -> Visitor:
            return stack.enter_context(visit(chromium, machine.url, machine.token, **how))

        yield begin
