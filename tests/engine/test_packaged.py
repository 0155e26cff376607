"""The tables that are made from TOML when toolguard is built."""

from __future__ import annotations

import json
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

from toolguard_engine import packaged

MADE = json.loads((packaged.FOLDER / packaged.MADE).read_text("utf-8"))


@pytest.mark.parametrize("name", sorted(MADE["sources"]))
def test_a_table_is_its_source(name: str) -> None:
    source: Path = packaged.FOLDER / name
    assert MADE["sources"][name] == sha256(source.read_bytes()).hexdigest()
    assert packaged.table(name) == tomllib.loads(source.read_text("utf-8"))


def test_what_is_not_packaged_is_an_error() -> None:
    with pytest.raises(KeyError):
        packaged.table("none.toml")
