"""Answering on a phone: held calls first, an answer link, the page as an app."""

from __future__ import annotations

import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import seeded
from held_stage import hold, status_of
from machine import LAB, Machine
from playwright.sync_api import Page, expect
from visitor import Visitor, Visits, approve, boxes_of, press

from gate import sampled
from toolguard_cli.operations import answer_links
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.model.held_details import ExactCall, HeldDetails, HeldEffect, HeldRule

PICTURES = os.environ.get("TOOLGUARD_DASHBOARD_PICTURES")
SMALL: dict[str, Any] = {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True}
LONG = '{ command: "rm -rf ' + " ".join(f"/srv/www/releases/{number:03}" for number in range(60)) + '" }'
RULES = ("permanently deletes a folder with everything in it", "overwrites history that others may have")
THUMB = 44
"""Pixels that a thumb needs."""


@pytest.fixture(scope="module")
def machine() -> Iterator[Machine]:
    with Machine(public=True) as running:
        yield running


@pytest.mark.thorough
def test_pictures(machine: Machine, visits: Visits, tmp_path: Path) -> None:
    """For the page of the documentation."""
    code, reason, _ = seeded.HELD[0]
    command = "rm -rf releases && git push --force"
    held = hold(
        machine.places,
        code=code,
        reason=reason,
        shown=f'{{ command: "{command}" }}',
        cwd="/srv/www",
        lasts=3_600,
        exact=ExactCall(command, cwd="/srv/www"),
        details=HeldDetails(
            (HeldEffect("delete", "/srv/www/releases", "", ("forced", "recursive"), "in-workspace"),),
            (HeldRule("filesystem.delete-recursive", RULES[0]), HeldRule("vcs.push-force", RULES[1])),
        ),
    )
    visitor = visits(
        machine, expected=["401"], reduced_motion="reduce", **SMALL | {"viewport": {"width": 390, "height": 760}}
    )
    for name, url in {"link": link(machine, held), "approvals": f"{machine.url}/#token={machine.token}"}.items():
        page = opened(visitor, url)
        expect(page.locator(f"[data-nonce='{held.nonce}']").get_by_role("button", name="Deny")).to_be_enabled()
        target = (Path(PICTURES) if PICTURES else tmp_path) / f"phone-{name}.png"
        page.screenshot(path=target)
        assert target.stat().st_size < 100_000


def link(machine: Machine, held: HeldCall) -> str:
    found = answer_links.link_for(machine.places.state_dir, held.nonce, config=machine.places.config)
    assert found
    return found


def fits(page: Page, *names: str) -> None:
    """Nothing is wider than the screen, and these buttons are in it, side by side, as large as a thumb."""
    width = SMALL["viewport"]["width"]
    assert page.evaluate("[document.documentElement.scrollWidth, innerWidth]") == [width, width]
    buttons = [page.get_by_role("button", name=name, exact=True).first for name in names]
    boxes = boxes_of(*buttons)
    for box in boxes:
        assert box["left"] >= 0
        assert box["right"] <= width
        assert min(box["width"], box["height"]) >= THUMB
    assert len({box["top"] for box in boxes}) == 1


def opened(visitor: Visitor, url: str) -> Page:
    visitor.page.goto("about:blank")  # the same path with another fragment would load nothing
    visitor.page.goto(url)
    return visitor.page


def tap(page: Page, name: str) -> None:
    button = page.get_by_role("button", name=name, exact=True)
    expect(button).not_to_have_attribute("aria-disabled", "true")
    button.tap()


@pytest.mark.parametrize("word", sampled(["Approve", "Deny"], {"Approve"}))
def test_a_held_call_is_answered_by_its_link(machine: Machine, visits: Visits, word: str) -> None:
    held, other = hold(machine.places, shown=LONG), hold(machine.places)
    visitor, url = visits(machine, expected=["409"], **SMALL), link(machine, held)
    page = opened(visitor, url)
    expect(page.get_by_role("article")).to_contain_text("/srv/www/releases/059")
    expect(page.locator("body")).not_to_contain_text(other.nonce)
    assert page.url.endswith("/answer"), "the link does not stay in the address"
    fits(page, "Approve", "Deny")
    assert visitor.violations() == []
    tap(page, word)
    if word == "Approve":
        assert status_of(machine.places, held.nonce) == "pending", "one press may be an accident"
        tap(page, "Confirm: approve once")
        expect(page.get_by_role("alert")).to_contain_text("Approved")
    expect(page.get_by_role("alert")).to_contain_text(held.nonce)
    expect(page.get_by_role("button")).to_have_count(0)
    assert status_of(machine.places, held.nonce) == {"Approve": "approved", "Deny": "denied"}[word]
    expect(opened(visitor, url).get_by_role("alert")).to_contain_text("This call has already been answered with a link")
    assert {path for path in visitor.asked if path.startswith("/api")} == {"/api/link", "/api/link/answer"}


@pytest.mark.thorough
def test_what_a_link_does_not_open(machine: Machine, visits: Visits) -> None:
    visitor = visits(machine, expected=["409"], **SMALL)
    held = hold(machine.places, whole=False)
    url = link(machine, held)
    texts = {f"{machine.url}/answer": "Open the link from the notification", f"{url[:-1]}_": "incomplete or was changed"}
    for address, text in texts.items():
        expect(opened(visitor, address).get_by_role("alert")).to_contain_text(text)
    page = opened(visitor, url)
    expect(page.get_by_role("article")).to_contain_text("cannot be approved here")
    expect(page.get_by_role("button")).to_have_text(["Deny"])


@pytest.mark.thorough
def test_time_runs_out_on_the_page(machine: Machine, visits: Visits) -> None:
    page = opened(visits(machine, **SMALL), link(machine, hold(machine.places, lasts=4)))
    expect(page.get_by_role("alert")).to_contain_text("This link has expired")


def test_approvals_on_a_phone(machine: Machine, visits: Visits) -> None:
    held = hold(machine.gateways[LAB], shown=LONG)
    visitor = visits(machine, expected=["401"], **SMALL)
    page = visitor.page
    page.goto(f"{machine.url}/#token={machine.token}")
    card = page.locator(f"article[data-nonce='{held.nonce}']")
    expect(card).to_contain_text("059")
    tabs = page.get_by_role("tab")
    expect(tabs.first).to_have_text(re.compile("Approvals"))
    expect(tabs.first).to_have_attribute("aria-selected", "true")
    boxes = boxes_of(*tabs.all())
    assert len({(box["top"], box["height"]) for box in boxes}) == 1, "one row"
    assert boxes[0]["height"] >= THUMB
    assert boxes[-1]["right"] <= SMALL["viewport"]["width"]
    fits(page, "Approve", "Deny")
    press(card, "Deny")
    expect(card).to_contain_text("denied")
    assert status_of(machine.gateways[LAB], held.nonce) == "denied"


@pytest.mark.thorough
@pytest.mark.parametrize("installed", [True, False])
def test_an_installed_page_keeps_the_token(machine: Machine, visits: Visits, *, installed: bool) -> None:
    visitor = visits(machine, **SMALL, expected=["401"])
    if installed:
        standalone = "const real = matchMedia; window.matchMedia = q => q.includes('standalone') ? {matches: true} : real(q)"
        visitor.page.context.add_init_script(standalone)
    page = visitor.go("approvals")
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")
    later = page.context.new_page()
    later.goto(f"{machine.url}/#approvals")
    unlock = later.get_by_role("dialog")
    expect(later.locator("#connection")).to_have_attribute("data-state", "live") if installed else expect(
        unlock
    ).to_be_visible()
    assert later.evaluate("localStorage.getItem('toolguard.token') !== null") is installed


@contextmanager
def piped(port: int, to: int) -> Iterator[None]:
    """What listens at `port` and passes every byte on, as a tunnel does."""
    threads, sockets = list[threading.Thread](), list[socket.socket]()

    def run(work: Callable[..., None], *given: socket.socket) -> None:
        threads.append(threading.Thread(target=work, args=given))
        threads[-1].start()

    def copy(source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
            target.shutdown(socket.SHUT_WR)

    def serve() -> None:
        with suppress(OSError):
            while True:
                near, far = sockets[0].accept()[0], socket.create_connection(("127.0.0.1", to))
                sockets.extend((near, far))
                run(copy, near, far)
                run(copy, far, near)

    sockets.append(socket.create_server(("127.0.0.1", port)))
    run(serve)
    try:
        yield
    finally:
        for each in [*sockets]:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
        for thread in [*threads]:
            thread.join()
        for each in sockets:
            each.close()


@pytest.mark.thorough
def test_through_a_tunnel_under_its_own_name_only(machine: Machine, visits: Visits) -> None:
    held, port = hold(machine.places), int(machine.tunnel.rpartition(":")[2])
    other = f"http://evil.localhost:{port}"
    with piped(port, machine.port):
        page = visits(SimpleNamespace(url=machine.tunnel, token=machine.token), **SMALL).go("approvals")
        expect(page.locator("#connection")).to_have_attribute("data-state", "live")
        card = page.locator(f"article[data-nonce='{held.nonce}']")
        approve(card)
        expect(card).to_contain_text("approved")
        refused = visits(SimpleNamespace(url=other, token=machine.token), expected=["403"], **SMALL).page
        refused.goto(other)
        expect(refused.locator("body")).to_contain_text("This dashboard is not known by that name")
    assert status_of(machine.places, held.nonce) == "approved"


@pytest.mark.thorough
def test_the_browser_takes_it_for_an_app(machine: Machine, visits: Visits) -> None:
    page = visits(machine, expected=["401"], **SMALL).go()
    client = page.context.new_cdp_session(page)
    found = client.send("Page.getAppManifest")
    assert found["errors"] == []
    assert found["url"].endswith("/static/manifest.webmanifest")
    errors = {each["errorId"] for each in client.send("Page.getInstallabilityErrors")["installabilityErrors"]}
    assert errors <= {"in-incognito"}
