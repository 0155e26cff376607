"""Whether a loop does something else in its next round, because it sets variables behind the commands that use them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from toolguard_engine.effects.commands.walk_state import PASSIVE
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.syntax.shell_state import ShellState
from toolguard_engine.effects.syntax.syntax_tree import (
    Command,
    Group,
    Pipeline,
    Redirection,
    Script,
    Simple,
    Substitution,
    Variable,
    Word,
)
from toolguard_engine.effects.syntax.variable_values import Value

MOST = 3
"""Rounds of a loop that are walked beside the first one, while each brings new values."""

_DEEP = 12
_GLOB = frozenset("*?[{")
_MANY = frozenset("*?[")
_CONDITIONS = frozenset({"while", "until", "if"})
_RUN = _CONDITIONS | {"{"}
"""Groups whose first part always runs."""


def are_all(group: Group) -> bool:
    """Whether a loop over words that are written out was walked with each of them: there is no further round."""
    return group.kind == "for" and all(isinstance(word, str) and _GLOB.isdisjoint(word) for word in group.words or ["*"])


def are_counted(group: Group) -> bool:
    """Whether the words say how many rounds a loop has."""
    return group.kind in ("for", "select") and all(
        isinstance(word, str) and _MANY.isdisjoint(word) for word in group.words or ["*"]
    )


def changed(before: Mapping[str, Value], state: ShellState) -> set[str]:
    """The variables that a round has left with another value than it began with. What is not known at all is nothing new."""
    return {
        name
        for name, value in state.variables.items()
        if before.get(name) != value and (value != UNKNOWN or name in state.feeds)
    }


def use(bodies: list[Script], names: set[str], state: ShellState) -> bool:
    """Whether commands that do more than print may use one of these variables as the round before has left it."""
    if not names:
        return False
    uses = _Uses(set(names), state)
    count = -1
    while not uses.used and count != len(uses.names):  # `y=$x` carries what `x` has
        count = len(uses.names)
        uses.anew()
        for body in bodies:
            uses.read(body, 0)
    return uses.used


class _Uses:
    """`names`: the variables that the round before has left. `own`: those that this round has set by then."""

    def __init__(self, names: set[str], state: ShellState) -> None:
        self.names = names
        self.own: set[str] = set()
        self.used = False
        self._state = state

    def anew(self) -> None:
        self.own = set()

    def read(self, script: Script, depth: int) -> None:
        self._state.work.spend(len(script) / 4)
        for pipeline in script:
            for command in pipeline.commands if depth <= _DEEP else ():
                self._command(command, pipeline, depth, is_certain=not pipeline.after)

    def _command(self, command: Command, pipeline: Pipeline, depth: int, *, is_certain: bool) -> None:
        if isinstance(command, Simple):
            self._simple(command, pipeline, depth, is_certain=is_certain)
            return
        self.used = self.used or self._redirects(command.redirects)
        if command.name and command.kind != "function":
            if any(map(self._has, command.words)):
                self.names.add(command.name)
            else:
                self.own.add(command.name)
        for at, body in enumerate(command.bodies):
            own = set(self.own)
            self.read(body, depth + 1)
            if not is_certain or (at and command.kind in _CONDITIONS) or command.kind not in _RUN:
                self.own = own

    def _simple(self, command: Simple, pipeline: Pipeline, depth: int, *, is_certain: bool) -> None:
        first = command.words[0] if command.words else None
        for name, word, _ in command.assigns:
            if self._has(word):
                self.names.add(name)
                self.used = self.used or first is not None
        if isinstance(first, str) and (body := self._state.functions.get(first)):
            own = set(self.own)
            self.read(body, depth + 1)
            self.own = own
        is_quiet = first is None or (isinstance(first, str) and first in PASSIVE and len(pipeline.commands) == 1)
        if (not is_quiet and any(map(self._has, command.words))) or self._redirects(command.redirects):
            self.used = True
        if is_certain and first is None:
            self.own.update(name for name, word, _ in command.assigns if not self._has(word))

    def _redirects(self, redirects: list[Redirection]) -> bool:
        return any(self._has(redirect.target) for redirect in redirects)

    def _has(self, word: Word) -> bool:
        """Whether a word has one of the variables, also in text that a program may read as commands."""
        if isinstance(word, str):
            return "$" in word and any(name in word for name in self.names)
        return any(name in self.names and name not in self.own for name in _variables(word))


def _variables(word: Word) -> Iterator[str]:
    for part in () if isinstance(word, str) else word:
        if isinstance(part, Variable):
            yield part.name
            yield from _variables(part.operand)
        elif isinstance(part, Substitution):
            for pipeline in part.script:
                for command in pipeline.commands:
                    yield from _of_command(command)


def _of_command(command: Command) -> Iterator[str]:
    if isinstance(command, Group):
        for body in command.bodies:
            for pipeline in body:
                for inner in pipeline.commands:
                    yield from _of_command(inner)
        return
    for word in command.words:
        yield from _variables(word)
    for _, word, _ in command.assigns:
        yield from _variables(word)
