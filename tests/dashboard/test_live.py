"""What happens while somebody looks: calls as they are made, a pause, a flood, a server that is killed and comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from held_stage import hold
from machine import HOME, Machine
from playwright.sync_api import Page, expect
from stranger import Stranger
from visitor import TABS, Visits, until

from toolguard_engine.approvals.standing import Standing
from toolguard_engine.metrics.row_writer import CallRecord, VerdictRecord
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile

MOST = 1_200
"""Events that the page has at most, for a moment."""
GONE = (
    "ERR_CONNECTION_REFUSED", "WebSocket connection", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE",
    "ERR_CONTENT_LENGTH_MISMATCH",
)  # fmt: skip
"""What a browser says of a server that is not there."""


@pytest.fixture
def machine() -> Iterator[Machine]:
    with Machine() as running:
        running.record([call(total=1_000)])
        yield running


def now() -> int:
    return time.time_ns() // 1_000_000


def call(**more: Any) -> CallRecord:
    usual = CallRecord(
        now(), HOME, "main", "agent:main:main", "webchat", "scripted", "scripted-1", 10, 5, outcome="completed"
    )
    return usual._replace(**more)


def newest(machine: Machine) -> str:
    return f"c{machine.calls()[0]['id']}"


def test_a_call_appears_while_one_looks(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine)
    page = visitor.go()
    tokens = page.locator("[data-total=tokens]")
    expect(tokens).to_have_attribute("data-value", "1000")
    machine.record([call(total=234)])
    expect(tokens).to_have_attribute("data-value", "1234")
    visitor.show("timeline")
    expect(page.locator("[data-event]")).to_have_count(2)
    expect(page.locator(".fresh")).to_have_count(0)
    machine.record([call(model="another-model", input=77, cost_usd=0.5)])
    first = page.locator("[data-event]").first
    expect(first).to_have_attribute("data-event", newest(machine))
    expect(first).to_contain_text("another-model")
    expect(first).to_contain_text("$0.50")
    expect(page.locator(".fresh")).to_have_count(1)


def test_an_address_of_the_page_that_showed_calls_as_they_come_leads_to_the_timeline(
    machine: Machine, visits: Visits
) -> None:
    page = visits(machine).page
    page.goto(f"{machine.url}/#live")
    expect(page.get_by_role("tab", name="Timeline")).to_have_attribute("aria-selected", "true")
    expect(page.locator("[data-event]")).to_have_count(1)


@pytest.mark.thorough
def test_a_decision_appears_while_one_looks(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("guard")
    expect(page.get_by_text("No decisions yet")).to_be_visible()
    machine.record(
        verdicts=[VerdictRecord(now(), HOME, "main", "s", "r", "exec", "hold", "hold.always", "It waits.", "hold")]
    )
    entry = page.locator("[data-decision]")
    expect(entry).to_have_count(1)
    expect(entry).to_contain_text("It waits.")
    expect(page.get_by_role("tabpanel").locator("[data-total=held]")).to_have_attribute("data-value", "1")


@pytest.mark.thorough
def test_a_pause_keeps_the_list_as_it_is(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("timeline")
    expect(page.locator("[data-event]")).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    machine.record([call(), call(model="another-model")])
    expect(page.get_by_text("Paused; 2 new")).to_be_visible()
    expect(page.locator("[data-event]")).to_have_count(1)
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("[data-event]")).to_have_count(3)
    expect(page.locator("[data-event]").first).to_have_attribute("data-event", newest(machine))


def test_a_pause_ends_where_other_events_are_asked_for(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("timeline")
    page.get_by_label("Range").select_option("7d")
    expect(page.locator("[data-event]")).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    page.go_back()
    expect(page.get_by_label("Range")).to_have_value("24h")
    expect(page.locator("[data-event]")).to_have_count(1)
    expect(page.get_by_role("button", name="Pause")).to_have_attribute("aria-pressed", "false")


def test_a_pause_counts_what_fits(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("timeline")
    page.get_by_role("combobox", name="Agent").select_option("main")
    page.get_by_role("button", name="Pause").click()
    other = VerdictRecord(now(), HOME, "other", "s", "r", "exec", "block", "rule", "It stays.", "block")
    machine.record([call(agent="other"), call()], [other, other._replace(agent="main")])
    expect(page.get_by_text("Paused; 2 new", exact=True)).to_be_visible()
    page.get_by_role("button", name="Resume").click()
    expect(page.locator("[data-event]")).to_have_count(3)
    page.get_by_label("Search").fill("It stays")
    expect(page.locator("[data-event]")).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    machine.record([call()])
    expect(page.get_by_text("Paused; 1 new, not searched yet", exact=True)).to_be_visible()


@pytest.mark.thorough
def test_a_flood_leaves_a_bounded_list(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("timeline")
    expect(page.locator("[data-event]")).to_have_count(1)
    for batch in range(20):
        machine.record([call(total=batch) for _ in range(100)])
    expect(page.locator("[data-event]").first).to_have_attribute("data-event", newest(machine))
    assert page.locator("[data-event]").count() <= MOST


def tries_again(page: Page) -> None:
    """Time passes until the page is connected again: while it asks, it waits for the answer and not for its next try."""
    connection = page.locator("#connection")

    def connected() -> bool:
        page.clock.fast_forward(15_000)
        return connection.get_attribute("data-state") == "live"

    until(page, connected)


@pytest.mark.thorough
def test_a_server_that_is_killed_and_comes_back(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine, expected=GONE)
    visitor.page.clock.install()
    page = visitor.go("timeline")
    connection = page.locator("#connection")
    expect(connection).to_have_attribute("data-state", "live")
    expect(page.locator("[data-event]")).to_have_count(1)
    machine.kill()
    expect(connection).to_have_attribute("data-state", "reconnecting")
    expect(connection).to_have_text("Reconnecting")
    page.clock.fast_forward(30_000)
    expect(connection).to_have_attribute("data-state", "stale")
    expect(connection).to_contain_text("Stale since")
    expect(page.locator("[data-event]")).to_have_count(1)
    machine.start()
    machine.record([call(model="after-the-kill")])
    tries_again(page)
    expect(page.locator("[data-event]").first).to_contain_text("after-the-kill")


@pytest.mark.thorough
def test_a_tab_that_cannot_be_asked_says_so_and_can_be_tried_again(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine, expected=GONE)
    page = visitor.go()
    expect(page.locator("[data-total=tokens]")).to_have_attribute("data-value", "1000")
    page.route("**/api/models*", lambda route: route.abort("connectionrefused"))
    visitor.show("models")
    alert = page.get_by_role("tabpanel").get_by_role("alert")
    expect(alert).to_contain_text("does not answer")
    page.unroute("**/api/models*")
    alert.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("row").filter(has_text="scripted-1")).to_be_visible()
    expect(alert).to_have_count(0)


@pytest.mark.thorough
def test_a_stranger_on_the_port_is_sent_no_token(machine: Machine, visits: Visits) -> None:
    """By no connection, no button and no tab; and when the server is back all is as before."""
    visitor = visits(machine, expected=(*GONE, "Failed to load resource"))
    visitor.page.clock.install()
    page = visitor.go("guard")
    connection = page.locator("#connection")
    stop = page.get_by_role("tabpanel").locator(f"[data-gateway={HOME}]").get_by_role("button", name="Stop everything")
    expect(connection).to_have_attribute("data-state", "live")
    expect(stop).to_be_enabled()
    machine.kill()
    expect(connection).to_have_attribute("data-state", "reconnecting")
    with Stranger(machine.port) as stranger:
        page.clock.fast_forward(15_000)
        expect(page.get_by_role("alert").filter(has_text="does not know this page's token")).to_be_visible()
        stop.click()
        page.get_by_role("dialog").get_by_role("button", name="Stop everything").click()
        expect(page.locator("#toasts")).to_contain_text("does not know this page's token")
        for tab in ("overview", "models", "approvals"):
            visitor.show(tab)
        page.get_by_role("button", name="Try now").click()
        page.clock.fast_forward(60_000)
        stranger.hears("/api/hello", times=4)
    assert [said for said in stranger.heard if machine.token in said] == []
    assert [said for said in stranger.heard if "/ws" in said or said.startswith("POST")] == []
    machine.start()
    tries_again(page)
    expect(page.get_by_role("alert").filter(has_text="does not know this page's token")).to_have_count(0)
    visitor.show("guard")
    stop.click()
    page.get_by_role("dialog").get_by_role("button", name="Stop everything").click()
    expect(page.get_by_role("alert").filter(has_text="Kill switch on")).to_be_visible()


@pytest.mark.thorough
def test_reading_brings_no_token_on_this_machine(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine)
    bearing: list[str] = []
    visitor.page.on(
        "request", lambda asked: bearing.append(urlsplit(asked.url).path) if "authorization" in asked.headers else None
    )
    for tab in TABS:
        page = visitor.go(tab)
        expect(page.locator("[role=tabpanel]:not([hidden]) [aria-busy]")).to_have_count(0)
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    assert set(bearing) == {"/api/state"}


@pytest.mark.thorough
def test_an_idle_page_is_brought_up_to_date(machine: Machine, visits: Visits) -> None:
    """What falls out of the range, and what no event tells of."""
    visitor = visits(machine)
    visitor.page.clock.install()
    page = visitor.go()
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    expect(page.locator("[data-total=tokens]")).to_have_attribute("data-value", "1000")
    with page.expect_request("**/api/overview*"):
        page.clock.fast_forward(61_000)


@pytest.mark.thorough
def test_metrics_that_break_are_told_above_every_tab(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine, expected=("Failed to load resource",))
    page = visitor.go("approvals")
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    whole = machine.db.read_bytes()
    machine.db.write_bytes(b"no database " * 1_000)
    reported = page.locator("#banners").get_by_role("alert")
    expect(reported).to_contain_text("cannot be read")
    machine.db.write_bytes(whole)
    expect(reported).to_have_count(0)


@pytest.mark.thorough
def test_a_call_that_waits_is_told_to_who_looks_elsewhere(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go()
    expect(page).to_have_title("Overview · toolguard")
    held = hold(machine.places, tool="exec")
    expect(page).to_have_title("(1) Overview · toolguard")
    expect(page.locator("#announcement")).to_have_text(f"A call is waiting for approval: exec ({held.nonce}).")
    expect(page.locator("#icon")).to_have_attribute("href", "/static/icon-waits.svg")
    hold(machine.places, tool="exec")
    expect(page).to_have_title("(2) Overview · toolguard")


@pytest.mark.thorough
def test_banners_are_built_when_they_change(machine: Machine, visits: Visits) -> None:
    """A screen reader reads each new one aloud."""
    KillSwitchFile(machine.places.state_dir).set(on=True, by="ana", why="a look")
    page = visits(machine).go()
    banner = page.locator("#banners .banner")
    expect(banner).to_be_visible()
    banner.evaluate("banner => { banner.dataset.same = 'yes'; }")
    machine.stand(Standing("main", "s", spent=0.5, touched=time.time()))
    with page.expect_response("**/api/state"):
        pass
    machine.record([call(total=1)])
    expect(page.locator("[data-total=tokens]")).to_have_attribute("data-value", "1001")
    expect(banner).to_have_attribute("data-same", "yes")
