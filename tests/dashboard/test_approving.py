"""Held calls on the page: what is clicked is what the store and the audit log say; without the token nothing is decided."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from held_stage import hold, status_of
from machine import HOME, LAB, Machine
from playwright.sync_api import Locator, Page, Route, WebSocketRoute, expect
from visitor import Visitor, Visits, approve, press

from gate import sampled, thoroughly
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.files.nonces import FileNonces

REFUSED = ("Failed to load resource",)
"""What a browser says of every refusal."""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine() as running:
        yield running


@pytest.fixture
def quiet() -> Iterator[Machine]:
    """Nothing waits there yet."""
    with Machine() as running:
        yield running


def card(page: Page, nonce: str) -> Locator:
    return page.locator(f"article[data-nonce='{nonce}']")


def audited(machine: Machine, nonce: str) -> list[tuple[str, str, str]]:
    """What the audit log says of it: event, place and why."""
    events = AuditLog(machine.places.state_dir).events()
    return [(each["event"], each.get("where", ""), each.get("why", "")) for each in events if each.get("nonce") == nonce]


def test_yes(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("approvals")
    held = hold(machine.places, shown='{ command: "make release" }', reason="It makes a release.", cwd="/srv/www")
    shown = card(page, held.nonce)
    for words in ("exec", held.nonce, "make release", "It makes a release.", "main", "/srv/www", "left"):
        expect(shown).to_contain_text(words)
    shown.get_by_label("Reason").fill("release day")
    approve(shown)
    expect(shown).to_contain_text("approved")
    expect(shown.get_by_role("button", name="Approve")).to_be_hidden()
    assert status_of(machine.places, held.nonce) == "approved"
    assert audited(machine, held.nonce) == [("hold", "", ""), ("approve", "dashboard", "release day")]


@pytest.mark.thorough
def test_no(machine: Machine, visits: Visits) -> None:
    held = hold(machine.places)
    page = visits(machine).go("approvals")
    press(card(page, held.nonce), "Deny")
    expect(card(page, held.nonce)).to_contain_text("denied")
    assert status_of(machine.places, held.nonce) == "denied"
    assert audited(machine, held.nonce) == [("hold", "", ""), ("deny", "dashboard", "")]


@pytest.mark.thorough
def test_each_gateway_has_its_own_calls(machine: Machine, visits: Visits) -> None:
    lab = machine.gateways[LAB]
    held = hold(lab)
    page = visits(machine).go("approvals")
    expect(card(page, held.nonce)).to_contain_text(LAB)
    approve(card(page, held.nonce))
    expect(card(page, held.nonce)).to_contain_text("approved")
    assert status_of(lab, held.nonce) == "approved"
    assert audited(machine, held.nonce) == []


@pytest.mark.thorough
def test_how_many_wait_stands_on_the_tab(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go()
    before = sum(entry.status == "pending" for entry in FileNonces(machine.places.state_dir).entries())
    for _ in range(2):
        hold(machine.places)
    expect(page.get_by_role("tab", name="Approvals")).to_have_text(f"Approvals {before + 2}")


@pytest.mark.thorough
def test_one_that_is_not_shown_whole_needs_a_second_word(machine: Machine, visits: Visits) -> None:
    held = hold(machine.places, whole=False)
    shown = card(visits(machine).go("approvals"), held.nonce)
    yes = shown.get_by_role("button", name="Approve")
    expect(yes).to_be_disabled()
    expect(shown.get_by_role("button", name="Deny")).to_be_enabled()
    shown.get_by_role("checkbox").check()
    approve(shown)
    expect(shown).to_contain_text("approved")
    assert status_of(machine.places, held.nonce) == "approved"


@pytest.mark.thorough
def test_time_runs_out_while_one_looks(machine: Machine, visits: Visits) -> None:
    page = visits(machine).go("approvals")
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    held = hold(machine.places, lasts=10)
    expect(card(page, held.nonce)).to_contain_text("Expires soon")
    expect(card(page, held.nonce)).to_contain_text("Expired")
    expect(card(page, held.nonce).get_by_role("button", name="Approve")).to_be_hidden()


def decide_elsewhere(machine: Machine, nonce: str, how: str) -> None:
    book, by = FileNonces(machine.places.state_dir), Decision("ben", "cli", "not now")
    if how == "denied":
        book.deny(nonce, by, time.time(), 60)
        return
    entry = book.approve(nonce, by, time.time(), 60)
    if how == "used":
        assert book.present(entry, time.time()).outcome == "used"


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("how", "button", "words"),
    [
        pytest.param("denied", "Approve", "was denied by ben", id="yes to a denied one"),
        pytest.param("approved", "Approve", "is already approved", id="yes to an approved one", marks=pytest.mark.thorough),
        pytest.param("used", "Approve", "an approval covers one call", id="yes to a used one", marks=pytest.mark.thorough),
        pytest.param("used", "Deny", "too late", id="no to a used one", marks=pytest.mark.thorough),
    ],
)
def test_somebody_else_was_quicker(machine: Machine, visits: Visits, how: str, button: str, words: str) -> None:
    """What the page shows is older than what the store says: no event comes through any more."""
    held = hold(machine.places)
    visitor = visits(machine, expected=REFUSED)
    deaf: list[bool] = []

    def between(page_side: WebSocketRoute) -> None:
        server_side = page_side.connect_to_server()
        server_side.on_message(lambda message: None if deaf else page_side.send(message))

    visitor.page.route_web_socket("**/ws", between)
    page = visitor.go("approvals")
    expect(card(page, held.nonce).get_by_role("button", name=button)).to_be_enabled()
    deaf.append(True)
    decide_elsewhere(machine, held.nonce, how)
    before = audited(machine, held.nonce)
    approve(card(page, held.nonce)) if button == "Approve" else press(card(page, held.nonce), "Deny")
    expect(page.locator("#toasts")).to_contain_text(words)
    assert status_of(machine.places, held.nonce) == how
    assert audited(machine, held.nonce) == before


@pytest.mark.thorough
def test_yes_to_one_whose_time_was_over_on_the_way(machine: Machine, visits: Visits) -> None:
    """For the store it is later than for the page."""
    visitor = visits(machine, expected=REFUSED)
    visitor.page.route_web_socket("**/ws", lambda page_side: page_side.connect_to_server().on_message(lambda _: None))
    held = hold(machine.places, lasts=120)
    shown = card(visitor.go("approvals"), held.nonce)
    expect(shown.get_by_role("button", name="Approve")).to_be_enabled()
    FileNonces(machine.places.state_dir).sweep(held.expires)
    approve(shown)
    expect(visitor.page.locator("#toasts")).to_contain_text("expired")
    assert status_of(machine.places, held.nonce) == "expired"


@pytest.mark.thorough
@pytest.mark.parametrize("how", sampled(["cleared", "left"], {"cleared"}))
def test_decided_elsewhere_while_one_looks(machine: Machine, visits: Visits, how: str) -> None:
    """It stays where it is until the person is done with it."""
    held = hold(machine.places)
    visitor = visits(machine)
    visitor.page.clock.install()
    page = visitor.go("approvals")
    expect(card(page, held.nonce)).to_be_visible()
    decide_elsewhere(machine, held.nonce, "denied")
    expect(card(page, held.nonce).get_by_role("button", name="Approve")).to_be_hidden()
    expect(card(page, held.nonce)).to_contain_text("Answered elsewhere")
    page.clock.fast_forward(60_000)
    expect(card(page, held.nonce)).to_be_visible()
    if how == "cleared":
        page.get_by_role("button", name="Clear finished").click()
    else:
        visitor.show("timeline")
        visitor.show("approvals")
    expect(card(page, held.nonce)).to_have_count(0)


def finishes(machine: Machine, page: Page, nonce: str) -> None:
    """What is above gets smaller."""
    decide_elsewhere(machine, nonce, "denied")
    expect(card(page, nonce)).to_contain_text("Answered elsewhere")


def warns(machine: Machine, page: Page, nonce: str) -> None:
    """What is above gets longer."""
    del nonce
    KillSwitchFile(machine.places.state_dir).set(on=True, by="ben", why="from a terminal")
    expect(page.get_by_role("alert").filter(has_text="Kill switch on")).to_be_visible()


def clears(machine: Machine, page: Page, nonce: str) -> None:
    """What is above goes."""
    finishes(machine, page, nonce)
    page.get_by_role("button", name="Clear finished").click()


@pytest.mark.thorough
@pytest.mark.parametrize("move", [finishes, *thoroughly(warns, clears)])
def test_a_press_on_what_has_just_moved_decides_nothing(
    quiet: Machine, visits: Visits, move: Callable[[Machine, Page, str], None]
) -> None:
    first, second = hold(quiet.places), hold(quiet.places)
    visitor = visits(quiet, viewport={"width": 400, "height": 1600})
    visitor.page.clock.install()
    page = visitor.go("approvals")
    yes = card(page, second.nonce).get_by_role("button", name="Approve")
    expect(yes).to_be_enabled()
    stand_still(page)
    before = yes.bounding_box()
    move(quiet, page, first.nonce)
    assert yes.bounding_box() != before
    press_at_once(page, yes)
    expect(card(page, second.nonce)).to_contain_text("nothing was done")
    assert status_of(quiet.places, second.nonce) == "pending"
    for _ in range(2):
        page.clock.run_for(1_000)
        press_at_once(page, yes)
    expect(card(page, second.nonce)).to_contain_text("approved")
    assert status_of(quiet.places, second.nonce) == "approved"


@pytest.mark.thorough
def test_a_press_on_what_has_just_come_decides_nothing(quiet: Machine, visits: Visits) -> None:
    visitor = visits(quiet)
    visitor.page.clock.install()
    page = visitor.go("approvals")
    expect(page.get_by_text("No held calls")).to_be_visible()
    stand_still(page)
    held = hold(quiet.places)
    yes = card(page, held.nonce).get_by_role("button", name="Approve")
    expect(yes).to_be_visible()
    press_at_once(page, yes)
    expect(card(page, held.nonce)).to_contain_text("nothing was done")
    assert status_of(quiet.places, held.nonce) == "pending"


def escapes(page: Page) -> None:
    page.keyboard.press("Escape")


def presses_elsewhere(page: Page) -> None:
    page.get_by_role("heading", name="toolguard").click()


def leaves(page: Page) -> None:
    page.keyboard.press("Tab")


def waits(page: Page) -> None:
    page.clock.run_for(10_000)


@pytest.mark.thorough
@pytest.mark.parametrize("back", [escapes, *thoroughly(presses_elsewhere, leaves, waits)])
def test_one_press_approves_nothing(quiet: Machine, visits: Visits, back: Callable[[Page], None]) -> None:
    held = hold(quiet.places)
    visitor = visits(quiet)
    visitor.page.clock.install()
    page = visitor.go("approvals")
    shown = card(page, held.nonce)
    yes = shown.get_by_role("button", name="Approve")
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    expect(yes).to_be_enabled()
    stand_still(page)  # on a busy machine a double click takes longer than two presses may be apart
    press_at_once(page, yes, times=2)
    page.clock.resume()
    expect(yes).to_have_text("Confirm: approve once")
    expect(yes).to_be_focused()
    expect(shown).to_contain_text("Press again within")
    back(page)
    expect(yes).to_have_text("Approve")
    expect(shown).not_to_contain_text("Press again within")
    assert status_of(quiet.places, held.nonce) == "pending"
    assert not [path for path in visitor.asked if path == "/api/approve"]


def stand_still(page: Page) -> None:
    """No time passes on the page any more, from a few seconds on: what is on its way there may take long."""
    expect(page.locator("#foot")).to_contain_text("toolguard")  # what may be changed is known
    page.clock.pause_at(page.evaluate("Date.now()") / 1000 + 5)


def press_at_once(page: Page, button: Locator, times: int = 1) -> None:
    """Whether it wants to be pressed or not."""
    box = button.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2, click_count=times)


class FakeServer:
    """The socket of a page, into which something else is said than what is so. `held`: what waits in truth."""

    def __init__(self, visitor: Visitor, machine: Machine) -> None:
        self._sides: list[WebSocketRoute] = []
        self._event: dict[str, Any] = {}
        self.held: list[Any] = visitor.page.request.get(f"{machine.url}/api/pending").json()["pending"]
        visitor.page.route_web_socket("**/ws", self._joined)
        visitor.page.route("**/api/pending", self._asked)

    def _asked(self, route: Route) -> None:
        """Whoever asks hears the same."""
        if self._event:
            route.fulfill(json={**self._event, "now": time.time_ns() // 1_000_000})
        else:
            route.fallback()

    def _joined(self, side: WebSocketRoute) -> None:
        server = side.connect_to_server()
        server.on_message(lambda message: None if '"pending"' in str(message)[:20] else side.send(message))
        self._sides.append(side)

    def say(self, pending: list[Any], *unread: str) -> None:
        """`unread`: gateways."""
        problems = [f"{gateway}: nonces.json: Permission denied" for gateway in unread]
        self._event = {"type": "pending", "pending": pending, "problems": problems, "unread": unread}
        self._sides[-1].send(json.dumps({**self._event, "now": time.time_ns() // 1_000_000}))


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("unread", "words"),
    [
        pytest.param([HOME], "cannot be read", id="its own store"),
        pytest.param([LAB], "Answered elsewhere", id="the store of another gateway", marks=pytest.mark.thorough),
        pytest.param([], "Answered elsewhere", id="none", marks=pytest.mark.thorough),
    ],
)
def test_what_cannot_be_read_is_not_over_and_what_comes_back_is_there(
    quiet: Machine, visits: Visits, unread: list[str], words: str
) -> None:
    held = hold(quiet.places)
    visitor = visits(quiet)
    audited = FakeServer(visitor, quiet)
    page = visitor.go("approvals")
    yes = card(page, held.nonce).get_by_role("button", name="Approve", include_hidden=True)
    expect(yes).to_be_enabled()
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    audited.say([], *unread)
    expect(card(page, held.nonce)).to_contain_text(words)
    expect(yes).to_be_disabled()
    for gateway in unread:
        expect(page.get_by_text(f"{gateway}: nonces.json: Permission denied")).to_be_visible()
    audited.say(audited.held)
    expect(card(page, held.nonce)).not_to_contain_text(words)
    approve(card(page, held.nonce))
    expect(card(page, held.nonce)).to_contain_text("approved")


@pytest.mark.thorough
def test_where_nothing_can_be_read_nobody_says_that_nothing_waits(quiet: Machine, visits: Visits) -> None:
    visitor = visits(quiet)
    audited = FakeServer(visitor, quiet)
    page = visitor.go("approvals")
    expect(page.get_by_text("No held calls")).to_be_visible()
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    audited.say([], HOME)
    expect(page.get_by_text("Held calls unavailable")).to_be_visible()
    expect(page.get_by_text("No held calls")).to_have_count(0)


@pytest.mark.thorough
def test_more_than_can_be_shown(quiet: Machine, visits: Visits) -> None:
    hold(quiet.places)
    visitor = visits(quiet)
    audited = FakeServer(visitor, quiet)
    page = visitor.go("approvals")
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    (one,) = audited.held
    audited.say([{**one, "nonce": f"{number:08x}"} for number in range(203)])
    expect(page.get_by_text("and 3 more")).to_be_visible()


@pytest.mark.thorough
def test_a_yes_is_taken_back(machine: Machine, visits: Visits) -> None:
    held = hold(machine.places)
    shown = card(visits(machine).go("approvals"), held.nonce)
    expect(shown.get_by_role("button", name="Withdraw approval")).to_have_count(0)
    approve(shown)
    expect(shown).to_contain_text("left for it to run")
    press(shown, "Withdraw approval")
    expect(shown).to_contain_text("the call did not run")
    assert status_of(machine.places, held.nonce) == "denied"
    assert [event for event, _, _ in audited(machine, held.nonce)] == ["hold", "approve", "deny"]


TAKES_THE_FOCUS = """for (const kind of [HTMLButtonElement, HTMLInputElement]) {
    const own = Object.getOwnPropertyDescriptor(kind.prototype, 'disabled');
    const set = function (off) { own.set.call(this, off); if (off) this.blur(); };
    Object.defineProperty(kind.prototype, 'disabled', {...own, set});
}"""
"""What some browsers do as soon as something is disabled, and others when they draw next."""


@pytest.mark.thorough
@pytest.mark.parametrize("browser", ["const later = true;", TAKES_THE_FOCUS], ids=["later", "at once"])
@pytest.mark.parametrize("name", ["Approve", "Deny"])
def test_the_focus_stays_at_the_call_that_was_decided(machine: Machine, visits: Visits, name: str, browser: str) -> None:
    held = hold(machine.places)
    visitor = visits(machine)
    visitor.page.add_init_script(browser)
    page = visitor.go("approvals")
    expect(card(page, held.nonce).get_by_role("button", name=name)).to_be_enabled()
    card(page, held.nonce).get_by_role("button", name=name).focus()
    page.keyboard.press("Enter")
    if name == "Approve":
        expect(card(page, held.nonce).get_by_role("button", name="Confirm: approve once")).to_be_enabled()
        page.keyboard.press("Enter")
    expect(card(page, held.nonce)).to_contain_text("approved" if name == "Approve" else "denied")
    expect(card(page, held.nonce)).to_be_focused()


@pytest.mark.thorough
def test_a_long_call_is_seen_to_its_end(machine: Machine, visits: Visits) -> None:
    held = hold(machine.places, shown="\n".join(f"step {number}" for number in range(80)))
    call = card(visits(machine).go("approvals"), held.nonce).get_by_role("region", name=f"All of the call {held.nonce}")
    expect(call).to_contain_text("step 79")
    assert call.evaluate("call => call.scrollHeight <= call.clientHeight")


@pytest.mark.thorough
def test_without_the_token_one_only_looks_until_it_is_entered(machine: Machine, visits: Visits) -> None:
    held = hold(machine.places)
    visitor = visits(machine)
    page = visitor.go("approvals", token="")
    shown = card(page, held.nonce)
    expect(page.get_by_text("This page is read-only")).to_be_visible()
    expect(page.get_by_role("tabpanel").get_by_text("toolguard dashboard --open")).to_be_visible()
    for name in ("Approve", "Deny"):
        expect(shown.get_by_role("button", name=name)).to_be_disabled()
    visitor.show("guard")
    expect(page.get_by_role("button", name="Stop everything").first).to_be_disabled()
    expect(page.get_by_role("combobox", name="Mode of home")).to_be_disabled()
    visitor.show("approvals")
    page.get_by_role("button", name="Enter token").click()
    page.get_by_label("Token or address").fill(f"{machine.url}/#token={machine.token}")
    page.get_by_role("button", name="Use token").click()
    approve(shown)
    expect(shown).to_contain_text("approved")
    assert status_of(machine.places, held.nonce) == "approved"


@pytest.mark.thorough
def test_where_nothing_is_shown_without_the_token_it_is_asked_for(machine: Machine, visits: Visits) -> None:
    """As the server answers where it is not bound to loopback."""
    held = hold(machine.places)
    visitor = visits(machine, expected=REFUSED)

    def answer(route: Route) -> None:
        refused = {"error": {"code": "token", "message": "the token is needed", "fix": "toolguard dashboard --open"}}
        if "authorization" in route.request.headers or "/api/hello" in route.request.url:
            route.continue_()
        else:
            route.fulfill(status=401, json=refused)

    def speak(page_side: WebSocketRoute) -> None:
        server_side = page_side.connect_to_server()
        page_side.on_message(
            lambda said: server_side.send(said) if machine.token in str(said) else page_side.close(code=4401)
        )

    visitor.page.route("**/api/**", answer)
    visitor.page.route_web_socket("**/ws", speak)
    page = visitor.page
    page.goto(machine.url)
    dialog = page.get_by_role("dialog")
    expect(page.get_by_text("This dashboard needs its token.")).to_be_visible()
    dialog.get_by_label("Token or address").fill(machine.token)
    page.keyboard.press("Enter")
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    visitor.show("approvals")
    expect(card(page, held.nonce).get_by_role("button", name="Approve")).to_be_enabled()


@pytest.mark.thorough
def test_a_wrong_token_opens_nothing(machine: Machine, visits: Visits) -> None:
    held = hold(machine.places)
    page = visits(machine, expected=REFUSED).go("approvals", token="f" * 64)
    expect(page.locator("#toasts")).to_contain_text("token is no longer valid")
    expect(page.get_by_text("This page is read-only")).to_be_visible()
    expect(card(page, held.nonce).get_by_role("button", name="Approve")).to_be_disabled()
    assert status_of(machine.places, held.nonce) == "pending"


def test_the_token_leaves_the_address_and_stays_over_a_reload(machine: Machine, visits: Visits) -> None:
    held = hold(machine.places)
    visitor = visits(machine)
    page = visitor.go("approvals")
    assert machine.token not in page.url
    page.reload()
    expect(card(page, held.nonce).get_by_role("button", name="Approve")).to_be_enabled()
    assert not [path for path in visitor.asked if machine.token in path]
