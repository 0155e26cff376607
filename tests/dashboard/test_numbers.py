"""Every tab shows what stands in the metrics file, in every range; texts are as the reader's locale writes them."""

from __future__ import annotations

import math
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
import seeded
from machine import HOME, LAB, Machine
from playwright.sync_api import Page, expect
from visitor import Visitor, Visits, until

from gate import sampled
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.metrics.queries import SAVED_PER_LOOP
from toolguard_engine.metrics.row_writer import DAY_MS, HOUR_MS

UNKNOWN = "\u2013"
PAGE = 25
"""So many decisions are shown at once."""

LABELS = {"24h": "24 h", "7d": "7 d", "30d": "30 d"}
BUCKETS = {"24h": (HOUR_MS, 25), "7d": (6 * HOUR_MS, 29), "30d": (DAY_MS, 31)}
"""How long each is, and how many with the running one."""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    made = Machine()
    now = time.time_ns() // 1_000_000
    made.record(seeded.calls(now), seeded.verdicts(now))
    made.stand(
        Standing("main", "agent:main:inbox", trust=0.42, spent=0.85, touched=time.time(), reported=["drift.speed"]),
        Standing("research", "agent:research:daily", trust=0.7, spent=0.2, touched=time.time()),
    )
    with made as running:
        yield running


class Sums(NamedTuple):
    total: int
    calls: int
    failed: int
    cost: float
    mean_ms: float


Rows = list[sqlite3.Row]


def sums(calls: Rows, start: int, end: float = math.inf, **only: str) -> Sums:
    """Of those from `start` until before `end`, with these values."""
    rows = [row for row in calls if start <= row["at"] < end and all(row[name] == only[name] for name in only)]
    mean = sum(row["duration_ms"] for row in rows) / max(1, len(rows))
    failed = sum(row["outcome"] != "completed" for row in rows)
    return Sums(sum(row["total"] for row in rows), len(rows), failed, sum(row["cost_usd"] or 0 for row in rows), mean)


def kinds(machine: Machine, start: int, gateway: str = "") -> Counter[str]:
    return Counter(row["kind"] for row in machine.verdicts() if row["at"] >= start and gateway in ("", row["gateway"]))


def month() -> int:
    """When the longest range begins."""
    now = time.time_ns() // 1_000_000
    return now - now % DAY_MS - 30 * DAY_MS


def chosen(visitor: Visitor, tab: str, reach: str, path: str) -> int:
    """The tab in this range; when the range begins. That it is the right range is seen from how long it is."""
    page = visitor.go(tab)
    other = next(label for label in LABELS if label != reach)
    page.get_by_text(LABELS[other], exact=True).click()
    with page.expect_response(lambda answer: f"/api/{path}" in answer.url and f"range={reach}" in answer.url) as got:
        page.get_by_text(LABELS[reach], exact=True).click()
    now = time.time_ns() // 1_000_000
    length, count = BUCKETS[reach]
    at = got.value.json()["at"] if path != "overview" else [got.value.json()["start"]]
    assert now - count * length - length < at[0] <= now - (count - 1) * length
    return int(at[0])


def totals(page: Page, **expected: float) -> None:
    for name, value in expected.items():
        number = page.get_by_role("tabpanel").locator(f"[data-total={name}]")
        if isinstance(value, int):
            expect(number).to_have_attribute("data-value", str(value))
        else:
            assert float(number.get_attribute("data-value") or "nan") == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("reach", sampled(LABELS, {"7d"}))
def test_overview(machine: Machine, visits: Visits, reach: str) -> None:
    visitor = visits(machine)
    start = chosen(visitor, "overview", reach, "overview")
    page, calls, found = visitor.page, machine.calls(), kinds(machine, start)
    used = sums(calls, start)
    assert used.calls > 50
    totals(page, tokens=used.total, calls=used.calls, failed=used.failed, cost=used.cost)
    totals(page, held=found["hold"], approved=found["approve"], blocked=found["block"])
    totals(page, loops=found["stop"], saved=found["stop"] * SAVED_PER_LOOP)
    for title, column in (("Top gateways", "gateway"), ("Top models", "model")):
        parts = {name: sums(calls, start, **{column: name}) for name in {row[column] for row in calls}}
        dearest = sorted(parts, key=lambda name: -parts[name].cost)
        rows = page.get_by_role("region", name=title).locator("tbody tr")
        expect(rows).to_have_count(len(parts))
        assert [text.split()[0] for text in rows.locator("th").all_inner_texts()] == dearest
        shares = [100 * parts[name].total / used.total for name in dearest]
        assert list(map(number, rows.locator(".share").all_inner_texts())) == pytest.approx(shares, abs=0.051)


@pytest.mark.thorough
@pytest.mark.parametrize("reach", sampled(LABELS, {"7d"}))
def test_what_ended_is_compared_with_as_much_before(machine: Machine, visits: Visits, reach: str) -> None:
    visitor = visits(machine)
    start = chosen(visitor, "overview", reach, "overview")
    length, count = BUCKETS[reach]
    reached, calls = (count - 1) * length, machine.calls()
    card = visitor.page.get_by_role("group", name="Model calls")
    totals(visitor.page, calls=sums(calls, start).calls)
    if min(row["at"] for row in calls) >= start - reached:
        expect(card.locator(".trend")).to_have_count(0)
        return
    change = sums(calls, start, start + reached).calls / sums(calls, start - reached, start).calls - 1
    expect(card.locator(".trend")).to_contain_text(in_words(change))


def in_words(change: float) -> str:
    if change > 2:
        return f"{change + 1:.2f}".rstrip("0").rstrip(".") + " times the"
    if abs(change) < 0.005:
        return "same as in the"
    return f"{100 * abs(change):.1f}".removesuffix(".0") + f"% {'more' if change > 0 else 'less'} than in the"


@pytest.mark.thorough
@pytest.mark.parametrize("reach", sampled(LABELS, {"7d"}))
def test_charts_are_drawn_and_told_in_numbers(machine: Machine, visits: Visits, reach: str) -> None:
    visitor = visits(machine)
    start = chosen(visitor, "overview", reach, "timeseries")
    length, count = BUCKETS[reach]
    page = visitor.page
    chart = page.get_by_role("figure").filter(has_text="Tokens").first
    until(page, lambda: painted(page) == [True, True])
    chart.get_by_text("Numbers").click()
    rows = chart.locator("tbody tr")
    expect(rows).to_have_count(count)
    ats = [start + length * number for number in reversed(range(count))]
    calls = machine.calls()
    read = [sums(calls, at, at + length).calls > 0 for at in ats]
    recorded = [any(cell != "0" for cell in row.locator("td").all_inner_texts()) for row in rows.all()]
    assert recorded == read


def painted(page: Page) -> Any:
    """Of each chart that is seen, whether there is anything in it but background."""
    return page.evaluate(
        """() => [...document.querySelectorAll('[role=tabpanel]:not([hidden]) canvas')].map(canvas => {
            const pixels = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
            return pixels.some((value, place) => place % 4 === 3 && value > 200);
        })"""
    )


@pytest.mark.thorough
@pytest.mark.parametrize("gateway", sampled([HOME, LAB], {HOME}))
def test_gateways(machine: Machine, visits: Visits, gateway: str) -> None:
    page = visits(machine).go("gateways")
    with page.expect_response("**/api/gateways?range=30d"):
        page.get_by_text("30 d", exact=True).click()
    card = page.locator(f"article[data-gateway={gateway}]")
    used = sums(machine.calls(), month(), gateway=gateway)
    expect(card.locator("dd").first).to_have_attribute("title", f"{used.total:,}")
    figures = dict(zip(card.locator("dt").all_inner_texts(), card.locator("dd").all_inner_texts(), strict=True))
    assert (figures["Calls"], figures["Failed"]) == (f"{used.calls:,}", f"{used.failed:,}")
    assert figures["Cost"] == f"≈ ${used.cost:,.2f}"
    expect(card.get_by_text("running", exact=True)).to_have_count(int(gateway == HOME))
    card.get_by_role("button", name="Details").click()
    inside = page.get_by_role("region", name="Details")
    agents = set(seeded.AGENTS[gateway])
    rows = inside.get_by_role("region", name="Agents").locator("tbody th")
    expect(rows).to_have_count(len(agents))
    assert set(rows.all_inner_texts()) == agents


@pytest.mark.thorough
def test_models(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("models")
    with page.expect_response("**/api/models?range=30d"):
        page.get_by_text("30 d", exact=True).click()
    calls = machine.calls()
    everything = sums(calls, month())
    for model in seeded.MODELS:
        used = sums(calls, month(), model=model.name)
        row = page.get_by_role("row").filter(has_text=model.name)
        expect(row.locator("td span[title]").first).to_have_attribute("title", f"{used.total:,}")
        cells = row.locator("td").all_inner_texts()
        assert cells[:2] == [model.provider, f"{used.calls:,}"]
        assert number(cells[3]) == pytest.approx(100 * used.total / everything.total, abs=0.06)
        assert cells[6:] == [f"{used.mean_ms / 1000:.1f} s", f"{used.failed:,}"]
        if model.price is None:
            assert cells[4:6] == [UNKNOWN, UNKNOWN]
        else:
            assert [text.startswith("≈ ") for text in cells[4:6]] == [not model.reported] * 2
            assert number(cells[4]) == pytest.approx(used.cost, abs=0.006)
            assert number(cells[5]) == pytest.approx(used.cost / used.total * 1000, rel=0.006)


def number(text: str) -> float:
    return float(re.sub(r"[^\d.]", "", text))


@pytest.mark.thorough
def test_models_are_sorted_by_their_headings(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("models")
    page.get_by_role("button", name="Mean duration").click()
    slowest = max(seeded.MODELS, key=lambda model: model.ms_per_token).name
    expect(page.get_by_role("tabpanel").locator("tbody th").first).to_have_text(slowest)
    expect(page.get_by_role("columnheader", name="Mean duration")).to_have_attribute("aria-sort", "descending")
    page.get_by_role("button", name="Mean duration").click()
    expect(page.get_by_role("tabpanel").locator("tbody th").last).to_have_text(slowest)


@pytest.mark.thorough
def test_the_timeline_shows_the_last_calls(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("timeline")
    newest = machine.calls()[0]
    line = page.locator(f"[data-event=c{newest['id']}]")
    expect(line).to_contain_text(newest["model"])
    line.locator("summary").click()
    expect(line).to_contain_text(f"{newest['input']:,} in, {newest['output']:,} out")


@pytest.mark.thorough
@pytest.mark.parametrize("reach", sampled(LABELS, {"7d"}))
def test_guard(machine: Machine, visits: Visits, reach: str) -> None:
    visitor = visits(machine)
    start = chosen(visitor, "guard", reach, "guard")
    page, found = visitor.page, kinds(machine, start)
    totals(page, held=found["hold"], approved=found["approve"], blocked=found["block"])
    totals(page, loops=found["stop"], saved=found["stop"] * SAVED_PER_LOOP)
    assert column(page, "Decisions over time", "Loops ended") == found["stop"]
    assert column(page, "Decisions over time", "Other runs ended") == 0
    assert column(page, "Decisions over time", "Malformed") == found["malformed"] + found["loop"]
    assert column(page, "Requests saved", "Requests saved") == found["stop"] * SAVED_PER_LOOP
    page.get_by_role("combobox", name="Gateway", exact=True).select_option(LAB)
    totals(page, held=kinds(machine, start, LAB)["hold"])


def column(page: Page, chart: str, head: str) -> float:
    """The sum of a column of the table that tells a chart in numbers."""
    figure = page.get_by_role("figure").filter(has_text=chart).filter(has=page.get_by_text("Numbers"))
    if not figure.locator("table").count():
        figure.get_by_text("Numbers").click()
    expect(figure.locator("thead")).to_be_visible()
    place = figure.locator("thead th").all_inner_texts().index(head)
    return sum(number(cell) for cell in figure.locator(f"tbody tr > :nth-child({place + 1})").all_inner_texts())


@pytest.mark.thorough
def test_feed(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("guard")
    recorded = [row for row in machine.verdicts() if row["kind"] != "allow"]
    same_feed(page, recorded[:PAGE])
    page.get_by_role("combobox", name="Kind", exact=True).select_option(label="Denied")
    same_feed(page, [row for row in recorded if row["kind"] == "deny"][:PAGE])
    page.get_by_role("combobox", name="Kind", exact=True).select_option(label="All")
    same_feed(page, recorded[:PAGE])
    older = page.get_by_role("button", name="Show older")
    older.focus()
    page.keyboard.press("Enter")
    same_feed(page, recorded[: 2 * PAGE])
    expect(older).to_be_focused()


def same_feed(page: Page, rows: Rows) -> None:
    entries = page.locator("[data-decision]")
    expect(entries).to_have_count(len(rows))
    expect(entries.first).to_have_attribute("data-decision", str(rows[0]["id"]))
    assert [entry.get_attribute("data-decision") for entry in entries.all()] == [str(row["id"]) for row in rows]
    for words in (rows[0]["reason"], rows[0]["code"], rows[0]["agent"]):
        expect(entries.first).to_contain_text(words)


@pytest.mark.thorough
def test_standings(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("guard")
    inbox = page.locator("[data-session='agent:main:inbox']")
    expect(inbox.get_by_role("meter", name="Trust")).to_have_attribute("aria-valuenow", "0.42")
    expect(inbox.get_by_role("meter", name="Budget left")).to_have_attribute("aria-valuenow", "0.15")
    expect(inbox.locator(".signals li")).to_have_count(1)
    daily = page.locator("[data-session='agent:research:daily']")
    expect(daily.get_by_role("meter", name="Budget left")).to_have_attribute("aria-valuenow", "0.8")
    expect(daily.get_by_text("Nothing unusual.")).to_be_visible()


@pytest.mark.thorough
def test_numbers_in_the_locale_of_the_reader(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine, locale="de-DE")
    start = chosen(visitor, "overview", "30d", "overview")
    used = sums(machine.calls(), start)
    panel = visitor.page.get_by_role("tabpanel")
    expect(panel.locator("[data-total=tokens]")).to_have_text(f"{used.total / 1e6:.1f} Mio.".replace(".", ",", 1))
    card = panel.get_by_role("group", name="Tokens")
    expect(card).to_contain_text(f"{used.total:,}".replace(",", "."))
    money = f"{used.cost:.2f}".replace(".", ",")
    expect(panel.locator("[data-total=cost]")).to_have_text(re.compile(rf"{money}\s\$"))
    visitor.show("timeline")
    newest = machine.calls()[0]
    line = visitor.page.locator(f"[data-event=c{newest['id']}]")
    line.locator("summary").click()
    expect(line).to_contain_text(f"{newest['input']:,} in".replace(",", "."))
