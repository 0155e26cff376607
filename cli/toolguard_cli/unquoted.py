"""A command that was typed behind `toolguard check` without quotes: all its words, options too, belong to it.

The law: options of `check` may stand behind one word, or behind one text in quotes, as everywhere else; where there is
anything else behind the first word, everything from there on is the command.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

VALUED = frozenset({"--tool", "--params", "--agent", "--cwd", "--channel", "--requester", "--at", "--state-dir", "--config"})
FLAGS = frozenset({"--stdin", "--rules", "--list", "--json", "--help"})


def spelled(arguments: Sequence[str]) -> list[str]:
    """The arguments of toolguard with `--` before such a command, for the parser."""
    given = list(arguments)
    if given[:1] != ["check"]:
        return given
    first = _behind_options(given, 1)
    alone = first < len(given) and (is_text(given[first]) or _behind_options(given, first + 1) == len(given))
    if first == len(given) or alone or given[first].startswith("-"):
        return given
    return [*given[:first], "--", *given[first:]]


def _behind_options(given: Sequence[str], at: int) -> int:
    """Where the first word stands that is no option of `check` and no value of one."""
    while at < len(given):
        if given[at] in VALUED:
            at += 2
        elif given[at] in FLAGS or given[at].partition("=")[0] in VALUED:
            at += 1
        else:
            break
    return min(at, len(given))


def is_text(word: str) -> bool:
    """Whether somebody has put more than one word into quotes."""
    return len(word.split(maxsplit=1)) > 1


def joined(words: Sequence[str]) -> str:
    """The command that these words are, each kept as one word."""
    return words[0] if len(words) == 1 else shlex.join(words)
