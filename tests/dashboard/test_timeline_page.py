"""The timeline on the page: a night of three agents is found, linked, searched and walked through."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

import pytest
from machine import HOME, Machine
from playwright.sync_api import Page, expect
from visitor import Visits

from toolguard_engine.metrics.row_writer import HOUR_MS, CallRecord, VerdictRecord
from toolguard_engine.stores.undo import undo_notes
from toolguard_engine.stores.undo.undo_entry import UndoCause
from toolguard_engine.stores.undo.undo_folder import UndoFolder

MINUTE_MS = 60_000
AGENTS = ("main", "coder", "night")
LOCAL = """hours => {
    const at = new Date(Date.now() - hours * 3600000);
    return new Date(at - at.getTimezoneOffset() * 60000).toISOString().slice(0, 16);
}"""
"""The moment so many hours ago, as a person types it."""
NARROW = {"width": 390, "height": 844}
PAGE = 200
HOSTILE = "<img src=x onerror=alert(1)>\u202e"


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine() as running:
        running.record(*night(now()))
        yield running


def now() -> int:
    return time.time_ns() // 1_000_000


def asked(agent: str, at: int, **more: Any) -> CallRecord:
    usual = CallRecord(at, HOME, agent, f"agent:{agent}:main", "webchat", "p", "big", 10, 5, total=15, outcome="completed")
    return usual._replace(**{"cost_usd": 0.25, **more})


def decided(agent: str, at: int, kind: str = "allow", **more: Any) -> VerdictRecord:
    decision = {"hold": "hold", "block": "block"}.get(kind, "allow")
    usual = VerdictRecord(at, HOME, agent, f"agent:{agent}:main", f"{agent}-run", "exec", decision, kind=kind)
    return usual._replace(**more)


def night(end: int) -> tuple[list[CallRecord], list[VerdictRecord]]:
    """Within eight hours: 120 model calls and 480 tool calls, 4 held calls with their answers, a loop, a cap, and one event
    from three days ago."""
    calls = [asked(AGENTS[number % 3], end - (400 - 3 * number) * MINUTE_MS) for number in range(120)]
    verdicts = [
        decided(AGENTS[number % 3], end - 400 * MINUTE_MS + number * 48_000, tool=("read", "exec")[number % 2])
        for number in range(480)
    ]
    for number in range(4):
        at, nonce, shown = end - (390 - 30 * number) * MINUTE_MS, f"{number:08x}", f'{{ command: "rm -rf ~/old-{number}" }}'
        held = {"nonce": nonce, "shown": shown, "reason": "It deletes a folder."}
        verdicts += [
            decided("night", at, "hold", **held),
            decided("night", at + 60_000, "approve" if number % 2 else "deny", person="ana", place="cli", **held),
        ]
    verdicts.append(decided("coder", end - 100 * MINUTE_MS, "loop", reason="the same call failed 3 times"))
    verdicts.append(decided("main", end - 90 * MINUTE_MS, "stop", reason="the limit of 219 turns is reached"))
    verdicts.append(decided("main", end - 72 * HOUR_MS, "block", reason="days ago", shown=HOSTILE, person=HOSTILE))
    return calls, verdicts


def lines(page: Page, text: str = "") -> Any:
    found = page.get_by_role("tabpanel").locator("[data-event]")
    return found.filter(has_text=text) if text else found


def narrowed(page: Page) -> dict[str, list[str]]:
    """The filters that stand in the address."""
    return parse_qs(page.evaluate("location.hash").partition("?")[2])


def test_what_was_asked_answered_and_paid_is_found_by_one_search(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("timeline")
    expect(page.get_by_role("region", name="night, agent:night:main")).to_be_visible()
    page.get_by_label("Search").fill("old-3")
    expect(lines(page)).to_have_count(2)
    held = lines(page, "Held")
    expect(held).to_contain_text("rm -rf ~/old-3")
    expect(held).to_contain_text("→ Approved by ana")
    held.locator("summary").click()
    expect(held).to_contain_text("It deletes a folder.")
    assert narrowed(page) == {"text": ["old-3"]}


@pytest.mark.thorough
def test_sessions_and_runs_have_their_sums(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("timeline")
    page.get_by_role("combobox", name="Agent").select_option("night")
    expect(page.get_by_role("region", name="main, agent:main:main")).to_have_count(0)
    while page.get_by_role("button", name="Show older").is_visible():
        before = page.get_by_text("All events since").text_content() or ""
        page.get_by_role("button", name="Show older").click()
        expect(page.get_by_text(before, exact=True)).to_have_count(0)
    session = page.get_by_role("region", name="night, agent:night:main")
    expect(session.locator("> p")).to_contain_text("40 model calls · 160 allowed · 4 held · $10.00")
    expect(session.locator("h4")).to_contain_text("Run night-run")


def test_an_address_shows_the_same_again(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine)
    page = visitor.go("timeline")
    page.get_by_label("Range").select_option("7d")
    page.get_by_role("button", name="coder", exact=True).click()
    page.get_by_label("Search").fill("failed 3 times")
    expect(lines(page)).to_have_count(1)
    address = page.url
    page.get_by_role("tab", name="Guard").click()
    page.get_by_role("tab", name="Timeline").click()
    assert page.url == address
    other = visits(machine).page
    other.goto(address)
    expect(lines(other)).to_have_count(1)
    expect(other.get_by_label("Range")).to_have_value("7d")
    expect(other.get_by_role("combobox", name="Agent")).to_have_value("coder")
    expect(other.get_by_label("Search")).to_have_value("failed 3 times")


@pytest.mark.thorough
def test_back_leads_to_the_filters_before(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("timeline")
    page.get_by_role("combobox", name="Agent").select_option("night")
    expect(page.get_by_role("region", name="coder, agent:coder:main")).to_have_count(0)
    page.go_back()
    expect(page.get_by_role("region", name="coder, agent:coder:main")).to_be_visible()
    expect(page.get_by_role("combobox", name="Agent")).to_have_value("")


@pytest.mark.thorough
def test_a_range_of_one_s_own(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("timeline")
    page.get_by_label("Range").select_option("own")
    days = [page.evaluate(LOCAL, ago) for ago in (96, 48)]
    page.get_by_label("From", exact=True).fill(days[0])
    page.get_by_label("To", exact=True).fill(days[1])
    expect(lines(page)).to_have_count(1)
    expect(lines(page)).to_contain_text("<img src=x")


@pytest.mark.thorough
def test_older_pages_have_every_event_once(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine)
    page = visitor.go("timeline")
    answers: list[list[str]] = []
    page.on("response", lambda got: answers.append(named(got.json())) if "/api/timeline" in got.url else None)
    page.get_by_label("Range").select_option("8h")
    older = page.get_by_role("button", name="Show older")
    expect(older).to_be_visible()
    for _ in range(4):
        if older.is_visible():
            with page.expect_response("**/api/timeline*before=*"):
                older.click()
    expect(older).to_be_hidden()
    pages = [one for one in answers if one]
    every = [event for one in {one[0]: one for one in pages}.values() for event in one]
    assert len(every) == len(set(every)) == 120 + 480 + 8 + 2
    assert max(map(len, pages)) == PAGE


def named(answer: dict[str, Any]) -> list[str]:
    return [f"c{one['call']['id']}" if one["call"] else f"d{one['decision']['id']}" for one in answer["events"]]


def test_with_the_keyboard_alone(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("timeline")
    expect(lines(page).first).to_be_visible()
    page.keyboard.press("j")
    expect(lines(page).nth(0).locator("summary")).to_be_focused()
    page.keyboard.press("j")
    second = lines(page).nth(1)
    expect(second.locator("summary")).to_be_focused()
    page.keyboard.press("Enter")
    expect(second.locator(".record")).to_be_visible()
    page.keyboard.press("k")
    expect(lines(page).nth(0).locator("summary")).to_be_focused()
    page.keyboard.press("/")
    page.keyboard.type("jk")
    expect(page.get_by_label("Search")).to_have_value("jk")
    expect(page.get_by_text("Nothing that fits")).to_be_visible()


@pytest.mark.thorough
def test_new_events_move_nothing_that_is_read(machine: Machine, visits: Visits) -> None:
    """On top what is new; the line that has the focus keeps it, and stays open."""
    page = visits(machine).go("timeline")
    page.get_by_label("Search").fill("night")
    line = lines(page, "Model").first
    name = line.get_attribute("data-event")
    line.locator("summary").click()
    expect(line.locator(".record")).to_be_visible()
    machine.record([asked("night", now(), model="another-model")])
    expect(lines(page, "another-model")).to_have_count(1)
    kept = page.locator(f"[data-event={name}]")
    expect(kept.locator("summary")).to_be_focused()
    expect(kept.locator(".record")).to_be_visible()


def test_hostile_text_is_text(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("timeline")
    page.get_by_label("Range").select_option("7d")
    page.get_by_label("Search").fill("onerror")
    expect(lines(page)).to_have_count(1)
    lines(page).locator("summary").click()
    expect(lines(page).locator("pre")).to_have_text("<img src=x onerror=alert(1)><U+202E>")
    assert page.locator("main img").count() == 0


@pytest.mark.thorough
@pytest.mark.parametrize(
    "address",
    [
        "#timeline?range=constructor&since=NaN&until=-1",
        "#timeline?range=own&since=99999999999999&until=1e9",
        "#timeline?text=" + "x" * 3_000,
        "#timeline?text=%3Cimg+src%3Dx+onerror%3Dalert(1)%3E&agent=%00&session=%E2%80%AE&__proto__=1",
        "#timeline?%",
    ],
)
def test_addresses_that_somebody_else_has_written(machine: Machine, visits: Visits, address: str) -> None:
    page = visits(machine).page
    page.goto(machine.url + "/" + address)
    panel = page.get_by_role("tabpanel")
    expect(panel.locator("[aria-busy]")).to_have_count(0)
    expect(panel.get_by_role("alert")).to_have_count(0)
    assert page.locator("main img").count() == 0


@pytest.mark.parametrize(
    "look",
    [
        {"viewport": NARROW, "has_touch": True},
        pytest.param({"color_scheme": "dark"}, marks=pytest.mark.thorough),
        pytest.param({}, marks=pytest.mark.thorough),
    ],
    ids=str,
)
def test_narrow_and_for_assistive_technology(machine: Machine, visits: Visits, look: dict[str, Any]) -> None:
    visitor = visits(machine, reduced_motion="reduce", **look)
    page = visitor.go("timeline")
    page.get_by_label("Range").select_option("own")
    lines(page, "Model").first.locator("summary").click()
    lines(page, "Allowed").first.locator("summary").click()
    expect(page.locator(".record")).to_have_count(2)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    assert visitor.violations() == []


@pytest.mark.thorough
def test_every_tab_is_on_a_narrow_screen(machine: Machine, visits: Visits) -> None:
    page = visits(machine, viewport=NARROW, has_touch=True).go("timeline")
    tabs = page.get_by_role("tab").all()
    assert all((box := tab.bounding_box()) and box["x"] >= 0 and box["x"] + box["width"] <= NARROW["width"] for tab in tabs)


def test_a_call_that_can_be_undone_says_how_while_it_can(visits: Visits) -> None:
    with Machine() as own:
        notes = own.places.state_dir.parent / "notes.txt"
        notes.write_text("old")
        folder = UndoFolder(own.places.state_dir)
        entry = folder.save(UndoCause(1.0), lambda saving: saving.present(str(notes)), lambda _: False)
        code, reason = undo_notes.recorded(entry.id, "")
        own.record([], [decided("main", now(), "kept", code=code, reason=reason, shown="rm notes.txt")])
        visitor = visits(own)
        page = visitor.go("timeline")
        expect(lines(page, "rm notes.txt")).to_contain_text(f"can be undone: toolguard undo {entry.id}")
        visitor.show("guard")
        expect(page.locator("[data-decision]")).to_contain_text(f"can be undone: toolguard undo {entry.id}")
        folder.remove(entry.id)
        page.reload()
        expect(page.locator("[data-decision]")).to_contain_text(f"what was kept under {entry.id} is gone")
