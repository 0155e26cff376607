"""The record of what `install` changed, in `<state dir>/toolguard/install.json` until `uninstall` undoes it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import msgspec

from toolguard_cli.setup.plugin_entry import Edit
from toolguard_cli.system.errors import UserError
from toolguard_engine.stores import atomic

MAX_BYTES = 16 * 1024 * 1024


class Record(msgspec.Struct, frozen=True, rename="camel", omit_defaults=True):
    """`before`: the digest of the config before all edits so far, empty if there was no file. `others`: the same for edited
    included files, by path.

    The record is written before the edits are made, so that they can be undone after an interruption.
    """

    version: str
    python: str
    mode: Literal["copy", "link"]
    plugin: str
    config: str
    before: str
    edits: list[Edit]
    others: dict[str, str] = {}


def load(path: Path) -> Record | None:
    """The record, or None if nothing is installed. Raises `UserError` if it is damaged."""
    try:
        return msgspec.json.decode(atomic.read_bounded(path, MAX_BYTES), type=Record)
    except FileNotFoundError:
        return None
    except (OSError, msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"{path} cannot be read: {error}", "move it away, then run `toolguard install` again") from error


def save(path: Path, record: Record) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    atomic.replace(path, msgspec.json.format(msgspec.json.encode(record)) + b"\n")
