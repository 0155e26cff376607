"""How Go is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Keywords, Syntax

GO = Syntax(
    r"//[^\n]*+|/\*(?s:.)*?(?:\*/|\Z)", back="plain", lines=True, keys=True,
    keywords=Keywords(
        functions="function func", types="type interface", spaces="package", declares="const var", imports="import",
        passed="if else switch case default select", prefixes="return const var else case default",
    ),
)  # fmt: skip
