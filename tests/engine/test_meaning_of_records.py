"""Records that say what a call means: other versions, other hands, and what is beyond the bounds never make a yes wider."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest

from changing_world import ChangingWorld
from toolguard_cli.approvals import held_calls
from toolguard_engine.approvals import call_meaning, chat_view, held_view, ledger
from toolguard_engine.approvals.binding import bind, bind_meaning
from toolguard_engine.approvals.call_meaning import TOO_LARGE, Meaning
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.effects.calls import code_literals, named_places, reading
from toolguard_engine.model.call import Call
from toolguard_engine.model.call_world import MANY, Named, NamedTarget, SeenPlaces, SeenTarget
from toolguard_engine.model.work_limit import TooIntricate
from toolguard_engine.server import world_reader
from toolguard_engine.server.world_reader import MAX_NAMES, WorldReader
from toolguard_engine.stores import locked, signing_key
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import approval

ME = Decision("ana", "cli")


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ChangingWorld:
    made = ChangingWorld(tmp_path)
    monkeypatch.setenv("HOME", str(made.home))
    return made


def code(world: ChangingWorld, call: Call) -> str:
    return world.ask(call).verdict.code


def meaning(world: ChangingWorld, call: Call) -> Meaning:
    named = named_places.places_to_look_at(world.guard.read(call))
    return call_meaning.derive(named, WorldReader().look(named), bind(call, gateway=world.store.gateway_id()))


def earlier(world: ChangingWorld, call: Call) -> HeldCall:
    """The request of an earlier version, which knows the words and the scripts."""
    files = [digest for _, digest in named_places.places_to_look_at(world.guard.read(call)).code]
    return HeldCall(
        nonce="", binding=bind(call, files, world.store.gateway_id()), tool="exec", agent=call.agent, session=call.session,
        run="r", code="rule.x", reason="x", shown="x", created=world.now, expires=world.now + 300, cwd=call.cwd,
    )  # fmt: skip


def rewritten(world: ChangingWorld, change: dict[str, Any], key: bytes | None = None) -> None:
    """The only entry with other members, signed with `key` or left with its old signature."""
    path = world.store.path
    stored = msgspec.json.decode(path.read_bytes())
    (entry,) = stored["entries"]
    for name, value in change.items():
        entry[name] = value
    if key is not None:
        entry["mac"] = ""
        entry["mac"] = signing_key.sign(key, msgspec.json.encode(entry))
    path.write_bytes(msgspec.json.encode(stored))
    world.restart()


def test_an_approval_of_an_earlier_version_runs_whatever_its_words_mean(world: ChangingWorld) -> None:
    world.link("w/cache", "Pictures")
    call = world.call("rm -rf cache/*")
    entry = world.store.present(earlier(world, call), world.now).entry
    world.store.approve(entry.nonce, ME, world.now, 30)
    world.link("w/cache", "Documents")
    assert code(world, call) == "approval.consumed"
    assert code(world, call) == "approval.pending"


def test_an_approval_of_an_earlier_version_is_for_its_script(world: ChangingWorld) -> None:
    world.put("w/deploy.sh", "ls\n")
    call = world.call("sh deploy.sh")
    entry = world.store.present(earlier(world, call), world.now).entry
    world.store.approve(entry.nonce, ME, world.now, 30)
    world.put("w/deploy.sh", "rm -rf ~\n")
    assert code(world, call) == "approval.pending"


def test_an_earlier_version_does_not_use_an_approval(world: ChangingWorld) -> None:
    call = world.call("rm -rf cache/*")
    nonce = world.approved(call)
    presented = world.store.present(earlier(world, call), world.now)
    assert (presented.outcome, presented.fresh) == ("pending", True)
    assert presented.entry.nonce != nonce


def test_an_earlier_command_line_that_approves_keeps_the_meaning(world: ChangingWorld) -> None:
    """It writes back the members that it does not know, and signs them."""
    world.link("w/cache", "Pictures")
    call = world.call("rm -rf cache/*")
    entry = world.ask(call).entry
    assert entry is not None
    own = (world.state / "toolguard" / "key").read_bytes()
    rewritten(world, {"status": "approved", "decided": world.now, "expires": world.now + 30, "by": "ana"}, own)
    world.link("w/cache", "Documents")
    assert code(world, call) == "approval.pending"
    world.link("w/cache", "Pictures")
    settled = world.ask(call)
    assert (settled.verdict.code, settled.entry and settled.entry.nonce) == ("approval.consumed", entry.nonce)


@pytest.mark.parametrize("members", [{"meaning": None}, {"meaning": {"v": 2, "call": "x"}}, {"changes": ["x"]}])
def test_an_entry_that_was_changed_without_the_key_does_not_count(world: ChangingWorld, members: dict[str, Any]) -> None:
    call = world.call("rm -rf build")
    world.approved(call)
    rewritten(world, members)
    assert code(world, call) == "approval.pending"


@pytest.mark.parametrize("kept", ["the other meaning", "none"])
def test_a_meaning_that_is_not_that_of_the_binding_does_not_count(world: ChangingWorld, kept: str) -> None:
    """Signers sign the binding: who has the key only cannot exchange the meaning below it."""
    world.link("w/cache", "Pictures")
    call = world.call("rm -rf cache/*")
    world.approved(call)
    world.link("w/cache", "Documents")
    own = (world.state / "toolguard" / "key").read_bytes()
    other = msgspec.to_builtins(meaning(world, call)) if kept == "the other meaning" else None
    rewritten(world, {"meaning": other}, own)
    assert code(world, call) == "approval.pending"


def test_a_later_kind_of_meaning_covers_nothing(world: ChangingWorld) -> None:
    call = world.call("rm -rf build")
    now = meaning(world, call)
    later = msgspec.structs.replace(now, v=now.v + 1)
    assert not call_meaning.covers(later, now)
    assert bind_meaning(later) != bind_meaning(now)


def test_a_denial_holds_wherever_a_link_leads(world: ChangingWorld) -> None:
    world.link("w/cache", "Pictures")
    call = world.call("rm -rf cache/*")
    entry = world.ask(call).entry
    assert entry is not None
    world.store.deny(entry.nonce, ME, world.now, 300)
    world.link("w/cache", "Documents")
    assert code(world, call) == "approval.denied"


@pytest.mark.parametrize("ended", ["denied", "unanswered", "lapsed", "used"])
def test_what_is_new_is_said_however_the_call_ended_that_was_shown(world: ChangingWorld, ended: str) -> None:
    world.put("w/deploy.sh", "ls\n")
    call = world.call("sh deploy.sh")
    nonce = world.approved(call) if ended in ("lapsed", "used") else None
    if ended == "used":
        assert code(world, call) == "approval.consumed"
    elif nonce is None:
        entry = world.ask(call).entry
        assert entry is not None
        nonce = entry.nonce
        if ended == "denied":
            world.store.deny(nonce, ME, world.now, 300)
    world.now += 3_600
    world.put("w/deploy.sh", "rm -rf ~\n")
    again = world.ask(call).entry
    assert again is not None
    assert "~/w/deploy.sh has changed since" in again.changes
    assert f"Not as it was shown under {nonce}" in again.reason


def test_what_was_used_for_a_call_that_did_not_run_is_given_back_as_it_was(world: ChangingWorld) -> None:
    world.link("w/cache", "Pictures")
    call = world.call("rm -rf cache/*")
    world.approved(call)
    used = world.ask(call).entry
    assert used is not None
    world.approvals.keep(used)
    world.approvals.give_back()
    world.link("w/cache", "Documents")
    assert code(world, call) == "approval.pending"
    world.link("w/cache", "Pictures")
    assert [code(world, call) for _ in range(2)] == ["approval.consumed", "approval.pending"]


def test_more_names_than_are_looked_at(world: ChangingWorld) -> None:
    folder = world.work / "many"
    folder.mkdir()
    for number in range(MAX_NAMES + 10):
        (folder / f"{number}").touch()
    call = world.call("chmod 777 many/*")
    world.approved(call)
    assert code(world, call) == "approval.consumed"
    world.approved(call)
    world.link("w/many/other", "Documents")
    assert code(world, call) == "approval.pending"


def test_many_names_of_others_beside_what_is_deleted(world: ChangingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(world_reader, "MAX_NAMES", 20)
    for number in range(30):
        world.put(f"w/tmp/other-{number}", "")
    call = world.call("rm -rf tmp/mine-*")
    world.approved(call)
    world.put("w/tmp/other")
    world.link("w/tmp/mine-1", "Documents")
    assert code(world, call) == "approval.consumed"


def test_more_than_is_kept() -> None:
    def of(count: int) -> Meaning:
        paths = [f"/srv/{'x' * 180}/{number}" for number in range(count)]
        named = Named("/w", tuple(NamedTarget("delete", path, path) for path in paths))
        return call_meaning.derive(named, SeenPlaces("/w", tuple(map(SeenTarget, paths)), {}))

    large, same, other = of(60), of(60), of(61)
    assert large.gap.startswith(TOO_LARGE)
    assert len(msgspec.json.encode(large)) < 500
    assert call_meaning.covers(large, same)
    assert not call_meaning.covers(large, other)


def test_many_words_are_looked_at(world: ChangingWorld) -> None:
    call = world.call("scp " + " ".join(f"a{number}" for number in range(200)) + " me@host:/srv")
    world.approved(call)
    assert code(world, call) == "approval.consumed"
    world.approved(call)
    world.put("w/a199")
    assert code(world, call) == "approval.pending"


def test_what_is_changed_behind_many_targets_is_seen(world: ChangingWorld) -> None:
    world.link("w/cache", "Pictures")
    call = world.call("rm -rf " + " ".join(f"a{number}" for number in range(100)) + " cache/*")
    world.approved(call)
    assert code(world, call) == "approval.consumed"
    world.approved(call)
    world.link("w/cache", "Documents")
    again = world.ask(call)
    assert (again.verdict.code, again.fresh) == ("approval.pending", True)


def test_no_approval_covers_more_words_than_can_be_looked_at(world: ChangingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_places, "MAX_WORDS", 8)
    call = world.call("scp " + " ".join(f"a{number}" for number in range(9)) + " me@host:/srv")
    world.approved(call)
    assert meaning(world, call).gap == MANY
    again = world.ask(call)
    assert (again.verdict.code, again.fresh) == ("approval.pending", True)
    assert again.entry is not None
    assert "make it in smaller parts" in again.entry.changes[0]


def test_a_script_that_is_too_complex_is_bound(world: ChangingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise TooIntricate

    monkeypatch.setattr(reading, "effects", fails)
    world.put("w/deploy.sh", "rm -rf build\n")
    call = world.call("sh deploy.sh")
    world.approved(call)
    assert meaning(world, call).gap == named_places.INTRICATE
    assert code(world, call) == "approval.consumed"
    world.approved(call)
    world.put("w/deploy.sh", "rm -rf ~/Documents\n")
    assert code(world, call) == "approval.pending"


def test_a_call_is_looked_at_once(world: ChangingWorld) -> None:
    """Each look may take most of the time in which a held call is answered."""
    looks = []

    class Counting(WorldReader):
        def look(self, named: Named) -> SeenPlaces:
            looks.append(named)
            return super().look(named)

    world.grant("rm -rf buil*")
    world.link("w/build", "Documents")
    world.approvals._world = Counting()
    assert code(world, world.call("rm -rf build/")) == "approval.pending"
    assert len(looks) == 1


def test_an_approval_for_more_is_not_hidden_by_a_call_that_waits_for_less(world: ChangingWorld) -> None:
    world.put("w/pub/a")
    call = world.call("chmod 777 pub/*")
    assert code(world, call) == "approval.pending"
    world.link("w/pub/docs", "Documents")
    world.approved(call)
    (world.work / "pub/docs").unlink()
    assert code(world, call) == "approval.consumed"


@pytest.mark.parametrize(
    ("first", "second", "covered"),
    [(False, False, True), (True, True, False), (False, True, False), (True, False, True)],
)
def test_a_file_system_that_is_late(world: ChangingWorld, *, first: bool, second: bool, covered: bool) -> None:
    """`first`, `second`: whether it is late when the call is held, and when it is repeated."""

    class Late:
        def look(self, named: Named) -> SeenPlaces:
            return SeenPlaces(named.folder, tuple(SeenTarget(target.path) for target in named.targets), {}, late=True)

    looks = {True: Late(), False: WorldReader()}
    world.approvals._world = looks[first]
    call = world.call("rm -rf build")
    world.approved(call)
    world.approvals._world = looks[second]
    assert (code(world, call) == "approval.consumed") is covered


def test_what_names_too_much_stays_so_however_large_its_meaning_is(
    world: ChangingWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(named_places, "MAX_TARGETS", 50)
    call = world.call("rm -rf " + " ".join(f"some/folder/with/a/long/name/{number}" for number in range(60)))
    world.approved(call)
    assert meaning(world, call).gap == MANY
    assert code(world, call) == "approval.pending"


def test_a_program_that_runs_often_is_looked_at_once(world: ChangingWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(named_places, "MAX_READ", 40)
    world.put("w/list", "a")
    call = world.call("mystery --list list;" * 30 + "rm -rf build")
    world.approved(call)
    assert code(world, call) == "approval.consumed"
    world.approved(call)
    world.put("w/list", "b")
    assert code(world, call) == "approval.pending"


def test_a_damaged_meaning_is_a_damaged_store(world: ChangingWorld) -> None:
    call = world.call("rm -rf build")
    world.approved(call)
    rewritten(world, {"meaning": {"v": "one"}})
    with pytest.raises(StoreError):
        world.store.entries()
    assert world.ask(call).verdict.decision != "allow"


def test_more_paths_in_code_than_are_compared_are_covered_by_no_approval(world: ChangingWorld) -> None:
    names = "".join(f"'n{number}'\n" for number in range(code_literals.MAX_LITERALS))
    world.put("w/clean.py", f"import x\n{names}drop('last')\n")
    assert meaning(world, world.call("python3 clean.py")).gap == MANY


def test_every_view_of_a_call_shows_what_is_new(world: ChangingWorld) -> None:
    world.link("w/cache", "Pictures")
    call = world.call("rm -rf cache/*")
    world.approved(call)
    world.link("w/cache", "Documents")
    entry = world.ask(call).entry
    assert entry is not None
    line = "now also: delete ~/Documents"
    assert line in entry.changes
    held = held_view.view(entry)
    in_chat = chat_view.view(entry, held, world.now).lines
    beside_others = chat_view.several([(entry, held)], world.now)[0].lines
    for shown in (in_chat, beside_others, held_calls.details(entry, world.now)):
        assert f"new: {line}" in [text.strip() for text in shown]
    assert line in held_calls.public(entry, world.now)["changes"]
    assert "meaning" not in held_calls.public(entry, world.now)


def test_the_store_takes_as_many_calls_of_the_largest_kind_as_may_be_open_and_closed() -> None:
    path = "/srv/" + "x" * (call_meaning.MAX_TEXT - 5)
    targets = tuple(NamedTarget("delete", path, f"{path[:-2]}{number:02}") for number in range(100))

    def of(count: int) -> Meaning:
        seen = SeenPlaces("/w", tuple(SeenTarget(target.path) for target in targets[:count]), {})
        return call_meaning.derive(Named("/w", targets[:count]), seen, "0" * 64)

    largest = max((of(count) for count in range(100)), key=lambda each: len(msgspec.json.encode(each)))
    assert call_meaning.MAX_SIZE - 600 < len(msgspec.json.encode(largest)) <= call_meaning.MAX_SIZE
    held = HeldCall(
        nonce="0" * 8, binding="0" * 64, tool="exec", agent="a" * 60, session="s" * 200, run="r" * 60, code="c" * 60,
        reason="r" * 1_000, shown="x" * approval.MAX_CALL, created=1e9, expires=1e9, meaning=largest,
    )  # fmt: skip
    closed = msgspec.structs.replace(held, shown="x" * ledger.MAX_CLOSED_SHOWN)
    size = ledger.MAX_OPEN * len(msgspec.json.encode(held)) + ledger.MAX_CLOSED * len(msgspec.json.encode(closed))
    assert size < locked.MAX_BYTES
