"""Reads a value like -5 on the command line as a value, not as an option."""

from __future__ import annotations

import re
from typing import Any

from toolguard_cli.terminal.plain_help import PlainCommand

_NEGATIVE = re.compile(r"-[\d.]")


class TakesNegative(PlainCommand):
    """A command whose last argument may be a number."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, behind(args))


def behind(args: list[str]) -> list[str]:
    """Moves a negative number to the end, after `--`; unchanged if the user already typed `--`."""
    numbers = [word for word in args if _NEGATIVE.match(word)]
    if "--" in args or len(numbers) != 1:
        return args
    return [*(word for word in args if word not in numbers), "--", *numbers]
