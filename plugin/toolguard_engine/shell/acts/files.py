"""Deleting, moving, copying, linking and writing files."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from posixpath import basename

from toolguard_engine.shell.acts import Act, asked, on, operands, secrets_read, stays, telling, wrote
from toolguard_engine.shell.acts.getopt import Options, options
from toolguard_engine.shell.model import UNKNOWN, Effect, Run
from toolguard_engine.shell.placenames import words as names
from toolguard_engine.shell.places import Where, place

_NONE: frozenset[str] = frozenset()
_TARGET = frozenset(["-t", "--target-directory", "-S", "--suffix"])
_INSTALL = _TARGET | {"-m", "--mode", "-o", "--owner", "-g", "--group"}
_RSYNC = names(
    "-e --rsh --exclude --include --filter -f --files-from --exclude-from --include-from --log-file --bwlimit "
    "--timeout --port "
    "--password-file --temp-dir -T --backup-dir --suffix --chmod --chown --partial-dir --compare-dest --link-dest -B"
)
_SHRED = frozenset(["-n", "--iterations", "-s", "--size", "--random-source"])
_TRUNCATE = frozenset(["-s", "--size", "-r", "--reference"])
_FOLDERS = frozenset(["root", "home", "workspace", "credentials"])
"""Places whose names a person uses for the folder: what is copied there keeps its own name in it."""


def _rm(run: Run, where: Where) -> Iterator[Effect]:
    words = options(run, _NONE)
    flags = [name for name, given in _RM_FLAGS.items() if asked(words, *given)]
    for path in telling(operands(words, run)):
        yield on("delete", path, run, where, flags)


_RM_FLAGS = {
    "recursive": ("-r", "-R", "--recursive"), "forced": ("-f", "--force"), "wiped": ("-P",),
    "no-preserve-root": ("--no-preserve-root",),
}  # fmt: skip


def _wipe(run: Run, where: Where) -> Iterator[Effect]:
    words = options(run, _SHRED)
    flags = ["wiped", *(["recursive"] if asked(words, "-r", "-R", "--recursive") else [])]
    for path in telling(operands(words, run)):
        found = on("delete", path, run, where, flags)
        yield found if found.place != "device" else on("write", path, run, where, ["erases"])


def _rmdir(run: Run, where: Where) -> Iterator[Effect]:
    """A folder that is empty is no loss; `/s` is how Windows asks for all that is in it."""
    if any(word.lower() == "/s" for word in run.argv[1:]):
        for path in run.argv[1:]:
            if path[:1] != "/" or len(path) > 2:  # noqa: PLR2004 - `/s`, `/q` are options
                yield on("delete", path, run, where, ["recursive"])


def _del(run: Run, where: Where) -> Iterator[Effect]:
    recursive = ["recursive"] if any(word.lower() in ("/s", "-recurse", "-r") for word in run.argv[1:]) else []
    for path in run.argv[1:]:
        if path[:1] != "-" and (path[:1] != "/" or len(path) > 2):  # noqa: PLR2004
            yield on("delete", path, run, where, recursive)


def _mv(run: Run, where: Where) -> Iterator[Effect]:
    sources, target = _sources_and_target(options(run, _TARGET), run)
    if target and place(target, where, run.cwd) == "null":
        yield from (on("empty", path, run, where, ["moved-away"]) for path in sources)
        return
    for path in telling(sources):
        yield on("move", path, run, where)
        yield from wrote(_landing(path, target, len(sources), run, where), run, where)


def _cp(run: Run, where: Where, valued: frozenset[str] = _TARGET) -> Iterator[Effect]:
    words = options(run, valued)
    sources, target = _sources_and_target(words, run)
    yield from secrets_read(sources, run, where, "copied")
    if asked(words, "-r", "-R", "-a", "--recursive", "--archive"):
        yield from (
            on("pack", path, run, where) for path in telling(sources) if place(path, where, run.cwd) in ("root", "home")
        )
    if run.name == "install" and asked(words, "-d", "--directory"):
        return
    for path in telling(sources):
        landing = _landing(path, target, len(sources), run, where)
        if path == "/dev/null":
            yield on("empty", landing, run, where)
        else:
            source = place(path, where, run.cwd)
            if basename(path) in _SHELLS and source == "system":
                yield on("disguise", landing, run, where)
            yield from wrote(landing, run, where, *(["erases"] if source == "null" else ["copied"]))


_SHELLS = frozenset(["sh", "bash", "dash", "zsh", "ksh", "python", "python3", "perl", "nc", "curl"])


def _ln(run: Run, where: Where) -> Iterator[Effect]:
    words = options(run, _TARGET)
    sources, target = _sources_and_target(words, run)
    if not target and sources:
        return
    for path in telling(sources):
        landing = _landing(path, target, len(sources), run, where)
        if path == "/dev/null":
            yield on("empty", landing, run, where)
        else:
            yield on("link", landing, run, where)
            yield from secrets_read([path], run, where, "linked")


def _sources_and_target(words: Options, run: Run) -> tuple[list[str], str]:
    named = operands(words, run)
    target = words.last("-t", "--target-directory")
    if target:
        return named or [UNKNOWN], target
    if len(named) == 1:
        return ([UNKNOWN], named[0]) if run.via else (named, "")
    return named[:-1], named[-1] if named else ""


def _landing(source: str, target: str, count: int, run: Run, where: Where) -> str:
    """Where a copy ends up: in the target if that is a folder, as far as one can tell."""
    name = basename(source.rstrip("/"))
    if not target or not name or name in ("*", ".", "..", UNKNOWN):
        return target
    is_folder = target.endswith("/") or count > 1 or (place(target, where, run.cwd) in _FOLDERS and basename(target) != name)
    if not is_folder or target.endswith(name) or "." in basename(target)[1:]:
        return target
    return f"{target.rstrip('/')}/{name}"


def _rsync(run: Run, where: Where) -> Iterator[Effect]:
    words = options(run, _RSYNC)
    sources, target = _sources_and_target(words, run)
    if stays(words, ("-n", "--dry-run"), ("--no-dry-run", "--no-n")):
        return
    yield from secrets_read(sources, run, where, "copied")
    if not target:
        return
    if any(name.startswith("--del") for name, _ in words.options):
        yield on("delete", target, run, where, ["recursive", "mirror"])
    if words.has("--remove-source-files"):
        yield from (on("delete", path, run, where, ["recursive"]) for path in sources)
    yield from wrote(target, run, where, "copied")


def _tee(run: Run, where: Where) -> Iterator[Effect]:
    words = options(run, _NONE)
    flags = ["append"] if asked(words, "-a", "--append") else ["truncates"]
    fed = [
        *(run.stdin.files if run.stdin else ()),
        *(redirect.target for redirect in run.redirects if redirect.kind == "read"),
    ]
    if any(path in _NOISE for path in fed):
        flags = ["erases"]
    for path in telling(operands(words, run)):
        yield from wrote(path, run, where, *flags)


_NOISE = frozenset(["/dev/zero", "/dev/urandom", "/dev/random"])


def _truncate(run: Run, where: Where) -> Iterator[Effect]:
    words = options(run, _TRUNCATE)
    size = words.last("-s", "--size")
    for path in telling(operands(words, run)):
        if size.lstrip("=<").strip("0kKMGB") == "" and size:
            yield on("empty", path, run, where)
        else:
            yield from wrote(path, run, where)


def _touch(run: Run, where: Where) -> Iterator[Effect]:
    words = options(run, frozenset(["-t", "-d", "--date", "-r", "--reference", "-A"]))
    flags = ["touched", *(["dated"] if words.has("-t", "-r", "--reference", "-d", "--date") else [])]
    for path in telling(operands(words, run)):
        yield from wrote(path, run, where, *flags)


def _outputs(run: Run, where: Where, valued: frozenset[str], out: tuple[str, ...]) -> Iterator[Effect]:
    """Programs that write where an option says."""
    for path in options(run, valued | set(out)).values(*out):
        yield from wrote(path.text, run, where)


def _split(run: Run, where: Where) -> Iterator[Effect]:
    words = operands(options(run, names("-b -l -C -n -a --bytes --lines --number --suffix-length")), run)
    yield from secrets_read(words[:1], run, where)
    yield from wrote(words[1] if len(words) > 1 else "", run, where)


_VIM = frozenset(["-c", "-S", "-p", "--cmd", "-u", "-s"])
_VIMS = frozenset(["vim", "vi", "nvim", "ex"])


def _editor(run: Run, where: Where) -> Iterator[Effect]:
    """Editors that are given their commands: `ed -s f <<<w`, `ex -sc ... f`, `vim -c ... f`."""
    for path in operands(options(run, _VIM if run.name in _VIMS else _NONE), run):
        if not path.startswith("+"):
            yield from wrote(path, run, where, "in-place")


def _crypted(run: Run, where: Where) -> Iterator[Effect]:
    """What is left of a file is unreadable without the key: the doing of ransomware, when it is no file of the project."""
    words = options(run, _CRYPT_VALUES)
    inputs = [*operands(words, run), *(value.text for value in words.values("-in", "--in"))]
    if run.name in ("gpg", "gpg2"):
        if not asked(words, "-c", "--symmetric", "-e", "--encrypt"):
            return
    elif run.name == "7z" and not any(word.startswith("-p") for word in run.argv[1:]):
        return
    yield from (on("encrypt", path, run, where) for path in inputs)
    yield from secrets_read(inputs, run, where)


_CRYPT_VALUES = names(
    "-o --output -r --recipient --passphrase --passphrase-fd --cipher-algo -K -E -k -u --local-user -R -i --homedir "
    "--pinentry-mode"
)


def _aliased(table: dict[str, Act]) -> dict[str, Act]:
    """GNU's tools have a `g` before their names where the system has its own."""
    return {**table, **{f"g{name}": act for name, act in table.items() if name not in _NO_GNU}}


_NO_GNU = frozenset(["rsync", "pg", "ex", "ed", "pg2"])
_sorts: Act = partial(_outputs, valued=frozenset(["-k", "-t", "-S", "-T", "--key"]), out=("-o", "--output"))


def _rimraf(run: Run, where: Where) -> Iterator[Effect]:
    for path in operands(options(run, _NONE), run):
        yield on("delete", path, run, where, ["recursive", "forced"])


def _git(run: Run, where: Where) -> Iterator[Effect]:
    """`git config -f file name value` writes the file."""
    if "config" not in run.argv[1:6]:
        return
    words = options(run, names("-f --file --type --default"), start=run.argv.index("config") + 1)
    path = words.last("-f", "--file")
    asks = words.has("--get", "--get-all", "--get-regexp", "-l", "--list", "--get-urlmatch") or len(words.operands) < 2  # noqa: PLR2004 - a name and a value
    if path and not asks and words.operands[0].text not in ("get", "list"):
        yield from wrote(path, run, where, "in-place")


PROGRAMS: dict[str, Act] = _aliased({
    "rm": _rm, "unlink": _rm, "shred": _wipe, "rmdir": _rmdir, "mv": _mv, "cp": _cp, "ln": _ln, "tee": _tee,
    "truncate": _truncate,
    "touch": _touch, "split": _split, "csplit": _split, "sort": _sorts, "rsync": _rsync,
    "install": partial(_cp, valued=_INSTALL),
}) | {
    "srm": _wipe, "wipe": _wipe, "scrub": _wipe, "sfill": _wipe, "secure-delete": _wipe, "nwipe": _wipe,
    "rd": _rmdir, "del": _del, "erase": _del, "Remove-Item": _del, "rimraf": _rimraf,
    "sponge": _tee, "ed": _editor, "ex": _editor, "vim": _editor, "vi": _editor, "nvim": _editor,
    "gpg": _crypted, "gpg2": _crypted, "ccencrypt": _crypted, "ccrypt": _crypted, "age": _crypted, "7z": _crypted,
    "mcrypt": _crypted, "git": _git,
}  # fmt: skip
