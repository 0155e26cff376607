"""Who approved, proven by an SSH signature: where `approval.signers` is set, no approval or grant counts without one.

An engine asks this in the thread of its stores. Verifying takes two runs of `ssh-keygen`, a few milliseconds each. What is
unclear is not a yes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

from toolguard_engine.approvals import ledger, signed_decision
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.approvals.signed_decision import DECISION_NAMESPACE, GRANT_NAMESPACE, Cause, Issuer
from toolguard_engine.model.signed_body import MAX_SIGNATURES, SignedBody
from toolguard_engine.stores import gateway_identity, ssh_keygen
from toolguard_engine.stores.files import signing_key_file
from toolguard_engine.stores.files.grant_signatures import GrantSignatures
from toolguard_engine.stores.ssh_keygen import InvalidSignatureError, SignerFiles, VerifierError

SECONDS = 1.0
"""For one signature: the call is answered within 1.5 s."""

GRANT_SECONDS = 60.0
"""How long a verified grant counts without another look: a key may have been valid until just now."""

_WORDS: dict[Cause, str] = {
    "unsigned": ledger.UNSIGNED,
    "bad-signature": "its signature has an unknown format",
    "other-call": "its signature is for another call",
    "other-gateway": "its signature is for another gateway",
    "changed": "the call is not the one that was signed",
    "over": "its signature has expired",
    "used": "its signature was used before",
    "too-few": "not enough people have signed it",
}

Verify = Callable[[SignedBody, str, SignerFiles, float], str]
Stamp = tuple[tuple[int, ...], ...]


def gateway_id(state_dir: Path) -> str:
    """Names this installation in what is signed."""
    return gateway_identity.of_key(signing_key_file.load(state_dir))


class ApprovalSigners:
    """`ApprovalProof` with the signers of one gateway. Raises `VerifierError` where it cannot be known, and `StoreError`."""

    def __init__(self, state_dir: Path, files: SignerFiles, verify: Verify = ssh_keygen.verify) -> None:
        self.files = files
        self._state_dir = state_dir
        self._verify = verify
        self._grants = GrantSignatures(state_dir)
        self._used: dict[str, float] = {}
        """The nonces of approvals that were used up, until when they would count."""
        self._returned: dict[str, HeldCall] = {}
        """Approvals that were verified and used up, but whose call did not run, by their new nonce."""
        self._valid_grants: dict[str, float] = {}
        self._stamp: Stamp = ()

    @property
    def issuer(self) -> Issuer:
        return Issuer(gateway_id(self._state_dir))

    def refusal(self, entry: HeldCall, request: HeldCall, now: float) -> str:
        if not signed_decision.is_of_call(entry, request):
            return _WORDS["changed"]
        if entry.status != "approved" or self._is_returned(entry, now):
            return ""
        if entry.nonce in self._used:
            return _WORDS["used"]
        return self.missing(entry, now)

    def missing(self, entry: HeldCall, now: float, need: int = 1) -> str:
        """Why fewer than `need` people have signed; empty where they have."""
        signers, why = self.signed_by(entry, now, need)
        if len(signers) >= need:
            return ""
        return _WORDS["too-few"] if signers else why

    def signed_by(self, entry: HeldCall, now: float, need: int) -> tuple[set[str], str]:
        """The principals of the valid signatures of this entry, and why another one does not count."""
        signers: set[str] = set()
        why = _WORDS["unsigned"]
        for signed in entry.signatures[:MAX_SIGNATURES]:
            cause = signed_decision.decision_refusal(signed.body, entry, self.issuer, now, need=need)
            if cause:
                why = _WORDS[cause]
                continue
            try:
                signers.add(self._verify(signed, DECISION_NAMESPACE, self.files, SECONDS))
            except InvalidSignatureError as error:
                why = str(error)
        return signers, why

    def use(self, used: HeldCall, now: float) -> None:
        """This approval was used up: a copy of it that is put back does not count."""
        self._used = {nonce: until for nonce, until in self._used.items() if now < until}
        self._used[used.nonce] = max(used.expires, now) + 3_600
        self._returned.pop(used.nonce, None)

    def give_back(self, used: HeldCall, again: HeldCall) -> None:
        """`again` is the approval `used` under a new nonce. Only this engine knows that; another one has it signed anew."""
        self._returned = {nonce: held for nonce, held in self._returned.items() if held.expires > again.decided}
        self._returned[again.nonce] = used

    def _is_returned(self, entry: HeldCall, now: float) -> bool:
        before = self._returned.get(entry.nonce)
        return before is not None and before.binding == entry.binding and now < before.expires

    def allows(self, grant: Grant) -> bool:
        """Whether an allowed signer has signed this grant. A valid one is not verified again until a file changes."""
        digest, now = signed_decision.grant_digest(grant), time.monotonic()
        if (stamp := self._stamps()) != self._stamp:
            self._stamp, self._valid_grants = stamp, {}
        if now < self._valid_grants.get(digest, 0.0):
            return True
        signed = self._grants.get(digest)
        if signed is None or signed_decision.grant_refusal(signed.body, grant, self.issuer):
            return False
        try:
            self._verify(signed, GRANT_NAMESPACE, self.files, SECONDS)
        except InvalidSignatureError:
            return False
        self._valid_grants[digest] = now + GRANT_SECONDS
        return True

    def keep_grant(self, grant: Grant, signed: SignedBody) -> None:
        self._grants.keep(signed_decision.grant_digest(grant), signed)

    def decided_by(self, signed: SignedBody, namespace: str) -> str:
        """The principal who signed. Raises `InvalidSignatureError`."""
        return self._verify(signed, namespace, self.files, 10 * SECONDS)

    def _stamps(self) -> Stamp:
        paths = (self.files.allowed, self.files.revoked, self._grants.path, signing_key_file.path(self._state_dir))
        return tuple(_stamp(path) for path in paths if path)


def _stamp(path: Path) -> tuple[int, ...]:
    try:
        stat = os.stat(path)  # noqa: PTH116 - on the path of a held call
    except FileNotFoundError:
        return ()
    except OSError as error:
        raise VerifierError(f"{path}: {error.strerror or error}; make it readable for the gateway") from error
    return (stat.st_mtime_ns, stat.st_ino, stat.st_size, stat.st_ctime_ns)
