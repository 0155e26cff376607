"""Reads past tool calls from files. Never writes, and keeps only one line in memory.

The formats, which are recognised by the content of each line:

- transcripts of OpenClaw: JSON lines (`agents/<id>/sessions/*.jsonl`), or since 2026.8 a database
  (`agents/<id>/agent/openclaw-agent.sqlite`, one event a row): assistant messages with parts `toolCall {name, arguments}`;
- the audit log: calls as users saw them (`shown`), each once, from the events in `CALL_EVENTS`;
- the log of malformed calls (`tool`, `arguments`), and the input of `toolguard check --stdin` (`tool`, `params`).

Other lines are ignored; a line that is not JSON is counted as damaged.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import msgspec

from toolguard_cli.system.errors import UserError
from toolguard_engine.guard import inner_call
from toolguard_engine.model.call import Call
from toolguard_engine.stores import atomic, gateway_database
from toolguard_engine.wire.line_reader import Lines
from toolguard_engine.wording import redact
from toolguard_engine.wording.visible_text import WRITTEN_OUT

MAX_LINE = 32 * 1024 * 1024
MAX_UNPACKED = MAX_LINE
"""Bytes; longer data is cut and so counts as damaged."""
CHUNK = 1 << 18
DATABASE = "openclaw-agent.sqlite"
TRACE = ".trajectory.jsonl"
"""A file that OpenClaw writes beside a transcript and that repeats its calls."""
CALL_EVENTS = ("hold", "block", "grant-used", "would-refuse")
"""The events of the audit log that stand for one call each; others report its outcome."""

_MAGIC = b"SQLite format 3\0"
PARTS = ("toolCall", "toolUse", "tool_use", "tool_call")
_AGENT = re.compile(r"/agents/([^/]{1,200})/(?:sessions|agent)/")
_NAMES = re.compile(r'"(?>(?:[^"\\]|\\.)*)"|([A-Za-z_$][\w$]*+)(?=:)', re.ASCII)
_SHOWN = re.compile(r"([^()]{1,200})\((.*)\)\Z", re.DOTALL)
_CUT = re.compile(r"characters not shown\]|\.\.\. \(\d+ characters\)|\"\.\.\.\"|\"\.\.\. \d+ more\"|\d+ more\"")


@dataclass(frozen=True, slots=True)
class KeptCall:
    """One stored call. `whole`: nothing was removed or cut. `line`: in its file."""

    call: Call
    whole: bool = True
    line: int = 0


@dataclass
class TranscriptSource:
    """One file. The counts grow while `calls` runs; `done` of `size` (bytes or rows) is the progress."""

    path: Path
    size: int = 0
    done: int = 0
    damaged: int = 0
    packed: int = 0
    """Compressed events that this Python cannot read."""
    error: str = ""
    cwd: str = ""
    session: str = ""
    agent: str = ""

    def __post_init__(self) -> None:
        match = _AGENT.search(self.path.absolute().as_posix())
        self.agent = match[1] if match else ""
        self.session = self.path.stem
        try:
            self.size = self.path.stat().st_size
        except OSError as error:
            raise UserError(f"cannot read {self.path}: {error.strerror}", "name a transcript, or the audit log") from error

    def calls(self) -> Iterator[KeptCall]:
        """All calls of the file. `error` is set if it cannot be read to the end."""
        for value, number in self.values():
            yield from self.read_calls(value, number)

    def values(self, *, whole: bool = False) -> Iterator[tuple[dict[str, Any], int]]:
        """Each line or event, with its number. `whole`: also compressed events that are no model replies. `session`, `agent`
        and `cwd` are those of the last one. `error` is set if the file cannot be read to the end."""
        try:
            with atomic.opened(self.path) as file:
                head = file.read(len(_MAGIC))
            yield from self._rows(whole=whole) if head == _MAGIC else self._lines()
        except (OSError, gateway_database.GatewayDatabaseError) as error:
            self.error = str(getattr(error, "strerror", None) or error)

    def _lines(self) -> Iterator[tuple[dict[str, Any], int]]:
        lines, number = Lines(MAX_LINE), 0
        with atomic.opened(self.path) as file:
            ended = False
            while not ended:
                data = file.read(CHUNK)
                ended = not data
                for line, too_long in lines.feed(data or b"\n"):
                    number += 1
                    yield from self._decoded(b"" if too_long else line, number, damaged=too_long)
                self.done += len(data)

    def _rows(self, *, whole: bool) -> Iterator[tuple[dict[str, Any], int]]:
        session = None
        for of_session, seq, text, blob, about in gateway_database.transcript_events(self.path, self._sized):
            self.done += 1
            if of_session != session:
                session, self.cwd = of_session, ""
                self.session = str(of_session)
            if text is not None:
                yield from self._decoded(str(text).encode(errors="replace"), int(seq))
            elif _is_of_the_model(about) or (whole and _unpacker() is not None):
                yield from self._unpacked(blob, int(seq))

    def _sized(self, size: int) -> None:
        self.size = size

    def _unpacked(self, blob: bytes, seq: int) -> Iterator[tuple[dict[str, Any], int]]:
        unpack = _unpacker()
        if unpack is None:
            self.packed += 1
            return
        try:
            line = unpack(blob)
        except Exception:  # noqa: BLE001 - each library has its own errors, with the same meaning
            line = b"?"
        yield from self._decoded(line, seq)

    def _decoded(self, line: bytes, number: int, *, damaged: bool = False) -> Iterator[tuple[dict[str, Any], int]]:
        if not damaged and not line.strip():
            return
        try:
            value = None if damaged else msgspec.json.decode(line)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            damaged = True
        if damaged:
            self.damaged += 1
        elif isinstance(value, dict):
            if value.get("type") == "session":
                self.cwd, self.session = _text(value.get("cwd")), _text(value.get("id")) or self.session
            yield value, number

    def read_calls(self, value: dict[str, Any], number: int) -> Iterator[KeptCall]:
        """The calls of one of `values`."""
        if isinstance(value.get("message"), dict):
            yield from self._from_message(value["message"], number)
        elif "event" in value and "shown" in value:
            kept = of_event(value) if value["event"] in CALL_EVENTS else None
            if kept is not None:
                yield KeptCall(kept.call, kept.whole, number)
        elif isinstance(value.get("tool"), str) and ("params" in value or "arguments" in value):
            logged = "params" not in value
            params = value.get("arguments") if logged else value["params"]
            call = _call(value, params, _text(value.get("cwd")), self.agent)
            yield KeptCall(call, not logged or _is_whole(str(params)), number)

    def _from_message(self, message: dict[str, Any], number: int) -> Iterator[KeptCall]:
        content = message.get("content")
        if message.get("role") != "assistant" or not isinstance(content, list):
            return
        for part in content:
            if isinstance(part, dict) and part.get("type") in PARTS and isinstance(part.get("name"), str):
                params = part.get("arguments", part.get("input"))
                call = Call(part["name"], decoded_text(params), agent=self.agent, cwd=self.cwd)
                yield KeptCall(inner_call(call), line=number)


def _is_of_the_model(about: Any) -> bool:
    """Whether a compressed event is a model reply, according to its metadata."""
    try:
        note = msgspec.json.decode(about)
        return bool(note["navigation"]["message"]["role"] == "assistant")
    except (msgspec.DecodeError, TypeError, KeyError):
        return True


@cache
def _unpacker() -> Callable[[bytes], bytes] | None:
    """Decompresses zstd up to a limit; None if neither Python nor a package can."""
    for name in ("compression.zstd", "backports.zstd"):
        try:
            unpacker = import_module(name).ZstdDecompressor
        except ImportError:
            continue
        return lambda blob: unpacker().decompress(blob, max_length=MAX_UNPACKED)
    return None


def of_event(event: dict[str, Any]) -> KeptCall | None:
    """The call of one line of the audit log; None if there is none."""
    match = _SHOWN.match(_text(event.get("shown")))
    if not match:
        return None
    text = _NAMES.sub(lambda name: f'"{name[1]}"' if name[1] else name[0], match[2])
    text = WRITTEN_OUT.sub(lambda sign: json.dumps(chr(int(sign[1], 16)))[1:-1] * int(sign[2] or 1), text)
    try:
        params = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError, UnicodeError):
        params = _unpaired(text)
    call = _call({**event, "tool": match[1]}, params, "", "")
    return KeptCall(call, params is not None and _is_whole(text))


def _unpaired(text: str) -> Any:
    """JSON with an unpaired surrogate, as Python reads it; None if the call was cut."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _call(value: dict[str, Any], params: Any, cwd: str, agent: str) -> Call:
    who, where = _text(value.get("agent")) or agent, _text(value.get("session"))
    return inner_call(Call(value["tool"], params, agent=who, session=where, cwd=cwd))


def decoded_text(params: Any) -> Any:
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
    """The files, with each folder replaced by its transcripts. Raises `UserError`."""
    files: list[Path] = []
    for path in paths:
        inside = within(path) if path.is_dir() else [path]
        if not inside:
            raise UserError(f"there are no transcripts below {path}", "name the file itself")
        files += inside
    return list(dict.fromkeys(files))


def within(folder: Path) -> list[Path]:
    """All transcripts below a folder, for example a gateway's state directory, and all JSON lines files in it."""
    known = folder.name == "sessions"
    lines = (path for path in folder.rglob("*.jsonl") if known or path.parent == folder or path.parent.name == "sessions")
    files = [path for path in (*lines, *folder.rglob(DATABASE)) if path.is_file() and not path.name.endswith(TRACE)]
    return sorted(files)
