"""A command that was typed after `toolguard check` without quotes: all its words belong to it, options too.

Options of `check` may follow a single word or a quoted command, as in any other command. If anything else follows the first
word, everything from that word on is the command.
"""

from __future__ import annotations

import shlex
from collections.abc import Sequence

from toolguard_cli.system.errors import UserError
from toolguard_engine.wording import printable

NEAR = 0.85
"""The similarity (0 to 1) from which one name is probably a misspelling of the other."""

VALUED = frozenset(
    {"--tool", "--params", "--agent", "--cwd", "--channel", "--requester", "--at", "--session", "--state-dir", "--config"}
)
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
    _refuse_misspelled(given[first + 1 :])
    return [*given[:first], "--", *given[first:]]


def _refuse_misspelled(words: Sequence[str]) -> None:
    """Raises `UserError` if an option of the command is nearly one of `check`, because another call would be judged."""
    from difflib import get_close_matches  # noqa: PLC0415 - only for such a command

    ours = sorted(name[2:] for name in VALUED | FLAGS)
    for word in words[: words.index("--")] if "--" in words else words:
        name = word.partition("=")[0]
        near = get_close_matches(name[2:], ours, 1, NEAR) if name.startswith("--") else []
        if near and near[0] != name[2:]:
            shown = printable.cut(printable.plain(name), 40)
            fix = f"did you mean --{near[0]}? If {shown} belongs to the command, quote the whole command or put -- before it"
            raise UserError(f"check has no option {shown}", fix)


def _behind_options(given: Sequence[str], at: int) -> int:
    """The index of the first word that is neither an option of `check` nor the value of one."""
    while at < len(given):
        if given[at] in VALUED:
            at += 2
        elif given[at] in FLAGS or given[at].partition("=")[0] in VALUED:
            at += 1
        else:
            break
    return min(at, len(given))


def is_text(word: str) -> bool:
    return len(word.split(maxsplit=1)) > 1


def joined(words: Sequence[str]) -> str:
    return words[0] if len(words) == 1 else shlex.join(words)
