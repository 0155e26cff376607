"""What is used of the limits: which calls count, in which period, how it goes on."""

from __future__ import annotations

from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.config.settings import SpendingLimit, parse
from toolguard_engine.config.spending_limits import DAY_MS, SpendingCap, caps, period
from toolguard_engine.metrics import database
from toolguard_engine.metrics.queries import spending
from toolguard_engine.metrics.result_types import CapUse, GuardTotals, Totals
from toolguard_engine.metrics.row_writer import HOUR_MS, CallRecord, record
from toolguard_engine.stores.transactions import transaction

NOW = int(datetime(2026, 11, 23, 6, 0, tzinfo=UTC).timestamp() * 1000)


def limits(*given: dict[str, Any]) -> tuple[SpendingCap, ...]:
    return caps(parse({"limits": list(given)}).limits)


def uses(tmp_path: Path, calls: list[CallRecord], *given: dict[str, Any], now: int = NOW) -> list[CapUse]:
    with closing(database.connect(tmp_path / "metrics.db")) as connection:
        with transaction(connection):
            record(connection, calls)
        return spending.cap_uses(connection, limits(*given), now)


def call(at: int, usd: float | None = 1.0, **more: Any) -> CallRecord:
    values: dict[str, Any] = {
        "gateway": "g",
        "agent": "main",
        "session": "s",
        "provider": "anthropic",
        "model": "big",
        **more,
    }
    return CallRecord(at=at, total=values.pop("total", 100), cost_usd=usd, **values)


CALLS = [
    call(NOW - 1),
    call(NOW - HOUR_MS, 2.0, agent="other", session="t", model="small"),
    call(NOW - 5 * HOUR_MS, None, gateway="h", provider="local", model="own", total=1_000),
    call(NOW - DAY_MS, 8.0),
    call(NOW - 22 * DAY_MS, 16.0),
    call(NOW - 23 * DAY_MS, 32.0),
]


@pytest.mark.parametrize(
    ("limit", "used"),
    [
        ({"per": "day", "usd": 5}, 3.0),
        ({"per": "day", "tokens": 5}, 1_200),
        ({"per": "month", "usd": 5}, 27.0),
        ({"per": "day", "usd": 5, "agent": "main"}, 1.0),
        ({"per": "day", "usd": 5, "model": "ANTHROPIC/*"}, 3.0),
        ({"per": "day", "usd": 5, "model": "small"}, 2.0),
        ({"per": "day", "usd": 5, "model": "anthropic/big", "agent": "other"}, 0.0),
        ({"per": "day", "usd": 5, "model": "[a-z]*"}, 0.0),
        ({"per": "session", "usd": 5}, 2.0),
        ({"per": "session", "tokens": 5}, 1_000),
        ({"per": "session", "usd": 5, "agent": "main"}, 1.0),
    ],
    ids=str,
)
def test_which_calls_count(tmp_path: Path, limit: dict[str, Any], used: float) -> None:
    (found,) = uses(tmp_path, CALLS, limit)
    assert found.used == used
    assert found.state == ("reached" if used >= 5 else "free")


def test_the_present_pace_goes_on(tmp_path: Path) -> None:
    """A day ago as much as today: 24 hours at this pace, of which 18 are left."""
    calls = [call(NOW - hours * HOUR_MS + 1, 0.5) for hours in range(1, 24)] + [call(NOW - 30 * DAY_MS, 9)]
    (found,) = uses(tmp_path, calls, {"per": "day", "usd": 10})
    assert (found.used, found.state) == (3.0, "free")
    assert found.forecast == pytest.approx(3 + 18 * 0.5, rel=0.05)
    assert NOW < (found.due or 0) < found.ends
    (near,) = uses(tmp_path, [call(NOW, 5)], {"per": "day", "usd": 10})
    assert (near.state, near.share) == ("near", 0.8)


def test_models_without_a_price_are_named(tmp_path: Path) -> None:
    usd, tokens = uses(tmp_path, CALLS, {"per": "day", "usd": 5, "tokens": 2_000})
    assert (usd.unpriced, tokens.unpriced) == (["local/own"], [])


def test_forecasts_and_savings(tmp_path: Path) -> None:
    with closing(database.connect(tmp_path / "metrics.db")) as connection:
        empty = spending.forecast(connection, NOW)
        assert (empty.day.forecast_usd, empty.month.forecast_tokens) == (0, 0)
        with transaction(connection):
            record(connection, CALLS)
        found = spending.forecast(connection, NOW)
    assert (found.day.used_usd, found.month.used_usd, found.day.partly) == (3, 27, True)
    assert found.day.forecast_usd == pytest.approx(3 + 3 * 18 / 23)
    assert found.month.forecast_usd > 27
    saved = spending.savings(GuardTotals(loops=2, requests_saved=86), Totals(calls=9, priced=4, cost_usd=2.0))
    assert (saved.usd, saved.usd_per_request) == (43.0, 0.5)
    assert spending.savings(GuardTotals(), Totals(calls=9)).usd is None


@given(st.datetimes(datetime(1971, 1, 1), datetime(2200, 1, 1)))  # noqa: DTZ001 - UTC below
def test_a_period_holds_its_moment(moment: datetime) -> None:
    now = int(moment.replace(tzinfo=UTC).timestamp() * 1000)
    for per in ("session", "day", "month"):
        begins, ends = period(per, now)
        assert begins <= now < ends
        assert period(per, ends)[0] == ends
        assert period(per, begins) == (begins, ends)


def test_each_amount_has_a_name_and_a_command() -> None:
    (cap,) = limits({"per": "day", "usd": 5, "agent": "main", "model": "a b/*"})
    assert cap.key == "usd per day of agent main of model a b/*"
    assert cap.words == "$5.00 a day for agent main and model a b/*"
    assert cap.raising() == "toolguard limits set day --usd=10 --agent=main --model='a b/*'"


@each_row(
    "limit",
    [{}, {"per": "week", "usd": 1}, {"per": "day", "usd": 0}, {"per": "day", "tokens": 1.5}, {"per": "day", "euro": 1}],
    ids=str,
)
def test_what_is_no_limit(limit: dict[str, Any]) -> None:
    with pytest.raises(msgspec.ValidationError, match=r"limits\[0\]|limits\[\.\.\.\]"):
        parse({"limits": [limit]})
    assert SpendingLimit("day").usd is msgspec.UNSET


def test_rounding_errors_do_not_keep_a_limit_open() -> None:
    (cap,) = limits({"per": "day", "usd": 1})
    assert 0.1 * 3 + 0.1 * 5 < 0.8 + 1e-9
    assert [cap.state(sum([0.1] * many)) for many in (7, 8, 9, 10)] == ["free", "near", "near", "reached"]
