"""Texts for the model about what commands cannot reach where they are contained."""

from __future__ import annotations

from toolguard_engine.wording import printable
from toolguard_engine.wording.loop_notes import NOTE

MAX_PATH = 200
_WITHOUT = {"hold": "waited for an approval", "block": "been blocked"}


def hidden(path: str) -> str:
    """A command failed on this path, which is hidden from commands, or read-only for them."""
    shown = printable.cut(printable.plain(path), MAX_PATH)
    return (
        f"{NOTE} toolguard keeps {shown} from commands, so no other command will get there. "
        "Use the gateway's own tools if one does it, go on without it, or tell the user what is needed there: they can let "
        "such a command run outside with toolguard grant --uncontained."
    )


def rights() -> str:
    """A program that needs the rights of root ran in a room, where there are none."""
    return (
        f"{NOTE} Commands have the rights of root only outside of the room that toolguard keeps them in. A command runs "
        "there if each file that it names beside such a program lies where other commands cannot change it, and if no "
        "unknown program runs in it: give the program a command of its own, and let it read from there. "
        "Otherwise the user can let the command run outside with toolguard grant --uncontained."
    )


def kept(decision: str) -> str:
    """A command ran in its room that would have been held or blocked without one."""
    return (
        f"{NOTE} This ran where toolguard hides the gateway's state from commands, apart from workspaces, skills and media, "
        f"so its result has nothing of the rest. Elsewhere it would have {_WITHOUT.get(decision, 'been held')}."
    )


def refused(reason: str) -> str:
    """Why such a command may run, for people. `reason`: why it may not outside of a room."""
    return f"It runs in its room, where nothing comes of this: {reason}"


GONE = "its room, which keeps commands from the guard's files, was lost after it was judged"


def gone(prefix: str) -> str:
    """A command did not run, because it may run in its room only."""
    return f"{prefix}_BLOCK|This command did not run: {GONE}.\nIf it is still needed, repeat it once."
