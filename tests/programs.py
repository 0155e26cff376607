"""Programs that tests drive. Without one a test is skipped, unless the environment says that all are there."""

from __future__ import annotations

import os
import shutil

import pytest


def need(*names: str) -> None:
    """Skips the test if one of these is not installed. With `TOOLGUARD_TEST_PROGRAMS=required` it fails (`.ci/run`)."""
    for name in names:
        if shutil.which(name) is None:
            assert os.environ.get("TOOLGUARD_TEST_PROGRAMS") != "required", f"{name} is not installed"
            pytest.skip(f"{name} is missing")
