"""Whether the gateway that runs now has loaded this toolguard with these settings."""

from __future__ import annotations

from dataclasses import asdict

from toolguard_cli.doctor.check_types import Check, DoctorSubject, Guards, Status
from toolguard_cli.operations import guard_proof

ID = "loaded"
_MEANS: dict[guard_proof.State, tuple[Status, Guards]] = {
    "guarded": ("ok", "yes"),
    "observing": ("ok", "yes"),
    "disabled": ("ok", "yes"),
    "old-version": ("error", "partly"),
    "old-settings": ("error", "partly"),
    "engine-away": ("error", "no"),
    "not-loaded": ("error", "no"),
    "other-state": ("error", "no"),
    "unknown": ("warn", "unknown"),
    "starting": ("warn", "unknown"),
    "reloading": ("warn", "unknown"),
    "installed": ("ok", "installed"),
    "port-taken": ("warn", "installed"),
    "not-installed": ("ok", "no"),
    "unreadable": ("ok", "unknown"),
}
"""What other checks report is no fault here: a mode, a missing installation, a config that cannot be read or that keeps the
gateway from loading the plugin."""


def loaded(subject: DoctorSubject) -> Check:
    proof = guard_proof.settled(subject.places)
    status, guards = _MEANS[proof.state]
    if proof.state == "not-loaded" and not proof.gateway:
        status = "ok"
    fix = "" if status == "ok" else proof.fix
    return Check(ID, status, proof.text, fix, {"guards": guards, "proof": asdict(proof)})
