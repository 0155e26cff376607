"""All checks of `doctor`, in the order of its report, with their fixes.

A new check needs its module in `checks` and a row here. A fix never discards anything that somebody may need, and is offered
only if its check found a fault. Fixes run in this order: modes and owners come before whatever reads the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from toolguard_cli.doctor import fixes
from toolguard_cli.doctor.check_types import Check, DoctorSubject, Fix
from toolguard_cli.doctor.checks import (
    agents_check,
    audit_log_check,
    clock_check,
    config_check,
    contained_check,
    dashboard_check,
    discovery_check,
    disk_check,
    engine_check,
    entry_check,
    entry_points_check,
    environment_check,
    files_check,
    fleet_check,
    fleet_trust_check,
    gateway_check,
    grants_check,
    health_check,
    hook_order_check,
    host_check,
    key_check,
    limits_check,
    log_check,
    metrics_check,
    native_loops_check,
    node_check,
    notify_check,
    plugin_check,
    rules_check,
    settings_check,
    signers_check,
    standings_check,
    stores_check,
    weakened_check,
)
from toolguard_cli.system.errors import UserError
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording.printable import plain


@dataclass(frozen=True)
class ListedCheck:
    """`essential`: an error of this check means that nothing is guarded."""

    group: str
    id: str
    check: Callable[[DoctorSubject], Check]
    fix: Callable[[DoctorSubject], Iterator[Fix]] | None = None
    essential: bool = False

    def checked(self, subject: DoctorSubject) -> Check:
        """The result of the check; a check that cannot be made is an error."""
        try:
            return self.check(subject)
        except UserError as error:
            return Check(self.id, "error", plain(error.message), error.fix or "fix it, then try again")
        except (OSError, ValueError, StoreError) as error:  # `ValueError`: a name that cannot be a path
            fix = "check its owner and mode, then try again"
            return Check(self.id, "error", plain(f"the check failed: {error}"), fix)

    def fixes(self, subject: DoctorSubject) -> list[Fix]:
        try:
            return list(self.fix(subject)) if self.fix else []
        except (OSError, ValueError, UserError, StoreError):
            return []


TABLE = (
    ListedCheck("gateway", "loaded", gateway_check.loaded, essential=True),
    ListedCheck("gateway", "openclaw", host_check.openclaw),
    ListedCheck("gateway", "node", node_check.recent),
    ListedCheck("gateway", "hooks", host_check.hooks, essential=True),
    ListedCheck("gateway", "hook-order", hook_order_check.last, essential=True),
    ListedCheck("gateway", "loops", native_loops_check.beside),
    ListedCheck("gateway", "agents", agents_check.guarded),
    ListedCheck("gateway", "entry-points", entry_points_check.open_ways),
    ListedCheck("plugin", "toolguard", health_check.ours, fixes.reinstall),
    ListedCheck("plugin", "plugin", discovery_check.check, discovery_check.fix, essential=True),
    ListedCheck("plugin", "plugin-files", plugin_check.loadable, plugin_check.fix, essential=True),
    ListedCheck("plugin", "manifest", plugin_check.manifest, plugin_check.fix, essential=True),
    ListedCheck("plugin", "plugin-copy", plugin_check.current, fixes.reinstall),
    ListedCheck("plugin", "enabled", entry_check.enabled, fixes.reinstall, essential=True),
    ListedCheck("plugin", "enforced", entry_check.enforced),
    ListedCheck("plugin", "allowed", entry_check.allowed, fixes.reinstall, essential=True),
    ListedCheck("config", "config", settings_check.check, fixes.reinstall, essential=True),
    ListedCheck("config", "settings", config_check.fits, essential=True),
    ListedCheck("config", "whole-config", config_check.whole, essential=True),
    ListedCheck("config", "old-plugins", config_check.old_plugins),
    ListedCheck("config", "environment", environment_check.shown),
    ListedCheck("engine", "python", engine_check.python, engine_check.fix_python, essential=True),
    ListedCheck("engine", "engine", engine_check.answers, essential=True),
    ListedCheck("engine", "latency", engine_check.latency),
    ListedCheck("engine", "running", health_check.running),
    ListedCheck("engine", "containment", contained_check.proven),
    ListedCheck("state", "user", files_check.user),
    ListedCheck("state", "state-dir", files_check.state_dir, files_check.fix_state_dir),
    ListedCheck("state", "state-files", files_check.own_files, files_check.fix_own_files),
    ListedCheck("state", "stores", stores_check.whole, stores_check.fix_whole),
    ListedCheck("state", "standings", standings_check.whole, standings_check.fix_whole),
    ListedCheck("state", "key", key_check.signed, key_check.fix),
    ListedCheck("state", "audit", audit_log_check.logged, audit_log_check.fix),
    ListedCheck("state", "log", log_check.writable),
    ListedCheck("state", "disk", disk_check.room),
    ListedCheck("state", "clock", clock_check.plausible),
    ListedCheck("state", "metrics", metrics_check.recorded),
    ListedCheck("state", "limits", limits_check.effective),
    ListedCheck("state", "dashboard", dashboard_check.served, dashboard_check.fix),
    ListedCheck("approvals", "kill-switch", standings_check.thrown),
    ListedCheck("approvals", "notify", notify_check.somebody),
    ListedCheck("approvals", "stale", stores_check.fresh, stores_check.fix_fresh),
    ListedCheck("approvals", "policy", grants_check.policy),
    ListedCheck("approvals", "rules", rules_check.count),
    ListedCheck("approvals", "self-approval", grants_check.by_persons),
    ListedCheck("approvals", "signers", signers_check.allowed),
    ListedCheck("approvals", "fleet-trust", fleet_trust_check.trusted),
    ListedCheck("approvals", "fleet-policy", fleet_trust_check.policy),
    ListedCheck("approvals", "fleet", fleet_check.ready),
    ListedCheck("approvals", "fleet-server", fleet_check.database),
    ListedCheck("approvals", "weakened", weakened_check.accepted_all, weakened_check.fix),
)
