"""Can a person's yes be trusted: the stores, the key, the policy, the audit log, and who may say yes."""

from __future__ import annotations

import shutil
from pathlib import Path

from toolguard_cli import stores
from toolguard_cli.checks.check import Check, Subject
from toolguard_engine.stores import audit, counters, key
from toolguard_engine.stores.files import own_folder
from toolguard_engine.stores.locked import Damaged, StoreError, corrupt_files
from toolguard_engine.stores.nonces import FileNonces
from toolguard_engine.stores.policy import Policies

KEPT = "damaged"


def whole(subject: Subject) -> Check:
    """The stores of held calls and counts."""
    if kept := _kept(subject):
        told = ", ".join(path.name for path in kept)
        return Check("stores", "error", f"a store was damaged, nothing is approved: {told}", "toolguard doctor --fix")
    try:
        waiting = [entry for entry in _nonces(subject).entries() if entry.status == "pending"]
    except StoreError as error:
        return Check("stores", "error", str(error), "toolguard doctor --fix")
    return Check("stores", "ok", f"{len(waiting)} calls wait for a person")


def clear(subject: Subject) -> str:
    """Puts what is left of damaged stores out of the way, so that approvals work again; nothing is thrown away."""
    kept = _kept(subject)
    folder = _put_away(subject, kept)
    return f"moved {', '.join(path.name for path in kept)} to {folder}; what waited must be asked for again"


def _put_away(subject: Subject, paths: list[Path]) -> Path:
    folder = own_folder(subject.places.state_dir) / KEPT
    folder.mkdir(mode=0o700, exist_ok=True)
    for path in paths:
        shutil.move(path, folder / path.name)
    return folder


def _nonces(subject: Subject) -> FileNonces:
    return stores.nonces(subject.places, subject.settings)


def _kept(subject: Subject) -> list[Path]:
    places = [_nonces(subject).path, own_folder(subject.places.state_dir) / counters.NAME]
    return [path for place in places for path in corrupt_files(place)]


def signed(subject: Subject) -> Check:
    """The key that proves that an approval is ours."""
    place = key.path(subject.places.state_dir)
    try:
        if not place.exists():
            _nonces(subject).entries()
            return Check("key", "ok", "none yet; it is made when the first call is held")
        key.load(subject.places.state_dir)
    except Damaged:
        pass  # `stores` reports it
    except StoreError as error:
        return Check("key", "error", str(error), "toolguard doctor --fix (what waits must be asked for again)")
    return Check("key", "ok", f"{place}")


def renew(subject: Subject) -> str:
    """Takes a key away that others may know, and what it signed out of the way; the next held call makes a new one."""
    place, book = key.path(subject.places.state_dir), _nonces(subject).path
    place.unlink(missing_ok=True)
    if book.exists():
        _put_away(subject, [book])
    return f"removed {place}; the next held call makes a new one, and what waited must be asked for again"


def policy(subject: Subject) -> Check:
    try:
        policies = Policies(subject.places.state_dir)
        granted, unsigned = policies.grants(), policies.unsigned()
    except StoreError as error:
        return Check("policy", "error", str(error), "mend the file; until then every call that asks is blocked")
    if unsigned:
        names = ", ".join(grant.id for grant in unsigned)
        return Check("policy", "warn", f"not signed, so they do not count: {names}", "toolguard grant --accept ID")
    return Check("policy", "ok", f"{len(granted)} grants" if granted else "no grants")


def logged(subject: Subject) -> Check:
    try:
        found = audit.AuditLog(subject.places.state_dir).verify()
    except (StoreError, OSError) as error:
        return Check("audit", "error", str(error), "mend the file's owner and mode")
    if found.error:
        where = f"{found.file} line {found.line}: " if found.line else ""
        return Check("audit", "error", f"{where}{found.error}", "toolguard audit verify")
    if found.gaps:
        return Check(
            "audit", "warn", "lines may be missing before an event `head-lost`", "toolguard audit show --event head-lost"
        )
    return Check("audit", "ok", f"{found.lines} lines, whole")


def by_persons(subject: Subject) -> Check:
    """An agent that may say yes to itself is not guarded."""
    if subject.settings.approval.agent_tool:
        return Check(
            "self-approval", "warn", "approval.agentTool is on: the agent can approve its own calls",
            "set approval.agentTool to false; approve with `toolguard approve` or /toolguard approve",
        )  # fmt: skip
    return Check("self-approval", "ok", "only persons approve")
