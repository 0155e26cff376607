"""Nothing changes or copies, as a whole, a folder that holds a protected place: by unpacking, searching, or with git."""

from __future__ import annotations

import re
from collections.abc import Iterator
from fnmatch import fnmatchcase

from toolguard_engine import protectedpaths
from toolguard_engine.layers.protection.scene import (
    FILES,
    KEY,
    Finding,
    Scene,
    base,
    hands_on,
    holds_ours,
    place_of,
    resolved,
)
from toolguard_engine.shell.model import UNKNOWN, Run

_GIT_CHANGES = frozenset(
    {
        "checkout", "stash", "reset", "clean", "restore", "pull", "merge", "apply", "rebase", "switch", "am", "cherry-pick",
        "revert", "rm", "mv", "init", "filter-branch",
    }
)  # fmt: skip
_GIT_TAKES = frozenset({"add", "stage"})
_GIT_ALL = frozenset({"-A", "--all", "--no-ignore-removal"})
_GIT_VALUED = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace"})
_COPIERS = frozenset({"cp", "mv", "rsync", "scp"})
_RECURSIVE = re.compile(r"-\w*[rRa]|--(?:recursive|archive)")
_CONTENTS = re.compile(r"(?:^|/)(?:\.|\*|\.(?:openclaw|clawdbot)/?)$")
_FD = frozenset({"fd", "fdfind"})
_FD_RUNS = frozenset({"-x", "-X", "--exec", "--exec-batch"})
_FD_VALUED = frozenset(
    {"-e", "--extension", "-t", "--type", "-d", "--max-depth", "-E", "--exclude", "-S", "--size", "-j", "--threads", "-c"}
)
_LOCATES = frozenset({"locate", "plocate", "mlocate"})
_PLAIN = re.compile(r"[\w.-]{0,200}")
_PATTERNS = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-delete"})
_TELLS = frozenset({"ls", "stat", "file", "echo", "printf", "test", "[", "[[", "basename", "dirname", "du", "wc"})
_SHOWS = _TELLS | {"grep", "egrep", "fgrep", "rg", "head", "tail", "cat", "less", "sort", "uniq", "cut"}
_MAX_GLOB = 256
_CATCH_ALL = frozenset({"", "*", "*.*", "?*", "*?"})
_CHANGERS = frozenset(
    {
        "sed", "perl", "tee", "rm", "mv", "cp", "chmod", "chown", "truncate", "shred", "install", "dd", "python", "python3",
        "node", "ruby",
    }
)  # fmt: skip
_CLAW = re.compile(r"toolguard|claw", re.IGNORECASE)


def findings(scene: Scene) -> Iterator[Finding]:
    for run in scene.runs:
        if text := _whole(run, scene) or _searched(run, scene):
            yield Finding(text)


def _whole(run: Run, scene: Scene) -> str:
    name, rest = run.name, run.argv[1:]
    if name == "git":
        return _git(rest, run, scene)
    if name == "patch":
        return FILES if _is_ours(_value(rest, ("-d", "--directory")) or ".", run, scene) else ""
    if name in {"tar", "bsdtar", "gtar"}:
        return _tar(rest, run, scene)
    if name == "unzip":
        return FILES if _holds(_value(rest, ("-d",)), run, scene) else ""
    if name in {"zip", "7z"}:
        return KEY if any(_holds(word, run, scene) for word in rest if not word.startswith("-")) else ""
    if name == "ln":
        return FILES if any(_holds(word, run, scene) for word in _linked(rest)) else ""
    return _copied(run, rest, scene) if name in _COPIERS else ""


def _git(rest: tuple[str, ...], run: Run, scene: Scene) -> str:
    """Whether git changes the files of a state folder, or takes a secret there into a repository."""
    at, where = 0, "."
    while at < len(rest) and rest[at].startswith("-"):
        if rest[at] in {"-C", "--work-tree"} and rest[at + 1 :]:
            where = rest[at + 1]
        elif rest[at].startswith("--work-tree="):
            where = rest[at].partition("=")[2]
        at += 2 if rest[at] in _GIT_VALUED else 1
    verb = "".join(rest[at : at + 1])
    if verb in _GIT_TAKES:
        return KEY if _takes(rest[at + 1 :], resolved(where, scene.host, scene.here(run)), scene) else ""
    return FILES if verb in _GIT_CHANGES and _is_ours(where, run, scene) else ""


def _takes(rest: tuple[str, ...], where: str, scene: Scene) -> bool:
    """Whether what `git add` is given, in the folder `where`, has a secret among it."""
    paths = [word for word in rest if not word.startswith("-")] or (["."] if not _GIT_ALL.isdisjoint(rest) else [])
    places = ((place_of(path, scene.host, (where,)), resolved(path, scene.host, where)) for path in paths)
    return any(place in ("key", "root") or (place and base(path) == "toolguard") for place, path in places)


def _tar(rest: tuple[str, ...], run: Run, scene: Scene) -> str:
    folder = _value(rest, ("-C", "--directory"))
    mode = rest[0] if rest else ""
    extracts = any("x" in word for word in (mode, *rest) if word is mode or re.fullmatch(r"-[a-zA-Z]+", word))
    if extracts or "--extract" in rest:
        return FILES if _holds(folder, run, scene) else ""
    start = resolved(folder, scene.host, scene.here(run)) if folder else scene.here(run)
    copied = (word for word in rest[1:] if not word.startswith("-") and word != folder)
    return KEY if any(holds_ours(word, scene.host, start) for word in copied) else ""


def _copied(run: Run, rest: tuple[str, ...], scene: Scene) -> str:
    given = [word for word in rest if not word.startswith("-")]
    if len(given) <= 1 or not (run.name == "mv" or any(_RECURSIVE.match(word) for word in rest)):
        return ""
    if any(_holds(word, run, scene) for word in given[:-1]):
        return FILES if run.name == "mv" else KEY
    contents = any(_is_contents(word, run.name) for word in given[:-1])
    return FILES if contents and _holds(given[-1], run, scene) else ""


def _linked(rest: tuple[str, ...]) -> list[str]:
    """What `ln` makes another way to."""
    given = [word for word in rest if not word.startswith("-")]
    return given[: max(1, len(given) - 1)]


def _is_contents(word: str, name: str) -> bool:
    """Whether what is copied comes to lie right in the target: `x/.`, `x/*`, a state folder itself, rsync's `x/`."""
    return bool(_CONTENTS.search(word)) or (name == "rsync" and word.endswith("/"))


def _searched(run: Run, scene: Scene) -> str:
    """A search from such a folder whose finds are changed or, where the key is among them, read."""
    name, rest = run.name, run.argv[1:]
    if name.endswith("grep") or name in {"rg", "ag"}:
        given = [word for word in rest if not word.startswith("-")]
        if not given or not _CLAW.search(given[0]) or not any(_holds(word, run, scene) for word in given[1:]):
            return ""
        changed = any(other.name in _CHANGERS for other in _takers(run, scene)) or _writes_to_finds(run, scene)
        return FILES if changed else ""
    if name == "find":
        starts = rest[: next((at for at, word in enumerate(rest) if word.startswith(("-", "(", "!"))), len(rest))]
        if any(_holds(word, run, scene) for word in starts or (".",)):
            patterns = [word for at, word in enumerate(rest) if at and rest[at - 1] in _PATTERNS]
            whole = not any("/" in word for word in patterns) and any(
                _is_root(word, run, scene) for word in starts or (".",)
            )
            return _found(run, [base(word).lower()[:_MAX_GLOB] for word in patterns], scene, whole=whole)
    if name in _FD:
        wanted, starts = _fd(rest)
        return _found(run, wanted, scene) if any(_holds(word, run, scene) for word in starts or (".",)) else ""
    if name in _LOCATES:
        return _found(run, [_loosely(word) for word in rest if not word.startswith("-")], scene)
    return ""


def _fd(rest: tuple[str, ...]) -> tuple[list[str], tuple[str, ...]]:
    """What `fd` looks for, as globs over names, and where."""
    end = next((at for at, word in enumerate(rest) if word in _FD_RUNS), len(rest))
    words = [
        word for at, word in enumerate(rest[:end]) if not word.startswith("-") and not (at and rest[at - 1] in _FD_VALUED)
    ]
    ending = _value(rest[:end], ("-e", "--extension")).lstrip(".").lower()
    return [_loosely("".join(words[:1])) + (f".{ending}" if ending else "")], tuple(words[1:])


def _loosely(pattern: str) -> str:
    """A glob for names that have this in them; for an expression that is not plain, any name."""
    return f"*{pattern.lower()}*" if pattern.strip(".") and _PLAIN.fullmatch(pattern) else "*"


def _takers(run: Run, scene: Scene) -> tuple[Run, ...]:
    """Programs that may be handed what this one finds."""
    inner = tuple(other for other in scene.pipelines[run.pipeline] if run.name in other.via)
    return (*inner, *scene.takers) if hands_on(run) else inner


def _writes_to_finds(run: Run, scene: Scene) -> bool:
    """Whether something may be written over what this one finds: `| while read f; do : > $f; done`."""
    return hands_on(run) and bool(scene.writers)


def _found(run: Run, wanted: list[str], scene: Scene, *, whole: bool = False) -> str:
    """`wanted`: globs over names. `whole`: the search begins in a state folder or in one above a secret."""
    runs = [base(word) for at, word in enumerate(run.argv) if at and run.argv[at - 1] in _RUNS]
    runs += [other.name for other in _takers(run, scene)]
    runs += ["-delete"] if "-delete" in run.argv else []
    runs += [">"] if _writes_to_finds(run, scene) else []
    if not runs or (wanted and not any(_fits(pattern, scene) for pattern in wanted)):
        return ""
    if whole and _CATCH_ALL.issuperset(wanted) and not all(name in _TELLS for name in runs):
        return KEY
    secrets = ("key", *scene.protected.kept[:1])
    chosen = set(wanted) - _CATCH_ALL
    secret = any(fnmatchcase(name, pattern) or pattern.endswith("guard/key") for pattern in chosen for name in secrets)
    if secret and not all(name in _TELLS for name in runs):
        return KEY
    return "" if all(name in _SHOWS for name in runs) else FILES


def _fits(pattern: str, scene: Scene) -> bool:
    names = (*protectedpaths.FILE_NAMES, *map(str.lower, scene.protected.kept))
    return any(fnmatchcase(name, pattern) for name in names)


def _value(rest: tuple[str, ...], options: tuple[str, ...]) -> str:
    """What an option is given, as the next word, after `=`, or in the same word."""
    for at, word in enumerate(rest):
        for option in options:
            if word == option:
                return "".join(rest[at + 1 : at + 2])
            if word.startswith(option + "="):
                return word[len(option) + 1 :]
            if not option.startswith("--") and word.startswith(option):
                return word[len(option) :]
    return ""


def _is_ours(path: str, run: Run, scene: Scene) -> bool:
    return bool(place_of(resolved(path, scene.host, scene.here(run)), scene.host, ("/",)))


def _is_root(path: str, run: Run, scene: Scene) -> bool:
    return UNKNOWN not in path and place_of(resolved(path, scene.host, scene.here(run)), scene.host, ("/",)) == "root"


def _holds(path: str, run: Run, scene: Scene) -> bool:
    return UNKNOWN not in path and holds_ours(path, scene.host, scene.here(run))
