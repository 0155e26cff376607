"""The grants, and who may approve calls."""

from __future__ import annotations

from toolguard_cli.doctor.check_types import Check, DoctorSubject
from toolguard_cli.hostconfig import signed_grants
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable


def policy(subject: DoctorSubject) -> Check:
    try:
        policies = stores.grants(subject.places.state_dir)
        granted, active = policies.grants(), policies.active(subject.now)
        counting = signed_grants.counting(subject.places, subject.settings, granted)
        unsigned = [*policies.unsigned(), *(grant for grant in granted if grant not in counting)]
    except StoreError as error:
        text, _, fix = printable.plain(str(error)).rpartition("; ")
        blocked = f"{text or fix}: every call that needs an approval is blocked"
        return Check("policy", "error", blocked, fix if text else "check the file's owner and mode")
    data = {"grants": len(granted), "unsigned": [grant.id for grant in unsigned]}
    if unsigned:
        names = ", ".join(grant.id for grant in unsigned)
        fix = subject.command("grant", "--accept", unsigned[0].id)
        return Check("policy", "warn", f"not signed, so not in force: {names}", fix, data)
    over = [grant.id for grant in granted if grant not in active]
    ended = f", {len(over)} of them expired ({subject.command('revoke', over[0])} removes one)" if over else ""
    many = f"{len(granted)} grant{'' if len(granted) == 1 else 's'}" if granted else "no grants"
    return Check("policy", "ok", f"{many}{ended}", data={**data, "expired": over})


def by_persons(subject: DoctorSubject) -> Check:
    """An agent that can approve its own calls is not guarded."""
    if subject.settings.approval.agent_tool:
        text = "approval.agentTool is on: the agent can approve its own calls"
        fix = subject.set_command("approval.agentTool", "false")
        return Check("self-approval", "warn", text, fix, {"guards": "partly"})
    return Check("self-approval", "ok", "only people approve")
