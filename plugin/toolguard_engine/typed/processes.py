"""The running programs that agents type into: what each of them was started with, and what has arrived in it.

The law:

- a process is known by its id alone: agents that share one share what is typed into it;
- a write enters what was typed before with it. Where it enters nothing it runs nothing: it is let through and remembered.
  Where it enters lines, it comes to the commands of `readers`, for each program that may read them;
- what was let through has arrived once its result says so, and has not where the gateway refused it. In between it may have
  or not, and lines are judged both ways. Writes of one message arrive in their order;
- a line of which the beginning is not known (the process was started before this engine or was forgotten, or a result never
  came) is unsure; Ctrl-C in a terminal throws such a beginning away. So is one that was edited in a way that `keys` does not
  play, where the program may bring back older lines;
- once another program may read the lines of a shell (a shell inside it, a program that takes input), each line may have been
  read by that: the shell's folder and variables are then those with and those without it.

State is bounded: `MAX_PROCESSES`, the one used last is forgotten last.
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

from toolguard_engine.model import Call
from toolguard_engine.toolsearch import tool_name
from toolguard_engine.typed import keys
from toolguard_engine.typed.readers import Reader, Shell, at_start

MAX_PROCESSES = 200
MAX_READERS = 6
"""With more of them, those of one program are made one."""

MAX_PROGRAMS = 12
MAX_PARTS = 20
"""Texts that one write enters, between presses of Ctrl-C."""

MAX_FLYING = 3
"""Writes under way of which each may have arrived or not."""

ENTERS = "what it enters"
"""The parameter under which a write is shown and bound with all that it depends on."""

MAX_ID = 200
_RECALL = re.compile(r"(?<![$\\{\[])!(?![\s=(\"']|\Z)|\A\^")
_BEGINS = r"(?:\A|[;&|({\n])[ \t]{0,20}(?:(?:builtin|command)[ \t]{1,20})?"
_RERUNS = re.compile(_BEGINS + r"fc\b(?![ \t]+-\w{0,4}l)", re.ASCII)
_QUOTED = re.compile(r"'[^'\"]*'")
_KEY_SETTERS = re.compile(
    _BEGINS + r"(?:bind|bindkey|stty)[ \t]{1,20}(?!sane\b|size\b|-?echo\b|-a\b|rows\b|cols\b|columns\b)[^\s]"
)


class Entry(msgspec.Struct, frozen=True):
    """What one write enters. `commands`: what that comes to; `shown`: for a person. `doubt`: why it
    is not known what is entered; empty where it is."""

    commands: tuple[str, ...] = ()
    shown: str = ""
    doubt: str = ""


class Process(msgspec.Struct, frozen=True):
    """`pending`: the keys since the last line; `shared`: other programs may read the lines of its shell."""

    readers: tuple[Reader, ...]
    terminal: bool = True
    workdir: str = ""
    env: tuple[tuple[str, str], ...] = ()
    pending: str = ""
    shared: bool = False


UNKNOWN = Process((Reader("shell"),), pending=keys.CUT)
"""A process of which the start was not seen."""

HISTORY = "Keys were pressed that move in the line, complete it or bring back an older one, so what Enter runs is not known."
BEGINNING = (
    "The beginning of this line is not known: the process or what was typed into it is older than the guard's memory. "
    'In a terminal Ctrl-C (keys ["C-c"]) throws it away.'
)
RECALLED = "It brings back an older line (`!`, `fc`), so what it runs is not known."
SETS_KEYS = "It changes what keys mean in this terminal, so that what is typed from here on could not be known."
NESTED = "So many programs run inside each other that it is not known which one reads this line. Start a new process for it."
CROWDED = "Too many writes into this process are under way; what it would enter is not known before their results are."


@lru_cache(maxsize=32)  # a write is asked about more than once
def entry(process: Process, typed: str) -> Entry | None:
    """What typing this enters; None where it enters nothing."""
    read = keys.lines(process.pending + typed, terminal=process.terminal)
    if not read.lines:
        return None
    if _interrupts(read) > MAX_PARTS:
        return Entry(shown=_visible(typed), doubt=HISTORY)
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
    return Entry(tuple(filter(str.strip, commands)), "\n".join(shown), doubts[0] if doubts else "")


@lru_cache(maxsize=32)
def advanced(process: Process, typed: str, *, keep: bool = True) -> Process:
    """The process once this has arrived. `keep`: see `Reader.after`."""
    read = keys.lines(process.pending + typed, terminal=process.terminal)
    if _interrupts(read) > MAX_PARTS:
        unknown = (replace(reader, shell=Shell(cwd="\0"), waiting="") for reader in process.readers)
        return replace(process, readers=tuple(unknown), pending=keys.CUT)
    for text, lines in _parts(read.lines):
        process = _stepped(process, text, lines, keep=keep)
    return replace(process, pending=read.rest)


def _stepped(process: Process, text: str, lines: list[keys.Line], *, keep: bool = True) -> Process:
    """The process behind one text; Ctrl-C throws away what was entered and is not complete."""
    perhaps = any(line.ended == "end" and line.text for line in lines)
    process = replace(behind(process, text, keep=keep, perhaps=perhaps), pending="")
    if lines[-1].ended != "interrupt":
        return process
    return replace(process, readers=tuple(dict.fromkeys(replace(reader, waiting="") for reader in process.readers)))


def _interrupts(read: keys.Typed) -> int:
    return sum(1 for line in read.lines if line.ended == "interrupt")


def behind(process: Process, text: str, *, keep: bool = True, perhaps: bool = False) -> Process:
    """The process once a text was entered; `perhaps`: or was not."""
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


def _bounded(found: list[Reader]) -> tuple[Reader, ...]:
    """At most `MAX_READERS`: of one program in too many states it is not known where it is and what its variables say."""
    if len(found) <= MAX_READERS:
        return tuple(found)
    merged: dict[tuple[str, tuple[str, ...]], Reader] = {}
    for reader in found:
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


def _parts(lines: tuple[keys.Line, ...]) -> Iterator[tuple[str, list[keys.Line]]]:
    """The texts that are entered one after the other; Ctrl-C ends one."""
    part: list[keys.Line] = []
    for line in lines:
        part.append(line)
        if line.ended == "interrupt":
            yield "\n".join(each.text for each in part[:-1]), part
            part = []
    if part:
        yield "\n".join(each.text for each in part), part


def _doubts(process: Process, text: str, lines: list[keys.Line]) -> Iterator[str]:
    entered = [line for line in lines if line.ended != "interrupt"]
    unsure = not all(line.sure for line in entered)
    if unsure and keys.CUT in process.pending:
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


class _Flying(msgspec.Struct):
    """A write that was let through. `arrived`: None before its result came; `alone`: it may be refused by itself."""

    call: str
    place: tuple[str, str, int]
    typed: str
    alone: bool
    keep: bool
    enters: bool
    shown: dict[str, Any]
    arrived: bool | None = None


class _Known:
    """One process: what has surely arrived, and what is under way."""

    def __init__(self, process: Process) -> None:
        self.process = process
        self.flying: list[_Flying] = []

    def forget_lost(self, call: Call) -> None:
        """Of writes of an older message no result comes any more: whether they arrived is not known."""
        lost = [each for each in self.flying if each.place[:1] == (call.session,) and each.place != _place(call)]
        if lost:
            self.flying = [each for each in self.flying if each not in lost]
            self.process = replace(self.process, pending=keys.CUT)

    def under_way(self, call: Call) -> _Flying | None:
        """This very write."""
        own = (each for each in self.flying if each.call == call.call_id and each.place[0] == call.session)
        return next((each for each in own if each.arrived is None), None) if call.call_id else None

    def possible(self) -> list[Process] | None:
        """The process as it may be: first with all that is under way, last without; None where there are too many ways."""
        alone = [each for each in self.flying if each.alone]
        if len(alone) > MAX_FLYING:
            return None
        found = []
        for choice in product((True, False), repeat=len(alone)) if self.flying else ():
            left = {id(each) for each, arrives in zip(alone, choice, strict=True) if not arrives}
            process = self.process
            for each in self.flying:
                if id(each) not in left:
                    process = advanced(process, each.typed, keep=each.keep)
            found.append(process)
        return list(dict.fromkeys((*found, self.process)))

    def settle(self) -> None:
        """What has arrived, in the order in which it was let through."""
        while self.flying and self.flying[0].arrived is not None:
            first = self.flying.pop(0)
            if first.arrived:
                self.process = advanced(self.process, first.typed, keep=first.keep)


class Processes:
    """All running programs of one gateway."""

    def __init__(self) -> None:
        self._known: OrderedDict[str, _Known] = OrderedDict()

    def started(self, name: str, call: Call) -> None:
        """An `exec` went on in the background under this id."""
        if not name or len(name) > MAX_ID or not isinstance(call.params, dict):
            return
        command, workdir, env = (call.params.get(each) for each in ("command", "workdir", "env"))
        text = command if isinstance(command, str) else ""
        given = tuple((str(key), str(value)) for key, value in env.items()) if isinstance(env, dict) else ()
        folder = workdir if isinstance(workdir, str) else ""
        self._put(name, Process(at_start(text), bool(call.params.get("pty")), folder, given))

    def joined(self, call: Call) -> Call:
        """A write with what it enters among its parameters; any other call as it is."""
        if not is_write(call):
            return call
        params = {key: value for key, value in call.params.items() if key != ENTERS}
        known = self._known.get(_name(call))
        if known and (own := known.under_way(call)):
            return _with(call, own.shown)
        process = self._possible(call, known)[0]
        found = entry(process, keys.arriving(params))
        text = found.shown if found else ""
        depends = len(process.readers) > 1 or any(reader.before for reader in process.readers)
        before = f" [after {_digest(process)}]" if depends and found else ""
        pending = _visible(process.pending) if not found or found.doubt else ""
        shown = f"{pending}{' + ' if pending and text else ''}{text}{before}"
        return _with(call, {**params, ENTERS: shown} if shown else params)

    def entries(self, call: Call) -> list[tuple[Process, Entry]] | None:
        """What a write enters, each way that is possible; empty where it enters nothing. None: it is not typing."""
        if not is_write(call):
            return None
        known = self._known.get(_name(call))
        typed = keys.arriving(call.params)
        if known and known.possible() is None:
            crowded = replace(known.process, pending="")
            return [(crowded, Entry(doubt=CROWDED))] if keys.lines(typed, terminal=True).lines else []
        return [(each, found) for each in self._possible(call, known) if (found := entry(each, typed))]

    def sent(self, call: Call, *, keep: bool) -> None:
        """A write may run: it arrives if nothing else stops it. `keep`: see `Reader.after`."""
        if not is_write(call) or not _name(call):
            return
        enters = bool(self.entries(call))
        known = self._known.get(_name(call)) or self._put(_name(call), UNKNOWN)
        known.forget_lost(call)
        alone = keys.may_be_refused(call.params)
        typed = keys.arriving(call.params)
        known.flying.append(_Flying(call.call_id, _place(call), typed, alone, keep, enters, call.params))
        self._known.move_to_end(_name(call))

    def came(self, call: Call, *, failed: bool, refused: bool) -> None:
        """The result of a write. `refused`: the gateway says that it did nothing."""
        known = self._known.get(_name(call)) if is_write(call) else None
        if known is None:
            return
        own = known.under_way(call)
        typed = keys.arriving(call.params)
        if own is None:
            own = _Flying(call.call_id, _place(call), typed, alone=False, keep=False, enters=True, shown=call.params)
            known.flying.append(own)
        own.typed, own.arrived = typed, not refused
        known.settle()
        if failed and not refused:
            known.process = replace(known.process, pending=keys.CUT)

    def knows(self, call: Call) -> bool:
        """Whether this write goes into a process that something is known of."""
        return _name(call) in self._known

    def enters_nothing(self, call: Call) -> bool:
        """Whether this write, of which the result came, ran nothing."""
        known = self._known.get(_name(call)) if is_write(call) else None
        own = known.under_way(call) if known else None
        return own is not None and not own.enters

    def _possible(self, call: Call, known: _Known | None) -> list[Process]:
        if known is None:
            return [UNKNOWN if _name(call) else replace(UNKNOWN, pending="")]
        known.forget_lost(call)
        return known.possible() or [replace(known.process, pending=keys.CUT)]

    def _put(self, name: str, process: Process) -> _Known:
        known = self._known[name] = _Known(process)
        self._known.move_to_end(name)
        while len(self._known) > MAX_PROCESSES:
            self._known.popitem(last=False)
        return known


def is_write(call: Call) -> bool:
    return keys.types(call.params) and tool_name(call.tool) == "process"


def _name(call: Call) -> str:
    name = call.params.get("sessionId")
    return name[:MAX_ID] if isinstance(name, str) else ""


def _place(call: Call) -> tuple[str, str, int]:
    return call.session, call.run, call.request


def _with(call: Call, params: dict[str, Any]) -> Call:
    return with_fields(call, params=params)


def _digest(process: Process) -> str:
    """Of all that was typed before and still counts."""
    return sha256(repr(process.readers).encode("utf-8", "replace")).hexdigest()[:16]


def _visible(typed: str) -> str:
    """Keys for a person: what is no sign is spelled out."""
    return "".join(sign if sign.isprintable() else repr(sign)[1:-1] for sign in typed.replace(keys.CUT, "..."))
