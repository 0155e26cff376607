"""Walks commands whose variables, or whose arguments of the shell, may have several values."""

from __future__ import annotations

from abc import abstractmethod
from itertools import product
from math import prod

from toolguard_engine.effects.commands.program_walk import ProgramWalk
from toolguard_engine.effects.commands.walk_state import PASSIVE, PRINTERS, SILENT, built
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun, StdinSource
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.programs.wrappers import SHELLS, WRAPPERS
from toolguard_engine.effects.syntax import expand as fields
from toolguard_engine.effects.syntax import variable_values
from toolguard_engine.effects.syntax.outputs import MAX_TEXT, printed, together
from toolguard_engine.effects.syntax.shell_state import ShellState
from toolguard_engine.effects.syntax.syntax_tree import Part, Simple, Substitution, Variable, Word

MAX_COMBINED = 512
"""Texts that a command prints with the values of its variables."""


def _is_in(name: str, word: tuple[Part, ...]) -> bool:
    return any(isinstance(part, Variable) and part.name == name for part in word)


def _several(word: Word, state: ShellState) -> frozenset[str]:
    """The variables in a word that may have several values."""
    parts = () if isinstance(word, str) else word
    return frozenset(name for part in parts if (name := fields.undecided(((part,),), state)))


def _sets(part: Part) -> bool:
    """Whether an expansion may give the variable another value (`${x:=y}`)."""
    return isinstance(part, Variable) and "=" in part.operator


_REMOVERS = manual_catalogue.aliases("rm")


class ValueWalk(ProgramWalk):
    """Runs a command with each value that counts."""

    @abstractmethod
    def simple(
        self, command: Simple, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        """Runs a simple command."""

    @abstractmethod
    def capture(self, part: Substitution, state: ShellState) -> StdinSource:
        """The output of a substitution. The programs it runs are collected."""

    def with_other_args(
        self, command: Simple, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> None:
        """Runs a command with the other arguments that the shell may have."""
        for args in state.other_args:
            inner = state.fork()
            inner.args, inner.other_args = args, ()
            self.simple(command, inner, stdin, piped=piped, pipeline=pipeline)

    def for_each_value(
        self, name: str, command: Simple, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        """Runs a command with each value of a variable, which the command may set (`export x="$x y"`)."""
        feeds: dict[StdinSource, None] = {}
        before = state.variables[name]
        after = dict[str, None]()
        values = dict.fromkeys(variable_values.pieces(before))
        if variable_values.REST in values and self._runs(name, command):
            self.flaws.add("long")
        for at, value in enumerate(values):
            state.variables[name] = value
            if at:
                state.enter_branch()
            feeds[self.simple(command, state, stdin, piped=piped, pipeline=pipeline)] = None
            if at:
                state.leave_branch()
            if (left := state.variables.get(name, value)) != value:
                after.update(dict.fromkeys(variable_values.all_of(left)))
        state.variables[name] = variable_values.one_of(after) if after else before
        return next(iter(feeds)) if len(feeds) == 1 else built(together(list(feeds), exact=False), state)

    def stand_alone(self, command: Simple, state: ShellState) -> bool:
        """Whether it does the same with each of its operands, whatever the others are, and several may have several values:
        `rm -f -- "$a" "$b"`. Before `--` a value may be an option for all of them."""
        name = command.words[0]
        if name not in _REMOVERS or name in self.specials or self._is_other(str(name), state):
            return False
        parts = [part for word in command.words if not isinstance(word, str) for part in word]
        if command.redirects or command.assigns or any(isinstance(part, Substitution) or _sets(part) for part in parts):
            return False
        argv = tuple([word if isinstance(word, str) else UNKNOWN for word in command.words])
        end = option_parser.read_words(str(name), argv).end
        if not end or UNKNOWN in argv[:end]:
            return False
        names_of = [_several(word, state) for word in command.words]
        return max(map(len, names_of)) < len(set[str]().union(*names_of))

    def for_each_operand(
        self, _: str, command: Simple, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        """Runs such a command with each value of each operand, beside the first value of the others."""
        names_of = dict.fromkeys(names for word in command.words if (names := _several(word, state)))
        before = {name: state.variables[name] for names in names_of for name in names}
        feeds: dict[StdinSource, None] = {}
        for at, names in enumerate(names_of):
            for name, values in before.items():
                state.variables[name] = values if name in names else variable_values.all_of(values)[0]
            if at:
                state.enter_branch()
            feeds[self.simple(command, state, stdin, piped=piped, pipeline=pipeline)] = None
            if at:
                state.leave_branch()
        state.variables.update(before)
        return next(iter(feeds)) if len(feeds) == 1 else built(together(list(feeds), exact=False), state)

    def _runs(self, name: str, command: Simple) -> bool:
        """Whether a variable may be what a command runs: in its first word, or alone in a word of what runs others."""
        first = command.words[0] if command.words else ""
        if isinstance(first, str):
            alone = any(len(word) == 1 and _is_in(name, word) for word in command.words if not isinstance(word, str))
            return alone and (first in SHELLS or first in WRAPPERS)
        return _is_in(name, first)

    def only_prints(self, command: Simple, state: ShellState) -> bool:
        """Whether it prints its words, and nothing else depends on which of its values each variable in them has."""
        name = command.words[0]
        if not isinstance(name, str) or name not in PRINTERS or name in self.specials or self._is_other(name, state):
            return False
        parts = (part for word in command.words if not isinstance(word, str) for part in word)
        return not (command.redirects or command.assigns or any(isinstance(part, Substitution) for part in parts))

    def print_each(
        self, _: str, command: Simple, state: ShellState, stdin: StdinSource | None, *, piped: bool, pipeline: int
    ) -> StdinSource:
        """Runs a command that only prints once, with all values of its variables; it prints a text for each combination."""
        before, feeds = dict[str, tuple[str, ...]](), dict[StdinSource, None]()
        while name := fields.undecided(command.words, state):
            before[name] = variable_values.all_of(state.variables[name])
            state.variables[name] = variable_values.in_one(before[name])
        values_of = [tuple(dict.fromkeys(variable_values.pieces(values))) for values in before.values()]
        if prod(map(len, values_of)) > MAX_COMBINED:
            self.flaws.add("long")
            values_of = list(before.values())
        self.simple(command, state, stdin, piped=piped, pipeline=pipeline)
        for values in product(*values_of):
            state.variables.update(zip(before, values, strict=True))
            argv = tuple(self.expanded(command.words, state)[0])
            program = ProgramRun(argv, argv[0], state.via, stdin=stdin, piped=piped)
            feeds[built(printed(program), state)] = None
        state.variables.update(before)
        if sum(len(feed.text or "") for feed in feeds) > MAX_TEXT:
            self.flaws.add("long")
        return next(iter(feeds)) if len(feeds) == 1 else built(together(list(feeds), exact=False), state)

    def is_passive(self, command: Simple, state: ShellState, *, piped: bool) -> bool:
        """Whether nothing depends on which of its values each variable in the command has."""
        name = command.words[0] if command.words else None
        if not isinstance(name, str) or name not in PASSIVE or name in self.specials or self._is_other(name, state):
            return False
        return not ((piped and name not in SILENT) or command.redirects or command.assigns)

    def expanded(self, words: list[Word], state: ShellState) -> tuple[list[str], list[tuple[int, StdinSource]], list[int]]:
        argv: list[str] = []
        given: list[tuple[int, StdinSource]] = []
        unset: list[int] = []
        for word in words:
            if isinstance(word, str):
                argv.append(word)
                continue
            expansion = fields.expand(word, state, self.capture)
            if expansion.cut:
                self.flaws.add("long")
            if expansion.feed is not None:
                given += [(len(argv) + at, expansion.feed) for at in range(len(expansion.texts))]
            if expansion.unset:
                unset += range(len(argv), len(argv) + len(expansion.texts))
            argv += expansion.texts
        return argv, given, unset
