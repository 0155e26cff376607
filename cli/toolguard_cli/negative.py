"""A value like -5 on the command line: a value, and no option."""

from __future__ import annotations

import re
from typing import Any

from typer.core import TyperCommand

_NEGATIVE = re.compile(r"-[\d.]")


class TakesNegative(TyperCommand):
    """A command whose last argument may be a number."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, behind(args))


def behind(args: list[str]) -> list[str]:
    """With the negative number last, where options have ended; as they are where a person has ended them."""
    numbers = [word for word in args if _NEGATIVE.match(word)]
    if "--" in args or len(numbers) != 1:
        return args
    return [*(word for word in args if word not in numbers), "--", *numbers]
