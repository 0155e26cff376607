"""The running programs that agents type into: how each was started, and what has been entered into it.

Invariants:

- a process is identified by its id alone: agents that share one also share what is typed into it;
- a write also enters what was typed before it. If it enters nothing, it runs nothing: it is allowed and recorded. If it
  enters lines, it amounts to the commands of its `readers`, for each program that may read them;
- an allowed write has arrived once its result confirms it, and has not if the gateway refused it. Until then either may be
  true, and lines are judged both ways. Writes of one message arrive in order;
- a line whose beginning is unknown (the process was started before this engine or was evicted, or a result never arrived) is
  unsure; Ctrl-C in a terminal discards such a beginning. A line is also unsure if it was edited in a way that `key_presses`
  does not emulate and the program may bring back older lines;
- once another program may read the lines of a shell (a shell inside it, a program that takes input), that program may have
  read any of them: the shell's folder and variables are then those with and those without each line.

State is bounded by `MAX_PROCESSES`; the least recently used process is evicted.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import replace as with_fields
from functools import lru_cache
from hashlib import sha256
from itertools import product
from typing import Any

import msgspec
from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.terminal_input import key_presses
from toolguard_engine.effects.terminal_input.input_languages import Reader, Shell, at_start
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.model.call import Call

MAX_PROCESSES = 200
MAX_READERS = 6
"""Above this number, readers of the same program are merged."""

MAX_PROGRAMS = 12
MAX_PARTS = 20
"""Texts that one write enters, separated by Ctrl-C."""

MAX_UNCONFIRMED = 3
"""Unconfirmed writes, each of which may have arrived or not."""

MAX_COMBINED = 65_536
"""Characters of all combinations of them together."""

ENTERS = "what it enters"
"""The parameter that shows, and binds an approval to, everything a write depends on."""

MAX_ID = 200
_RECALL = lazy_re.compile(r"(?<![$\\{\[])!(?![\s=(\"']|\Z)|\A\^")
_BEGINS = r"(?:\A|[;&|({\n])[ \t]{0,20}(?:(?:builtin|command)[ \t]{1,20})?"
_RERUNS = lazy_re.compile(_BEGINS + r"fc\b(?![ \t]+-\w{0,4}l)", re.ASCII)
_QUOTED = lazy_re.compile(r"'[^'\"]*'")
_KEY_SETTERS = lazy_re.compile(
    _BEGINS + r"(?:bind|bindkey|stty)[ \t]{1,20}(?!sane\b|size\b|-?echo\b|-a\b|rows\b|cols\b|columns\b)[^\s]"
)


class TypedEntry(msgspec.Struct, frozen=True):
    """What one write enters. `commands`: what it amounts to; `shown`: for the user. `doubt`: why it is uncertain what is
    entered; empty if it is certain."""

    commands: tuple[str, ...] = ()
    shown: str = ""
    doubt: str = ""


class RunningProgram(msgspec.Struct, frozen=True):
    """`pending`: the keys since the last line; `shared`: other programs may read the lines of its shell."""

    readers: tuple[Reader, ...]
    terminal: bool = True
    workdir: str = ""
    env: tuple[tuple[str, str], ...] = ()
    pending: str = ""
    shared: bool = False


UNKNOWN = RunningProgram((Reader("shell"),), pending=key_presses.CUT)
"""A process whose start was not observed."""

HISTORY = "Some keys moved the cursor, completed the line or recalled an older one, so what Enter runs is not known."
BEGINNING = (
    "The beginning of this line is not known: the guard has no record of the process or of its earlier input. "
    'In a terminal, Ctrl-C (keys ["C-c"]) discards it.'
)
RECALLED = "It brings back an older line (`!`, `fc`), so what it runs is not known."
SETS_KEYS = "It changes the key bindings of this terminal, so later input could not be interpreted."
NESTED = "Too many nested programs run in this process to know which one reads this line. Start a new process for it."
CROWDED = "Too many writes to this process have no result yet, so what this one would enter is not known. Wait for them."


@lru_cache(maxsize=32)  # asked more than once per write
def entry(process: RunningProgram, typed: str) -> TypedEntry | None:
    """What typing this enters; None if it enters nothing."""
    read = key_presses.lines(process.pending + typed, terminal=process.terminal)
    if not read.lines:
        return None
    if _interrupts(read) > MAX_PARTS:
        return TypedEntry(shown=_visible(typed), doubt=HISTORY)
    commands: dict[str, None] = {}
    shown: list[str] = []
    doubts: list[str] = []
    for text, lines in _parts(read.lines):
        ends = lines[-1].ended == "end"
        for reader in process.readers:
            commands.update(dict.fromkeys(reader.commands(text, ends=ends)))
        shown.append(process.readers[0].shown(text))
        doubts += _doubts(process, text, lines)
        process = _stepped(process, text, lines)
    return TypedEntry(tuple(filter(str.strip, commands)), "\n".join(shown), doubts[0] if doubts else "")


@lru_cache(maxsize=32)
def advanced(process: RunningProgram, typed: str, *, keep: bool = True) -> RunningProgram:
    """The process after this has arrived. `keep`: see `Reader.after`."""
    read = key_presses.lines(process.pending + typed, terminal=process.terminal)
    if _interrupts(read) > MAX_PARTS:
        unknown = (replace(reader, shell=Shell(cwd="\0"), waiting="") for reader in process.readers)
        return replace(process, readers=tuple(unknown), pending=key_presses.CUT)
    for text, lines in _parts(read.lines):
        process = _stepped(process, text, lines, keep=keep)
    return replace(process, pending=read.rest)


def _stepped(process: RunningProgram, text: str, lines: list[key_presses.InputLine], *, keep: bool = True) -> RunningProgram:
    """The process after one text; Ctrl-C discards incomplete input."""
    perhaps = any(line.ended == "end" and line.text for line in lines)
    process = replace(after_text(process, text, keep=keep, perhaps=perhaps), pending="")
    if lines[-1].ended != "interrupt":
        return process
    return replace(process, readers=tuple(dict.fromkeys(replace(reader, waiting="") for reader in process.readers)))


def _interrupts(read: key_presses.Typed) -> int:
    return sum(1 for line in read.lines if line.ended == "interrupt")


def after_text(process: RunningProgram, text: str, *, keep: bool = True, perhaps: bool = False) -> RunningProgram:
    """The process after a text was entered. `perhaps`: it may not have been."""
    if not text.strip() and not any(reader.waiting for reader in process.readers):
        return process
    opened = [new for reader in process.readers for new in reader.opened(text)]
    after = [reader.after(text, keep=keep) for reader in process.readers]
    known = {(reader.language, reader.outer) for reader in after}
    nested = any((new.language, new.outer) in known for new in opened)
    shared = process.shared or nested or bool(opened) or any(reader.shares(text) for reader in process.readers)
    unread = [reader for reader in process.readers if reader.language in ("shell", "other")] if shared or perhaps else []
    new = [reader for reader in opened if (reader.language, reader.outer) not in known]
    new = new if len(process.readers) <= MAX_PROGRAMS else []
    return replace(process, readers=_bounded(list(dict.fromkeys((*after, *unread, *new)))), shared=shared)


def _bounded(readers: list[Reader]) -> tuple[Reader, ...]:
    """Keeps at most `MAX_READERS`. If one program has too many states, its folder and variables become unknown."""
    if len(readers) <= MAX_READERS:
        return tuple(readers)
    merged: dict[tuple[str, tuple[str, ...]], Reader] = {}
    for reader in readers:
        key = reader.language, reader.outer
        unknown = Shell(
            cwd="\0",
            aliases=reader.shell.aliases,
            functions=reader.shell.functions,
            defined=reader.shell.defined,
            scripts=reader.shell.scripts,
        )
        merged[key] = replace(reader, shell=unknown, trusted=False) if key in merged else reader
    return tuple(merged.values())


def _parts(lines: tuple[key_presses.InputLine, ...]) -> Iterator[tuple[str, list[key_presses.InputLine]]]:
    """The texts that are entered in sequence; Ctrl-C ends one."""
    part: list[key_presses.InputLine] = []
    for line in lines:
        part.append(line)
        if line.ended == "interrupt":
            yield "\n".join(row.text for row in part[:-1]), part
            part = []
    if part:
        yield "\n".join(row.text for row in part), part


def _doubts(process: RunningProgram, text: str, lines: list[key_presses.InputLine]) -> Iterator[str]:
    entered = [line for line in lines if line.ended != "interrupt"]
    unsure = not all(line.sure for line in entered)
    if unsure and key_presses.CUT in process.pending:
        yield BEGINNING
    elif unsure and any(reader.recalls for reader in process.readers):
        yield HISTORY
    if len(process.readers) > MAX_PROGRAMS:
        yield NESTED
    if any(reader.language == "shell" for reader in process.readers):
        recalls = any(_RECALL.search(_QUOTED.sub("", line.text)) for line in entered)
        if process.terminal and (recalls or _RERUNS.search(text)):
            yield RECALLED
        if process.terminal and _KEY_SETTERS.search(text):
            yield SETS_KEYS


class _Write(msgspec.Struct):
    """An allowed write. `arrived`: None until its result arrives; `alone`: it may be refused on its own."""

    call: str
    place: tuple[str, str, int]
    typed: str
    alone: bool
    keep: bool
    enters: bool
    shown: dict[str, Any]
    arrived: bool | None = None


class _Tracked:
    """One process: what has certainly arrived, and which writes are unconfirmed."""

    def __init__(self, process: RunningProgram) -> None:
        self.process = process
        self.unconfirmed: list[_Write] = []

    def forget_lost(self, call: Call) -> None:
        """Writes of an older message get no result any more, so whether they arrived is unknown."""
        lost = [write for write in self.unconfirmed if write.place[:1] == (call.session,) and write.place != _place(call)]
        if lost:
            self.unconfirmed = [write for write in self.unconfirmed if write not in lost]
            self.process = replace(self.process, pending=key_presses.CUT)

    def under_way(self, call: Call) -> _Write | None:
        """The unconfirmed write of this very call."""
        own = (write for write in self.unconfirmed if write.call == call.call_id and write.place[0] == call.session)
        return next((write for write in own if write.arrived is None), None) if call.call_id else None

    def possible(self) -> list[RunningProgram] | None:
        """The possible states, from all unconfirmed writes to none of them; None if there are too many combinations."""
        alone = [write for write in self.unconfirmed if write.alone]
        if len(alone) > MAX_UNCONFIRMED or sum(len(write.typed) for write in self.unconfirmed) << len(alone) > MAX_COMBINED:
            return None
        programs = []
        for choice in product((True, False), repeat=len(alone)) if self.unconfirmed else ():
            left = {id(write) for write, arrives in zip(alone, choice, strict=True) if not arrives}
            process = self.process
            for unsure in self.unconfirmed:
                if id(unsure) not in left:
                    process = advanced(process, unsure.typed, keep=unsure.keep)
            programs.append(process)
        return list(dict.fromkeys((*programs, self.process)))

    def settle(self) -> None:
        """Applies confirmed writes in the order in which they were allowed."""
        while self.unconfirmed and self.unconfirmed[0].arrived is not None:
            first = self.unconfirmed.pop(0)
            if first.arrived:
                self.process = advanced(self.process, first.typed, keep=first.keep)


class Processes:
    """All running programs of one gateway."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Tracked] = OrderedDict()

    def started(self, name: str, call: Call) -> None:
        """An `exec` continues in the background under this id."""
        if not name or len(name) > MAX_ID or not isinstance(call.params, dict):
            return
        command, workdir, env = (call.params.get(param) for param in ("command", "workdir", "env"))
        text = command if isinstance(command, str) else ""
        given = tuple((str(key), str(value)) for key, value in env.items()) if isinstance(env, dict) else ()
        folder = workdir if isinstance(workdir, str) else ""
        self._put(name, RunningProgram(at_start(text), bool(call.params.get("pty")), folder, given))

    def joined(self, call: Call) -> Call:
        """Adds what a write enters to its parameters; any other call is returned unchanged."""
        if not is_write(call):
            return call
        params = {key: value for key, value in call.params.items() if key != ENTERS}
        known = self._known.get(_name(call))
        if known and (own := known.under_way(call)):
            return _with(call, own.shown)
        process = self._possible(call, known)[0]
        typed = entry(process, key_presses.arriving(params))
        text = typed.shown if typed else ""
        depends = len(process.readers) > 1 or any(reader.before for reader in process.readers)
        before = f" [after {_digest(process)}]" if depends and typed else ""
        pending = _visible(process.pending) if not typed or typed.doubt else ""
        shown = f"{pending}{' + ' if pending and text else ''}{text}{before}"
        return _with(call, {**params, ENTERS: shown} if shown else params)

    def entries(self, call: Call) -> list[tuple[RunningProgram, TypedEntry]] | None:
        """What a write enters in each possible state; empty if it enters nothing, None if the call is not a write."""
        if not is_write(call):
            return None
        known = self._known.get(_name(call))
        typed = key_presses.arriving(call.params)
        states = known.possible() if known else []
        if known and (states is None or (len(states) > 1 and len(states) * len(typed) > MAX_COMBINED)):
            crowded = replace(known.process, pending="")
            return [(crowded, TypedEntry(doubt=CROWDED))] if key_presses.lines(typed, terminal=True).lines else []
        return [(program, typed_entry) for program in self._possible(call, known) if (typed_entry := entry(program, typed))]

    def sent(self, call: Call, *, keep: bool) -> None:
        """A write was allowed: it arrives unless something else stops it. `keep`: see `Reader.after`."""
        if not is_write(call) or not _name(call):
            return
        enters = bool(self.entries(call))
        known = self._known.get(_name(call)) or self._put(_name(call), UNKNOWN)
        known.forget_lost(call)
        alone = key_presses.may_be_refused(call.params)
        typed = key_presses.arriving(call.params)
        known.unconfirmed.append(_Write(call.call_id, _place(call), typed, alone, keep, enters, call.params))
        self._known.move_to_end(_name(call))

    def completed(self, call: Call, *, failed: bool, refused: bool) -> None:
        """The result of a write. `refused`: the gateway reports that it did nothing."""
        known = self._known.get(_name(call)) if is_write(call) else None
        if known is None:
            return
        own = known.under_way(call)
        typed = key_presses.arriving(call.params)
        if own is None:
            own = _Write(call.call_id, _place(call), typed, alone=False, keep=False, enters=True, shown=call.params)
            known.unconfirmed.append(own)
        own.typed, own.arrived = typed, not refused
        known.settle()
        if failed and not refused:
            known.process = replace(known.process, pending=key_presses.CUT)

    def knows(self, call: Call) -> bool:
        """Whether this write goes to a process whose state is tracked."""
        return _name(call) in self._known

    def enters_nothing(self, call: Call) -> bool:
        """Whether this write, whose result has arrived, ran nothing."""
        known = self._known.get(_name(call)) if is_write(call) else None
        own = known.under_way(call) if known else None
        return own is not None and not own.enters

    def _possible(self, call: Call, known: _Tracked | None) -> list[RunningProgram]:
        if known is None:
            return [UNKNOWN if _name(call) else replace(UNKNOWN, pending="")]
        known.forget_lost(call)
        return known.possible() or [replace(known.process, pending=key_presses.CUT)]

    def _put(self, name: str, process: RunningProgram) -> _Tracked:
        known = self._known[name] = _Tracked(process)
        self._known.move_to_end(name)
        while len(self._known) > MAX_PROCESSES:
            self._known.popitem(last=False)
        return known


def is_write(call: Call) -> bool:
    params = call.params
    return (
        isinstance(params, dict) and "action" in params and key_presses.types(params) and tool_name(call.tool) == "process"
    )


def _name(call: Call) -> str:
    name = call.params.get("sessionId")
    return name[:MAX_ID] if isinstance(name, str) else ""


def _place(call: Call) -> tuple[str, str, int]:
    return call.session, call.run, call.request


def _with(call: Call, params: dict[str, Any]) -> Call:
    return with_fields(call, params=params)


def _digest(process: RunningProgram) -> str:
    """A digest of all earlier input that still matters."""
    return sha256(repr(process.readers).encode("utf-8", "replace")).hexdigest()[:16]


def _visible(typed: str) -> str:
    """Keys as visible text: control characters are spelled out."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in typed.replace(key_presses.CUT, "..."))
