"""What a program failed on in a room, by what it printed: pure. So that a model does not try again and again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from toolguard_engine import lazy_re
from toolguard_engine.containment.rules import STARTUP, RoomRule

MAX_LINES = 200
MAX_LINE = 2_000
_REFUSED = lazy_re.compile(
    r"no such file or directory|read-only file system|permission denied|device or resource busy|"
    r"\b(?:ENOENT|EROFS|EACCES|EBUSY)\b",
    re.IGNORECASE,
)
_LACKS_RIGHTS = lazy_re.compile(
    r"effective uid is not 0|must be owned by uid 0 and have the setuid bit|\bis owned by uid 65534\b", re.IGNORECASE
)
"""What sudo says where it has no rights, as in a room, and hardly anywhere else. The gateway part has both
(`event_facts.mjs`): it asks only about results that contain one of these."""


def failed_on(text: str, rules: Iterable[RoomRule], home: str) -> str:
    """The hidden or read-only path that a line with such an error names; empty if none does. Not that of a program's door:
    what it needs there, its command opens."""
    lines = [line[:MAX_LINE] for line in text.splitlines()[-MAX_LINES:]]
    refused = [line for line in lines if _REFUSED.search(line)]
    held = [rule for rule in rules if rule.kind in ("hide", "read-only") and rule.door in ("", STARTUP)] if refused else []
    kept = {str(rule.path) for rule in held}
    innermost = sorted(kept - {"/"}, key=len, reverse=True)
    return next((path for line in refused for path in innermost if _stands_in(line, path, home)), "")


def lacks_rights(text: str) -> bool:
    """Whether a program says that it does not have the rights of root that it needs."""
    return _LACKS_RIGHTS.search(text) is not None


def _stands_in(line: str, path: str, home: str) -> bool:
    return _names(line, path) or (path.startswith(f"{home}/") and _names(line, f"~{path[len(home) :]}"))


def _names(line: str, path: str) -> bool:
    """Whether the path, or one below it, stands in the line."""
    at = line.find(path)
    return at >= 0 and not line[at + len(path) : at + len(path) + 1].replace("-", "a").replace("_", "a").isalnum()
