"""Answer links and public names at the real server: what a link opens, and what refuses everything else."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from dashboard_stage import NAMES, OWN, Answer, Served, machine, process, served
from held_stage import like
from link_stage import HOST, enable

from tables import each_row
from toolguard_cli.dashboard import invalid_attempts, link_pages, routes
from toolguard_cli.dashboard.link_pages import LinkPages
from toolguard_cli.operations import answer_links
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.layers.self_protection import dashboard_requests
from toolguard_engine.model.call import Host
from toolguard_engine.stores import open as stores

ORIGIN = f"https://{HOST}"
HOSTS = ("--host", HOST, "--host", "http://lan:9000", "--host", "localhost:8443")
SAME = {"sec_fetch_site": "same-origin", "sec_fetch_mode": "cors"}


@pytest.fixture
def public(tmp_path: Path) -> Iterator[Served]:
    made = machine(tmp_path)
    enable(made.places(OWN))
    with served(made, *HOSTS) as running:
        yield running


@pytest.fixture(scope="module")
def open_to_all(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """For tests that change nothing."""
    with served(machine(tmp_path_factory.mktemp("public")), *HOSTS) as running:
        yield running


def link(served: Served, **changes: Any) -> str:
    """The text of a link for a new call."""
    places = served.machine.places(OWN)
    found = answer_links.link_for(places.state_dir, served.machine.hold(OWN, **changes).nonce)
    assert found
    assert found.startswith(f"{ORIGIN}/answer#")
    return found.partition("#")[2]


def ask(served: Served, path: str, body: dict[str, str], **headers: str) -> Answer:
    """As the page of a link does."""
    return served.post(path, body, token="", **{"host": HOST, "origin": ORIGIN} | SAME | headers)


def shown(served: Served, text: str) -> Any:
    answer = ask(served, "/api/link", {"link": text})
    assert answer.status == 200, answer
    return answer.value


def give(served: Served, text: str, word: str = "approve", page: str | None = None) -> Answer:
    page = shown(served, text)["page"] if page is None else page
    return ask(served, "/api/link/answer", {"link": text, "page": page, "answer": word})


@pytest.mark.parametrize(("word", "status"), [("approve", "approved"), ("deny", "denied")])
def test_a_link_shows_one_call_and_takes_one_answer(public: Served, word: str, status: str) -> None:
    other = public.machine.hold(NAMES[0])
    text = link(public, shown='{ command: "make" }')
    found = shown(public, text)
    assert (found["call"]["gateway"], found["call"]["shown"]) == (OWN, '{ command: "make" }')
    assert found["call"]["nonce"] != other.nonce
    assert give(public, text, word, found["page"]).status == 200
    assert public.machine.status(found["call"]["nonce"], OWN) == status
    assert ask(public, "/api/link", {"link": text}).code == "link.used"
    assert give(public, text, word, found["page"]).code == "link.page"
    entry = next(each for each in public.machine.book(OWN).entries() if each.nonce == found["call"]["nonce"])
    assert entry.where == "link"


def test_a_link_answers_for_the_rest_of_the_session(public: Served) -> None:
    text = link(public, **like("/home/ann/photos"))
    found = shown(public, text)
    assert "delete /home/ann/photos, for the rest of this session" in found["call"]["alike"]
    assert give(public, text, "session", found["page"]).status == 200
    assert public.machine.status(found["call"]["nonce"], OWN) == "approved"
    (grant,) = stores.session_grants(public.machine.places(OWN).state_dir).active(time.time())
    assert (grant.nonce, grant.where) == (found["call"]["nonce"], "link")
    other = link(public)
    assert give(public, other, "session").status in (409, 422)
    assert shown(public, other)["call"]["status"] == "pending"


@pytest.mark.parametrize("mode", [{"sec_fetch_mode": "navigate", "sec_fetch_site": "cross-site"}, {}])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_preview_changes_nothing(public: Served, method: str, mode: dict[str, str]) -> None:
    text = link(public)
    for path in (
        "/answer",
        f"/answer?{text}",
        "/api/link",
        f"/api/link/answer?link={text}&answer=approve",
        f"/answer/{text}",
    ):
        answer = public.ask(path, method, host=HOST, **mode)
        assert answer.status == 200 if path.split("?")[0] == "/answer" else answer.status >= 400
        assert answer.headers["cache-control"] == "no-store"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "unsafe" not in answer.headers["content-security-policy"]
    assert shown(public, text)["call"]["status"] == "pending"


def altered(text: str) -> list[str]:
    return [
        "",
        "x",
        text[:-1],
        f"{text}A",
        f"A{text[1:]}" if text[0] != "A" else f"B{text[1:]}",
        text.swapcase(),
        "é" * len(text),
    ]


def test_altered_links(public: Served) -> None:
    text = link(public)
    for each in altered(text):
        assert ask(public, "/api/link", {"link": each}).code == "link.altered"
    other = link(public)
    crossed = other[:6] + text[6:]
    assert ask(public, "/api/link", {"link": crossed}).code == "link.altered"
    assert shown(public, text)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("headers", "code"),
    [
        ({"origin": "https://evil.example"}, "origin"),
        ({"origin": "null"}, "origin"),
        ({"origin": f"http://{HOST}"}, "origin"),
        ({"origin": "http://localhost"}, "origin"),
        ({"sec_fetch_site": "cross-site"}, "site"),
        ({"sec_fetch_site": "same-site"}, "site"),
        ({"host": "evil.example"}, "host"),
        ({"host": f"{HOST}:8080"}, "host"),
        ({"host": f"{HOST}."}, "host"),
        ({"host": "tail1.ts.net"}, "host"),
        ({"host": f"evil.{HOST}"}, "host"),
        ({"host": "evil.example", "x_forwarded_host": HOST}, "host"),
        ({"content_type": "text/plain"}, "content-type"),
    ],
)
def test_only_the_page_itself_can_use_a_link(public: Served, headers: dict[str, str], code: str) -> None:
    text = link(public)
    assert ask(public, "/api/link", {"link": text}, **headers).code == code
    page = shown(public, text)["page"]
    body = {"link": text, "page": page, "answer": "approve"}
    assert ask(public, "/api/link/answer", body, **headers).code == code
    assert shown(public, text)["call"]["status"] == "pending"


def test_a_link_without_an_origin_is_refused(public: Served) -> None:
    text = link(public)
    for path in ("/api/link", "/api/link/answer"):
        assert public.post(path, {"link": text, "page": "", "answer": "approve"}, token="", host=HOST).code == "origin"


def test_a_page_answers_its_own_link_once(public: Served) -> None:
    one, other = link(public), link(public)
    page = shown(public, one)["page"]
    assert give(public, other, "approve", page).code == "link.page"
    assert give(public, one, "approve", page).code == "link.page", "it was used for another link"
    assert give(public, one, "approve", "0" * 32).code == "link.page"
    assert give(public, one, "allow").code == "values"
    assert {shown(public, each)["call"]["status"] for each in (one, other)} == {"pending"}


def test_of_two_clicks_one_wins(public: Served) -> None:
    text = link(public)
    pages = [shown(public, text)["page"] for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda both: give(public, text, *both), zip(["approve", "deny"] * 2, pages, strict=True)))
    assert sorted(answer.status for answer in found) == [200, 409, 409, 409]


@pytest.mark.thorough
def test_after_a_restart(tmp_path: Path) -> None:
    made = machine(tmp_path)
    enable(made.places(OWN))
    with process(made, *HOSTS) as first:
        used, left = link(first), link(first)
        page = shown(first, left)["page"]
        assert give(first, used).status == 200
    with process(made, *HOSTS) as second:
        assert ask(second, "/api/link", {"link": used}).code == "link.used"
        assert give(second, left, "approve", page).code == "link.page", "that page was of the first server"
        assert give(second, left).status == 200


def test_decided_elsewhere_or_switched_off(public: Served) -> None:
    text, places = link(public), public.machine.places(OWN)
    page = shown(public, text)["page"]
    enable(places, links=False)
    assert give(public, text, "approve", page).code == "link.off"
    enable(places)
    nonce = shown(public, text)["call"]["nonce"]
    public.machine.book(OWN).deny(nonce, Decision("ada", "cli"), time.time(), 60)
    answer = ask(public, "/api/link", {"link": text})
    assert (answer.code, "denied by ada" in answer.value["error"]["message"]) == ("link.decided", True)


def test_guesses_are_limited(public: Served) -> None:
    text = link(public)
    codes = [ask(public, "/api/link", {"link": "x"}).code for _ in range(invalid_attempts.MOST_INVALID + 1)]
    assert codes == ["link.altered"] * invalid_attempts.MOST_INVALID + ["link.limit"]
    assert shown(public, text), "a valid one goes on"
    assert public.post("/api/deny", {"gateway": OWN, "nonce": "0" * 8}).code == "unknown", "the dashboard goes on"


def test_the_limit_ends() -> None:
    now = [0.0]
    pages = LinkPages(lambda: now[0])
    for at in range(invalid_attempts.MOST_INVALID):
        now[0] = float(at)
        assert not pages.is_limited()
        pages.note_invalid()
    assert pages.is_limited()
    now[0] = invalid_attempts.WITHIN_SECONDS
    assert not pages.is_limited()
    first = pages.begin("a")
    for _ in range(link_pages.MOST_PAGES):
        pages.begin("b")
    assert not pages.take(first, "a"), "the oldest page is forgotten"


@each_row(
    ("host", "origin", "status"),
    [
        (HOST, ORIGIN, 200),
        (HOST.upper(), ORIGIN, 200),
        ("lan:9000", "http://lan:9000", 200),
        ("localhost:8443", "https://localhost:8443", 200),
        ("localhost:8443", "http://localhost:8443", 200),
        ("localhost:8444", "https://localhost:8444", 403),
        ("lan:9000", "https://lan:9000", 403),
        ("lan", "http://lan", 403),
        (HOST, f"https://{HOST}:8443", 403),
        (HOST, "http://lan:9000", 403),
        ("evil.example", "https://evil.example", 403),
    ],
)
def test_public_names_and_their_origins(open_to_all: Served, host: str, origin: str, status: int) -> None:
    assert open_to_all.ask("/api/state", token=open_to_all.token, host=host, origin=origin).status == status


@each_row("host", [HOST, "127.0.0.1:{port}", "localhost:8443"])
@each_row("more", [{}, {"x_forwarded_for": "127.0.0.1", "x_forwarded_host": "localhost"}])
def test_behind_a_proxy_everything_needs_the_token(open_to_all: Served, host: str, more: dict[str, str]) -> None:
    host = host.format(port=open_to_all.port)
    for path in ("/api/state", "/api/pending", "/metrics", "/api/openapi.json"):
        assert open_to_all.ask(path, host=host, **more).code == "token"
        assert open_to_all.ask(path, token=open_to_all.token, host=host, **more).status == 200
    for path in ("/", "/answer", "/static/manifest.webmanifest", f"/api/hello?nonce={'a' * 32}"):
        assert open_to_all.ask(path, host=host, **more).status == 200


def test_the_app_that_is_installed(open_to_all: Served) -> None:
    answer = open_to_all.ask("/static/manifest.webmanifest")
    manifest = json.loads(answer.body)
    assert answer.headers["content-type"].startswith("application/manifest+json")
    assert (manifest["display"], manifest["start_url"]) == ("standalone", "/#approvals")
    for icon in manifest["icons"]:
        found = open_to_all.ask(icon["src"])
        assert (found.status, found.headers["content-type"].split(";")[0]) == (200, icon["type"])
        if icon["type"] == "image/png":
            assert "x".join(str(int.from_bytes(found.body[at : at + 4])) for at in (16, 20)) == icon["sizes"]


def test_no_change_of_the_dashboard_is_open_to_agents() -> None:
    """Each path that decides or changes something is known to the guard; `/api/decision` only adds a line to the log."""
    changes = {each.path for each in routes.ENDPOINTS if each.method == "POST"} - {"/api/decision"}
    host = Host("/home/ada", "/home/ada/.openclaw", dashboard="127.0.0.1:8080")
    assert len(changes) > 5
    for path in changes:
        assert dashboard_requests.visits(f"http://127.0.0.1:8080{path}", host), path
