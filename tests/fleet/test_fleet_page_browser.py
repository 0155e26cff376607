"""The fleet dashboard in a real browser: logging in, denying, stopping, what changes by itself, phones, hostile texts."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Route, expect

sys.path.insert(0, str(Path(__file__).parent.parent / "dashboard"))

from visitor import Visitor, running_chromium

import browser
from fleet_database import FleetDatabase
from fleet_page import FleetPageProcess, new_token
from fleet_scene import DELETES, FleetScene

pytestmark = pytest.mark.thorough
PICTURE = os.environ.get("TOOLGUARD_FLEET_PICTURE")
ON_PHONE = {"viewport": {"width": 390, "height": 800}, "color_scheme": "dark", "has_touch": True}
VIEWS = ("Held calls", "Gateways", "Teams", "Costs", "Audit", "Health", "Passkeys")
HOSTILE = "<img src=x onerror=alert(1)>\u202e<script>alert(2)</script>"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    if browser.MISSING:
        pytest.skip("no Chromium here")
    with running_chromium() as running:
        yield running


@pytest.fixture
def scene(database: FleetDatabase) -> FleetScene:
    return FleetScene(database)


@pytest.fixture
def visit(chromium: Browser, scene: FleetScene) -> Iterator[Callable[..., Visitor]]:
    """Logs a person in. Nothing may have gone wrong in any of their pages at the end."""
    with ExitStack() as stack:
        page = stack.enter_context(FleetPageProcess(scene.database))

        def begin(person: str, **context: Any) -> Visitor:
            visitor = stack.enter_context(_visitor(chromium, page.url, **context))
            visitor.page.goto(page.url)
            visitor.page.get_by_label("Your token").fill(new_token(scene.owner, person))
            visitor.page.get_by_role("button", name="Log in").click()
            expect(visitor.page.locator("#person")).to_contain_text(person)
            return visitor

        yield begin


@contextmanager
def _visitor(chromium: Browser, url: str, **context: Any) -> Iterator[Visitor]:
    expected = ("status of 401",)  # the page asks who is there before anybody has logged in
    with chromium.new_context(**{"viewport": {"width": 1280, "height": 900}, "locale": "en-US"} | context) as own:
        visitor = Visitor(own.new_page(), url, "", expected)
        yield visitor
        visitor.hears_no_fault()


def test_a_wrong_token_and_logging_out(scene: FleetScene, visit: Callable[..., Visitor]) -> None:
    page = visit("anna").page
    page.get_by_role("button", name="Log out").click()
    page.get_by_label("Your token").fill("tgf-" + "0" * 64)
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("invalid or no longer valid")
    page.reload()
    expect(page.get_by_label("Your token")).to_be_visible()


def test_a_call_appears_is_signed_elsewhere_and_denied(scene: FleetScene, visit: Callable[..., Visitor]) -> None:
    page = visit("anna").page
    expect(page.get_by_text("No held calls")).to_be_visible()
    nonce = scene.hold("ops", "exec", "rm -r /srv/releases", details=DELETES, need=2)
    card = page.locator(f'[data-nonce="{nonce}"].card')
    expect(card).to_contain_text("rm -r /srv/releases")
    expect(card).to_contain_text("delete /srv/releases/* (recursive)")
    expect(card.locator(".signs code")).to_have_text(f"toolguard fleet approve {nonce} --gateway {scene.gateways['ops'].id}")
    scene.decide("bert", "ops", nonce)
    expect(card).to_contain_text("1 of 2 approvals")
    scene.decide("anna", "ops", nonce)
    expect(card).to_contain_text("Approved. It has not run yet")
    card.get_by_role("button", name="Withdraw approval").click()
    page.get_by_role("dialog").get_by_label("Reason (optional)").fill("not today")
    page.get_by_role("dialog").get_by_role("button", name="Deny").click()
    expect(card).to_contain_text("Denied")
    expect(page.locator(f'[data-nonce="{nonce}"].entry')).to_contain_text("not today")
    assert scene.owner.execute("SELECT status, who, why FROM fleet.held_closed").fetchone() == (
        "denied",
        "anna",
        "not today",
    )


def test_what_waits_does_not_wait_for_the_history(scene: FleetScene, visit: Callable[..., Visitor]) -> None:
    page = visit("anna").page
    expect(page.get_by_text("None in this period.")).to_be_visible()
    asked: list[Route] = []

    def unanswered(route: Route) -> None:
        asked.append(route)

    page.route("**/api/history*", unanswered)
    nonce = scene.hold("ops", "exec", "rm -r /srv/releases")
    expect(page.locator(f'[data-nonce="{nonce}"].card')).to_contain_text("rm -r /srv/releases")
    other = scene.hold("ops", "exec", "rm -r /srv/cache")
    expect(page.locator(f'[data-nonce="{other}"].card')).to_be_visible()
    assert len(asked) <= 1, "it is not asked for again before it was answered"
    for each in asked:
        each.continue_()
    page.unroute_all(behavior="wait")


def test_two_teams_and_the_kill_switch(scene: FleetScene, visit: Callable[..., Visitor]) -> None:
    scene.hold("web", "send", "mail to everybody")
    anna, carla, root = visit("anna").page, visit("carla").page, visit("root").page
    expect(carla.get_by_text("mail to everybody")).to_be_visible()
    expect(carla.get_by_role("button", name="Deny")).to_have_count(0)
    expect(anna.get_by_text("No held calls")).to_be_visible()
    anna.get_by_role("tab", name="Teams").click()
    expect(anna.locator("[data-team]")).to_have_count(2)
    anna.locator('[data-team="ops"]').get_by_role("button", name="Stop everything").click()
    anna.get_by_role("dialog").get_by_role("button", name="Stop everything").click()
    expect(anna.get_by_role("alert")).to_contain_text("Team ops is stopped")
    assert scene.caller("ops").sync()["kill"] is True
    expect(anna.locator('[data-team="ops"]')).to_contain_text("Only an admin")
    expect(carla.get_by_role("alert")).to_have_count(0)
    root.get_by_role("tab", name="Teams").click()
    root.locator('[data-team="ops"]').get_by_role("button", name="Turn off").click()
    root.get_by_role("dialog").get_by_role("button", name="Turn off").click()
    expect(anna.get_by_role("alert")).to_have_count(0)
    assert scene.caller("ops").sync()["kill"] is False


def test_hostile_texts_are_text(scene: FleetScene, visit: Callable[..., Visitor]) -> None:
    scene.hold("ops", HOSTILE, HOSTILE, agent=HOSTILE, reason=HOSTILE, session=HOSTILE, requester=HOSTILE)
    nonce = scene.hold("ops", "gone", HOSTILE, binding="other")
    scene.decide("bert", "ops", nonce, "denied", HOSTILE)
    scene.log("ops", {"event": HOSTILE, "agent": HOSTILE, "reason": HOSTILE})
    scene.owner.execute("UPDATE fleet.gateway SET host = %s", (HOSTILE,))
    scene.spend("ops", 1.5, agent=HOSTILE, model=HOSTILE)
    page = visit("anna").page
    expect(page.locator(".held pre")).to_contain_text("<script>alert(2)</script>")
    for name in VIEWS:
        page.get_by_role("tab", name=name).click()
        expect(page.locator("#connection")).to_have_attribute("data-state", "live")
        expect(page.locator(".skeleton")).to_have_count(0)
        expect(page.locator("main img, main script")).to_have_count(0)


@pytest.mark.parametrize("context", [{}, ON_PHONE], ids=["wide", "phone"])
def test_every_view_is_accessible_and_fits(
    scene: FleetScene, visit: Callable[..., Visitor], context: dict[str, Any]
) -> None:
    scene.hold("ops", "exec", "rm -r /srv/releases", details=DELETES, need=2, requester="carla")
    scene.decide("bert", "ops", scene.hold("ops", "send", "mail " + "x" * 400, binding="mail"), "denied", "no")
    scene.log("ops", {"event": "hold", "agent": "main"}, {"event": "deny", "agent": "main"})
    scene.spend("ops", 12.5)
    scene.other_gateway("ops", "new")
    visitor = visit("root", **context)
    for name in VIEWS:
        visitor.page.get_by_role("tab", name=name).click()
        expect(visitor.page.locator(".skeleton")).to_have_count(0)
        assert visitor.violations() == [], name
        wide = visitor.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        assert wide == 0, name


def test_what_an_admin_sees_first(scene: FleetScene, visit: Callable[..., Visitor]) -> None:
    """`TOOLGUARD_FLEET_PICTURE=docs/fleet-dashboard.png` keeps a picture of it."""
    scene.owner.execute("UPDATE fleet.gateway SET host = CASE team WHEN 'ops' THEN 'build-01' ELSE 'shop-01' END")
    denied = scene.hold("ops", "exec", "git push --force origin main")
    scene.decide("anna", "ops", denied, "denied", "use a branch")
    used = scene.hold("ops", "exec", "rm -r /srv/cache", details=DELETES)
    scene.decide("root", "ops", used)
    scene.use("ops", "rm -r /srv/cache")
    command = "rm -r /srv/releases/2026-10 && ln -sfn /srv/releases/2026-11 /srv/current"
    first = scene.hold("ops", "exec", command, details=DELETES, need=2, cwd="/srv", requester="carla")
    scene.decide("bert", "ops", first)
    text = "to: customers@shop.example\nsubject: Your invoice\n\nDear customer, …"
    other = scene.hold("web", "message.send", text, agent="mailer", reason="sends to people outside of the company")
    page = visit("root").page
    for name in VIEWS:
        expect(page.get_by_role("tab", name=name)).to_be_in_viewport()
    for nonce in (first, other):
        expect(page.locator(f'[data-nonce="{nonce}"].card').get_by_role("button", name="Deny")).to_be_in_viewport()
    expect(page.locator(f'[data-nonce="{used}"].entry')).to_contain_text("Approved, and passed to its gateway")
    expect(page.locator(f'[data-nonce="{denied}"].entry')).to_contain_text("use a branch")
    if PICTURE:
        page.screenshot(path=PICTURE)
