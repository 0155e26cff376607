"""The stores of one gateway, according to its settings, and their errors as `UserError`.

Only the settings that the stores need are read, so that an error elsewhere does not prevent a denial. Large modules are
imported only when needed: `toolguard approve` must be fast.
"""

from __future__ import annotations

import os
import pwd
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from toolguard_cli.system import extras
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import PLUGIN_ID, Places
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import Decision, RefusedError
from toolguard_engine.config.settings import Config, parse
from toolguard_engine.stores import atomic, audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import HeldCallStore
from toolguard_engine.wording import printable

ENTRY = ("plugins", "entries", PLUGIN_ID, "config")
NEEDED = ("approvalWindowMs", "fleet", "pendingTimeoutMs", "storePath")
OF_APPROVAL = ("signers", "revokedSigners", "wake")
"""The same, under `approval`."""

MAX_BYTES = 20 * 1024 * 1024
COMPOSED = (b"$include", b"${")
FLEET_SECONDS = 5.0
"""Within which the fleet's database answers a command."""

_USUAL_FIX = "check whether it exists, and its owner, its mode and the space on its disk"
_DAMAGED_FIX = "toolguard doctor --fix"


def settings(places: Places) -> Config:
    """The settings that the stores need; all others have their defaults. Raises `UserError`."""
    value = entry(places)
    known = value if isinstance(value, dict) else {}
    try:
        return parse({**{name: known[name] for name in NEEDED if name in known}, **_of_approval(known.get("approval"))})
    except msgspec.ValidationError as error:
        raise UserError(f"{'.'.join(ENTRY)} in {places.config}: {error}", "fix that setting, then try again") from error


def _of_approval(approval: object) -> dict[str, Any]:
    named = {name: approval[name] for name in OF_APPROVAL if name in approval} if isinstance(approval, dict) else {}
    return {"approval": named} if named else {}


def entry(places: Places) -> Any:
    """Toolguard's settings in the gateway's config; None if there are none. Raises `UserError`."""
    value = _config(places)
    for step in ENTRY:
        value = value.get(step) if isinstance(value, dict) else None
    return value


def plugins(places: Places) -> dict[str, Any]:
    """The `plugins` section of the gateway's config; empty if there is none. Raises `UserError`."""
    return sections(places, "plugins")[0]


def sections(places: Places, *names: str) -> list[dict[str, Any]]:
    """These sections of the gateway's config; a missing one is empty. Raises `UserError`."""
    value = _config(places)
    values = [value.get(name) if isinstance(value, dict) else None for name in names]
    return [section if isinstance(section, dict) else {} for section in values]


def _config(places: Places) -> Any:
    """Most configs are plain JSON in one file, which is about 100 times as fast as JSON5."""
    try:
        with atomic.opened(places.config) as file:
            data = file.read(MAX_BYTES)
        if not any(sign in data for sign in COMPOSED):
            return msgspec.json.decode(data)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    from toolguard_cli.hostconfig import config_tree, env_vars  # noqa: PLC0415 - see above

    return env_vars.filled(config_tree.read(places.config).value)


def nonces(places: Places, config: Config | None = None) -> HeldCallStore:
    """The held calls. Raises `UserError`."""
    known = config or settings(places)
    if known.fleet.enabled:
        return fleet_calls(places.state_dir, known)
    if not isinstance(known.store_path, str):
        return stores.held_calls(places.state_dir)
    from toolguard_engine.config import conflicts  # noqa: PLC0415 - as below
    from toolguard_engine.stores import call_log  # noqa: PLC0415 - it brings half of the engine along

    named = conflicts.store_path(known)
    return stores.held_calls(places.state_dir, call_log.resolve(named, places.state_dir) if named else None)


def fleet_calls(state_dir: Path, config: Config) -> HeldCallStore:
    """The held calls of a gateway in a fleet, asked for as that gateway. Raises `UserError` without the extra."""
    extras.require(extras.FLEET)
    from toolguard_engine.stores.fleet import fleet_identity  # noqa: PLC0415 - only in a fleet
    from toolguard_fleet.direct_link import DirectLink  # noqa: PLC0415 - as above

    link = DirectLink(config.fleet.dsn, lambda: fleet_identity.load(state_dir))
    return stores.fleet_calls(state_dir, config.fleet, config.approval_window_ms / 1000, FLEET_SECONDS, link)


def decision(why: str, where: str = "cli") -> Decision:
    """A decision of the current user."""
    return Decision(who(), where, audit_log.plain(why))


def event(kind: str, *, where: str = "cli", **facts: str) -> audit_log.AuditEvent:
    """A line for the audit log about what the current user does now."""
    moment = audit_log.when(time.time())
    return audit_log.AuditEvent(id=secrets.token_hex(8), time=moment, event=kind, by=who(), where=where, **facts)


def logged(places: Places, line: audit_log.AuditEvent) -> list[str]:
    """Appends it to the audit log. What it reports stays in effect even if that fails; then there is a warning."""
    try:
        stores.audit_log(places.state_dir).append([line])
    except StoreError as error:
        return [printable.plain(f"this could not be written to the audit log: {error}")]
    return []


def who(env: Mapping[str, str] = os.environ) -> str:
    """The current user: the account, or who uses it through sudo."""
    uid = os.getuid()
    try:
        account = pwd.getpwuid(uid).pw_name
    except KeyError:
        account = str(uid)
    behind = env.get("SUDO_USER", "")
    return printable.cut(account if behind in ("", account) else f"{behind} (as {account})", 100)


@contextmanager
def user_errors() -> Iterator[None]:
    """Turns errors of the stores and refusals of the ledger into a `UserError` with the next step."""
    try:
        yield
    except RefusedError as refused:
        answer = replies.explain(refused)
        raise UserError(answer.text, answer.fix) from refused
    except StoreError as error:
        text, _, fix = printable.plain(str(error)).rpartition("; ")
        next_step = _DAMAGED_FIX if error.code == "store.damaged" else fix if text else _USUAL_FIX
        raise UserError(text or fix, next_step) from error
