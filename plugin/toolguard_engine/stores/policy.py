"""What was granted beforehand, in `<state dir>/toolguard/policy.toml`: a file that people edit as well.

Each grant is a table `[[grant]]`; other tables are somebody else's. An added grant is appended and a revoked one cut
out, so that every other byte of the file stays. What would not read back as meant is not written. A key that is not
known is an error: a mistyped limit would make a grant wider than its author thinks.
"""

from __future__ import annotations

import re
import secrets
import tomllib
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NoReturn

import msgspec

from toolguard_engine.layers.grants import Grant
from toolguard_engine.redact import UNPRINTABLE
from toolguard_engine.stores import files
from toolguard_engine.stores.locked import StoreError, lock

NAME = "policy.toml"
TABLE = "grant"
MAX_BYTES = 2 * 1024 * 1024
END_OF_TIME = 253_402_300_800
"""The year 10000, which no date can name."""

NEW_FILE = """\
# What toolguard lets through without asking. `toolguard grant` adds to this file and `toolguard revoke` takes away;
# it may be edited by hand as well: comments and order are kept.
"""

_TIMES = ("expires", "created")
_HEADER = re.compile(r"[ \t]*\[\[[ \t]*(?:grant|\"grant\"|'grant')[ \t]*\]\]")
_PART = re.compile(r"[ \t]*\[[ \t]*(?:grant|\"grant\"|'grant')[ \t]*\.")
_ANY_HEADER = re.compile(r"[ \t]*\[")
_AT_LINE = re.compile(r"\s*\(at (?:line (\d+), column \d+|end of document)\)")


class BadPolicy(StoreError):  # noqa: N818 - named for the condition, like its family
    """The file cannot be understood; until it is mended nothing counts as granted. The text names file, line and mend."""

    code = "policy.bad"


class Policies:
    """The grants of one state directory. The file is read again when it was changed."""

    def __init__(self, state_dir: Path) -> None:
        self.path = files.own_folder(state_dir) / NAME
        self._stamp: tuple[int, int, int] | None = None
        self._known: tuple[Grant, ...] | BadPolicy = ()

    def grants(self) -> tuple[Grant, ...]:
        """All of them in the order of the file, expired ones too. Raises `BadPolicy`, `StoreError`."""
        stamp = self._stamped()
        if stamp is None:
            return ()
        if stamp != self._stamp:
            self._known = self._read()
            self._stamp = stamp
        if isinstance(self._known, BadPolicy):
            raise self._known.with_traceback(None)
        return self._known

    def add(self, grant: Grant) -> Grant:
        """Writes a grant; the answer has the id it got: its own, unless that is empty or taken. Raises `StoreError`."""
        with lock(self.path):
            text = self._text()
            known = parse(text, self.path)
            named = _named(grant, {other.id for other in known})
            self._write(_with(text or NEW_FILE, named), [*known, named])
        return named

    def revoke(self, grant_id: str) -> Grant | None:
        """Takes a grant out; None where there is none of this id. Raises `StoreError`."""
        if self._stamped() is None:
            return None
        with lock(self.path):
            text = self._text()
            known = parse(text, self.path)
            at = next((number for number, grant in enumerate(known) if grant.id == grant_id), None)
            if at is None:
                return None
            self._write(_without(text, at), [*known[:at], *known[at + 1 :]])
            return known[at]

    def _stamped(self) -> tuple[int, int, int] | None:
        try:
            found = self.path.stat()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror or error}") from error
        return found.st_mtime_ns, found.st_size, found.st_ino

    def _read(self) -> tuple[Grant, ...] | BadPolicy:
        try:
            return tuple(parse(self._text(), self.path))
        except BadPolicy as error:
            return error

    def _text(self) -> str:
        """The file as text, its line ends untouched; empty where there is none."""
        try:
            with self.path.open("rb") as file:
                data = file.read(MAX_BYTES + 1)
        except FileNotFoundError:
            return ""
        except OSError as error:
            raise StoreError(f"{self.path}: {error.strerror or error}") from error
        if len(data) > MAX_BYTES:
            _bad(self.path, 0, f"it is larger than {MAX_BYTES} bytes", "is this really the policy of toolguard?")
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as error:
            _bad(self.path, data.count(b"\n", 0, error.start) + 1, "it is not UTF-8 text", "save it as UTF-8")

    def _write(self, text: str, meant: list[Grant]) -> None:
        if parse(text, self.path) != meant:
            _bad(self.path, 0, "its layout cannot be edited safely", "write each grant as [[grant]], or edit it by hand")
        real = self.path.resolve()
        try:
            mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
            files.replace(real, text.encode(), mode)
        except OSError as error:
            raise StoreError(f"{real}: {error.strerror or error}") from error


def parse(text: str, path: Path) -> list[Grant]:
    """The grants of a policy. Raises `BadPolicy`; `path` is only for its text."""
    try:
        tables = tomllib.loads(text).get(TABLE, [])
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = _AT_LINE.search(str(error))
        line = int(found[1]) if found and found[1] else text.count("\n") + 1 if found else 0
        _bad(path, line, f"it is not valid TOML: {_AT_LINE.sub('', str(error))}", "mend that line")
    if not isinstance(tables, list):
        _bad(path, _line_of(text, 0, TABLE), "grant is not a list of tables", "write each grant as [[grant]]")
    grants = [_grant(table, number, text, path) for number, table in enumerate(tables)]
    for number, grant in enumerate(grants):
        if any(other.id == grant.id for other in grants[:number]):
            _bad(path, _line_of(text, number, "id"), f"the id {grant.id} stands there twice", "give one of them another id")
    return grants


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
        return msgspec.convert({**table, **moments}, Grant)
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
    lines = text.split("\n")
    headers = [at for at, line in enumerate(lines) if _HEADER.match(line)]
    if number >= len(headers):
        return 0
    ends = headers[number + 1] if number + 1 < len(headers) else len(lines)
    wanted = re.compile(rf"[ \t]*(?:\[[ \t]*grant[ \t]*\.[ \t]*)?[\"']?{re.escape(key)}[\"']?[ \t]*[=.\]]")
    found = (at for at in range(headers[number], ends) if key and wanted.match(lines[at]))
    return next(found, headers[number]) + 1


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
