"""What the page begins with, where decisions are looked for, and what is done about missed calls: in a real browser."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
import seeded
from held_stage import hold, status_of
from machine import HOME, LAB, Machine
from playwright.sync_api import Locator, Page, expect
from visitor import TABS, Visits, boxes_of, press, until

from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.model.held_details import ExactCall, HeldDetails, HeldEffect, HeldRule
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.files.nonces import FileNonces


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    made = Machine()
    now = time.time_ns() // 1_000_000
    made.record(seeded.calls(now), seeded.verdicts(now))
    with made as running:
        yield running


@pytest.fixture
def quiet() -> Iterator[Machine]:
    """Nothing happened there yet."""
    with Machine() as running:
        yield running


def missed(machine: Machine, **changes: Any) -> str:
    """A call that nobody answered."""
    held = hold(machine.places, now=time.time() - 4_000, lasts=300, **changes)
    FileNonces(machine.places.state_dir).sweep(time.time())
    return held.nonce


def number(page: Page, name: str) -> Locator:
    return page.get_by_role("tabpanel").locator(f"[data-total={name}]")


def test_the_overview_begins_with_the_guard(quiet: Machine, visits: Visits) -> None:
    """Each number changes as soon as what it counts does."""
    page = visits(quiet).go()
    guard = page.get_by_role("group", name="Guard", exact=True)
    expect(guard).to_contain_text("Guarded")
    expect(guard.locator(f"[data-gateway={HOME}]")).to_contain_text("mode enforce")
    expect(guard.locator(f"[data-gateway={LAB}]")).to_contain_text("no gateway is running")
    first = page.evaluate("document.querySelector('[role=tabpanel]:not([hidden]) [role=group]').ariaLabel")
    assert first == "Guard"
    hold(quiet.places)
    missed(quiet, binding="missed")
    expect(number(page, "waiting")).to_have_attribute("data-value", "1")
    expect(number(page, "missed")).to_have_attribute("data-value", "1")
    KillSwitchFile(quiet.places.state_dir).set(on=True, by="ben", why="")
    expect(guard).to_contain_text("All calls blocked")
    KillSwitchFile(quiet.places.state_dir).set(on=False, by="ben", why="")
    quiet.stop_gateway()
    expect(guard).to_contain_text("Not running")
    page.get_by_role("group", name="Waiting for you").get_by_role("button", name="Answer").click()
    expect(page.get_by_role("tab", name="Approvals")).to_have_attribute("aria-selected", "true")


def feed(page: Page) -> list[str]:
    return [str(entry.get_attribute("data-decision")) for entry in page.locator("[data-decision]").all()]


@pytest.mark.thorough
def test_decisions_are_looked_for_and_a_hold_leads_to_its_answer(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("guard")
    rows = [row for row in machine.verdicts() if row["kind"] != "allow"]
    held = next(row for row in rows if row["kind"] == "hold" and row["code"] == "rule.vcs.push-force")
    same = [row for row in rows if row["nonce"] == held["nonce"]]
    choice = {name: page.get_by_role("combobox", name=name, exact=True) for name in ("Kind", "Agent", "Code")}
    choice["Kind"].select_option(label="Held")
    page.get_by_role("textbox", name="Text").fill("GIT push")
    choice["Agent"].select_option(held["agent"])
    choice["Code"].select_option(held["code"])
    found = [row for row in rows if all(row[name] == held[name] for name in ("kind", "agent", "code"))][:25]
    until(page, lambda: feed(page) == [str(row["id"]) for row in found])
    entry = page.locator(f"[data-decision='{held['id']}']")
    outcome = {"approve": "Approved by ana", "deny": "Denied by ana", "expire": "Expired"}
    expect(entry.locator(".became")).to_contain_text(next(outcome[row["kind"]] for row in same if row["kind"] in outcome))
    page.get_by_role("button", name="Show all").click()
    page.get_by_role("textbox", name="Text").fill(held["nonce"])
    entry.get_by_role("button", name=held["nonce"]).click()
    until(page, lambda: feed(page) == [str(row["id"]) for row in same])
    page.get_by_role("textbox", name="Text").fill("nothing is like this")
    expect(page.get_by_text("No decision matches")).to_be_visible()
    page.get_by_role("button", name="Show all").last.click()
    expect(page.locator("[data-decision]")).to_have_count(25)


@pytest.mark.thorough
def test_reasons_are_in_words_and_lead_to_their_decisions(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("guard")
    page.get_by_text("30 d", exact=True).click()
    reasons = page.get_by_role("region", name="Reasons")
    expect(reasons).to_contain_text("It overwrites history that others may have.")
    reasons.get_by_role("button", name="rule.vcs.push-force").click()
    expect(page.get_by_role("combobox", name="Code", exact=True)).to_have_value("rule.vcs.push-force")
    expect(page.locator("[data-decision]").first).to_contain_text("rule.vcs.push-force")


def card(page: Page, nonce: str) -> Locator:
    return page.locator(f"article[data-nonce='{nonce}']")


@pytest.mark.thorough
def test_a_card_shows_all_that_a_call_would_do(machine: Machine, visits: Visits) -> None:
    photos = machine.root / "photos"
    photos.mkdir()
    for name in range(3):
        (photos / f"{name}.jpg").write_bytes(b"x" * 2_000)
    effects = (HeldEffect("delete", "photos", str(photos), ("recursive",)), HeldEffect("drop", "<b>prod</b>"))
    rules = (
        HeldRule("filesystem.delete-recursive", "It deletes a folder.", 9),
        HeldRule("databases.drop", "It drops a database."),
    )
    held = hold(machine.places, details=HeldDetails(effects, rules, more=2))
    shown = card(visits(machine).go("approvals"), held.nonce)
    for words in (
        "at least 4 dangers",
        "deletes photos (with everything in it)",
        "3 files, 6.0 kB",
        "drops <b>prod</b>",
        "and 2 more",
        "drops a database",
    ):
        expect(shown).to_contain_text(words)
    yes, no = boxes_of(*(shown.get_by_role("button", name=name, exact=True) for name in ("Approve", "Deny")))
    assert (no["width"], no["height"]) == (yes["width"], yes["height"])
    expect(shown.get_by_role("button", name="Allow for a while")).to_have_count(0)
    expect(shown).to_contain_text("Cannot be allowed for longer")


def test_calls_are_answered_by_keys_alone(quiet: Machine, visits: Visits) -> None:
    """One that the guard has not read is walked to, folded, unfolded and approved by a second press; the next is denied."""
    code = "\\n".join(f"line {number}" for number in range(40))
    first = hold(quiet.places, shown=f'exec({{ command: "{code}" }})')
    second = hold(quiet.places, binding="second")
    page = visits(quiet).go("approvals")
    expect(card(page, second.nonce)).to_be_visible()
    page.keyboard.press("j")
    expect(card(page, first.nonce)).to_be_focused()
    expect(card(page, first.nonce).get_by_text("line 30")).to_be_visible()
    page.keyboard.press("Enter")
    expect(card(page, first.nonce).get_by_text("line 30")).to_be_hidden()
    page.keyboard.press("Enter")
    expect(card(page, first.nonce).get_by_text("line 30")).to_be_visible()
    page.keyboard.press("j")
    expect(card(page, second.nonce)).to_be_focused()
    page.keyboard.press("d")
    expect(card(page, second.nonce)).to_contain_text("denied")
    page.keyboard.press("k")
    page.keyboard.press("j")
    expect(card(page, first.nonce)).to_be_focused()
    page.keyboard.press("a")
    expect(card(page, first.nonce).get_by_role("button", name="Confirm: approve once")).to_be_enabled()
    assert status_of(quiet.places, first.nonce) == "pending"
    page.keyboard.press("?")
    expect(page.get_by_text("j, k: next, previous call.")).to_be_visible()
    page.keyboard.press("a")
    expect(card(page, first.nonce)).to_contain_text("It has not run yet")
    assert (status_of(quiet.places, first.nonce), status_of(quiet.places, second.nonce)) == ("approved", "denied")


@pytest.mark.thorough
@pytest.mark.parametrize("sure", [True, False])
def test_always_allow_this(quiet: Machine, visits: Visits, *, sure: bool) -> None:
    effects = (HeldEffect("delete", "build", "/srv/www/build", ("recursive",), "in-workspace"),)
    narrow: dict[str, Any] = {"exact": ExactCall("rm -rf build", cwd="/srv/www"), "details": HeldDetails(effects)}
    held = hold(quiet.places, code="rule.filesystem.delete-recursive", cwd="/srv/www", **narrow)
    page = visits(quiet).go("approvals")
    press(card(page, held.nonce), "Allow temporarily…")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("just this command, in /srv/www, by agent main")
    dialog.get_by_role("combobox", name="For").select_option("1w")
    dialog.get_by_role("button", name="Approve and allow" if sure else "Cancel").click()
    expect(dialog).to_have_count(0)
    grants = stores.grants(quiet.places.state_dir)
    if not sure:
        assert (status_of(quiet.places, held.nonce), list(grants.grants())) == ("pending", [])
        return
    expect(card(page, held.nonce)).to_contain_text("allows just this command")
    assert status_of(quiet.places, held.nonce) == "approved"
    assert [round((grant.expires - time.time()) / 86_400) for grant in grants.grants()] == [7]


@pytest.mark.thorough
def test_what_was_missed_is_asked_for_again(machine: Machine, visits: Visits) -> None:
    late = missed(machine, binding="late", reason="It deletes a folder.")
    denied = hold(machine.places, binding="denied")
    FileNonces(machine.places.state_dir).deny(denied.nonce, Decision("ana", "chat", "not on a Friday"), time.time(), 60)
    page = visits(machine).go("approvals")
    entry = page.locator(f"[data-settled='{late}']")
    expect(page.locator(f"[data-settled='{denied.nonce}']")).to_contain_text(
        re.compile("by ana in a chat after .*: not on a Friday")
    )
    page.get_by_role("combobox", name="Outcome").select_option("missed")
    expect(page.locator(f"[data-settled='{denied.nonce}']")).to_have_count(0)
    expect(entry).to_contain_text("Nobody answered")
    entry.get_by_role("button", name="Ask the agent again").click()
    expect(page.locator("#toasts")).to_contain_text(late)
    expect(entry).to_have_count(0)
    page.get_by_role("combobox", name="Outcome").select_option("")
    expect(entry).to_contain_text("Asked again")


CUT = """() => [...document.querySelectorAll('[role=tabpanel]:not([hidden]) .scroll')]
    .filter(one => one.checkVisibility() && one.scrollWidth > one.clientWidth).map(one => one.ariaLabel)"""


@pytest.mark.parametrize("width", [1024, pytest.param(1280, marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_no_table_is_cut_and_no_share_is_more_than_all(machine: Machine, visits: Visits, width: int) -> None:
    visitor = visits(machine, viewport={"width": width, "height": 900})
    page = visitor.go()
    cut = {}
    for tab in TABS:
        visitor.show(tab)
        if tab == "gateways":
            page.locator(f"article[data-gateway={HOME}]").get_by_role("button", name="Details").click()
            expect(page.get_by_role("region", name="Sessions").locator("tbody tr").first).to_be_visible()
        expect(page.locator("[role=tabpanel]:not([hidden]) [aria-busy]")).to_have_count(0)
        cut[tab] = page.evaluate(CUT)
        assert page.evaluate("document.documentElement.scrollWidth") == width
    assert {tab: found for tab, found in cut.items() if found} == {}
    visitor.show("gateways")
    for name in ("Agents", "Channels", "Sessions"):
        shares = page.get_by_role("region", name=name, exact=True).locator(".share").all_inner_texts()
        assert sum(float(text.rstrip("%")) for text in shares) == pytest.approx(100, abs=0.5), name


@pytest.mark.thorough
def test_the_timeline_says_why_it_is_empty(quiet: Machine, visits: Visits) -> None:
    page = visits(quiet).go("timeline")
    panel = page.get_by_role("tabpanel")
    expect(panel).to_contain_text("Recording is on, but no agent has made a model call since")
    quiet.stop_gateway()
    expect(panel).to_contain_text("no gateway with toolguard is running")
    now = time.time_ns() // 1_000_000
    quiet.record([seeded.calls(now)[-1]._replace(gateway=HOME)])
    expect(panel.locator("[data-event]")).to_have_count(1)


NOTED = """
window.noted = [];
window.Notification = class extends EventTarget {
    static permission = 'default';
    static async requestPermission() { return (this.permission = ANSWER); }
    constructor(title, options) { super(); noted.push([title, options.body]); window.last = this; }
    close() {}
};
document.hasFocus = () => false;
"""


@pytest.mark.parametrize("answer", ["granted", pytest.param("denied", marks=pytest.mark.thorough)])
@pytest.mark.thorough
def test_notifications_come_only_if_they_are_asked_for(machine: Machine, visits: Visits, answer: str) -> None:
    visitor = visits(machine)
    visitor.page.add_init_script(NOTED.replace("ANSWER", f"'{answer}'"))
    page = visitor.go("overview")
    hold(machine.places, binding=f"before {answer}")
    waits = len(replies.waiting(FileNonces(machine.places.state_dir).entries(), time.time()))
    expect(number(page, "waiting")).to_have_attribute("data-value", str(waits))
    bell = page.locator("#bell")
    bell.click()
    expect(page.locator("#toasts")).to_contain_text(
        {"granted": "shown as browser notifications", "denied": "blocks notifications"}[answer]
    )
    expect(bell).to_have_attribute("aria-pressed", str(answer == "granted").lower())
    held = hold(machine.places, binding=f"after {answer}")
    expect(number(page, "waiting")).to_have_attribute("data-value", str(waits + 1))
    expect(page).to_have_title(re.compile(rf"^\({waits + 1}\) "))
    noted = page.evaluate("noted")
    assert [title for title, _ in noted] == [f"A call is waiting: exec ({held.nonce})"] * (answer == "granted")
    if noted:
        page.evaluate("last.dispatchEvent(new Event('click'))")
        expect(card(page, held.nonce)).to_be_visible()


@pytest.mark.thorough
def test_a_page_that_is_not_secure_says_why_it_cannot_notify(quiet: Machine, visits: Visits) -> None:
    visitor = visits(quiet)
    visitor.page.add_init_script("Object.defineProperty(window, 'isSecureContext', {value: false})")
    page = visitor.go("overview")
    page.locator("#bell").click()
    expect(page.locator("#toasts")).to_contain_text("only for pages served over https or from this machine")
    expect(page.locator("#bell")).to_have_attribute("aria-pressed", "false")
