"""Whatever a row says, it can be written and added up."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from effort import examples
from tables import each_row
from toolguard_engine.metrics import bounds
from toolguard_engine.metrics.database import connect
from toolguard_engine.metrics.row_writer import DAY_MS, CallRecord, VerdictRecord, record, record_verdicts
from toolguard_engine.stores.transactions import transaction

NOW = 1_780_000_000_000


@each_row(
    ("at", "taken"),
    [(NOW, NOW), (0, 0), (-1, NOW), (NOW + DAY_MS, NOW + DAY_MS), (NOW + DAY_MS + 1, NOW), (2**80, NOW)],
    ids=["now", "1970", "before", "a clock ahead", "a clock far ahead", "never"],
)
def test_times(at: int, taken: int) -> None:
    assert bounds.time(at, NOW) == taken


@each_row(
    ("given", "written"),
    [
        ({"input": -5, "total": 2**70}, {"input": 0, "total": bounds.MAX_TOKENS}),
        ({"output": float("nan"), "cache_read": float("inf"), "cache_write": 3.0}, {"cache_write": 3}),
        ({"cost_usd": -1.0}, {}),
        ({"cost_usd": float("nan")}, {}),
        ({"cost_usd": float("inf")}, {}),
        ({"cost_usd": 0.25, "cost_estimated": 7}, {"cost_usd": 0.25, "cost_estimated": 1}),
        ({"duration_ms": -1}, {"duration_ms": 0}),
        ({"model": "m\ud83d\x00\x1b" + "x" * 900}, {"model": "m???" + "x" * 196}),
    ],
)
def test_calls(given: dict[str, Any], written: dict[str, Any]) -> None:
    assert bounds.call(CallRecord(NOW, **given), NOW) == CallRecord(NOW, **written)


@pytest.fixture(scope="module")
def opened(tmp_path_factory: pytest.TempPathFactory) -> Iterator[sqlite3.Connection]:
    with closing(connect(tmp_path_factory.mktemp("bounds") / "metrics.db")) as connection:
        yield connection


texts = st.text(max_size=300) | st.text(st.characters(categories=["Cs", "Cc"]), max_size=5)
numbers = st.integers(-(2**70), 2**70) | st.floats()


@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    at=st.integers(-(2**70), 2**70), names=st.lists(texts, min_size=14, max_size=14), counts=st.lists(numbers, min_size=7)
)
def test_every_row_can_be_written(opened: sqlite3.Connection, at: int, names: list[str], counts: list[Any]) -> None:
    call = CallRecord(at, *names[:6], *counts[:6], 1, counts[6])
    verdict = VerdictRecord(at, *names[:9], None, *names[9:13])
    with transaction(opened):
        record(opened, [bounds.call(call, NOW)])
        record_verdicts(opened, [bounds.verdict(verdict, NOW)])
    (total,) = opened.execute("SELECT sum(total) FROM toolguard_days").fetchone()
    assert isinstance(total, int)
