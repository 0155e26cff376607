"""All checks of `doctor` in the order in which a person reads them, and the repairs that go with them.

A repair takes nothing away that somebody needs, and is offered only where its check found a fault. Repairs are made in this
order as well: modes and owners come before what reads the files.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from toolguard_cli.checks import (
    agents,
    auditlog,
    clock,
    config,
    dashboard,
    discovery,
    disk,
    engine,
    entry,
    environment,
    files,
    grants,
    health,
    host,
    keyfile,
    log,
    mending,
    metrics,
    nativeloops,
    node,
    order,
    plugin,
    rules,
    standings,
    stores,
    waysin,
    weakened,
    wholeconfig,
)
from toolguard_cli.checks.check import Check, Step, Subject
from toolguard_cli.errors import UserError
from toolguard_engine.answers import plain
from toolguard_engine.stores.locked import StoreError


@dataclass(frozen=True)
class Row:
    group: str
    id: str
    look: Callable[[Subject], Check]
    mend: Callable[[Subject], Iterator[Step]] | None = None

    def checked(self, subject: Subject) -> Check:
        """What the check says; what it could not look at is its fault. `ValueError`: a name that cannot be a path."""
        try:
            return self.look(subject)
        except UserError as error:
            return Check(self.id, "error", plain(error.message), error.fix or "mend it, then repeat")
        except (OSError, ValueError, StoreError) as error:
            return Check(self.id, "error", plain(f"cannot be told: {error}"), "mend its owner and mode, then repeat")

    def steps(self, subject: Subject) -> list[Step]:
        try:
            return list(self.mend(subject)) if self.mend else []
        except (OSError, ValueError, UserError, StoreError):
            return []


TABLE = (
    Row("gateway", "openclaw", host.openclaw),
    Row("gateway", "node", node.recent),
    Row("gateway", "hooks", host.hooks),
    Row("gateway", "hook-order", order.last),
    Row("gateway", "loops", nativeloops.beside),
    Row("gateway", "agents", agents.guarded),
    Row("gateway", "ways-in", waysin.open_ways),
    Row("plugin", "toolguard", health.ours, mending.reinstall),
    Row("plugin", "plugin", discovery.found, discovery.mend),
    Row("plugin", "plugin-files", plugin.loadable, plugin.mend),
    Row("plugin", "manifest", plugin.manifest, plugin.mend),
    Row("plugin", "plugin-copy", plugin.current, mending.reinstall),
    Row("plugin", "enabled", entry.enabled, mending.reinstall),
    Row("plugin", "enforced", entry.enforced),
    Row("plugin", "allowed", entry.allowed, mending.reinstall),
    Row("config", "config", config.found, mending.reinstall),
    Row("config", "settings", wholeconfig.fits),
    Row("config", "whole-config", wholeconfig.whole),
    Row("config", "old-plugins", wholeconfig.old_plugins),
    Row("config", "environment", environment.shown),
    Row("engine", "python", engine.python, engine.mend_python),
    Row("engine", "engine", engine.answers),
    Row("engine", "latency", engine.latency),
    Row("engine", "running", health.running),
    Row("state", "user", files.user),
    Row("state", "state-dir", files.state_dir, files.mend_state_dir),
    Row("state", "state-files", files.own_files, files.mend_own_files),
    Row("state", "stores", stores.whole, stores.mend_whole),
    Row("state", "standings", standings.whole, standings.mend_whole),
    Row("state", "key", keyfile.signed, keyfile.mend),
    Row("state", "audit", auditlog.logged, auditlog.mend),
    Row("state", "log", log.writable),
    Row("state", "disk", disk.room),
    Row("state", "clock", clock.plausible),
    Row("state", "metrics", metrics.recorded),
    Row("state", "dashboard", dashboard.served, dashboard.mend),
    Row("approvals", "kill-switch", standings.thrown),
    Row("approvals", "stale", stores.fresh, stores.mend_fresh),
    Row("approvals", "policy", grants.policy),
    Row("approvals", "rules", rules.count),
    Row("approvals", "self-approval", grants.by_persons),
    Row("approvals", "weakened", weakened.accepted_all, weakened.repair),
)
