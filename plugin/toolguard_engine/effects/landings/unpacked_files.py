"""Where programs that unpack archives put what is in them. The names in an archive are not known."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from msgspec.structs import replace

from toolguard_engine.effects import program_catalogue
from toolguard_engine.effects.landings.copied_files import has
from toolguard_engine.effects.landings.landing import Landing, Lands, ListedLands, inside, last_part
from toolguard_engine.effects.programs.getopt import options
from toolguard_engine.effects.shell.command import UNKNOWN, ProgramRun

TARS = program_catalogue.programs("tar")
_TAR_LETTERS = "fbgCKNTVXHIL"
_TAR_LONG = frozenset({
    "--directory", "--cd", "--file", "--blocking-factor", "--listed-incremental", "--format", "--use-compress-program",
    "--starting-file", "--tape-length", "--newer", "--after-date", "--files-from", "--label", "--exclude-from", "--exclude",
    "--transform", "--xform", "--strip-components", "--owner", "--group", "--mode", "--mtime", "--to-command",
    "--rsh-command", "--newer-mtime", "--suffix",
})  # fmt: skip
_GNU = frozenset({"tar", "gtar"})
_FEW_LETTERS = "fbCTX"
"""Those of other programs than GNU tar."""

_TAR_ENDS = re.compile(r"\.(?:tar(?:\.\w{1,5})?|t[abglx]z\w?|tzst)\Z")


def _tar(run: ProgramRun) -> Iterator[Landing]:
    """`-C` counts from the last `-C`; every folder on the way may get files."""
    letters = _TAR_LETTERS if run.name in _GNU else _FEW_LETTERS
    run = replace(run, argv=(run.argv[0], *_dashed(run.argv[1:], letters)))
    words = options(run, _TAR_LONG.union(f"-{letter}" for letter in letters))
    if not has(words, "-x", "--extract", "--get") or has(words, "-O", "--to-stdout"):
        return
    overwrites = not has(words, "-k", "--keep-old-files", "--skip-old-files")
    folders, at = list[str](), ""
    for value in words.values("-C", "--directory", "--cd"):
        at = inside(at, value.text)
        folders.append(at)
    name = _top_level(words.last("-f", "--file")) if has(words, "--one-top-level") else ""
    name = words.last("--one-top-level") or name
    yield from (Landing(UNKNOWN, inside(folder, name), overwrites=overwrites) for folder in folders or ["."])
    if has(words, "-P", "--absolute-names", "--absolute-paths"):
        yield Landing(UNKNOWN, "/", overwrites=overwrites, when="absolute-names")


def _dashed(words: tuple[str, ...], valued: str) -> Iterator[str]:
    """Old options without a dash take their values from the next words, in order: `tar xfC a.tar d`."""
    if not words or words[0].startswith("-") or UNKNOWN in words[0]:
        yield from words
        return
    at = 1
    for letter in words[0]:
        yield f"-{letter}"
        if letter in valued:
            yield from words[at : at + 1]
            at += 1
    yield from words[at:]


def _top_level(archive: str) -> str:
    """The folder that `--one-top-level` makes."""
    return _TAR_ENDS.sub("", last_part(archive)) if archive not in ("", "-") else UNKNOWN


_UNZIP = frozenset({"-d", "-P"})
_ONLY_SHOWS = ("-l", "-v", "-t", "-Z", "-z", "-p", "-c")


def _unzip(run: ProgramRun) -> Iterator[Landing]:
    words = options(run, _UNZIP)
    if has(words, *_ONLY_SHOWS) or not words.operands:
        return
    overwrites = not has(words, "-n")
    yield Landing(UNKNOWN, words.last("-d") or ".", overwrites=overwrites)
    if has(words, "-:"):
        yield Landing(UNKNOWN, "/", overwrites=overwrites, when="absolute-names")


def _by_verb(run: ProgramRun, *, verbs: str, folder: tuple[str, ...]) -> Iterator[Landing]:
    """`7z x a.7z -oDIR`: a verb, and an option with the folder attached to it, or as the next word."""
    words = run.argv[1:]
    at = next((at for at, word in enumerate(words) if not word.startswith("-") or word[1:] in verbs.split()), -1)
    if at < 0 or (verbs and words[at].lstrip("-") not in verbs.split()):
        return
    if "-so" in words:
        return
    found = ""
    for at, word in enumerate(words):
        for option in folder:
            if word.startswith(option):
                found = word[len(option) :].lstrip("=") or "".join(words[at + 1 : at + 2])
    yield Landing(UNKNOWN, found or ".")
    if any(word.startswith("-spf") for word in words):
        yield Landing(UNKNOWN, "/", when="absolute-names")


def _unrar(run: ProgramRun) -> Iterator[Landing]:
    """A last word with a slash at its end is the folder."""
    named = [word for word in run.argv[1:] if not word.startswith("-")]
    if named[:1] in (["x"], ["e"]):
        last = named[-1]
        yield Landing(UNKNOWN, last if len(named) > 2 and (last.endswith("/") or last in (".", "..", "~")) else ".")  # noqa: PLR2004 - verb, archive, folder


_CPIO = frozenset(
    {"-D", "--directory", "-F", "--file", "-E", "--pattern-file", "-H", "--format", "-I", "-O", "-R", "--owner", "-C", "-M"}
)
_MAX_NAMES = 200


def _cpio(run: ProgramRun, before: tuple[ProgramRun, ...]) -> Iterator[Landing]:
    words = options(run, _CPIO)
    if has(words, "-i", "--extract") and not has(words, "-t", "--list", "--to-stdout"):
        yield Landing(UNKNOWN, words.last("-D", "--directory") or ".")
        if not has(words, "--no-absolute-filenames") and run.name != "bsdcpio":
            yield Landing(UNKNOWN, "/", when="absolute-names")
    elif has(words, "-p", "--pass-through") and words.operands:
        yield from _listed(run, before, words.operands[-1].text)


def _listed(run: ProgramRun, before: tuple[ProgramRun, ...], target: str) -> Iterator[Landing]:
    """What names on standard input say is copied to the same names below the target."""
    text = run.stdin_text
    if text and text.count("\n") + text.count("\0") < _MAX_NAMES:
        for name in filter(None, re.split(r"[\n\0]", text)):
            yield from _kept_path(name, target, deep=False)
        return
    found = next((each for each in reversed(before) if each.name == "find"), None)
    if found is not None and run.stdin is not None and run.stdin.programs == ("find",):
        for start in _starts(found):
            yield from _kept_path(start, target, deep=True)
    else:
        yield Landing(UNKNOWN, target)


def _starts(run: ProgramRun) -> list[str]:
    """The folders from which `find` starts."""
    words = [word for word in run.argv[1:] if word not in ("-L", "-H", "-P")]
    end = next((at for at, word in enumerate(words) if word.startswith(("-", "(", "!"))), len(words))
    return words[:end] or ["."]


def _kept_path(source: str, target: str, *, deep: bool) -> Iterator[Landing]:
    """Copied under the whole path that is named."""
    name = source.lstrip("/") if last_part(source) else ""
    if UNKNOWN in source or name.startswith(("~", "$")):
        name = ""
    yield Landing(source, target, name, deep or not name)


_PAX = frozenset({"-f", "-s", "-x", "-b", "-o", "-p", "-B", "-E", "-T", "-U", "-G"})


def _pax(run: ProgramRun, before: tuple[ProgramRun, ...]) -> Iterator[Landing]:
    words = options(run, _PAX)
    if not has(words, "-r"):
        return
    if not has(words, "-w"):
        yield Landing(UNKNOWN, ".")
        yield Landing(UNKNOWN, "/", when="absolute-names")
    elif words.operands:
        *sources, target = [word.text for word in words.operands]
        if has(words, "-s"):
            yield Landing(UNKNOWN, target)
        elif sources:
            for source in sources:
                yield from _kept_path(source, target, deep=True)
        else:
            yield from _listed(run, before, target)


_PYTHON_MODULES = frozenset({"zipfile", "tarfile"})


def by_python_module(run: ProgramRun) -> Iterator[Landing]:
    """`python -m zipfile -e a.zip d`, `python -m tarfile -e a.tar d`."""
    at = next((at for at, word in enumerate(run.argv) if word == "-m" and run.argv[at + 1 : at + 2]), 0)
    module, *words = run.argv[at + 1 :] if at else ("",)
    if module not in _PYTHON_MODULES or not any(word in ("-e", "--extract") for word in words):
        return
    named = [word for word in words if not word.startswith("-")]
    yield Landing(UNKNOWN, named[1] if len(named) > 1 else ".")


def _patch(run: ProgramRun) -> Iterator[Landing]:
    """A patch names the files that it changes, unless the command does."""
    words = options(
        run, frozenset({"-d", "--directory", "-i", "--input", "-p", "--strip", "-o", "--output", "-F", "-B", "-V", "-z"})
    )
    if has(words, "--dry-run", "-o", "--output"):
        return
    folder = words.last("-d", "--directory") or "."
    if words.operands:
        yield Landing(UNKNOWN, inside(folder, words.operands[0].text), deep=False)
    else:
        yield Landing(UNKNOWN, folder)


PROGRAMS: dict[str, Lands] = {
    **dict.fromkeys(TARS, _tar),
    "unzip": _unzip, "unrar": _unrar, "rar": _unrar,
    **dict.fromkeys(("7z", "7za", "7zz", "7zr"), partial(_by_verb, verbs="x e", folder=("-o",))),
    "unar": partial(_by_verb, verbs="", folder=("-o", "-output-directory")),
    "cabextract": partial(_by_verb, verbs="", folder=("-d", "--directory")),
    "jar": partial(_by_verb, verbs="x xf xvf xfv xvfp", folder=("-C",)),
    "patch": _patch,
}  # fmt: skip
LISTED: dict[str, ListedLands] = {"cpio": _cpio, "bsdcpio": _cpio, "pax": _pax}
"""Programs that may be given the names of files on standard input."""
