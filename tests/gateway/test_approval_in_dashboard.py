"""The page beside a real gateway: a held call is approved with a click and runs once; what was used is shown."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from http.client import HTTPConnection
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent.parent / "dashboard"))

from playwright.sync_api import expect
from visitor import Visitor, approve, running_chromium, visit

import browser
from gateway_stage import NEW_HOST, Stage, audit, once
from shared_gateway import Shared
from toolguard_cli.operations import answer_links
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.private_home import free_port
from toolguard_engine.host import metrics_path

pytestmark = [
    pytest.mark.skipif(browser.MISSING, reason="no Chromium here"),
    pytest.mark.skipif(not NEW_HOST, reason="older hosts take no message for an idle session"),
]

START_SECONDS = 300
SESSION = "agent:main:dashboard"
USD_PER_TOKEN = (1e-6, 2e-6)
"""What the rig's home says of its model: for a token read, for one written."""


@pytest.fixture
def port() -> int:
    """One for each test: the page of the test before may still answer on its port."""
    return free_port()


@pytest.fixture
def stage(shared: Shared, port: int) -> Stage:
    """A gateway that writes metrics and serves its page."""
    metrics = {"enabled": True, "dbPath": "~/dashboard.db", "dashboard": {"enabled": True, "port": port}}
    return shared.under(metrics=metrics)


@pytest.fixture
def visitor(stage: Stage, port: int) -> Iterator[Visitor]:
    db = metrics_path.resolve("~/dashboard.db", stage.home.environment)
    wait_until(lambda: answers(port))
    token = metrics_path.token_path(db).read_text().strip()
    with running_chromium() as chromium, visit(chromium, f"http://127.0.0.1:{port}", token) as person:
        yield person


def answers(port: int) -> bool:
    connection = HTTPConnection("127.0.0.1", port, timeout=START_SECONDS)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def wait_until(condition: Callable[[], bool]) -> None:
    limit = time.monotonic() + START_SECONDS
    while not condition():
        assert time.monotonic() < limit, "the condition never held"
        time.sleep(0.05)


def cost(requests: list[scripted_model.Request]) -> float:
    read, written = USD_PER_TOKEN
    return sum(request.tokens * read + scripted_model.TOKENS_PER_ANSWER * written for request in requests)


@pytest.mark.thorough
def test_a_held_call_is_approved_with_a_click_and_runs_once(stage: Stage, visitor: Visitor) -> None:
    folder = stage.home.root / "precious"
    folder.mkdir()
    ran = stage.home.root / "ran.txt"
    call = scripted_model.call("exec", {"command": f"rm -rf {folder} && echo ran >> {ran}"})
    page = visitor.go("approvals")
    expect(page.locator("#connection")).to_have_attribute("data-state", "live")

    played = stage.play(once(call), SESSION)
    card = page.locator("article.held")
    expect(card).to_contain_text(f"rm -rf {folder}")
    nonce = card.get_attribute("data-nonce")
    assert played.results[-1].startswith(f"TOOLGUARD_ESCALATE|{nonce}|")
    assert folder.exists()

    visitor.show("overview")
    used = sum(request.tokens + scripted_model.TOKENS_PER_ANSWER for request in played.requests)
    tokens = page.locator("[data-total=tokens]")
    expect(tokens).to_have_attribute("data-value", str(used))
    shown = float(page.locator("[data-total=cost]").get_attribute("data-value") or "nan")
    assert shown == pytest.approx(cost(played.requests), abs=1e-9)

    visitor.show("approvals")
    stage.server.play(once(call))
    approve(card)
    wait_until(lambda: not folder.exists())
    wait_until(lambda: len(stage.server.requests) == 2)
    assert ran.read_text().split() == ["ran"]
    reported = "\n".join(stage.server.requests[0].texts("user"))
    assert f"[TOOLGUARD] The user approved the call that waited under {nonce}" in reported
    events = [
        (each["event"], each.get("where", ""))
        for each in audit(stage.home)
        if each.get("nonce") == nonce and each["event"] != "kept"
    ]
    assert events == [("hold", ""), ("approve", "dashboard"), ("consume", "dashboard")]
    expect(card).to_contain_text("it has run")

    visitor.show("overview")
    used += sum(request.tokens + scripted_model.TOKENS_PER_ANSWER for request in stage.server.requests)
    expect(tokens).to_have_attribute("data-value", str(used))
    visitor.show("guard")
    feed = page.locator("[data-decision]").filter(has_text=str(nonce))
    expect(feed).to_have_count(4)
    expect(feed.filter(has_text=f"can be undone: toolguard undo {nonce}")).to_have_count(1)
    visitor.show("timeline")
    calls = page.locator("[data-event^=c]")
    expect(calls.first).to_contain_text(scripted_model.MODEL)
    expect(calls).to_have_count(len(played.requests) + 2)


@pytest.mark.thorough
def test_a_held_call_is_answered_by_its_link_and_runs_once(shared: Shared, port: int) -> None:
    page = {"enabled": True, "port": port, "hosts": [f"http://127.0.0.1:{port}"]}
    stage = shared.under(metrics={"dbPath": "~/links.db", "dashboard": page}, approval={"answerLinks": True})
    wait_until(lambda: answers(port))
    ran = stage.home.root / "ran-by-link.txt"
    folder = stage.home.root / "old"
    folder.mkdir()
    call = scripted_model.call("exec", {"command": f"rm -rf {folder} && echo ran >> {ran}"})
    nonce = stage.play(once(call), SESSION).results[-1].split("|")[1]
    link = answer_links.link_for(stage.home.state_dir, nonce, config=stage.home.config_path)
    assert link

    own = stage.play(once(scripted_model.call("exec", {"command": f"xdg-open '{link}'"})), f"{SESSION}:own").results[-1]
    assert "on the guard's dashboard in place of the user" in own

    stage.server.play(once(call))
    with running_chromium() as chromium, visit(chromium, link, "", viewport={"width": 390, "height": 844}) as person:
        person.page.goto(link)
        approve(person.page.locator("article.held"))
        expect(person.page.get_by_role("alert")).to_contain_text("repeats the call on its own")
    wait_until(lambda: not folder.exists())
    wait_until(lambda: len(stage.server.requests) == 2)
    assert ran.read_text().split() == ["ran"]
    events = [
        (each["event"], each.get("where", ""))
        for each in audit(stage.home)
        if each.get("nonce") == nonce and each["event"] != "kept"
    ]
    assert events == [("hold", ""), ("approve", "link"), ("consume", "link")]
