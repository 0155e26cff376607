"""A gateway's part in its fleet: its held calls, the fleet's kill switch, and the courier between them and the database.

The courier is started when the gateway's identity is found: an engine need not be restarted after `toolguard fleet join`.
"""

from __future__ import annotations

import threading
from pathlib import Path

from toolguard_engine import __version__
from toolguard_engine.config.fleet_settings import FleetConfig
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.nonces import FileNonces
from toolguard_engine.stores.fleet import fleet_identity, fleet_state, trust_root
from toolguard_engine.stores.fleet.courier_link import CourierLink, FleetAwayError
from toolguard_engine.stores.fleet.fleet_held_calls import FleetHeldCalls
from toolguard_engine.stores.fleet.fleet_log import FleetLog
from toolguard_engine.stores.fleet.fleet_proof import FleetSigners
from toolguard_engine.stores.fleet.fleet_setup import FleetProof, FleetSetup, Link
from toolguard_engine.stores.fleet.fleet_switch import FleetSwitch
from toolguard_engine.stores.fleet.last_good_policy import CurrentApprovers, LastGoodPolicy
from toolguard_engine.stores.fleet.local_fallback import LocalFallback
from toolguard_engine.stores.fleet.local_marks import LocalMarks
from toolguard_engine.stores.fleet.pipe_messages import Begin, FleetStatus, News
from toolguard_engine.stores.ports import ApprovalProof, HeldCallStore


class FleetClient:
    def __init__(
        self,
        state_dir: Path,
        gateway: str,
        config: FleetConfig,
        window: float,
        metrics_path: str = "",
        proof: FleetProof | None = None,
        local_proof: ApprovalProof | None = None,
    ) -> None:
        self._state_dir = state_dir
        self._gateway = gateway
        self._local_proof = local_proof
        self._config = config
        self._identity: fleet_identity.FleetIdentity | None = None
        self._starting = threading.Lock()
        self.switch = FleetSwitch(config, fleet_state.load(state_dir).status)
        self.link = CourierLink(
            Begin(
                str(state_dir), config.dsn, config.team, __version__, config.deadline_ms / 1000, config.listen,
                config.ship.audit, config.ship.metrics, metrics_path, config.trust,
            ),
            self._take,
        )  # fmt: skip
        self._fleet = FleetHeldCalls(
            FleetSetup(
                state_dir=state_dir,
                gateway_id=self.gateway_id,
                link=self.link,
                log=FleetLog(AuditLog(state_dir), gateway),
                proof=proof or self._signers(),
                marks=LocalMarks(state_dir),
                seconds=config.deadline_ms / 1000,
                window=window,
                skew=lambda: self.switch.skew,
            )
        )

    def _signers(self) -> FleetSigners:
        trust, team = Path(self._config.trust), self._config.team
        policy = CurrentApprovers(LastGoodPolicy(self._state_dir, team, trust), team)
        return FleetSigners(self._state_dir, trust, team, self.gateway_id, policy)

    @property
    def calls(self) -> HeldCallStore:
        if self._config.when_away == "block":
            return self._fleet
        local = FileNonces(self._state_dir, gateway=self._gateway, proof=self._local_proof)
        return LocalFallback(self._fleet, local, self.gateway_id)

    def gateway_id(self) -> str:
        """Raises `StoreError` while the fleet cannot be used."""
        if problem := self._config.problem[1]:
            raise FleetAwayError(f"{problem}; run toolguard doctor")
        if problem := trust_root.problem(Path(self._config.trust), may_be_writable=self._config.trust_writable):
            raise FleetAwayError(problem)
        with self._starting:
            if self._identity is None:
                self._identity = fleet_identity.load(self._state_dir)
                self.link.start()
        return self._identity.id

    def _take(self, news: News) -> None:
        """Runs in the thread of the link."""
        if isinstance(news, FleetStatus):
            self.switch.take(news)
        else:
            self._fleet.take(news)

    def close(self) -> None:
        self.link.close()


def calls_of(state_dir: Path, config: FleetConfig, window: float, seconds: float, link: Link) -> HeldCallStore:
    """The held calls as a process beside the engine sees them. `link`: how it asks the database."""

    def gateway_id() -> str:
        if problem := config.problem[1]:
            raise FleetAwayError(f"{problem}; toolguard doctor shows details")
        return fleet_identity.load(state_dir).id

    fleet = FleetHeldCalls(
        FleetSetup(
            state_dir=state_dir, gateway_id=gateway_id, link=link, log=FleetLog(AuditLog(state_dir), ""),
            proof=FleetSigners(state_dir, Path(config.trust), config.team, gateway_id), marks=LocalMarks(state_dir),
            seconds=seconds, window=window, skew=lambda: FleetSwitch(config, fleet_state.load(state_dir).status).skew,
        )
    )  # fmt: skip
    return fleet if config.when_away == "block" else LocalFallback(fleet, FileNonces(state_dir), gateway_id)
