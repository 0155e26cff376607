"""A person at the page, in a browser of their own: everything that goes wrong there is remembered."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, ConsoleMessage, Dialog, Locator, Page, Request, expect, sync_playwright
from playwright.sync_api import TimeoutError as Late

import browser
from toolguard_cli.rig.downloads import npm_packages

AXE = ("axe-core@4.14.1",)
TABS = ("overview", "gateways", "models", "timeline", "guard", "approvals")
WIDE = {"width": 1280, "height": 900}
PHONE = {"width": 400, "height": 800}
WATCH = """
window.faults = [];
document.addEventListener('securitypolicyviolation', e => window.faults.push(`${e.violatedDirective} ${e.blockedURI}`));
"""
BOXES = "parts => parts.filter(part => part.isConnected).map(part => part.getBoundingClientRect().toJSON())"
PRESSES = 5
PATIENCE_MS = 120_000
POLL_MS = 50
SERIOUS = ("serious", "critical")


expect.set_options(timeout=PATIENCE_MS)


def press(card: Locator, name: str, *, patience: float = PATIENCE_MS) -> None:
    """Presses a button of a held call; again, as a person does, where the page says that the button has just moved."""
    for _ in range(PRESSES):
        card.get_by_role("button", name=name, exact=True).click(timeout=patience)
        if not card.get_by_text("nothing was done").is_visible():
            return
    raise AssertionError(f"{name} moves before every press")


def approve(card: Locator) -> None:
    """Both presses. Where the page takes the first one back, because what may be changed is just being asked, both again."""
    for _ in range(PRESSES):
        press(card, "Approve")
        with suppress(Late):
            return press(card, "Confirm: approve once", patience=PATIENCE_MS / PRESSES)
    raise AssertionError("the second press is never waited for")


def until(page: Page, condition: Callable[[], bool]) -> None:
    """Waits for what the page shows no single element of; the page goes on meanwhile."""
    limit = time.monotonic() + PATIENCE_MS / 1_000
    while not condition():
        assert time.monotonic() < limit, "the condition never held"
        page.wait_for_timeout(POLL_MS)


def boxes_of(*parts: Locator) -> list[dict[str, float]]:
    """Where these are at one moment: measured one after another, a banner that comes or goes moves some of them between."""
    found: list[dict[str, float]] = []

    def measured() -> bool:
        handles = [part.element_handle() for part in parts]
        found[:] = parts[0].page.evaluate(BOXES, handles)
        return len(found) == len(handles)

    until(parts[0].page, measured)
    return found


@dataclass
class Visitor:
    """`faults`: errors of the page and its console, dialogs, requests to other servers. `asked`: paths of its own server."""

    page: Page
    url: str
    token: str
    expected: tuple[str, ...] = ()
    faults: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.add_init_script(WATCH)
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.faults.append(f"page error: {error}"))
        self.page.on("request", self._requested)
        self.page.on("websocket", lambda socket: self._reached(socket.url))
        self.page.on("dialog", self._interrupted)

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning") and not any(words in message.text for words in self.expected):
            self.faults.append(f"{message.type}: {message.text}")

    def _interrupted(self, dialog: Dialog) -> None:
        """Only something that runs where it should be text can open one."""
        self.faults.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def _requested(self, request: Request) -> None:
        self._reached(request.url)

    def _reached(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.netloc != urlsplit(self.url).netloc and parts.scheme != "data":
            self.faults.append(f"request to {url}")
        self.asked.append(parts.path)

    def go(self, tab: str = "overview", *, token: str | None = None) -> Page:
        """Opens the page anew with the token (another one, or none where it is empty), on this tab."""
        token = self.token if token is None else token
        self.page.goto(f"{self.url}/#token={token}" if token else f"{self.url}/")
        self.show(tab)
        return self.page

    def show(self, tab: str) -> Page:
        self.page.get_by_role("tab", name=tab, exact=False).click()
        return self.page

    def violations(self) -> list[str]:
        """What axe-core finds serious or critical in what is shown now."""
        if not self.page.evaluate("'axe' in window"):
            axe = npm_packages("axe-core", AXE) / "axe-core" / "axe.min.js"
            self.page.evaluate(axe.read_text("utf-8"))
        found: dict[str, Any] = self.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
        return [_told(each) for each in found["violations"] if each["impact"] in SERIOUS]

    def hears_no_fault(self) -> None:
        """Fails where anything went wrong."""
        faults = [*self.faults, *self.page.evaluate("window.faults ?? []")]
        assert not faults, faults


Visits = Callable[..., Visitor]
"""Takes a machine, and what `visit` takes by name."""


def _told(violation: dict[str, Any]) -> str:
    places = [f"{node['target']}: {node['html'][:200]}" for node in violation["nodes"][:5]]
    return f"{violation['id']} ({violation['help']}) at {places}"


@contextmanager
def running_chromium() -> Iterator[Browser]:
    """The system's own. While it runs, no other event loop can be started in this thread."""
    assert browser.PROGRAM is not None, "no Chromium here"
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=browser.PROGRAM, args=as_root)
        yield running
        running.close()


@contextmanager
def visit(chromium: Browser, url: str, token: str, *, expected: Sequence[str] = (), **context: Any) -> Iterator[Visitor]:
    """A visitor with a fresh profile; `expected`: what the console may say."""
    with chromium.new_context(**{"viewport": WIDE, "locale": "en-US"} | context) as own:
        own.set_default_timeout(PATIENCE_MS)
        visitor = Visitor(own.new_page(), url, token, tuple(expected))
        yield visitor
        visitor.hears_no_fault()
