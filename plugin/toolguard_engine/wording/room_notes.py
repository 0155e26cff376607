"""Texts for the model about what commands cannot reach where they are contained."""

from __future__ import annotations

from toolguard_engine.wording import printable
from toolguard_engine.wording.loop_notes import NOTE

MAX_PATH = 200


def hidden(path: str) -> str:
    """A command failed on this path, which is hidden from commands, or read-only for them."""
    shown = printable.cut(printable.plain(path), MAX_PATH)
    return (
        f"{NOTE} toolguard keeps {shown} from commands, so no other command will get there. "
        "Use the gateway's own tools if one does it, go on without it, or tell the user what is needed there: they can let "
        "such a command run outside with toolguard grant --uncontained."
    )
