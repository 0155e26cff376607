"""A command as the self-protection checks see it: what runs, in which folder, and what is protected on this host."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache

from msgspec import Struct

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue, protected_paths
from toolguard_engine.effects.facts.addresses import canonical
from toolguard_engine.effects.facts.command import UNKNOWN, ProgramRun
from toolguard_engine.effects.facts.interpreter_names import INTERPRETER
from toolguard_engine.effects.facts.protected_paths import Place, Protected
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.manuals.command_words import CommandWords
from toolguard_engine.effects.programs.wrappers import AWAY, WRAPPERS
from toolguard_engine.layers.self_protection.searched_code import SearchedCode
from toolguard_engine.model.call import Host, Keeping

_CHANGES_FOLDER = lazy_re.compile(r"\b(?:f?chdir|cd|Set-Location)\s{0,4}\(?\s{0,4}[\"'`]([^\"'`\n]{1,200})[\"'`]")
_CHANGES = ("chdir", "Dir.cd", "Set-Location")
MAX_CHANGES = 8


def entered(runs: Iterable[ProgramRun], host: Host, start: str) -> list[str]:
    """The folders that code changes to (`os.chdir("..")`), one after the other; what it may be if not each is known."""
    folders: list[str] = []
    for run in runs:
        code = "\n".join((*run.argv[1:], *texts(run)))
        if not any(word in code for word in _CHANGES):
            continue
        here = resolved(run.cwd, host, start) if run.cwd and UNKNOWN not in run.cwd else start
        named = _CHANGES_FOLDER.findall(code)[:MAX_CHANGES]
        for folder in named:
            here = resolved(folder, host, here)
            folders.append(here)
        if sum(map(code.count, _CHANGES)) > len(named):
            folders += [start.rpartition("/")[0], *below(start)]
    return folders


def below(folder: str) -> list[str]:
    """Where an unknown folder may be, as far as paths that lead up from it are concerned."""
    return [f"{folder}/x", f"{folder}/x/x"]


class ProtectionFinding(Struct, frozen=True):
    """Why a call must not run unasked. `certain`: blocked, without approval; otherwise held. `cause`: the path, word or
    setting that it is about, as the call spells it. `harmless`: nothing comes of it where the kernel keeps this from the
    command; None if something would all the same, or a person may want it done."""

    reason: str
    certain: bool = True
    cause: str = ""
    harmless: Keeping | None = None


def strongest(findings: Iterable[ProtectionFinding]) -> ProtectionFinding | None:
    """The first certain one, else the first."""
    possible = None
    for finding in findings:
        if finding.certain:
            return finding
        possible = possible or finding
    return possible


OWN_WORDS = 16
"""Words at most that count as a wrapper's own, if they cannot be separated from its program's words."""

MAX_FOLDERS = 8
MAX_PATH = 2048
_MAX_CACHED = 512
_MAX_NAME = 100
MAX_CODE = 20_000
MAX_CODES = 30
"""Pieces of code that are checked separately; the rest is checked as one."""

FILES = "This command would change the files or the configuration of the guard itself."
KEY = "This command would read a secret that authenticates approvals: the guard's key or the dashboard's token."
MANY = "This call names more paths than can be followed through links, which may lead to the guard's files."
COPY = "The copy or the output would contain the key with which approvals are signed, or the dashboard's token."


def of_secret(reason: str, cause: str = "", *, certain: bool = True) -> ProtectionFinding:
    """A finding that ends with a secret being read. What only might read it reads all that is there, so also credentials."""
    return ProtectionFinding(reason, certain, cause, "secrets" if certain else "credentials")


_SCRIPTED = program_catalogue.programs("code_by_script")
FILE_CHANGES = frozenset({"delete", "empty", "write", "move", "permissions", "owner", "link", "encrypt"})
"""Kinds of effects that change a file."""

_WRITING = frozenset({"write", "append"})
_NOWHERE = frozenset({"null", "stdout", "stderr", "tty", "1", "2", ""})
_GIT_TEXTUAL = frozenset({"commit", "log", "grep", "tag", "notes", "show", "stash", "merge", "branch", "diff", "shortlog"})
SEDS = program_catalogue.programs("sed")
AWKS = program_catalogue.programs("awk")
_AWK_WRITES = lazy_re.compile(
    r"\||system|>(?!=?\s*\d)|@(?:load|include)|^-(?!F|v|-(?:field|assign|version|posix|csv))", re.MULTILINE
)
_TEXTUAL = program_catalogue.programs("words_are_text")
_ELSEWHERE = AWAY
_LOOPBACK = lazy_re.compile(
    r"(?:\w{2,10}://)?(?:[^@/\s]{1,64}@)?(?:(?:ip6-)?(?:localhost|loopback)(?:[46]|\.local(?:domain)?|[46]?\.localdomain[46]?)?|127\.[\d.]{1,11}"
    r"|\[?(?:::1|::ffff:127\.[\d.]{1,11}|::)\]?|0\.0\.0\.0|\$\{?HOSTNAME\}?)\.?(?::\d{1,5})?/?",
    re.IGNORECASE,
)
_HOST_OPTION = lazy_re.compile(r"(?:-o\s*|(?<!\s)\s*)host(?:name|keyalias)\s*[= ]\s*", re.IGNORECASE)
_NUMBER = lazy_re.compile(
    r"(?:[^@/\s]{1,64}@)?((?:0x[0-9a-f]{1,8}|\d{1,12})(?:\.(?:0x[0-9a-f]{1,8}|\d{1,12})){0,3})", re.IGNORECASE
)
_BY_ADDRESS = frozenset({"ssh", "mosh", "dbclient", "autossh", "rsh"})
_OWN_NAMES = frozenset({"hostname", "uname", "hostnamectl"})
"""Programs that print this machine's name."""

_OWN_NAME_FILES = frozenset({"/etc/hostname", "/proc/sys/kernel/hostname"})
_MOUNT = lazy_re.compile(r"-v$|-\w*v[~/.$]|--(?:volume|mount|device|privileged|pid|volumes-from)\b")
_SEEN_THROUGH = program_catalogue.programs("command_runner", "shell") | WRAPPERS

_LITERAL = r"(?:'[^'\\\n]{0,2000}'|\"[^\"\\\n#$@{}]{0,2000}\")"
_PRINTED = lazy_re.compile(rf"\s*(?:print|console\.log|puts|echo|say)\s*\(?\s*{_LITERAL}\s*\)?\s*;?\s*")
"""Code that prints one literal text, in any known interpreter's language."""

_CODE_ARGUMENTS = 3
_ADDRESS = r"(?:\d{1,9}|\$|/[^/\n\\]{0,200}/)"
_SHOWN_LINES = lazy_re.compile(
    rf"\s*{_ADDRESS}?(?:,{_ADDRESS})?\s*[pdq=](?>(?:\s*;\s*{_ADDRESS}?(?:,{_ADDRESS})?\s*[pdq=])*)\s*;?\s*"
)
"""A `sed` script that writes nothing."""


def base(word: str) -> str:
    return word.rpartition("/")[2]


def is_interpreter(name: str) -> bool:
    """Whether a program runs code in its own language."""
    return len(name) <= _MAX_NAME and _is_interpreter(name)


@lru_cache(maxsize=1024)
def _is_interpreter(name: str) -> bool:
    plain = name.partition("@")[0]
    return plain in _SCRIPTED or INTERPRETER.fullmatch(plain) is not None


def is_textual(run: ProgramRun) -> bool:
    """Whether this program treats its arguments as mere text."""
    if run.name == "git":
        return bool(_GIT_TEXTUAL.intersection(run.argv[1:4]))
    return run.name in _TEXTUAL


def sed_prints(words: CommandWords) -> bool:
    """Whether `sed`, called with these words, only prints: plain scripts, and no option by which it writes."""
    scripts = [word.text for word in words.named("script")]
    harmless = not (words.unknown or words.trait("in-place") or words.named("script-from"))
    return harmless and bool(scripts) and all(map(_SHOWN_LINES.fullmatch, scripts))


def awk_prints(code: str) -> bool:
    """Whether `awk`, called with these words, only prints: it writes and runs nothing, and loads no other code."""
    return _AWK_WRITES.search(code.replace("||", "")) is None


def hands_on(run: ProgramRun) -> bool:
    """Whether a program's output may be an argument or the input of another program."""
    return run.piped or "$()" in run.via


def targets(run: ProgramRun) -> list[str]:
    """Files that a program's output is redirected to."""
    return [redirect.target for redirect in run.redirects if redirect.kind in _WRITING]


def sources(run: ProgramRun) -> list[str]:
    """Files whose contents reach a program's input or arguments."""
    feeds = (run.stdin, *(feed for _, feed in run.given))
    return [
        *(redirect.target for redirect in run.redirects if redirect.kind == "read"),
        *(path for feed in feeds if feed is not None for path in feed.files),
    ]


def texts(run: ProgramRun) -> Iterator[str]:
    """Here-documents and other known input of a program."""
    for redirect in run.redirects:
        if redirect.kind == "text":
            yield redirect.target
    if run.stdin is not None and run.stdin.text:
        yield run.stdin.text


def place_of(path: str, host: Host, folders: tuple[str, ...]) -> Place:
    return (_place_of if len(path) <= _MAX_CACHED else _place_of.__wrapped__)(path, host, folders)


def possible_place(path: str, host: Host, folders: tuple[str, ...]) -> Place:
    """The kind of place that a path with an unknown part may be."""
    if UNKNOWN not in path and "$" not in path and "/fd/" not in path:
        return ""
    return protected_paths.possible(path[:MAX_PATH], host, folders)


def resolved(path: str, host: Host, folder: str) -> str:
    """`path` as an absolute path, relative to `folder`."""
    return (_resolved if len(path) <= _MAX_CACHED else _resolved.__wrapped__)(path, host, folder)


def holds_ours(path: str, host: Host, folder: str) -> bool:
    """Whether a folder belongs to the gateway's state or holds a protected place."""
    return bool(path) and (_holds_ours if len(path) <= _MAX_CACHED else _holds_ours.__wrapped__)(path, host, folder)


_WILDCARDS = frozenset("*?[")
_NOBODY = frozenset[int]()


def _may_hold(pattern: str, path: tuple[str, ...]) -> bool:
    """Whether a folder with wildcards in its name may be above a path, given as its parts."""
    if _WILDCARDS.isdisjoint(pattern):
        return False
    parts = [part for part in pattern.lower().split("/") if part]
    return len(parts) <= len(path) and all(fnmatchcase(name.lower(), part) for name, part in zip(path, parts, strict=False))


def lies_below(path: tuple[str, ...], folder: str) -> bool:
    """Whether a path, given as its parts, lies in a folder; case does not matter."""
    parts = tuple(part for part in folder.lower().split("/") if part)
    return tuple(part.lower() for part in path[: len(parts)]) == parts


@lru_cache(maxsize=8)
def _folders_of(paths: tuple[tuple[str, ...], ...]) -> frozenset[str]:
    """These paths, given as their parts, and all folders above them, in lower case."""
    return frozenset("/".join(path[:end]).lower() for path in paths for end in range(len(path) + 1))


@lru_cache(maxsize=4096)
def _place_of(path: str, host: Host, folders: tuple[str, ...]) -> Place:
    return protected_paths.kind(path, host, folders)


@lru_cache(maxsize=1024)
def _resolved(path: str, host: Host, folder: str) -> str:
    return protected_paths.resolved(path, host, (folder,))[0][:MAX_PATH]


@lru_cache(maxsize=1024)
def _holds_ours(path: str, host: Host, folder: str) -> bool:
    return protected_paths.is_above(path, host, (folder,))


def _no_text(_: str) -> str | None:
    return None


class Lists(Struct, frozen=True):
    """What is known of files: `text` of one, None if it is not known. `is_worked_out`: what becomes of the gateway's config
    is known, and judged elsewhere."""

    text: Callable[[str], str | None] = _no_text
    is_worked_out: bool = False


class CommandScene(Struct, frozen=True, dict=True):
    """`folder`: the working directory that the call names; empty for the agent's own. `apart`: programs of the same command
    that are judged separately. `lists`: what is known of files."""

    runs: tuple[ProgramRun, ...]
    host: Host
    folder: str = ""
    apart: tuple[ProgramRun, ...] = ()
    lists: Lists = Lists()

    @cached_property
    def protected(self) -> Protected:
        return protected_paths.protected_on(self.host)

    @cached_property
    def start(self) -> str:
        workspace = self.protected.state + "/workspace"
        return resolved(self.folder, self.host, workspace) if self.folder else workspace

    @cached_property
    def folders(self) -> tuple[str, ...]:
        """Folders that a relative path may start from: the first and those the command changes to, protected ones first."""
        return self._entered[:MAX_FOLDERS]

    @cached_property
    def _entered(self) -> tuple[str, ...]:
        moves = dict.fromkeys(run.cwd for run in self.runs if run.cwd and UNKNOWN not in run.cwd)
        folders = dict.fromkeys([self.start, *(resolved(cwd, self.host, self.start) for cwd in moves)])
        if any(UNKNOWN in run.cwd for run in self.runs):
            folders |= dict.fromkeys(below(self.start))
        folders |= dict.fromkeys(entered(self.runs, self.host, self.start))
        return tuple(sorted(folders, key=lambda path: not self._is_among_ours(path)))

    def _is_among_ours(self, folder: str) -> bool:
        return bool(holds_ours(folder, self.host, "/") or place_of(folder, self.host, ("/",)))

    @cached_property
    def is_among_ours(self) -> bool:
        """Whether one of these folders is protected or holds a protected place."""
        return self._is_among_ours(self.folders[0])

    @cached_property
    def is_all_over_ours(self) -> bool:
        """Whether there are more such folders than are looked at."""
        return any(map(self._is_among_ours, self._entered[MAX_FOLDERS : MAX_FOLDERS + 1]))

    @cached_property
    def text(self) -> str:
        """All words, redirection targets and input texts of all programs."""
        return "\n".join(word for run in self.runs for word in (*run.argv, *targets(run), *texts(run)))

    @cached_property
    def named_text(self) -> str:
        """The same, and the files from which the programs read."""
        return "\n".join([self.text, *(path for run in self.runs for path in sources(run))])

    @cached_property
    def transparent(self) -> frozenset[tuple[str, ...]]:
        """Chains of wrappers whose program is among the runs."""
        return frozenset(run.via[:end] for run in (*self.runs, *self.apart) for end in range(1, len(run.via) + 1))

    @cached_property
    def takers(self) -> tuple[ProgramRun, ...]:
        """Programs with an unknown argument, which may be another program's output."""
        return tuple(run for run in self.runs if not self.is_wrapper(run) and any(UNKNOWN in word for word in run.argv[1:]))

    @cached_property
    def writers(self) -> tuple[ProgramRun, ...]:
        """Programs that write to a file with an unknown name, which may be another program's output."""
        return tuple(run for run in self.runs if any(UNKNOWN in target for target in targets(run)))

    def here(self, run: ProgramRun) -> str:
        """The folder that a program starts in."""
        return resolved(run.cwd, self.host, self.start) if run.cwd and UNKNOWN not in run.cwd else self.start

    def is_ours(self, path: str, run: ProgramRun) -> bool:
        """Whether a path that a program names is a protected place."""
        return bool(self.place_from(path, run))

    def place_from(self, path: str, run: ProgramRun) -> Place:
        """The kind of place that a path is, seen from the folder of a program."""
        return place_of(resolved(path, self.host, self.here(run)), self.host, ("/",))

    def holds_ours(self, path: str, run: ProgramRun) -> bool:
        """Whether a folder that a program names belongs to the gateway's state or holds a protected place."""
        return UNKNOWN not in path and holds_ours(path, self.host, self.here(run))

    def holds_secret(self, folder: str) -> bool:
        """Whether an absolute folder, perhaps with wildcards, holds a secret."""
        keys = self.protected.keys
        parts = [part for part in folder.lower().split("/") if part]
        return "/".join(parts) in _folders_of(keys) or any(_may_hold(folder, key) for key in keys)

    @cached_property
    def pipelines(self) -> dict[int, list[ProgramRun]]:
        by_pipeline: dict[int, list[ProgramRun]] = {}
        for run in self.runs:
            by_pipeline.setdefault(run.pipeline, []).append(run)
        return by_pipeline

    @cached_property
    def positions(self) -> dict[int, int]:
        """Where in its pipeline a program stands, by its id."""
        return {id(run): at for runs in self.pipelines.values() for at, run in enumerate(runs)}

    def place(self, path: str) -> Place:
        return place_of(path, self.host, self.folders)

    def unclear(self, words: Iterable[str]) -> list[str]:
        """Those whose `place` has to be asked for; the others have none."""
        return protected_paths.unclear(words, self.host, self.folders)

    def possible(self, path: str) -> Place:
        return possible_place(path, self.host, self.folders)

    @cached_property
    def descriptors(self) -> dict[str, list[str]]:
        """Files that this command opens, by descriptor: `exec 3< x`."""
        by_descriptor: dict[str, list[str]] = {}
        for run in self.runs:
            for redirect in run.redirects:
                if redirect.fd.isdecimal() and redirect.kind != "text":
                    by_descriptor.setdefault(redirect.fd, []).append(redirect.target)
        return by_descriptor

    def is_read_later(self, run: ProgramRun) -> bool:
        """Whether another program of this command names or reads a file that it writes: `find > l; tar -T l`."""
        printed = (option.value.text for option in run.words.given if "writes" in option.entry.traits)
        written = {base(target) for target in (*targets(run), *printed)} - _NOWHERE
        return any(self._naming.get(name, _NOBODY) - {id(run)} for name in written)

    @cached_property
    def _naming(self) -> dict[str, set[int]]:
        """The programs that name or read a file, by its name, in any folder or attached to an option."""
        found: dict[str, set[int]] = {}
        for run in self.runs:
            for word in (*run.argv[1:], *sources(run)):
                for value in option_parser.values_in(word):
                    found.setdefault(base(value).lstrip("@"), set()).add(id(run))
        return found

    def is_wrapper(self, run: ProgramRun) -> bool:
        """Whether a program only runs others that are judged by themselves."""
        return run.name == "eval" or (run.name in _SEEN_THROUGH and (*run.via, run.name) in self.transparent)

    def own_words(self, run: ProgramRun) -> tuple[str, ...]:
        """A wrapper's own words, as far as known, without those of a program that is judged separately."""
        wrapped = self._wrapped.get(run.name, {})
        inner = max((size for size, argvs in wrapped.items() if run.argv[-size:] in argvs), default=0)
        return run.argv[: len(run.argv) - inner][:OWN_WORDS]

    @cached_property
    def _wrapped(self) -> dict[str, dict[int, set[tuple[str, ...]]]]:
        """The words of separately judged programs, by the wrapper that starts them and the number of words."""
        wrapped: dict[str, dict[int, set[tuple[str, ...]]]] = {}
        for run in self.apart:
            if run.via:
                wrapped.setdefault(run.via[-1], {}).setdefault(len(run.argv), set()).add(run.argv)
        return wrapped

    @cached_property
    def codes(self) -> tuple[tuple[str, SearchedCode], ...]:
        """Interpreter names with the code they run: arguments, input, and files that the command itself writes."""
        return tuple((program, SearchedCode(code)) for program, code in self._codes())

    def _codes(self) -> Iterator[tuple[str, str]]:
        running = [not self.is_wrapper(run) and _runs_code(run) for run in self.runs]
        if not any(running):
            return
        named = {word for run, runs in zip(self.runs, running, strict=True) if runs for word in run.argv[1:]}
        read: dict[tuple[str, str], None] = {}
        for run, runs in zip(self.runs, running, strict=True):
            if runs or not named.isdisjoint(targets(run)) or (run.name == "tee" and not named.isdisjoint(run.argv[1:])):
                read[run.name, code_of(run)] = None
        codes = list(read)
        yield from codes[:MAX_CODES]
        if len(codes) > MAX_CODES:
            yield "", "\n".join(code for _, code in codes[MAX_CODES:])[: 4 * MAX_CODE]


def code_of(run: ProgramRun) -> str:
    """What a program may run as code: its words and its input."""
    return "\n".join((*run.argv[1:], *texts(run)))[:MAX_CODE]


def _runs_code(run: ProgramRun) -> bool:
    if _only_prints(run):
        return False
    return (
        is_interpreter(run.name)
        or "+runpy" in run.argv[:3]
        or (not is_textual(run) and any(is_interpreter(base(word)) for word in run.argv[1:6]))
    )


def _only_prints(run: ProgramRun) -> bool:
    """Whether its code prints one literal text, to the terminal only."""
    if len(run.argv) != _CODE_ARGUMENTS or hands_on(run) or run.redirects or run.stdin is not None:
        return False
    return run.argv[1] in ("-c", "-e", "-r") and _PRINTED.fullmatch(run.argv[2]) is not None


def is_elsewhere(run: ProgramRun) -> bool:
    """Whether it runs on another machine or in a container."""
    return bool(run.via) and any(name in _ELSEWHERE for name in run.via)


def reaches_back(run: ProgramRun) -> bool:
    """Whether a program that runs others elsewhere is given this machine's address or one of its folders."""
    if run.name not in _ELSEWHERE:
        return False
    named = any(
        not _OWN_NAMES.isdisjoint(feed.programs) or not _OWN_NAME_FILES.isdisjoint(feed.files) for _, feed in run.given
    )
    numbers = run.name in _BY_ADDRESS
    return named or any(is_loopback(word, numbers=numbers) or _MOUNT.match(word) for word in run.argv[1:OWN_WORDS])


def is_loopback(word: str, *, numbers: bool = True) -> bool:
    """Whether a word is an address of this machine, in any spelling. `numbers`: a single number may be an address."""
    word = _HOST_OPTION.sub("", word[:MAX_PATH], count=1)
    if _LOOPBACK.fullmatch(word):
        return True
    number = _NUMBER.fullmatch(word) if numbers else None
    return number is not None and (number[1] == "0" or canonical(number[1]).startswith("127."))
