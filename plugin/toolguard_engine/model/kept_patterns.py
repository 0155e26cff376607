"""Regular expressions that are compiled at first use: compiling all of them would delay the start of the engine."""

from __future__ import annotations

import re
from functools import cache


@cache
def compiled(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Keeps each one. For patterns of the source only, never for what a caller or a file contains."""
    return re.compile(pattern, flags)
