"""What came of a call, without what varies by itself, and whether repeating can mend it."""

from __future__ import annotations

from typing import Any

import msgspec


class Outcome(msgspec.Struct, frozen=True):
    """`result`: a digest, equal for two outcomes that say the same. For a failure: `wording`, the same of its text with all
    numbers masked, and `lasting`: repeating cannot mend it."""

    result: int
    failed: bool = False
    wording: int = 0
    lasting: bool = False


def outcome(tool: str, params: Any, text: str, size: int, status: str, exit_code: int | None, *, failed: bool) -> Outcome:
    """Of what the gateway part tells (`protocol.Came`)."""
    raise NotImplementedError
