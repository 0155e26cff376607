"""The simple commands of a shell text, with their words unquoted: enough to tell what runs from what is only mentioned.

`lines` looks through quoting (`shelltext.spellings`) and into texts that are commands themselves (`sh -c`, here-documents,
what `echo` sends to a shell). It is no shell: where in doubt, a word counts as a command.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from toolguard_engine.shelltext import MAX_CHARS, all_spelled, spellings

MAX_DEPTH = 8
MAX_LINES = 500
MAX_COMMANDS = 2000
MAX_TOKENS = 40_000
"""How much of a command is read, all its texts together; where one of these is reached, the reading is not whole."""

_SHORT_OPTION = 2
"""The length of `-x`: a value that belongs to it is the next word."""

UNKNOWN = "$()"
"""Stands in a word for what a substitution prints."""

_TOKEN = re.compile(
    r"""(?P<escape>\\.)
    |\$?'(?P<single>[^']*+)'?
    |\$?"(?P<double>(?:\$\((?:[^()]|\([^()]*+\))*+\)|[^"\\]|\\.)*+)"?
    |(?P<comment>(?<![^\s;&|(])\#[^\n]*+)
    |<<-?[ \t]*+(?P<heredoc>\\?\w++|'\w++'|"\w++")(?!<)
    |(?P<opening>\$\(|[<>]\(|\()
    |(?P<redirect>(?:\d(?=[<>]))?(?:<<<|>>|>\||<>|[<>]&|&>>|&>|>|<))
    |(?P<separator>[;\n|&)`]|\|\||&&)
    |(?P<blank>[ \t\r\f\v]++)
    |(?P<plain>[^\s;|&()`<>\\'"$]++|.)""",
    re.VERBOSE | re.DOTALL,
)
_COMMAND_LIKE = re.compile(r"[\s;|&(`]")
_SUBSTITUTION = re.compile(r"\$\(((?:[^()]|\([^()]*+\))*+)\)?|`([^`]*+)`?")


def names(text: str) -> frozenset[str]:
    return frozenset(text.split())


SHELLS = names("sh bash zsh dash ksh ash fish busybox eval source . xargs parallel at batch ssh su script watch")
INTERPRETERS = re.compile(r"(?:python|pypy|node|nodejs|deno|bun|perl|ruby|php|lua|tclsh)[\d.]*")
PRODUCERS = frozenset({"echo", "printf", "cat", "tee"})
TEXTUAL = PRODUCERS | names(
    "grep egrep fgrep zgrep rg ag ls head tail sed jq gh glab curl wget man logger notify-send wc sort uniq cut less"
)
_GIT_TEXTUAL = names("commit log grep tag notes show stash merge branch diff shortlog")
KEYWORDS = names("if then else elif do while until ! { } fi done case esac function in time coproc")
WRAPPERS = {
    "sudo": "ugphCTRDrt", "doas": "uC", "env": "uCS", "nohup": "", "time": "fo", "timeout": "sk", "nice": "n",
    "ionice": "cnp", "setsid": "", "stdbuf": "ioe", "exec": "a", "command": "", "builtin": "", "eval": "",
    "xargs": "nPIdLsaE",
    "unbuffer": "", "chroot": "", "flock": "wE", "strace": "eop", "busybox": "", "parallel": "jN", "watch": "n", "trap": "",
}  # fmt: skip
"""Commands that run their arguments, with the short options that take a value."""
_POSITIONAL = frozenset({"timeout", "flock", "chroot"})
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*\+?=")


@dataclass(slots=True)
class Simple:
    """One simple command. `texts` are its here-documents and here-strings, `writes` the files it is redirected to."""

    words: list[str] = field(default_factory=list)
    writes: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    reads: list[str] = field(default_factory=list)
    piped: bool = False
    _unwrapped: list[str] | None = field(default=None, repr=False, compare=False)

    @property
    def name(self) -> str:
        """What runs, without its folder, wrappers looked through."""
        words = self.unwrapped()
        return base(words[0]) if words else ""

    def unwrapped(self) -> list[str]:
        """The words from the command that really runs on. Asked only when the command is complete."""
        if self._unwrapped is None:
            self._unwrapped = self._without_wrappers()
        return self._unwrapped

    def _without_wrappers(self) -> list[str]:
        words = self.words
        at = 0
        while at < len(words):
            word = words[at]
            name = base(word)
            if name in WRAPPERS and at + 1 < len(words):
                at = _after_options(words, at + 1, WRAPPERS[name]) + (name in _POSITIONAL)
            elif word in KEYWORDS or _ASSIGNMENT.match(word):
                at += 1
            else:
                break
        return words[at:]


Line = list[Simple]


def base(word: str) -> str:
    return word.rpartition("/")[2]


def _after_options(words: list[str], at: int, valued: str) -> int:
    while at < len(words) and words[at].startswith("-") and len(words[at]) > 1:
        option = words[at]
        at += 2 if len(option) == _SHORT_OPTION and option[1] in valued else 1
    return at


@dataclass(frozen=True, slots=True)
class Reading:
    """Every text that may run, as its simple commands; the first is the command as it was written.

    Not `whole`: some limit was hit, and there may be more than was read.
    """

    lines: tuple[Line, ...]
    whole: bool


def lines(command: str) -> tuple[Line, ...]:
    return read(command).lines


@lru_cache(maxsize=4)
def read(command: str) -> Reading:
    found: list[Line] = []
    waiting = deque((text, 0) for text in spellings(command))
    seen: set[str] = set()
    left, commands, whole = MAX_TOKENS, MAX_COMMANDS, all_spelled(command)
    while waiting:
        text, depth = waiting.popleft()
        if text in seen:
            continue
        if depth > MAX_DEPTH or len(found) == MAX_LINES or left <= 0 or commands <= 0:
            return Reading(tuple(found), whole=False)
        seen.add(text)
        parser = _Parser(text[:MAX_CHARS], min(left, MAX_TOKENS))
        line = parser.parse()
        found.append(line[: max(commands, 0)])
        left, commands = parser.left, commands - len(line)
        if commands < 0:
            break
        waiting += [(inner, depth + 1) for inner in _inner_texts(line)]
    return Reading(tuple(found), whole and left > 0 and commands >= 0)


def is_textual(simple: Simple) -> bool:
    """Whether quoted arguments are only text to this command."""
    words = simple.unwrapped()
    name = base(words[0]) if words else ""
    if name == "git":
        at = _after_options(words, 1, "cC")
        return at < len(words) and words[at] in _GIT_TEXTUAL
    return name in TEXTUAL or (name in {"awk", "gawk", "mawk"} and not any("system" in word for word in words))


def runs_texts(line: Line) -> bool:
    """Whether a command of this line runs what another one prints or writes."""
    names = {base(word) for simple in line for word in simple.words}
    if names & SHELLS or any(INTERPRETERS.fullmatch(name) for name in names):
        return True
    return any(s.writes for s in line) and any(s.words and s.words[0].startswith(("./", "/")) for s in line)


def _inner_texts(line: Line) -> Iterator[str]:
    runs = runs_texts(line)
    for simple in line:
        producer = simple.name in PRODUCERS
        if is_textual(simple) and not (producer and runs):
            continue
        yield from simple.texts
        yield from (word for word in simple.words if _COMMAND_LIKE.search(word))
        if simple.words[:1] == ["alias"]:
            yield from (word.partition("=")[2] for word in simple.words if " " in word)
        if producer or simple.words[:1] == ["eval"]:
            yield " ".join(simple.words[1:])


class _Parser:
    """`left` is the number of tokens that may still be read; at 0 the rest of the text is left out."""

    def __init__(self, text: str, left: int = MAX_TOKENS) -> None:
        self.left = left
        self.line: Line = []
        self.simple = Simple()
        self.word: str | None = None
        self.target = ""
        self.frames: list[tuple[str, Simple, str, str] | None] = []
        self.text = text

    def parse(self) -> Line:
        at = 0
        while self.left > 0 and len(self.line) <= MAX_COMMANDS and (match := _TOKEN.match(self.text, at)):
            self.left -= 1
            at = match.end()
            kind = match.lastgroup or "single"
            if kind == "heredoc":
                at = self.heredoc(match["heredoc"], at)
            elif kind != "comment":
                getattr(self, kind)(match[kind])
        while self.frames:
            self.close()
        self.end_command()
        return self.line

    def add(self, text: str) -> None:
        self.word = text if self.word is None else self.word + text

    def escape(self, text: str) -> None:
        if text[1] != "\n":
            self.add(text[1])

    single = plain = add

    def double(self, text: str) -> None:
        self.substitutions(text)
        self.add(text.replace("\\", ""))

    def substitutions(self, text: str) -> None:
        if "`" in text or "$(" in text:
            for match in _SUBSTITUTION.finditer(text):
                inner = _Parser(match[1] or match[2] or "", self.left)
                self.line += inner.parse()
                self.left = inner.left

    def blank(self, _text: str) -> None:
        self.end_word()

    def redirect(self, text: str) -> None:
        self.end_word()
        self.target = text

    def end_word(self) -> None:
        if self.word is None:
            return
        if not self.target:
            self.simple.words.append(self.word)
        elif self.target.endswith("<<<"):
            self.simple.texts.append(self.word)
        elif ">" in self.target:
            self.simple.writes.append(self.word)
        else:
            self.simple.reads.append(self.word)
        self.word, self.target = None, ""

    def end_command(self) -> None:
        self.end_word()
        self.target = ""
        if self.simple.words or self.simple.writes or self.simple.texts:
            self.line.append(self.simple)
        self.simple = Simple()

    def opening(self, mark: str) -> None:
        if mark == "(":
            self.end_command()
            self.frames.append(None)
            return
        self.frames.append((mark, self.simple, (self.word or "") + UNKNOWN, self.target))
        self.simple, self.word, self.target = Simple(), None, ""

    def close(self) -> None:
        self.end_command()
        frame = self.frames.pop() if self.frames else None
        if frame:
            _, self.simple, self.word, self.target = frame

    def separator(self, mark: str) -> None:
        if mark == ")" or (mark == "`" and self.frames and self.frames[-1] and self.frames[-1][0] == "`"):
            self.close()
        elif mark == "`":
            self.opening(mark)
        else:
            self.end_word()
            self.simple.piped = mark == "|"
            self.end_command()

    def heredoc(self, mark: str, at: int) -> int:
        """Takes the body out of the text; a body whose mark is not quoted still runs its substitutions."""
        self.end_word()
        ending = re.compile(rf"\n[ \t]*{re.escape(mark.strip(chr(39) + chr(34) + chr(92)))}[ \t]*(?=\n|\Z)")
        start = self.text.find("\n", at)
        if start < 0:
            return at
        end = ending.search(self.text, start)
        body = self.text[start + 1 : end.start() if end else len(self.text)]
        self.simple.texts.append(body)
        if mark[0].isalnum() or mark[0] == "_":
            self.substitutions(body)
        self.text = self.text[:start] + (self.text[end.end() :] if end else "")
        return at


def parse(text: str) -> Line:
    """The simple commands of `text` in order; those of substitutions stand among them."""
    return _Parser(text[:MAX_CHARS]).parse()
