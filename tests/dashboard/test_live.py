"""What happens while somebody looks: calls as they are made, a pause, a flood, a server that is killed and comes back."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from machine import HOME, Machine
from playwright.sync_api import expect
from visitor import Visits

from toolguard_engine.metrics.record import Call, Verdict

SHOWN = 50
GONE = ("ERR_CONNECTION_REFUSED", "WebSocket connection", "ERR_CONNECTION_RESET", "ERR_EMPTY_RESPONSE")
"""What a browser says of a server that is not there."""


@pytest.fixture
def machine() -> Iterator[Machine]:
    with Machine() as running:
        running.record([call(total=1_000)])
        yield running


def now() -> int:
    return time.time_ns() // 1_000_000


def call(**more: object) -> Call:
    usual = Call(now(), HOME, "main", "agent:main:main", "webchat", "scripted", "scripted-1", 10, 5, outcome="completed")
    return usual._replace(**more)


def newest(machine: Machine) -> str:
    return str(machine.calls()[0]["id"])


def test_a_call_appears_while_one_looks(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine)
    page = visitor.go()
    tokens = page.locator("[data-total=tokens]")
    expect(tokens).to_have_attribute("data-value", "1000")
    machine.record([call(total=234)])
    expect(tokens).to_have_attribute("data-value", "1234")
    visitor.show("live")
    expect(page.locator("tr[data-call]")).to_have_count(2)
    expect(page.locator("tr.fresh")).to_have_count(0)
    machine.record([call(model="another-model", input=77, cost_usd=0.5)])
    first = page.locator("tr[data-call]").first
    expect(first).to_have_attribute("data-call", newest(machine))
    expect(first).to_contain_text("another-model")
    expect(first).to_contain_text("$0.50")
    expect(page.locator("tr.fresh")).to_have_count(1)


def test_a_decision_appears_while_one_looks(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("guard")
    expect(page.get_by_text("Nothing decided yet")).to_be_visible()
    machine.record(verdicts=[Verdict(now(), HOME, "main", "s", "r", "exec", "hold", "hold.always", "It waits.", "hold")])
    entry = page.locator("[data-decision]")
    expect(entry).to_have_count(1)
    expect(entry).to_contain_text("It waits.")
    expect(page.get_by_role("tabpanel").locator("[data-total=held]")).to_have_attribute("data-value", "1")


def test_a_pause_keeps_the_list_as_it_is(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("live")
    expect(page.locator("tr[data-call]")).to_have_count(1)
    page.get_by_role("button", name="Pause").click()
    machine.record([call(), call()])
    expect(page.get_by_text("Paused; 2 new")).to_be_visible()
    expect(page.locator("tr[data-call]")).to_have_count(1)
    page.get_by_role("button", name="Go on").click()
    expect(page.locator("tr[data-call]")).to_have_count(3)
    expect(page.locator("tr[data-call]").first).to_have_attribute("data-call", newest(machine))


def test_a_flood_leaves_the_last_fifty(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("live")
    expect(page.locator("tr[data-call]")).to_have_count(1)
    page.evaluate(
        """() => {
            const list = document.querySelector('tr[data-call]').parentElement;
            const look = () => { window.most = Math.max(window.most ?? 0, list.children.length); };
            new MutationObserver(look).observe(list, {childList: true});
        }"""
    )
    for batch in range(20):
        machine.record([call(total=batch) for _ in range(100)])
    first = page.locator("tr[data-call]").first
    expect(first).to_have_attribute("data-call", newest(machine))
    assert [row.get_attribute("data-call") for row in page.locator("tr[data-call]").all()] == [
        str(row["id"]) for row in machine.calls()[:SHOWN]
    ]
    assert page.evaluate("window.most") == SHOWN


def test_a_server_that_is_killed_and_comes_back(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine, expected=GONE)
    visitor.page.clock.install()
    page = visitor.go("live")
    connection = page.locator("#connection")
    expect(connection).to_have_attribute("data-state", "live")
    machine.kill()
    expect(connection).to_have_attribute("data-state", "reconnecting")
    expect(connection).to_have_text("Reconnecting")
    page.clock.fast_forward(30_000)
    expect(connection).to_have_attribute("data-state", "stale")
    expect(connection).to_contain_text("Stale since")
    expect(page.locator("tr[data-call]")).to_have_count(1)
    machine.start()
    machine.record([call(model="after-the-kill")])
    page.clock.fast_forward(15_000)
    expect(connection).to_have_attribute("data-state", "live")
    expect(page.locator("tr[data-call]").first).to_contain_text("after-the-kill")


def test_a_tab_that_cannot_be_asked_says_so_and_can_be_tried_again(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine, expected=GONE)
    page = visitor.go()
    expect(page.locator("[data-total=tokens]")).to_have_attribute("data-value", "1000")
    machine.kill()
    visitor.show("models")
    alert = page.get_by_role("tabpanel").get_by_role("alert")
    expect(alert).to_contain_text("does not answer")
    machine.start()
    alert.get_by_role("button", name="Try again").click()
    expect(page.get_by_role("row").filter(has_text="scripted-1")).to_be_visible()
    expect(alert).to_have_count(0)
