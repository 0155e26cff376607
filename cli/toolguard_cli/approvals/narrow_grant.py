"""The narrowest grant for a call, and the command line that creates it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

import msgspec

from toolguard_engine.approvals import grant_matching
from toolguard_engine.approvals.grant_matching import Grant
from toolguard_engine.host.tool_search import short_name, tool_name
from toolguard_engine.model.call import Call
from toolguard_engine.wording import printable
from toolguard_engine.wording.redact import UNPRINTABLE

NEW = "g-new"
MAX_TYPED = 400
"""The longest pattern, in characters, that is suggested for typing."""


def exact(call: Call, *, agent: str = "", cwd: str = "") -> Grant | None:
    """A grant for exactly this call; None if there is none, or its pattern is too long to type."""
    pattern = grant_matching.subject(call)
    return of(call, pattern, agent=agent, cwd=cwd) if pattern and len(pattern) <= MAX_TYPED else None


def of(call: Call, pattern: str, *, agent: str = "", cwd: str = "") -> Grant | None:
    """The grant with this pattern, if it covers this call."""
    draft = {"id": NEW, "tool": short_name(call.tool), "pattern": pattern, "agent": agent, "cwd": cwd}
    try:
        grant = msgspec.convert({**draft, "params": grant_matching.fixed(call)}, Grant)
    except msgspec.ValidationError:
        return None
    texts = (pattern, agent, cwd, *grant.params, *grant.params.values())
    if any(UNPRINTABLE.search(text) for text in texts) or grant_matching.useless(grant):
        return None
    return grant if grant_matching.covers(grant, call, 0.0) else None


_COVERED = {
    "read": "reading just this file",
    "write": "any content of this file",
    "edit": "any change of this file",
    "message": "any text to this address",
}
_BY_KIND = {
    "words": "just this command",
    "path": "just this path",
    "url": "just this address",
    "address": "just this address",
    "json": "just these arguments",
}


def scope(grant: Grant, lasts: str) -> str:
    """What an exact grant allows, in words."""
    kind = grant_matching.kind_of(grant.tool)
    parts = [_COVERED.get(tool_name(grant.tool)) or _BY_KIND[kind]]
    if grant.cwd:
        parts.append(f"in {grant.cwd}")
    elif kind == "words" or (kind == "path" and not grant.pattern.startswith(("/", "~"))):
        parts.append("in every folder")
    parts.append(f"by agent {grant.agent}" if grant.agent else "by every agent")
    return printable.plain(f"for {lasts}: {', '.join(parts)}")


def command(grant: Grant, lasts: str, places: Sequence[str] = ()) -> str:
    """The command line. `places`: the options that select another gateway."""
    words = ["--tool", grant.tool, "--for", lasts, *places]
    words += ["--agent", grant.agent] * bool(grant.agent) + ["--cwd", grant.cwd] * bool(grant.cwd)
    for name, glob in grant.params.items():
        words += ["--param", f"{name}={glob}"]
    before, after = ([grant.pattern], []) if not grant.pattern.startswith("-") else ([], ["--", grant.pattern])
    return shlex.join(["toolguard", "grant", *before, *words, *after])
