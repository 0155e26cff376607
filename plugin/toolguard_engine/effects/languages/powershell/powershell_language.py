"""The facts of PowerShell."""

from __future__ import annotations

from toolguard_engine.effects.languages.language import Language, ReadBy
from toolguard_engine.effects.languages.powershell.powershell_calls import POWERSHELL_LIBRARY
from toolguard_engine.effects.languages.powershell.powershell_syntax import POWERSHELL

LANGUAGE = Language(
    "powershell",
    "powershell pwsh cmd",
    reading=ReadBy(POWERSHELL, POWERSHELL_LIBRARY),
    tool_words="powershell",
    command="pwsh -Command",
    runs="pwsh",
    files=".ps1 .psm1",
)
