"""The settings that people know of, and what became weaker since: `<state dir>/toolguard/accepted-settings.json`.

For each config that a gateway ran with here: the settings that a person accepted, or stricter ones that counted since
(`accepted`), and what is weaker now, since when (`pending`). A config that is new here is compared with the one that ran
last. The file is signed. Where it is missing although it was there, that is pointed out like a weaker setting; one that is
damaged is kept aside, and nothing is known until `toolguard doctor --fix` has moved it away.

Invariant: no weaker setting leaves `pending` without a line in the audit log. The line is written first.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec
from msgspec import structs

from toolguard_engine import answers
from toolguard_engine.ledger import Decision
from toolguard_engine.stores import audit, files, key
from toolguard_engine.stores.locked import LockedFile, StoreError, unusable
from toolguard_engine.strictness import ORDERS, PLUGIN, Change, Settings, accepting, raised, weaker

NAME = "accepted-settings.json"
MAX_CONFIGS = 20
MAX_LINE = 280
WEAKENED, RESTORED, ACCEPTED, ENDED = "weakened", "restored", "accepted", "ended"
CODE = "settings"
NOT_KNOWN = "the record of the accepted settings is gone: whether settings became weaker before is not known"

Log = Callable[[list[audit.Event]], None]
"""Is given lines for the audit log before what they are about is written."""


class Notice(msgspec.Struct, frozen=True):
    """Something that guards less than what a person accepted. `change`: None where the record itself was lost. `since`:
    seconds since 1970. `why`: what else is known."""

    since: float
    change: Change | None = None
    why: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return (self.change.agent, self.change.name) if self.change else ("", "")

    @property
    def setting(self) -> str:
        return self.change.setting if self.change else ""

    @property
    def text(self) -> str:
        """One line, printable."""
        if self.change is None:
            return NOT_KNOWN
        if self.change.name == PLUGIN:
            why = f" ({answers.cut(self.why, MAX_LINE)})" if self.why else ""
            return f"the gateway does not load toolguard any more{why}: nothing is guarded"
        return self.change.text


class _Known(msgspec.Struct, frozen=True):
    """Of one config. `accepted`: None after toolguard was uninstalled; the next settings are the first ones then."""

    accepted: Settings | None = None
    pending: tuple[Notice, ...] = ()


class _File(msgspec.Struct, frozen=True):
    """`revision`: 0 where there is no file. `last`: the config that ran last. `lost`: since when the record before it is."""

    v: int = 1
    revision: int = 0
    last: str = ""
    lost: float = 0.0
    configs: dict[str, _Known] = {}
    mac: str = ""


class ChangedMeanwhile(StoreError):  # noqa: N818 - like its siblings
    """Something else is weaker by now than what the person saw."""

    code = "settings.changed"


@dataclass(frozen=True)
class Found:
    """What a start with some settings came to. `fresh`: pointed out for the first time; `over`: not weaker any more."""

    fresh: tuple[Notice, ...] = ()
    over: tuple[Notice, ...] = ()
    pending: tuple[Notice, ...] = ()


class AcceptedSettings:
    """Those of one state directory. All methods raise `StoreError`."""

    def __init__(self, state_dir: Path) -> None:
        self.path = files.own_folder(state_dir) / NAME
        self._state_dir = state_dir
        self._file = LockedFile(self.path, _File, self._is_ours)

    def pending(self) -> list[Notice]:
        """What is weaker than accepted, the oldest first. Changes nothing, and leaves a damaged file where it is."""
        return _notices(self._file.read(keep_aside=False))

    def baseline(self, config: str) -> Settings | None:
        """What was accepted of this config, or of the one that ran last; None where nothing is known."""
        return _baseline(self._file.read(keep_aside=False), _name(config))

    def ran(self, config: str, settings: Settings, now: float, log: Log, *, patient: bool = True) -> Found:
        """A gateway begins to run with these settings. Mostly nothing changed: then nothing is locked or written.

        Without `patient` it raises `Busy` at once where somebody else is at it.
        """
        name, had_lock = _name(config), self._lock_is_there()
        before = self._file.read()
        after, found = _compared(before, name, settings, now)
        if before.revision and not had_lock:
            self._make_lock()
        if after == before:
            return found
        if not before.revision:
            key.load(self._state_dir)
            if not had_lock and self._is_first(after):
                return found
        with self._file.locked(patient=patient):
            before = self._file.read()
            if not before.revision:  # somebody made the lock, and so the file before it
                before = structs.replace(before, lost=now)
            after, found = _compared(before, name, settings, now)
            if before.lost == now:
                found = _with_fresh(found, Notice(now))
            log([*self._lines(after, WEAKENED, found.fresh, now), *self._lines(after, RESTORED, found.over, now)])
            self._write(after)
        return found

    def ended(self, config: str, why: str, now: float, log: Log) -> Found:
        """The gateway does not load the plugin any more. Nothing where that was accepted, or nothing is known.

        Raises `Busy` at once where somebody else is at it: the gateway does not wait long, and commands find it as well.
        """
        name = _name(config)
        if not _is_new_end(self._file.read(), name):
            return Found()
        with self._file.locked(patient=False):
            before = self._file.read()
            known = before.configs.get(name)
            if known is None or not _is_new_end(before, name):
                return Found()
            notice = Notice(now, Change(PLUGIN, old=True, new=False), why)
            after = _with(before, name, structs.replace(known, pending=(*known.pending, notice)))
            log(self._lines(after, WEAKENED, (notice,), now))
            self._write(after)
        return Found((notice,), (), (notice,))

    def accept(self, seen: Sequence[Notice], config: str, decision: Decision, now: float, log: Log) -> list[Notice]:
        """A person accepts what they saw, all of it: it counts as the settings from here on. What was accepted.

        `seen` may have more than the file: for `config`. Raises `ChangedMeanwhile` where the file has more.
        """
        if not seen:
            return []
        shown = {(notice.key, _new(notice)) for notice in seen}
        with self._file.locked():
            before = self._file.read()
            waiting = _notices(before)
            if any((notice.key, _new(notice)) not in shown for notice in waiting):
                raise ChangedMeanwhile("something else became weaker meanwhile; look again: toolguard status")
            stored = {notice.key for notice in waiting}
            more = tuple(notice.change for notice in seen if notice.change and notice.key not in stored)
            after = _all_accepted(before, _name(config), more)
            log(self._lines(after, ACCEPTED, tuple(seen), now, decision))
            self._write(after)
        return list(seen)

    def take(self, config: str, changes: Sequence[Change], decision: Decision, now: float, log: Log) -> bool:
        """A person made these changes, and so accepted them. False where nothing is known of this config: its first settings
        are pointed out to nobody."""
        name = _name(config)
        if not changes or _baseline(self._file.read(), name) is None:
            return False
        with self._file.locked():
            before = self._file.read()
            known = before.configs.get(name) or _Known(_baseline(before, name))
            if known.accepted is None:
                return False
            taken = {(each.agent, each.name) for each in changes}
            left = tuple(notice for notice in known.pending if notice.key not in taken)
            after = _with(before, name, _Known(accepting(known.accepted, tuple(changes)), left))
            log(self._lines(after, ACCEPTED, tuple(Notice(now, each) for each in changes), now, decision))
            self._write(after)
        return True

    def forget(self, config: str) -> None:
        """A person uninstalled toolguard: what is installed next begins anew."""
        name = _name(config)
        if not self._file.read().revision:
            return
        with self._file.locked():
            before = self._file.read()
            self._write(structs.replace(_with(before, name, _Known()), lost=0.0))

    def _lock_is_there(self) -> bool:
        """It is made after the first file and never removed: where there is a lock, there was a file."""
        return os.path.lexists(self.path.with_name(f"{NAME}.lock"))

    def _is_first(self, value: _File) -> bool:
        """Writes the first file, without a lock. False where another process has made one meanwhile."""
        try:
            is_first = files.create(self.path, msgspec.json.encode(self._signed(value)))
        except (OSError, ValueError) as error:
            raise unusable(self.path, error) from error
        if is_first:
            self._make_lock()
        return is_first

    def _make_lock(self) -> None:
        with suppress(StoreError), self._file.locked(patient=False):
            pass  # where that fails, the next start does it

    def _write(self, value: _File) -> None:
        self._file.write(self._signed(value))

    def _signed(self, value: _File) -> _File:
        return structs.replace(value, mac=key.sign(key.known(self._state_dir), _proof(value)))

    def _is_ours(self, value: _File) -> bool:
        return key.fits(key.known(self._state_dir), _proof(value), value.mac)

    def _lines(
        self, after: _File, event: str, notices: tuple[Notice, ...], now: float, decision: Decision | None = None
    ) -> list[audit.Event]:
        """Each under an id that is the same when the same is written again: the log takes it once."""
        return [
            audit.Event(
                id=f"{event}-{after.revision}-{sha256(repr(notice).encode()).hexdigest()[:16]}",
                time=audit.when(now),
                event=event,
                code=f"{CODE}.{event}",
                by=decision.by if decision else "",
                where=decision.where if decision else "",
                why=decision.why if decision else "",
                reason=audit.plain(f"as strict as before: {notice.setting}" if event == RESTORED else notice.text),
            )
            for notice in notices
        ]


def _with_fresh(found: Found, notice: Notice) -> Found:
    """`found` with one more that is pointed out for the first time."""
    return Found((notice, *found.fresh), found.over, found.pending)


def mark(notices: Sequence[Notice]) -> str:
    """Differs where something else is weaker: what a person saw is what is accepted."""
    weaker_now = [(notice.key, _new(notice)) for notice in notices]
    return sha256(repr(sorted(weaker_now)).encode()).hexdigest()[:16]


def _new(notice: Notice) -> str:
    return repr(notice.change.new) if notice.change else ""


def _name(config: str) -> str:
    """One name for one file: what it really is, also where the system has names that are not UTF-8."""
    try:
        path = os.path.realpath(config) if config else ""
    except ValueError:  # a NUL, or half a surrogate pair
        path = ""
    return path.encode(errors="backslashreplace").decode()


def _proof(value: _File) -> bytes:
    """Raises `StoreError` where a text in it is not Unicode."""
    try:
        return b"accepted settings " + msgspec.json.encode(structs.replace(value, mac=""), order="sorted")
    except UnicodeEncodeError as error:
        raise StoreError(
            f"the settings cannot be kept, a text in them is not Unicode: {answers.plain(str(error))}"
        ) from error


def _notices(value: _File) -> list[Notice]:
    lost = [Notice(value.lost)] if value.lost else []
    found = {(notice.key, _new(notice)): notice for known in value.configs.values() for notice in known.pending}
    return sorted([*lost, *found.values()], key=lambda notice: (notice.since, notice.key))


def _baseline(value: _File, name: str) -> Settings | None:
    known = value.configs.get(name) or value.configs.get(value.last)
    return known.accepted if known else None


def _is_new_end(value: _File, name: str) -> bool:
    known = value.configs.get(name)
    if known is None or known.accepted is None or not known.accepted.of("", PLUGIN):
        return False
    return all(notice.key != ("", PLUGIN) for notice in known.pending)


def _with(value: _File, name: str, known: _Known) -> _File:
    """One revision later. Where there are too many configs, those that did not run for longest are dropped: never the one
    that ran last, with which a new one is compared, nor one of which something is pending."""
    kept = {other: each for other, each in value.configs.items() if other != name}
    spare = [other for other, each in kept.items() if other != value.last and not each.pending]
    for other in spare[: max(0, len(kept) - MAX_CONFIGS + 1)]:
        del kept[other]
    return structs.replace(value, revision=value.revision + 1, configs={**kept, name: known})


def _compared(before: _File, name: str, settings: Settings, now: float) -> tuple[_File, Found]:
    """The same file where nothing changed."""
    known, old = before.configs.get(name) or _Known(), _baseline(before, name)
    if old is None:
        return _ran(before, name, _Known(settings)), Found((), (), ())
    last = {notice.key: notice for notice in known.pending}
    pending = tuple(_notice(each, last.get((each.agent, each.name)), now) for each in weaker(old, settings))
    fresh = tuple(notice for notice in pending if _is_fresh(notice, last.get(notice.key)))
    keys = {notice.key for notice in pending}
    over = tuple(notice for notice in known.pending if notice.key not in keys)
    after = _Known(raised(old, settings), pending)
    return _ran(before, name, after), Found(fresh, over, pending)


def _ran(before: _File, name: str, known: _Known) -> _File:
    if before.last == name and before.configs.get(name) == known:
        return before
    return structs.replace(_with(before, name, known), last=name)


def _notice(change: Change, before: Notice | None, now: float) -> Notice:
    return Notice(before.since if before else now, change)


def _is_fresh(notice: Notice, before: Notice | None) -> bool:
    """Whether it was not pointed out before, or is weaker still than what was."""
    if before is None or before.change is None or notice.change is None:
        return True
    return ORDERS[notice.change.name].weaker(before.change.new, notice.change.new)


def _all_accepted(before: _File, name: str, more: tuple[Change, ...]) -> _File:
    """`more`: changes of this config beside those that wait."""
    own = name if name in before.configs else before.last
    configs = {other: _accepted(known, more if other == own else ()) for other, known in before.configs.items()}
    return structs.replace(before, revision=before.revision + 1, lost=0.0, configs=configs)


def _accepted(known: _Known, more: tuple[Change, ...]) -> _Known:
    if known.accepted is None:
        return _Known()
    waiting = tuple(notice.change for notice in known.pending if notice.change)
    return _Known(accepting(known.accepted, (*waiting, *more)))
