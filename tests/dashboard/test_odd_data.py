"""Data that is not as one would like it: none at all, no file, a damaged one, and names that want to be more than text."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
import seeded
from held_stage import hold
from machine import HOME, Machine
from playwright.sync_api import expect
from visitor import PHONE, TABS, WIDE, Visits, approve

from toolguard_engine.approvals.standing import Standing
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile

NOTHING = {
    "overview": "No model calls yet",
    "gateways": HOME,
    "models": "No model calls yet",
    "timeline": "Nothing that fits",
    "guard": "No decisions yet",
    "approvals": "No held calls",
}
REFUSED = ("Failed to load resource",)


@pytest.fixture(scope="module")
def bare() -> Iterator[Machine]:
    """Nothing was ever recorded: there is no metrics file."""
    with Machine(metrics=False) as running:
        yield running


@pytest.fixture(scope="module")
def empty() -> Iterator[Machine]:
    with Machine() as running:
        yield running


@pytest.mark.thorough
def test_no_data(empty: Machine, visits: Visits) -> None:
    visitor = visits(empty)
    visitor.go()
    for tab in TABS:
        expect(visitor.show(tab).get_by_role("tabpanel")).to_contain_text(NOTHING[tab])


@pytest.mark.thorough
def test_no_file(bare: Machine, visits: Visits) -> None:
    visitor = visits(bare)
    page = visitor.go()
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    for tab in ("overview", "models", "timeline", "guard", "approvals"):
        visitor.show(tab)
        expect(page.get_by_role("tabpanel")).to_contain_text(NOTHING[tab])
    assert not bare.db.exists()


@pytest.mark.thorough
def test_a_held_call_is_decided_where_nothing_is_recorded(bare: Machine, visits: Visits) -> None:
    page = visits(bare).go("approvals")
    held = hold(bare.places)
    shown = page.locator(f"article[data-nonce='{held.nonce}']")
    approve(shown)
    expect(shown).to_contain_text("approved")


@pytest.mark.thorough
def test_a_damaged_file(visits: Visits) -> None:
    with Machine(metrics=False) as machine:
        machine.db.write_bytes(b"no database " * 1_000)
        visitor = visits(machine, expected=REFUSED)
        page = visitor.go()
        for tab in ("overview", "gateways", "models", "timeline", "guard"):
            visitor.show(tab)
            expect(page.get_by_role("tabpanel").get_by_role("alert").first).to_contain_text("is not a SQLite database")
        held = hold(machine.places)
        visitor.show("approvals")
        expect(page.locator(f"article[data-nonce='{held.nonce}']")).to_be_visible()


@pytest.mark.thorough
def test_an_address_that_holds_no_token(empty: Machine, visits: Visits) -> None:
    for token in ("%", "%zz", "", "f" * 63, "g" * 64, "f" * 64 + "&x=%"):
        page = visits(empty).page
        page.goto(f"{empty.url}/#token={token}")
        expect(page.locator("#connection")).to_have_attribute("data-state", "live")
        expect(page.get_by_role("tabpanel")).to_contain_text(NOTHING["overview"])
        assert "token" not in page.url


@pytest.fixture(scope="module")
def hostile() -> Iterator[Machine]:
    """Every name, reason and argument that somebody else can choose."""
    with Machine() as running:
        now = time.time_ns() // 1_000_000
        running.record(seeded.hostile_calls(now), seeded.hostile_verdicts(now))
        for text in seeded.HOSTILE:
            clean = text.replace("\0", "")
            hold(
                running.places,
                lasts=3_600,
                tool=clean,
                agent=clean,
                session=clean,
                reason=clean,
                shown=clean,
                cwd=clean,
                code=clean,
            )
        running.stand(
            *(Standing(text, text, spent=0.5, touched=time.time(), reported=[text[:100]]) for text in seeded.HOSTILE)
        )
        KillSwitchFile(running.places.state_dir).set(on=True, by=seeded.HOSTILE[0], why=seeded.HOSTILE[1])
        yield running


MADE = "[document.querySelectorAll('img, iframe, object, embed, base, #broken').length, document.scripts.length]"


@pytest.mark.parametrize("screen", [WIDE, pytest.param(PHONE, marks=pytest.mark.thorough)], ids=["wide", "phone"])
@pytest.mark.thorough
def test_names_are_texts(hostile: Machine, visits: Visits, screen: dict[str, int]) -> None:
    """No element is made of one, nothing runs (a dialog or an error would be a fault of the visit), all of it is shown."""
    visitor = visits(hostile, viewport=screen)
    page = visitor.go()
    for tab in TABS:
        panel = visitor.show(tab).get_by_role("tabpanel")
        expect(panel).to_contain_text("<img src=x onerror=alert(1)>")
        expect(panel).to_contain_text("</td></tr><b id=broken>")
        for button in panel.get_by_role("button", name="Details").all():
            button.click()
        for summary in panel.locator("summary:visible").all():
            summary.click()
        expect(panel).to_contain_text("<script>alert(2)</script>")
        assert page.evaluate(MADE) == [0, 1], tab
        assert [char for char in "\u202e\u200b\u202b\0\x1b" if char in panel.inner_text()] == [], tab
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), tab


@pytest.mark.thorough
def test_a_gateway_of_any_name_has_details(visits: Visits) -> None:
    names = [".", "..", "a/b", "a?b#c", "%2e%2e", "\u00e4 \u03b2"]
    with Machine() as machine:
        call = next(iter(seeded.hostile_calls(time.time_ns() // 1_000_000)))
        machine.record([call._replace(gateway=name, agent=f"agent-{at}") for at, name in enumerate(names)])
        visitor = visits(machine)
        for at, name in enumerate(names):
            page = visitor.go("gateways")
            page.reload()
            visitor.show("gateways")
            own = page.locator("article").filter(has=page.get_by_role("heading", name=name, exact=True))
            own.get_by_role("button", name="Details").click()
            row = page.get_by_role("region", name="Details").get_by_role("rowheader", name=f"agent-{at}", exact=True)
            expect(row).to_be_visible()


@pytest.mark.thorough
def test_why_the_switch_is_on_is_text(hostile: Machine, visits: Visits) -> None:
    page = visits(hostile).go()
    expect(page.get_by_role("alert").filter(has_text="Kill switch on")).to_contain_text("<script>alert(2)</script>")
    assert page.evaluate(MADE) == [0, 1]
