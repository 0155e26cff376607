"""The signed policy that counts on this machine: `<state dir>/toolguard/fleet-policy.last-good`.

The file is no more believed than the database: whoever reads it verifies the signature. The version never goes back.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

import msgspec

from toolguard_engine.approvals.needed_approvals import ApproverPolicy
from toolguard_engine.stores import atomic
from toolguard_engine.stores.fleet import policy_form, policy_signer
from toolguard_engine.stores.fleet.policy_form import ALL_TEAMS, FleetPolicy
from toolguard_engine.stores.fleet.trust_root import ALLOWED, REVOKED
from toolguard_engine.stores.locked import StoreError, lock, unusable
from toolguard_engine.stores.ssh_keygen import InvalidSignatureError
from toolguard_engine.stores.state_files import FLEET_POLICY as NAME
from toolguard_engine.stores.toml_file import Stamp, stamp_of
from toolguard_engine.stores.values import InvalidRulesError

MAX_FILE = 4 * policy_form.MAX_BYTES
OFFERED = Path("the fleet's policy")

Stamps = tuple[Stamp | None, ...]
SignerOf = Callable[[str, str, Path, float | None], str]


class PolicyRefusedError(StoreError):
    """The policy does not count. One line; what was in force before stays so."""

    code = "policy.refused"


class _Kept(msgspec.Struct, frozen=True):
    """`accepted`: when it was verified, in seconds since 1970."""

    toml: str
    signature: str
    accepted: float
    v: int = 1


class SignedPolicy(msgspec.Struct, frozen=True):
    """A policy whose signature is valid, and the principal who signed it."""

    policy: FleetPolicy
    signer: str
    accepted: float
    signature: str


class LastGoodPolicy:
    """The file of one state directory. `team`: of the gateway; `trust`: the folder with `allowed_signers`."""

    def __init__(
        self,
        state_dir: Path,
        team: str,
        trust: Path,
        clock: Callable[[], float] = time.time,
        signer_of: SignerOf = policy_signer.signer_of,
    ) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self._team = team
        self._trust = trust
        self._clock = clock
        self._signer_of = signer_of

    def stamp(self) -> Stamps:
        """Changes with the file and with who may sign it. Raises `StoreError`."""
        return tuple(stamp_of(path) for path in (self.path, self._trust / ALLOWED, self._trust / REVOKED))

    def load(self) -> SignedPolicy | None:
        """Returns the policy that was accepted last, None if none was.

        Raises `PolicyRefusedError` for one that does not count, and `StoreError`.
        """
        kept = self._read()
        return None if kept is None else self._verified(kept)

    def load_after(self, known: SignedPolicy | None) -> SignedPolicy | None:
        """The same for an engine in which `known` is in force: somebody may have put an earlier policy into the file. One
        that does not count any more binds nobody to its version. Raises as `load`."""
        policy = self.load()
        if known is None or policy is None or policy.policy.text == known.policy.text:
            return policy
        try:
            _check_order(known.policy, policy.policy)
        except PolicyRefusedError:
            if self._still_counts(known):
                raise
        return policy

    def _still_counts(self, known: SignedPolicy) -> bool:
        try:
            return bool(self._verified(_Kept(known.policy.text, known.signature, known.accepted)))
        except PolicyRefusedError:
            return False

    def adopt(self, text: str, signature: str) -> SignedPolicy:
        """Verifies a policy and puts it into force; the one that is in force stays if it is refused. Raises as `load`."""
        offered = self._verified(_Kept(text, signature, self._clock()), is_new=True)
        atomic.make_folder(self.path.parent)
        with lock(self.path):
            known = self._known()
            if known is not None:
                _check_order(known.policy, offered.policy)
                if known.policy.text == text:
                    return known
            try:
                atomic.replace(self.path, msgspec.json.encode(_Kept(text, signature, offered.accepted)))
            except OSError as error:
                raise unusable(self.path, error) from error
        return offered

    def _known(self) -> SignedPolicy | None:
        """One that is no longer valid (its signer was revoked) binds nobody to its version."""
        try:
            return self.load()
        except PolicyRefusedError:
            return None

    def _read(self) -> _Kept | None:
        try:
            return msgspec.json.decode(atomic.read_bounded(self.path, MAX_FILE), type=_Kept)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, RecursionError) as error:
            raise PolicyRefusedError(f"{self.path} is damaged; it is replaced when the fleet's policy is fetched") from error
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error

    def _verified(self, kept: _Kept, *, is_new: bool = False) -> SignedPolicy:
        if len(kept.toml) > policy_form.MAX_BYTES:
            raise PolicyRefusedError(f"the fleet's policy is larger than {policy_form.MAX_BYTES} bytes")
        accepted = min(kept.accepted, self._clock())
        try:
            signer = self._signer(kept, None if is_new else accepted)
            policy = policy_form.parse(kept.toml, OFFERED)
        except InvalidSignatureError as error:
            raise PolicyRefusedError(f"the signature of the fleet's policy is not valid: {error}") from error
        except InvalidRulesError as error:
            raise PolicyRefusedError(str(error)) from error
        if policy.team not in (self._team, ALL_TEAMS):
            raise PolicyRefusedError(f"the policy is for the team {policy.team}, and this gateway is of {self._team}")
        return SignedPolicy(policy, signer, accepted, kept.signature)

    def _signer(self, kept: _Kept, accepted: float | None) -> str:
        try:
            return self._signer_of(kept.toml, kept.signature, self._trust, None)
        except InvalidSignatureError:
            if accepted is None:
                raise
            return self._signer_of(kept.toml, kept.signature, self._trust, accepted)


class CurrentApprovers:
    """Who may approve, by the policy that counts now; read again when it has changed. For one thread."""

    def __init__(self, kept: LastGoodPolicy, team: str) -> None:
        self._kept = kept
        self._team = team
        self._stamp: Stamps | None = None
        self._known: SignedPolicy | None = None
        self._policy: ApproverPolicy | None = None

    def __call__(self) -> ApproverPolicy | None:
        """None if no policy was ever accepted here. One that was in force stays so if its file is removed: it is fetched
        again. Raises `StoreError` where one is there and does not count, or is an earlier one."""
        stamp = self._kept.stamp()
        if stamp != self._stamp:
            signed = self._kept.load_after(self._known)
            if signed is not None:
                self._known, self._policy = signed, signed.policy.of_team(self._team)
            self._stamp = stamp
        return self._policy


def _check_order(known: FleetPolicy, offered: FleetPolicy) -> None:
    """Raises `PolicyRefusedError`."""
    if known.team != offered.team:
        if offered.team == ALL_TEAMS:
            raise PolicyRefusedError(f"the policy is for all teams, and {known.team} has one of its own in force")
        return
    if offered.version < known.version:
        raise PolicyRefusedError(f"the policy has version {offered.version}, and version {known.version} is in force")
    if offered.version == known.version and offered.text != known.text:
        raise PolicyRefusedError(f"the policy differs from the one in force and has the same version {known.version}")
