"""A program that names a protected place only reads it, and so does what may be handed that name; the key is not even read.

What prints paths (`ls`, `find`, `echo`) hands them on by a pipe, a substitution or a loop: then every program of its
pipeline, and every program with an argument that cannot be known, counts as one that names the place.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from toolguard_engine import protectedpaths
from toolguard_engine.layers.protection import grepping, sqlite
from toolguard_engine.layers.protection.copies import working_folders
from toolguard_engine.layers.protection.leftout import COPIERS, SEARCHERS, patterns, without_patterns
from toolguard_engine.layers.protection.scene import (
    AWKS,
    FILES,
    KEY,
    SEDS,
    Finding,
    Scene,
    awk_prints,
    base,
    hands_on,
    holds_ours,
    is_interpreter,
    place_of,
    sed_prints,
    targets,
    texts,
)
from toolguard_engine.protectedpaths import Place
from toolguard_engine.shell.model import UNKNOWN, Run

READERS = frozenset(
    {
        "cat", "ls", "head", "tail", "grep", "egrep", "fgrep", "rg", "jq", "stat", "wc", "file", "less", "more", "find",
        "diff", "cmp", "echo", "printf", "cd", "pwd", "test", "[", "[[", "sort", "uniq", "cut", "tr", "true", "du", "tree",
        "realpath", "readlink", "basename", "dirname", "which", "sleep", "date", ":", "{", "yq", "md5sum", "sha1sum",
        "sha224sum", "sha256sum", "sha384sum", "sha512sum", "shasum", "b2sum", "cksum", "sum", "md5", "xxd", "od", "hexdump",
        "hd", "strings", "bat", "batcat", "nl", "tac", "column", "fold", "rev", "comm", "paste", "join", "gron", "zcat",
        "eza",
        "exa", "lsd", "namei", "getfacl", "lsattr", "mdls",
    }
)  # fmt: skip
_SHOWS_CONTENT = frozenset({"cat", "head", "tail", "jq", "less", "more", "cut", "sort", "uniq", "tr", "diff"})
"""Readers that print what is in a file, and never its name."""

_KEYLESS = frozenset({"ls", "stat", "test", "[", "[[", "du"})
_NAMED_IN = "--files0"
"""An option of `du` that names what is in a file."""

_FINDERS = frozenset({"find", "fd"})
"""Programs that fill in what they find: another law asks what that is."""

_COPY_TO = frozenset({"uniq", "xxd"})
"""Readers that write to a second file that they are given."""

_ONE_FILE = 2
_CHECKED = frozenset({"sort", "rg", "diff", "tree"})
_WRITING_OPTION = re.compile(r"--(?:output|pre)\b|-\w*o")
_FIND_WRITES = re.compile(r"-(?:delete|fprint\w*|fls)")
_FIND_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir"})
_FIND_TESTS = frozenset({"-path", "-ipath", "-wholename", "-iwholename", "-name", "-iname", "-regex", "-iregex"})
"""Tests of `find` with a pattern: which of the files it finds are meant, another law asks."""

_IN_PLACE = re.compile(r"-[A-Za-z]*[is]|--(?:inplace|split-exp|from-file).*")
"""What makes `yq` write, or run an expression that a file holds."""

_RECURSIVE = re.compile(r"-[A-Za-z]*[rR]|--(?:dereference-)?recursive|--directories=recurse")
_BRIEF = re.compile(r"-[A-Za-z]*q|--brief")
_ARCHIVERS = frozenset(
    {
        "pax", "cpio", "rclone", "restic", "borg", "kopia", "duplicity", "rdiff-backup", "mksquashfs", "genisoimage",
        "mkisofs", "xorriso", "ar", "rar", "7za", "7zz", "unison", "rcp",
    }
)  # fmt: skip
"""Programs that copy a whole folder."""
_CONTAINERS = frozenset({"docker", "podman", "nerdctl"})
_COPY_OVER = frozenset({"scp", "rsync"})
_REMOTE = re.compile(r"(?!-)[\w.@-]{1,200}:[^\0]*")
_LOOPBACK = re.compile(r"(?:[\w.-]{1,64}@)?(?:localhost|127\.[\d.]{1,11}|0\.0\.0\.0|\[?::1\]?)\.?:", re.IGNORECASE)
_PLAIN_COPY = re.compile(r"-[apvnfuiTLPqzC]+|--(?:archive|verbose|preserve(?:=[\w,]{0,60})?)")
_FINDS = frozenset({"xargs", "parallel", "find", "fd"})
"""Programs that add words to those of another one."""

_STARTS = frozenset({"run", "create"})
"""What gives a folder to a container."""

_ROOT_CHANGERS = frozenset(
    {
        "rm", "mv", "cp", "ln", "chmod", "chown", "chgrp", "chattr", "setfacl", "mount", "umount", "tar", "zip", "7z",
        "rsync", "scp", "rmdir", "shred", "unlink", "install", "truncate", "tee", "dd", "trash", "gio",
    }
)  # fmt: skip
_ROOT_CODE = re.compile(r"rmtree|rmdir|rename|unlink|remove|rmSync|\bmove\b|copytree|make_archive|chmod|symlink")
_SEARCHES = frozenset({"grep", "egrep", "fgrep", "rg", "ag"})
_PATTERN_OPTION = re.compile(r"-[A-Za-z]*[ef]|--(?:regexp|file|files)\b")
_SPLIT = re.compile(r"[\s'\"=,:;|&()<>`]+")
_SAFE_TARGET = re.compile(r"/dev/(?:null|stdout|stderr|tty)|&?\d|-")
_DESCRIPTOR = re.compile(r"/(?:proc/[^/]{1,20}(?:/task/[^/]{1,20})?/fd|dev/fd)/(\d{1,9})(?=/|\Z)")
_ATTACHED = re.compile(r"-[A-Za-z]([/~.].*)")


def findings(scene: Scene) -> Iterator[Finding]:
    for run in scene.runs:
        for found, certain in _kinds(run, scene).items():
            if text := _judged(run, found, scene):
                yield Finding(text, certain and not (found == "root" and text == KEY and _seeks_a_text(run)))


def _judged(run: Run, found: Place, scene: Scene) -> str:
    if found == "key" and not (_shows_no_content(run) and len(scene.runs) == 1):
        return KEY
    taken = _taken(run, scene)
    if found == "guard" and not all(_only_reads(each, scene) for each in (run, *taken)):
        return FILES
    if _reads_tree(run, found):
        return KEY
    if found == "root" and (_changes_root(run, scene) or not all(_only_reads(each, scene) for each in taken)):
        return FILES
    return ""


def _seeks_a_text(run: Run) -> bool:
    """Whether it prints only lines with a text that no secret is likely to hold."""
    asked = grepping.read(run)
    return asked is not None and not asked.lax


def _shows_no_content(run: Run) -> bool:
    return run.name in _KEYLESS and not any(word.startswith(_NAMED_IN) for word in run.argv)


def _taken(run: Run, scene: Scene) -> tuple[Run, ...]:
    """The programs that may be handed a path that this one prints."""
    if run.name in _SHOWS_CONTENT or not hands_on(run):
        return ()
    return (*(other for other in scene.pipelines[run.pipeline] if other is not run), *scene.takers)


def _kinds(run: Run, scene: Scene) -> dict[Place, bool]:
    """The protected places that a program names, or stands in, and whether that is certain.

    A quoted sentence is judged as a command, or only text.
    What else names a secret: its name beside that of a state folder (`git -C`), or in a folder that is not known.
    """
    paths = set(_paths(run, scene))
    remote = {word for word in run.argv[1:] if _REMOTE.fullmatch(word)} if _is_remote_copy(run) else set()
    found: set[Place] = {scene.place(path) for path in paths}
    inside = run.cwd if run.cwd and UNKNOWN not in run.cwd else scene.folder
    if inside and place_of(scene.here(run), scene.host, ("/",)) in {"guard", "key"}:
        found.add("guard")
    if (not scene.folder and not run.cwd) or UNKNOWN in run.cwd:
        found |= {place_of(word, scene.host, ()) for word in run.argv if word in protectedpaths.CONFIG_NAMES}
    if (UNKNOWN in run.cwd or "root" in found) and not {"toolguard/key", *scene.protected.kept[:1]}.isdisjoint(run.argv):
        found.add("key")
    if run.name in sqlite.SHELLS:
        walked = sqlite.walked((*run.argv[1:], *texts(run)))
        found |= {"root" for path in walked if holds_ours(path, scene.host, scene.here(run))}
    open_paths = {scene.possible(path) for path in paths} - found if not _FINDERS.intersection(run.via[-1:]) else set()
    if remote and run.argv[-1] in remote:
        open_paths = {*open_paths, scene.place(run.argv[-1].partition(":")[2])} - found
    return {place: place in found for place in (*found, *open_paths) if place}


def _is_remote_copy(run: Run) -> bool:
    """Whether it copies from or to another machine or a container, and not this machine under a name of its own."""
    return (run.name in _COPY_OVER or (run.name in _CONTAINERS and "cp" in run.argv[1:3])) and not any(
        map(_LOOPBACK.match, run.argv)
    )


def _copies_out(run: Run, scene: Scene) -> bool:
    """Whether it copies files as they are to a place that is not ours: only its last word is written."""
    plain = [word for word in run.argv[1:] if not word.startswith("-")]
    options = (word for word in run.argv[1:] if word.startswith("-"))
    if len(plain) <= 1 or not all(map(_PLAIN_COPY.fullmatch, options)) or not _FINDS.isdisjoint(run.via):
        return False
    if any(UNKNOWN in word or "{}" in word or "$" in word for word in plain):
        return False
    target = plain[-1].partition(":")[2] if _REMOTE.fullmatch(plain[-1]) else plain[-1]
    return not any(scene.place(path) for path in (target, *(f"{target}/{base(word)}" for word in plain[:-1])))


def _paths(run: Run, scene: Scene) -> Iterator[str]:
    words = [
        *(scene.own_words(run) if scene.is_wrapper(run) else _named(run)),
        *(each.target for each in run.redirects if each.kind != "text"),
        *(value for _, value in run.assigns),
    ]
    coded = is_interpreter(run.name)
    if run.name in sqlite.SHELLS:
        yield from sqlite.opened((*run.argv[1:], *texts(run)))
    over = _is_remote_copy(run)
    for word in words:
        if over and _REMOTE.fullmatch(word):
            continue
        if " " in word or "\n" in word or (coded and "(" in word):
            continue
        if attached := _ATTACHED.fullmatch(word):
            yield attached[1]
        pieces = [path for path in _SPLIT.split(word) if path and path != "?"]
        yield from pieces
        for path in pieces:
            if "/fd/" in path and (link := _DESCRIPTOR.match(path)):
                yield from (target + path[link.end() :] for target in scene.descriptors.get(link[1], ()))
        if run.name in _CONTAINERS:
            yield from (path.lstrip("/") for path in pieces if path.startswith("/"))


def _named(run: Run) -> tuple[str, ...]:
    """The words of a program that may name what it works on."""
    if run.name in SEARCHERS:
        return _without_pattern(Run(without_patterns(run), run.name))
    if run.name == "find":
        return tuple(word for at, word in enumerate(run.argv) if run.argv[at - 1] not in _FIND_TESTS)
    if run.name not in COPIERS:
        return run.argv
    aside = {at for at, _ in patterns(run)} | working_folders(run)
    return tuple(word for at, word in enumerate(run.argv) if at not in aside)


def _without_pattern(run: Run) -> tuple[str, ...]:
    """The words of a program without what it searches for, where that is told apart from where it searches."""
    argv = run.argv
    if run.name not in _SEARCHES or any(_PATTERN_OPTION.match(word) for word in argv[1:]):
        return argv
    at = next((at for at, word in enumerate(argv[1:], 1) if not word.startswith("-")), 0)
    return argv if not at else (*argv[:at], *argv[at + 1 :])


def _only_reads(run: Run, scene: Scene) -> bool:
    if any(not _SAFE_TARGET.fullmatch(target) for target in targets(run)):
        return False
    if scene.is_wrapper(run) and run.name != "find":
        return True
    if run.name in _COPY_OVER or run.name == "cp":
        return _copies_out(run, scene)
    if run.name in SEDS:
        return sed_prints(run.argv[1:])
    if run.name in sqlite.NAMES:
        return sqlite.only_reads(run.argv[1:])
    if run.argv[1:3] == ("-m", "json.tool") and is_interpreter(run.name):
        return len([word for word in run.argv[3:] if word[:1] != "-"]) == 1
    if run.name in AWKS:
        return awk_prints("\n".join(run.argv[1:]))
    if run.name not in READERS or (run.name in _COPY_TO and len([word for word in run.argv if word[:1] != "-"]) > _ONE_FILE):
        return False
    if run.name == "yq" and any(_IN_PLACE.fullmatch(word) for word in run.argv[1:]):
        return False
    if run.name == "find":
        return not _find_changes(run, scene)
    options = [word for word in run.argv[1:] if word.startswith("-")] if run.name in _CHECKED else []
    return not any(_WRITING_OPTION.match(option) for option in options)


def _find_changes(run: Run, scene: Scene) -> bool:
    """Whether a `find` writes, deletes, or runs a program that does more than read."""
    if any(_FIND_WRITES.fullmatch(word) for word in run.argv):
        return True
    runs = [other for other in scene.pipelines[run.pipeline] if "find" in other.via]
    return any(word in _FIND_RUNS for word in run.argv) and not (runs and all(_only_reads(other, scene) for other in runs))


def _reads_tree(run: Run, found: Place) -> bool:
    """Whether it prints, or copies, what is in every file of a folder."""
    if run.name in {"rg", "ag"}:
        return True
    if run.name.endswith("grep") or run.name == "diff":
        told = run.name == "diff" and any(_BRIEF.match(word) for word in run.argv[1:])
        return not told and ((run.name == "diff" and found == "root") or any(_RECURSIVE.match(word) for word in run.argv))
    if run.name in _CONTAINERS:
        return found == "root" and not _STARTS.isdisjoint(run.argv[1:4])
    return found == "root" and (run.name in _ARCHIVERS or run.name in sqlite.SHELLS)


def _changes_root(run: Run, scene: Scene) -> bool:
    if run.name == "find":
        return _find_changes(run, scene)
    if is_interpreter(run.name):
        return _ROOT_CODE.search("\n".join(run.argv)) is not None
    return run.name in _ROOT_CHANGERS or any(scene.place(target) for target in targets(run))
