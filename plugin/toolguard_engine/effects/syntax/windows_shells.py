"""Command lines for the shells of Windows, which nodes have there: the call does not name them."""

from __future__ import annotations

import re

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.quick_search import may_be_in

_APPROVED = word_set(
    "add approve assert backup block build checkpoint clear close compare complete compress confirm connect convert"
    " convertfrom convertto copy debug deny deploy disable disconnect dismount edit enable enter exit expand export find"
    " foreach format get grant group hide import initialize install invoke join limit lock measure merge mount move new"
    " open optimize out ping pop protect publish push read receive redo register remove rename repair request reset resize"
    " resolve restart restore resume revoke save search select send set show skip sort split start step stop submit suspend"
    " switch sync tee test trace unblock undo uninstall unlock unprotect unpublish unregister update use wait watch where"
    " write"
)
"""The verbs that `Get-Verb` lists, and the few more that PowerShell's own cmdlets have."""

_BETWEEN = r"[|;&({=}>\n][\s&.'\"({|;=}>!,]*+"
_BEFORE = r"(?:(?i:return)\s++)?(?:[A-Za-z][\w.]*+\\)?"
_SHORT = r"(?i:iex|iwr|irm|ri|gci|gc|ac|saps|cmd(?:\.exe)?)"
_COMMANDS = lazy_re.compile(
    rf"{_BETWEEN}(?:{_BEFORE}(?:(?P<verb>[A-Za-z]{{2,13}})-(?P<noun>[A-Za-z]{{2,60}}+)(?![-./\\\w])"
    rf"|(?P<short>{_SHORT})(?=[\s('\"])"
    r"|(?P<like>(?i:del|erase|rd|rmdir|ren|type|copy|move|mv|mi|cp|ci|rm|ls|dir|cat|clc|sc))(?=[\s'\"])))?"
)
"""What stands between two commands (after a comment too: `#> x`), and the first word of the second if it may be one of
PowerShell. It matches without such a word too, so that no part is gone through twice."""

_SURE = lazy_re.compile(
    rf"{_BETWEEN}{_BEFORE}(?:(?:(?i:{'|'.join(sorted(_APPROVED))})-[A-Za-z]|[A-Z][A-Za-z]{{1,12}}-[A-Z])[A-Za-z]"
    rf"|{_SHORT}[\s('\"])"
)
"""A command that is one of PowerShell wherever it stands. Only searched for by `may_be_in`, in linear time."""

_PLACE = lazy_re.compile(r"\b[A-Za-z]:\\|\$HOME\\|\$env:|~\\", re.IGNORECASE)
_OTHERS = lazy_re.compile(
    r">[^\S\n]*+(?:\$(?i:HOME)|~)\\|\$(?i:env):[A-Za-z]|\[(?:[A-Za-z]{1,20}\.){0,4}[A-Za-z]{1,30}\]::[A-Za-z]"
)
_PROGRAM = lazy_re.compile(r"\s{0,40}\"?(?:[A-Za-z]:\\|(?P<shell>%COMSPEC%\"?))", re.IGNORECASE)
"""Begins with the path of a program, which `cmd` may have in quotes."""

_TEXT_CALLED = lazy_re.compile(r"[;{=\n][^\S\n]*+&[^\S\n]*+['\"($]")
_VARIABLE = lazy_re.compile(r"%([A-Za-z]{2,20}(?=%[\\/])|USERPROFILE|HOMEPATH|(?:LOCAL)?APPDATA)%", re.IGNORECASE)
"""As `cmd` has them."""

_SEPARATOR = lazy_re.compile(r"(?<!&)&(?!&)")

_TYPOGRAPHIC = {
    **dict.fromkeys(map(ord, "\u2013\u2014\u2015"), "-"),
    **dict.fromkeys(map(ord, "\u2018\u2019\u201a\u201b"), "'"),
    **dict.fromkeys(map(ord, "\u201c\u201d\u201e"), '"'),
}
"""Dashes and quotes that PowerShell takes for the plain ones."""

_ESCAPES = lazy_re.compile(r"(\"[^\"`]*+(?:`(?s:.)[^\"`]*+)*\"?|'[^']*+'?)|`(?=[A-Za-z-])")


def as_powershell(command: str) -> str:
    """The command for PowerShell, if it may be written for a shell of Windows; else empty.

    It is if cmdlets (`Get-Content`) or their short names begin a command, if it has `$env:X`, methods of .NET, a text that
    is called (`& "x"`), paths of Windows, or folders such as `%APPDATA%\\x`, which `cmd` fills in: its commands have the
    same names in PowerShell. A POSIX shell has none of these, so it costs nothing to read them as well.
    """
    replaced, count = _VARIABLE.subn(r"$env:\1", command) if "%" in command else (command, 0)
    if program := _PROGRAM.match(replaced):
        return f"& cmd{replaced[program.end() :]}" if program["shell"] else f"& {replaced}"
    return replaced if count or _OTHERS.search(command) or _begins(_unescaped(command)) else ""


def plain(code: str) -> str:
    """The code without signs that change nothing: a backtick before a letter of a name, typographic dashes and quotes."""
    if not code.isascii():
        code = code.translate(_TYPOGRAPHIC)
    return _ESCAPES.sub(r"\1", code) if "`" in code else code


def from_cmd(text: str) -> str:
    """A command for `cmd` as PowerShell has it: no carets, `;` between commands, variables as `$env:X`."""
    text = _VARIABLE.sub(r"$env:\1", text.replace("^", "")) if "^" in text or "%" in text else text
    return _SEPARATOR.sub(";", text).lstrip("@")


def _unescaped(command: str) -> str:
    """The same as `plain`, wherever quotes begin: a POSIX shell may see others."""
    if not command.isascii():
        command = command.translate(_TYPOGRAPHIC)
    return command.replace("`", "")


def _begins(command: str) -> bool:
    """Whether a cmdlet or its short name begins a command."""
    text = "\n" + command
    if "&" in command and _TEXT_CALLED.search(text):
        return True
    if not (may_be_in(_SURE, text) or may_be_in(_PLACE, text)):
        return False
    like = False
    for match in _COMMANDS.finditer(text):
        if match.lastgroup == "noun":
            verb = match["verb"]
            if verb.lower() in _APPROVED or (verb[0].isupper() and match["noun"][0].isupper()):
                return True
        elif match.lastgroup == "short":
            return True
        like = like or match.lastgroup == "like"
    return like and _PLACE.search(command) is not None
