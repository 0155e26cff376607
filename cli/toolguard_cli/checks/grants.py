"""What was granted beforehand, and who may say yes."""

from __future__ import annotations

from toolguard_cli.checks.check import Check, Subject
from toolguard_engine import answers
from toolguard_engine.layers.grants import is_expired
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.policy import Policies


def policy(subject: Subject) -> Check:
    try:
        policies = Policies(subject.places.state_dir)
        granted, unsigned = policies.grants(), policies.unsigned()
    except StoreError as error:
        said, _, mend = answers.plain(str(error)).rpartition("; ")
        told = f"{said or mend}: every call that asks is blocked"
        return Check("policy", "error", told, mend if said else "mend the file's owner and mode")
    data = {"grants": len(granted), "unsigned": [grant.id for grant in unsigned]}
    if unsigned:
        names = ", ".join(grant.id for grant in unsigned)
        fix = subject.command("grant", "--accept", unsigned[0].id)
        return Check("policy", "warn", f"not signed, so they do not count: {names}", fix, data)
    over = [grant.id for grant in granted if is_expired(grant, subject.now)]
    ended = f", {len(over)} of them over ({subject.command('revoke', over[0])} takes one out)" if over else ""
    many = f"{len(granted)} grant{'' if len(granted) == 1 else 's'}" if granted else "no grants"
    return Check("policy", "ok", f"{many}{ended}", data={**data, "expired": over})


def by_persons(subject: Subject) -> Check:
    """An agent that may say yes to itself is not guarded."""
    if subject.settings.approval.agent_tool:
        told = "approval.agentTool is on: the agent can approve its own calls"
        return Check("self-approval", "warn", told, subject.set_command("approval.agentTool", "false"))
    return Check("self-approval", "ok", "only persons approve")
