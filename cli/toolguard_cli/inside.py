"""Whether this command was started from inside an agent's tool call. A yes must come from a person.

The guard looks at calls as they are made, and cannot see what a script that was written before will run. So the commands
that decide look at where they come from: OpenClaw marks the commands that its `exec` starts (`OPENCLAW_SHELL=exec`,
documented), and they descend from the gateway. Whoever goes to the length of hiding both is not merely misled.
"""

from __future__ import annotations

import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_engine.stores import audit, engines
from toolguard_engine.stores.locked import StoreError

MARK = "OPENCLAW_SHELL"
PROC = Path("/proc")
MAX_ANCESTORS = 100


def refuse(places: Places, command: str, env: Mapping[str, str] = os.environ) -> None:
    """Raises `UserError`, and leaves a line in the audit log, where an agent's tool call runs this command."""
    reason = _reason(places, env)
    if not reason:
        return
    event = audit.Event(
        id=secrets.token_hex(8),
        time=audit.when(time.time()),
        event="security",
        code="security.self-approval",
        where="cli",
        reason=f"`toolguard {command}` was started {reason}",
    )
    with suppress(StoreError):
        audit.AuditLog(places.state_dir).append([event])
    raise UserError(
        f"`toolguard {command}` was started {reason}; only a person may do that", "run it in a terminal of your own"
    )


def _reason(places: Places, env: Mapping[str, str]) -> str:
    if env.get(MARK) == "exec":
        return "by an agent's exec"
    gateways = {info.gateway_pid for info in engines.running(places.state_dir)}
    return "by the gateway" if gateways & set(_ancestors(os.getppid())) else ""


def _ancestors(pid: int) -> Iterator[int]:
    """The processes that this one descends from, where the system tells."""
    for _ in range(MAX_ANCESTORS):
        if pid <= 1:
            return
        yield pid
        try:
            # The second field is the name in parentheses, and may hold anything; the parent is the fourth.
            pid = int((PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return
