"""The facts of awk."""

from __future__ import annotations

from toolguard_engine.effects.languages.awk.awk_calls import AWK_LIBRARY
from toolguard_engine.effects.languages.awk.awk_syntax import AWK
from toolguard_engine.effects.languages.language import Language, ReadBy

LANGUAGE = Language(
    "awk",
    "awk gawk mawk nawk",
    reading=ReadBy(AWK, AWK_LIBRARY),
    calls=r"(?:\bsystem)",
    quotes=r'"([^"\n]{1,400}+)"\s{0,4}+\|&?\s{0,4}+getline|\|&?\s{0,4}+"([^"\n]{1,400}+)"',
    tool_words="awk gawk",
    command="awk",
    runs="awk",
    files=".awk",
    loads="include",
    nearby="include",
    endings=(".awk",),
)
