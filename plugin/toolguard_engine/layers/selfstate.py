"""Commands that change or copy, as a whole, a folder that holds a protected place: unpacking, searching, git."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from toolguard_engine import protectedpaths
from toolguard_engine.model import Host
from toolguard_engine.shellwords import Line, Simple, base, names

FILES = "This command would change the files or the configuration of the guard itself."
KEY = "This command would read the secret key with which the guard signs approvals."

_GIT_CHANGES = names(
    "checkout stash reset clean restore pull merge apply rebase switch am cherry-pick revert rm mv init filter-branch"
)
_GIT_VALUED = frozenset({"-c", "-C", "--git-dir", "--work-tree", "--namespace"})
_COPIERS = names("cp mv rsync scp")
_RECURSIVE = re.compile(r"-\w*[rRa]|--(?:recursive|archive)")
_CONTENTS = re.compile(r"(?:^|/)(?:\.|\*|\.(?:openclaw|clawdbot)/?)$")
_PATTERNS = frozenset({"-name", "-iname", "-path", "-ipath", "-wholename", "-iwholename"})
_RUNS = frozenset({"-exec", "-execdir", "-ok", "-okdir", "-delete"})
_SHOWS = names("ls stat wc file grep egrep fgrep rg head tail cat less sort uniq cut echo printf test [ basename dirname du")
_TELLS = names("ls stat file echo printf test [ basename dirname du wc")
_MAX_GLOB = 256
_CATCH_ALL = frozenset({"", "*", "*.*", "?*", "*?"})
_CHANGERS = names("sed perl tee rm mv cp chmod chown truncate shred install dd python python3 node ruby")
_CLAW = re.compile(r"toolguard|claw", re.IGNORECASE)


def reason(line: Line, host: Host, folder: str) -> str:
    """Why a line, started in `folder`, must not run; empty if it may."""
    here = folder or protectedpaths.of(host).state + "/workspace"
    for simple in line:
        words = simple.unwrapped()
        if words[:1] and words[0] in {"cd", "pushd"}:
            here = next(iter(protectedpaths.resolved(words[-1] if words[1:] else "~", host, (here,))), here)
        elif words and (text := _whole(simple, words, host, here) or _searched(simple, words, line, host, here)):
            return text
    return ""


def _whole(simple: Simple, words: list[str], host: Host, here: str) -> str:
    name, rest = base(words[0]), words[1:]
    if name == "git":
        return FILES if _git(rest, host, here) else ""
    if name == "patch":
        return FILES if _is_root(_value(rest, ("-d", "--directory")) or ".", host, here) else ""
    if name in {"tar", "bsdtar"}:
        return _tar(rest, host, here)
    if name == "unzip":
        return FILES if _is_above(_value(rest, ("-d",)), host, here) else ""
    if name in {"zip", "7z"}:
        return KEY if any(_is_above(word, host, here) for word in rest if not word.startswith("-")) else ""
    return _copied(simple, rest, host, here) if name in _COPIERS else ""


def _git(rest: list[str], host: Host, here: str) -> bool:
    """Whether git changes the files of a state folder."""
    at, where = 0, here
    while at < len(rest) and rest[at].startswith("-"):
        if rest[at] in {"-C", "--work-tree"} and rest[at + 1 :]:
            where = rest[at + 1]
        elif rest[at].startswith("--work-tree="):
            where = rest[at].partition("=")[2]
        at += 2 if rest[at] in _GIT_VALUED else 1
    return rest[at : at + 1] != [] and rest[at] in _GIT_CHANGES and _is_root(where, host, here)


def _tar(rest: list[str], host: Host, here: str) -> str:
    folder = _value(rest, ("-C", "--directory"))
    mode = rest[0] if rest else ""
    extracts = any("x" in word for word in (mode, *rest) if word is mode or re.fullmatch(r"-[a-zA-Z]+", word))
    if extracts or "--extract" in rest:
        return FILES if _is_above(folder, host, here) else ""
    copied = (word for word in rest[1:] if not word.startswith("-") and word != folder)
    base_folder = folder or here
    return KEY if any(_is_above(word, host, base_folder) for word in copied) else ""


def _copied(simple: Simple, rest: list[str], host: Host, here: str) -> str:
    given = [word for word in rest if not word.startswith("-")]
    if len(given) <= 1:
        return ""
    recursive = simple.name == "mv" or any(_RECURSIVE.match(word) for word in rest)
    if not recursive:
        return ""
    if any(_is_above(word, host, here) for word in given[:-1]):
        return FILES if simple.name == "mv" else KEY
    contents = any(_is_contents(word, simple.name) for word in given[:-1])
    return FILES if contents and _is_above(given[-1], host, here) else ""


def _is_contents(word: str, name: str) -> bool:
    """Whether what is copied comes to lie right in the target: `x/.`, `x/*`, a state folder itself, rsync's `x/`."""
    return bool(_CONTENTS.search(word)) or (name == "rsync" and word.endswith("/"))


def _searched(simple: Simple, words: list[str], line: Line, host: Host, here: str) -> str:
    """A search from such a folder whose finds are changed or, where the key is among them, read."""
    name, rest = base(words[0]), words[1:]
    if name.endswith("grep") or name == "rg":
        given = [word for word in rest if not word.startswith("-")]
        fed = any("xargs" in other.words and other.name in _CHANGERS for other in line) or _loops(line)
        changed = fed and bool(given) and _CLAW.search(given[0]) and any(_is_above(word, host, here) for word in given[1:])
        return FILES if changed else ""
    if name != "find":
        return ""
    starts = _until_option(rest)
    if not any(_is_above(word, host, here) for word in starts or ["."]):
        return ""
    wanted = [base(word).lower()[:_MAX_GLOB] for at, word in enumerate(rest) if at and rest[at - 1] in _PATTERNS]
    return _found(simple, wanted, line)


def _found(simple: Simple, wanted: list[str], line: Line) -> str:
    runs = [base(word) for at, word in enumerate(simple.words) if at and simple.words[at - 1] in _RUNS]
    runs += [other.name for other in line if "xargs" in other.words]
    if _loops(line):
        runs += [other.name for other in line if any("$" in word for word in other.words) and other.name != "for"]
    if "-delete" in simple.words:
        runs.append("-delete")
    if not runs or (wanted and not any(_fits(pattern) for pattern in wanted)):
        return ""
    secret = any(fnmatchcase("key", pattern) or pattern.endswith("guard/key") for pattern in set(wanted) - _CATCH_ALL)
    if secret and not all(name in _TELLS for name in runs):
        return KEY
    return "" if all(name in _SHOWS for name in runs) else FILES


def _fits(pattern: str) -> bool:
    return any(fnmatchcase(name, pattern) for name in protectedpaths.FILE_NAMES)


def _loops(line: Line) -> bool:
    return any(simple.words[:1] and simple.words[0] in {"for", "while"} for simple in line)


def _until_option(rest: list[str]) -> list[str]:
    end = next((at for at, word in enumerate(rest) if word.startswith(("-", "(", "!"))), len(rest))
    return rest[:end]


def _value(rest: list[str], options: tuple[str, ...]) -> str:
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


def _is_root(path: str, host: Host, here: str) -> bool:
    return any(protectedpaths.kind(option, host) for option in protectedpaths.resolved(path, host, (here,)))


def _is_above(path: str, host: Host, here: str) -> bool:
    return bool(path) and protectedpaths.is_above(path, host, (here,))
