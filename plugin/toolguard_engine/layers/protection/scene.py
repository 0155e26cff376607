"""A command as the laws of self-protection look at it: what runs, from where, and what of this host is protected."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache

from toolguard_engine import protectedpaths
from toolguard_engine.model import Host
from toolguard_engine.protectedpaths import Place, Protected
from toolguard_engine.shell.model import UNKNOWN, Run
from toolguard_engine.shell.walk import INTERPRETER
from toolguard_engine.shell.wrappers import SHELLS, WRAPPERS


@dataclass(frozen=True, slots=True)
class Finding:
    """Why a call must not run unasked. `certain`: no approval lifts it; what is only possible is held for a person."""

    reason: str
    certain: bool = True


def strongest(findings: Iterable[Finding]) -> Finding | None:
    """The first certain one, else the first."""
    possible = None
    for finding in findings:
        if finding.certain:
            return finding
        possible = possible or finding
    return possible


OWN_WORDS = 16
"""So many words of a wrapper may be its own, where they cannot be told from those of the program that it runs."""

MAX_FOLDERS = 8
MAX_MOVES = 100
MAX_PATH = 2048
_MAX_CACHED = 512
_MAX_NAME = 100
MAX_CODE = 20_000
MAX_CODES = 30
"""So many pieces of code are looked at each for itself; all others as one."""

FILES = "This command would change the files or the configuration of the guard itself."
KEY = "This command would read a secret of the guard, by which it knows a person's word: its key, or the dashboard's token."

_SCRIPTED = frozenset(
    {"ipython", "tsx", "ts-node", "jruby", "luajit", "expect", "julia", "Rscript", "sed", "gsed", "pwsh", "elixir", "guile"}
)
_WRITING = frozenset({"write", "append"})
_GIT_TEXTUAL = frozenset({"commit", "log", "grep", "tag", "notes", "show", "stash", "merge", "branch", "diff", "shortlog"})
SEDS = frozenset({"sed", "gsed"})
AWKS = frozenset({"awk", "gawk", "mawk", "nawk"})
_AWK_WRITES = re.compile(
    r"\||system|>(?!=?\s*\d)|@(?:load|include)|^-(?!F|v|-(?:field|assign|version|posix|csv))", re.MULTILINE
)
_TEXTUAL = frozenset(
    {
        "echo", "printf", "cat", "tee", "grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ls", "head", "tail", "jq", "yq",
        "gh", "glab", "curl", "wget", "man", "logger", "notify-send", "wc", "sort", "uniq", "cut", "less", "more", "[",
        "test", "[[", ":", "{", "true", "expr", "diff", "tr", "basename", "dirname", "apropos", "whatis", "export",
        "local", "declare", "readonly", "typeset", "set", "cd", "pushd", "read",
    }
)  # fmt: skip
_ELSEWHERE = frozenset(name for name, wrapper in WRAPPERS.items() if wrapper.away)
_LOOPBACK = re.compile(
    r"(?:[\w.-]{1,64}@)?(?:localhost|127\.[\d.]{1,11}|\[?::1\]?|0\.0\.0\.0)\.?(?::\d{1,5})?", re.IGNORECASE
)
_MOUNT = re.compile(r"-v$|-\w*v[~/.$]|--(?:volume|mount|device|privileged|pid|volumes-from)\b")
_LOOKED_THROUGH = frozenset({"xargs", "parallel", "eval", "trap", "find", "fd", *WRAPPERS, *SHELLS})


_LITERAL = r"(?:'[^'\\\n]{0,2000}'|\"[^\"\\\n#$@{}]{0,2000}\")"
_PRINTED = re.compile(rf"\s*(?:print|console\.log|puts|echo|say)\s*\(?\s*{_LITERAL}\s*\)?\s*;?\s*")
"""Code that prints one literal text, in any of the languages whose interpreters are known."""

_CODE_ARGUMENTS = 3
_PRINTING = frozenset(
    {"-n", "-e", "-E", "-r", "-u", "-s", "-ne", "-nE", "-En", "-nr", "--quiet", "--silent", "--regexp-extended"}
)
_ADDRESS = r"(?:\d{1,9}|\$|/[^/\n\\]{0,200}/)"
_SHOWN_LINES = re.compile(
    rf"\s*{_ADDRESS}?(?:,{_ADDRESS})?\s*[pdq=](?>(?:\s*;\s*{_ADDRESS}?(?:,{_ADDRESS})?\s*[pdq=])*)\s*;?\s*"
)
"""A script of `sed` that writes nothing."""


def base(word: str) -> str:
    return word.rpartition("/")[2]


def is_interpreter(name: str) -> bool:
    """Whether a program takes code in a language of its own."""
    return len(name) <= _MAX_NAME and _is_interpreter(name)


@lru_cache(maxsize=1024)
def _is_interpreter(name: str) -> bool:
    plain = name.partition("@")[0]
    return plain in _SCRIPTED or INTERPRETER.fullmatch(plain) is not None


def is_textual(run: Run) -> bool:
    """Whether arguments are only text to this program, whatever they say."""
    if run.name == "git":
        return bool(_GIT_TEXTUAL.intersection(run.argv[1:4]))
    return run.name in _TEXTUAL


def sed_prints(words: Iterable[str]) -> bool:
    """Whether `sed`, called with these words, only prints: no option but `-n` and its kin, a plain script."""
    plain = [word for word in words if not word.startswith("-") or word == "-"]
    options = [word for word in words if word.startswith("-") and word != "-"]
    return all(word in _PRINTING for word in options) and bool(plain) and _SHOWN_LINES.fullmatch(plain[0]) is not None


def awk_prints(code: str) -> bool:
    """Whether the words of an `awk` only print: it writes nowhere, runs nothing, and its program is among them."""
    return _AWK_WRITES.search(code.replace("||", "")) is None


def hands_on(run: Run) -> bool:
    """Whether what a program prints may be an argument or the input of another one."""
    return run.piped or "$()" in run.via


def targets(run: Run) -> list[str]:
    """The files that a program is redirected to."""
    return [each.target for each in run.redirects if each.kind in _WRITING]


def texts(run: Run) -> Iterator[str]:
    """Here-documents and what else is known to arrive at its input."""
    for each in run.redirects:
        if each.kind == "text":
            yield each.target
    if run.stdin is not None and run.stdin.text:
        yield run.stdin.text


def place_of(path: str, host: Host, folders: tuple[str, ...]) -> Place:
    return (_place_of if len(path) <= _MAX_CACHED else _place_of.__wrapped__)(path, host, folders)


def possible_place(path: str, host: Host, folders: tuple[str, ...]) -> Place:
    """What a path may be of which a part is not known."""
    if UNKNOWN not in path and "$" not in path and "/fd/" not in path:
        return ""
    return protectedpaths.possible(path[:MAX_PATH], host, folders)


def resolved(path: str, host: Host, folder: str) -> str:
    """The absolute path of `path`, seen from `folder`."""
    return (_resolved if len(path) <= _MAX_CACHED else _resolved.__wrapped__)(path, host, folder)


def holds_ours(path: str, host: Host, folder: str) -> bool:
    """Whether a folder is one of the gateway's state, or holds a protected place."""
    return bool(path) and (_holds_ours if len(path) <= _MAX_CACHED else _holds_ours.__wrapped__)(path, host, folder)


@lru_cache(maxsize=4096)
def _place_of(path: str, host: Host, folders: tuple[str, ...]) -> Place:
    return protectedpaths.kind(path, host, folders)


@lru_cache(maxsize=1024)
def _resolved(path: str, host: Host, folder: str) -> str:
    return protectedpaths.resolved(path, host, (folder,))[0][:MAX_PATH]


@lru_cache(maxsize=1024)
def _holds_ours(path: str, host: Host, folder: str) -> bool:
    return protectedpaths.is_above(path, host, (folder,))


@dataclass(frozen=True)
class Scene:
    """`folder`: where the call itself says that the command starts; empty for the agent's own folder. `apart`: programs of
    the same command that are judged by themselves."""

    runs: tuple[Run, ...]
    host: Host
    folder: str = ""
    apart: tuple[Run, ...] = ()

    @cached_property
    def protected(self) -> Protected:
        return protectedpaths.of(self.host)

    @cached_property
    def start(self) -> str:
        workspace = self.protected.state + "/workspace"
        return resolved(self.folder, self.host, workspace) if self.folder else workspace

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """Where a relative path may start: the first folder, and every one that the command goes to; near ones first."""
        moves = list(dict.fromkeys(run.cwd for run in self.runs if run.cwd and UNKNOWN not in run.cwd))
        found = dict.fromkeys([self.start, *(resolved(cwd, self.host, self.start) for cwd in moves[-MAX_MOVES:])])
        near = sorted(found, key=lambda path: not (holds_ours(path, self.host, "/") or place_of(path, self.host, ("/",))))
        return tuple(near[:MAX_FOLDERS])

    @cached_property
    def text(self) -> str:
        """All words of all programs, and the texts that they are given."""
        return "\n".join(word for run in self.runs for word in (*run.argv, *targets(run), *texts(run)))

    @cached_property
    def transparent(self) -> frozenset[tuple[str, ...]]:
        """Wrappers whose program is among the runs, with all that they are wrapped in."""
        return frozenset(run.via[:end] for run in (*self.runs, *self.apart) for end in range(1, len(run.via) + 1))

    @cached_property
    def takers(self) -> tuple[Run, ...]:
        """Programs with an argument that cannot be known: it may be what another program printed."""
        return tuple(run for run in self.runs if not self.is_wrapper(run) and any(UNKNOWN in word for word in run.argv[1:]))

    @cached_property
    def writers(self) -> tuple[Run, ...]:
        """Programs that write to a file whose name cannot be known: another program may have printed it."""
        return tuple(run for run in self.runs if any(UNKNOWN in target for target in targets(run)))

    def here(self, run: Run) -> str:
        """The folder that a program starts in."""
        return resolved(run.cwd, self.host, self.start) if run.cwd and UNKNOWN not in run.cwd else self.start

    @cached_property
    def pipelines(self) -> dict[int, list[Run]]:
        found: dict[int, list[Run]] = {}
        for run in self.runs:
            found.setdefault(run.pipeline, []).append(run)
        return found

    def place(self, path: str) -> Place:
        return place_of(path, self.host, self.folders)

    def possible(self, path: str) -> Place:
        return possible_place(path, self.host, self.folders)

    @cached_property
    def descriptors(self) -> dict[str, list[str]]:
        """The files that this command opens at a descriptor of its own: `exec 3< x`."""
        found: dict[str, list[str]] = {}
        for run in self.runs:
            for each in run.redirects:
                if each.fd.isdecimal() and each.kind != "text":
                    found.setdefault(each.fd, []).append(each.target)
        return found

    def is_wrapper(self, run: Run) -> bool:
        """Whether a program only runs others that are looked at for themselves."""
        return run.name == "eval" or (run.name in _LOOKED_THROUGH and (*run.via, run.name) in self.transparent)

    def own_words(self, run: Run) -> tuple[str, ...]:
        """The words of a wrapper, as far as they can be known, without those of a program that is judged by itself."""
        wrapped = self._wrapped.get(run.name, {})
        inner = max((size for size, argvs in wrapped.items() if run.argv[-size:] in argvs), default=0)
        return run.argv[: len(run.argv) - inner][:OWN_WORDS]

    @cached_property
    def _wrapped(self) -> dict[str, dict[int, set[tuple[str, ...]]]]:
        """The words of the programs that are judged by themselves, by the wrapper that starts them and their number."""
        found: dict[str, dict[int, set[tuple[str, ...]]]] = {}
        for run in self.apart:
            if run.via:
                found.setdefault(run.via[-1], {}).setdefault(len(run.argv), set()).add(run.argv)
        return found

    def codes(self) -> Iterator[tuple[str, str]]:
        """What interpreters run, by name: their arguments and input, and files that the command itself writes."""
        running = [not self.is_wrapper(run) and _runs_code(run) for run in self.runs]
        if not any(running):
            return
        named = {word for run, runs in zip(self.runs, running, strict=True) if runs for word in run.argv[1:]}
        found: dict[tuple[str, str], None] = {}
        for run, runs in zip(self.runs, running, strict=True):
            if runs or not named.isdisjoint(targets(run)) or (run.name == "tee" and not named.isdisjoint(run.argv[1:])):
                found[run.name, "\n".join((*run.argv[1:], *texts(run)))[:MAX_CODE]] = None
        codes = list(found)
        yield from codes[:MAX_CODES]
        if len(codes) > MAX_CODES:
            yield "", "\n".join(code for _, code in codes[MAX_CODES:])[: 4 * MAX_CODE]


def _runs_code(run: Run) -> bool:
    if _only_prints(run):
        return False
    return is_interpreter(run.name) or (not is_textual(run) and any(is_interpreter(base(word)) for word in run.argv[1:6]))


def _only_prints(run: Run) -> bool:
    """Whether its code prints one literal text, and to nothing but the terminal."""
    if len(run.argv) != _CODE_ARGUMENTS or hands_on(run) or run.redirects or run.stdin is not None:
        return False
    return run.argv[1] in ("-c", "-e", "-r") and _PRINTED.fullmatch(run.argv[2]) is not None


def is_elsewhere(run: Run) -> bool:
    """Whether it runs on another machine or in a container."""
    return any(name in _ELSEWHERE for name in run.via)


def reaches_back(run: Run) -> bool:
    """Whether a program that runs others elsewhere is given this machine's own address, or a folder of this machine."""
    own = run.argv[1:OWN_WORDS] if run.name in _ELSEWHERE else ()
    return any(_LOOPBACK.fullmatch(word) or _MOUNT.match(word) for word in own)
