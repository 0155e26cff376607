"""Help in plain words: an argument is shown by its name, without the type that Python gives it."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand


class PlainCommand(TyperCommand):
    """A command whose help names no Python types. Options have placeholders of their own instead."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        for parameter in self.params:
            if parameter.param_type_name == "argument":
                parameter.display_type_rich = lambda ctx: None  # type: ignore[attr-defined]  # noqa: ARG005
        super().format_help(ctx, formatter)
