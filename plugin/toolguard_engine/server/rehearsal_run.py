"""Stands in front of a command that is rehearsed: `FOLDER KEEPER NAME SHELL [ARGUMENT]...`, by the name of its room.

Runs the command on a copy of the files, and then makes its changes, or keeps them for a person. Or makes the changes that a
person has approved. It runs outside of the room, and takes nothing from the environment of the command.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from toolguard_engine.containment.rehearsed_changes import RehearsedChange
from toolguard_engine.server import mounted_folders, overlay_changes, rehearsal_commit, rehearsal_files, rehearsal_room
from toolguard_engine.server.overlay_changes import TooMuchError
from toolguard_engine.server.rehearsal_commit import IncompleteError, StaleError
from toolguard_engine.server.rehearsal_files import HELD, PLAN, RECORD, SETTINGS, HeldRehearsal, RehearsalPlan
from toolguard_engine.server.rehearsal_room import Ended, RehearsalError, RehearsalRoom
from toolguard_engine.stores import atomic
from toolguard_engine.wording import rehearsal_texts

if TYPE_CHECKING:
    from toolguard_engine.server.rehearsal_judge import JudgedRehearsal

ENTER = Path(__file__).with_name("enter")
MAX_DONE = 100
NOT_DONE = 125
"""The exit code of a command whose changes were not made."""

NETWORK = "looks for the network or a server, which it has not got there, so what else it would do is not known"
LEFT = "starts a program that goes on, so what else it would do is not known"


def main() -> None:
    folder, keeper, name, *argv = sys.argv[1:]
    kind, key, *serial = name.rpartition("+")[2].split(":")
    at = Path(folder)
    try:
        if kind == rehearsal_files.COMMIT:
            code = committed(at, at / key, *serial)
        elif kind == rehearsal_files.RUN:
            shutil.rmtree(at / key / HELD, ignore_errors=True)
            code = plainly(at, keeper, argv)
        else:
            code = rehearsal(at, at / key, argv)
    except Exception as error:  # noqa: BLE001 - whatever it is: what is not judged is not done
        code = failed(rehearsal_texts.not_done(str(error)))
    end(code)


def end(code: int) -> None:
    """Ends as the command ended."""
    sys.stdout.flush()
    if code < 0:
        signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    sys.exit(code if code >= 0 else 128 - code)


def failed(text: str) -> int:
    sys.stderr.write(f"{text}\n")
    return NOT_DONE


def plainly(folder: Path, keeper: str, argv: list[str]) -> int:
    """Enters the room. The number of a keeper that has ended may be another's by now: in a room, the folder is hidden."""
    if not os.path.lexists(f"/proc/{keeper}/root{os.path.realpath(folder)}"):
        os.execve("/bin/sh", ["/bin/sh", str(ENTER), keeper, *argv], rehearsal_room.given_environment())
    return failed(rehearsal_texts.NO_ROOM)


def committed(folder: Path, own: Path, serial: str) -> int:
    """Makes the changes that wait. Once only: they are gone then."""
    with rehearsal_commit.locked(folder):
        held = own / HELD
        try:
            record = held_rehearsal(held, serial)
        except (OSError, ValueError):
            return failed(rehearsal_texts.GONE)
        try:
            count = rehearsal_commit.commit(folder, held)
        except StaleError:
            shutil.rmtree(held, ignore_errors=True)
            return failed(rehearsal_texts.STALE)
        except IncompleteError as error:
            return failed(rehearsal_texts.incomplete(str(error)))
    sys.stdout.write(f"{rehearsal_texts.made(count)}\n")
    return record.code


def held_rehearsal(held: Path, serial: str) -> HeldRehearsal:
    """Raises `OSError` or `ValueError` if it is not the one with this serial."""
    if rehearsal_files.serial(held / RECORD) != serial:
        raise ValueError(serial)
    return rehearsal_files.RECORDS.decode(atomic.read_bounded(held / RECORD, rehearsal_files.MAX_FILE))


def rehearsal(folder: Path, own: Path, argv: list[str]) -> int:
    plan = rehearsal_files.PLANS.decode(atomic.read_bounded(own / PLAN, rehearsal_files.MAX_FILE))
    cwd = os.getcwd()
    with rehearsal_commit.locked(folder):  # what a killed one has begun is finished before this one sees the files
        since = _now(folder)
    try:
        roots = mounted_folders.roots(plan.folders, cwd)
        room = RehearsalRoom(roots, plan.private, plan.rules, str(own), plan.watched)
        with rehearsal_room.rehearsed(room, argv, cwd) as ended:
            return _settled(folder, own, plan, ended, roots, since)
    except RehearsalError as error:
        return failed(rehearsal_texts.not_run(str(error)))  # it worked when the engine tried it


def _now(folder: Path) -> int:
    """The time by the clock of the file system, which is not as fine as others: what was changed before has another time."""
    time.sleep(0.01)
    probe = folder / rehearsal_commit.LOCK
    os.utime(probe)
    return probe.stat().st_ctime_ns


def _settled(folder: Path, own: Path, plan: RehearsalPlan, ended: Ended, roots: list[str], since: int) -> int:
    effects = [*([NETWORK] if ended.network else []), *([LEFT] if ended.left else [])]
    is_whole = not effects
    effects += [f"may have read {directory}, which has more folders than can be watched" for directory in ended.unwatched]
    changes: list[RehearsedChange] = []
    done: list[tuple[str, str]] = []
    try:
        for root, upper in zip(roots, ended.uppers, strict=True):
            changes += overlay_changes.changes(root, upper)
    except TooMuchError as error:
        effects, is_whole = [*effects, f"{error}, which is more than can be shown"], False
    if changes or ended.opened:
        seen = _judged(changes, ended.opened, plan, folder)
        if seen.forbidden:
            return failed(rehearsal_texts.forbidden(seen.forbidden))
        effects, done = [*seen.effects, *effects], seen.done[:MAX_DONE]
    if not changes and not effects:
        return ended.code
    new = own / f"new-{os.getpid()}"
    shutil.rmtree(new, ignore_errors=True)
    new.mkdir(mode=0o700)
    try:
        rehearsal_commit.keep(changes if is_whole else [], new)
        with rehearsal_commit.locked(folder):
            if not effects:
                rehearsal_commit.commit(folder, new, since)
                return ended.code
            rehearsal_commit.check(rehearsal_commit.read(new), since)
            _hold(own, new, HeldRehearsal(effects, is_whole, secrets.token_hex(8), ended.code, done))
    except StaleError:
        return failed(rehearsal_texts.STALE)
    except IncompleteError as error:
        return failed(rehearsal_texts.incomplete(str(error)))
    finally:
        shutil.rmtree(new, ignore_errors=True)
    return failed(rehearsal_texts.held(effects))


def _judged(changes: list[RehearsedChange], opened: list[str], plan: RehearsalPlan, folder: Path) -> JudgedRehearsal:
    from toolguard_engine.server import rehearsal_judge  # noqa: PLC0415 - half of the time of a run that changes nothing

    data = atomic.read_bounded(folder / SETTINGS, rehearsal_files.MAX_FILE)
    settings = msgspec.json.decode(data, type=rehearsal_files.RehearsalSettings)
    return rehearsal_judge.judged(changes, opened, plan, settings)


def _hold(own: Path, new: Path, held: HeldRehearsal) -> None:
    atomic.replace(new / RECORD, msgspec.json.encode(held))
    shutil.rmtree(own / HELD, ignore_errors=True)
    new.rename(own / HELD)
    rehearsal_files.sweep_held(own.parent)


if __name__ == "__main__":
    with suppress(BrokenPipeError):
        main()
