"""Names as file systems that ignore case compare them.

macOS ignores case and how a letter is composed; so do FAT and SMB disks on Linux. There `RM` runs rm, and `~/.SSH` is
`~/.ssh`. Names of dangerous programs and places are therefore compared in folded form on every host: one call has one
verdict everywhere, and where case counts, nothing but a slip has such a name. What makes a call harmless (temporary folders,
build folders, caches) is compared exactly.
"""

from __future__ import annotations

from unicodedata import normalize

_IGNORED = dict.fromkeys([*range(0x200B, 0x2010), *range(0x202A, 0x202F), *range(0x206A, 0x2070), 0xFEFF])
"""Characters that some file systems ignore in names."""


def composed(name: str) -> str:
    """A name with characters beyond ASCII in one form, whatever its case and however its letters are composed."""
    return normalize("NFC", name.translate(_IGNORED).casefold())


def folded(name: str) -> str:
    """Equal for two names of one file."""
    return name.lower() if name.isascii() else composed(name)
