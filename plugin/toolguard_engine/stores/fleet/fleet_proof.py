"""Who may approve in a fleet, decided on this machine: the database is not believed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from msgspec import structs

from toolguard_engine.approvals import signed_decision
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.approvals.needed_approvals import MAX_NEED, ApproverPolicy, missing_approvals, needed_approvals
from toolguard_engine.approvals.signed_decision import Issuer
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores import ssh_keygen
from toolguard_engine.stores.approval_signers import ApprovalSigners, Verify
from toolguard_engine.stores.fleet import trust_root
from toolguard_engine.stores.fleet.courier_link import FleetAwayError
from toolguard_engine.stores.fleet.pipe_messages import SignedVerdict
from toolguard_engine.stores.fleet.trust_root import ALLOWED, REVOKED
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ssh_keygen import SignerFiles


class TooManyApproversError(StoreError):
    """Nobody could approve the call."""

    code = "approval.away"


CurrentPolicy = Callable[[], ApproverPolicy | None]


def no_policy() -> ApproverPolicy | None:
    """One person is enough, whoever may sign."""
    return None


def signer_files(trust: Path) -> SignerFiles:
    revoked = trust / REVOKED
    return SignerFiles(trust / ALLOWED, revoked if revoked.exists() else None)


class _Signers(ApprovalSigners):
    """The signers of what is signed for this gateway in its fleet."""

    def __init__(self, state_dir: Path, files: SignerFiles, issuer: Issuer, verify: Verify) -> None:
        super().__init__(state_dir, files, verify)
        self._issuer = issuer

    @property
    def issuer(self) -> Issuer:
        return self._issuer


class FleetGrantSigners(ApprovalSigners):
    """Who may sign grants, for an engine in a fleet: as for approvals, nothing counts while the gateway's own user could
    change that. Raises `FleetAwayError` then."""

    def __init__(self, state_dir: Path, trust: Path, *, may_be_writable: bool, verify: Verify = ssh_keygen.verify) -> None:
        super().__init__(state_dir, signer_files(trust), verify)
        self._trust = trust
        self._may_be_writable = may_be_writable

    def allows(self, grant: Grant) -> bool:
        if problem := trust_root.problem(self._trust, may_be_writable=self._may_be_writable):
            raise FleetAwayError(problem)
        self.files = signer_files(self._trust)  # a list of revoked keys may have been added
        return super().allows(grant)


class FleetSigners:
    """`FleetProof` with the signers that this machine trusts. `policy`: the team's, as it counts now. Raises
    `StoreError` where it cannot be known."""

    def __init__(
        self, state_dir: Path, trust: Path, team: str, gateway_id: Callable[[], str],
        policy: CurrentPolicy = no_policy, verify: Verify = ssh_keygen.verify,
    ) -> None:  # fmt: skip
        self._state_dir = state_dir
        self._trust = trust
        self._team = team
        self._gateway_id = gateway_id
        self._policy = policy
        self._verify = verify

    def need(self, request: HeldCall) -> tuple[int, tuple[str, ...]]:
        need = needed_approvals(self._policy(), request.details)
        if need.count > MAX_NEED:
            raise TooManyApproversError(
                f"the fleet's policy requires {need.count} people for this call ({need.words}), and at most {MAX_NEED} can "
                "sign; tell an admin of the fleet"
            )
        return need.count, need.teams

    def digest(self, entry: HeldCall) -> bytes:
        return bytes.fromhex(signed_decision.digest(entry))

    def refusal(
        self, entry: HeldCall, decisions: tuple[SignedVerdict, ...], now: float, request: HeldCall | None = None
    ) -> str:
        """Signatures count by who made them: each principal once, the requester never, and as members of a team only those
        whom the signed policy names. What the call needs is computed from `request`, too: whoever has this machine's key can
        enter a call with harmless details."""
        issuer, policy = Issuer(self._gateway_id(), self._team), self._policy()
        need = needed_approvals(policy, entry.details)
        signers = _Signers(self._state_dir, signer_files(self._trust), issuer, self._verify)
        signed = structs.replace(entry, signatures=tuple(map(_signed_body, filter(_is_yes, decisions))))
        persons, why = signers.signed_by(signed, now, need.count)
        if not persons:
            return why
        others = {person for person in persons if person.casefold() != entry.requester.casefold()}
        if not others:
            return "the person who requested the call cannot approve it"
        missing = missing_approvals(policy, need, others)
        if missing or request is None:
            return missing
        return missing_approvals(policy, needed_approvals(policy, request.details), others)


def _is_yes(decision: SignedVerdict) -> bool:
    return decision.verdict == "approved"


def _signed_body(decision: SignedVerdict) -> SignedBody:
    body, signature = (part.decode("utf-8", "replace") for part in (decision.body or b"", decision.signature or b""))
    return SignedBody(body, signature, decision.approver)
