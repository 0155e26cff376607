"""The narrowest grant for a call. Pure."""

from __future__ import annotations

import msgspec

from toolguard_engine.approvals import grant_matching
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.host.tool_search import short_name
from toolguard_engine.model.call import Call
from toolguard_engine.model.held_details import ExactCall
from toolguard_engine.wording.redact import redact_text
from toolguard_engine.wording.visible_text import is_visible

NEW = "g-new"
MAX_TYPED = 400
"""The longest pattern, in characters, that is suggested for typing."""


def exact(call: Call, *, agent: str = "", cwd: str = "") -> Grant | None:
    """A grant for exactly this call; None if there is none, or its pattern is too long to type."""
    pattern = grant_matching.subject(call)
    return make(call, pattern, agent=agent, cwd=cwd) if pattern and len(pattern) <= MAX_TYPED else None


def make(call: Call, pattern: str, *, agent: str = "", cwd: str = "") -> Grant | None:
    """The grant with this pattern, if it covers this call."""
    draft = {"id": NEW, "tool": short_name(call.tool), "pattern": pattern, "agent": agent, "cwd": cwd}
    try:
        grant = msgspec.convert({**draft, "params": grant_matching.fixed(call)}, Grant)
    except msgspec.ValidationError:
        return None
    texts = (pattern, agent, cwd, *grant.params, *grant.params.values())
    if not all(map(is_visible, texts)) or grant_matching.useless(grant):
        return None
    return grant if grant_matching.covers(grant, call, 0.0) else None


def for_local(call: Call) -> Grant | None:
    """The same, for this agent, and for this folder if it is known and matters."""
    local = call.cwd and grant_matching.kind_of(call.tool) in ("words", "path")
    narrow = exact(call, agent=call.agent, cwd=call.cwd) if local else None
    return narrow or exact(call, agent=call.agent)


def kept(call: Call) -> ExactCall | None:
    """What a held call keeps of its grant. None where there is none, or where it would contain a secret."""
    grant = for_local(call)
    if grant is None:
        return None
    texts = (grant.pattern, *grant.params, *grant.params.values())
    if sum(map(len, texts)) > MAX_TYPED or any(redact_text(text) != text for text in texts):
        return None
    return ExactCall(grant.pattern, grant.params, grant.cwd)
