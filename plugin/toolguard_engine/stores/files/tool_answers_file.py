"""What people have said about tools: `<state dir>/toolguard/tool-answers.json`.

Invariant: an answer counts only with a `mac` under our key over all its fields. A file that is damaged, that a newer
version wrote, or that was signed with another key than the one that is here is neither read nor written, since what it
refuses is not known. An answer with members that this version does not know stays as it is when the file is written; it
counts only if it refuses. Without a file, nobody was asked.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine.approvals import tool_answer
from toolguard_engine.approvals.tool_answer import ToolAnswer
from toolguard_engine.stores import atomic, signing_key
from toolguard_engine.stores.files import signing_key_file
from toolguard_engine.stores.locked import Damaged, Newer, clear_leftovers, lock, unusable
from toolguard_engine.stores.state_files import TOOL_ANSWERS as NAME
from toolguard_engine.stores.toml_file import Stamp, stamp_of

VERSION = 1
MAX_KEPT = 4_000
MAX_BYTES = 8 * 1024 * 1024
PURPOSE = b"tool answer "
FIX = "move the answers away, and refuse again what is to be refused; all other tools are then asked about again"
Log = Callable[[ToolAnswer], None]


class _Version(msgspec.Struct):
    v: int = VERSION


class _Stored(msgspec.Struct):
    v: int = VERSION
    answers: list[msgspec.Raw] = msgspec.field(default_factory=list)


class ToolAnswerFile:
    """Those of one state directory. The file is read again when it or the key has changed."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self._state_dir = state_dir
        self._key_path = signing_key_file.path(state_dir)
        self._stamps: tuple[Stamp | None, ...] | None = None
        self._known: tuple[ToolAnswer, ...] = ()

    def exists(self) -> bool:
        """Whether anybody has been asked."""
        return stamp_of(self.path) is not None

    def known(self) -> tuple[ToolAnswer, ...]:
        """Those that are signed, in the order in which they were given; the same tuple while nothing changes. Raises
        `StoreError`."""
        stamp = stamp_of(self.path)
        if stamp is None:
            return ()
        stamps = (stamp, stamp_of(self._key_path))
        if stamps != self._stamps:
            self._known, self._stamps = tuple(self._read()), stamps
        return self._known

    def put(self, answer: ToolAnswer, log: Log) -> ToolAnswer:
        """Signs and stores an answer in place of an earlier one about the same; returns it with its id. Calls `log` before
        the change is stored. Of more than `MAX_KEPT` the oldest end. Raises `StoreError`."""
        return self._put([answer], log)[0]

    def add(self, make: Callable[[tuple[ToolAnswer, ...]], ToolAnswer | None], log: Log) -> ToolAnswer | None:
        """Does the same with what `make` makes of those that are known then, while nobody else changes them. Nothing is
        stored where that is None. Raises `StoreError`."""
        own = signing_key_file.load(self._state_dir)
        with lock(self.path):
            made = make(tuple(self._read()))
            return self._store([made], log, own)[0] if made else None

    def begin(self, answers: Iterable[ToolAnswer], log: Log) -> list[ToolAnswer]:
        """Stores these where there is no file yet; nothing happens where there is one. Raises `StoreError`."""
        return self._put(list(answers), log, only_new=True)

    def remove(self, means: Callable[[ToolAnswer], bool], log: Log) -> list[ToolAnswer]:
        """Takes answers back; returns them. Raises `StoreError`. `log`: as for `put`."""
        if not self.exists():
            return []
        with lock(self.path):
            entries = self._entries()
            gone = [answer for _, answer in entries if answer and means(answer)]
            for each in gone:
                log(each)
            if gone:
                self._write([raw for raw, answer in entries if not (answer and means(answer))])
        return gone

    def _put(self, answers: list[ToolAnswer], log: Log, *, only_new: bool = False) -> list[ToolAnswer]:
        own = signing_key_file.load(self._state_dir)
        with lock(self.path):
            return [] if only_new and self.exists() else self._store(answers, log, own)

    def _store(self, answers: list[ToolAnswer], log: Log, own: bytes) -> list[ToolAnswer]:
        """Call it under the lock."""
        subjects = {tool_answer.subject(answer) for answer in answers}
        kept = [raw for raw, answer in self._entries() if not answer or tool_answer.subject(answer) not in subjects]
        signed = [_signed(answer, own) for answer in answers]
        for each in signed:
            log(each)
        self._write([*kept, *(msgspec.Raw(msgspec.json.encode(answer)) for answer in signed)][-MAX_KEPT:])
        return signed

    def _read(self) -> list[ToolAnswer]:
        return [answer for _, answer in self._entries() if answer]

    def _entries(self) -> list[tuple[msgspec.Raw, ToolAnswer | None]]:
        """Each entry as it is stored, with the answer that it is."""
        stored = self._stored()
        if stored is None or not stored.answers:
            return []
        if stamp_of(self._key_path) is None:
            raise Damaged(f"{self._key_path}, which signed {self.path}, is missing; put it back, or {FIX}")
        own = signing_key_file.known(self._state_dir)
        entries = [(raw, _decoded(raw), _members(raw)) for raw in stored.answers]
        if not all(_is_ours(own, answer, members) for _, answer, members in entries):
            raise Damaged(f"{self.path} has answers that are not signed with {self._key_path}; put its key back, or {FIX}")
        return [(raw, answer) for raw, answer, _ in entries]

    def _stored(self) -> _Stored | None:
        """None where there is no file. Raises `StoreError`."""
        try:
            data = atomic.read_bounded(self.path, MAX_BYTES)
            if msgspec.json.decode(data, type=_Version).v > VERSION:
                raise Newer(self.path)
            return msgspec.json.decode(data, type=_Stored)
        except FileNotFoundError:
            return None
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, atomic.Unfit) as error:
            raise Damaged(f"{self.path} is damaged; {FIX}") from error
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error

    def _write(self, answers: list[msgspec.Raw]) -> None:
        try:
            clear_leftovers(self.path)
            atomic.replace(self.path, msgspec.json.encode(_Stored(answers=answers)))
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error


def _signed(answer: ToolAnswer, own: bytes) -> ToolAnswer:
    named = msgspec.structs.replace(answer, id=answer.id or f"t-{secrets.token_hex(3)}", mac="")
    return msgspec.structs.replace(named, mac=signing_key.sign(own, _proof(named)))


def _members(raw: msgspec.Raw) -> dict[str, Any]:
    try:
        return msgspec.json.decode(raw, type=dict[str, Any])
    except (msgspec.DecodeError, RecursionError):
        return {}


def _decoded(raw: msgspec.Raw) -> ToolAnswer | None:
    """None for one that is not known to be an answer, and for trust that may be limited by what is not known of it."""
    members = _members(raw)
    known = {name: value for name, value in members.items() if name in ToolAnswer.__struct_fields__}
    try:
        answer = msgspec.convert(known, type=ToolAnswer)
    except (msgspec.ValidationError, RecursionError):
        return None
    return answer if len(known) == len(members) or answer.answer == "refuse" else None


def _is_ours(own: bytes, answer: ToolAnswer | None, members: dict[str, Any]) -> bool:
    """Whether all members are signed, also those that this version does not know."""
    mac = str(members.get("mac", ""))
    if answer and members.keys() <= set(ToolAnswer.__struct_fields__):
        return signing_key.fits(own, _proof(answer), mac)
    return signing_key.fits(own, PURPOSE + msgspec.json.encode({**members, "mac": ""}, order="sorted"), mac)


def _proof(answer: ToolAnswer) -> bytes:
    """The signed bytes: every field but `mac`, sorted by name."""
    return PURPOSE + msgspec.json.encode(msgspec.structs.replace(answer, mac=""), order="sorted")
