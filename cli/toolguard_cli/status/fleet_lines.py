"""What is known on this machine of its fleet, for `toolguard status`: contact, kill switch, policy. Asks no database."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, dated
from toolguard_engine.config.fleet_settings import FleetConfig
from toolguard_engine.stores.fleet import fleet_state, trust_root
from toolguard_engine.stores.fleet.fleet_switch import FleetSwitch
from toolguard_engine.stores.fleet.last_good_policy import LastGoodPolicy, SignedPolicy
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable


def lines(places: Places, config: FleetConfig) -> list[Line]:
    """The worst first; empty for a gateway that is in no fleet."""
    if not config.enabled:
        return []
    status = fleet_state.load(places.state_dir).status
    rows = []
    if why := FleetSwitch(config, status).why():
        rows += [
            Line("warn", printable.plain(f"no tool call runs: {why}")),
            Line("next", "an admin of the fleet can allow calls again: toolguard fleet kill-switch off"),
        ]
    may_be_writable = config.trust_writable or not _is_gateways_user(places)  # else it would be about somebody else
    if problem := trust_root.problem(Path(config.trust), may_be_writable=may_be_writable):
        rows.append(Line("error", printable.plain(f"held calls are blocked: {problem}")))
    rows.append(_contact(config, status.contact, status.error))
    return [*rows, *_policy(places, config, status.policy_error)]


def data(places: Places, config: FleetConfig) -> dict[str, Any] | None:
    """None for a gateway that is in no fleet."""
    if not config.enabled:
        return None
    status = fleet_state.load(places.state_dir).status
    kept, _ = _kept(places, config)
    answer = {
        "team": config.team,
        "contact": status.contact,
        "killSwitch": {"on": status.kill, "team": status.kill_team, "why": status.kill_why, "by": status.kill_by},
        "stopped": FleetSwitch(config, status).why(),
        "policyVersion": kept.policy.version if kept else 0,
        "policyError": status.policy_error,
        "error": status.error,
    }
    return dated(answer, "contact")


def _is_gateways_user(places: Places) -> bool:
    try:
        return places.state_dir.stat().st_uid == os.geteuid()
    except OSError:
        return False


def _contact(config: FleetConfig, contact: float, error: str) -> Line:
    if not contact:
        why = f": {error}" if error else ""
        return Line("warn", printable.plain(f"fleet, team {config.team}: no contact yet{why}"))
    age = max(time.time() - contact, 0.0)
    text = f"fleet, team {config.team}: last contact {printable.duration(age)} ago"
    is_stale = age > config.stale_seconds
    return Line("warn" if is_stale else "info", printable.plain(f"{text}{f', {error}' if is_stale and error else ''}"))


def _policy(places: Places, config: FleetConfig, refused: str) -> list[Line]:
    kept, wrong = _kept(places, config)
    if wrong:
        return [Line("error", printable.plain(f"the fleet's policy here cannot be verified: {wrong}"))]
    rows = [Line("warn", printable.plain(f"this gateway rejects the policy in the fleet's database: {refused}"))]
    version = f"version {kept.policy.version}, signed by {kept.signer}" if kept else "none: one approval is enough"
    return [*(rows if refused else []), Line("info", printable.plain(f"the fleet's policy in force: {version}"))]


def _kept(places: Places, config: FleetConfig) -> tuple[SignedPolicy | None, str]:
    try:
        return LastGoodPolicy(places.state_dir, config.team, Path(config.trust)).load(), ""
    except StoreError as error:
        return None, str(error)
