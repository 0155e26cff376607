"""Approving with a passkey in a real browser, Chromium's authenticator, a real database and an engine."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import CDPSession, Page, Route, expect

sys.path.insert(0, str(Path(__file__).parent.parent / "dashboard"))

from visitor import Visitor, running_chromium

import browser
from fleet_database import FleetDatabase
from fleet_desk import TEAM, join
from fleet_page import FleetPage, new_token
from ssh_signers import SshRoom
from test_fleet_engine import EngineInFleet, config, until_held

pytestmark = pytest.mark.thorough
AUTHENTICATOR = {
    "protocol": "ctap2", "transport": "internal", "hasResidentKey": True, "hasUserVerification": True,
    "isUserVerified": True, "automaticPresenceSimulation": True,
}  # fmt: skip


@pytest.fixture
def room(tmp_path: Path) -> SshRoom:
    return SshRoom(tmp_path / "trust")


@pytest.fixture
def engine(database: FleetDatabase, room: SshRoom, tmp_path: Path) -> Iterator[EngineInFleet]:
    join(tmp_path / "state", database.gateway(TEAM))
    made = EngineInFleet(tmp_path / "state", config(database, room, tmp_path))
    yield made
    made.talk.kill()


@pytest.fixture
def anna(database: FleetDatabase) -> Iterator[Page]:
    """A logged-in approver in a browser. Chromium warns that we take ES256 only: OpenSSH knows no other."""
    if browser.MISSING:
        pytest.skip("no Chromium here")
    database.person("anna")
    with running_chromium() as chromium, FleetPage(database) as served, chromium.new_context(locale="en-US") as context:
        url = served.url.replace("127.0.0.1", "localhost")
        visitor = Visitor(context.new_page(), url, "", ("status of 401", "pubKeyCredParams"))
        visitor.page.goto(url)
        visitor.page.get_by_label("Your token").fill(new_token(database.owner(), "anna"))
        visitor.page.get_by_role("button", name="Log in").click()
        expect(visitor.page.locator("#person")).to_contain_text("anna")
        yield visitor.page
        visitor.hears_no_fault()


@contextmanager
def authenticator(page: Page) -> Iterator[tuple[CDPSession, str]]:
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    made: dict[str, Any] = session.send("WebAuthn.addVirtualAuthenticator", {"options": AUTHENTICATOR})
    yield session, made["authenticatorId"]


def add_passkey(page: Page) -> str:
    """Its line for the gateways."""
    page.get_by_role("tab", name="Passkeys").click()
    expect(page.get_by_text("No passkey yet")).to_be_visible()
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_role("dialog").get_by_label("Name (optional)").fill("a <b>phone</b>")
    page.get_by_role("dialog").get_by_role("button", name="Continue").click()
    card = page.get_by_role("article", name="Passkey")
    expect(card).to_contain_text("a <b>phone</b>")
    return card.locator("code").inner_text()


def test_a_held_call_runs_after_a_passkeys_yes_and_not_before(anna: Page, engine: EngineInFleet, room: SshRoom) -> None:
    with authenticator(anna) as (session, device):
        line = add_passkey(anna)
        assert line.startswith('anna namespaces="toolguard-decision" sk-ecdsa-sha2-nistp256@openssh.com AAAA')
        untrusted = until_held(engine)["nonce"]
        anna.get_by_role("tab", name="Held calls").click()
        card = anna.locator(f'[data-nonce="{untrusted}"].card')
        approve(anna, untrusted)
        expect(card).to_contain_text("Approved. It has not run yet")
        assert engine.held()["decision"] == "block", "the gateway does not trust the passkey"
        expect(card).to_contain_text("The gateway rejected the approval")
        with room.allowed.open("a") as file:
            file.write(f"{line}\n")
        nonce = until_held(engine)["nonce"]
        assert nonce != untrusted
        card = anna.locator(f'[data-nonce="{nonce}"].card')

        session.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
        approve(anna, nonce)
        expect(anna.get_by_text("Nothing was signed")).to_be_visible()
        assert engine.held()["code"] == "approval.pending"

        session.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": True})
        approve(anna, nonce)
        expect(card).to_contain_text("Approved. It has not run yet")
        assert engine.held()["code"] == "approval.consumed"
        expect(card).to_contain_text("The gateway has verified the signature and let the call run.")
        assert engine.held()["code"] == "approval.pending", "once"


def test_the_dialog_shows_what_is_signed_and_not_what_the_list_had(anna: Page, engine: EngineInFleet) -> None:
    def other(route: Route) -> None:
        answer = route.fetch()
        route.fulfill(response=answer, body=answer.text().replace("ls build", "ls harmless"))

    anna.route("**/api/calls", other)
    with authenticator(anna):
        add_passkey(anna)
        nonce = until_held(engine)["nonce"]
        anna.get_by_role("tab", name="Held calls").click()
        card = anna.locator(f'[data-nonce="{nonce}"].card')
        expect(card).to_contain_text("ls harmless")
        card.get_by_role("button", name="Approve with a passkey").click()
        dialog = anna.get_by_role("dialog")
        expect(dialog).to_be_visible()
        anna.unroute_all(behavior="wait")
        expect(dialog).to_contain_text("ls build")
        expect(dialog).not_to_contain_text("ls harmless")
        dialog.get_by_role("button", name="Cancel").click()


def test_a_new_passkey_is_offered_for_a_call_that_is_shown_already(anna: Page, engine: EngineInFleet) -> None:
    nonce = until_held(engine)["nonce"]
    card = anna.locator(f'[data-nonce="{nonce}"].card')
    expect(card).to_contain_text("Run on your own machine")
    with authenticator(anna):
        add_passkey(anna)
        anna.get_by_role("tab", name="Held calls").click()
        expect(card.get_by_role("button", name="Approve with a passkey")).to_be_visible()


def approve(page: Page, nonce: str) -> None:
    page.locator(f'[data-nonce="{nonce}"].card').get_by_role("button", name="Approve with a passkey").click()
    dialog = page.get_by_role("dialog")
    expect(dialog).to_contain_text("ls build")
    expect(dialog).to_contain_text("Digest of the call")
    dialog.get_by_role("button", name="Sign with a passkey").click()


def test_without_an_authenticator_nothing_is_added(anna: Page) -> None:
    """And removing one takes it from the list."""
    with authenticator(anna) as (session, device):
        add_passkey(anna)
        anna.get_by_role("button", name="Remove").click()
        anna.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(anna.get_by_text("No passkey yet")).to_be_visible()
        session.send("WebAuthn.setUserVerified", {"authenticatorId": device, "isUserVerified": False})
        anna.get_by_role("button", name="Add a passkey").click()
        anna.get_by_role("dialog").get_by_role("button", name="Continue").click()
        expect(anna.get_by_text("Nothing was signed")).to_be_visible()
        expect(anna.get_by_role("article", name="Passkey")).to_have_count(0)
