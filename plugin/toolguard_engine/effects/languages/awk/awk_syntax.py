"""How awk is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Keywords, Syntax

AWK = Syntax(
    r"#[^\n]*+", marks='"', lines=True, concat=frozenset(), patterns=True, bare=True, keys=True,
    keywords=Keywords(
        functions="function func", passed="if else while do switch case default BEGIN END BEGINFILE ENDFILE",
        prefixes="return print printf delete if else while do case default",
    ),
)  # fmt: skip
