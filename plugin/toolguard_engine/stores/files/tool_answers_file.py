"""What people have said about tools: `<state dir>/toolguard/tool-answers.json`.

Invariant: an answer counts only with a `mac` under our key over all its fields. A file that cannot be read has no answers,
so its tools are asked about again, and what it refused is asked about as well. While there is none, nobody has been asked.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from pathlib import Path

import msgspec

from toolguard_engine.approvals import tool_answer
from toolguard_engine.approvals.tool_answer import ToolAnswer
from toolguard_engine.stores import atomic, signing_key
from toolguard_engine.stores.files import signing_key_file
from toolguard_engine.stores.locked import clear_leftovers, lock, unusable
from toolguard_engine.stores.state_files import TOOL_ANSWERS as NAME
from toolguard_engine.stores.toml_file import Stamp, stamp_of

VERSION = 1
MAX_KEPT = 4_000
MAX_BYTES = 8 * 1024 * 1024
PURPOSE = b"tool answer "
Log = Callable[[ToolAnswer], None]


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

    def begin(self, answers: Iterable[ToolAnswer], log: Log) -> list[ToolAnswer]:
        """Stores these where there is no file yet; nothing happens where there is one. Raises `StoreError`."""
        return self._put(list(answers), log, only_new=True)

    def remove(self, means: Callable[[ToolAnswer], bool], log: Log) -> list[ToolAnswer]:
        """Takes answers back; returns them. Raises `StoreError`. `log`: as for `put`."""
        if not self.exists():
            return []
        with lock(self.path):
            known = self._read()
            gone = [answer for answer in known if means(answer)]
            for each in gone:
                log(each)
            if gone:
                self._write([answer for answer in known if not means(answer)])
        return gone

    def _put(self, answers: list[ToolAnswer], log: Log, *, only_new: bool = False) -> list[ToolAnswer]:
        own = signing_key_file.load(self._state_dir)
        with lock(self.path):
            if only_new and self.exists():
                return []
            subjects = {tool_answer.subject(answer) for answer in answers}
            kept = [answer for answer in self._read() if tool_answer.subject(answer) not in subjects]
            signed = [_signed(answer, own) for answer in answers]
            for each in signed:
                log(each)
            self._write([*kept, *signed][-MAX_KEPT:])
        return signed

    def _read(self) -> list[ToolAnswer]:
        try:
            stored = msgspec.json.decode(atomic.read_bounded(self.path, MAX_BYTES), type=_Stored)
        except FileNotFoundError:
            return []
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, atomic.Unfit):
            return []
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error
        if stored.v > VERSION or stamp_of(self._key_path) is None:
            return []
        own = signing_key_file.load(self._state_dir)
        answers = [answer for raw in stored.answers if (answer := _decoded(raw)) is not None]
        return [answer for answer in answers if signing_key.fits(own, _proof(answer), answer.mac)]

    def _write(self, answers: list[ToolAnswer]) -> None:
        stored = _Stored(answers=[msgspec.Raw(msgspec.json.encode(answer)) for answer in answers])
        try:
            clear_leftovers(self.path)
            atomic.replace(self.path, msgspec.json.encode(stored))
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error


def _signed(answer: ToolAnswer, own: bytes) -> ToolAnswer:
    named = msgspec.structs.replace(answer, id=answer.id or f"t-{secrets.token_hex(3)}", mac="")
    return msgspec.structs.replace(named, mac=signing_key.sign(own, _proof(named)))


def _decoded(raw: msgspec.Raw) -> ToolAnswer | None:
    try:
        return msgspec.json.decode(raw, type=ToolAnswer)
    except (msgspec.DecodeError, RecursionError):
        return None


def _proof(answer: ToolAnswer) -> bytes:
    """The signed bytes: every field but `mac`, sorted by name."""
    return PURPOSE + msgspec.json.encode(msgspec.structs.replace(answer, mac=""), order="sorted")
