"""What an exact grant allows, in words, and the command line that creates it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.repeatable_calls import covered
from toolguard_engine.wording import printable


def scope(grant: Grant, lasts: str) -> str:
    """What an exact grant allows and how long, in words."""
    return printable.plain(f"for {lasts}: {covered(grant)}")


def command(grant: Grant, lasts: str, places: Sequence[str] = ()) -> str:
    """The command line. `places`: the options that select another gateway."""
    words = ["--tool", grant.tool, "--for", lasts, *places]
    words += ["--agent", grant.agent] * bool(grant.agent) + ["--cwd", grant.cwd] * bool(grant.cwd)
    for name, glob in grant.params.items():
        words += ["--param", f"{name}={glob}"]
    before, after = ([grant.pattern], []) if not grant.pattern.startswith("-") else ([], ["--", grant.pattern])
    return shlex.join(["toolguard", "grant", *before, *words, *after])
