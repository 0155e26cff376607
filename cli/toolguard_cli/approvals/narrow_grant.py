"""What an exact grant allows, in words, and the command line that creates it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from toolguard_engine.approvals import grant_matching
from toolguard_engine.approvals.grant_matching import Grant
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.wording import printable

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
    """What an exact grant allows and how long, in words."""
    return printable.plain(f"for {lasts}: {covered(grant)}")


def covered(grant: Grant) -> str:
    """What an exact grant allows, in words."""
    kind = grant_matching.kind_of(grant.tool)
    parts = [_COVERED.get(tool_name(grant.tool)) or _BY_KIND[kind]]
    if grant.cwd:
        parts.append(f"in {grant.cwd}")
    elif kind == "words" or (kind == "path" and not grant.pattern.startswith(("/", "~"))):
        parts.append("in every folder")
    parts.append(f"by agent {grant.agent}" if grant.agent else "by every agent")
    return printable.plain(", ".join(parts))


def command(grant: Grant, lasts: str, places: Sequence[str] = ()) -> str:
    """The command line. `places`: the options that select another gateway."""
    words = ["--tool", grant.tool, "--for", lasts, *places]
    words += ["--agent", grant.agent] * bool(grant.agent) + ["--cwd", grant.cwd] * bool(grant.cwd)
    for name, glob in grant.params.items():
        words += ["--param", f"{name}={glob}"]
    before, after = ([grant.pattern], []) if not grant.pattern.startswith("-") else ([], ["--", grant.pattern])
    return shlex.join(["toolguard", "grant", *before, *words, *after])
