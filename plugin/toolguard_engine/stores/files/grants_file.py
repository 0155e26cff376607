"""Grants in `<state dir>/toolguard/policy.toml`, a file that users edit as well.

Each grant is a table `[[grant]]`. The other tables of `TABLES` are left alone; any other name is an error. A grant is
appended or cut out, so that every other byte of the file stays. A change that would not read back as meant is not written.
An unknown key is an error: a mistyped limit would make a grant wider than its author thinks.

What a grant was given for is kept beside the policy (`grant_meanings`); a grant of an earlier version has nothing there.

Invariant: a grant counts only with a `mac` under our key over all its fields and over that. One that was written or changed
by hand is not an error; it does not count until it is accepted, which signs it in place.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.approvals.grant_record import IN_POLICY, Grant, is_expired
from toolguard_engine.stores import atomic, disk, signing_key, toml_file
from toolguard_engine.stores.files import signing_key_file
from toolguard_engine.stores.files.expired_grants import ExpiredGrants
from toolguard_engine.stores.files.grant_meanings import GrantMeanings
from toolguard_engine.stores.locked import StoreError, lock
from toolguard_engine.stores.state_files import POLICY as NAME
from toolguard_engine.stores.toml_file import InvalidTomlError, Stamp, TomlPositions, stamp_of
from toolguard_engine.stores.values import PolicyError
from toolguard_engine.wording.visible_text import visible

TABLE = "grant"
TABLES = (TABLE, "rule", "constraint", "pack", "settings")
"""The allowed top-level tables; only the first is read here."""
END_OF_TIME = 253_402_300_800
"""The year 10000, which no date can name."""

NEW_FILE = """\
# Calls that toolguard allows without asking. `toolguard grant` adds a grant to this file, and `toolguard revoke` removes it.
# You may also edit the file: comments and order are kept. A grant that you write or change by hand applies once it is
# signed: `toolguard grants` lists it, and `toolguard grant --accept ID` shows and signs it.
"""

_TIMES = ("expires", "created")
_HEADER = lazy_re.compile(r"[ \t]*\[\[[ \t]*(?:grant|\"grant\"|'grant')[ \t]*\]\]")
_PART = lazy_re.compile(r"[ \t]*\[[ \t]*(?:grant|\"grant\"|'grant')[ \t]*\.")
_ANY_HEADER = lazy_re.compile(r"[ \t]*\[")
_MAC = lazy_re.compile(r"((?<![ \t])[ \t]*(?:mac|\"mac\"|'mac')[ \t]*=[ \t]*)(?:\"[^\"]*\"|'[^']*')(?![\"'])")


class _Judged(msgspec.Struct, frozen=True):
    """All grants of the file, in two groups."""

    signed: tuple[Grant, ...] = ()
    unsigned: tuple[Grant, ...] = ()


class PolicyFiles:
    """The grants of one state directory. The file is read again when it or the key has changed."""

    def __init__(self, state_dir: Path) -> None:
        self.path = atomic.own_folder(state_dir) / NAME
        self._state_dir = state_dir
        self._expired = ExpiredGrants(state_dir)
        self._key_path = signing_key_file.path(state_dir)
        self._meanings = GrantMeanings(state_dir)
        self._stamp: tuple[Stamp | None, ...] | None = None
        self._judged: _Judged | PolicyError = _Judged()

    def grants(self) -> tuple[Grant, ...]:
        """Those that count, in file order, including expired ones. Raises `PolicyError`, `StoreError`."""
        return self._now().signed

    def active(self, now: float) -> list[Grant]:
        """Those of `grants` that have not expired, and were never seen expired. Those that have are noted."""
        granted = self.grants()
        self._expired.note(grant.mac for grant in granted if is_expired(grant, now))
        over = self._expired.known() if granted else ()
        return [grant for grant in granted if grant.mac not in over]

    def note_expired(self) -> None:
        """Writes which were seen expired. Raises as `grants` does, and `Busy` at once."""
        self._expired.write({grant.mac for grant in self.grants()})

    def unsigned(self) -> tuple[Grant, ...]:
        """Those that do not count until they are accepted. Raises as `grants` does."""
        return self._now().unsigned

    def known(self) -> tuple[Grant, ...]:
        """All of them, read again and without the key; a missing id is filled in. Raises as `grants` does."""
        return tuple(self._with_meanings(parse(self._text(), self.path)))

    def _with_meanings(self, grants: list[Grant]) -> list[Grant]:
        """Each with what it was given for, as far as that is kept: its signature tells whether it is true."""
        kept = self._meanings.all() if any(grant.mac for grant in grants) else {}
        return [msgspec.structs.replace(grant, bound=kept.get(grant.mac)) for grant in grants]

    def add(self, grant: Grant, log: Callable[[Grant], None] = lambda _: None) -> Grant:
        """Signs and writes a grant; returns it with its final id: its own, unless that is empty or taken.

        Raises `StoreError`. `log`: as for `accept`.
        """
        own = signing_key_file.load(self._state_dir)
        with lock(self.path):
            text = self._text()
            stored = _stored(text, self.path)
            signed = _signed(own, _named(grant, {other.id for other in _identified(stored)}))
            after, meant = _with(text or NEW_FILE, signed), [*stored, _of_policy(signed)]
            if not (_ends_in_tables(text, stored) and after.startswith(text)):
                self._check(after, meant)
            else:  # only the end is new, and what is before it was read just now
                self._check(after[len(text) :], meant[-1:])
            self._keep_meaning(signed)
            log(signed)
            self._write(after)
        return signed

    def accept(self, seen: Grant, log: Callable[[Grant], None]) -> Grant:
        """Signs a grant in place if it is still equal to `seen`. Raises `StoreError`.

        `log` is called before the change is written: nothing counts that is not in the audit log.
        """
        own = signing_key_file.load(self._state_dir)
        with lock(self.path):
            text = self._text()
            stored = _stored(text, self.path)
            at = next((number for number, grant in enumerate(_identified(stored)) if grant == _of_policy(seen)), None)
            if at is None:
                raise StoreError(f"the grant {seen.id} was changed meanwhile; look at it again: toolguard grants")
            signed = _signed(own, seen)
            after = _signed_in_place(text, at, signed, with_id=not stored[at].id)
            meant = [*stored[:at], _of_policy(signed), *stored[at + 1 :]]
            self._check(after, meant)
            self._keep_meaning(signed)
            log(signed)
            self._write(after)
        return signed

    def _keep_meaning(self, signed: Grant) -> None:
        """Written before the grant itself: without it the grant does not count."""
        if signed.bound is not None:
            self._meanings.keep(signed.mac, signed.bound)

    def revoke(self, grant_id: str, log: Callable[[Grant], None] = lambda _: None) -> Grant | None:
        """Removes a grant; None if there is none of this id. Raises `StoreError`. `log`: as for `accept`."""
        if stamp_of(self.path) is None:
            return None
        with lock(self.path):
            text = self._text()
            stored = _stored(text, self.path)
            known = _identified(stored)
            at = next((number for number, grant in enumerate(known) if grant.id == grant_id), None)
            if at is None:
                return None
            after, meant = _without(text, at), [*stored[:at], *stored[at + 1 :]]
            self._check(after, meant)
            log(known[at])
            self._write(after)
            return known[at]

    def _now(self) -> _Judged:
        stamp = stamp_of(self.path)
        if stamp is None:
            return _Judged()
        stamps = (stamp, stamp_of(self._key_path), stamp_of(self._meanings.path))
        if stamps != self._stamp:
            self._judged = self._read()
            self._stamp = stamps
        if isinstance(self._judged, PolicyError):
            raise self._judged.with_traceback(None)
        return self._judged

    def _read(self) -> _Judged | PolicyError:
        try:
            grants = self.known()
        except PolicyError as error:
            return error
        if not grants or stamp_of(self._key_path) is None:
            return _Judged(unsigned=grants)
        own = signing_key_file.load(self._state_dir)
        return _Judged(tuple(g for g in grants if _fits(own, g)), tuple(g for g in grants if not _fits(own, g)))

    def _text(self) -> str:
        """The file as text with its line endings; empty if it does not exist."""
        try:
            return toml_file.text_of(self.path)
        except InvalidTomlError as error:
            _bad(self.path, error.line, str(error), error.fix)

    def _check(self, text: str, meant: list[Grant]) -> None:
        with suppress(PolicyError):
            if _stored(text, self.path) == meant:
                return
        _bad(self.path, 0, "its layout cannot be edited safely", "write each grant as [[grant]], or edit it by hand")

    def _write(self, text: str) -> None:
        real = self.path.resolve()
        try:
            mode = disk.look(real).st_mode & 0o777 if atomic.is_there(real) else 0o600
            atomic.replace(real, text.encode(), mode)
        except OSError as error:
            raise StoreError(f"{real}: {error.strerror or error}") from error


def _proof(grant: Grant) -> bytes:
    """The signed bytes: every field but `mac`, sorted by name, independent of layout and order. With a meaning they are such
    that earlier versions, which do not know it, do not count the grant. `uncontained` is among them only if it is set: the
    signatures of earlier versions stay valid."""
    members = {name: getattr(grant, name) for name in IN_POLICY} | {"mac": ""}
    if not grant.uncontained:
        del members["uncontained"]
    if grant.bound is None:
        return b"grant " + msgspec.json.encode(members, order="sorted")
    return b"grant with a meaning " + msgspec.json.encode({**members, "bound": grant.bound}, order="sorted")


def _of_policy(grant: Grant) -> Grant:
    return msgspec.structs.replace(grant, bound=None)


def _signed(own: bytes, grant: Grant) -> Grant:
    return msgspec.structs.replace(grant, mac=signing_key.sign(own, _proof(grant)))


def _fits(own: bytes, grant: Grant) -> bool:
    return signing_key.fits(own, _proof(grant), grant.mac)


def parse(text: str, path: Path) -> list[Grant]:
    """The grants of a policy, signed or not. Raises `PolicyError`; `path` is only for its text."""
    return _identified(_stored(text, path))


def _identified(stored: Sequence[Grant]) -> list[Grant]:
    """Each with an id; one that was written without an id gets one derived from its content."""
    taken = {grant.id for grant in stored}
    grants = []
    for grant in stored:
        name = grant.id or _derived(grant, taken)
        taken.add(name)
        grants.append(msgspec.structs.replace(grant, id=name))
    return grants


def _derived(grant: Grant, taken: set[str]) -> str:
    name = f"g-{sha256(_proof(grant)).hexdigest()[:8]}"
    return next(
        candidate for candidate in (name, *(f"{name}-{at}" for at in range(2, len(taken) + 3))) if candidate not in taken
    )


def _ends_in_tables(text: str, stored: list[Grant]) -> bool:
    """Whether the grants of a policy are certainly written as tables, so that one more may stand behind them."""
    headers = sum(1 for line in text.split("\n") if _HEADER.match(line))
    return 0 < len(stored) == headers and '"""' not in text and "'''" not in text


def _stored(text: str, path: Path) -> list[Grant]:
    """The grants as written; one without an id has an empty one."""
    try:
        found_tables = toml_file.load(text)
    except InvalidTomlError as error:
        _bad(path, error.line, str(error), error.fix)
    _refuse_unknown(found_tables, text, path)
    tables = found_tables.get(TABLE, [])
    if not isinstance(tables, list):
        _bad(path, _line_of(text, 0, TABLE), "grant is not a list of tables", "write each grant as [[grant]]")
    grants = [_grant(table, number, text, path) for number, table in enumerate(tables)]
    seen = set[str]()
    for number, grant in enumerate(grants):
        if grant.id in seen:
            _bad(path, _line_of(text, number, "id"), f"the id {grant.id} is used twice", "give one of them another id")
        seen.update(filter(None, (grant.id,)))
    return grants


def _refuse_unknown(table: dict[str, Any], text: str, path: Path) -> None:
    """A mistyped `[[grants]]` would otherwise be ignored without a report."""
    for name, value in table.items():
        is_table = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(part, dict) for part in value))
        if is_table and name not in TABLES:
            from difflib import get_close_matches  # noqa: PLC0415 - only where a name is wrong

            near = get_close_matches(name, TABLES, 1)
            meant = f"did you mean [[{near[0]}]]? " if near else ""
            _bad(path, _line_of_table(text, name), f"there is no table {name}", f"{meant}known names: {', '.join(TABLES)}")


def _line_of_table(text: str, name: str) -> int:
    """The first line that could be the header or key of this table; 0 if there is none."""
    wanted = re.compile(rf"[ \t]*\[{{0,2}}[ \t]*[\"']?{re.escape(name)}[\"']?[ \t]*[\].=]")
    return next((at for at, line in enumerate(text.split("\n"), 1) if wanted.match(line)), 0)


def _grant(table: Any, number: int, text: str, path: Path) -> Grant:
    if not isinstance(table, dict):
        _bad(path, 0, "grant is not a list of tables", "write each grant as [[grant]]")
    unknown = [name for name in table if name not in IN_POLICY]
    if unknown:
        names = ", ".join(unknown)
        known = ", ".join(IN_POLICY)
        newer = "; if a newer toolguard wrote it, update toolguard" if "mac" in table else ""
        _bad(path, _line_of(text, number, unknown[0]), f"a grant has no {names}", f"known names: {known}{newer}")
    moments = {name: _seconds(table[name]) for name in _TIMES if name in table}
    wrong = next((name for name, moment in moments.items() if moment is None), None)
    if wrong:
        message = f"{wrong} is not a time with an offset"
        _bad(path, _line_of(text, number, wrong), message, f"write it like {wrong} = 2026-11-29T05:00:00Z, or 0 for never")
    try:
        grant = msgspec.convert({"id": "g", **table, **moments}, Grant)
        return grant if "id" in table else msgspec.structs.replace(grant, id="")
    except msgspec.ValidationError as error:
        message, _, where = str(error).partition(" - at `$.")
        key = where.rstrip("`").partition("[")[0]
        _bad(path, _line_of(text, number, key), f"{key or 'a grant'}: {message[:1].lower()}{message[1:]}", "fix that line")


def _seconds(value: Any) -> float | None:
    """Seconds since 1970 of an offset date-time or a number; None for anything else."""
    if isinstance(value, datetime):
        return value.timestamp() if value.tzinfo is not None else None
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < END_OF_TIME
    return float(value) if known else None


def _line_of(text: str, number: int, key: str) -> int:
    """The line of a key of the grant with this index, or of its header; 0 if unknown."""
    return TomlPositions(text, TABLE).key(number, key).line


def _bad(path: Path, line: int, message: str, fix: str) -> NoReturn:
    where = f"{path}, line {line}" if line else str(path)
    raise PolicyError(visible(f"{where}: {message}; {fix}"))


def _named(grant: Grant, taken: set[str]) -> Grant:
    """The grant with a unique id, and its times in whole seconds, as they are written."""
    name = grant.id
    while not name or name in taken:
        name = f"g-{secrets.token_hex(2)}"
    return msgspec.structs.replace(grant, id=name, expires=float(int(grant.expires)), created=float(int(grant.created)))


def _with(text: str, grant: Grant) -> str:
    """The text with this grant appended."""
    end = "\r\n" if "\r\n" in text else "\n"
    closed = text if text.endswith("\n") else text + end
    return f"{closed}{end}{_rendered(grant).replace(chr(10), end)}"


def _rendered(grant: Grant) -> str:
    import tomlkit  # noqa: PLC0415 - the engine reads policies and never writes one

    table = tomlkit.table()
    for name in IN_POLICY:
        value = getattr(grant, name)
        if name in _TIMES:
            value = datetime.fromtimestamp(int(value), UTC) if value else 0
        if name == "params":
            value = _inline(value)
        if value or name == "expires":
            table.append(name, value)
    tables = tomlkit.aot()
    tables.append(table)
    return tomlkit.dumps({TABLE: tables}).strip("\n") + "\n"


def _inline(params: dict[str, str]) -> Any:
    import tomlkit  # noqa: PLC0415

    table = tomlkit.inline_table()
    table.update(params)
    return table


def _signed_in_place(text: str, number: int, grant: Grant, *, with_id: bool) -> str:
    """The text with the mac of this grant, and its id if it had none; the rest stays."""
    lines = text.split("\n")
    headers = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    if number >= len(headers):
        return text
    start = headers[number]
    stop = next((at for at in range(start + 1, len(lines)) if _ANY_HEADER.match(lines[at])), len(lines))
    old = next((at for at in range(start + 1, stop) if _MAC.match(lines[at])), None)
    if old is not None:
        lines[old] = _MAC.sub(lambda match: f'{match[1]}"{grant.mac}"', lines[old], count=1)
    new = [f'id = "{grant.id}"'] * with_id + [f'mac = "{grant.mac}"'] * (old is None)
    before, after = lines[start][: lines[start].index("[")], "\r" * lines[start].endswith("\r")
    return "\n".join([*lines[: start + 1], *(f"{before}{line}{after}" for line in new), *lines[start + 1 :]])


def _without(text: str, number: int) -> str:
    """The text without the lines of this grant, from its header to its last key, and one empty line above."""
    lines = text.splitlines(keepends=True)
    headers = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    if number >= len(headers):
        return text
    start = headers[number]
    stop = next((at for at in range(start + 1, len(lines)) if _opens_another(lines[at])), len(lines))
    while _says_nothing(lines[stop - 1]):
        stop -= 1
    if start and not lines[start - 1].strip() and (stop == len(lines) or not lines[stop].strip()):
        start -= 1
    return "".join([*lines[:start], *lines[stop:]])


def _opens_another(line: str) -> bool:
    return bool(_ANY_HEADER.match(line)) and not _PART.match(line)


def _says_nothing(line: str) -> bool:
    return not line.strip() or line.lstrip().startswith("#")
