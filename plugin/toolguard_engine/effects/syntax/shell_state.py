"""The state of a shell: what it remembers from one command to the next, and all that this may be after conditions."""

from __future__ import annotations

from collections.abc import Iterable
from posixpath import normpath

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, StdinSource
from toolguard_engine.effects.syntax.syntax_tree import SUBSCRIPT, Script
from toolguard_engine.effects.syntax.variable_values import Value, all_of, bounded, one_of
from toolguard_engine.model.work_limit import WorkLimit, steps_to_build

LOOP_JUMPS = program_catalogue.programs("loop_jump")
MAX_OTHERS = 4
"""Folders in which a shell may be as well."""

_KEY = lazy_re.compile(r"\A( ?)\[[^\]\s]{1,80}\]=")
"""Of an element of an array: `[key]=`."""

_ELEMENTS = ("]", SUBSCRIPT)
_FOLDER = ""
"""The name under which branches keep the folder in which the shell was. No variable has it."""


class Frame(msgspec.Struct):
    """What a jump leaves early: a loop, or a function (also a file that is sourced).

    `values`: what the variables were at jumps that are set behind these; None before the first one. `folders`: where the
    shell was. `keeps_all`: it has all values since it began, whatever jumps there are.
    """

    is_loop: bool = False
    values: dict[str, Value | None] | None = None
    folders: tuple[str, ...] = ()
    keeps_all: bool = False
    local: dict[str, Value | None] = {}
    """What variables were before that are its own."""


class ShellState(msgspec.Struct):
    """The state of a shell at one point of a command. `args`: `$1` and so on, None if unknown.

    `feeds`: the sources of variables whose values are unknown (`x=$(cat .env)`). `work`: what reading may cost; one for all
    states of a command. `branches`: for each branch that the shell is in, what the variables were that are set in it.
    `frames`: what it is in that jumps leave. `others`: folders beside `cwd` that it may be in; `other_args`: the same for
    `args`. `fixed`: variables that cannot be set any more. `joined`: pairs of names of the same variable.
    """

    variables: dict[str, Value] = {}
    functions: dict[str, Script] = {}
    aliases: dict[str, str] = {}
    args: tuple[str, ...] | None = None
    via: tuple[str, ...] = ()
    cwd: str = ""
    maybe: int = 0
    calling: frozenset[str] = frozenset()
    feeds: dict[str, StdinSource] = {}
    branches: list[dict[str, Value | None]] = []
    work: WorkLimit = msgspec.field(default_factory=WorkLimit)
    frames: list[Frame] = []
    others: tuple[str, ...] = ()
    other_args: tuple[tuple[str, ...], ...] = ()
    fixed: frozenset[str] = frozenset()
    joined: dict[str, str] = {}

    def fork(self, *via: str) -> ShellState:
        """A subshell: a copy whose changes do not affect this state."""
        self.work.spend(2 + (len(self.variables) + len(self.functions) + len(self.via)) / 32)
        return ShellState(
            dict(self.variables), dict(self.functions), dict(self.aliases), self.args, self.via + via, self.cwd, self.maybe,
            self.calling, dict(self.feeds), [], self.work, [], self.others, self.other_args, self.fixed, self.joined,
        )  # fmt: skip

    def elsewhere(self, *via: str) -> ShellState:
        """A shell on another machine or in a container, which shares none of this state."""
        return ShellState(via=self.via + via, cwd="", calling=self.calling, work=self.work)

    def enter_branch(self) -> None:
        """What follows may not run."""
        self.maybe += 1
        self.branches.append({})

    def leave_branch(self) -> None:
        """What was set in the branch may also be as it was before."""
        self.maybe -= 1
        left = self.branches.pop()
        if self.branches:
            for name, before in left.items():
                self.branches[-1].setdefault(name, before)
        if (folder := left.pop(_FOLDER, None)) is not None:
            self._may_be_in(all_of(folder))
        self.may_be(left)

    def enter_frame(self, *, is_loop: bool = False) -> None:
        """Jumps in what follows go on behind it."""
        self.frames.append(Frame(is_loop))

    def leave_frame(self) -> None:
        """What jumps have left as it was then may still be that."""
        frame = self.frames.pop()
        if frame.values:
            self.may_be(frame.values)
        if frame.folders:
            self._may_be_in(frame.folders)
        if frame.local:
            self.may_be(frame.local)

    def watch(self) -> Frame:
        """Notes all values that variables have from now on."""
        self.frames.insert(0, Frame(values={}, keeps_all=True))
        return self.frames[0]

    def jump(self, words: tuple[str, ...]) -> None:
        """What the shell is in may end here: what is set behind this may be as it is now. `break 2` leaves several loops."""
        leaves_loop = words[0] in LOOP_JUMPS
        for frame in reversed(self.frames):
            if leaves_loop and not frame.is_loop:
                return
            self._note_jump(frame)
            if not frame.is_loop or (leaves_loop and len(words) == 1):
                return

    def _note_jump(self, frame: Frame) -> None:
        frame.folders = (*frame.folders, self.cwd)[:MAX_OTHERS]
        if frame.values is None:
            frame.values = {}
            return
        self.work.spend(1 + len(frame.values) / 8)
        for name, before in frame.values.items():
            if (now := self.variables.get(name)) is not None and now != before:
                frame.values[name] = one_of(dict.fromkeys((*all_of(before or ()), *all_of(now))))

    def may_be(self, values: dict[str, Value | None]) -> None:
        """These variables have other values on other paths."""
        for name, other in values.items():
            if other is None or (now := self.variables.get(name)) is None or now == other:
                continue
            both = one_of(dict.fromkeys((*all_of(other), *all_of(now))))
            self.work.spend(1 + steps_to_build(len(both[1])))  # what is built of it, if these are many
            self.variables[name] = both

    def assign(self, name: str, value: Value, *, append: bool = False) -> None:
        """Sets a variable. Within a branch it has this value; behind it, it may also have its old one. The name of an array
        is that of its first element."""
        self._set(name, value, append=append)
        if (first := f"{name}[0]") in self.variables:
            self._set(first, value, append=append)

    def _set(self, name: str, value: Value, *, append: bool = False) -> None:
        before = self.variables.get(name)
        values = all_of(value)
        if append and before is not None:
            values = tuple([old + each for old in all_of(before) for each in values])
        values = tuple(map(bounded, values))
        if self.branches:
            self.branches[-1].setdefault(name, before)
        for frame in self.frames:
            if frame.values is not None:
                if frame.keeps_all and before is not None:
                    frame.values[name] = one_of(dict.fromkeys((*all_of(frame.values.get(name) or ()), *all_of(before))))
                else:
                    frame.values.setdefault(name, before)
        if name in self.fixed and before is not None:
            values = (*all_of(before), *values)
        if len(values) > 1:
            self.work.spend(steps_to_build(sum(map(len, values))))
        self.variables[name] = one_of(dict.fromkeys(values))
        if self.joined and (other := self.joined.get(name)):
            self.variables[other] = self.variables[name]

    def assign_all(self, assigns: list[tuple[str, str, bool]]) -> None:
        """Sets variables; the elements of arrays also under the name with their index: `a=(x rm)` sets `a[0]` and `a[1]`."""
        array, at = "", 0
        elements: dict[str, dict[str, None]] = {}
        for name, value, append in assigns:
            if _is_whole(name, array):
                array = name
                self._set(name, value if self.variables.get(name) else value[1:], append=True)
                continue
            element, is_next = _element(value, is_more=append and name == array)
            if is_next:
                self._set(name, value, append=True)
            elif name[-1:] != SUBSCRIPT:
                self.assign(name, value, append=append)
            elif not append:
                self._may_be_any(name, element)
            array, at = name, at + 1 if is_next else 0
            if name[-1:] in _ELEMENTS:
                elements.setdefault(name.partition(SUBSCRIPT)[0] + SUBSCRIPT, {})[element] = None
            elif len(assigns) > 1:
                self._set(f"{name}[{at}]", element)
                elements.setdefault(name + SUBSCRIPT, {})[element] = None
        self._may_be_elements(elements)

    def _may_be_any(self, elements: str, value: str) -> None:
        """Each element of an array whose number is known, and the first one, may have this value."""
        self.work.spend(1 + len(self.variables) / 32)
        first = f"{elements}0]"
        self.variables.setdefault(first, self.variables.get(elements[:-1], value))
        self.may_be({name: value for name in self.variables if name.startswith(elements) and name != elements})

    def _may_be_elements(self, elements: dict[str, dict[str, None]]) -> None:
        """Some element of an array, whichever, may have these values as well."""
        for name, values in elements.items():
            before = all_of(self.variables.get(name, ()))
            self.variables[name] = one_of({**dict.fromkeys(before), **values})

    def set_args(self, args: tuple[str, ...]) -> None:
        """Sets the arguments. In a branch, and behind it, they may also be the ones before."""
        if not self.branches:
            self.other_args = ()
        elif self.args is not None and self.args != args:
            self.other_args = (*self.other_args, self.args)[:MAX_OTHERS]
        self.args = args

    def keep_outer(self, name: str) -> None:
        """A variable belongs to the function that the shell is in: behind it, it is as it was before."""
        for frame in reversed(self.frames):
            if not frame.is_loop:
                frame.local.setdefault(name, self.variables.get(name))
                return

    def join(self, name: str, other: str) -> None:
        """Two names stand for the same variable."""
        self.joined = {**self.joined, name: other, other: name}
        if (value := self.variables.get(other)) is not None:
            self.variables[name] = value

    def define(self, name: str, body: Script) -> None:
        """Sets a function. One that is set in a branch may also be what it was before: either is run."""
        before = self.functions.get(name)
        if before and body and self.branches and all(part is not body[0] for part in before):
            body = [*before, *body]
        self.functions[name] = body
        self.calling -= {name}

    def enter_folder(self, folder: str, others: Iterable[str] = ()) -> None:
        """Changes the folder. `others`: what those become that it may be in as well."""
        if self.branches:
            self.branches[-1].setdefault(_FOLDER, (self.cwd, *self.others))
        self.cwd, self.others = folder, ()
        self._may_be_in(others)

    def leads_out(self, folders: tuple[str, ...]) -> bool:
        """Whether the shell may be outside of the folder that it began in, and in none of these."""
        return any(folder not in folders and _is_outside(folder) for folder in (self.cwd, *self.others))

    def _may_be_in(self, folders: Iterable[str]) -> None:
        """It may be in these as well. In the folders below the first one, harm is no other than in that."""
        known = (self.cwd, *self.others)
        more = dict.fromkeys(folder for folder in folders if folder not in known and _is_outside(folder))
        self.others = (*self.others, *more)[:MAX_OTHERS]


def _is_whole(name: str, before: str) -> bool:
    """Whether this is the array as a whole, behind one of its elements."""
    return before[-1:] in _ELEMENTS and name == before.partition(SUBSCRIPT)[0]


def _element(value: str, *, is_more: bool) -> tuple[str, bool]:
    """An element without its key, and whether it is the next one of an array. `is_more`: it is added to that."""
    element = _KEY.sub(r"\1", value)
    is_next = is_more and element[:1] == " "
    return element[is_next:], is_next


def _is_outside(folder: str) -> bool:
    """Whether a folder is not below the one that the shell began in."""
    if folder.startswith(("/", "~", "$")):
        return True
    return ".." in folder and UNKNOWN not in folder and normpath(folder).startswith("..")
