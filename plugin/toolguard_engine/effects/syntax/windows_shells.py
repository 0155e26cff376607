"""Command lines for the shells of Windows, which nodes have there: the call does not name them."""

from __future__ import annotations

from toolguard_engine import lazy_re

MAX_LOOKED_AT = 4_000
"""Characters at the beginning of a command that are looked at."""

_POWERSHELL = lazy_re.compile(
    r"(?:^|[|;&({=]|\n)\s{0,40}(?:[A-Z][a-z]{1,12}-[A-Z][A-Za-z]{2,40}|(?i:iex|iwr|irm|ri|gci|gc|ac|saps)(?=[\s(])"
    r"|(?i:del|rd|rmdir|type|copy|move|mv|cp|rm|ls|dir|cat)\s[^|;\n]{0,200}(?:[A-Za-z]:\\|\$HOME\\|\$env:|~\\))"
    r"|>\s{0,9}(?:\$HOME|~)\\|\$env:[A-Za-z]|\[(?:[A-Za-z]{1,20}\.){0,4}[A-Za-z]{1,30}\]::[A-Za-z]"
)


_VARIABLE = lazy_re.compile(r"%([A-Za-z]{2,20})%(?=[\\/])")
"""As `cmd` has them."""


def as_powershell(command: str) -> str:
    """The command for PowerShell, if it may be written for a shell of Windows; else empty.

    It is if cmdlets (`Get-Content`) or their short names begin a command, if it has `$env:X`, methods of .NET, paths of
    Windows, or folders such as `%APPDATA%\\x`, which `cmd` fills in: its commands have the same names in PowerShell. A POSIX
    shell has none of these, so it costs nothing to read them as well.
    """
    if _POWERSHELL.search(command, 0, MAX_LOOKED_AT):
        return command
    found, count = _VARIABLE.subn(r"$env:\1", command[:MAX_LOOKED_AT])
    return found if count else ""
