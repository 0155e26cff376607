"""Where the rehearsals of a gateway keep what they have to remember, in toolguard's own folder.

`settings.json`: how the changes are judged. `KEY/plan.json`: how the command with this key is run. `KEY/held/`: the changes
of its last run that wait for a person, with `held.json`; a run that is not at its end works in `KEY/new-PID`.
"""

from __future__ import annotations

import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine.model.call import Host
from toolguard_engine.stores import atomic

FOLDER = "rehearsals"
SETTINGS = "settings.json"
PLAN = "plan.json"
HELD = "held"
RECORD = "held.json"
MAX_FILE = 8_000_000
MAX_KEYS, MAX_HELD = 200, 20
REHEARSE, COMMIT, RUN = "rehearse", "commit", "run"
"""What the name of a room says that the program in front of the command does: run it on a copy; make the changes of the last
run; run it as any command."""


class RehearsalSettings(msgspec.Struct, frozen=True):
    """`config`: the plugin's entry in the gateway's config."""

    config: Any
    host: Host


class RehearsalPlan(msgspec.Struct, frozen=True):
    """`folders`: what the command may change; `private`, `rules`, `watched`: see `RehearsalRoom`.
    `workspace`: of the agent; `revealed`: what it can write to on the copy only: a person sees what it writes."""

    agent: str
    folders: list[str]
    private: list[str]
    rules: list[tuple[str, str]]
    watched: list[str]
    revealed: list[str] = []
    workspace: str = ""


class HeldRehearsal(msgspec.Struct, frozen=True):
    """`is_whole`: its changes can be made; else it has to run again, as it looked for something that it did not find there.
    `salt`: tells it from another run with the same effects; `code`: as the command ended; `done`: the
    effects on files, by kind and path."""

    effects: list[str]
    is_whole: bool
    salt: str
    code: int = 0
    done: list[tuple[str, str]] = []


PLANS, RECORDS = msgspec.json.Decoder(RehearsalPlan), msgspec.json.Decoder(HeldRehearsal)
"""Made when the module is loaded: a type must be read before there is a second thread (`stores.decode_first`)."""


def serial(record: Path) -> str:
    """Names what is held. Raises `OSError`."""
    return sha256(atomic.read_bounded(record, MAX_FILE)).hexdigest()[:12]


def write(path: Path, value: Any) -> None:
    """Raises `OSError`."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    data = msgspec.json.encode(value)
    try:
        if atomic.read_bounded(path, len(data)) == data:
            return
    except OSError:
        pass
    atomic.replace(path, data, durable=False)


def sweep_held(folder: Path) -> None:
    """Forgets the oldest of too many changes that wait: each may be large."""
    held = sorted(folder.glob(f"*/{HELD}/{RECORD}"), key=lambda path: path.stat().st_mtime)
    for old in held[:-MAX_HELD]:
        shutil.rmtree(old.parent, ignore_errors=True)


def sweep(folder: Path) -> None:
    """Forgets the oldest of too many commands."""
    keys = [path for path in folder.iterdir() if (path / PLAN).exists()]
    for old in sorted(keys, key=lambda path: path.stat().st_mtime)[:-MAX_KEYS]:
        shutil.rmtree(old, ignore_errors=True)
