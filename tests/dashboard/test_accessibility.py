"""For everybody: light and dark, on a phone, with the keyboard alone, with a screen reader, without motion."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import seeded
from held_stage import hold, status_of
from machine import HOME, LAB, Machine
from playwright.sync_api import Page, expect
from visitor import PHONE, TABS, Visits

from effort import ALL
from gate import sampled
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.model.held_details import HeldDetails, HeldEffect, HeldRule

PICTURES = os.environ.get("TOOLGUARD_DASHBOARD_PICTURES")
"""The folder for the README's pictures, where they are wanted."""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine() as running:
        lab = running.gateways[LAB].config
        lab.write_text(lab.read_text().replace('mode: "enforce"', 'limits: [{ per: "day", usd: 5 }], mode: "enforce"'))
        now = time.time_ns() // 1_000_000
        running.record(seeded.calls(now), seeded.verdicts(now))
        running.stand(
            Standing("main", "agent:main:inbox", trust=0.42, spent=0.85, touched=time.time() - 70, reported=["drift.speed"]),
            Standing("research", "agent:research:daily", trust=0.7, spent=0.2, touched=time.time() - 900),
            Standing("family", "agent:family:main", trust=0.81, spent=0.45, touched=time.time() - 4_000),
        )
        hold(running.places, now=time.time() - 9_000, lasts=600, reason=seeded.HELD[0][1], binding="missed")
        for number, (code, reason, shown) in enumerate(seeded.HELD):
            agent = ("main", "builder")[number % 2]
            hold(
                running.gateways[(HOME, LAB)[number % 2]],
                now=time.time() - 90 * (len(seeded.HELD) - number),
                lasts=3_600,
                agent=agent,
                session=f"agent:{agent}:inbox",
                code=code,
                reason=reason,
                whole=number < 3,
                **(dangers(running) if number == 0 else {"shown": shown}),
                cwd="/srv/www",
            )
        yield running


def dangers(machine: Machine) -> dict[str, Any]:
    """A call that would do several things."""
    releases = machine.root / "releases"
    releases.mkdir()
    for name in range(12):
        (releases / f"{name}.tar").write_bytes(b"x" * 30_000)
    effects = (
        HeldEffect("delete", "/srv/www/releases", str(releases), ("recursive",), "in-workspace"),
        HeldEffect("drop", "the database shop"),
    )
    reasons = {
        "filesystem.delete-recursive": "It permanently deletes a folder with everything in it.",
        "databases.drop": "It drops a database.",
    }
    rules = tuple(HeldRule(rule, reason) for rule, reason in reasons.items())
    return {"details": HeldDetails(effects, rules), "shown": '{ command: "rm -rf releases && dropdb shop" }'}


def is_dark(page: Page) -> bool:
    """What is seen, not what an attribute says."""
    color = page.evaluate("getComputedStyle(document.body).backgroundColor.match(/[0-9.]+/g).slice(0, 3).map(Number)")
    return bool(sum(color) < 3 * 128)


LOOKS: dict[str, dict[str, Any]] = {
    "light": {},
    "dark": {"color_scheme": "dark"},
    "phone": {"viewport": PHONE, "has_touch": True},
}


@pytest.mark.parametrize("look", sampled(LOOKS, {"light"}))
def test_no_serious_fault_for_assistive_technology(machine: Machine, visits: Visits, look: str) -> None:
    visitor = visits(machine, reduced_motion="reduce", **LOOKS[look])
    page = visitor.go()
    found = {}
    for tab in TABS if ALL else ("overview", "approvals"):
        visitor.show(tab)
        expect(page.locator("[role=tabpanel]:not([hidden]) [aria-busy]")).to_have_count(0)
        found[tab] = visitor.violations()
    page.get_by_role("article").first.get_by_label("Reason").focus()
    visitor.show("guard")
    page.get_by_role("button", name="Stop everything").first.click()
    found["dialog"] = visitor.violations()
    assert {name: faults for name, faults in found.items() if faults} == {}


@pytest.mark.thorough
def test_read_only_has_no_serious_fault_either(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine, reduced_motion="reduce")
    page = visitor.go("approvals", token="")
    expect(page.get_by_text("This page is read-only")).to_be_visible()
    assert visitor.violations() == []


@pytest.mark.thorough
@pytest.mark.parametrize("scheme", sampled(["light", "dark"], {"dark"}))
def test_the_theme_is_the_system_s_until_the_person_says_otherwise(machine: Machine, visits: Visits, scheme: str) -> None:
    page = visits(machine, color_scheme=scheme).go()
    assert is_dark(page) == (scheme == "dark")
    other = {"light": "Dark theme", "dark": "Light theme"}
    page.get_by_role("button", name=other[scheme]).click()
    expect(page.get_by_role("button", name=next(name for key, name in other.items() if key != scheme))).to_be_visible()
    assert is_dark(page) == (scheme == "light")
    page.reload()
    expect(page.get_by_role("tabpanel")).to_be_visible()
    assert is_dark(page) == (scheme == "light")


OUT_OF_REACH = """() => [...document.querySelectorAll('button, select, input[type=text], summary')].filter(control => {
    if (!control.checkVisibility()) return false;
    control.scrollIntoView({block: 'center', inline: 'center', behavior: 'instant'});
    const {left, right, top, bottom, width, height} = control.getBoundingClientRect();
    const [x, y] = [(left + right) / 2, (top + bottom) / 2];
    const hit = document.elementFromPoint(x, y);
    const outside = left < 0 || right > innerWidth;
    return outside || Math.min(width, height) < 24 || !(control.contains(hit) || hit?.contains(control));
}).map(control => control.outerHTML.slice(0, 200))"""
"""Controls that are too small for a finger, beside the screen or under something else."""


@pytest.mark.thorough
def test_a_phone(machine: Machine, visits: Visits) -> None:
    """Nothing is wider than the screen but what scrolls by itself, and every control can be reached."""
    visitor = visits(machine, **LOOKS["phone"])
    page = visitor.go()
    for tab in TABS:
        visitor.show(tab)
        expect(page.locator("[role=tabpanel]:not([hidden]) [aria-busy]")).to_have_count(0)
        assert page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [400, 400], tab
        assert page.evaluate(OUT_OF_REACH) == [], tab
    visitor.show("overview")
    for label in ("7 d", "30 d", "24 h"):
        page.get_by_text(label, exact=True).tap()
        expect(page.get_by_role("radio", name=label)).to_be_checked()


CUT_OFF = """() => [...document.querySelectorAll('[role=tab], [role=tabpanel]:not([hidden]) tr > *')].filter(one => {
    const {left, right} = one.getBoundingClientRect();
    return left < 0 || right > innerWidth;
}).map(one => one.textContent)"""


@pytest.mark.thorough
def test_a_phone_shows_every_tab_and_every_column(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine, **LOOKS["phone"])
    page = visitor.go()
    visitor.show("models")
    expect(page.get_by_role("row").nth(1).get_by_role("cell").first).to_be_visible()
    assert page.evaluate(CUT_OFF) == []
    label = page.get_by_role("row").nth(1).get_by_role("cell").last
    assert label.evaluate("cell => getComputedStyle(cell, '::before').content") == '"Failed"'


@pytest.mark.thorough
def test_a_range_is_offered_where_it_matters(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine)
    visitor.go()
    shown = [visitor.show(tab).get_by_role("group", name="Time range").is_visible() for tab in TABS]
    assert dict(zip(TABS, shown, strict=True)) == {tab: tab not in ("timeline", "approvals") for tab in TABS}


@pytest.mark.thorough
def test_days_are_told_to_be_days_of_utc(machine: Machine, visits: Visits) -> None:
    page = visits(machine, timezone_id="America/Los_Angeles").go()
    chart = page.locator("figure").filter(has_text="Tokens")
    expect(chart).to_contain_text("total")
    expect(chart).not_to_contain_text("UTC")
    page.get_by_text("30 d", exact=True).click()
    expect(chart).to_contain_text("total, days in UTC")
    chart.get_by_text("Numbers").click()
    expect(chart.get_by_role("columnheader").first).to_have_text("Day (UTC)")


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def focus_is_seen(page: Page) -> bool:
    return bool(
        page.evaluate(
            """() => {
                const style = getComputedStyle(document.activeElement);
                return document.activeElement.matches(':focus-visible') && style.outlineStyle !== 'none'
                    && parseFloat(style.outlineWidth) >= 2;
            }"""
        )
    )


IS_ITS_YES = """nonce => {
    const focused = document.activeElement;
    if (focused === document.body) throw new Error('the tab key has led out of the page');
    return focused.textContent === 'Approve' && focused.closest('article').dataset.nonce === nonce;
}"""


@pytest.mark.thorough
def test_tabs_by_arrows(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go()
    page.get_by_role("tab", name="Overview").focus()
    for key, name in (
        ("ArrowRight", "Gateways"),
        ("End", "Approvals"),
        ("ArrowRight", "Overview"),
        ("ArrowLeft", "Approvals"),
    ):
        press(page, key)
        tab = page.get_by_role("tab", name=name)
        expect(tab).to_be_focused()
        expect(tab).to_have_attribute("aria-selected", "true")
        expect(page.get_by_role("tabpanel", name=name)).to_be_visible()
        assert focus_is_seen(page)


@pytest.mark.thorough
def test_a_call_is_approved_with_the_keyboard_alone(machine: Machine, visits: Visits) -> None:
    held = hold(machine.places)
    page = visits(machine).go()
    page.get_by_role("tab", name="Overview").focus()
    press(page, "End")
    expect(page.locator(f"article[data-nonce='{held.nonce}']").get_by_role("button", name="Approve")).to_be_enabled()
    while not page.evaluate(IS_ITS_YES, held.nonce):
        press(page, "Tab")
        assert focus_is_seen(page), page.evaluate("document.activeElement.outerHTML.slice(0, 300)")
    press(page, "Enter")
    yes = page.locator(f"article[data-nonce='{held.nonce}']").get_by_role("button", name="Confirm: approve once")
    expect(yes).to_be_focused()
    expect(yes).to_be_enabled()
    press(page, "Enter")
    expect(page.locator(f"article[data-nonce='{held.nonce}']")).to_contain_text("approved")
    assert status_of(machine.places, held.nonce) == "approved"


@pytest.mark.parametrize("leave", sampled(["Escape", "Enter"], {"Escape"}))
def test_the_focus_comes_back_from_a_dialog(machine: Machine, visits: Visits, leave: str) -> None:
    page = visits(machine).go("guard")
    button = page.get_by_role("tabpanel").locator(f"[data-gateway={HOME}]").get_by_role("button", name="Stop everything")
    button.focus()
    press(page, "Enter")
    dialog = page.get_by_role("dialog")
    expect(dialog).to_be_visible()
    for _ in range(6):
        press(page, "Tab")
        assert page.evaluate("document.activeElement === document.body || document.activeElement.closest('dialog') !== null")
    if leave == "Enter":
        dialog.get_by_role("button", name="Cancel").focus()
    press(page, leave)
    expect(dialog).to_have_count(0)
    expect(button).to_be_focused()


MOVING = """() => [...document.querySelectorAll('*')].filter(element => {
    const style = getComputedStyle(element);
    const lasts = text => Math.max(...text.split(',').map(parseFloat)) > 0.01;
    return (style.animationName !== 'none' && lasts(style.animationDuration)) || lasts(style.transitionDuration);
}).length"""
"""How many elements would move, in more than a hundredth of a second."""


@pytest.mark.thorough
def test_nothing_moves_for_whom_that_is_too_much(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine, reduced_motion="reduce")
    page = visitor.go()
    for tab in TABS:
        visitor.show(tab)
        assert page.evaluate(MOVING) == 0, tab


@pytest.mark.thorough
def test_motion_is_there_otherwise(machine: Machine, visits: Visits) -> None:
    assert visits(machine, reduced_motion="no-preference").go().evaluate(MOVING) > 0


@pytest.mark.thorough
def test_charts_and_meters_are_told_in_words(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go()
    tokens = page.get_by_role("img", name="Tokens:")
    expect(tokens).to_have_attribute("aria-label", re.compile(r"Input [\d.]+\w?, Output .* Peak: .* at "))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("tab", "reach", "scheme"), [("overview", "7 d", "light"), ("guard", "30 d", "dark"), ("approvals", "24 h", "light")]
)
def test_pictures(machine: Machine, visits: Visits, tmp_path: Path, tab: str, reach: str, scheme: str) -> None:
    """For the README: what is seen at once fills the picture, and it is no burden to load."""
    visitor = visits(machine, color_scheme=scheme, reduced_motion="reduce")
    page = visitor.go(tab)
    if tab != "approvals":
        page.get_by_text(reach, exact=True).click()
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    expect(page.locator("[role=tabpanel]:not([hidden]) [aria-busy]")).to_have_count(0)
    expect(page.locator("#foot")).to_contain_text("toolguard")  # the gateways are known
    page.mouse.move(0, 0)
    target = (Path(PICTURES) if PICTURES else tmp_path) / f"dashboard-{tab}.png"
    page.screenshot(path=target)
    assert target.stat().st_size < 200_000
