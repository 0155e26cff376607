"""The laws of answer links: what makes one, what it is bound to, and that a call has one answer."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from string import ascii_lowercase, ascii_uppercase, digits
from typing import Any

import msgspec
import pytest
from held_stage import hold, status_of
from hypothesis import given
from hypothesis import strategies as st
from link_stage import HOST, enable, gateway

from tables import each_row
from toolguard_cli.operations import answer_links
from toolguard_cli.operations.answer_links import AnswerLink, LinkRefusedError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.ledger import Decision, HeldCall, RefusedError
from toolguard_engine.config import public_hosts
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.files.nonces import FileNonces

KEY = bytes(range(32))
LETTERS = ascii_uppercase + ascii_lowercase + digits + "-_"


@pytest.fixture
def places(tmp_path: Path) -> Places:
    return gateway(tmp_path)


def link_of(places: Places, nonce: str, now: float | None = None) -> AnswerLink:
    found = answer_links.link_for(places.state_dir, nonce, now=now)
    assert found is not None
    return answer_links.read(found.partition("#")[2])


def give(places: Places, link: AnswerLink, word: answer_links.Answer = "approve", now: float = 0.0) -> str:
    """The cause of the refusal, or the status of the call."""
    try:
        text = answer_links.answer(places, FileNonces(places.state_dir), link, word, now or time.time())
        cause = ""
    except LinkRefusedError as refused:
        text, cause = refused.message, refused.cause
    assert text
    assert "\n" not in text
    return cause or status_of(places, link.nonce)


@pytest.mark.parametrize(
    ("settings", "address"),
    [
        ({}, f"https://{HOST}/answer#"),
        ({"hosts": ("http://box", "Box.Example:443", HOST)}, "https://box.example/answer#"),
        ({"hosts": ("http://localhost:8080",)}, "http://localhost:8080/answer#"),
        ({"hosts": ("http://box",)}, None),
        ({"hosts": ()}, None),
        ({"links": False}, None),
        ({"answerLinkMs": 1}, None),
    ],
)
def test_where_links_lead(places: Places, settings: dict[str, Any], address: str | None) -> None:
    held = hold(places)
    enable(places, **settings)
    found = answer_links.link_for(places.state_dir, held.nonce)
    assert (found is None) == (address is None)
    assert found is None or found.startswith(str(address))


@pytest.mark.parametrize("status", ["approved", "denied", "gone", "expired"])
def test_only_a_call_that_waits_gets_a_link(places: Places, status: str) -> None:
    held, book, by = hold(places), FileNonces(places.state_dir), Decision("ada", "cli")
    if status == "approved":
        book.approve(held.nonce, by, time.time(), 60)
    elif status == "denied":
        book.deny(held.nonce, by, time.time(), 60)
    nonce = "0" * 8 if status == "gone" else held.nonce
    assert answer_links.link_for(places.state_dir, nonce, now=held.expires + 1 if status == "expired" else None) is None


@pytest.mark.parametrize("word", ["approve", "deny"])
@pytest.mark.parametrize("again", ["approve", "deny"])
def test_a_call_has_one_answer(places: Places, word: answer_links.Answer, again: answer_links.Answer) -> None:
    held = hold(places)
    link, other = link_of(places, held.nonce), link_of(places, held.nonce, time.time() - 60)
    status = {"approve": "approved", "deny": "denied"}[word]
    assert give(places, link, word) == status
    assert [give(places, each, again) for each in (link, other)] == ["used", "used"]
    assert status_of(places, held.nonce) == status
    logged = list(stores.audit_log(places.state_dir).events())
    assert [(event["event"], event.get("where")) for event in logged[1:]] == [(word, "link")]


def _denied(places: Places, nonce: str) -> None:
    FileNonces(places.state_dir).deny(nonce, Decision("ada", "cli"), time.time(), 60)


def _other_call(places: Places, nonce: str) -> None:
    """The entry under the nonce is another one, signed."""
    book = FileNonces(places.state_dir)
    entry = next(each for each in book.entries() if each.nonce == nonce)
    book._change(lambda ledger: ledger._put(msgspec.structs.replace(entry, shown="rm -rf /")), time.time())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("meanwhile", "later", "cause"),
    [
        (_denied, 0, "decided"),
        (_other_call, 0, "changed"),
        (lambda places, _: enable(places, links=False), 0, "off"),
        (lambda places, _: (places.own / "nonces.json").unlink(), 0, "unknown"),
        (lambda *_: None, 901, "expired"),
        (lambda *_: None, 2_001, "decided"),
    ],
)
def test_refusals(places: Places, meanwhile: Callable[[Places, str], object], later: float, cause: str) -> None:
    held = hold(places, lasts=2_000)
    link = link_of(places, held.nonce)
    meanwhile(places, held.nonce)
    assert give(places, link, now=time.time() + later) == cause


def test_no_link_outlives_its_call(places: Places) -> None:
    held = hold(places, lasts=100)
    assert link_of(places, held.nonce).expires <= held.expires


def test_what_cannot_be_shown_in_full_can_only_be_denied(places: Places) -> None:
    held = hold(places, whole=False)
    link = link_of(places, held.nonce)
    assert give(places, link) == "unseen"
    assert give(places, link, "deny") == "denied"


def test_an_approval_that_ran_out_is_no_second_chance(places: Places) -> None:
    held = hold(places)
    link = link_of(places, held.nonce)
    give(places, link)
    FileNonces(places.state_dir).sweep(time.time() + 100)
    assert give(places, link) == "used"


def test_of_two_answers_at_once_one_wins(places: Places) -> None:
    for _ in range(5):
        both = partial(give, places, link_of(places, hold(places).nonce))
        with ThreadPoolExecutor(4) as pool:
            found = sorted(pool.map(both, ["approve", "deny"] * 2))  # type: ignore[arg-type]
        assert found.count("used") == 3
        assert len({"approved", "denied"} & set(found)) == 1


def test_what_happens_to_a_call_does_not_change_what_it_is(places: Places) -> None:
    held = hold(places)
    before = answer_links.digest(held)
    approved = FileNonces(places.state_dir).approve(held.nonce, Decision("ada", "cli", "why"), time.time(), 60)
    assert answer_links.digest(approved) == before != answer_links.digest(msgspec.structs.replace(held, shown="x"))


def test_a_denial_that_is_late_does_not_withdraw_the_approval(places: Places) -> None:
    held, book, by = hold(places), FileNonces(places.state_dir), Decision("ada", "link")
    book.approve(held.nonce, by, time.time(), 60)
    with pytest.raises(RefusedError, match="approved"):
        book.deny(held.nonce, by, time.time(), 60, unanswered=True)
    assert status_of(places, held.nonce) == "approved"


ENTRIES = st.builds(
    HeldCall,
    **{
        name: st.text(max_size=8)
        for name in ("binding", "tool", "agent", "session", "run", "code", "reason", "shown", "cwd")
    },
    nonce=st.binary(min_size=4, max_size=4).map(bytes.hex),
    created=st.floats(0, 2e9),
    expires=st.floats(0, 2e9),
    whole=st.booleans(),
)


@given(ENTRIES, st.floats(0, 2e9), st.data())
def test_a_link_is_what_was_signed_and_nothing_else(entry: HeldCall, until: float, data: st.DataObject) -> None:
    text = answer_links.made(entry, until, KEY)
    link = answer_links.read(text)
    assert (link.nonce, link.digest) == (entry.nonce, answer_links.digest(entry))
    assert link.expires <= min(until, entry.expires)
    assert link.is_signed(KEY)
    assert not link.is_signed(bytes(32))
    at, char = data.draw(st.integers(0, len(text) - 1)), data.draw(st.characters())
    other = text[:at] + char + text[at + 1 :]
    with pytest.raises(LinkRefusedError, match="was changed"):
        answer_links.read(text[:-1] + LETTERS[LETTERS.index(text[-1]) ^ 1])
    with suppress(LinkRefusedError):
        assert other == text or not answer_links.read(other).is_signed(KEY)


@given(st.text(max_size=120) | st.binary(max_size=120).map(lambda data: data.decode("latin-1")))
def test_any_text_is_read_or_refused(text: str) -> None:
    with pytest.raises(LinkRefusedError):
        answer_links.read(text)


@given(ENTRIES, ENTRIES)
def test_the_digest_covers_what_the_call_is(one: HeldCall, other: HeldCall) -> None:
    bound = set(HeldCall.__struct_fields__) - answer_links.UNBOUND
    same = all(getattr(one, name) == getattr(other, name) for name in bound)
    assert (answer_links.digest(one) == answer_links.digest(other)) == same


@each_row(
    ("host", "origin", "name"),
    [
        ("Box.Example", "https://box.example", "box.example"),
        ("box:443", "https://box", "box"),
        ("https://box:8443", "https://box:8443", "box"),
        ("http://box:80", "http://box", "box"),
        ("http://127.0.0.1:09000", "http://127.0.0.1:9000", "127.0.0.1"),
    ],
)
def test_public_hosts(host: str, origin: str, name: str) -> None:
    assert (public_hosts.origin(host), public_hosts.name(host)) == (origin, name)
