"""The lines of a patch that name files, as OpenClaw's `apply_patch` reads them."""

from __future__ import annotations

from collections.abc import Callable

from toolguard_engine import lazy_re

BLANKS = "\t\v\f\r \u00a0\u1680" + "".join(map(chr, range(0x2000, 0x200B))) + "\u2028\u2029\u202f\u205f\u3000\ufeff"
"""What JavaScript's `trim` removes from a line. Python's `strip` removes other characters."""

_HEADER = lazy_re.compile(r"\*\*\* (Update File|Add File|Delete File|Move to): ?")


MAX_SPELLINGS = 1_000
"""Different paths of one patch that are repaired."""

_ANY_FILE = ("/",)
"""What stands for those behind them, each of which may be any file, the gateway's config as well."""


def rewritten(patch: str, forms: Callable[[str], tuple[str, ...]]) -> str:
    """The patch with the paths that each of its paths may mean, each on a line of its own."""
    if "***" not in patch:
        return patch
    known: dict[str, tuple[str, ...]] = {}

    def meant(path: str) -> tuple[str, ...]:
        if (found := known.get(path)) is None:
            found = known[path] = forms(path) if len(known) < MAX_SPELLINGS else _ANY_FILE
        return found

    return "\n".join(_line(line, meant) for line in patch.split("\n"))


def _line(line: str, forms: Callable[[str], tuple[str, ...]]) -> str:
    """Each line is trimmed once: a pattern that looks for blanks around a path takes quadratic time."""
    if "***" not in line or not (match := _HEADER.match(trimmed := line.strip(BLANKS))):
        return line
    return "\n".join(f"*** {match[1]}: {path}" for path in reversed(forms(trimmed[match.end() :])))
