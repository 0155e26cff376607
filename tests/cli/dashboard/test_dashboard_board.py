"""What the overview begins with and what decisions are looked for by: as the stores and the metrics file have it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from dashboard_stage import NAMES, Machine, Served
from held_stage import like

from tables import each_row
from toolguard_cli.dashboard import code_words
from toolguard_cli.dashboard.api import protection
from toolguard_cli.dashboard.api_types import Switch
from toolguard_cli.operations.guard_proof import GuardProof, State
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.model.held_details import ExactCall, HeldDetails, HeldEffect, HeldRule
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.undo.undo_entry import UndoCause
from toolguard_engine.stores.undo.undo_folder import UndoFolder

NARROW: dict[str, Any] = {
    "code": "rule.filesystem.delete-recursive",
    "cwd": "/srv/www",
    "exact": ExactCall("rm -rf build", cwd="/srv/www"),
    "details": HeldDetails(
        (HeldEffect("delete", "build", "/srv/www/build", ("recursive",), "in-workspace"),),
        (HeldRule("filesystem.delete-recursive", "It deletes a folder."),),
    ),
}


@each_row(
    ("state", "shown", "switched"),
    [
        ("guarded", "guarded", "stopped"),
        ("observing", "observing", "stopped"),
        ("disabled", "off", "stopped"),
        ("not-loaded", "off", "off"),
        ("engine-away", "off", "off"),
        ("old-version", "partly", "stopped"),
        ("old-settings", "partly", "stopped"),
        ("installed", "idle", "idle"),
        ("unknown", "unproven", "unproven"),
        ("other-state", "unproven", "unproven"),
        ("starting", "unproven", "unproven"),
    ],
)
def test_guarded_is_only_what_is_proven(state: State, shown: str, switched: str) -> None:
    """A kill switch blocks nothing where the plugin is not loaded."""
    proof = GuardProof(state, "as it is", "what to do", 1_000.5)
    found = protection.describe(proof, None)
    assert (found.state, found.since, found.text, found.fix) == (shown, 1_000_500, "as it is", "what to do")
    assert protection.describe(proof, Switch(7, "ana", "")).state == switched
    assert protection.describe(GuardProof(state, "", since=1e12), None).since == 0


def missed(made: Machine, **changes: Any) -> HeldCall:
    """A call that nobody answered."""
    return made.hold(now=time.time() - 4_000, lasts=300, **changes)


def settled(server: Served) -> dict[str, str]:
    return {each["nonce"]: each["status"] for each in server.get("/api/settled")["settled"]}


def test_what_is_over_is_listed_with_its_answer(server: Served) -> None:
    made, by = server.machine, Decision("ana", "chat", "not now")
    book, late = made.book(NAMES[0]), missed(made, binding="late")
    denied, used, again = made.hold(binding="no"), made.hold(binding="yes"), missed(made, binding="again")
    book.deny(denied.nonce, by, time.time(), 60)
    book.present(book.approve(used.nonce, by, time.time(), 60), time.time())
    made.hold(binding="again")
    unused = made.hold(binding="unused")
    book.approve(unused.nonce, by, time.time() - 100, 60)
    answer = server.get("/api/settled")
    expected = {late: "missed", denied: "denied", used: "used", again: "expired", unused: "lapsed"}
    assert settled(server) == {entry.nonce: status for entry, status in expected.items()}
    assert answer["missed"] == 2  # one of them lapsed
    (shown,) = [each for each in answer["settled"] if each["status"] == "denied"]
    assert (shown["by"], shown["where"], shown["why"], shown["gateway"]) == ("ana", "chat", "not now", NAMES[0])


def test_what_ran_says_how_it_can_be_undone_while_it_can(server: Served, tmp_path: Path) -> None:
    made, notes = server.machine, tmp_path / "notes.txt"
    notes.write_text("old")
    held, other = made.hold(binding="yes"), made.hold(binding="other")
    book = made.book(NAMES[0])
    for entry in (held, other):
        book.settle(entry.nonce, "used", Decision("ana", "cli"), time.time())
    folder = UndoFolder(made.places(NAMES[0]).state_dir)
    folder.save(UndoCause(1.0, nonce=held.nonce), lambda saving: saving.present(str(notes)), lambda _: False)

    def offers() -> dict[str, str]:
        return {each["nonce"]: each["undo"] for each in server.get("/api/settled")["settled"]}

    assert offers() == {held.nonce: f"toolguard undo {held.nonce} undoes it", other.nonce: ""}
    folder.remove(held.nonce)
    assert offers() == {held.nonce: "", other.nonce: ""}


def test_a_missed_call_is_revived_once(server: Served) -> None:
    late = missed(server.machine)
    asked = {"gateway": NAMES[0], "nonce": late.nonce}
    assert server.post("/api/revive", asked, token="0" * 64).status == 401
    assert settled(server) == {late.nonce: "missed"}
    answer = server.post("/api/revive", asked)
    assert (answer.status, late.nonce in answer.value["text"]) == (200, True)
    assert settled(server) == {late.nonce: "revived"}
    assert server.post("/api/revive", asked).status == 409
    assert server.get("/api/pending")["pending"] == []


def test_a_call_is_allowed_for_a_while_where_that_is_narrow(server: Served) -> None:
    narrow, wide = server.machine.hold(**NARROW), server.machine.hold(binding="other")
    offers = {each["nonce"]: (each["allows"], each["whyOnce"]) for each in server.get("/api/pending")["pending"]}
    assert "just this command" in offers[narrow.nonce][0]
    assert offers[wide.nonce][0] == ""
    assert offers[wide.nonce][1]
    assert server.post("/api/allow", {"gateway": NAMES[0], "nonce": wide.nonce, "period": "1h"}).status in (409, 422)
    assert server.machine.status(wide.nonce) == "pending"
    answer = server.post("/api/allow", {"gateway": NAMES[0], "nonce": narrow.nonce, "period": "1d"})
    assert (answer.status, server.machine.status(narrow.nonce)) == (200, "approved")
    (grant,) = stores.grants(server.machine.places(NAMES[0]).state_dir).grants()
    assert (grant.pattern, grant.cwd, grant.agent) == ("rm -rf build", "/srv/www", "main")
    assert 86_000 < grant.expires - time.time() <= 86_400


def test_a_call_is_allowed_for_the_rest_of_its_session(server: Served) -> None:
    alike, other = server.machine.hold(**like("/home/ann/photos")), server.machine.hold(binding="other")
    offers = {each["nonce"]: each["alike"] for each in server.get("/api/pending")["pending"]}
    assert "delete /home/ann/photos, for the rest of this session" in offers[alike.nonce]
    assert offers[other.nonce] == ""
    assert server.post("/api/allow", {"gateway": NAMES[0], "nonce": other.nonce, "period": "session"}).status in (409, 422)
    assert server.machine.status(other.nonce) == "pending"
    answer = server.post("/api/allow", {"gateway": NAMES[0], "nonce": alike.nonce, "period": "session"})
    assert (answer.status, server.machine.status(alike.nonce)) == (200, "approved")
    (grant,) = stores.session_grants(server.machine.places(NAMES[0]).state_dir).active(time.time())
    assert (grant.session, grant.where, grant.nonce) == (alike.session, "dashboard", alike.nonce)
    assert grant.id in answer.value["text"]


def test_decisions_are_looked_for(shared: Served) -> None:
    found = shared.get("/api/decisions?kind=hold&agent=agent-0&code=rule.delete-important&text=WHY%20HOLD")["decisions"]
    assert found
    assert {(each["kind"], each["agent"]) for each in found} == {("hold", "agent-0")}
    assert shared.get("/api/decisions?text=nothing%20like%20this") == {"decisions": [], "next": None, "answers": []}


def test_money(shared: Served) -> None:
    found = shared.get("/api/spending?range=7d")
    whole = shared.get("/api/overview?range=7d")
    assert found["forecast"]["month"]["forecastUsd"] >= found["forecast"]["month"]["usedUsd"] > 0
    mean = whole["totals"]["costUsd"] / whole["totals"]["priced"]
    assert found["savings"]["usd"] == pytest.approx(mean * whole["guard"]["requestsSaved"])
    assert found["caps"] == []


@each_row(
    ("code", "words"),
    [
        ("rule.filesystem.delete-home", "It deletes somebody's whole home folder."),
        ("loop.identical", "without progress"),
        ("kill-switch.on", "kill switch"),
        ("malformed.missing", "a parameter is wrong"),
    ],
)
def test_codes_in_words(code: str, words: str) -> None:
    assert words in code_words.known([code, "no.such-code"])[code]
    assert "no.such-code" not in code_words.known(["no.such-code"])
