"""Whether a call can be undone, in words: what is recorded when its old state was kept or not, and what has become of that.

Every surface asks here, so that none promises what has expired.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from toolguard_engine.stores import atomic
from toolguard_engine.stores.state_files import UNDO
from toolguard_engine.stores.undo.undo_entry import DESCRIPTION

EVENT = "kept"
"""The event of the audit log about a call that can be undone."""

KEPT, PARTIAL, SKIPPED = "undo.kept", "undo.partial", "undo.skipped"
CODES = frozenset({KEPT, PARTIAL, SKIPPED})

_ID = r"[0-9a-f]{6,64}"
_RECORDED = re.compile(rf"^(?:only a part of it )?can be undone: toolguard undo ({_ID})(?: \(|$)")


def recorded(name: str, why: str) -> tuple[str, str]:
    """The code and the reason of the line about a call. `name`: of the entry; empty if nothing was kept. `why`: what is
    missing; empty if nothing is."""
    missing = f" ({why})" if why else ""
    if not name:
        return SKIPPED, f"cannot be undone{missing}"
    part = "only a part of it " if why else ""
    return PARTIAL if why else KEPT, f"{part}can be undone: toolguard undo {name}{missing}"


def current(state_dir: Path, code: str, reason: str) -> str:
    """The reason of such a line as it is true now; any other reason as it is."""
    match = _RECORDED.match(reason) if code in (KEPT, PARTIAL) else None
    if match is None or is_kept(state_dir, match[1]):
        return reason
    return f"could be undone, but what was kept under {match[1]} is gone: it was too old or took too much room"


def offer(state_dir: Path, nonce: str) -> str:
    """How to undo the held call that ran under this nonce; empty if nothing of it is kept."""
    return f"toolguard undo {nonce} undoes it" if is_name(nonce) and is_kept(state_dir, nonce) else ""


def is_name(text: str) -> bool:
    """Whether an entry may have this name."""
    return re.fullmatch(_ID, text) is not None


def is_kept(state_dir: Path, name: str) -> bool:
    """Whether there is an entry of this name, or that cannot be found out."""
    try:
        os.stat(atomic.own_folder(state_dir) / UNDO / name / DESCRIPTION)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
