"""The audit log: what was held, approved, denied, used, expired, blocked and granted, by whom, where and why.

One JSON object a line, `<state dir>/toolguard/audit.jsonl`. Invariants: a line's `prev` is the `hash` of the line before it,
its `hash` is the SHA-256 of the line without that member, its `seq` is one more than the one before. `audit.head` names the
last line, signed with our key, so that truncation is detected, and is as durable as the line; later lines continue from
there, so that the gap stays visible. Half a line, left by a killed process, stays too; the next line records it
(`event: "recovered"`) with its hash. A full log becomes `audit.<first seq>.jsonl`; of these the newest `KEPT` are kept.
A line (`event: "segment-removed"`) names the removed ones and the last hash of each, so that the chain can begin there.
Characters that could manipulate a terminal are written as JSON escapes.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import stat
from collections.abc import Collection, Iterable, Iterator
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.stores import atomic as files
from toolguard_engine.stores import disk, signing_key
from toolguard_engine.stores.audit_log import LOST, REMOVED, TORN, UNSIGNED, AuditEvent, Verification, when
from toolguard_engine.stores.files import signing_key_file
from toolguard_engine.stores.locked import Busy, StoreError, clear_leftovers, lock, lock_file
from toolguard_engine.stores.state_files import AUDIT_HEAD as HEAD
from toolguard_engine.stores.state_files import AUDIT_LOG as NAME
from toolguard_engine.wording.visible_text import replaced

MAX_BYTES = 32 * 1024 * 1024
KEPT = 10
MAX_HEAD_BYTES = 4 * 1024
HEAD_BYTES = 256
"""The head is JSON, filled up with blanks to this length. So it can be overwritten in place, with one sync instead of three,
and lies within one sector of the disk."""
TAIL = 64 * 1024
FIRST = "0" * 64
NOT_LINKED = "it does not follow the previous line: lines were removed, added or moved"
_HASH = lazy_re.compile(rb',"hash":"([0-9a-f]{64})"\}\Z')
_ID = lazy_re.compile(rb'"id":"([^"\\]{1,100})"')
_TIME = lazy_re.compile(rb'"time":"([^"\\]{1,40})"')
_REMOVED = lazy_re.compile(r"up to line (\d+), ([0-9a-f]{64})\Z")
_ROTATED = lazy_re.compile(r"audit\.(\d+)\.jsonl\Z")


class _Head(msgspec.Struct, frozen=True):
    seq: int
    hash: str
    mac: str


class _End(msgspec.Struct, frozen=True):
    """The end of a log: number and hash of its last whole line, and the bytes after it."""

    seq: int = 0
    hash: str = FIRST
    torn: bytes = b""


class AuditLog:
    """The log of one state directory. All processes of the machine append to it."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self.path = files.own_folder(state_dir) / NAME
        self._head = files.own_folder(state_dir) / HEAD
        self._named = 0
        """The inode of the part whose name is known to be on the disk."""

    def append(self, events: Iterable[AuditEvent], *, patient: bool = True) -> None:
        """Adds the events, except those that are near the end already. Raises `StoreError`.

        Without `patient` it raises `Busy` at once if another process writes.
        """
        wanted = list(events)
        try:
            if not wanted and not files.is_there(self.path):
                return
            with lock(self.path, patient=patient):
                self._append(wanted)
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror or error}") from error

    def _append(self, events: list[AuditEvent]) -> None:
        handle = disk.open_file(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NONBLOCK)
        try:
            if not stat.S_ISREG(disk.status(handle).st_mode):
                raise StoreError(f"{self.path} is not a file; run `toolguard doctor --fix`")
            files.belong_to_folder(self.path)
            tail, end = _read_end(handle)
            glue = b"\n" if tail and not tail.endswith(b"\n") else b""
            surplus: list[Path] = []
            if not end.seq and (rotated := self._rotated()):
                tail, end = _rotated_end(rotated[-1], end.torn)
                surplus = rotated[:-KEPT]
                events = [*map(_removal, surplus), *events]
            near = self._part_before(tail) + tail + glue
            lines = self._new_lines(end, [event for event in events if not _has(near, event.id)])
            if not lines and not glue:
                if end.seq == 1 and not files.is_there(self._head):  # whoever wrote the first line was killed
                    self._remember(tail)
                return
            is_new = not disk.status(handle).st_size
            if is_new and not end.seq and not files.is_there(self._head):
                self._sign_head(0, FIRST)  # so that no power failure leaves a line without one
            files.write_all(handle, glue + b"".join(lines))
            disk.sync_content(handle)
            inode = disk.status(handle).st_ino
            if is_new or (inode != self._named and _follows_a_part(tail)):  # whoever made it may have been killed
                files.sync_folder(self.path)  # its name, and that of the part before it
            self._named = inode
            full = disk.status(handle).st_size > MAX_BYTES
        finally:
            disk.close(handle)
        if lines:
            self._remember(lines[-1])
        for path in surplus:
            with suppress(OSError):  # it is tried again after the next rotation
                disk.remove(path)
        if full:
            self._rotate()

    def _part_before(self, tail: bytes) -> bytes:
        """The end of the part before a short one. Of two processes that add the same line, the first may have filled a part
        with it."""
        if not _follows_a_part(tail) or not (rotated := self._rotated()):
            return b""
        with files.handle_of(rotated[-1]) as handle:
            return _tail(handle, TAIL)

    def _new_lines(self, end: _End, events: list[AuditEvent]) -> list[bytes]:
        head = self._known_head()
        seq, prev = self._go_on_from(end, head)
        if head is None and (end.seq > 1 or (events and files.is_there(self._head))):
            events = [
                AuditEvent(secrets.token_hex(8), when(_now()), LOST, reason=f"{HEAD} was missing or not ours"),
                *events,
            ]
        if end.torn:
            torn = _torn_hash(end.torn)
            events = [
                AuditEvent(f"recovered-{torn[:16]}", when(_now()), "recovered", reason=f"half a line: {torn}"),
                *events,
            ]
        lines = []
        for event in {event.id: event for event in events}.values():
            seq += 1
            line, prev = chained(event, seq, prev)
            lines.append(line)
        return lines

    def _go_on_from(self, end: _End, head: _Head | None) -> tuple[int, str]:
        """The line that the next one follows: the last one, unless the head names one that is missing now."""
        if head is None or not head.seq or (head.seq, head.hash) == (end.seq, end.hash):
            return end.seq, end.hash
        mark = f',"hash":"{head.hash}"}}\n'.encode()
        if head.seq < end.seq and any(mark in _content(path) for path in reversed(self.files())):
            return end.seq, end.hash
        return head.seq, head.hash

    def _known_head(self) -> _Head | None:
        """The head, if it exists and is signed with our key."""
        try:
            head = msgspec.json.decode(files.read_bounded(self._head, MAX_HEAD_BYTES), type=_Head)
        except (FileNotFoundError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        if not files.is_there(signing_key_file.path(self._state_dir)):
            return None
        return (
            head
            if signing_key.fits(signing_key_file.known(self._state_dir), _signed(head.seq, head.hash), head.mac)
            else None
        )

    def known(self, ids: Collection[str]) -> set[str]:
        """Those of these ids that the log has. Reads the end first, then older parts until all are found."""
        left = set(ids)
        with suppress(FileNotFoundError), files.handle_of(self.path) as handle:
            tail = _tail(handle, TAIL)
            left = {name for name in left if not _has(tail, name)}
        for path in reversed(self.files()) if left else []:
            with suppress(FileNotFoundError):  # removed just now
                data = _content(path)
                left = {name for name in left if not _has(data, name)}
            if not left:
                break
        return set(ids) - left

    def close_torn_line(self) -> None:
        """Closes half a line that a killed process left. Raises `StoreError`."""
        self.append([])

    def files(self) -> list[Path]:
        """All parts of the log, the oldest first."""
        return [*self._rotated(), *([self.path] if files.is_file(self.path) else [])]

    def odd(self) -> list[Path]:
        """What is in the place of the log or its head and is not a file."""
        return [path for path in (self.path, self._head) if files.is_there(path) and not files.is_file(path)]

    def lines(self) -> Iterator[tuple[Path, int, bytes]]:
        """Every line with its file and number."""
        for path in self.files():
            with suppress(FileNotFoundError), files.opened(path) as file:  # removed just now
                for number, line in enumerate(file, 1):
                    yield path, number, line

    def events(self) -> Iterator[dict[str, Any]]:
        """Every line that can be decoded."""
        for _, _, line in self.lines():
            try:
                value = msgspec.json.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
                continue
            if isinstance(value, dict):
                yield value

    def ids_since(self, since: float) -> set[str]:
        """The ids of all events since then (seconds since 1970), and of some before; empty if the log cannot be read."""
        try:
            return {name.decode() for data in self._back_to(when(since).encode()) for name in _ID.findall(data)}
        except OSError:
            return set()

    def _back_to(self, time: bytes) -> Iterator[bytes]:
        """Enough of the end of the log to reach back to `time`, the newest part first."""
        for path in reversed(self.files()):
            data, length = b"", TAIL
            with files.handle_of(path) as handle:
                size = disk.status(handle).st_size
                while not (reached := _began(data) < time) and len(data) < size:
                    data = _tail(handle, length)
                    length *= 8
            yield data
            if reached:
                return

    def verify(self) -> Verification:
        """Follows the chain. Changes nothing. Raises `StoreError` without a key for the head, and for what is not a file."""
        try:
            if odd := self.odd():
                raise StoreError(f"{odd[0]} is not a file")
            verification = self._verify()
            if verification.error and files.is_there(lock_file(self.path)):
                # Of what another process is writing, a part may be seen, also while nothing goes on: it waits for the disk.
                verification = self._verify_alone() or verification
        except OSError as error:
            raise StoreError(f"{error.filename or self.path}: {error.strerror or error}") from error
        return verification

    def _verify_alone(self) -> Verification | None:
        """The same while nobody writes; None where it cannot be locked. What a second look says while another process keeps
        writing."""
        try:
            with lock(self.path):
                return self._verify()
        except Busy:
            return self._verify()
        except StoreError:
            return None

    def _verify(self) -> Verification:
        head = files.read_bounded(self._head, MAX_HEAD_BYTES) if files.is_there(self._head) else None
        chain = _Chain()
        torn_at = last = ("", 0)
        for path, number, line in self.lines():
            last = (path.name, number)
            error = chain.follow(line)
            if error:
                at = torn_at if chain.torn else last
                return Verification(chain.lines, error, *at, chain.recovered)
            torn_at = torn_at if chain.torn and chain.torn != line else last
        if chain.start not in chain.starts:
            return Verification(0, NOT_LINKED, self.files()[0].name, 1)
        error = self._check_head(chain, head)
        if chain.torn:
            return Verification(chain.lines, error or TORN, *torn_at, chain.recovered, chain.gaps)
        return Verification(chain.lines, error, recovered=chain.recovered, gaps=chain.gaps)

    def _check_head(self, chain: _Chain, data: bytes | None) -> str:
        if data is None:
            return f"{HEAD} is missing: it is unknown whether the end was cut off" if chain.lines else ""
        try:
            head = msgspec.json.decode(data, type=_Head)
        except (msgspec.DecodeError, UnicodeDecodeError):
            return f"{HEAD} cannot be read"
        if not signing_key.fits(signing_key_file.known(self._state_dir), _signed(head.seq, head.hash), head.mac):
            return UNSIGNED
        if chain.seq < head.seq:
            return f"the end is missing: there were {head.seq} lines, and {chain.seq} are left"
        if chain.hashes.get(head.seq, head.hash) != head.hash:
            return f"line {head.seq} is not the one that was written"
        return ""

    def _remember(self, line: bytes) -> None:
        end = _end(line)
        self._sign_head(end.seq, end.hash)

    def _sign_head(self, seq: int, own: str) -> None:
        mac = signing_key.sign(signing_key_file.load(self._state_dir), _signed(seq, own))
        data = msgspec.json.encode(_Head(seq, own, mac)).ljust(HEAD_BYTES - 1) + b"\n"
        if not files.overwrite(self._head, data):
            clear_leftovers(self._head)
            files.replace(self._head, data)

    def _rotated(self) -> list[Path]:
        return [path for _, path in self._numbered() if files.is_file(path)]

    def _numbered(self) -> list[tuple[int, Path]]:
        parts = files.listed(self.path.parent, "audit.", ".jsonl")
        return sorted((int(match[1]), path) for path in parts if (match := _ROTATED.match(path.name)))

    def _rotate(self) -> None:
        with files.opened(self.path) as file:
            parsed = _parsed(file.readline())
        free = max((number + 1 for number, _ in self._numbered()), default=1)
        first = max(parsed["seq"] if parsed else 1, free)
        disk.rename(self.path, self.path.with_name(f"audit.{first}.jsonl"))


class _Chain:
    """Follows the lines one by one; keeps the last hashes to compare the head with."""

    def __init__(self) -> None:
        self.lines = 0
        self.seq = 0
        self.prev = ""
        self.torn = b""
        """Broken lines, until a line records them as left by a killed process."""
        self.recovered = 0
        self.gaps = 0
        self.hashes: dict[int, str] = {}
        self.start = (0, FIRST)
        """Number and hash of the line before the first one."""
        self.starts = {self.start}
        """Where the chain may begin."""

    def follow(self, line: bytes) -> str:
        """Takes the next line; returns its error, or an empty text."""
        body = line.removesuffix(b"\n")
        match, parsed = _HASH.search(body), _parsed(body)
        if not match or parsed is None or line == body:
            self.torn += line
            return ""
        if self.torn:
            if parsed.get("event") != "recovered" or parsed.get("reason") != f"half a line: {_torn_hash(self.torn)}":
                return "it is broken"
            self.torn = b""
            self.recovered += 1
        return self._link(body, match, parsed)

    def _link(self, body: bytes, match: re.Match[bytes], parsed: dict[str, Any]) -> str:
        own = match[1].decode()
        if not _fits(body, match):
            return "its content does not match its hash"
        if not self.lines:
            self.start = self.seq, self.prev = parsed["seq"] - 1, str(parsed.get("prev"))
        if parsed.get("prev") != self.prev or parsed["seq"] != self.seq + 1:
            return NOT_LINKED
        self.seq, self.prev = int(parsed["seq"]), own
        self.lines += 1
        self.gaps += parsed.get("event") == LOST
        if parsed.get("event") == REMOVED and (named := _REMOVED.search(str(parsed.get("reason")))):
            self.starts.add((int(named[1]), named[2]))
        self.hashes[self.seq] = own
        self.hashes.pop(self.seq - 1_000, None)
        return ""


def chained(event: AuditEvent, seq: int, prev: str) -> tuple[bytes, str]:
    """The line for this event, and its hash."""
    body = _encoded({"seq": seq, "prev": prev, **msgspec.to_builtins(event)})
    own = sha256(body).hexdigest()
    return body[:-1] + b',"hash":"' + own.encode() + b'"}\n', own


def _encoded(value: Any) -> bytes:
    """JSON with everything escaped that is not plainly printable."""
    try:
        data = msgspec.json.encode(value)
    except UnicodeEncodeError:  # half a surrogate pair, from an argument that is not UTF-8
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        data = text.encode(errors="replace")
    return data if data.isascii() and b"\x7f" not in data else replaced(data.decode(), _escape).encode()


def _escape(sign: str, count: int) -> str:
    return count * (json.dumps(sign)[1:-1] if sign != "\x7f" else "\\u007f")


def _content(path: Path) -> bytes:
    with files.opened(path) as file:
        return file.read()


def _began(data: bytes) -> bytes:
    """The time of the first whole line in `data`; later than any if there is none."""
    match = _TIME.search(data, data.find(b"\n") + 1)
    return match[1] if match else b"~"


def _tail(handle: int, length: int) -> bytes:
    size = disk.status(handle).st_size
    return disk.read_at(handle, length, max(0, size - length))


def _follows_a_part(tail: bytes) -> bool:
    """Whether what ends so is short, and not the first part."""
    return len(tail) < TAIL and not tail.startswith(b'{"seq":1,')


def _read_end(handle: int) -> tuple[bytes, _End]:
    """The end of a log; all of it if the usual part holds no whole line."""
    size = disk.status(handle).st_size
    tail = _tail(handle, TAIL)
    end = _end(tail)
    if end.seq or size <= TAIL:
        return tail, end
    tail = _tail(handle, size)
    return tail, _end(tail)


def _rotated_end(path: Path, torn: bytes) -> tuple[bytes, _End]:
    """The end of the previous part, if the new one has no whole line yet; `torn` is what it has."""
    with files.handle_of(path) as handle:
        tail, end = _read_end(handle)
    return tail, _End(end.seq, end.hash, end.torn + torn)


def _end(tail: bytes) -> _End:
    stop = len(tail)
    while stop:
        start = tail.rfind(b"\n", 0, stop - 1) + 1
        body = tail[start:stop].removesuffix(b"\n")
        match, parsed = _HASH.search(body), _parsed(body)
        if match and parsed and _fits(body, match):
            return _End(parsed["seq"], match[1].decode(), tail[stop:])
        stop = start
    return _End(torn=tail)


def _fits(body: bytes, match: re.Match[bytes]) -> bool:
    return sha256(body[: match.start()] + b"}").hexdigest() == match[1].decode()


def _removal(path: Path) -> AuditEvent:
    _, end = _rotated_end(path, b"")
    reason = f"{path.name}, up to line {end.seq}, {end.hash}"
    return AuditEvent(f"removed-{end.hash[:16]}", when(_now()), REMOVED, reason=reason)


def _torn_hash(torn: bytes) -> str:
    return sha256(torn.removesuffix(b"\n")).hexdigest()


def _parsed(line: bytes) -> dict[str, Any] | None:
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return value if isinstance(value, dict) and isinstance(value.get("seq"), int) else None


def _has(data: bytes, name: str) -> bool:
    """Whether a whole line of `data` is the event of this name; half a line does not count."""
    mark = b'"id":' + _encoded(name)
    mark_at = data.find(mark)
    while mark_at >= 0:
        end = data.find(b"\n", mark_at)
        if end >= 0 and _HASH.search(data[mark_at:end]):
            return True
        mark_at = data.find(mark, mark_at + 1)
    return False


def _signed(seq: int, own: str) -> bytes:
    return f"audit:{seq}:{own}".encode()


def _now() -> float:
    return datetime.now(UTC).timestamp()
