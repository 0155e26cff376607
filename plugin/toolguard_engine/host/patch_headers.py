"""The lines of a patch that name files, as OpenClaw's `apply_patch` reads them."""

from __future__ import annotations

import re
from collections.abc import Callable

_BLANK = r"[\t\v\f\r \u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]*"
"""What JavaScript's `trim` removes. Python's `strip` removes other characters."""

_HEADER = re.compile(rf"^{_BLANK}\*\*\* (Update File|Add File|Delete File|Move to): ?(.*?){_BLANK}$", re.MULTILINE)


def rewritten(patch: str, forms: Callable[[str], tuple[str, ...]]) -> str:
    """The patch with the paths that each of its paths may mean, each on a line of its own."""

    def header(match: re.Match[str]) -> str:
        return "\n".join(f"*** {match[1]}: {path}" for path in reversed(forms(match[2])))

    return _HEADER.sub(header, patch) if "***" in patch else patch
