"""Signs that nobody sees, or that hide others: what every surface has to write out."""

from __future__ import annotations

from collections.abc import Iterable

CODES = (
    0x7F, 0x85, 0x9B, 0xA0, 0xAD, 0x301, 0x334, 0x335, 0x336, 0x337, 0x338, 0x34F, 0x489, 0x61C, 0x64B, 0x115F, 0x1160,
    0x1680, 0x17B4, 0x17B5, 0x180B, 0x180E, 0x180F, 0x2000, 0x2003, 0x2009, 0x200A, 0x200B, 0x200C, 0x200D, 0x200E, 0x200F,
    0x2028, 0x2029, 0x202A, 0x202E, 0x202F, 0x205F, 0x2060, 0x2062, 0x2066, 0x2069, 0x206A, 0x20DD, 0x20E3, 0x2800, 0x3000,
    0x3099, 0x3164, 0xE000, 0xFE00, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFF9, 0xFFFC, 0x1BCA0, 0x1D159, 0x1D173, 0xE0041, 0xE007F,
    0xE0100, 0xF0000, 0x10FFFD,
)  # fmt: skip
"""More than sixty code points of every kind; between letters of ASCII, none of them is what ordinary writing needs.

U+0301 and U+20E3 are on a sign that is no letter: see `among`.
"""

ACCENT = 0x301
"""On a letter it is an accent, so it is put on a slash."""


def among(code: int) -> str:
    """A part of a path with this sign in it."""
    return f"q/{chr(code)}w" if code == ACCENT else f"q{chr(code)}w"


def in_parts(size: int = 11) -> Iterable[tuple[int, ...]]:
    for at in range(0, len(CODES), size):
        yield CODES[at : at + size]


def hidden_in(text: str, codes: Iterable[int]) -> list[str]:
    """Which of these signs are in a text as they are, or are not named in it."""
    return [f"U+{code:04X}" for code in codes if chr(code) in text or f"U+{code:04X}" not in text]
