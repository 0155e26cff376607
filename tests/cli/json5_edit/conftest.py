"""`json5_documents` beside this file is for the tests here."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def judged_once() -> Iterator[None]:
    """The json5 package, which is slow, judges in the tests only and not after each edit as well."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("toolguard_cli.hostconfig.json5_edit.checked.JUDGED_BY_JSON5", 0)
        yield
