"""Deleting, moving, copying, linking and writing files."""

from __future__ import annotations

from collections.abc import Iterator
from posixpath import basename, split

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import UNKNOWN, Effect, ProgramRun
from toolguard_engine.effects.facts.gateway_file_paths import is_state
from toolguard_engine.effects.facts.place_names import word_set
from toolguard_engine.effects.facts.places import Where, marks, normal, place
from toolguard_engine.effects.landings.copied_files import is_folder_by_option, is_never_folder, sources_and_target
from toolguard_engine.effects.manuals import manual_catalogue, option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs import (
    Act,
    ManualAct,
    by_manual,
    effect_on,
    operands,
    secrets_read,
    worth_checking,
    write_effects,
)

_FOLDERS = frozenset(["root", "home", "workspace", "credentials"])
"""Places whose names usually mean the folder: what is copied there keeps its own name in it."""


def _rm(program: ProgramRun, where: Where) -> Iterator[Effect]:
    flags = program.words.traits & _RM_FLAGS
    for path in worth_checking(operands(program)):
        yield effect_on("delete", path, program, where, flags)


_RM_FLAGS = frozenset({"recursive", "forced", "wiped", "no-preserve-root"})


def _wipe(program: ProgramRun, where: Where) -> Iterator[Effect]:
    flags = ["wiped", *(["recursive"] if program.words.recursive else [])]
    for path in worth_checking(operands(program)):
        effect = effect_on("delete", path, program, where, flags)
        yield effect if effect.place != "device" else effect_on("write", path, program, where, ["erases"])


def _rmdir(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """Removing an empty folder loses nothing; Windows deletes the content with `/s`."""
    if any(word.lower() == "/s" for word in program.argv[1:]):
        for path in program.argv[1:]:
            if path[:1] != "/" or len(path) > 2:  # noqa: PLR2004 - `/s`, `/q` are options
                yield effect_on("delete", path, program, where, ["recursive"])


def _del(program: ProgramRun, where: Where) -> Iterator[Effect]:
    recursive = ["recursive"] if any(word.lower() in ("/s", "-recurse", "-r") for word in program.argv[1:]) else []
    for path in program.words.texts:
        if path[:1] != "/" or len(path) > 2:  # noqa: PLR2004 - `/s`, `/q` are options
            yield effect_on("delete", path, program, where, recursive)


def _mv(program: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    sources, target = sources_and_target(program, words)
    if target and place(target, where, program.cwd) == "null":
        yield from (effect_on("empty", path, program, where, ["moved-away"]) for path in sources)
        return
    for path in worth_checking(sources):
        landing = _landing(path, target, len(sources), program, words, where)
        yield effect_on("move", path, program, where, ["to-temp"] if place(landing, where, program.cwd) == "temp" else ())
        yield from write_effects(landing, program, where)


def _cp(program: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    sources, target = sources_and_target(program, words)
    yield from secrets_read(sources, program, where, "copied")
    if words.trait("recursive"):
        yield from (
            effect_on("pack", path, program, where)
            for path in worth_checking(sources)
            if place(path, where, program.cwd) in ("root", "home")
        )
    if program.name == "install" and words.has("--directory"):
        return
    for path in worth_checking(sources):
        landing = _landing(path, target, len(sources), program, words, where)
        if path == "/dev/null":
            yield effect_on("empty", landing, program, where)
        else:
            source = place(path, where, program.cwd)
            if basename(path) in _SHELLS and source == "system":
                yield effect_on("disguise", landing, program, where)
            backup = ["backup"] if _is_backup(landing, path) else []
            yield from write_effects(landing, program, where, "erases" if source == "null" else "copied", *backup)


_SHELLS = program_catalogue.programs("copied_as_disguise")
_BACKUP = lazy_re.compile(
    r"~|[.~_-](?i:bak|back|backup|old|orig|original|saved?|copy|prev|before|pre)[.~_+-]?[\w.:+\0-]{0,60}"
    r"|[.~_-](?:\d{4}[\w.:+-]{0,40}|\0[\w.:+\0-]{0,40})"
)


def _is_backup(landing: str, path: str) -> bool:
    """Whether a file is copied beside itself, its own name with an ending that says so, a date, or an unknown one; or into
    a folder of backups there, under a name that begins like its own."""
    source = path.rstrip("/")
    if landing.startswith(source):
        return _BACKUP.fullmatch(landing[len(source) :]) is not None
    folder, name = split(source)
    inside = landing.removeprefix(f"{folder}/" if folder else "")
    kept, _, copy = inside.partition("/")
    stem = name.partition(".")[0]
    return bool(stem) and _BACKUPS.fullmatch(kept) is not None and "/" not in copy and copy.startswith(stem)


_BACKUPS = lazy_re.compile(r"\.?(?i:backups?|baks?|archived?|old|snapshots?|saved?)")
"""Folders in which copies of what lies beside them are kept."""


def _ln(program: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    sources, target = sources_and_target(program, words)
    if not target and sources:
        return
    for path in worth_checking(sources):
        landing = _landing(path, target, len(sources), program, words, where)
        if path == "/dev/null":
            yield effect_on("empty", landing, program, where)
        else:
            own = marks(path, where, program.cwd) & {"gateway-file"}
            yield effect_on("link", landing, program, where, own)
            yield from secrets_read([path], program, where, "linked")


def new_names(program: ProgramRun, where: Where) -> Iterator[tuple[str, str, bool]]:
    """The paths under which a move or a link makes others available: source, new path, whether that is a link."""
    for words in program.readings if program.name in RENAMERS else ():
        links = "links" in words.does or words.has("--symbolic-link")
        if "copies" in words.does and not links and not words.has("--link"):
            continue
        sources, target = sources_and_target(program, words)
        if not target and links and sources:
            target = basename(sources[0].rstrip("/"))
        for path in sources[:_MOST_NAMES] if target else ():
            yield path, _landing(path, target, len(sources), program, words, where), links


RENAMERS = frozenset().union(*map(manual_catalogue.aliases, ("mv", "ln", "cp")))
_MOST_NAMES = 64


def _plutil(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """It edits property lists in place unless `-o` names another file."""
    if program.argv[1:2] and program.argv[1] in ("-convert", "-create", "-insert", "-remove", "-replace"):
        named = program.argv[program.argv.index("-o") + 1 :][:1] if "-o" in program.argv else program.argv[-1:]
        for path in named:
            yield from write_effects(path, program, where, "in-place")


def _landing(source: str, target: str, count: int, program: ProgramRun, words: CommandWords, where: Where) -> str:
    """The path of the copy: inside the target if an option says so, or if that is likely a folder."""
    name = basename(source.rstrip("/"))
    if not target or not name or name in ("*", ".", "..", UNKNOWN) or is_never_folder(words):
        return target
    if is_folder_by_option(words):
        return f"{target.rstrip('/')}/{name}"
    if basename(target.rstrip("/")) in ("..", ".") or is_state(normal(target, where, program.cwd), where.state_dir):
        return f"{target.rstrip('/')}/{name}"
    is_folder = (
        target.endswith("/") or count > 1 or (place(target, where, program.cwd) in _FOLDERS and basename(target) != name)
    )
    if not is_folder or target.endswith(name) or "." in basename(target)[1:]:
        return target
    return f"{target.rstrip('/')}/{name}"


_PUBLISHED = word_set("public site _site www htdocs html static gh-pages dist release publish deploy")
"""Folders into which what was built is copied."""


def _all_built(sources: list[str], program: ProgramRun, where: Where) -> bool:
    return bool(sources) and all(place(path, where, program.cwd) == "artefact" for path in sources)


def _rsync(program: ProgramRun, words: CommandWords, where: Where) -> Iterator[Effect]:
    sources, target = sources_and_target(program, words)
    if words.rehearses:
        return
    yield from secrets_read(sources, program, where, "copied")
    if not target:
        return
    if words.trait("deletes") and place(target, where, program.cwd) != "remote":
        rebuilt = ["rebuilt"] if basename(target.rstrip("/")) in _PUBLISHED and _all_built(sources, program, where) else []
        yield effect_on("delete", target, program, where, ["recursive", "mirror", *rebuilt])
    if words.trait("moves"):
        yield from (effect_on("delete", path, program, where, ["recursive"]) for path in sources)
    named = (path for path in worth_checking(sources) if not path.endswith("/"))
    landed = (_landing(path, target, len(sources), program, words, where) for path in named)
    for path in dict.fromkeys((target, *landed)):
        yield from write_effects(path, program, where, "copied")


def _tee(program: ProgramRun, where: Where) -> Iterator[Effect]:
    appends = program.words.has("--append")
    flags = ["append"] if appends else ["truncates"]
    fed = [
        *(program.stdin.files if program.stdin else ()),
        *(redirect.target for redirect in program.redirects if redirect.kind == "read"),
    ]
    if fed and all(path == "/dev/null" for path in fed) and not appends:
        yield from (effect_on("empty", path, program, where) for path in operands(program))
        return
    if any(path in _NOISE for path in fed):
        flags = ["erases"]
    for path in worth_checking(operands(program)):
        yield from write_effects(path, program, where, *flags)


_NOISE = frozenset(["/dev/zero", "/dev/urandom", "/dev/random"])


def _truncate(program: ProgramRun, where: Where) -> Iterator[Effect]:
    size = program.words.last("--size")
    for path in worth_checking(operands(program)):
        if size.lstrip("=<").strip("0kKMGB") == "" and size:
            yield effect_on("empty", path, program, where)
        else:
            yield from write_effects(path, program, where)


def _touch(program: ProgramRun, where: Where) -> Iterator[Effect]:
    words = program.words
    dated = words.has("-t", "--reference", "--date")
    like = "" if words.has("-t", "--date", "--adjust") else words.last("--reference")
    for path in worth_checking(operands(program)):
        is_converted = bool(like) and path.lower().endswith(_MEDIA)
        yield from write_effects(path, program, where, "touched", *(["dated"] if dated and not is_converted else []))


_MEDIA = (
    ".mp4", ".mkv", ".mov", ".avi", ".webm", ".m4v", ".mp3", ".m4a", ".flac", ".opus", ".ogg", ".wav",
    ".jpg", ".jpeg", ".png", ".webp", ".avif", ".heic", ".tif", ".tiff", ".gif", ".pdf",
)  # fmt: skip
"""A converted photo, film or scan often gets the time of its original. Nothing of the kind runs."""


def _outputs(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """Programs that write to a path that an option names, or to their last word."""
    for path in program.words.named("output", "target"):
        yield from write_effects(path.text, program, where)


def _split(program: ProgramRun, where: Where) -> Iterator[Effect]:
    words = operands(program)
    yield from secrets_read(words[:1], program, where)
    yield from write_effects(words[1] if len(words) > 1 else "", program, where)


_GPG = program_catalogue.programs("gpg")


def _editor(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """Editors that are given commands: `ed -s f <<<w`, `ex -sc ... f`, `vim -c ... f`."""
    for path in operands(program):
        if not path.startswith("+"):
            yield from write_effects(path, program, where, "in-place")
            if _EMPTIES.search("\n".join((*program.argv[1:], (program.stdin and program.stdin.text) or ""))[:_MAX_COMMANDS]):
                yield effect_on("empty", path, program, where)


_MAX_COMMANDS = 4_000
_EMPTIES = lazy_re.compile(r"(?m)(?:^|[|:+])(?:(?:%|1?,\$?)d(?:elete)?|(?:normal!? )?ggdG)(?:$|[|\s])")
"""All lines are deleted."""


def _crypted(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """A file left unreadable without the key, as ransomware does, unless it is a project file."""
    inputs = operands(program)
    if program.name in _GPG and not program.words.has("--symmetric", "--encrypt"):
        return
    yield from (effect_on("encrypt", path, program, where) for path in inputs)
    yield from secrets_read(inputs, program, where)


def _aliased(table: dict[str, Act]) -> dict[str, Act]:
    """Adds GNU names with the prefix `g`, used on systems with other tools of the same name."""
    return {**table, **{f"g{name}": act for name, act in table.items() if name not in _NO_GNU}}


_NO_GNU = program_catalogue.programs("no_gnu_form")


def _rimraf(program: ProgramRun, where: Where) -> Iterator[Effect]:
    for path in operands(program):
        yield effect_on("delete", path, program, where, ["recursive", "forced"])


_CMAKE = {"rm": "rm", "remove": "rm", "remove_directory": "rm", "copy": "cp", "copy_directory": "cp", "rename": "mv"}


def _cmake(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """`cmake -E rm -rf path` and its other portable commands."""
    if not program.words.has("-E") or program.argv[2:3] == () or program.argv[2] not in _CMAKE:
        return
    name = _CMAKE[program.argv[2]]
    deep = ("-r",) if program.argv[2].endswith("directory") else ()
    argv = (name, *deep, *program.argv[3:])
    if name == "rm":
        places = [*[-1] * (1 + len(deep)), *range(3, len(program.argv))]
        yield from _rm(program.with_words(argv, name, places), where)
        return
    for words in option_parser.readings(name, argv):
        yield from _COPIES[name](program, words, where)


def _discards(program: ProgramRun) -> Iterator[Effect]:
    """One `discard` for each file whose older version `git restore` or `git checkout` writes over it."""
    words = next((words for words in program.readings if words.verb in _BRINGING_BACK), None)
    if words is None:
        return
    operands = [word for word in words.operands if word.at > words.end] or [*words.values("-b", "-B", "--orphan")]
    paths = [word.text for word in operands]
    odd = words.has("--pathspec-from-file", "--source", "--patch", "--force") or any(path[:1] == ":" for path in paths)
    elsewhere = words.verb_at > 1  # `git -C elsewhere`
    for path in [UNKNOWN] if elsewhere or odd or not paths or len(paths) > MAX_DISCARDED else paths:
        yield Effect("discard", path, "", frozenset(), program)


def _cleaned(program: ProgramRun, where: Where) -> Effect:
    """The folder whose untracked files `git clean` removes; unknown where other words may choose it."""
    words = program.words
    folders = [value.text for value in words.values("-C") if value.at < words.verb_at]
    known = words.verb == "clean" and words.verb_at == 1 + 2 * len(folders) and len(folders) < 2 and all(folders)  # noqa: PLR2004 - `-C folder`
    folder = "".join(folders) or "." if known and not words.operands and not words.has("-e") else UNKNOWN
    return effect_on("discard", normal(folder, where, program.cwd), program, where, ["recursive"])


_BRINGING_BACK = frozenset({"restore", "checkout", "co"})


MAX_DISCARDED = 8
"""Files that are looked up, which takes time for each."""


def _git(program: ProgramRun, where: Where) -> Iterator[Effect]:
    """`git config -f file name value` writes the file; `git restore FILE` and `git clean` discard changes, and `git worktree
    remove --force` deletes a folder with them."""
    for reading in program.readings:
        if reading.verb == "worktree remove" and reading.has("--force"):
            named = (UNKNOWN,) if reading.has("-C", "--git-dir", "--work-tree") else reading.texts
            yield from (effect_on("delete", path, program, where, ["recursive"]) for path in named)
    if "clean" in program.argv:
        yield _cleaned(program, where)
    words = next((words for words in program.readings if words.verb == "config"), None)
    if words is None:
        yield from _discards(program)
        return
    asks = words.trait("lists") or len(words.operands) < 2 or words.texts[0] in ("get", "list")  # noqa: PLR2004 - a name and a value
    if not asks:
        yield from write_effects(words.last("--file"), program, where, "in-place")


_COPIES: dict[str, ManualAct] = {"mv": _mv, "cp": _cp, "ln": _ln, "install": _cp, "ditto": _cp, "rsync": _rsync}

PROGRAMS: dict[str, Act] = _aliased({
    "rm": _rm, "unlink": _rm, "shred": _wipe, "rmdir": _rmdir, "tee": _tee, "truncate": _truncate,
    "touch": _touch, "split": _split, "csplit": _split, "sort": _outputs, "plutil": _plutil,
}) | {
    **{alias: by_manual(act) for name, act in _COPIES.items() for alias in manual_catalogue.aliases(name)},
    "srm": _wipe, "wipe": _wipe, "scrub": _wipe, "sfill": _wipe, "secure-delete": _wipe, "nwipe": _wipe,
    "rd": _rmdir, "del": _del, "erase": _del, "Remove-Item": _del, "rimraf": _rimraf, "del-cli": _rimraf,
    "sponge": _tee, "ed": _editor, "ex": _editor, "vim": _editor, "vi": _editor, "nvim": _editor,
    **dict.fromkeys(_GPG, _crypted), "ccencrypt": _crypted, "ccrypt": _crypted, "age": _crypted,
    "mcrypt": _crypted, "git": _git, "cmake": _cmake,
    "less": _outputs, "xxd": _outputs, **dict.fromkeys(manual_catalogue.aliases("base64"), _outputs),
}  # fmt: skip


def copied(program: ProgramRun, where: Where) -> Iterator[tuple[str, str]]:
    """The paths of what is copied, moved or linked, before and after; nothing for other programs."""
    if program.name not in _PAIRED:
        return iter(())
    if len(program.argv) > _MOST_NAMES:
        return _copied(program, where)
    known: tuple[Where, tuple[tuple[str, str], ...]] | None = program.__dict__.get("copied")
    if known is None or known[0] is not where:
        known = program.__dict__["copied"] = where, tuple(_copied(program, where))
    return iter(known[1])


def _copied(program: ProgramRun, where: Where) -> Iterator[tuple[str, str]]:
    for words in program.readings:
        sources, target = sources_and_target(program, words)
        for path in worth_checking(sources) if target else ():
            yield path, _landing(path, target, len(sources), program, words, where)


_PAIRED = frozenset().union(*map(manual_catalogue.aliases, ("mv", "cp", "ln", "install")))
