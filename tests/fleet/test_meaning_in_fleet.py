"""What an approval means in a fleet: the database knows bindings alone, so a gateway compares what lies at the places."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec import structs

from fleet_database import FleetDatabase
from fleet_desk import Approver, FleetDesk
from ssh_signers import SshRoom
from toolguard_engine.approvals import call_meaning
from toolguard_engine.approvals.binding import bind_meaning
from toolguard_engine.approvals.call_meaning import Meaning
from toolguard_engine.model.call_world import Named, NamedTarget
from toolguard_engine.server.world_reader import WorldReader
from toolguard_engine.stores.fleet.fleet_held_calls import UnseenPlacesError
from toolguard_engine.stores.values import Presented


class LinkedFolder:
    """A gateway whose agent asks to delete `cache`, a link that it may turn elsewhere."""

    def __init__(self, database: FleetDatabase, folder: Path) -> None:
        self.room = SshRoom(folder / "trust")
        self.desk = FleetDesk(database, folder / "gateway", self.room)
        self.folder = folder
        self.cache = folder / "cache"
        for name in ("old", "documents"):
            (folder / name).mkdir()
        self.turn("old")

    def turn(self, name: str) -> None:
        self.cache.unlink(missing_ok=True)
        self.cache.symlink_to(self.folder / name)

    def meaning(self, *paths: Path, late: bool = False) -> Meaning:
        targets = tuple(NamedTarget("delete", str(path), str(path)) for path in paths or [self.cache])
        named = Named(str(self.folder), targets)
        seen = structs.replace(WorldReader().look(named), late=late)
        return call_meaning.derive(named, seen, self.desk.request().binding)

    def present(self, *paths: Path, late: bool = False) -> Presented:
        meaning = self.meaning(*paths, late=late)
        request = structs.replace(self.desk.request(), binding=bind_meaning(meaning), meaning=meaning)
        return self.desk.calls.present(request, time.time())

    def restart(self) -> None:
        self.desk.client.close()
        self.desk.start()


@pytest.fixture
def linked(database: FleetDatabase, tmp_path: Path) -> Iterator[LinkedFolder]:
    made = LinkedFolder(database, tmp_path)
    yield made
    made.desk.close()


@pytest.fixture
def anna(database: FleetDatabase, linked: LinkedFolder) -> Approver:
    return Approver(database, linked.room, "anna")


def test_an_approval_is_used_where_everything_is_as_it_was(linked: LinkedFolder, anna: Approver) -> None:
    anna.approve(linked.present().entry.nonce)
    linked.restart()
    assert linked.present().outcome == "used"
    assert linked.present().outcome == "pending"


@pytest.mark.parametrize("is_restarted", [False, True])
def test_a_link_that_leads_elsewhere_is_held_again(linked: LinkedFolder, anna: Approver, *, is_restarted: bool) -> None:
    shown = linked.present().entry
    anna.approve(shown.nonce)
    linked.turn("documents")
    if is_restarted:
        linked.restart()
        linked.desk.calls.entries()
    again = linked.present()
    assert (again.outcome, again.fresh) == ("pending", True)
    assert "documents" in str(again.entry.changes)
    assert shown.nonce in again.entry.reason
    row = next(row for row in anna.waiting() if row["nonce"] == again.entry.nonce)
    assert "documents" in str(anna.shown(row).changes), "the approver sees what is new"
    linked.turn("old")
    assert linked.present().outcome == "used", "what was shown first is approved still"


def test_a_restarted_gateway_that_knows_no_entries_holds_again(linked: LinkedFolder, anna: Approver) -> None:
    anna.approve(linked.present().entry.nonce)
    linked.turn("documents")
    linked.restart()
    assert linked.present().outcome == "pending"


def test_a_call_that_means_less_uses_the_approval(linked: LinkedFolder, anna: Approver) -> None:
    other = linked.folder / "documents"
    held = linked.present(linked.cache, other).entry
    anna.approve(held.nonce)
    used = linked.present(linked.cache)
    assert (used.outcome, used.entry.nonce) == ("used", held.nonce)


@pytest.mark.parametrize("is_restarted", [False, True])
def test_nothing_runs_on_what_cannot_be_looked_at(linked: LinkedFolder, anna: Approver, *, is_restarted: bool) -> None:
    """Whenever the file system is late the call has the same binding, but what lies there may have changed in between."""
    nonce = linked.present(late=True).entry.nonce
    anna.approve(nonce)
    if is_restarted:
        linked.restart()
    for _ in range(2):
        with pytest.raises(UnseenPlacesError):
            linked.present(late=True)
    (entry,) = linked.desk.calls.entries()
    assert (entry.nonce, entry.status) == (nonce, "approved"), "nobody has to approve it again"
