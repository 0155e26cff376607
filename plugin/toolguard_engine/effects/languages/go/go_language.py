"""The facts of Go."""

from __future__ import annotations

from toolguard_engine.effects.languages.go.go_calls import GO_LIBRARY, as_script
from toolguard_engine.effects.languages.go.go_syntax import GO
from toolguard_engine.effects.languages.language import Language, ReadBy

LANGUAGE = Language(
    "go",
    "yaegi",
    reading=ReadBy(GO, GO_LIBRARY, prepared=as_script),
    tool_words="go golang",
    command="yaegi -e",
    runs="yaegi",
    files=".go",
)
