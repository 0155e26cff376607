"""`/ws`: who may listen, and that everything that happens arrives."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from dashboard_stage import LIMIT, NAMES, OWN, Machine, Served, machine, served
from websockets.exceptions import ConnectionClosed, InvalidStatus
from websockets.sync.client import ClientConnection, connect

from tables import each_row
from toolguard_cli.dashboard import live_feed
from toolguard_engine.metrics import database
from toolguard_engine.metrics.row_writer import CallRecord, VerdictRecord, record, record_verdicts
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.transactions import transaction

HELLO = '{"token": ""}'


@contextmanager
def opened(server: Served, first: str | bytes | None = HELLO, **options: Any) -> Iterator[ClientConnection]:
    with connect(f"ws://127.0.0.1:{server.port}/ws", open_timeout=LIMIT, proxy=None, **options) as page:
        if first is not None:
            page.send(first)
        yield page


def heard(page: ClientConnection, *kinds: str) -> dict[str, Any]:
    """The next message of one of these kinds."""
    while True:
        message: dict[str, Any] = json.loads(page.recv(LIMIT))
        if message["type"] in kinds:
            return message


def close_code(page: ClientConnection) -> int | None:
    try:
        while True:
            page.recv(LIMIT)
    except ConnectionClosed as closed:
        return closed.rcvd.code if closed.rcvd else None


def write(made: Machine, calls: list[CallRecord], verdicts: list[VerdictRecord]) -> None:
    with closing(database.connect(made.db)) as connection, transaction(connection):
        record(connection, calls)
        record_verdicts(connection, verdicts)


def replace(path: Path, content: bytes) -> None:
    """All at once, as a store is written: no reader meets half of it."""
    new = path.with_name("new")
    new.write_bytes(content)
    new.chmod(0o600)
    new.replace(path)


def now() -> int:
    return time.time_ns() // 1_000_000


def test_greeting(server: Served) -> None:
    held = server.machine.hold()
    for token, may in (("", False), (server.token, True)):
        with opened(server, json.dumps({"token": token})) as page:
            hello, pending = json.loads(page.recv(LIMIT)), json.loads(page.recv(LIMIT))
        assert (hello["type"], hello["mayChange"]) == ("hello", may)
        assert (pending["type"], [each["nonce"] for each in pending["pending"]]) == ("pending", [held.nonce])


@each_row(
    ("first", "code"),
    [
        ('{"token": "wrong"}', 4401),
        ('{"token": "é"}', 4401),
        ("{", 4400),
        ("[]", 4400),
        ('{"token": 1}', 4400),
        (b"\x00\xff", 4400),
        ("x" * 10_000, 1009),
        ("[" * 4_000, 4400),
    ],
)
def test_first_messages(shared: Served, first: str | bytes, code: int) -> None:
    with opened(shared, first) as page:
        assert close_code(page) == code


@pytest.mark.thorough
def test_who_says_nothing(shared: Served) -> None:
    with opened(shared, None) as page:
        assert close_code(page) == 1008


@pytest.mark.parametrize(
    "options",
    [{"origin": "http://evil.example"}, {"origin": "null"}, {"additional_headers": {"Sec-Fetch-Site": "cross-site"}}],
)
def test_other_sites(shared: Served, options: dict[str, Any]) -> None:
    with pytest.raises(InvalidStatus) as caught, opened(shared, **options):
        pass
    assert caught.value.response.status_code == 403


def test_dns_rebinding(shared: Served) -> None:
    with (
        socket.create_connection(("127.0.0.1", shared.port), LIMIT) as raw,
        pytest.raises(InvalidStatus) as caught,
        connect(f"ws://evil.example:{shared.port}/ws", sock=raw, open_timeout=LIMIT, proxy=None),
    ):
        pass
    assert caught.value.response.status_code == 403


def test_own_origin(shared: Served) -> None:
    with opened(shared, origin=f"http://127.0.0.1:{shared.port}") as page:
        assert heard(page, "hello")


def test_elsewhere_than_on_this_machine_it_needs_the_token(tmp_path: Path) -> None:
    with served(machine(tmp_path), "--bind", "0.0.0.0") as server:
        with opened(server) as page:
            assert close_code(page) == 4401
        with opened(server, json.dumps({"token": server.token})) as page:
            assert heard(page, "hello")["mayChange"]


def test_new_rows_arrive_in_order_and_once(server: Served) -> None:
    with opened(server) as page, opened(server) as other:
        for each in (page, other):
            heard(each, "hello")
        for number in range(3):
            call = CallRecord(now(), NAMES[0], model=f"new-{number}", input=number, outcome="completed")
            reported = VerdictRecord(
                now(), NAMES[0], decision="block", kind="block", event=f"new-{number}", code=f"c{number}"
            )
            write(server.machine, [call], [reported, reported._replace(kind="allow", event=None)])
        for each in (page, other):
            found = [heard(each, "call", "decision") for _ in range(6)]
            assert [event["call"]["model"] for event in found if event["type"] == "call"] == ["new-0", "new-1", "new-2"]
            assert [event["decision"]["code"] for event in found if event["type"] == "decision"] == ["c0", "c1", "c2"]


def test_held_calls(server: Served) -> None:
    with opened(server) as page:
        assert heard(page, "pending")["pending"] == []
        for name in (NAMES[1], OWN):
            held = server.machine.hold(name)
            found = heard(page, "pending")["pending"]
            assert (held.nonce, name) in [(each["nonce"], each["gateway"]) for each in found]
        server.post("/api/approve", {"gateway": OWN, "nonce": held.nonce})
        assert {each["status"] for each in heard(page, "pending")["pending"]} == {"pending", "approved"}


def test_a_held_call_whose_time_is_over(server: Served) -> None:
    server.machine.hold(expires=time.time() + 1)
    with opened(server) as page:
        while heard(page, "pending")["pending"]:
            pass


@pytest.mark.thorough
def test_something_else_changes(server: Served) -> None:
    with opened(server) as page:
        heard(page, "tick")
        KillSwitchFile(server.machine.places(NAMES[1]).state_dir).set(on=True, by="ann", why="")
        assert heard(page, "state")
        assert heard(page, "tick")["now"]


def test_recording_that_begins_while_a_page_is_open(tmp_path: Path) -> None:
    made = Machine(tmp_path, tmp_path / "metrics.db")
    made.places(OWN).state_dir.mkdir()
    with served(made) as server, opened(server) as page:
        heard(page, "hello")
        write(made, [CallRecord(now(), "openclaw", model="first")], [])
        assert heard(page, "call")["call"]["model"] == "first"


def test_the_file_is_replaced(server: Served) -> None:
    with opened(server) as page:
        heard(page, "hello")
        for path in server.machine.home.glob("metrics.db*"):
            if path.suffix not in (".token", ".server"):
                path.unlink()
        write(server.machine, [CallRecord(now(), "openclaw", model="anew")], [])
        assert heard(page, "call")["call"]["model"] == "anew"


def test_only_so_many_pages(shared: Served) -> None:
    pages: list[ClientConnection] = []
    try:
        for _ in range(50):  # one after the other: who says nothing for some seconds is let go
            pages.append(connect(f"ws://127.0.0.1:{shared.port}/ws", open_timeout=LIMIT, proxy=None))
            pages[-1].send(HELLO)
            heard(pages[-1], "hello")
        with opened(shared) as page:
            assert close_code(page) == 1013
        with opened(shared, json.dumps({"token": shared.token})) as page:  # takes the place of one without
            assert heard(page, "hello")["mayChange"]
    finally:
        for page in pages:
            page.close()


def test_who_says_nothing_takes_no_place(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live_feed, "MOST_GREETING", 50)
    silent = [connect(f"ws://127.0.0.1:{server.port}/ws", open_timeout=LIMIT, proxy=None) for _ in range(60)]
    try:
        with opened(server) as page:
            assert heard(page, "hello")["now"]
    finally:
        for page in silent:
            page.close()


def test_a_page_may_talk(server: Served) -> None:
    with opened(server) as page:
        heard(page, "pending")
        for _ in range(100):
            page.send("x" * 1_000)
        held = server.machine.hold()
        assert heard(page, "pending")["pending"][-1]["nonce"] == held.nonce
        page.send("x" * 10_000)
        assert close_code(page) == 1009


def test_a_page_that_does_not_keep_up_is_let_go() -> None:
    client = live_feed.Client()
    for number in range(live_feed.MOST_WAITING):
        client.put(str(number))
    assert not client.over.is_set()
    client.put("one more")
    assert (client.over.is_set(), client.code) == (True, 1013)


def test_a_metrics_file_that_breaks_is_told(server: Served) -> None:
    with opened(server) as page:
        assert heard(page, "tick")["problems"] == []
        server.machine.db.rename(server.machine.db.with_name("whole.db"))
        server.machine.db.write_bytes(b"garbage" * 1_000)
        while not (problems := heard(page, "tick")["problems"]):
            pass
        assert "metrics.db" in problems[0]


def test_held_calls_that_cannot_be_read_are_told_and_come_back(server: Served) -> None:
    held, store = server.machine.hold(), server.machine.book(NAMES[0]).path
    with opened(server) as page:
        heard(page, "tick")
        kept = store.read_bytes()
        replace(store, b"{ broken")
        said = heard(page, "pending")
        assert (said["pending"], said["unread"]) == ([], [NAMES[0]])
        assert "damaged" in said["problems"][0]
        replace(store, kept)
        again = heard(page, "pending")
        assert ([each["nonce"] for each in again["pending"]], again["problems"], again["unread"]) == ([held.nonce], [], [])
