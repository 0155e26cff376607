"""Calls that are read-only: they change nothing anywhere, so a call that failed before one will fail after it as well.

A command is read-only if it is plain (`calls.plain`), each of its programs is known to be read-only with the given words,
and nothing is written. Programs whose options and operands are all read-only may have any words. For all others, each option
must be listed here and spelled out, and no word may come from a wildcard or a variable that could add another one. Commands
that let time pass (`sleep`, `tail -f`) are excluded, because waiting may change an outcome. So are commands that run
elsewhere, as another user, or with programs that a folder's settings name: git outside the session's folder.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from typing import Any

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls import read_only_git
from toolguard_engine.effects.calls.plain import PlainWord, plain, split
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import ProgramRun, Reading
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.host import tool_names
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.model.lazy import kept_with

MAX_COMMAND = 4_000
"""In characters. A longer command is never considered read-only."""

_TOOLS = program_catalogue.tools("read_only")
_ACTIONS = {
    "process": tool_names.split("list log poll"),
    "subagents": tool_names.split("list log info"),
    "nodes": tool_names.split("status describe"),
    "cron": tool_names.split("status list runs"),
    "automations": tool_names.split("status list runs get"),
    "gateway": tool_names.split("config.get config.schema config.schema.lookup"),
}
_COMMAND_LINES = program_catalogue.tools("command_line")
_PARAMETERS = tool_names.split(
    "command workdir cwd timeout timeoutMs timeout_seconds yieldMs background pty description host node security ask"
)
"""Parameters of a command. Others (`env`, `elevated`) can change what the programs are or the rights they have."""
_FOLDERS = ("workdir", "cwd")


def is_read_only(tool: str, params: Any, read: Reading | None = None) -> bool:
    """Whether this call certainly changes nothing; False if that is unknown. `read`: what its command was read as, with
    which the answer is kept."""
    name = tool_name(tool)
    if name in _TOOLS:
        return name != "session_status" or not (isinstance(params, dict) and params.get("model"))
    if not isinstance(params, dict):
        return False
    if name in _ACTIONS:
        action = params.get("action")
        return isinstance(action, str) and action in _ACTIONS[name]
    if name not in _COMMAND_LINES or any(value for key, value in params.items() if key not in _PARAMETERS):
        return False
    command = params.get("command")
    if not isinstance(command, str) or len(command) > MAX_COMMAND:
        return False
    elsewhere = any(params.get(folder) for folder in _FOLDERS)
    return _is_read_only_command(command, elsewhere) if read is None else _kept(read, command, elsewhere)


def may_be_read_only(runs: Iterable[ProgramRun]) -> bool:
    """A quick look at the programs of a command: False if one of them is not known to be read-only with any words."""
    return all(program.name in _READERS or program.name in _CHECKED or program.name in _TIMERS for program in runs)


@kept_with
def _kept(_: Reading, command: str, elsewhere: bool) -> bool:  # noqa: FBT001 - part of what the answer is kept for
    return _is_read_only_command(command, elsewhere)


@lru_cache(maxsize=64)  # asked more than once per call, and polls repeat
def _is_read_only_command(command: str, elsewhere: bool) -> bool:  # noqa: FBT001 - a key of the cache
    read = plain(command)
    if read is None or not read[0] or any(map(_DEVICE.match, read[1])):
        return False
    programs = [_read_only_program(read_programs) for read_programs in read[0]]
    return all(programs) and not ("git" in programs and (elsewhere or "cd" in programs))


_FOLDER = lazy_re.compile(r"(?:/usr(?:/local)?)?/s?bin/(?=[^/]+\Z)")
"""In any other folder, a program is a different one whatever its name."""
_DEVICE = lazy_re.compile(r"(?:/|\.\.)[./]*+(?:dev(?:/(?!null\Z)|\Z)|proc/.*(?:environ|root|cwd|fd|kmsg|mem\Z))")
"""Files that never end or have side effects when read, and those that reveal secrets or lead to them."""
_SETTING = lazy_re.compile(
    r"(?:LC_[A-Z]{1,20}|LANG)=[\w.@-]*|TZ=\w[\w/+-]*|(?:NO_COLOR|COLUMNS|LINES)=\d*|(?:GIT_)?PAGER=cat", re.ASCII
)
_DURATION = lazy_re.compile(r"\d{1,6}[smh]?")
_TIMERS = ("time", "timeout")
Words = Sequence[PlainWord]


def _read_only_program(argv: Words) -> str:
    """The name of the program that runs, if it is read-only; otherwise empty."""
    at = 0
    while at < len(argv) and argv[at].kind == "sure" and _SETTING.fullmatch(argv[at].text):
        at += 1
    while at < len(argv) and argv[at].kind == "sure" and argv[at].text in _TIMERS:
        if argv[at].text == "timeout":
            at += 1
            if at == len(argv) or argv[at].kind != "sure" or not _DURATION.fullmatch(argv[at].text):
                return ""
        at += 1
    if at == len(argv) or argv[at].kind != "sure" or any(_DEVICE.match(word.text) for word in argv[at:]):
        return ""
    name, rest = _FOLDER.sub("", argv[at].text), argv[at + 1 :]
    return name if name in _READERS or (name in _CHECKED and _CHECKED[name](rest)) else ""


_READERS = program_catalogue.programs("safe_reader")
"""Read-only with any words: no option or operand writes, waits, runs anything or uses the network."""
_XARGS_PROGRAMS = _READERS - program_catalogue.programs("shell_state_changer")
"""Those that `xargs` may start."""

WordsTest = Callable[[Words], bool]


def _only(options: str, operands: str = r".*") -> WordsTest:
    """Accepts words if each that begins with a dash matches `options`, and each other one matches `operands`."""
    dashed, others = lazy_re.compile(options), lazy_re.compile(operands, re.DOTALL)

    def accepts(argv: Words) -> bool:
        read = split(argv)
        return (
            not read.has_end
            and all(word.kind == "sure" and dashed.fullmatch(word.text) for word in read.options)
            and all(word.kind in ("sure", "below") and others.fullmatch(word.text) for word in read.operands)
        )

    return accepts


def _exactly(pattern: str) -> WordsTest:
    """Accepts words that, joined by spaces, match the pattern."""
    whole = lazy_re.compile(pattern)
    return lambda argv: (
        all(word.kind == "sure" for word in argv) and bool(whole.fullmatch(" ".join(word.text for word in argv)))
    )


_SED_AT = r"(?:\d{1,9}|\$|/[^/\\\n\[]+/)"
_SED_SCRIPT = lazy_re.compile(
    rf"(?:{_SED_AT}?(?:,(?:\+\d{{1,9}}|{_SED_AT}))?[pdq=];? ?){{1,9}}"
    r"|s(?:/[^/\\\n]*/[^/\\\n]*/|\|[^|\\\n]*\|[^|\\\n]*\|)[gpI0-9]{0,4}"
)
_sed_words = _only(r"-(?:n|E|r|nE|nr|En|rn)|--quiet|--silent|--regexp-extended")


def _sed(argv: Words) -> bool:
    """One script that certainly only prints: `sed -n 10,20p file`."""
    operands = split(argv).operands
    return (
        _sed_words(argv) and bool(operands) and operands[0].kind == "sure" and bool(_SED_SCRIPT.fullmatch(operands[0].text))
    )


_uniq_words = _only(r"-[cdDui]{1,5}|-[fsw]\d{1,6}|--(?:count|repeated|unique|ignore-case)")


def _uniq(argv: Words) -> bool:
    """`uniq` only reads with at most one operand: it writes to the second one."""
    operands = split(argv).operands
    return len(operands) <= 1 and all(word.kind == "sure" for word in operands) and _uniq_words(argv)


_DATE_OPTION = lazy_re.compile(
    r"-d|-u|-R|-I(?:date|hours|minutes|seconds|ns)?|--utc|--iso-8601(?:=\w+)?|--rfc-3339=\w+|--date=.*"
)


def _date(argv: Words) -> bool:
    """An operand that is not a format would set the clock."""
    if any(word.kind != "sure" for word in argv):
        return False
    texts = ("date", *(word.text for word in argv))
    read = option_parser.read_words("date", texts)
    return all(map(_DATE_OPTION.fullmatch, read.option_words(texts))) and all(text[:1] == "+" for text in read.texts)


_FORMAT = lazy_re.compile(r"(?:[^%\-]|%%|%-?\d{0,4}s)(?:[^%]|%%|%-?\d{0,4}s)*")


def _printf(argv: Words) -> bool:
    """A format without numeric conversions: shells evaluate numbers, and subscripts in them can run commands."""
    return bool(argv) and argv[0].kind == "sure" and bool(_FORMAT.fullmatch(argv[0].text))


_FILE_TEST = lazy_re.compile(r"-[efdrwxsLhnzSpbc]")
_EQUALS = tool_names.split("= == !=")


def _test(argv: Words) -> bool:
    """One test of a file or of two texts. Other tests evaluate numbers or variables by name."""
    asked = argv[1:] if argv and argv[0] == PlainWord("!") else argv
    if any(word.kind not in ("sure", "one") for word in asked):
        return False
    if len(asked) == 2:  # noqa: PLR2004 - an operator and a word
        return asked[0].kind == "sure" and bool(_FILE_TEST.fullmatch(asked[0].text))
    return len(asked) == 3 and asked[1].kind == "sure" and asked[1].text in _EQUALS  # noqa: PLR2004 - an operator between two words


def _bracket(close: str) -> WordsTest:
    return lambda argv: bool(argv) and argv[-1] == PlainWord(close) and _test(argv[:-1])


_XARGS_OPTION = lazy_re.compile(r"-[0rt]|-[nLP]\d{1,4}|-I(?:\{\}|%)")


def _xargs(argv: Words) -> bool:
    """The started program gets words that are unknown."""
    read = option_parser.read_words("xargs", ("xargs", *(word.text for word in argv)))
    at = read.operands[0].at - 1 if read.operands else len(argv)
    texts = [word.text for word in argv[: at + 1] if word.kind == "sure"]
    if len(texts) != at + 1 or texts.pop() not in _XARGS_PROGRAMS:
        return False
    given = (f"{option.entry.names[0]}{option.value.text}" for option in read.given)
    return not read.unknown and all(map(_XARGS_OPTION.fullmatch, given))


def _command(argv: Words) -> bool:
    """`command -v x` locates a program; any other form runs it."""
    read = split(argv)
    asks = bool(argv) and argv[0] in (PlainWord("-v"), PlainWord("-V"))
    return asks and len(read.options) == 1 and len(read.operands) == len(argv) - 1 > 0


_COLUMN = (
    r"(?:pid|ppid|pgid|user|uid|comm|cmd|args|command|stat|state|etime|time|lstart|%cpu|%mem|pcpu|pmem|rss|vsz|tty|ni)=?"
)

_CHECKED: dict[str, WordsTest] = {
    "git": read_only_git.is_read_only,
    "sed": _sed,
    "uniq": _uniq,
    "date": _date,
    "printf": _printf,
    "test": _test,
    "[": _bracket("]"),
    "[[": _bracket("]]"),
    "xargs": _xargs,
    "command": _command,
    "find": _only(
        r"-(?:i?name|i?path|wholename|i?regex|regextype|x?type|maxdepth|mindepth|[acm]time|[acm]min|[ac]?newer|newer[acm]t|size"
        r"|empty|print0?|printf|ls|not|o|or|a|and|prune|quit|L|H|P|user|group|perm|links|inum|samefile|xdev|mount|depth"
        r"|daystart|executable|readable|writable|true|false|\d{1,9}[a-zA-Z]?|[0-7ugorwxst=,+-]{3,12})"
    ),
    "fd": _only(
        r"-(?:[HIuspgaFL0]{1,6}|[etdE]\w*)|--(?:hidden|no-ignore|type|extension|max-depth|glob|full-path|absolute-path|exclude"
        r"|follow|fixed-strings|ignore-case)(?:=.*)?"
    ),
    "rg": _only(
        r"-(?:[nNilwcvFPSHIsouULqapx0]{1,6}|[ABCm]\d{0,6}|[etgT]|g.+|t\w+|T\w+)|--(?:files|hidden|no-ignore|no-ignore-vcs|json|count"
        r"|line-number|no-line-number|ignore-case|smart-case|case-sensitive|files-with-matches|files-without-match|no-heading"
        r"|heading|with-filename|no-filename|fixed-strings|only-matching|word-regexp|multiline|stats|invert-match|vimgrep|trim"
        r"|column|count-matches|pcre2|text|type-list|version)"
        r"|--(?:type|type-not|glob|iglob|max-count|max-depth|color|sort|sortr|context|after-context|before-context|regexp)(?:=.*)?"
    ),
    "sort": _only(
        r"-[bdfghiMnRrsuVz]{1,8}|-[bdfghiMnRrsuVz]{0,8}k[0-9.,bdfghinrMV]*|-t.{0,4}"
        r"|--(?:reverse|unique|numeric-sort|general-numeric-sort|human-numeric-sort|version-sort|ignore-case|stable|check)"
    ),
    "tail": _only(r"-(?:[nc]?\+?\d{1,12}|[ncqv])|--(?:lines|bytes)=\+?\d{1,12}"),
    "seq": _only(r"-(?:w|s.{0,4}|\d{1,4})", r"\d{1,4}|[ ,]"),
    "file": _only(r"-[bhiILkrN0]{1,6}|--(?:mime|mime-type|mime-encoding|brief|dereference|no-dereference)"),
    "tree": _only(
        r"-[adfilxLPIshugpDFtrCnJXqNA]{1,8}"
        r"|--(?:noreport|dirsfirst|gitignore|prune|du|filesfirst|charset=[\w-]+|filelimit=\d+|sort=\w+)"
    ),
    "arch": _exactly(r""),
    "hostname": _exactly(r"-s|-I|"),
    "ifconfig": _exactly(r"-a|"),
    "ip": _exactly(r"(?:-(?:br|brief|4|6|o|s|j|c) ){0,3}(?:a|addr|address|r|route|l|link)(?: (?:show|list|ls))?"),
    "free": _exactly(r"-[bkmght]{1,3}|"),
    "ps": _only(
        r"-(?:[aAefFljHLTwMm]{1,6}|[aAefFljHLTwMm]{0,6}[pouUCtg])|--(?:no-headers?|forest|headers|ppid|sort=[\w,+%-]+)",
        rf"[auxwfljh]{{1,6}}|[\d,]+|{_COLUMN}(?:,{_COLUMN})*",
    ),
    "pgrep": _only(r"-[aflnoxvwcu]{1,6}"),
    "lsof": _only(
        r"-(?:[inPtUla]{1,6}|[inPtUla]{0,6}[pus]|[inPtUla]{0,6}i[A-Za-z0-9:,-]*|sTCP:[A-Z]+)", r"[\w./:][\w./:,-]*"
    ),
    "netstat": _exactly(r"-[tulnpaxrise46]{1,8}(?: -[tulnpaxrise46]){0,8}|"),
    "ss": _only(r"-[tulnpaxeiosm46]{1,8}", r"[\w:=.]+"),
}
_CHECKED["fdfind"] = _CHECKED["fd"]
"""Programs with an option or operand that is not read-only, and the test of their words."""
