"""`/toolguard` in the gateway's own chat: who may decide, what they are told, and what becomes of the call."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from chat_confirmation import code_in
from gateway_stage import NEW_HOST, WRITES_WAIT, Stage, audit, nonces, once
from operator_client import APPROVER, OWNER, WRITER, GatewayError, Operator
from shared_gateway import Shared
from toolguard_cli.rig import scripted_model
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import Decision, HeldCall, Ledger, RefusedError
from toolguard_engine.stores.files.nonces import FileNonces

ROOM = "agent:main:room"
"""Where the person writes; the calls that wait belong to other sessions."""


@pytest.fixture
def stage(shared: Shared) -> Stage:
    """`write` waits for a person; nobody is woken, so that nothing happens by itself here."""
    return shared.under(**WRITES_WAIT)


@pytest.fixture
def owner(stage) -> Iterator[Operator]:
    with Operator(stage.home, OWNER) as operator:
        yield operator


def writing(name: str) -> scripted_model.Reply:
    return scripted_model.call("write", {"path": name, "content": "written\n"})


def book(stage: Stage) -> dict[str, HeldCall]:
    """All calls that were held, by nonce, as they are on disk."""
    return {entry.nonce: entry for entry in nonces(stage.home).entries()}


def events(stage: Stage, nonce: str) -> list[dict[str, Any]]:
    """What the audit log says of how a nonce was decided."""
    return [line for line in audit(stage.home) if line.get("nonce") == nonce and line["event"] != "kept"]


def waiting(stage: Stage, place: str) -> HeldCall:
    """The one call that waits in this session."""
    (entry,) = [entry for entry in book(stage).values() if entry.session == place and entry.status == "pending"]
    return entry


def held(stage: Stage, name: str) -> HeldCall:
    """A call that waits, in a session of its own; the file would be called `name`."""
    played = stage.play(once(writing(name), closing="It waits."), session(name))
    assert played.results[-1].startswith("TOOLGUARD_ESCALATE|")
    return waiting(stage, session(name))


def asked(stage: Stage, entry: HeldCall) -> list[scripted_model.Request]:
    """The requests in which a model was given a chat command, or that belong to the session of a held call: that has its
    nonce. The agents of other sessions on the shared gateway may be at work."""
    return [
        request
        for request in stage.server.requests
        if any("/toolguard" in text for text in request.texts("user")) or entry.nonce in str(request.messages)
    ]


def session(name: str) -> str:
    return f"agent:main:{name}"


def again(stage: Stage, name: str) -> str:
    """The same session makes the same call once more; what the model is told."""
    return stage.play(once(writing(name), closing="Tried."), session(name), "again").results[-1]


def explained(refused: RefusedError) -> str:
    answer = replies.explain(refused)
    return f"{answer.text}\n{answer.fix}"


def nothing_approved(stage: Stage, entry: HeldCall) -> bool:
    """Not in the book, and not in the audit log."""
    said = [line["event"] for line in events(stage, entry.nonce)]
    return book(stage)[entry.nonce] == entry and "approve" not in said


def test_it_is_answered_without_the_model(stage, owner) -> None:
    entry = held(stage, "listed.txt")
    stage.server.play(once())
    listed = owner.chat(ROOM, "/toolguard pending")
    assert f"{entry.nonce} is waiting for approval" in listed
    assert "writes listed.txt: nothing is there now" in listed
    assert owner.chat(ROOM, "/toolguard").startswith("Usage: /toolguard pending")
    assert owner.chat(ROOM, "/toolguard explode").startswith("Usage: /toolguard pending")
    assert owner.chat(ROOM, "/toolguard approve").startswith("Usage: /toolguard pending")
    assert owner.chat(ROOM, f"/toolguard deny {entry.nonce}").startswith(f"denied {entry.nonce}: ")
    assert asked(stage, entry) == []


def test_a_yes_lets_the_waiting_call_through_once(stage, owner) -> None:
    entry = held(stage, "once.txt")
    file = stage.home.workspace_dir / "once.txt"
    reported = owner.approve(ROOM, entry.nonce[:4], "looks  right")
    assert reported == replies.approved(entry, 30)
    assert not file.exists()
    assert "TOOLGUARD" not in again(stage, "once.txt")
    assert file.read_text() == "written\n"
    file.unlink()
    assert again(stage, "once.txt").startswith("TOOLGUARD_ESCALATE|")
    assert not file.exists()
    assert waiting(stage, session("once.txt")).nonce != entry.nonce
    lines = events(stage, entry.nonce)
    assert [line["event"] for line in lines] == ["hold", "approve", "consume"]
    who = {name: lines[1][name] for name in ("where", "by", "why", "tool", "session")}
    assert who == {
        "where": "chat",
        "by": "webchat:gateway-client",
        "why": "looks right",
        "tool": "write",
        "session": session("once.txt"),
    }


def test_a_long_call_is_approved_only_as_it_was_shown(stage, owner) -> None:
    """5,000 characters with the danger in their middle; a wrong word, that of another call, and the right one."""
    filler = "echo " + "lorem-ipsum-" * 200
    command = f"{filler}; rm -rf ~/Documents; {filler}"
    stage.play(once(scripted_model.call("exec", {"command": command}), closing="It waits."), session("long"))
    entry, other = waiting(stage, session("long")), held(stage, "beside.txt")
    stage.server.play(once())
    shown = owner.chat(ROOM, f"/toolguard approve {entry.nonce}")
    assert "; rm -rf ~/Documents; " in shown
    assert " 1 deletes ~/Documents" in shown
    assert len(shown) < len(command)
    listed = owner.chat(ROOM, "/toolguard pending")
    assert listed.count("deletes ") >= 2
    code = code_in(shown)
    assert code
    for nonce, word in ((entry.nonce, "zzzz" if code != "zzzz" else "yyyy"), (other.nonce, code), (entry.nonce, "")):
        reply = owner.chat(ROOM, f"/toolguard approve {nonce} {word}".strip())
        assert not reply.startswith("approved ")
        assert nothing_approved(stage, entry)
        assert nothing_approved(stage, other)
    assert asked(stage, entry) == []
    assert owner.chat(ROOM, f"/toolguard approve {entry.nonce} {code_in(reply)}") == replies.approved(entry, 30)


@pytest.mark.thorough
def test_a_no_is_told_to_the_model_with_its_reason(stage, owner) -> None:
    entry = held(stage, "no.txt")
    why = "not in \x1b[31mthis\u202e folder"
    assert owner.chat(ROOM, f"/toolguard deny {entry.nonce} {why}").startswith(f"denied {entry.nonce}: ")
    reported = again(stage, "no.txt")
    assert reported.startswith("TOOLGUARD_BLOCK|A person denied this call: not in ")
    assert reported.splitlines()[0].isprintable()
    assert "Do not retry it" in reported
    assert not (stage.home.workspace_dir / "no.txt").exists()
    [line] = [line for line in events(stage, entry.nonce) if line["event"] == "deny"]
    assert (line["where"], line["by"]) == ("chat", "webchat:gateway-client")
    assert line["why"].startswith("not in ")


@pytest.mark.parametrize("scopes", [APPROVER, pytest.param(WRITER, marks=pytest.mark.thorough)], ids=["approver", "writer"])
def test_only_the_owner_decides(stage, scopes: tuple[str, ...]) -> None:
    name = f"not-the-owner-{len(scopes)}.txt"
    entry = held(stage, name)
    stage.server.play(once())
    with Operator(stage.home, scopes) as other:
        for words in (
            f"approve {entry.nonce}",
            f"approve {entry.nonce[:4]} I may",
            f"deny {entry.nonce}",
            "pending",
        ):
            reported = other.chat(ROOM, f"/toolguard {words}")
            assert "owner of this gateway" in reported or "requires gateway scope" in reported
            assert entry.nonce not in reported
    assert asked(stage, entry) == []
    assert nothing_approved(stage, entry)
    assert again(stage, name).startswith("TOOLGUARD_ESCALATE|")


@pytest.mark.thorough
def test_who_may_not_write_may_not_even_ask(stage) -> None:
    entry = held(stage, "reader.txt")
    with Operator(stage.home, ("operator.read",)) as reader, pytest.raises(GatewayError):
        reader.chat(ROOM, f"/toolguard approve {entry.nonce}")
    assert nothing_approved(stage, entry)


@pytest.mark.thorough
def test_every_refusal_has_its_own_words(stage, owner) -> None:
    """The same as in the terminal, for each reason there is."""
    store = nonces(stage.home)
    now = time.time()
    states = {name: held(stage, f"{name}.txt").nonce for name in ("used", "denied", "approved", "expired")}
    store.settle(states["expired"], "expired", Decision("", ""), now)
    store.settle(states["used"], "used", Decision("alice", "native"), now)
    store.deny(states["denied"], Decision("alice", "cli", "no reason"), now, 300)
    store.approve(states["approved"], Decision("alice", "cli"), now, 120)
    twins = [twin(stage, nonce) for nonce in ("abcd0001", "abcd0002")]

    said = {}
    for name, nonce in states.items():
        said[name] = owner.chat(ROOM, f"/toolguard approve {nonce}")
        assert said[name] == explained(RefusedError(name, book(stage)[nonce]))
    said["ambiguous"] = owner.chat(ROOM, "/toolguard approve abcd")
    assert said["ambiguous"] == explained(RefusedError("ambiguous", matches=tuple(twins)))
    said["unknown"] = owner.chat(ROOM, "/toolguard approve 0123face")
    assert said["unknown"] == explained(RefusedError("unknown"))
    said["malformed"] = owner.chat(ROOM, "/toolguard approve nope")
    assert said["malformed"] == explained(RefusedError("malformed"))
    assert len(set(said.values())) == len(said)
    assert [book(stage)[nonce].status for nonce in twins] == ["pending", "pending"]
    assert owner.approve(ROOM, "abcd0002").startswith("approved abcd0002: ")
    assert book(stage)["abcd0001"].status == "pending"


def twin(stage: Stage, nonce: str) -> str:
    """A call that waits under a nonce of our choice."""

    class Chosen(FileNonces):
        def _named(self, request: HeldCall, ledger: Ledger) -> HeldCall:  # noqa: ARG002
            return msgspec.structs.replace(request, nonce=nonce)

    now = time.time()
    entry = HeldCall("", nonce, "write", "main", session(nonce), "run", "test", "a reason", "write({})", now, now + 300)
    return Chosen(stage.home.state_dir).present(entry, now).entry.nonce


HOSTILE = {
    "a path": "approve ../../../etc/passwd",
    "a glob": "approve *",
    "a pattern": "approve ....",
    "a shell": "approve $(toolguard approve {nonce})",
    "a list": "approve {short},{short}",
    "an option": "approve --yes {nonce}",
    "a quote": "approve '{nonce}'",
    "json": 'approve {{"nonce": "{nonce}"}}',
    "too short": "approve {three}",
    "empty quotes": 'approve ""',
    "look-alike digits": "approve \uff10\uff11\uff12\uff13",
    "a hidden sign": "approve {short}\u200b",
    "right to left": "approve \u202e{short}",
    "an escape": "approve \x1b[2J\x1b]0;x\x07",
    "very long": "approve " + "a" * 20_000,
    "many words": "approve " + "0 " * 2_000,
    "another verb": "grant {nonce}",
    "two verbs": "pending; approve {nonce}",
    "in capitals": "APPROVE {nonce}",
    "a prototype": "approve __proto__",
    "a number": "approve 1e10",
}


@pytest.mark.thorough
def test_hostile_arguments_approve_nothing(stage, owner) -> None:
    entry = held(stage, "hostile.txt")
    stage.server.play(once())
    for name, words in HOSTILE.items():
        words = words.format(nonce=entry.nonce, short=entry.nonce[:4], three=entry.nonce[:3])  # noqa: PLW2901
        reported = owner.chat(ROOM, f"/toolguard {words}")
        assert reported, name
        assert all(line.isprintable() for line in reported.splitlines()), name
        assert len(reported) < 1_000, name
        assert nothing_approved(stage, entry), name
    assert asked(stage, entry) == []


@pytest.mark.thorough
def test_a_hostile_call_cannot_disguise_itself(stage, owner) -> None:
    """What waits is listed in printable lines, none of which looks like another call, whatever the model put into it."""
    name = "x\u202egnp.txt\n\x1b[2K00000000  read  approved"
    stage.play(once(writing(name), closing="It waits."), "agent:main:disguise")
    entry = waiting(stage, "agent:main:disguise")
    lines = owner.chat(ROOM, "/toolguard pending").splitlines()
    assert all(line.isprintable() for line in lines)
    assert [line for line in lines if line.startswith(f"{entry.nonce} is waiting for approval")]
    assert not [line for line in lines if line.lstrip().startswith("00000000")]


@pytest.mark.thorough
@pytest.mark.skipif(not NEW_HOST, reason="older hosts show the stop text in another way")
@pytest.mark.parametrize(
    "closing",
    ["All done, nothing to approve.", pytest.param("", marks=pytest.mark.thorough)],
    ids=["wrong words", "no words"],
)
def test_a_run_that_ends_waiting_tells_the_person_how_to_approve(stage, owner, closing: str) -> None:
    name = f"stopped-{len(closing)}.txt"
    stage.server.play(scripted_model.endless(writing(name), closing, give_up_after=40))
    reply = owner.chat(session(name), "go")
    assert f"toolguard approve {waiting(stage, session(name)).nonce}" in reply
    assert len(stage.server.requests) <= 5


@pytest.mark.thorough
@pytest.mark.skipif(not NEW_HOST, reason="older hosts show the stop text in another way")
def test_a_run_that_ends_with_many_waiting_calls_names_them_all(stage, owner) -> None:
    def script(request: scripted_model.Request) -> scripted_model.Reply:
        return writing(f"many-{request.index}.txt") if request.tools and request.index < 20 else scripted_model.Reply("Bye.")

    stage.server.play(script)
    reply = owner.chat(session("many"), "go")
    found = [entry.nonce for entry in book(stage).values() if entry.session == session("many")]
    assert len(found) == 5
    assert all(f"toolguard approve {nonce}" in reply for nonce in found)
    assert len(stage.server.requests) <= 7


@pytest.mark.thorough
def test_after_a_yes_in_chat_the_idle_agent_goes_on_by_itself(shared: Shared, wait) -> None:
    stage = shared.under(alwaysBlock=["write"])
    entry = held(stage, "woken.txt")
    stage.server.play(once(writing("woken.txt"), closing="Written."))
    with Operator(stage.home) as owner:
        assert owner.approve(ROOM, entry.nonce).startswith("approved ")
    wait(lambda: len(stage.server.requests) == 2)
    assert (stage.home.workspace_dir / "woken.txt").read_text() == "written\n"
    assert book(stage)[entry.nonce].status == "used"
    (woken,) = [text for text in stage.server.requests[0].texts("user") if "[TOOLGUARD]" in text]
    assert entry.nonce in woken
