"""Text that is safe to print: one line, no control characters, bounded width. And how times and durations are written."""

from __future__ import annotations

from datetime import datetime

from toolguard_engine.wording.visible_text import visible


def duration(seconds: float) -> str:
    """`4m10s`, `2h05m`, `3d04h`; never negative."""
    whole = max(0, int(seconds))
    for size, small, words in ((86_400, 3_600, "dh"), (3_600, 60, "hm"), (60, 1, "ms")):
        if whole >= size:
            return f"{whole // size}{words[0]}{whole % size // small:02d}{words[1]}"
    return f"{whole}s"


def moment(seconds: float) -> str:
    """The time as people read it everywhere, local with its offset: `2026-11-23 16:04:05+01:00`; `?` if it is no time."""
    try:
        return datetime.fromtimestamp(seconds).astimezone().isoformat(" ", "seconds")
    except (OverflowError, ValueError, OSError):
        return "?"


def plain(text: str) -> str:
    """`text` with every sign that cannot be seen, moves the cursor or hides text written out: `<U+200B>`."""
    return visible(text)


def counted(number: int, noun: str) -> str:
    """`1 call`, `3 calls`. A star in `noun` is where the `s` of the plural belongs, if not at its end: `end* of a run`."""
    before, _, behind = noun.partition("*")
    return f"{number:,} {before}{'' if number == 1 else 's'}{behind}"


def cut(text: str, width: int) -> str:
    """`text`, printable and at most `width` characters; ends in three dots if shortened."""
    clean = plain(text)
    return clean if len(clean) <= width else f"{clean[: max(0, width - 3)]}..."[:width]
