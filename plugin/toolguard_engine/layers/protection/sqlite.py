"""Whether SQLite's own shell only reads: one question in its arguments, in options that change nothing.

The shell runs commands of its own (`.shell`, `.output`), reads more from its input where it is given no question, and has
functions that write files; whatever is not a plain question counts as writing.
"""

from __future__ import annotations

import re

NAMES = frozenset({"sqlite3", "sqlite"})
_PLAIN = frozenset(
    {
        "-readonly", "-safe", "-json", "-csv", "-line", "-list", "-column", "-box", "-table", "-markdown", "-html", "-quote",
        "-header", "-noheader", "-batch", "-bail",
    }
)  # fmt: skip
_VALUED = frozenset({"-separator", "-newline", "-nullvalue"})
_QUESTION = re.compile(r"\s*(?:select\b[^;]*;?|\.(?:tables|schema|indexes|databases)(?:\s+[\w%]+)?)\s*", re.IGNORECASE)
_WRITES = re.compile(r"\b(?:writefile|edit|load_extension|fts3_tokenizer)\b", re.IGNORECASE)


def only_reads(words: tuple[str, ...]) -> bool:
    """`words`: the arguments. Two are no option: a file, and what is asked of it."""
    plain: list[str] = []
    rest = list(words)
    while rest:
        word = rest.pop(0)
        option = word.replace("--", "-", 1) if word.startswith("--") else word
        if option in _VALUED:
            del rest[:1]
        elif not word.startswith("-"):
            plain.append(word)
        elif option not in _PLAIN:
            return False
    return len(plain) == 2 and _QUESTION.fullmatch(plain[1]) is not None and not _WRITES.search(plain[1])  # noqa: PLR2004
