"""Whether this machine can trust its list of signers, and which policy of the fleet counts here."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from pathlib import Path

from toolguard_cli.doctor.check_types import Check, DoctorSubject, account, shown
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

TRUST, POLICY = "fleet-trust", "fleet-policy"
SECONDS = 20.0
NO_FLEET = "this gateway is not in a fleet (fleet.enabled is not set)"
FIX = "see docs/fleet.md, The trust root"


def trusted(subject: DoctorSubject) -> Check:
    config = subject.settings.fleet
    if not config.enabled:
        return Check(TRUST, "ok", NO_FLEET)
    from toolguard_engine.stores.fleet import trust_root  # noqa: PLC0415 - nothing of the fleet is loaded without one

    folder = Path(config.trust)
    if missing := trust_root.problem(folder, may_be_writable=True):
        return Check(TRUST, "error", f"held calls are blocked: {printable.plain(missing)}", FIX)
    trust = _as_gateway(folder, subject.user)
    if not trust:
        return Check(TRUST, "ok", f"{account(subject.user)}, the gateway's user, cannot change who may approve ({folder})")
    text = printable.plain(trust)
    if config.trust_writable:
        accepted = f"the list of approvers is not protected, as fleet.trustWritable allows: {text}"
        return Check(TRUST, "warn", accepted, FIX, {"guards": "yes"})
    return Check(TRUST, "error", f"held calls are blocked: {text}", FIX)


def policy(subject: DoctorSubject) -> Check:
    config = subject.settings.fleet
    if not config.enabled:
        return Check(POLICY, "ok", NO_FLEET)
    from toolguard_engine.stores.fleet import fleet_state  # noqa: PLC0415 - as above
    from toolguard_engine.stores.fleet.last_good_policy import LastGoodPolicy  # noqa: PLC0415 - as above

    kept = LastGoodPolicy(subject.places.state_dir, config.team, Path(config.trust))
    try:
        trusted = kept.load()
    except StoreError as error:
        text = f"{shown(kept.path)} cannot be verified, so calls above SAFE are held: {printable.plain(str(error))}"
        return Check(POLICY, "error", text, "push a policy that an admin signed: toolguard fleet policy push")
    version = trusted.policy.version if trusted else 0
    data: dict[str, object] = {"version": version, "signer": trusted.signer if trusted else ""}
    if refused := fleet_state.load(subject.places.state_dir).status.policy_error:
        text = f"this gateway rejects the policy in the fleet's database: {printable.plain(refused)}"
        fix = f"version {version} stays in force; tell an admin of the fleet" if trusted else "tell an admin of the fleet"
        return Check(POLICY, "warn", text, fix, data)
    if trusted is None:
        return Check(POLICY, "ok", "the fleet has no policy: one approval is enough for each call", data=data)
    return Check(POLICY, "ok", f"version {version} is in force, signed by {printable.plain(trusted.signer)}", data=data)


def _as_gateway(folder: Path, user: int) -> str:
    """The problem as the gateway's user has it; root asks in that user's name."""
    from toolguard_engine.stores.fleet import trust_root  # noqa: PLC0415 - as above

    if os.geteuid() != 0 or user == 0:
        return trust_root.problem(folder)
    try:
        known = pwd.getpwuid(user)
        groups = os.getgrouplist(known.pw_name, known.pw_gid)
        done = subprocess.run(
            [sys.executable, "-I", "-", str(folder)], input=Path(trust_root.__file__).read_text("utf-8"),
            capture_output=True, text=True, check=True, cwd="/", timeout=SECONDS,
            user=user, group=known.pw_gid, extra_groups=groups,
        )  # fmt: skip
    except (KeyError, OSError, subprocess.SubprocessError) as error:
        return f"cannot determine whether {account(user)} can change {folder}: {error}"
    return done.stdout.strip()
