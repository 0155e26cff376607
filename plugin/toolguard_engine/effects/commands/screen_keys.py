"""What `screen -X stuff TEXT` types into a terminal that runs already, as the lines of a shell."""

from __future__ import annotations

import shlex
from typing import Final

from toolguard_engine import lazy_re
from toolguard_engine.effects.manuals.wrapper_catalogue import WrapperWords

_KEY: Final = lazy_re.compile(r"\\(?:[rn]|[0-3]?[0-7]{1,2})|\^[MJmj]")
"""Of the signs that screen reads in a text: Return, as `^M`, `\\r` or its octal number, and other signs by number."""


def typed(reading: WrapperWords, argv: tuple[str, ...]) -> str:
    """The text; empty if the words of screen type nothing."""
    match reading.options.last("-X"):
        case "stuff":
            return _signs(" ".join(argv[reading.at :]))
        case "eval":
            return "\n".join(_signs(keys) for keys in map(_stuffed, argv[reading.at :]) if keys)
    return ""


def _stuffed(command: str) -> str:
    """What one of screen's own commands types."""
    verb, _, rest = command.strip().partition(" ")
    if verb != "stuff":
        return ""
    try:
        return " ".join(shlex.split(rest.replace("\\", "\\\\")))
    except ValueError:
        return rest


def _signs(text: str) -> str:
    return _KEY.sub(lambda match: _sign(match[0]), text)


def _sign(written: str) -> str:
    if written[0] == "^" or written[1] in "rn":
        return "\n"
    sign = chr(int(written[1:], 8))
    return "\n" if sign in "\r\n" else sign if sign.isprintable() else ""
