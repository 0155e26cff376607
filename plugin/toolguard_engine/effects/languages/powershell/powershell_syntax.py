"""How PowerShell is written."""

from __future__ import annotations

from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.languages.script_syntax import Keywords, Syntax

POWERSHELL = Syntax(
    r"<#(?s:.)*?(?:#>|\Z)|(?<![\w])#[^\n]*+|`\n", marks="\"'", single="raw", double="fills", lines=True, bare=True,
    escape="`", doubles=True, sigils=True,
    names=r"(?:\$(?:env:)?)?[\w.~:-]{0,99}+[/\\][^\s;|(){}'\",]*+|[$@](?:\w++:)?\w++|\$\{[^}\n]{1,80}\}|\$[_?^$]"
    r"|-?[A-Za-z_][\w]*+(?>(?:-\w++)*)",
    filled=r"(?:\$\(|\$\{|\$(?:\w++:)?\w++(?:\.\w++(?!\())?)",
    keywords=Keywords(
        functions="function filter", classes="class", loops="for foreach",
        passed="if while switch until elseif catch do else try finally begin process end default",
        prefixes="return throw not echo if else while until do try begin end default param static",
    ),
    operators=word_set(
        "-eq -ne -like -match -replace -join -split -and -or -f -notlike -notmatch -gt -lt -ge -le -in -contains -is"
    ),
)  # fmt: skip
