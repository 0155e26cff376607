"""Signs approvals and grants where the settings name signers (`approval.signers`), and verifies them as the engine does."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

from toolguard_cli.system import ssh_signing
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import signed_decision
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.approvals.signed_decision import DECISION_NAMESPACE, GRANT_NAMESPACE
from toolguard_engine.config.settings import Config
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.approval_signers import ApprovalSigners
from toolguard_engine.stores.ssh_keygen import InvalidSignatureError
from toolguard_engine.wording import printable


@dataclass(frozen=True)
class Signing:
    """Signs with the keys of the user who runs the command. `key`: the file that they named, or empty. All raise
    `UserError`, and `StoreError` where signatures cannot be verified."""

    signers: ApprovalSigners
    key: str = ""

    def decision(self, entry: HeldCall, window: float) -> SignedBody:
        """An approval of this entry as it was shown, for `window` seconds and the time that signing may take."""
        return self._signed(
            lambda: signed_decision.decision_body(entry, self.signers.issuer, time.time() + window + ssh_signing.SECONDS),
            DECISION_NAMESPACE,
        )

    def grant(self, grant: Grant) -> SignedBody:
        return self._signed(lambda: signed_decision.grant_body(grant, self.signers.issuer), GRANT_NAMESPACE)

    def _signed(self, body: Callable[[], bytes], namespace: str) -> SignedBody:
        """Signs with the first key that works."""
        errors: list[UserError] = []
        for key in ssh_signing.candidates(self.signers.files.allowed, self.key):
            try:
                return self._with(key, body(), namespace)
            except UserError as error:
                errors.append(error)
        raise errors[0]

    def _with(self, key: ssh_signing.SshKey, body: bytes, namespace: str) -> SignedBody:
        made = SignedBody(body.decode(), ssh_signing.sign(body, namespace, key))
        try:
            principal = self.signers.decided_by(made, namespace)
        except InvalidSignatureError as error:
            name = printable.cut(printable.plain(key.name), 200)
            fix = f"whoever maintains {self.signers.files.allowed} can allow it; --key FILE selects another key"
            raise UserError(f"{name} is not allowed to sign here: {printable.plain(str(error))}", fix) from error
        return SignedBody(made.body, made.signature, principal)


def open_signing(places: Places, config: Config, key: str = "") -> Signing | None:
    """None where the settings name no signers. Raises `UserError` for a key that nothing would be signed with."""
    if signers := stores.grant_signers(places.state_dir, config):
        return Signing(signers, key)
    if key:
        fix = "omit --key, or set approval.signers to a file with allowed signers"
        raise UserError("approvals are not signed here", fix)
    return None
