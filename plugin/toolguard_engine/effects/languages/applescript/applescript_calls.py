"""What the names of AppleScript mean, and how its phrases are made names."""

from __future__ import annotations

import re

from toolguard_engine.effects.languages import script_calls as calls
from toolguard_engine.effects.languages.common_calls import NAMED
from toolguard_engine.effects.languages.script_run import LanguageLibrary

APPLE_LIBRARY = LanguageLibrary(
    NAMED, {"do_shell_script": calls.shell, "run_script": calls.evaluating}, {}, program="osascript"
)
_PHRASES = tuple((rf"(?i)\b{words}\b", meaning) for words, meaning in (
    ("do shell script", "do_shell_script"), ("run script", "run_script"), (r"do script(?=\s+[\"'(])", "do_shell_script"),
    ("(?:quoted form|POSIX path|posix path) of", ""),
    ("path to home folder", '"~/"'), ("path to (desktop|documents|downloads)(?: folder)?", r'"~/\1/"'),
    ("path to library folder", '"~/Library/"'),
    ("(?<=\\S )as (?:text|string)", ""), ("home directory of \\(system info\\)", '"~"'),
))  # fmt: skip
"""What AppleScript says in several words, as one name or text."""


def as_names(code: str) -> str:
    """The code with a name in place of each phrase."""
    for words, meaning in _PHRASES:
        code = re.sub(words, meaning, code)
    return code
