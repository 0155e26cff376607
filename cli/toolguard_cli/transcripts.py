"""Tool calls out of what was kept of them; nothing is ever written, and only one line is held at a time.

What is understood, told apart by its content, line by line:

- transcripts of OpenClaw: JSON lines (`agents/<id>/sessions/*.jsonl`), or since 2026.8 a database
  (`agents/<id>/agent/openclaw-agent.sqlite`, one event a row): assistant messages with parts `toolCall {name, arguments}`;
- the audit log: calls as a person saw them (`shown`), each once, from the events of `TOLD`;
- the log of malformed calls (`tool`, `arguments`), and lines as `toolguard check --stdin` takes them (`tool`, `params`).

A line that is none of these says nothing; one that is no JSON is damaged and counted.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import msgspec

from toolguard_cli.errors import UserError
from toolguard_engine import redact
from toolguard_engine.guard import inner_call
from toolguard_engine.lines import Lines
from toolguard_engine.model import Call

MAX_LINE = 32 * 1024 * 1024
MAX_UNPACKED = MAX_LINE
"""Bytes; what is longer is cut, and thereby damaged."""
CHUNK = 1 << 18
DATABASE = "openclaw-agent.sqlite"
TRACE = ".trajectory.jsonl"
"""What OpenClaw writes beside a transcript; it repeats its calls."""
TOLD = ("hold", "block", "grant-used", "would-refuse")
"""Events of the audit log that stand for one call each; the others tell what became of it."""

_MAGIC = b"SQLite format 3\0"
_PARTS = ("toolCall", "toolUse", "tool_use", "tool_call")
_AGENT = re.compile(r"/agents/([^/]{1,200})/(?:sessions|agent)/")
_NAMES = re.compile(r'"(?>(?:[^"\\]|\\.)*)"|([A-Za-z_$][\w$]*+)(?=:)', re.ASCII)
_SHOWN = re.compile(r"([^()]{1,200})\((.*)\)\Z", re.DOTALL)
_CUT = re.compile(r"characters not shown\]|\.\.\. \(\d+ characters\)|\"\.\.\.\"|\"\.\.\. \d+ more\"|\d+ more\"")


@dataclass(frozen=True, slots=True)
class Kept:
    """One call as it was kept. `whole`: nothing was taken out of it or cut. `line`: where it stands in its file."""

    call: Call
    whole: bool = True
    line: int = 0


@dataclass
class Source:
    """One file. The counts grow while `calls` runs; `done` of `size` (bytes or rows) is how far it is."""

    path: Path
    size: int = 0
    done: int = 0
    damaged: int = 0
    packed: int = 0
    """Events that the gateway has compressed in a way that this Python cannot read."""
    error: str = ""
    _cwd: str = ""

    def __post_init__(self) -> None:
        found = _AGENT.search(self.path.absolute().as_posix())
        self._agent = found[1] if found else ""
        try:
            self.size = self.path.stat().st_size
        except OSError as error:
            raise UserError(f"cannot read {self.path}: {error.strerror}", "name a transcript, or the audit log") from error

    def calls(self) -> Iterator[Kept]:
        """All calls of the file. Where it cannot be read to its end, `error` says why."""
        try:
            with self.path.open("rb") as file:
                head = file.read(len(_MAGIC))
            yield from self._rows() if head == _MAGIC else self._lines()
        except (OSError, sqlite3.Error) as error:
            self.error = str(getattr(error, "strerror", None) or error)

    def _lines(self) -> Iterator[Kept]:
        lines, number = Lines(MAX_LINE), 0
        with self.path.open("rb", buffering=0) as file:
            ended = False
            while not ended:
                data = file.read(CHUNK)
                ended = not data
                for line, too_long in lines.feed(data or b"\n"):
                    number += 1
                    yield from self._decoded(b"" if too_long else line, number, damaged=too_long)
                self.done += len(data)

    def _rows(self) -> Iterator[Kept]:
        """`mode=ro` writes nothing into the database; where its folder cannot be written, it is read as it lies there."""
        place = f"file:{quote(str(self.path.absolute()))}"
        try:
            yield from self._queried(f"{place}?mode=ro")
        except sqlite3.OperationalError:
            if self.done:
                raise
            yield from self._queried(f"{place}?immutable=1")

    def _queried(self, address: str) -> Iterator[Kept]:
        with closing(sqlite3.connect(address, uri=True)) as database:
            columns = {row[1] for row in database.execute("PRAGMA table_info(transcript_events)")}
            if "event_json" not in columns:
                self.error = "it is a database, but holds no transcript"
                return
            packed = "event_zstd, navigation_json" if "event_zstd" in columns else "NULL, NULL"
            (self.size,) = database.execute("SELECT count(*) FROM transcript_events").fetchone()
            query = f"SELECT session_id, seq, event_json, {packed} FROM transcript_events ORDER BY session_id, seq"  # noqa: S608
            session = None
            for of_session, seq, text, blob, about in database.execute(query):
                self.done += 1
                if of_session != session:
                    session, self._cwd = of_session, ""
                if text is not None:
                    yield from self._decoded(str(text).encode(errors="replace"), int(seq))
                elif _is_of_the_model(about):
                    yield from self._unpacked(blob, int(seq))

    def _unpacked(self, blob: bytes, seq: int) -> Iterator[Kept]:
        unpack = _unpacker()
        if unpack is None:
            self.packed += 1
            return
        try:
            line = unpack(blob)
        except Exception:  # noqa: BLE001 - each library has errors of its own, and all mean the same
            line = b"?"
        yield from self._decoded(line, seq)

    def _decoded(self, line: bytes, number: int, *, damaged: bool = False) -> Iterator[Kept]:
        if not damaged and not line.strip():
            return
        try:
            value = None if damaged else msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            damaged = True
        if damaged:
            self.damaged += 1
        elif isinstance(value, dict):
            yield from self._found(value, number)

    def _found(self, value: dict[str, Any], number: int) -> Iterator[Kept]:
        if value.get("type") == "session":
            self._cwd = _text(value.get("cwd"))
        elif isinstance(value.get("message"), dict):
            yield from self._said(value["message"], number)
        elif "event" in value and "shown" in value:
            kept = of_event(value) if value["event"] in TOLD else None
            if kept is not None:
                yield Kept(kept.call, kept.whole, number)
        elif isinstance(value.get("tool"), str) and ("params" in value or "arguments" in value):
            logged = "params" not in value
            params = value.get("arguments") if logged else value["params"]
            call = _call(value, params, _text(value.get("cwd")), self._agent)
            yield Kept(call, not logged or _is_whole(str(params)), number)

    def _said(self, message: dict[str, Any], number: int) -> Iterator[Kept]:
        content = message.get("content")
        if message.get("role") != "assistant" or not isinstance(content, list):
            return
        for part in content:
            if isinstance(part, dict) and part.get("type") in _PARTS and isinstance(part.get("name"), str):
                params = part.get("arguments", part.get("input"))
                call = Call(part["name"], _decoded_text(params), agent=self._agent, cwd=self._cwd)
                yield Kept(inner_call(call), line=number)


def _is_of_the_model(about: Any) -> bool:
    """Whether a compressed event is an answer of the model, as far as the note beside it tells."""
    try:
        note = msgspec.json.decode(about)
        return bool(note["navigation"]["message"]["role"] == "assistant")
    except (msgspec.DecodeError, TypeError, KeyError):
        return True


@cache
def _unpacker() -> Callable[[bytes], bytes] | None:
    """What undoes zstd, of the Pythons and packages that can, to a limit; None where there is none."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            unpacker = import_module(name).ZstdDecompressor
        except ImportError:
            continue
        return lambda blob: unpacker().decompress(blob, max_length=MAX_UNPACKED)
    return None


def of_event(event: dict[str, Any]) -> Kept | None:
    """The call of one line of the audit log; None where it names none."""
    found = _SHOWN.match(_text(event.get("shown")))
    if not found:
        return None
    text = _NAMES.sub(lambda name: f'"{name[1]}"' if name[1] else name[0], found[2])
    try:
        params = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        params = _unpaired(text)
    call = _call({**event, "tool": found[1]}, params, "", "")
    return Kept(call, params is not None and _is_whole(text))


def _unpaired(text: str) -> Any:
    """With half a surrogate pair in it, as Python reads it; None for what is no JSON: the call was cut in the middle."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _call(value: dict[str, Any], params: Any, cwd: str, agent: str) -> Call:
    who, where = _text(value.get("agent")) or agent, _text(value.get("session"))
    return inner_call(Call(value["tool"], params, agent=who, session=where, cwd=cwd))


def _decoded_text(params: Any) -> Any:
    """Arguments that a provider sent as text are what that says."""
    if not isinstance(params, str):
        return {} if params is None else params
    try:
        return msgspec.json.decode(params)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        return params


def _is_whole(text: str) -> bool:
    return redact.HIDDEN not in text and not _CUT.search(text)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def named(paths: list[Path]) -> list[Path]:
    """The files behind these names; of a folder all transcripts in it. Raises `UserError`."""
    found: list[Path] = []
    for path in paths:
        inside = within(path) if path.is_dir() else [path]
        if not inside:
            raise UserError(f"there is no transcript below {path}", "name the file itself")
        found += inside
    return list(dict.fromkeys(found))


def within(folder: Path) -> list[Path]:
    """All transcripts below a folder, such as a gateway's state directory or its `agents`, and all JSON lines in it."""
    known = folder.name == "sessions"
    lines = (path for path in folder.rglob("*.jsonl") if known or path.parent == folder or path.parent.name == "sessions")
    files = [path for path in (*lines, *folder.rglob(DATABASE)) if path.is_file() and not path.name.endswith(TRACE)]
    return sorted(files)
