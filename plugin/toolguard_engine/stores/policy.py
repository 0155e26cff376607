"""What was granted beforehand, in `<state dir>/toolguard/policy.toml`: a file that people edit as well.

Each grant is a table `[[grant]]`; the other tables of `TABLES` are left alone, one of any other name is an error. An added
grant is appended and a revoked one cut out, so that every other byte of the file stays. What would not read back as meant
is not written. A key that is not known is an error: a mistyped limit would make a grant wider than its author thinks.

The law: a grant counts only with a `mac` under our key over all that it says. What somebody wrote or changed by hand is no
error; it does not count until a person has accepted it, which signs it where it stands.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from toolguard_engine.layers.grants import Grant
from toolguard_engine.redact import UNPRINTABLE
from toolguard_engine.stores import files, key, tomlfile
from toolguard_engine.stores.locked import StoreError, lock
from toolguard_engine.stores.tomlfile import NoToml, Places, Stamp, stamp_of

NAME = "policy.toml"
TABLE = "grant"
TABLES = (TABLE, "rule", "constraint", "pack", "settings")
"""What a table at the top may be called; only the first is read here."""
END_OF_TIME = 253_402_300_800
"""The year 10000, which no date can name."""

NEW_FILE = """\
# What toolguard lets through without asking. `toolguard grant` adds to this file and `toolguard revoke` takes away;
# it may be edited by hand as well: comments and order are kept. What was written or changed by hand counts once it was
# accepted: `toolguard grants` names it, `toolguard grant --accept ID` shows it and signs it.
"""

_TIMES = ("expires", "created")
_HEADER = re.compile(r"[ \t]*\[\[[ \t]*(?:grant|\"grant\"|'grant')[ \t]*\]\]")
_PART = re.compile(r"[ \t]*\[[ \t]*(?:grant|\"grant\"|'grant')[ \t]*\.")
_ANY_HEADER = re.compile(r"[ \t]*\[")
_MAC = re.compile(r"([ \t]*(?:mac|\"mac\"|'mac')[ \t]*=[ \t]*)(?:\"[^\"]*\"|'[^']*')(?![\"'])")


class BadPolicy(StoreError):  # noqa: N818 - named for the condition, like its family
    """The file cannot be understood; until it is mended nothing counts as granted. The text names file, line and mend."""

    code = "policy.bad"


@dataclass(frozen=True)
class _Judged:
    """All grants of the file, each in one of the two."""

    signed: tuple[Grant, ...] = ()
    unsigned: tuple[Grant, ...] = ()


class Policies:
    """The grants of one state directory. The file is read again when it was changed, or when the key was."""

    def __init__(self, state_dir: Path) -> None:
        self.path = files.own_folder(state_dir) / NAME
        self._state_dir = state_dir
        self._key_path = key.path(state_dir)
        self._stamp: tuple[Stamp, Stamp | None] | None = None
        self._judged: _Judged | BadPolicy = _Judged()

    def grants(self) -> tuple[Grant, ...]:
        """Those that count, in the order of the file, expired ones too. Raises `BadPolicy`, `StoreError`."""
        return self._now().signed

    def unsigned(self) -> tuple[Grant, ...]:
        """Those that do not count until a person accepts them. Raises as `grants` does."""
        return self._now().unsigned

    def known(self) -> tuple[Grant, ...]:
        """All of them, read anew and without the key; one that has no id yet has the one it would get. Raises as well."""
        return tuple(parse(self._text(), self.path))

    def add(self, grant: Grant) -> Grant:
        """Signs and writes a grant; the answer has the id it got: its own, unless that is empty or taken.

        Raises `StoreError`.
        """
        own = key.load(self._state_dir)
        with lock(self.path):
            text = self._text()
            stored = _stored(text, self.path)
            signed = _signed(own, _named(grant, {other.id for other in _identified(stored)}))
            self._write(_with(text or NEW_FILE, signed), [*stored, signed])
        return signed

    def accept(self, seen: Grant, log: Callable[[Grant], None]) -> Grant:
        """Signs a grant where it stands, if it still is what the person saw. Raises `StoreError`.

        `log` is told before it is written: nothing counts that is not in the audit log.
        """
        own = key.load(self._state_dir)
        with lock(self.path):
            text = self._text()
            stored = _stored(text, self.path)
            at = next((number for number, grant in enumerate(_identified(stored)) if grant == seen), None)
            if at is None:
                raise StoreError(f"the grant {seen.id} was changed meanwhile; look at it again: toolguard grants")
            signed = _signed(own, seen)
            after = _signed_in_place(text, at, signed, with_id=not stored[at].id)
            meant = [*stored[:at], signed, *stored[at + 1 :]]
            self._check(after, meant)
            log(signed)
            self._write(after, meant)
        return signed

    def revoke(self, grant_id: str) -> Grant | None:
        """Takes a grant out; None where there is none of this id. Raises `StoreError`."""
        if stamp_of(self.path) is None:
            return None
        with lock(self.path):
            text = self._text()
            stored = _stored(text, self.path)
            known = _identified(stored)
            at = next((number for number, grant in enumerate(known) if grant.id == grant_id), None)
            if at is None:
                return None
            self._write(_without(text, at), [*stored[:at], *stored[at + 1 :]])
            return known[at]

    def _now(self) -> _Judged:
        stamp = stamp_of(self.path)
        if stamp is None:
            return _Judged()
        stamps = (stamp, stamp_of(self._key_path))
        if stamps != self._stamp:
            self._judged = self._read()
            self._stamp = stamps
        if isinstance(self._judged, BadPolicy):
            raise self._judged.with_traceback(None)
        return self._judged

    def _read(self) -> _Judged | BadPolicy:
        try:
            found = self.known()
        except BadPolicy as error:
            return error
        if not found or stamp_of(self._key_path) is None:
            return _Judged(unsigned=found)
        own = key.load(self._state_dir)
        return _Judged(tuple(g for g in found if _fits(own, g)), tuple(g for g in found if not _fits(own, g)))

    def _text(self) -> str:
        """The file as text, its line ends untouched; empty where there is none."""
        try:
            return tomlfile.text_of(self.path)
        except NoToml as error:
            _bad(self.path, error.line, str(error), error.mend)

    def _check(self, text: str, meant: list[Grant]) -> None:
        with suppress(BadPolicy):
            if _stored(text, self.path) == meant:
                return
        _bad(self.path, 0, "its layout cannot be edited safely", "write each grant as [[grant]], or edit it by hand")

    def _write(self, text: str, meant: list[Grant]) -> None:
        self._check(text, meant)
        real = self.path.resolve()
        try:
            mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
            files.replace(real, text.encode(), mode)
        except OSError as error:
            raise StoreError(f"{real}: {error.strerror or error}") from error


def _proof(grant: Grant) -> bytes:
    """What is signed: every field but `mac`, the names sorted, so that it depends on no layout and no order."""
    return b"grant " + msgspec.json.encode(msgspec.structs.replace(grant, mac=""), order="sorted")


def _signed(own: bytes, grant: Grant) -> Grant:
    return msgspec.structs.replace(grant, mac=key.sign(own, _proof(grant)))


def _fits(own: bytes, grant: Grant) -> bool:
    return key.fits(own, _proof(grant), grant.mac)


def parse(text: str, path: Path) -> list[Grant]:
    """The grants of a policy, signed or not. Raises `BadPolicy`; `path` is only for its text."""
    return _identified(_stored(text, path))


def _identified(stored: Sequence[Grant]) -> list[Grant]:
    """Each with an id to name it by: what a person wrote without one gets one that follows from what it says."""
    taken = {grant.id for grant in stored}
    found = []
    for grant in stored:
        name = grant.id or _derived(grant, taken)
        taken.add(name)
        found.append(msgspec.structs.replace(grant, id=name))
    return found


def _derived(grant: Grant, taken: set[str]) -> str:
    name = f"g-{sha256(_proof(grant)).hexdigest()[:8]}"
    return next(each for each in (name, *(f"{name}-{at}" for at in range(2, len(taken) + 3))) if each not in taken)


def _stored(text: str, path: Path) -> list[Grant]:
    """The grants as they stand in the text; one without an id has an empty one."""
    try:
        found_tables = tomlfile.load(text)
    except NoToml as error:
        _bad(path, error.line, str(error), error.mend)
    _refuse_unknown(found_tables, text, path)
    tables = found_tables.get(TABLE, [])
    if not isinstance(tables, list):
        _bad(path, _line_of(text, 0, TABLE), "grant is not a list of tables", "write each grant as [[grant]]")
    grants = [_grant(table, number, text, path) for number, table in enumerate(tables)]
    for number, grant in enumerate(grants):
        if grant.id and any(other.id == grant.id for other in grants[:number]):
            _bad(path, _line_of(text, number, "id"), f"the id {grant.id} stands there twice", "give one of them another id")
    return grants


def _refuse_unknown(found: dict[str, Any], text: str, path: Path) -> None:
    """A mistyped `[[grants]]` would be granted nothing, and nobody told."""
    for name, value in found.items():
        is_table = isinstance(value, dict) or (isinstance(value, list) and any(isinstance(part, dict) for part in value))
        if is_table and name not in TABLES:
            _bad(path, _line_of_table(text, name), f"there is no table {name}", f"known are: {', '.join(TABLES)}")


def _line_of_table(text: str, name: str) -> int:
    """The first line that looks like the header of this table, or like its key; 0 where there is none."""
    wanted = re.compile(rf"[ \t]*\[{{0,2}}[ \t]*[\"']?{re.escape(name)}[\"']?[ \t]*[\].=]")
    return next((at for at, line in enumerate(text.split("\n"), 1) if wanted.match(line)), 0)


def _grant(table: Any, number: int, text: str, path: Path) -> Grant:
    if not isinstance(table, dict):
        _bad(path, 0, "grant is not a list of tables", "write each grant as [[grant]]")
    unknown = [name for name in table if name not in Grant.__struct_fields__]
    if unknown:
        names = ", ".join(unknown)
        known = ", ".join(Grant.__struct_fields__)
        _bad(path, _line_of(text, number, unknown[0]), f"a grant has no {names}", f"known are: {known}")
    moments = {name: _seconds(table[name]) for name in _TIMES if name in table}
    wrong = next((name for name, moment in moments.items() if moment is None), None)
    if wrong:
        said = f"{wrong} is no time with an offset"
        _bad(path, _line_of(text, number, wrong), said, f"write it like {wrong} = 2026-11-29T05:00:00Z, or 0 for never")
    try:
        found = msgspec.convert({"id": "g", **table, **moments}, Grant)
        return found if "id" in table else msgspec.structs.replace(found, id="")
    except msgspec.ValidationError as error:
        said, _, where = str(error).partition(" - at `$.")
        key = where.rstrip("`").partition("[")[0]
        _bad(path, _line_of(text, number, key), f"{key or 'a grant'}: {said[:1].lower()}{said[1:]}", "mend that line")


def _seconds(value: Any) -> float | None:
    """Seconds since 1970 of an offset date-time or a number; None for anything else."""
    if isinstance(value, datetime):
        return value.timestamp() if value.tzinfo is not None else None
    known = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < END_OF_TIME
    return float(value) if known else None


def _line_of(text: str, number: int, key: str) -> int:
    """The line of a key of the grant with this number, or of its header; 0 where that cannot be said."""
    return Places(text, TABLE).key(number, key).line


def _bad(path: Path, line: int, said: str, mend: str) -> NoReturn:
    where = f"{path}, line {line}" if line else str(path)
    raise BadPolicy(UNPRINTABLE.sub("?", f"{where}: {said}; {mend}"))


def _named(grant: Grant, taken: set[str]) -> Grant:
    """With an id of its own, and its times in whole seconds, as they are written."""
    name = grant.id
    while not name or name in taken:
        name = f"g-{secrets.token_hex(2)}"
    return msgspec.structs.replace(grant, id=name, expires=float(int(grant.expires)), created=float(int(grant.created)))


def _with(text: str, grant: Grant) -> str:
    """The text with this grant behind all that is there."""
    end = "\r\n" if "\r\n" in text else "\n"
    closed = text if text.endswith("\n") else text + end
    return f"{closed}{end}{_rendered(grant).replace(chr(10), end)}"


def _rendered(grant: Grant) -> str:
    import tomlkit  # noqa: PLC0415 - the engine reads policies and never writes one

    table = tomlkit.table()
    for name in Grant.__struct_fields__:
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
    """The text with the mac of this grant, and its id where it had none; what else stands there stays."""
    lines = text.split("\n")
    headers = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    if number >= len(headers):
        return text
    start = headers[number]
    stop = next((at for at in range(start + 1, len(lines)) if _ANY_HEADER.match(lines[at])), len(lines))
    old = next((at for at in range(start + 1, stop) if _MAC.match(lines[at])), None)
    if old is not None:
        lines[old] = _MAC.sub(lambda found: f'{found[1]}"{grant.mac}"', lines[old], count=1)
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
