"""The facts of AppleScript."""

from __future__ import annotations

from toolguard_engine.effects.languages.applescript.applescript_calls import APPLE_LIBRARY, as_names
from toolguard_engine.effects.languages.applescript.applescript_syntax import APPLESCRIPT
from toolguard_engine.effects.languages.language import Language, ReadBy

LANGUAGE = Language(
    "applescript",
    "osascript",
    reading=ReadBy(APPLESCRIPT, APPLE_LIBRARY, prepared=as_names),
    calls=r"(?:do (?:shell )?script)",
    tool_words="applescript osascript",
    command="osascript -e",
)
