"""What the fleet's database may answer a gateway, also with entries that were signed with the gateway's stolen key: nothing
runs but what the approvers saw, with as many of them as the call needs. Real keys, and a pipe that is played."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from ssh_signers import SshRoom, sign
from toolguard_engine.approvals import signed_decision
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.approvals.needed_approvals import ApproverPolicy, ApproverRule
from toolguard_engine.approvals.signed_decision import Issuer
from toolguard_engine.config import settings
from toolguard_engine.model.held_details import HeldDetails, HeldEffect
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.server import store_queue
from toolguard_engine.server.clock import SystemClock
from toolguard_engine.server.held_calls_step import HeldCalls
from toolguard_engine.server.output import Output
from toolguard_engine.server.pipe import DescriptorPipe
from toolguard_engine.stores import open as stores
from toolguard_engine.stores import signed_entry
from toolguard_engine.stores.files import signing_key_file
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.fleet import pipe_messages as pipe
from toolguard_engine.stores.fleet.courier_link import FleetAwayError
from toolguard_engine.stores.fleet.fleet_held_calls import MAX_FORGED_LINES, FleetHeldCalls
from toolguard_engine.stores.fleet.fleet_log import FleetLog
from toolguard_engine.stores.fleet.fleet_proof import FleetGrantSigners, FleetSigners
from toolguard_engine.stores.fleet.fleet_setup import FleetSetup
from toolguard_engine.stores.fleet.local_fallback import LocalFallback
from toolguard_engine.stores.fleet.local_marks import LocalMarks, UsedBeforeError
from toolguard_engine.wire import messages

GATEWAY, TEAM = "gw-0123456789abcdef", "ops"
NONCE = "3f9a51c2d07b"
DELETES = HeldDetails((HeldEffect("delete", "build"),), stakes=9)
READS = HeldDetails((HeldEffect("read", "build"),), stakes=1)
TWO_DELETE = ApproverPolicy(TEAM, (ApproverRule(("delete",), 8, 2),))


class PlayedLink:
    """`play` answers each question."""

    def __init__(self) -> None:
        self.asked: list[pipe.Question] = []
        self.play: Callable[[pipe.Question], pipe.Answer] = lambda question: pipe.AwayAnswer(question.id, "not played")

    def ask(self, make: Callable[[int, float], pipe.Question], seconds: float) -> pipe.Answer:
        question = make(len(self.asked) + 1, seconds)
        self.asked.append(question)
        return self.play(question)

    def wait_for(self, nonces: tuple[str, ...]) -> None: ...


class Stage:
    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        self.room = SshRoom(folder / "trust")
        self.key = self.room.key("anna")
        self.room.allow("anna@example.com", self.key)
        self.link = PlayedLink()
        self.policy: ApproverPolicy | None = None
        proof = FleetSigners(self.state, self.room.folder, TEAM, lambda: GATEWAY, lambda: self.policy)
        self.calls = FleetHeldCalls(
            FleetSetup(
                self.state, lambda: GATEWAY, self.link, FleetLog(AuditLog(self.state), "gw"), proof, LocalMarks(self.state),
                1.0, 60.0,
            )
        )  # fmt: skip

    @staticmethod
    def request(**changed: Any) -> HeldCall:
        now = time.time()
        made = HeldCall(
            nonce="", binding="ab" * 32, tool="exec", agent="main", session="s", run="r", code="tool.exec",
            reason="exec asks", shown="rm -rf /srv/data", created=now, expires=now + 300, details=DELETES,
        )  # fmt: skip
        return structs.replace(made, **changed)

    def stored(self, entry: HeldCall) -> bytes:
        """As a program writes it that has read the gateway's key."""
        return bytes(signed_entry.signed(signing_key_file.load(self.state), entry))

    def approved(self, shown: HeldCall) -> Callable[[pipe.Question], pipe.Answer]:
        """Anna has approved what she was shown, and the database says so."""
        entry = structs.replace(shown, nonce=NONCE)
        body = signed_decision.decision_body(entry, Issuer(GATEWAY, TEAM), time.time() + 60)
        yes = pipe.SignedVerdict("anna", "approved", body, sign(body, self.key).encode())

        def play(question: pipe.Question) -> pipe.Answer:
            return pipe.PresentAnswer(
                question.id, "used", NONCE, self.stored(entry), left=60.0, at=time.time(), decisions=(yes,)
            )

        return play

    def events(self) -> list[str]:
        self.calls.write_log()
        return [event["event"] for event in stores.audit_log(self.state).events()]


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path)


def test_what_was_shown_runs_once(stage: Stage) -> None:
    stage.link.play = stage.approved(stage.request())
    assert stage.calls.present(stage.request(), time.time()).outcome == "used"
    again = stage.calls.present(stage.request(), time.time())
    assert (again.outcome, again.refusal) == ("expired", "it was used on this machine before")


@pytest.mark.parametrize(
    "changed",
    [{"shown": "ls"}, {"tool": "read"}, {"agent": "other"}, {"session": "t"}, {"cwd": "/tmp"}, {"whole": False}],
    ids=lambda changed: next(iter(changed)),
)
def test_an_approval_of_another_text_lets_nothing_run(stage: Stage, changed: dict[str, Any]) -> None:
    """The binding is that of the call, but approvers saw something else."""
    stage.link.play = stage.approved(stage.request(**changed))
    found = stage.calls.present(stage.request(), time.time())
    assert found.outcome == "expired"
    assert "different call" in found.refusal
    assert stage.events() == ["forged"]


def test_a_waiting_entry_of_another_text_is_replaced(stage: Stage) -> None:
    """Before anybody approves it."""
    forged = stage.stored(structs.replace(stage.request(shown="ls"), nonce=NONCE))

    def play(question: pipe.Question) -> pipe.Answer:
        if isinstance(question, pipe.Close):
            return pipe.DoneAnswer(question.id, done=True)
        assert isinstance(question, pipe.Present)
        if any(isinstance(each, pipe.Close) for each in stage.link.asked):
            return pipe.PresentAnswer(question.id, "pending", question.nonce, question.entry, fresh=True, left=300.0)
        return pipe.PresentAnswer(question.id, "pending", NONCE, forged, left=300.0)

    stage.link.play = play
    found = stage.calls.present(stage.request(), time.time())
    assert (found.outcome, found.entry.shown) == ("pending", "rm -rf /srv/data")
    assert found.entry.nonce != NONCE
    assert sorted(stage.events()) == ["forged", "hold"]


def test_harmless_details_do_not_lower_what_a_call_needs(stage: Stage) -> None:
    stage.policy = TWO_DELETE
    stage.link.play = stage.approved(stage.request(details=READS))
    found = stage.calls.present(stage.request(), time.time())
    assert (found.outcome, "1 of 2" in found.refusal) == ("expired", True)


def test_times_without_end_are_no_error(stage: Stage) -> None:
    """A date beyond the calendar would break the audit log."""
    answer = stage.approved(stage.request())

    def play(question: pipe.Question) -> pipe.Answer:
        found = answer(question)
        assert isinstance(found, pipe.PresentAnswer)
        return structs.replace(found, left=1e300, at=-1e300)

    stage.link.play = play
    assert stage.calls.present(stage.request(), time.time()).outcome == "used"
    assert stage.events() == ["hold", "approve", "consume"]


def test_entries_of_others_do_not_fill_the_audit_log(stage: Stage) -> None:
    others = tuple(pipe.FleetEntry(f"{number:012x}", "pending", b"{}") for number in range(200))
    stage.link.play = lambda question: pipe.EntriesAnswer(question.id, others)
    assert stage.calls.entries() == []
    assert stage.events() == ["forged"] * MAX_FORGED_LINES


class GrantStage:
    """A grant of anna, signed."""

    def __init__(self, stage: Stage, *, may_be_writable: bool) -> None:
        self.signers = FleetGrantSigners(stage.state, stage.room.folder, may_be_writable=may_be_writable)
        self.grant = Grant("g-1", "exec", "rm -rf build", created=1.0)
        body = signed_decision.grant_body(self.grant, self.signers.issuer)
        signature = sign(body, stage.key, signed_decision.GRANT_NAMESPACE)
        self.signers.keep_grant(self.grant, SignedBody(body.decode(), signature))

    def counts(self) -> bool:
        return self.signers.allows(self.grant)


def test_no_grant_counts_while_the_gateways_user_can_change_the_signers(stage: Stage) -> None:
    """The folder of the test is this user's."""
    assert GrantStage(stage, may_be_writable=True).counts()
    with pytest.raises(FleetAwayError, match="chang"):
        GrantStage(stage, may_be_writable=False).counts()


def test_a_list_of_revoked_keys_that_is_added_later_ends_a_grant(stage: Stage) -> None:
    granted = GrantStage(stage, may_be_writable=True)
    assert granted.counts()
    stage.room.revoke(stage.key)
    assert not granted.counts()


def test_what_is_held_here_while_the_fleet_is_away_needs_a_signature_where_signers_are_named(stage: Stage) -> None:
    """Also if the store's own key signed the approval."""
    named = {"approval": {"signers": str(stage.room.allowed)}}
    fleet = {"enabled": True, "dsn": "host=/nowhere", "team": TEAM, "whenAway": "local", "trust": str(stage.room.folder)}
    held = HeldCalls(Output(DescriptorPipe(0, 1)), SystemClock(), store_queue.at_once(), 1.0)
    hello = messages.Hello(1, 1, str(stage.state))
    approvals = held.open(hello, settings.parse({**named, "fleet": fleet}))
    request, local = stage.request(), stores.held_calls(stage.state)
    entry = local.present(request, time.time()).entry
    local.approve(entry.nonce, Decision("anna", "cli"), time.time(), 60.0)
    found = approvals._nonces.present(request, time.time())
    assert (found.outcome, found.refusal) == ("expired", "it is not signed")
    held.close()


def test_an_approval_that_cannot_be_given_back_blocks_nothing_that_is_held_here(stage: Stage) -> None:
    """With `fleet.whenAway` "local": what cannot be given back is tried before each call."""
    stage.link.play = stage.approved(stage.request())
    used = stage.calls.present(stage.request(), time.time()).entry

    def away(question: pipe.Question) -> pipe.Answer:
        raise FleetAwayError("it is away")

    stage.link.play = away
    both = LocalFallback(stage.calls, stores.held_calls(stage.state), lambda: GATEWAY)
    assert both.give_back(used, time.time()) is None
    assert both.present(stage.request(shown="ls", binding="cd" * 32), time.time()).outcome == "pending"


@pytest.mark.parametrize("harm", [Path.unlink, lambda path: path.write_bytes(b"")], ids=["removed", "emptied"])
def test_a_process_remembers_its_own_marks(tmp_path: Path, harm: Callable[[Path], object]) -> None:
    marks = LocalMarks(tmp_path)
    marks.use(NONCE, b"a" * 16)
    harm(marks.path)
    with pytest.raises(UsedBeforeError):
        marks.use(NONCE, b"b" * 16)
    marks.give_back(NONCE, b"a" * 16)
    marks.use(NONCE, b"b" * 16)
