"""Whether a call can be undone, in words: what is recorded when its old state was kept or not, and what has become of that.

Every surface asks here, so that none promises what has expired.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Literal

from toolguard_engine import lazy_re
from toolguard_engine.stores import atomic
from toolguard_engine.stores.state_files import UNDO
from toolguard_engine.stores.undo import undo_entry

EVENT = "kept"
"""The event of the audit log about a call that can be undone."""

KEPT, PARTIAL, SKIPPED = "undo.kept", "undo.partial", "undo.skipped"
CODES = frozenset({KEPT, PARTIAL, SKIPPED})

_ID = r"[0-9a-f]{6,64}"
_RECORDED = lazy_re.compile(rf"^(?:only a part of it )?can be undone: toolguard undo ({_ID})(?: \(|$)")


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
    if match is None or what_is_kept(state_dir, match[1]):
        return reason
    part = "a part of it " if code == PARTIAL else ""
    return f"{part}could be undone, but what was kept under {match[1]} is gone"


def offer(state_dir: Path, nonce: str) -> str:
    """How to undo the held call that ran under this nonce, or a part of it; empty if nothing of it is kept."""
    kept = what_is_kept(state_dir, nonce) if is_name(nonce) else ""
    return f"toolguard undo {nonce} undoes {'it' if kept == 'all' else 'a part of it'}" if kept else ""


def is_name(text: str) -> bool:
    """Whether an entry may have this name."""
    return re.fullmatch(_ID, text) is not None


def what_is_kept(state_dir: Path, name: str) -> Literal["", "part", "all"]:
    """How much of what a call changed is kept under this name. What cannot be found out is there, and may be a part."""
    entry = atomic.own_folder(state_dir) / UNDO / name
    if not _may_exist(entry / undo_entry.DESCRIPTION):
        return ""
    return "part" if _may_exist(entry / undo_entry.INCOMPLETE) else "all"


def _may_exist(path: Path) -> bool:
    try:
        os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True
