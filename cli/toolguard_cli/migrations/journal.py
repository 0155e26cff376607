"""The journal of a migration, written before anything is changed, so that it can be undone byte for byte.

`<state dir>/toolguard/migrations/<n>.json` lists the files with digests of before and after; copies of both are in the
folder `<n>` beside it. Files are identified by their digests alone. A journal with the status `begun` was interrupted.
"""

from __future__ import annotations

import difflib
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from toolguard_cli.hostconfig import config_file, json5_edit
from toolguard_cli.hostconfig.config_file import ConfigFile, digest
from toolguard_cli.hostconfig.draft import FileChange
from toolguard_cli.migrations import former_tables
from toolguard_cli.migrations.report import safe_line
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import atomic as files
from toolguard_engine.wording.redact import HIDDEN, redact_text

MAX_BYTES = 4 * 1024 * 1024
MAX_DIFF = 100
"""Limit of the lines that are shown of later changes."""
UNREADABLE = "(not shown: the file is not JSON5)"

Status = Literal["begun", "done", "undone"]


class KeptFile(msgspec.Struct, frozen=True):
    """A file that is written. `before` and `after` are digests; `before` is empty if there was no file."""

    path: str
    before: str
    after: str


class KeptMove(msgspec.Struct, frozen=True):
    """A file that was put aside; `digest` is that of its content."""

    source: str
    target: str
    digest: str


class KeptImport(msgspec.Struct, frozen=True):
    """Rows of one database that were taken into another, up to the time `last`."""

    old: str
    into: str
    last: int


class Journal(msgspec.Struct, frozen=True):
    """`rewritten`: files that say the same in a newer form; put back only while nobody changed them."""

    number: int
    version: str
    time: str
    status: Status
    config: str
    files: list[KeptFile] = []
    moves: list[KeptMove] = []
    imports: list[KeptImport] = []
    rewritten: list[KeptFile] = []


def folder(places: Places) -> Path:
    return places.own / "migrations"


def aside(places: Places, number: int) -> Path:
    return places.own / "migrated" / str(number)


def kept(places: Places, number: int, at: int, which: Literal["before", "after"]) -> Path:
    """The copy of a journal's file, by its place in the journal."""
    return folder(places) / str(number) / f"{at}.{which}"


def journals(places: Places) -> list[Journal]:
    names = [path for path in _listed(places) if path.suffix == ".json"]
    return [_load(path) for path in sorted(names, key=lambda path: int(path.stem))]


def _listed(places: Places) -> list[Path]:
    """Journals and their folders. Not by `glob`, which takes a folder that may not be read for an empty one."""
    where = folder(places)
    try:
        return [path for path in where.iterdir() if path.stem.isdecimal()]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise UserError(f"{where} cannot be read: {error}", f"check its owner and mode: ls -ld {where}") from error


def _load(path: Path) -> Journal:
    try:
        with files.opened(path) as file:
            return msgspec.json.decode(file.read(MAX_BYTES), type=Journal)
    except (OSError, msgspec.DecodeError, UnicodeDecodeError) as error:
        fix = f"move it away, then try again; the files from before that migration are kept in {path.with_suffix('')}"
        raise UserError(f"{path} cannot be read: {error}", fix) from error


def unfinished(places: Places) -> Journal | None:
    return next((journal for journal in journals(places) if journal.status == "begun"), None)


def in_force(places: Places) -> Journal | None:
    """The newest migration that was not taken back."""
    return next((journal for journal in reversed(journals(places)) if journal.status == "done"), None)


def imported(places: Places) -> dict[str, int]:
    """How far each old database was read, by its path."""
    known: dict[str, int] = {}
    for journal in journals(places):
        for one in journal.imports:
            if journal.status == "done":
                known[one.old] = one.last
            else:  # an undo removes all that was ever imported
                known.pop(one.old, None)
    return known


def next_number(places: Places) -> int:
    taken = [int(path.stem) for path in _listed(places)]
    return max(taken, default=0) + 1


def begin(places: Places, journal: Journal, changes: list[FileChange], rewritten: list[bytes]) -> None:
    """Keeps the files, then writes the journal. Raises `OSError`."""
    files.make_folder(places.own)
    files.make_folder(folder(places))
    _sweep(places)
    files.make_folder(folder(places) / str(journal.number))
    for at, change in enumerate(changes):
        if change.file.data is not None:
            files.replace(kept(places, journal.number, at, "before"), change.file.data)
        files.replace(kept(places, journal.number, at, "after"), change.data)
    for at, data in enumerate(rewritten, len(changes)):
        files.replace(kept(places, journal.number, at, "before"), data)
    save(places, journal)


def save(places: Places, journal: Journal) -> None:
    data = msgspec.json.format(msgspec.json.encode(journal)) + b"\n"
    files.replace(folder(places) / f"{journal.number}.json", data)


def before(places: Places, journal: Journal) -> dict[Path, ConfigFile]:
    """The files of the config as they were. Raises `UserError` where one was changed by somebody else since."""
    refuse_changed(places, journal, "toolguard migrate --undo --yes puts it back")
    contents = {}
    for at, file in enumerate(journal.files):
        data = _kept_before(places, journal, at)
        text = data.decode() if data is not None else config_file.EMPTY
        contents[Path(file.path)] = ConfigFile(Path(file.path), data, text, json5_edit.parse(text))
    return contents


def refuse_changed(places: Places, journal: Journal, fix: str) -> None:
    """Raises `UserError` with what was changed since, and by how much."""
    for at, file in enumerate(journal.files):
        present = _bytes(Path(file.path))
        if digest(present) not in (file.before, file.after):
            lines = list(_since(kept(places, journal.number, at, "after"), present))
            more = [f"... and {len(lines) - MAX_DIFF} more lines"] if len(lines) > MAX_DIFF else []
            original = kept(places, journal.number, at, "before")
            text = "\n".join([safe_line(f"{file.path} was changed since the migration:"), *lines[:MAX_DIFF], *more])
            raise UserError(f"{text}\nas it was before the migration: {original}", fix)
    for move in journal.moves:
        if _blocked(move):
            raise UserError(safe_line(f"{move.source} exists again; the old one is {move.target}"), fix)


def _since(migrated: Path, present: bytes | None) -> Iterator[str]:
    """Each line that differs, by its number, without its texts: what somebody added may be a secret."""
    old, new = ((data or b"").decode("utf-8", "replace") for data in (_bytes(migrated), present))
    shown_old, shown_new = _without_texts(old), _without_texts(new)
    for kind, a, b, c, d in difflib.SequenceMatcher(None, old.split("\n"), new.split("\n")).get_opcodes():
        if kind != "equal":
            yield f"@@ -{a + 1} +{c + 1} @@"
            yield from (f"-{line}" for line in shown_old[a:b])
            yield from (f"+{line}" for line in shown_new[c:d])


def _without_texts(text: str) -> list[str]:
    """Its lines; of a text that is no JSON5 nothing can be shown."""
    try:
        spans = sorted(_texts(json5_edit.parse(text)))
    except json5_edit.Json5Error:
        return [UNREADABLE] * (text.count("\n") + 1)
    for start, end in reversed(spans):
        text = text[:start] + f'"{HIDDEN}"' + "\n" * text.count("\n", start, end) + text[end:]
    return [safe_line(redact_text(line.removesuffix("\r"))) for line in text.split("\n")]


def _texts(node: json5_edit.Node) -> Iterator[tuple[int, int]]:
    if not isinstance(node, json5_edit.ScalarNode):
        for item in node.items:
            yield from _texts(item.value)
    elif isinstance(node.value, str):
        yield node.start, node.end


def _blocked(move: KeptMove) -> bool:
    """Something else lies where the file was."""
    there = _bytes(Path(move.source))
    return there is not None and digest(there) != move.digest


def put_aside(journal: Journal) -> None:
    """Moves the files away. Raises `OSError`."""
    for move in journal.moves:
        target = Path(move.target)
        for made in (target.parent.parent, target.parent):
            files.make_folder(made)
        shutil.move(move.source, move.target)


def restore(places: Places, journal: Journal) -> list[str]:
    """Restores files and config unconditionally, and returns a line for each. A file that was changed since is kept as a
    backup. Raises `UserError`, `OSError`."""
    lines = [_put_back(move) for move in journal.moves if Path(move.target).is_file()]
    for at, file in enumerate(journal.files):
        path, present = Path(file.path), _bytes(Path(file.path))
        if digest(present) == file.before:
            continue
        original = _kept_before(places, journal, at)
        if original is None:
            path.resolve().unlink(missing_ok=True)
            lines.append(f"removed {path}: it did not exist before")
            continue
        stands = ConfigFile(path, present, config_file.EMPTY, json5_edit.parse(config_file.EMPTY))
        backup = config_file.write(stands, original, again=True)
        lines.append(f"restored {path}" + (f" (backup of the current one: {backup})" if backup else ""))
    lines += [text for at in range(len(journal.rewritten)) if (text := _former(places, journal, at))]
    save(places, msgspec.structs.replace(journal, status="undone"))
    with suppress(UserError, OSError):  # all of it is restored
        _sweep(places)
    return [safe_line(text) for text in lines]


def _former(places: Places, journal: Journal, at: int) -> str:
    """Restores a rewritten file, unless it was changed since. Returns what to report; empty for nothing."""
    file = journal.rewritten[at]
    copy, present = kept(places, journal.number, len(journal.files) + at, "before"), _bytes(Path(file.path))
    before = _bytes(copy)
    if present is None or before is None or digest(present) != file.after or digest(before) != file.before:
        return "" if digest(present) == file.before else f"{file.path} is kept: it was changed since"
    former_tables.put_back(Path(file.path), present, before)
    return f"restored {file.path}"


def _sweep(places: Places) -> None:
    """Removes the copies of migrations that were taken back as a whole, or never began: they may hold secrets."""
    needed = {journal.number for journal in journals(places) if journal.status != "undone"}
    for kept_in in folder(places).iterdir():
        if kept_in.name.isdecimal() and int(kept_in.name) not in needed:
            shutil.rmtree(kept_in, ignore_errors=True)
            with suppress(OSError):
                aside(places, int(kept_in.name)).rmdir()


def _put_back(move: KeptMove) -> str:
    source = Path(move.source)
    if digest(_bytes(source)) == move.digest:  # it was interrupted between copy and removal
        Path(move.target).unlink()
        return f"{source} is still there"
    if source.exists():
        source.rename(config_file.backup_path(source, again=True))
    source.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(move.target, move.source)
    return f"restored {source}"


def _kept_before(places: Places, journal: Journal, at: int) -> bytes | None:
    """Raises `UserError` where the copy is not what was kept."""
    file = journal.files[at]
    if not file.before:
        return None
    copy = kept(places, journal.number, at, "before")
    data = _bytes(copy)
    if digest(data) != file.before:
        raise UserError(
            f"{copy} is not the copy of {file.path} that was kept there",
            f"this backup may still be usable: {config_file.backup_path(Path(file.path))}",
        )
    return data


def _bytes(path: Path) -> bytes | None:
    try:
        with files.opened(path) as file:
            return file.read()
    except (FileNotFoundError, NotADirectoryError):
        return None
