"""The memory of the files that agents made, and of programs that may run files later, for the next engine.

Losing it makes the guard ask less about old files; it never lets a held call through.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from toolguard_engine.model.file_record import FileRecord
from toolguard_engine.model.living_programs import LivingProgram
from toolguard_engine.stores import atomic
from toolguard_engine.stores.locked import Damaged, Newer, unusable
from toolguard_engine.stores.state_files import MADE_FILES as NAME

VERSION = 1
MAX_BYTES = 16 * 1024 * 1024


class _Stored(msgspec.Struct, omit_defaults=True):
    v: int = VERSION
    records: dict[str, FileRecord] = {}
    programs: list[LivingProgram] = []


class FileMemoryFile:
    """One file, replaced as a whole. Raises `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME

    def load(self) -> tuple[dict[str, FileRecord], list[LivingProgram]]:
        try:
            stored = msgspec.json.decode(atomic.read_bounded(self.path, MAX_BYTES), type=_Stored)
        except FileNotFoundError:
            return {}, []
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            raise Damaged(f"{self.path} is damaged; it is replaced with the next change") from error
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error
        if stored.v > VERSION:
            raise Newer(self.path)
        return stored.records, stored.programs

    def save(self, records: dict[str, FileRecord], programs: list[LivingProgram]) -> None:
        try:
            atomic.make_folder(self.path.parent)
            atomic.replace(self.path, msgspec.json.encode(_Stored(records=records, programs=programs)), durable=False)
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error
