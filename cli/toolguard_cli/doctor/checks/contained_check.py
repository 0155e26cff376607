"""Whether commands are contained: what the running engine has found out with its probe."""

from __future__ import annotations

from toolguard_cli.doctor.check_types import FIX_CONFIG, UNREAD, Check, DoctorSubject
from toolguard_cli.operations import contained_lines
from toolguard_engine.stores import open as stores

ID = "containment"


def proven(subject: DoctorSubject) -> Check:
    """Ok also if no gateway runs: it is found out at its start."""
    if subject.config is None:
        return Check(ID, "warn", UNREAD, FIX_CONFIG)
    running = stores.engines(subject.places.state_dir).running()
    if why := contained_lines.fault(running):
        return Check(ID, "warn", f"commands are NOT contained: {why[0]}", why[1], {"contained": False})
    if why_not := contained_lines.unrehearsed(running):
        detail, fix = contained_lines.NOT_REHEARSED.format(why=why_not), contained_lines.WITHOUT_COPIES
        return Check(ID, "warn", detail, fix, {"contained": True})
    if any(info.contained for info in running):
        return Check(ID, "ok", contained_lines.CONTAINED, data={"contained": True})
    if subject.settings.containment.profile == "off":
        return Check(ID, "ok", "commands are not contained: containment.profile is off", data={"contained": False})
    return Check(ID, "ok", "not known: no gateway is running (toolguard containment probe tries it)")
