"""How Go is written."""

from __future__ import annotations

from toolguard_engine.effects.languages.script_syntax import Syntax

GO = Syntax(r"//[^\n]*+|/\*(?s:.)*?(?:\*/|\Z)", back="raw", lines=True, keys=True)
