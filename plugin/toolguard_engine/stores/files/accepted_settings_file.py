"""The accepted settings, and what became weaker since: `<state dir>/toolguard/accepted-settings.json`.

For each config that a gateway ran with: the settings that the user accepted, or stricter ones that applied since
(`accepted`), and what is weaker now, since when (`pending`). A new config is compared with the one that ran last. The file
is signed. If it is missing although it existed, or although an engine ended here before, the current settings are taken as
accepted, and that is reported like a weaker setting, with those that guard less than the defaults. A damaged file is kept
aside, and nothing is known until `toolguard doctor --fix` moves it away.

A gateway that reloads its config several times in a row starts engines with settings from before the last change. So for
`SETTLING` seconds after a user's change (`changed`) a start that would alter the record does not; it is to be repeated.

Invariant: no weaker setting leaves `pending` without a line in the audit log. The line is written first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.config.strictness import ORDERS, PLUGIN, EffectiveSettings, StrictnessChange, accepting, raised, weaker
from toolguard_engine.stores import atomic, audit_log, signing_key
from toolguard_engine.stores.accepted_settings import AcceptedState, ChangedMeanwhile, Log, Notice, new_value
from toolguard_engine.stores.files import engine_files, signing_key_file
from toolguard_engine.stores.locked import Busy, LockedFile, StoreError, lock_file, unusable
from toolguard_engine.stores.state_files import ACCEPTED_SETTINGS as NAME
from toolguard_engine.wording import printable

MAX_CONFIGS = 20
SETTLING = 30.0
"""Seconds. A gateway applies a change within about ten, even on a busy machine."""
WEAKENED, RESTORED, ACCEPTED, ENDED = "weakened", "restored", "accepted", "ended"
CODE = "settings"
MAX_NAMED = 10
AS_STRICT = "none of them guards less than the defaults"


class _Known(msgspec.Struct, frozen=True):
    """What is known of one config. `accepted`: None after an uninstall; the next settings are then the first ones.
    `changed`: when a user last changed the config with toolguard, in seconds since 1970; 0 if never."""

    accepted: EffectiveSettings | None = None
    pending: tuple[Notice, ...] = ()
    changed: float = 0.0


class _File(msgspec.Struct, frozen=True):
    """`revision`: 0 if there is no file. `last`: the config that ran last. `lost`: when its loss was found."""

    v: int = 1
    revision: int = 0
    last: str = ""
    lost: float = 0.0
    configs: dict[str, _Known] = {}
    mac: str = ""


class AcceptedSettings:
    """Those of one state directory. All methods raise `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self._state_dir = state_dir
        self._file = LockedFile(self.path, _File, self._is_ours)

    def pending(self) -> list[Notice]:
        """What is weaker than accepted, the oldest first. Changes nothing and leaves a damaged file in place."""
        return _notices(self._file.read(keep_aside=False))

    def baseline(self, config: str) -> EffectiveSettings | None:
        """What was accepted for this config, or for the one that ran last; None if nothing is known."""
        return _baseline(self._file.read(keep_aside=False), _name(config))

    def ran(self, config: str, settings: EffectiveSettings, now: float, log: Log, *, patient: bool = True) -> AcceptedState:
        """A gateway starts with these settings. If nothing changed, nothing is locked or written.

        Without `patient` it raises `Busy` at once if another process writes. It also raises `Busy` if the record would
        change within `SETTLING` seconds after a user's change, because these may be the settings from before it.
        """
        name, had_lock = _name(config), self._lock_is_there()
        before = self._file.read()
        after, state = _compared(before, name, settings, now)
        if before.revision and not had_lock:
            self._make_lock()
        if after == before:
            return state
        if _is_settling(before, name, now):
            raise Busy(f"a user has just changed {printable.plain(name)}")
        if not before.revision:
            signing_key_file.load(self._state_dir)
            if not had_lock and engine_files.last(self._state_dir) is None and self._is_first(after):
                return state
        with self._file.locked(patient=patient):
            before = self._file.read()
            if not before.revision:  # another process made the lock, and before it the file
                before = structs.replace(before, lost=now)
            after, state = _compared(before, name, settings, now)
            if before.lost == now:
                state = _with_fresh(state, _lost(after))
            log([*self._lines(after, WEAKENED, state.fresh, now), *self._lines(after, RESTORED, state.over, now)])
            self._write(after)
        return state

    def ended(self, config: str, why: str, now: float, log: Log) -> AcceptedState:
        """The gateway no longer loads the plugin. No change if that was accepted, or nothing is known.

        Raises `Busy` at once if another process writes: the gateway does not wait long, and commands find it as well.
        """
        name = _name(config)
        if not _is_new_end(self._file.read(), name):
            return AcceptedState()
        with self._file.locked(patient=False):
            before = self._file.read()
            known = before.configs.get(name)
            if known is None or not _is_new_end(before, name):
                return AcceptedState()
            notice = Notice(now, StrictnessChange(PLUGIN, old=True, new=False), why)
            after = _with(before, name, structs.replace(known, pending=(*known.pending, notice)))
            log(self._lines(after, WEAKENED, (notice,), now))
            self._write(after)
        return AcceptedState((notice,), (), (notice,))

    def accept(self, seen: Sequence[Notice], config: str, decision: Decision, now: float, log: Log) -> list[Notice]:
        """Accepts all of `seen` as the settings from now on, and returns it.

        `seen` may contain more than the file, for `config`. Raises `ChangedMeanwhile` if the file contains more.
        """
        if not seen:
            return []
        shown = {(notice.key, new_value(notice)) for notice in seen}
        with self._file.locked():
            before = self._file.read()
            waiting = _notices(before)
            if any((notice.key, new_value(notice)) not in shown for notice in waiting):
                raise ChangedMeanwhile("something else became weaker meanwhile; look again: toolguard status")
            stored = {notice.key for notice in waiting}
            more = tuple(notice.change for notice in seen if notice.change and notice.key not in stored)
            after = _all_accepted(before, _name(config), more)
            log(self._lines(after, ACCEPTED, tuple(seen), now, decision))
            self._write(after)
        return list(seen)

    def take(self, config: str, changes: Sequence[StrictnessChange], decision: Decision, now: float, log: Log) -> bool:
        """Accepts the `changes` that the user made, which may be none if others were made. False if nothing is known of this
        config."""
        name = _name(config)
        if _baseline(self._file.read(), name) is None:
            return False
        with self._file.locked():
            before = self._file.read()
            known = before.configs.get(name) or _Known(_baseline(before, name))
            if known.accepted is None:
                return False
            taken = {(change.agent, change.name) for change in changes}
            left = tuple(notice for notice in known.pending if notice.key not in taken)
            after = _with(before, name, _Known(accepting(known.accepted, tuple(changes)), left, now))
            if changes:
                log(self._lines(after, ACCEPTED, tuple(Notice(now, change) for change in changes), now, decision))
            self._write(after)
        return True

    def forget(self, config: str) -> None:
        """Toolguard was uninstalled: the next installation starts from scratch."""
        name = _name(config)
        if not self._file.read().revision:
            return
        with self._file.locked():
            before = self._file.read()
            self._write(structs.replace(_with(before, name, _Known()), lost=0.0))

    def _lock_is_there(self) -> bool:
        """The lock is made after the first file and never removed: if it exists, there was a file."""
        return atomic.may_be_there(lock_file(self.path))

    def _is_first(self, value: _File) -> bool:
        """Writes the first file, without a lock. False if another process has made one meanwhile."""
        try:
            is_first = atomic.create(self.path, msgspec.json.encode(self._signed(value)))
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error
        if is_first:
            self._make_lock()
        return is_first

    def _make_lock(self) -> None:
        with suppress(StoreError), self._file.locked(patient=False):
            pass  # if that fails, the next start does it

    def _write(self, value: _File) -> None:
        self._file.write(self._signed(self._file.whole(value)))

    def _signed(self, value: _File | dict[str, Any]) -> dict[str, Any]:
        members = msgspec.to_builtins(value)
        return {**members, "mac": signing_key.sign(signing_key_file.known(self._state_dir), _proof(members))}

    def _is_ours(self, value: _File, content: bytes) -> bool:
        return signing_key.fits(signing_key_file.known(self._state_dir), _proof(msgspec.json.decode(content)), value.mac)

    def _lines(
        self, after: _File, event: str, notices: tuple[Notice, ...], now: float, decision: Decision | None = None
    ) -> list[audit_log.AuditEvent]:
        """Each with an id that is the same for the same line, so that the log takes it once."""
        return [
            audit_log.AuditEvent(
                id=f"{event}-{after.revision}-{sha256(repr(notice).encode()).hexdigest()[:16]}",
                time=audit_log.when(now),
                event=event,
                code=f"{CODE}.{event}",
                by=decision.by if decision else "",
                where=decision.where if decision else "",
                why=decision.why if decision else "",
                reason=audit_log.plain(f"as strict as before: {notice.setting}" if event == RESTORED else notice.text),
            )
            for notice in notices
        ]


def _with_fresh(state: AcceptedState, notice: Notice) -> AcceptedState:
    """The state with one more fresh notice."""
    return AcceptedState((notice, *state.fresh), state.over, state.pending)


def _name(config: str) -> str:
    """One name for one file: its real path, also if that is not UTF-8."""
    try:
        path = os.path.realpath(config) if config else ""
    except ValueError:  # a NUL, or half a surrogate pair
        path = ""
    return path.encode(errors="backslashreplace").decode()


def _proof(members: dict[str, Any]) -> bytes:
    """The signed bytes: all members, sorted. Raises `StoreError` if a text in it is not Unicode."""
    try:
        return b"accepted settings " + msgspec.json.encode({**members, "mac": ""}, order="sorted")
    except UnicodeEncodeError as error:
        raise StoreError(
            f"the settings cannot be stored, because a string in them is not valid Unicode: {printable.plain(str(error))}"
        ) from error


def _lost(value: _File) -> Notice:
    """The notice that an earlier record is gone, and what was taken as accepted instead."""
    taken = _baseline(value, value.last)
    less = weaker(EffectiveSettings(), taken) if taken else ()
    more = f"; and {len(less) - MAX_NAMED} more" if len(less) > MAX_NAMED else ""
    named = f"{'; '.join(change.text for change in less[:MAX_NAMED])}{more}"
    return Notice(value.lost, None, f"compared with the defaults: {named}" if less else AS_STRICT)


def _notices(value: _File) -> list[Notice]:
    lost = [_lost(value)] if value.lost else []
    notices = {(notice.key, new_value(notice)): notice for known in value.configs.values() for notice in known.pending}
    return sorted([*lost, *notices.values()], key=lambda notice: (notice.since, notice.key))


def _baseline(value: _File, name: str) -> EffectiveSettings | None:
    known = value.configs.get(name) or value.configs.get(value.last)
    return known.accepted if known else None


def _is_settling(value: _File, name: str, now: float) -> bool:
    known = value.configs.get(name)
    return known is not None and 0.0 < known.changed <= now < known.changed + SETTLING


def _is_new_end(value: _File, name: str) -> bool:
    known = value.configs.get(name)
    if known is None or known.accepted is None or not known.accepted.get("", PLUGIN):
        return False
    return all(notice.key != ("", PLUGIN) for notice in known.pending)


def _with(value: _File, name: str, known: _Known) -> _File:
    """One revision later. If there are too many configs, the least recently run ones are dropped, but never the one that ran
    last, with which a new one is compared, nor one with pending notices."""
    kept = {other: config for other, config in value.configs.items() if other != name}
    spare = [other for other, config in kept.items() if other != value.last and not config.pending]
    for other in spare[: max(0, len(kept) - MAX_CONFIGS + 1)]:
        del kept[other]
    return structs.replace(value, revision=value.revision + 1, configs={**kept, name: known})


def _compared(before: _File, name: str, settings: EffectiveSettings, now: float) -> tuple[_File, AcceptedState]:
    """The same file if nothing changed."""
    known, old = before.configs.get(name) or _Known(), _baseline(before, name)
    if old is None:
        return _ran(before, name, _Known(settings)), AcceptedState((), (), ())
    last = {notice.key: notice for notice in known.pending}
    pending = tuple(_notice(change, last.get((change.agent, change.name)), now) for change in weaker(old, settings))
    fresh = tuple(notice for notice in pending if _is_fresh(notice, last.get(notice.key)))
    keys = {notice.key for notice in pending}
    over = tuple(notice for notice in known.pending if notice.key not in keys)
    after = structs.replace(known, accepted=raised(old, settings), pending=pending)
    return _ran(before, name, after), AcceptedState(fresh, over, pending)


def _ran(before: _File, name: str, known: _Known) -> _File:
    if before.last == name and before.configs.get(name) == known:
        return before
    return structs.replace(_with(before, name, known), last=name)


def _notice(change: StrictnessChange, before: Notice | None, now: float) -> Notice:
    return Notice(before.since if before else now, change)


def _is_fresh(notice: Notice, before: Notice | None) -> bool:
    """Whether it was not reported before, or is weaker than what was."""
    if before is None or before.change is None or notice.change is None:
        return True
    return ORDERS[notice.change.name].weaker(before.change.new, notice.change.new)


def _all_accepted(before: _File, name: str, more: tuple[StrictnessChange, ...]) -> _File:
    """`more`: changes of this config beside the pending ones."""
    own = name if name in before.configs else before.last
    configs = {other: _accepted(known, more if other == own else ()) for other, known in before.configs.items()}
    return structs.replace(before, revision=before.revision + 1, lost=0.0, configs=configs)


def _accepted(known: _Known, more: tuple[StrictnessChange, ...]) -> _Known:
    if known.accepted is None:
        return _Known()
    waiting = tuple(notice.change for notice in known.pending if notice.change)
    return structs.replace(known, accepted=accepting(known.accepted, (*waiting, *more)), pending=())
