"""Texts about what a command did when it ran on a copy of the files."""

from __future__ import annotations

from collections.abc import Sequence

from toolguard_engine.wording import printable

MAX_SHOWN = 20
MAX_IN_REASON = 230
"""Characters: a reason has to fit into a prompt."""

RAN = "It ran on a copy of the files, and there it"


def reason(effects: Sequence[str]) -> str:
    """One sentence for the person who decides: as many effects as fit, and how many others there are."""
    shown: list[str] = []
    for effect in effects:
        if shown and len("; ".join([*shown, effect])) > MAX_IN_REASON:
            break
        shown.append(printable.cut(printable.plain(effect), MAX_IN_REASON))
    left = len(effects) - len(shown)
    return f"{RAN} {'; '.join(shown)}{f'; and {left} more' if left else ''}."


def held(effects: Sequence[str]) -> str:
    """Tells the model, behind the output of a command whose changes were not made."""
    lines = [f"  - {printable.plain(effect)}" for effect in effects[:MAX_SHOWN]]
    lines += [f"  - and {len(effects) - MAX_SHOWN} more"] if len(effects) > MAX_SHOWN else []
    return "\n".join(
        [
            "toolguard: nothing has changed yet. The command ran on a copy of the files, without network. It:",
            *lines,
            "A person has to see this. Repeat exactly the same call: it then waits for approval, and is done when approved.",
        ]
    )


STALE = "toolguard: what it would change has been changed by something else meanwhile; nothing was done. Run it again."
NO_ROOM = "toolguard: this is not a room of this gateway; nothing was run"
GONE = "toolguard: its rehearsal is gone; nothing was done. Run it again."


def made(count: int) -> str:
    return f"toolguard: the {count} approved changes of the earlier run were made; it was not run again."


def not_run(why: str) -> str:
    return f"toolguard: it cannot be rehearsed: {why}; nothing was run"


def not_done(why: str) -> str:
    return f"toolguard: {printable.plain(why)}; none of its changes were made"


def incomplete(why: str) -> str:
    return f"toolguard: some of its changes could not be made, the others were: {printable.plain(why)}"


def forbidden(what: str) -> str:
    return f"toolguard: none of its changes were made, and nobody can allow them: {printable.plain(what)}"
