"""What a person changes on the page: kill switch, mode and budgets are changed where the gateway reads them."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from machine import CONFIG, HOME, LAB, Machine
from playwright.sync_api import Page, Route, expect
from visitor import Visits, until

from gate import sampled
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.config.settings import parse
from toolguard_engine.config.strictness import settings_of
from toolguard_engine.stores.files.accepted_settings_file import AcceptedSettings
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.sqlite.standings import FileStandings


@pytest.fixture
def machine() -> Iterator[Machine]:
    with Machine() as running:
        yield running


def events(machine: Machine, kind: str) -> list[tuple[str, str]]:
    """Places and reasons in the audit log."""
    log = AuditLog(machine.places.state_dir).events()
    return [(each.get("where", ""), each.get("why", "")) for each in log if each["event"] == kind]


def answer(page: Page, action: str, reason: str | None = None) -> None:
    dialog = page.get_by_role("dialog")
    if reason is not None:
        dialog.get_by_label("Reason").fill(reason)
    dialog.get_by_role("button", name=action).click()
    expect(dialog).to_have_count(0)


@pytest.mark.thorough
def test_kill_switch(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("guard")
    section = page.get_by_role("tabpanel").locator(f"[data-gateway={HOME}]")
    section.get_by_role("button", name="Stop everything").click()
    answer(page, "Stop everything", "it sends mail")
    banner = page.get_by_role("alert").filter(has_text="Kill switch on")
    expect(banner).to_contain_text(HOME)
    expect(banner).to_contain_text("it sends mail")
    thrown = KillSwitchFile(machine.places.state_dir).thrown()
    assert thrown is not None
    assert thrown.why == "it sends mail"
    assert KillSwitchFile(machine.gateways[LAB].state_dir).thrown() is None
    banner.get_by_role("button", name="Turn off kill switch").click()
    answer(page, "Turn off", "")
    expect(page.locator("#toasts")).to_contain_text("kill switch of home is off")
    expect(banner).to_have_count(0)
    assert KillSwitchFile(machine.places.state_dir).thrown() is None
    assert events(machine, "kill-switch")[0] == ("dashboard", "it sends mail")
    assert len(events(machine, "kill-switch")) == 2


@pytest.mark.thorough
def test_a_kill_switch_that_stops_nothing_says_so(machine: Machine, visits: Visits) -> None:
    """No gateway of that state directory loads the plugin. What it says stays until it is read."""
    machine.gateways[LAB].config.write_text("{}")
    visitor = visits(machine)
    visitor.page.clock.install()
    page = visitor.go("guard")
    section = page.get_by_role("tabpanel").locator(f"[data-gateway={LAB}]")
    section.get_by_role("button", name="Stop everything").click()
    answer(page, "Stop everything", "it sends mail")
    said = page.locator("#toasts")
    expect(said).to_contain_text("nothing is stopped")
    expect(said).not_to_contain_text("are blocked")
    page.clock.fast_forward(60_000)
    while said.get_by_role("button", name="Dismiss").count():
        expect(said).to_contain_text("nothing is stopped")
        said.get_by_role("button", name="Dismiss").last.click()
    expect(said).to_be_empty()


@pytest.mark.thorough
def test_a_kill_switch_thrown_elsewhere_is_seen(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go()
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    KillSwitchFile(machine.places.state_dir).set(on=True, by="ben", why="from a terminal")
    expect(page.get_by_role("alert").filter(has_text="Kill switch on")).to_contain_text("from a terminal")


@pytest.mark.thorough
def test_mode(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("guard")
    modes = page.get_by_role("combobox", name=f"Mode of {HOME}")
    expect(modes).to_have_value("enforce")
    modes.select_option("shadow")
    expect(page.get_by_role("dialog")).to_contain_text("Nothing is held or blocked")
    answer(page, "Set to shadow")
    expect(page.locator("#toasts")).to_contain_text("shadow")
    expect(page.get_by_role("combobox", name=f"Mode of {HOME}")).to_have_value("shadow")
    assert machine.places.config.read_text() == CONFIG.replace('mode: "enforce"', 'mode: "shadow"')
    assert machine.gateways[LAB].config.read_text() == CONFIG


@pytest.mark.thorough
def test_while_a_mode_is_being_set(machine: Machine, visits: Visits) -> None:
    """OpenClaw takes its time: until it has answered, nobody asks again, and nothing is said to have failed."""
    visitor = visits(machine)
    page, held = visitor.go("guard"), list[Route]()
    page.route("**/api/state", lambda route: held.append(route) if route.request.method == "POST" else route.continue_())
    modes = page.get_by_role("combobox", name=f"Mode of {HOME}")
    modes.select_option("soft")
    answer(page, "Set to soft")
    expect(page.get_by_text("changing…")).to_be_visible()
    KillSwitchFile(machine.gateways[LAB].state_dir).set(on=True, by="ben", why="all is drawn anew")
    expect(page.get_by_role("alert").filter(has_text="all is drawn anew")).to_be_visible()
    expect(page.get_by_text("changing…")).to_be_visible()
    expect(modes).to_be_disabled()
    expect(modes).to_have_value("soft")
    until(page, lambda: bool(held))
    held[0].continue_()
    expect(page.locator("#toasts")).to_contain_text("is soft")
    expect(modes).to_be_enabled()
    expect(page.get_by_text("changing…")).to_have_count(0)


@pytest.mark.thorough
def test_a_mode_that_is_not_confirmed_stays(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("guard")
    modes = page.get_by_role("combobox", name=f"Mode of {HOME}")
    modes.select_option("disabled")
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(modes).to_have_value("enforce")
    assert machine.places.config.read_text() == CONFIG


@pytest.mark.thorough
@pytest.mark.parametrize("session", sampled(["agent:main:inbox", "all"], {"agent:main:inbox"}))
def test_checkpoint(machine: Machine, visits: Visits, session: str) -> None:
    """Of this agent in this session alone."""
    others = [Standing("main", "agent:main:other", spent=0.5, touched=time.time())]
    others.append(Standing("aide", session, spent=0.5, touched=time.time()))
    machine.stand(Standing("main", session, spent=0.85, touched=time.time(), reported=["drift.speed"]), *others)
    page = visits(machine).go("guard")
    standing = page.locator(f"[data-session='{session}']").filter(has=page.get_by_role("meter", name="Budget left, main"))
    expect(standing.get_by_role("meter", name="Budget left")).to_have_attribute("aria-valuenow", "0.15")
    standing.get_by_role("button", name="Checkpoint").click()
    answer(page, "Refill the budget")
    expect(page.locator("#toasts")).to_contain_text("budget is refilled")
    stands = {(each.agent, each.session): each for each in FileStandings(machine.places.state_dir, patient=True).look()}
    known = stands["main", session]
    assert (known.spent, known.reported, known.epoch) == (0.0, [], 1)
    assert [stands[each.agent, each.session].spent for each in others] == [0.5, 0.5]
    assert [where for where, _ in events(machine, "checkpoint")] == ["dashboard"]
    expect(standing.get_by_role("meter", name="Budget left").and_(page.locator("[aria-valuenow='0.15']"))).to_have_count(0)


@pytest.mark.parametrize("width", [1280, pytest.param(390, marks=pytest.mark.thorough)], ids=["desk", "phone"])
@pytest.mark.thorough
def test_weaker_settings_are_accepted(machine: Machine, visits: Visits, width: int) -> None:
    store, log = AcceptedSettings(machine.places.state_dir), AuditLog(machine.places.state_dir).append
    config = str(machine.places.config)
    store.ran(config, settings_of(parse({})), time.time(), log)
    page = visits(machine, viewport={"width": width, "height": 800}).go("overview")
    banner = page.get_by_role("alert").filter(has_text="Weaker settings")
    expect(banner).to_have_count(0)
    hostile = "<img src=x onerror=alert(1)>"
    store.ran(config, settings_of(parse({"mode": "soft", "neverBlock": [hostile]})), time.time(), log)
    expect(banner).to_contain_text("is running with weaker settings than those last accepted")
    expect(banner).to_contain_text("mode changed from enforce to soft")
    expect(banner).to_contain_text(f"neverBlock also names {hostile}")
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    banner.get_by_role("button", name="Accept").click()
    answer(page, "Accept", "a quiet week")
    expect(banner).to_have_count(0)
    assert store.pending() == []
    assert events(machine, "accepted") == [("dashboard", "a quiet week")] * 2
