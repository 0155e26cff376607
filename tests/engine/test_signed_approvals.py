"""Where the settings name signers, an approval or a grant counts only with a valid signature over just what it is for."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ssh_signers import SshRoom, sign
from toolguard_engine.approvals import signed_decision
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.approvals.signed_decision import GRANT_NAMESPACE, Issuer
from toolguard_engine.config.settings import parse
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.model.held_details import HeldDetails, HeldEffect
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.server.held_call_decisions import Approvals, Settled
from toolguard_engine.stores import approval_signers, ssh_keygen
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.state_files import GRANT_SIGNATURES
from toolguard_engine.wire import messages

NOW = 1_900_000_000.0
PERSON = Decision("ann", "cli")
HOLD = Verdict(
    "hold",
    "rule.recursive-delete",
    reason="It deletes whole folders.",
    details=HeldDetails((HeldEffect("delete", "build", "/w/build", ("recursive",)),)),
)
CALL = Call("exec", {"command": "rm -rf build"}, agent="main", session="agent:main:main", run="r", cwd="/w")
OTHER = Call("exec", {"command": "rm -rf /srv"}, agent="main", session="agent:main:main", run="r", cwd="/w")


class SignedDesk:
    """Approvals of an engine whose settings name signers, and a person with an allowed key (`ann`)."""

    def __init__(self, folder: Path) -> None:
        self.state = folder / "state"
        (self.state / "toolguard").mkdir(parents=True)
        self.room = SshRoom(folder / "keys")
        self.ann = self.room.key("ann")
        self.room.allow("ann@example.com", self.ann)
        self.now = NOW
        self.restart()

    def restart(self, revoked: Path | None = None) -> None:
        """Another engine on the same files."""
        approval = {"signers": str(self.room.allowed), **({"revokedSigners": str(revoked)} if revoked else {})}
        self.config = parse({"approval": approval})
        self.signers = stores.signers(self.state, str(self.room.allowed), str(revoked or ""))
        self.store = stores.held_calls(self.state, proof=self.signers)
        self.grants = stores.grants(self.state)
        self.approvals = Approvals(self.store, self.grants, lambda: self.now, self.signers)

    def ask(self, call: Call = CALL) -> Settled:
        settled = self.approvals.settle(HOLD, call, self.config)
        self.approvals.write_log()
        return settled

    def held(self, call: Call = CALL) -> HeldCall:
        settled = self.ask(call)
        assert settled.verdict.decision == "hold"
        assert settled.entry is not None
        return settled.entry

    def body(self, entry: HeldCall, **changed: Any) -> bytes:
        issuer = changed.pop("issuer", Issuer(approval_signers.gateway_id(self.state)))
        return signed_decision.decision_body(entry, issuer, changed.pop("until", self.now + 60), **changed)

    def approve(self, entry: HeldCall, *signed: SignedBody) -> None:
        """As the command line does, or as a program that reads the store's key."""
        self.store.approve(entry.nonce, PERSON, self.now, 30, signatures=signed)

    def signed(self, entry: HeldCall, key: Path | None = None, namespace: str = "toolguard-decision") -> SignedBody:
        body = self.body(entry)
        return SignedBody(body.decode(), sign(body, key or self.ann, namespace))

    def code(self, call: Call = CALL) -> str:
        verdict = self.ask(call).verdict
        return f"{verdict.decision} {verdict.code}"

    def events(self) -> list[str]:
        return [event["event"] for event in stores.audit_log(self.state).events()]


@pytest.fixture
def desk(tmp_path: Path) -> SignedDesk:
    return SignedDesk(tmp_path)


def test_a_signed_approval_lets_the_call_run_once(desk: SignedDesk) -> None:
    entry = desk.held()
    desk.approve(entry, desk.signed(entry))
    assert desk.code() == "allow approval.consumed"
    assert desk.code() == "hold approval.pending"
    assert desk.events() == ["hold", "approve", "consume", "hold"]


def test_an_approval_without_signature_is_closed_and_the_call_is_held_anew(desk: SignedDesk) -> None:
    entry = desk.held()
    desk.approve(entry)
    settled = desk.ask()
    assert settled.verdict.decision == "block"
    assert settled.verdict.code == "approval.unsigned"
    assert settled.verdict.text.startswith("TOOLGUARD_BLOCK|This call did not run: the approval of ")
    assert "in a terminal, which signs the approval" in desk.ask().verdict.text
    assert desk.held().nonce != entry.nonce
    assert desk.events() == ["hold", "approve", "forged", "hold"]
    assert not desk.store.look()[0][0].signatures


def unknown_key(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    return desk.signed(entry, desk.room.key("mallory"))


def other_namespace(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    return desk.signed(entry, namespace="git")


def other_call(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    del entry
    return desk.signed(desk.held(OTHER))


def other_text(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    made = desk.signed(entry)
    return SignedBody(desk.body(entry, until=desk.now + 6_000).decode(), made.signature)


def other_gateway(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    body = desk.body(entry, issuer=Issuer("gw-0123456789abcdef"))
    return SignedBody(body.decode(), sign(body, desk.ann))


def of_a_fleet(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    body = desk.body(entry, issuer=Issuer(approval_signers.gateway_id(desk.state), "fleet-1"))
    return SignedBody(body.decode(), sign(body, desk.ann))


def denial(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    body = desk.body(entry, verdict="denied")
    return SignedBody(body.decode(), sign(body, desk.ann))


def of_two(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    body = desk.body(entry, need=2)
    return SignedBody(body.decode(), sign(body, desk.ann))


def over(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    body = desk.body(entry, until=desk.now)
    return SignedBody(body.decode(), sign(body, desk.ann))


def not_canonical(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    body = desk.body(entry) + b" "
    return SignedBody(body.decode(), sign(body, desk.ann))


def more_members(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    body = desk.body(entry).replace(b'"v":1', b'"v":1,"x":1')
    return SignedBody(body.decode(), sign(body, desk.ann))


def garbage(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    return SignedBody(desk.body(entry).decode(), "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n")


def huge(desk: SignedDesk, entry: HeldCall) -> SignedBody:
    return SignedBody(desk.body(entry).decode(), "x" * 100_000)


@pytest.mark.parametrize(
    "forge",
    [
        unknown_key, other_namespace, other_call, other_text, other_gateway, of_a_fleet, denial, of_two, over, not_canonical,
        more_members, garbage, huge,
    ],
)  # fmt: skip
def test_a_signature_of_anything_else_approves_nothing(
    desk: SignedDesk, forge: Callable[[SignedDesk, HeldCall], SignedBody]
) -> None:
    entry = desk.held()
    desk.approve(entry, forge(desk, entry))
    assert desk.code() == "block approval.bad-signature"
    assert desk.code() == "hold approval.pending"
    assert desk.events().count("forged") == 1


def test_a_valid_signature_counts_beside_others_that_do_not(desk: SignedDesk) -> None:
    entry = desk.held()
    desk.approve(entry, garbage(desk, entry), unknown_key(desk, entry), desk.signed(entry))
    assert desk.code() == "allow approval.consumed"


def test_an_entry_that_was_changed_after_signing_approves_nothing(desk: SignedDesk) -> None:
    entry = desk.held()
    signed = desk.signed(entry)
    rewrite(desk, entry.nonce, reason="It only lists files.")
    desk.approve(entry, signed)
    assert desk.code() == "block approval.bad-signature"


def test_a_signature_on_another_text_than_that_of_the_call_approves_nothing(desk: SignedDesk) -> None:
    """The store's key lets a program show `ls` for a call that deletes. A person signs that; the engine compares."""
    entry = desk.held()
    rewrite(desk, entry.nonce, shown='exec({ command: "ls" })')
    shown = next(each for each in desk.store.look()[0] if each.nonce == entry.nonce)
    desk.approve(entry, desk.signed(shown))
    assert desk.code() == "block approval.bad-signature"


def test_what_waits_with_the_text_of_another_call_is_replaced(desk: SignedDesk) -> None:
    entry = desk.held()
    rewrite(desk, entry.nonce, shown='exec({ command: "ls" })')
    again = desk.held()
    assert again.nonce != entry.nonce
    assert "rm -rf build" in again.shown


def test_an_approval_that_is_put_back_after_it_was_used_does_not_count(desk: SignedDesk) -> None:
    entry = desk.held()
    desk.approve(entry, desk.signed(entry))
    kept = desk.store.path.read_bytes()
    assert desk.code() == "allow approval.consumed"
    desk.store.path.write_bytes(kept)
    for part in stores.audit_log(desk.state).files():  # the audit log would show that it was used
        part.unlink()
    assert desk.code() == "block approval.bad-signature"


def test_a_revoked_key_approves_nothing(desk: SignedDesk) -> None:
    entry = desk.held()
    signed = desk.signed(entry)
    desk.room.revoke(desk.ann)
    desk.restart(desk.room.revoked)
    desk.approve(entry, signed)
    assert desk.code() == "block approval.bad-signature"


def test_a_key_whose_time_is_over_approves_nothing(desk: SignedDesk) -> None:
    bob = desk.room.key("bob")
    desk.room.allow("bob", bob, 'valid-before="20200101"')
    entry = desk.held()
    desk.approve(entry, desk.signed(entry, bob))
    assert desk.code() == "block approval.bad-signature"


def test_a_key_for_another_namespace_approves_nothing(desk: SignedDesk) -> None:
    bob = desk.room.key("bob")
    desk.room.allow("bob", bob, 'namespaces="git"')
    entry = desk.held()
    desk.approve(entry, desk.signed(entry, bob))
    assert desk.code() == "block approval.bad-signature"


@pytest.mark.parametrize(
    ("principal", "valid", "code"),
    [
        ("carol", "-1h:+1h", "allow approval.consumed"),
        ("carol", "-2h:-1h", "block approval.bad-signature"),
        ("mallory", "-1h:+1h", "block approval.bad-signature"),
    ],
)
def test_a_certificate_counts_within_its_time_and_for_its_principal(
    desk: SignedDesk, principal: str, valid: str, code: str
) -> None:
    authority, carol = desk.room.key("authority"), desk.room.key("carol")
    desk.room.allow("carol", authority, "cert-authority")
    certificate = desk.room.certify(authority, carol, principal, valid)
    entry = desk.held()
    desk.approve(entry, desk.signed(entry, certificate))
    assert desk.code() == code


def test_without_the_list_nothing_is_approved_and_nothing_lost(desk: SignedDesk) -> None:
    entry = desk.held()
    desk.approve(entry, desk.signed(entry))
    away = desk.room.allowed.rename(desk.room.folder / "away")
    assert desk.code() == "block approval.unverifiable"
    away.rename(desk.room.allowed)
    assert desk.code() == "allow approval.consumed"


def test_without_ssh_keygen_nothing_is_approved(desk: SignedDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = desk.held()
    desk.approve(entry, desk.signed(entry))
    monkeypatch.setattr(ssh_keygen, "USUAL", ())
    monkeypatch.setenv("PATH", str(desk.room.folder))
    assert desk.code() == "block approval.unverifiable"


def test_a_program_that_hangs_is_ended_in_time(desk: SignedDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = desk.held()
    desk.approve(entry, desk.signed(entry))
    hangs = desk.room.folder / "hangs"
    hangs.write_text("#!/bin/sh\nexec sleep 600\n")
    hangs.chmod(0o700)
    monkeypatch.setattr(ssh_keygen, "USUAL", (str(hangs),))
    assert desk.code() == "block approval.unverifiable"


def test_an_approval_whose_call_did_not_run_is_given_back(desk: SignedDesk) -> None:
    entry = desk.held()
    desk.approve(entry, desk.signed(entry))
    settled = desk.ask()
    assert settled.entry is not None
    desk.approvals.keep(settled.entry)
    desk.approvals.give_back()
    assert desk.code() == "allow approval.consumed"
    assert desk.code() == "hold approval.pending"


def test_another_engine_has_a_returned_approval_signed_anew(desk: SignedDesk) -> None:
    entry = desk.held()
    desk.approve(entry, desk.signed(entry))
    settled = desk.ask()
    assert settled.entry is not None
    desk.approvals.keep(settled.entry)
    desk.approvals.give_back()
    desk.restart()
    assert desk.code() == "block approval.bad-signature"


@pytest.mark.parametrize("where", ["chat", "tool"])
def test_a_yes_through_the_gateway_is_refused_with_the_command_to_run(desk: SignedDesk, where: Any) -> None:
    entry = desk.held()
    reply = desk.approvals.decide(messages.PersonDecision(7, "approve", where, entry.nonce), desk.config)
    assert not reply.ok
    assert f"run toolguard approve {entry.nonce} in a terminal" in reply.text
    assert desk.code() == "hold approval.pending"


def test_a_no_needs_no_signature(desk: SignedDesk) -> None:
    entry = desk.held()
    assert desk.approvals.decide(messages.PersonDecision(7, "deny", "chat", entry.nonce), desk.config).ok
    assert desk.code() == "block approval.denied"


def test_a_grant_counts_only_if_it_is_signed(desk: SignedDesk) -> None:
    grant = desk.grants.add(Grant("", "exec", "rm -rf build", agent="main", created=1.0))
    assert desk.code() == "hold approval.pending"
    body = signed_decision.grant_body(grant, desk.signers.issuer)
    desk.signers.keep_grant(grant, SignedBody(body.decode(), sign(body, desk.ann, GRANT_NAMESPACE)))
    assert desk.code() == f"allow grant.{grant.id}"
    assert desk.code(OTHER) == "hold approval.pending"


@pytest.mark.parametrize("change", [{"pattern": "rm -rf *"}, {"agent": ""}, {"expires": NOW + 9e6}, {"tool": "bash"}])
def test_the_signature_of_a_grant_is_for_no_other(desk: SignedDesk, change: dict[str, Any]) -> None:
    grant = Grant("g-1", "exec", "rm -rf build", agent="main", created=1.0, expires=NOW + 60)
    body = signed_decision.grant_body(grant, desk.signers.issuer)
    desk.signers.keep_grant(grant, SignedBody(body.decode(), sign(body, desk.ann, GRANT_NAMESPACE)))
    wider = msgspec.structs.replace(grant, **change)
    assert desk.signers.allows(grant)
    assert not desk.signers.allows(wider)
    desk.signers.keep_grant(wider, SignedBody(body.decode(), sign(body, desk.ann, GRANT_NAMESPACE)))
    assert not desk.signers.allows(wider)


@pytest.mark.parametrize("change", [{"gateway": "gw-0000"}, {"fleet": "another"}])
def test_a_grant_that_was_signed_for_another_gateway_does_not_count(desk: SignedDesk, change: dict[str, str]) -> None:
    """The words and the signer are the same on both."""
    grant = Grant("g-1", "exec", "rm -rf build", agent="main", created=1.0, expires=NOW + 60)
    for issuer, counts in ((msgspec.structs.replace(desk.signers.issuer, **change), False), (desk.signers.issuer, True)):
        body = signed_decision.grant_body(grant, issuer)
        desk.signers.keep_grant(grant, SignedBody(body.decode(), sign(body, desk.ann, GRANT_NAMESPACE)))
        assert bool(desk.signers.allows(grant)) is counts


def test_a_decision_is_no_grant(desk: SignedDesk) -> None:
    grant = Grant("g-1", "exec", "rm -rf build", created=1.0)
    body = signed_decision.grant_body(grant, desk.signers.issuer)
    desk.signers.keep_grant(grant, SignedBody(body.decode(), sign(body, desk.ann, "toolguard-decision")))
    assert not desk.signers.allows(grant)


def test_a_grant_ends_when_its_key_is_revoked(desk: SignedDesk) -> None:
    desk.room.revoke(desk.room.key("nobody"))
    desk.restart(desk.room.revoked)
    grant = desk.grants.add(Grant("", "exec", "rm -rf build", created=1.0))
    body = signed_decision.grant_body(grant, desk.signers.issuer)
    desk.signers.keep_grant(grant, SignedBody(body.decode(), sign(body, desk.ann, GRANT_NAMESPACE)))
    assert desk.code() == f"allow grant.{grant.id}"
    desk.room.revoke(desk.ann)
    assert desk.code() == "hold approval.pending"


def test_an_unsigned_grant_hides_no_signed_one(desk: SignedDesk) -> None:
    desk.grants.add(Grant("", "exec", "rm -rf *", created=1.0))
    grant = desk.grants.add(Grant("", "exec", "rm -rf build", created=1.0))
    body = signed_decision.grant_body(grant, desk.signers.issuer)
    desk.signers.keep_grant(grant, SignedBody(body.decode(), sign(body, desk.ann, GRANT_NAMESPACE)))
    assert desk.code() == f"allow grant.{grant.id}"


def test_two_persons_are_needed_where_two_are_asked_for(desk: SignedDesk) -> None:
    """What a fleet asks: as many different principals, not as many signatures."""
    bob = desk.room.key("bob")
    desk.room.allow("bob@example.com", bob)
    entry = desk.held()
    body = desk.body(entry, need=2)
    of = {key: SignedBody(body.decode(), sign(body, key)) for key in (desk.ann, bob)}
    approved = msgspec.structs.replace(entry, status="approved", signatures=(of[desk.ann], of[desk.ann]))
    assert desk.signers.missing(approved, desk.now, need=2) == "not enough people have signed it"
    both = msgspec.structs.replace(approved, signatures=(of[desk.ann], of[bob]))
    assert desk.signers.missing(both, desk.now, need=2) == ""
    assert desk.signers.missing(both, desk.now) != ""


def rewrite(desk: SignedDesk, nonce: str, **changed: str) -> None:
    """Changes an entry and signs it with the store's key, as a program of the same user can."""
    from toolguard_engine.stores import signed_entry, signing_key  # noqa: PLC0415
    from toolguard_engine.stores.files import signing_key_file  # noqa: PLC0415

    stored = msgspec.json.decode(desk.store.path.read_bytes())
    own = signing_key_file.load(desk.state)
    for entry in stored["entries"]:
        if entry["nonce"] == nonce:
            entry.update(changed)
            entry["mac"] = signing_key.sign(own, signed_entry._proof(entry))
    desk.store.path.write_bytes(msgspec.json.encode(stored))


def test_a_damaged_file_of_signatures_is_no_signature(desk: SignedDesk) -> None:
    grant = desk.grants.add(Grant("", "exec", "rm -rf build", created=1.0))
    body = signed_decision.grant_body(grant, desk.signers.issuer)
    signed = SignedBody(body.decode(), sign(body, desk.ann, GRANT_NAMESPACE))
    path = desk.state / "toolguard" / GRANT_SIGNATURES
    for damaged in (b"{", b'{"v":2}', b'{"v":1,"signed":{"%b":7}}' % signed_decision.grant_digest(grant).encode()):
        path.write_bytes(damaged)
        assert not desk.signers.allows(grant)
    path.write_bytes(b"{")
    with pytest.raises(StoreError, match="is damaged; remove it"):
        desk.signers.keep_grant(grant, signed)
    path.unlink()
    desk.signers.keep_grant(grant, signed)
    assert desk.signers.allows(grant)


def test_signatures_survive_a_version_that_does_not_know_them(desk: SignedDesk) -> None:
    """An earlier version rewrites the file with the members that it knows, and keeps the others."""
    from toolguard_engine.stores import signed_entry  # noqa: PLC0415

    entry = desk.held()
    desk.approve(entry, desk.signed(entry))
    older = msgspec.defstruct(
        "Older",
        [(each.name, each.type, each.default) for each in msgspec.structs.fields(HeldCall) if each.name != "signatures"],
    )
    (raw,) = msgspec.json.decode(desk.store.path.read_bytes())["entries"]
    known = msgspec.to_builtins(msgspec.convert(raw, older))
    rewritten = {**known, **{name: value for name, value in raw.items() if name not in known}}
    assert signed_entry._proof(rewritten) != b""
    assert rewritten["signatures"] == raw["signatures"]
    assert desk.code() == "allow approval.consumed"


def test_nothing_of_it_is_loaded_where_the_setting_is_off(tmp_path: Path) -> None:
    script = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from toolguard_engine.config.settings import parse
from toolguard_engine.server import composition, preload
from toolguard_engine.server.held_calls_step import HeldCalls
from toolguard_engine.server.output import Output
from toolguard_engine.server.clock import SystemClock
from toolguard_engine.server.store_queue import at_once
from toolguard_engine.wire import messages
preload.load()
for signers in ("", "/none"):
    held = HeldCalls(Output(None), SystemClock(), at_once(), 1.0)
    config = {"approval": {"signers": signers}} if signers else {}
    held.open(messages.Hello(0, 1, sys.argv[1], config, gateway="gw"), parse(config))
    print(sorted(name for name in sys.modules if name.endswith(("ssh_keygen", "approval_signers", "signed_decision"))))
"""
    ran = subprocess.run([sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, check=True)
    off, on = ran.stdout.splitlines()
    assert off == "[]"
    assert "ssh_keygen" in on


def test_a_signature_is_for_one_nonce(desk: SignedDesk) -> None:
    """The same entry under another nonce would be a second approval."""
    entry = desk.held()
    body = desk.body(entry).decode()
    assert signed_decision.decision_refusal(body, entry, desk.signers.issuer, desk.now) is None
    copy = msgspec.structs.replace(entry, nonce="0badcafe")
    assert signed_decision.decision_refusal(body, copy, desk.signers.issuer, desk.now) == "other-call"


def test_a_returned_approval_is_for_its_call_and_time(desk: SignedDesk) -> None:
    used = msgspec.structs.replace(desk.held(), status="used", expires=desk.now + 30)
    again = msgspec.structs.replace(used, nonce="0badcafe", status="approved", decided=desk.now)
    desk.signers.give_back(used, again)
    assert desk.signers.refusal(again, again, desk.now) == ""
    assert desk.signers.refusal(again, again, desk.now + 30) != ""
    other = msgspec.structs.replace(again, binding="another")
    assert desk.signers.refusal(other, other, desk.now) != ""


def test_a_grant_is_verified_again_after_a_while(desk: SignedDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its key may have been valid until just now."""
    verified: list[str] = []
    signers = approval_signers.ApprovalSigners(desk.state, desk.signers.files, lambda *_: verified.append("") or "ann")
    grant = Grant("g-1", "exec", "rm -rf build", created=1.0)
    signers.keep_grant(grant, SignedBody(signed_decision.grant_body(grant, signers.issuer).decode(), ""))
    assert [signers.allows(grant) for _ in range(3)] == [True] * 3
    assert len(verified) == 1
    monkeypatch.setattr(approval_signers, "GRANT_SECONDS", -1.0)
    signers.keep_grant(grant, SignedBody(signed_decision.grant_body(grant, signers.issuer).decode(), "x"))
    assert [signers.allows(grant) for _ in range(3)] == [True] * 3
    assert len(verified) == 4


ASKS_FOR_THE_VERIFIER = """
import os
from toolguard_engine.stores import ssh_keygen
ssh_keygen.USUAL = ()
os.setgroups([])
os.setgid(65_534)
os.setuid(65_534)
try:
    print(ssh_keygen.verifier())
except ssh_keygen.VerifierError as error:
    print(error)
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make files of another user")
@pytest.mark.parametrize(("owner", "link"), [(65_534, False), (0, False), (0, True)], ids=["own", "root's", "own link"])
def test_a_program_that_our_user_could_replace_verifies_nothing(owner: int, *, link: bool) -> None:
    """On a machine without OpenSSH in its usual places, where the path has a folder of the gateway's user."""
    base = Path(tempfile.mkdtemp(dir="/var/lib", prefix="toolguard-keygen-"))
    try:
        base.chmod(0o755)
        own = base / "own"
        own.mkdir(mode=0o755)
        program = base / "ssh-keygen"
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o755)
        if link:
            (own / "ssh-keygen").symlink_to(program)
            os.chown(own, 65_534, 65_534)
        os.chown(program, owner, owner)
        found = run_as_nobody(own if link else base)
    finally:
        shutil.rmtree(base)
    is_safe = owner == 0 and not link
    assert (found == str(program)) is is_safe, found
    assert ("can be changed by the gateway's own user" in found) is not is_safe


def run_as_nobody(path: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", ASKS_FOR_THE_VERIFIER], capture_output=True, text=True, check=True,
        env={"PATH": str(path), "PYTHONPATH": str(Path(ssh_keygen.__file__).parents[2])},
    )  # fmt: skip
    return done.stdout.strip()
