"""A group of commands, each of which is imported when it is called or when its own help is shown."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from typing import Any, ClassVar, NamedTuple

import typer
from typer.core import TyperGroup


class LazyCommand(NamedTuple):
    """`module`: what to import; its `app` is the command. `summary`: its line in the help of the group. `new_name`: what
    the command is called now, if this is a former name."""

    module: str
    summary: str
    new_name: str = ""


class Offered(NamedTuple):
    """A word that the shell offers on Tab, as the completion of typer expects it."""

    value: str
    help: str
    type: str = "plain"


class LazyGroup(TyperGroup):
    """A subclass names its commands in `table`. `sections` divides the help; what is in no section comes last. `meant`:
    words that other programs have for a command, which an error then names."""

    table: ClassVar[Mapping[str, LazyCommand]] = {}
    sections: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    meant: ClassVar[Mapping[str, str]] = {}

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**attributes)
        self.commands: Any = _Commands(self.table)

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 - as in the base class
        return list(self.table)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and (other := self.meant.get(args[0])):
            ctx.fail(f"no such command {args[0]!r}. Did you mean {other!r}?")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002 - as in the base class
        known = {name for names in self.sections.values() for name in names}
        rest = tuple(name for name in self.table if name not in known)
        for title, names in {**self.sections, "More" if known else "Commands": rest}.items():
            with formatter.section(title):
                formatter.write_dl([(name, self.table[name].summary) for name in names if name in self.table])

    def shell_complete(self, ctx: Any, incomplete: str) -> Any:
        """Completes without importing the commands, because this runs on every Tab."""
        if incomplete.startswith("-"):
            return super().shell_complete(ctx, incomplete)
        return [Offered(name, command.summary) for name, command in self.table.items() if name.startswith(incomplete)]


class _Commands(Mapping[str, Any]):
    def __init__(self, table: Mapping[str, LazyCommand]) -> None:
        self._table = table

    def __getitem__(self, name: str) -> Any:
        entry = self._table[name]
        command = typer.main.get_command(import_module(entry.module).app)
        command.name = name
        if entry.new_name:
            command.help = f"{entry.summary}\n\nSee toolguard {entry.new_name} --help."
            command.epilog = f"\b\nExample:\n  toolguard {name}"
        return command

    def __iter__(self) -> Iterator[str]:
        return iter(self._table)

    def __len__(self) -> int:
        return len(self._table)
