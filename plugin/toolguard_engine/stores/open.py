"""The only place that constructs stores: each function opens one store of a state directory.

Another backend is chosen here, and nowhere else.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from toolguard_engine.stores import locked, system_calls

if TYPE_CHECKING:
    from toolguard_engine.config.fleet_settings import FleetConfig
    from toolguard_engine.config.settings import Config
    from toolguard_engine.rules.rule_form import Rule
    from toolguard_engine.stores import ports
    from toolguard_engine.stores.approval_signers import ApprovalSigners
    from toolguard_engine.stores.fleet.fleet_client import FleetClient
    from toolguard_engine.stores.fleet.fleet_setup import Link


def load_all() -> None:
    """Imports what the functions below import where they are called."""
    import sqlite3  # noqa: F401

    from toolguard_engine.stores.files import (  # noqa: F401
        accepted_settings_file,
        audit_log_file,
        call_log_file,
        counters,
        engine_files,
        expired_grants,
        grants_file,
        kill_switch_file,
        last_good,
        made_files_file,
        nonces,
        policy_watch,
        session_grants_file,
        signing_key_file,
        tool_answers_file,
        user_rules,
    )
    from toolguard_engine.stores.sqlite import standings  # noqa: F401

    locked.load()
    system_calls.load()


def held_calls(
    state_dir: Path, path: Path | None = None, gateway: str = "", proof: ports.ApprovalProof | None = None
) -> ports.HeldCallStore:
    """`path`: where the setting `storePath` places the file; None for the usual place. `proof`: where the settings name
    signers; the command line needs none, because it uses up no approval."""
    from toolguard_engine.stores.files.nonces import FileNonces

    return FileNonces(state_dir, path, gateway, proof)


def signers(state_dir: Path, allowed: str, revoked: str = "") -> ApprovalSigners:
    """Who may approve, according to `approval.signers` and `approval.revokedSigners`."""
    from toolguard_engine.stores.approval_signers import ApprovalSigners
    from toolguard_engine.stores.ssh_keygen import SignerFiles

    return ApprovalSigners(state_dir, SignerFiles(Path(allowed), Path(revoked) if revoked else None))


def grant_signers(state_dir: Path, config: Config, *, is_engine: bool = False) -> ApprovalSigners | None:
    """Who may sign grants: in a fleet the signers that the machine trusts, unless `approval.signers` names others. None
    where grants need no signature. `is_engine`: in a fleet they count only while our own user cannot change the signers."""
    if config.approval.is_signed:
        return signers(state_dir, config.approval.signers, config.approval.revoked_signers)
    if not config.fleet.enabled:
        return None
    from toolguard_engine.stores.approval_signers import ApprovalSigners
    from toolguard_engine.stores.fleet import fleet_proof

    trust = Path(config.fleet.trust)
    if is_engine:
        return fleet_proof.FleetGrantSigners(state_dir, trust, may_be_writable=config.fleet.trust_writable)
    return ApprovalSigners(state_dir, fleet_proof.signer_files(trust))


def fleet(
    state_dir: Path, gateway: str, config: FleetConfig, window: float, metrics_path: str = "",
    local_proof: ports.ApprovalProof | None = None,
) -> FleetClient:  # fmt: skip
    """The held calls of a gateway in a fleet, and the fleet's kill switch, for engines. `window`: for how many seconds an
    approval counts. `local_proof`: of approvals of this machine, with `fleet.whenAway` "local"."""
    from toolguard_engine.stores.fleet.fleet_client import FleetClient

    return FleetClient(state_dir, gateway, config, window, metrics_path, local_proof=local_proof)


def fleet_calls(state_dir: Path, config: FleetConfig, window: float, seconds: float, link: Link) -> ports.HeldCallStore:
    """The held calls of a gateway in a fleet, for other processes than its engine. `link`: how the database is asked."""
    from toolguard_engine.stores.fleet.fleet_client import calls_of

    return calls_of(state_dir, config, window, seconds, link)


def grants(state_dir: Path) -> ports.GrantStore:
    from toolguard_engine.stores.files.grants_file import PolicyFiles

    return PolicyFiles(state_dir)


def session_grants(state_dir: Path) -> ports.SessionGrantStore:
    from toolguard_engine.stores.files.session_grants_file import SessionGrantFile

    return SessionGrantFile(state_dir)


def tool_answers(state_dir: Path) -> ports.ToolAnswerStore:
    from toolguard_engine.stores.files.tool_answers_file import ToolAnswerFile

    return ToolAnswerFile(state_dir)


def user_rules(state_dir: Path) -> ports.UserRuleStore:
    from toolguard_engine.stores.files.user_rules import UserRules

    return UserRules(state_dir)


def last_good(state_dir: Path) -> ports.LastGoodStore:
    from toolguard_engine.stores.files.last_good import LastGood

    return LastGood(state_dir)


def user_policy(state_dir: Path, fleet: FleetConfig | None = None) -> ports.UserPolicy:
    """`fleet`: with the rules of the team's signed policy, where it is enabled."""
    from toolguard_engine.stores.files.policy_watch import OwnPolicy

    own = OwnPolicy(state_dir)
    if fleet is None or not fleet.enabled:
        return own
    from toolguard_engine.stores.fleet.fleet_rules import FleetRules
    from toolguard_engine.stores.fleet.last_good_policy import LastGoodPolicy

    return FleetRules(own, LastGoodPolicy(state_dir, fleet.team, Path(fleet.trust)))


def fleet_rules(state_dir: Path, fleet: FleetConfig) -> tuple[Rule, ...]:
    """Those of the team's policy that is in force here. Raises `StoreError` if it cannot be verified."""
    if not fleet.enabled:
        return ()
    from toolguard_engine.stores.fleet.last_good_policy import LastGoodPolicy

    policy = LastGoodPolicy(state_dir, fleet.team, Path(fleet.trust)).load()
    return policy.policy.rules if policy else ()


def audit_log(state_dir: Path) -> ports.AuditLogStore:
    from toolguard_engine.stores.files.audit_log_file import AuditLog

    return AuditLog(state_dir)


def call_log(path: Path) -> ports.CallLogStore:
    from toolguard_engine.stores.files.call_log_file import CallLog

    return CallLog(path)


def counters(state_dir: Path) -> ports.CounterStore:
    from toolguard_engine.stores.files.counters import Counters

    return Counters(state_dir)


def file_memory(state_dir: Path) -> ports.FileMemoryStore:
    from toolguard_engine.stores.files.made_files_file import FileMemoryFile

    return FileMemoryFile(state_dir)


def standings(state_dir: Path, *, patient: bool = False) -> ports.StandingsStore:
    """`patient`: waits longer for other processes; for the command line, where no call waits meanwhile."""
    from toolguard_engine.stores.sqlite.standings import FileStandings

    return FileStandings(state_dir, patient=patient)


def notifications(state_dir: Path) -> ports.NotificationStore:
    """Not for engines, which never notify."""
    from toolguard_engine.stores.sqlite.notification_outbox import NotificationOutbox

    return NotificationOutbox(state_dir)


def kill_switch(state_dir: Path) -> ports.KillSwitchStore:
    from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile

    return KillSwitchFile(state_dir)


def accepted_settings(state_dir: Path) -> ports.AcceptedSettingsStore:
    from toolguard_engine.stores.files.accepted_settings_file import AcceptedSettings

    return AcceptedSettings(state_dir)


def engines(state_dir: Path) -> ports.EngineRegistry:
    from toolguard_engine.stores.files.engine_files import EngineFiles

    return EngineFiles(state_dir)


def signing_key(state_dir: Path) -> ports.SigningKeyStore:
    from toolguard_engine.stores.files.signing_key_file import SigningKeyFile

    return SigningKeyFile(state_dir)
