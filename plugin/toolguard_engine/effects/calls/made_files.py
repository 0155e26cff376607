"""What a call does to files, for the memory of the files that agents made (`model.files`)."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import basename
from typing import Any, Literal

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.commands.interpreters import FETCHERS
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.place_globs import GLOB
from toolguard_engine.effects.facts.places import MEMORY, Where, normal
from toolguard_engine.effects.landings import landings
from toolguard_engine.effects.landings.copied_files import is_never_folder
from toolguard_engine.effects.manuals import manual_catalogue
from toolguard_engine.effects.programs import file_programs, unpacking
from toolguard_engine.model.file_memory import MAX_EXPECTED_TEXT
from toolguard_engine.model.file_record import Origin
from toolguard_engine.model.lazy import kept
from toolguard_engine.wording.redact import HALVES

MAX_CHANGES = 100
MAX_PATH = 4_096
_ADDRESS = lazy_re.compile(r"\w{2,10}://(?:[^/@\s]{1,200}@)?([^/:\s?#]{1,200})|[\w.-]{1,60}@([\w.-]{1,200}):")
_PATCH_FILE = lazy_re.compile(r"^\*\*\* (?:Update|Add) File:(.+)$")
_WRITES = frozenset({"write", "empty", "disguise", "mcp-write"})
_FETCH_FOLDERS = manual_catalogue.doing("unpacks") | {"git"}
_PATCHES = program_catalogue.tools("patches")
_NO_FILES = ("/dev/", "/proc/")
_NEVER_MOVED = frozenset({"", ".", ".."})
"""What `mv` refuses to move."""

_OLD_TEXT = frozenset({"oldText", "old_string", "old_str"})
_NO_TEXT = frozenset({"path", "file_path", "filePath", "file", *_OLD_TEXT})


class MadeFile(msgspec.Struct, frozen=True):
    """`path`: absolute; `source`: of what is moved, copied or linked, or the host of what is fetched, empty where it is not
    known. `text`: what is written, None where it is not known; `whole`: nothing else will be in the file; `old`: the text in
    its place before. `many`: `source` is a pattern with wildcards, and `path` the folder that all it means is moved to; of
    what is removed, only a part of what is in the folder `path`, which stays.
    `merged`: what is in the folder `source` lands in `path`, also where that is a folder already (`cp -r x/. y`)."""

    kind: Literal["wrote", "moved", "copied", "linked", "removed"]
    path: str
    source: str = ""
    origin: Origin = "agent"
    text: str | None = None
    whole: bool = False
    old: str = ""
    many: bool = False
    merged: bool = False


def changes(reading: CallReading) -> list[MadeFile]:
    """Returns the first `MAX_CHANGES` in the order in which they happen. Only what is known by its path."""
    return [_with_known_source(change) for change in possible_changes(reading) if is_known(change.path)]


def is_known(path: str) -> bool:
    """Whether a path names one file."""
    return path.startswith("/") and UNKNOWN not in path and not path.startswith(("/~", "/$")) and not GLOB.search(path)


def _with_known_source(change: MadeFile) -> MadeFile:
    is_file = change.kind in ("copied", "linked") or (change.kind == "moved" and not change.many)
    return msgspec.structs.replace(change, source="") if is_file and not is_known(change.source) else change


@kept
def possible_changes(reading: CallReading) -> list[MadeFile]:
    """The same with paths that are known only in part: they have wildcards or `UNKNOWN` in them."""
    files = [] if reading.executes else list(_of_tool(reading))
    for command, effects in zip(reading.command_readings, reading.command_effects, strict=True) if reading.commands else ():
        if effects or any(program.name in _FETCH_FOLDERS for program in command.runs):
            texts = {_path(path, reading.command_where, ""): text for path, text in command.written}
            for file in _of_command(effects, command.runs, reading.command_where):
                files.append(_with_text(file, texts))
                if len(files) > MAX_CHANGES:
                    break
    return [source for source in files[:MAX_CHANGES] if source.path and len(source.path) + len(source.source) <= MAX_PATH]


def _with_text(change: MadeFile, texts: dict[str, str]) -> MadeFile:
    text = texts.get(change.path)
    if text is None or change.kind != "wrote":
        return change
    return msgspec.structs.replace(change, text=text[:MAX_EXPECTED_TEXT], whole=False)


def _path(path: str, where: Where, cwd: str) -> str:
    """Absolute; empty for what is no file."""
    if not (path.isascii() or HALVES.search(path) is None):
        return ""
    full = normal(path, where, cwd)
    return "" if full.startswith(_NO_FILES) and not full.startswith(MEMORY) else full


def _pattern(path: str, where: Where, cwd: str) -> str:
    """A path with wildcards, absolute; `/*` where not even its folder is known."""
    full = normal(path, where, cwd)
    return "/*" if UNKNOWN in full or full.startswith(("/~", "/$")) or HALVES.search(full) else full


def _of_tool(reading: CallReading) -> Iterator[MadeFile]:
    for effect in reading.tool_effects:
        if effect.kind not in _WRITES or effect.place == "remote":
            continue
        path = _path(effect.target, reading.where, "")
        if "deletes" in effect.flags:
            yield MadeFile("removed", path)
            continue
        content = reading.params.get("content")
        whole = isinstance(content, str) and reading.tool not in _PATCHES
        if "download" in reading.tool or "fetch" in reading.tool:
            yield MadeFile("wrote", path, reading.tool, "outside", None, whole, "")
            continue
        text = str(content if whole else _new_text(reading, effect.target))[:MAX_EXPECTED_TEXT]
        yield MadeFile("wrote", path, reading.tool, "agent", text, whole, "" if whole else _old_text(reading.params))


def _old_text(params: dict[str, Any]) -> str:
    """What a single edit replaces."""
    edits = params.get("edits")
    edit = edits[0] if isinstance(edits, list) and len(edits) == 1 else {} if edits else params
    texts = [edit[name] for name in _OLD_TEXT if isinstance(edit.get(name), str)] if isinstance(edit, dict) else []
    return texts[0] if len(texts) == 1 and len(texts[0]) <= MAX_EXPECTED_TEXT else ""


def _new_text(reading: CallReading, path: str) -> str:
    """What an edit or a patch adds to a file, as far as its parameters show."""
    params = reading.params
    if reading.tool not in _PATCHES:
        return "\n".join(_texts({name: value for name, value in params.items() if name not in _NO_TEXT}, 0))
    texts, of_file = list[str](), False
    for line in str(params.get("input") or params.get("patch") or "")[: 4 * MAX_EXPECTED_TEXT].split("\n"):
        if match := _PATCH_FILE.match(line):
            of_file = match[1].strip() == path
        elif of_file and line.startswith("+"):
            texts.append(line[1:])
    return "\n".join(texts)


def _texts(value: object, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list) and depth < 4:  # noqa: PLR2004 - levels
        for item in value[:50]:
            yield from _texts(item, depth + 1)
    elif isinstance(value, dict) and depth < 4:  # noqa: PLR2004 - levels
        for name, item in value.items():
            if name not in _NO_TEXT:
                yield from _texts(item, depth + 1)


def _of_command(effects: tuple[Effect, ...], runs: tuple[ProgramRun, ...], where: Where) -> Iterator[MadeFile]:
    paired: set[int] = set()
    for effect in effects:
        program = effect.program
        if program is None:
            continue
        if effect.kind in ("move", "link", *_WRITES) and (pairs := tuple(file_programs.copied(program, where))):
            if id(program) not in paired:
                paired.add(id(program))
                if effect.kind == "move" and {"each", "leftover"} <= effect.flags:
                    continue  # `find . -name '*.tmp' -exec mv {} out/`: nothing that anybody misses
                yield from _of_pairs(program, pairs, where, effect.target if "each" in effect.flags else "")
        elif effect.kind == "delete":
            yield MadeFile("removed", _path(effect.target, where, program.cwd), many="filtered" in effect.flags)
        elif effect.kind in _WRITES and effect.place not in ("remote", "null"):
            host = _host(program) if "fetched" in effect.flags or _is_fed_by_fetcher(program) else None
            path = _path(effect.target, where, program.cwd)
            yield MadeFile("wrote", path, program.name if host is None else host, "agent" if host is None else "outside")
    for program in runs:
        if program.name in _FETCH_FOLDERS:
            yield from _unpacked(program, where)


def _of_pairs(program: ProgramRun, pairs: tuple[tuple[str, str], ...], where: Where, folder: str) -> Iterator[MadeFile]:
    """`folder`: where another program chose files whose names are not known (`find FOLDER -exec mv {} x`). Any of its files
    may lie in the target then."""
    kind: Literal["moved", "copied", "linked"] = (
        "moved"
        if program.name == "mv"
        else "linked"
        if program.name == "ln" or "--symbolic-link" in program.argv
        else "copied"
    )
    for before, after in pairs:
        if kind == "moved" and basename(before.rstrip("/")) in _NEVER_MOVED:
            continue
        meant = _meant(before, folder) if kind == "moved" else ""
        if meant:
            target = _path(after.removesuffix(f"/{basename(before)}"), where, program.cwd)
            yield MadeFile(kind, target, _pattern(meant, where, program.cwd), many=True)
            continue
        landing = _path(after, where, program.cwd)
        at = landing.rpartition("/")[0] if kind == "linked" and not before.startswith(("/", "~", "$")) else program.cwd
        merged = basename(before.rstrip("/")) in (".", "..") or is_never_folder(program.words)
        yield MadeFile(kind, landing, _path(before, where, at), merged=merged)


def _meant(before: str, folder: str) -> str:
    """The pattern of what is moved, where it is not one known file; empty where it is, or where nothing is known of it."""
    if UNKNOWN not in before:
        return before if GLOB.search(before) else ""
    if folder:
        return f"{folder.rstrip('/')}/*"
    return "" if before.startswith(UNKNOWN) else before.replace(UNKNOWN, "*")


def _is_fed_by_fetcher(program: ProgramRun) -> bool:
    return program.name in FETCHERS or (program.stdin is not None and not FETCHERS.isdisjoint(program.stdin.programs))


def _host(program: ProgramRun) -> str:
    address = next((match for word in program.argv[1:] if (match := _ADDRESS.search(word[:1_000]))), None)
    return HALVES.sub("\ufffd", address[1] or address[2]) if address else "another machine"


def _unpacked(program: ProgramRun, where: Where) -> Iterator[MadeFile]:
    """Folders that are there as a whole: a clone, an archive that is unpacked into a folder that the command names."""
    if program.name == "git":
        for landing in landings(program):
            if _ADDRESS.search(landing.source[:1_000]):
                yield MadeFile("wrote", _folder(landing.folder, program, where), _host(program), "outside")
    elif unpacking.unpacks(program) and (folder := unpacking.folder_of(program)):
        yield MadeFile("wrote", _folder(folder, program, where), program.name, "outside")


def _folder(word: str, program: ProgramRun, where: Where) -> str:
    """Not one that other files are in: what is in the folder counts as made by the call."""
    path = _path(word, where, program.cwd)
    own = (where.cwd, where.home, where.workspace, "/")
    return "" if any(folder == path or folder.startswith(f"{path}/") for folder in own if folder) else path
