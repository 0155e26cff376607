"""Calls that only look: they change nothing anywhere, so that what failed before them fails behind them as well.

A command looks where it is plain (`shell.plain`), each program in it is known to, with the words that it has here, and
nothing is written. Programs of which every option and every operand only looks may have any words. Of all others each option
must be one that is listed here, spelled out, and no word may come from a wildcard or a variable that could bring another.
What would let time pass (`sleep`, `tail -f`) is no look: time may mend. Neither is what runs elsewhere, as somebody else, or
with programs that a folder's own settings name: git in another folder than the session's.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

from toolguard_engine import gitlooks
from toolguard_engine.shell.plain import Word, plain
from toolguard_engine.toolnames import words
from toolguard_engine.toolsearch import tool_name

MAX_COMMAND = 4_000
"""Characters; a longer command is not read for this."""

_TOOLS = words(
    "read ls grep find glob list_files search_files read_file view_image "
    "memory_get memory_search wiki_get wiki_search wiki_status sessions_list sessions_history sessions_search "
    "session_status conversations_list agents_list get_goal github_identity_status "
    "tool_search tool_describe web_fetch web_search x_search image pdf"
)
_ACTIONS = {
    "process": words("list log poll"),
    "subagents": words("list log info"),
    "nodes": words("status describe"),
    "cron": words("status list runs"),
    "automations": words("status list runs get"),
    "gateway": words("config.get config.schema config.schema.lookup"),
}
_COMMAND_LINES = words("exec bash shell")
_PARAMETERS = words(
    "command workdir cwd timeout timeoutMs timeout_seconds yieldMs background pty description host node security ask"
)
"""Of a command. Others (`env`, `elevated`) make known programs into others, or run them with more rights."""
_FOLDERS = ("workdir", "cwd")


def only_looks(tool: str, params: Any) -> bool:
    """Whether this call surely changes nothing; False where that cannot be known."""
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
    return _command_looks(command, elsewhere=any(params.get(folder) for folder in _FOLDERS))


@lru_cache(maxsize=64)  # each call is asked about more than once, and polls come again
def _command_looks(command: str, *, elsewhere: bool) -> bool:
    read = plain(command)
    if read is None or not read[0] or any(map(_DEVICE.match, read[1])):
        return False
    programs = [_looking(each) for each in read[0]]
    return all(programs) and not ("git" in programs and (elsewhere or "cd" in programs))


_FOLDER = re.compile(r"(?:/usr(?:/local)?)?/s?bin/(?=[^/]+\Z)")
"""A program elsewhere is another one, whatever its name."""
_DEVICE = re.compile(r"(?:/|\.\.)[./]*+(?:dev(?:/(?!null\Z)|\Z)|proc/.*(?:environ|root|cwd|fd|kmsg|mem\Z))")
"""Files that never end, or do something when they are read; those that show secrets, or lead to such."""
_SETTING = re.compile(
    r"(?:LC_[A-Z]{1,20}|LANG)=[\w.@-]*|TZ=\w[\w/+-]*|(?:NO_COLOR|COLUMNS|LINES)=\d*|(?:GIT_)?PAGER=cat", re.ASCII
)
_DURATION = re.compile(r"\d{1,6}[smh]?")
Words = Sequence[Word]


def _looking(argv: Words) -> str:
    """The name of the program that runs, if it only looks; empty otherwise."""
    at = 0
    while at < len(argv) and argv[at].kind == "sure" and _SETTING.fullmatch(argv[at].text):
        at += 1
    while at < len(argv) and argv[at].kind == "sure" and argv[at].text in ("time", "timeout"):
        if argv[at].text == "timeout":
            at += 1
            if at == len(argv) or argv[at].kind != "sure" or not _DURATION.fullmatch(argv[at].text):
                return ""
        at += 1
    if at == len(argv) or argv[at].kind != "sure" or any(_DEVICE.match(word.text) for word in argv[at:]):
        return ""
    name, rest = _FOLDER.sub("", argv[at].text), argv[at + 1 :]
    return name if name in _READERS or (name in _ASKED and _ASKED[name](rest)) else ""


_READERS = words(
    "cat tac nl head wc stat ls df du grep egrep fgrep cut tr comm cmp paste fold column expand rev od hexdump strings "
    "md5sum sha1sum sha256sum sha512sum cksum sum b2sum jq diff echo true false : cd pwd which whereis basename dirname "
    "realpath readlink type id whoami groups uname nproc uptime lscpu lsblk"
)
"""With whatever words: no option and no operand of theirs writes, waits, runs anything or goes to the network."""
_FED = _READERS - {"cd", ":", "type"}
"""Of those, what `xargs` may start."""

Asked = Callable[[Words], bool]


def _only(options: str, operands: str = r".*") -> Asked:
    """Looks where each word that begins with a dash is one of `options`, and each other one of `operands`."""
    dashed, others = re.compile(options), re.compile(operands, re.DOTALL)

    def looks(argv: Words) -> bool:
        return all(
            word.kind == "sure" and dashed.fullmatch(word.text)
            if word.text[:1] == "-" and word.text != "-"
            else word.kind in ("sure", "below") and others.fullmatch(word.text)
            for word in argv
        )

    return looks


def _exactly(pattern: str) -> Asked:
    """Looks where its words, with a blank between them, are just that."""
    whole = re.compile(pattern)
    return lambda argv: (
        all(word.kind == "sure" for word in argv) and bool(whole.fullmatch(" ".join(word.text for word in argv)))
    )


_SED_AT = r"(?:\d{1,9}|\$|/[^/\\\n\[]+/)"
_SED_SHOWS = re.compile(
    rf"(?:{_SED_AT}?(?:,(?:\+\d{{1,9}}|{_SED_AT}))?[pdq=];? ?){{1,9}}"
    r"|s(?:/[^/\\\n]*/[^/\\\n]*/|\|[^|\\\n]*\|[^|\\\n]*\|)[gpI0-9]{0,4}"
)
_sed_words = _only(r"-(?:n|E|r|nE|nr|En|rn)|--quiet|--silent|--regexp-extended")


def _sed(argv: Words) -> bool:
    """With one script that surely only prints: `sed -n 10,20p file`."""
    operands = [word for word in argv if word.text[:1] != "-"]
    return (
        _sed_words(argv) and bool(operands) and operands[0].kind == "sure" and bool(_SED_SHOWS.fullmatch(operands[0].text))
    )


_uniq_words = _only(r"-[cdDui]{1,5}|-[fsw]\d{1,6}|--(?:count|repeated|unique|ignore-case)")


def _uniq(argv: Words) -> bool:
    """With at most one operand: the second one is written."""
    operands = [word for word in argv if word.text[:1] != "-" or word.text == "-"]
    return len(operands) <= 1 and all(word.kind == "sure" for word in operands) and _uniq_words(argv)


_DATE_OPTION = re.compile(r"-u|-R|-I(?:date|hours|minutes|seconds|ns)?|--utc|--iso-8601(?:=\w+)?|--rfc-3339=\w+|--date=.*")


def _date(argv: Words) -> bool:
    """A word that is no format would set the clock."""
    behind = ""
    for word in argv:
        if word.kind != "sure" or not (behind == "-d" or word.text == "-d" or word.text[:1] in ("+", "-")):
            return False
        if behind != "-d" and word.text[:1] == "-" and word.text != "-d" and not _DATE_OPTION.fullmatch(word.text):
            return False
        behind = "" if behind == "-d" else word.text
    return True


_FORMAT = re.compile(r"(?:[^%\-]|%%|%-?\d{0,4}s)(?:[^%]|%%|%-?\d{0,4}s)*")


def _printf(argv: Words) -> bool:
    """With a format that makes no number of a word: shells work out numbers, subscripts in them run commands."""
    return bool(argv) and argv[0].kind == "sure" and bool(_FORMAT.fullmatch(argv[0].text))


_IS = words("-e -f -d -r -w -x -s -L -h -n -z -S -p -b -c")
_EQUALS = words("= == !=")


def _test(argv: Words) -> bool:
    """A single question about a file or two texts; others work out numbers, or variables by their names."""
    asked = argv[1:] if argv and argv[0] == Word("!") else argv
    if any(word.kind not in ("sure", "one") for word in asked):
        return False
    if len(asked) == 2:  # noqa: PLR2004 - the question and a word
        return asked[0].kind == "sure" and asked[0].text in _IS
    return len(asked) == 3 and asked[1].kind == "sure" and asked[1].text in _EQUALS  # noqa: PLR2004 - a word on both sides


def _bracket(close: str) -> Asked:
    return lambda argv: bool(argv) and argv[-1] == Word(close) and _test(argv[:-1])


_XARGS_OPTION = re.compile(r"-[0rt]{1,3}|-[nLP]\d{1,4}|-I(?:\{\}|%)")


def _xargs(argv: Words) -> bool:
    """What it starts gets words that nobody knows."""
    at = 0
    while at < len(argv) and argv[at].kind == "sure" and argv[at].text[:1] == "-":
        option, value = argv[at].text, argv[at + 1].text if at + 1 < len(argv) else ""
        if not _XARGS_OPTION.fullmatch(option):
            if not _XARGS_OPTION.fullmatch(option + value) or argv[at + 1].kind != "sure":
                return False
            at += 1
        at += 1
    return at < len(argv) and argv[at].kind == "sure" and argv[at].text in _FED


def _command(argv: Words) -> bool:
    """`command -v x` says where it is; everything else runs it."""
    return len(argv) > 1 and argv[0] in (Word("-v"), Word("-V")) and all(word.text[:1] != "-" for word in argv[1:])


_COLUMN = (
    r"(?:pid|ppid|pgid|user|uid|comm|cmd|args|command|stat|state|etime|time|lstart|%cpu|%mem|pcpu|pmem|rss|vsz|tty|ni)=?"
)

_ASKED: dict[str, Asked] = {
    "git": gitlooks.looks,
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
_ASKED["fdfind"] = _ASKED["fd"]
"""Those with an option or an operand that is no look, and what is asked of their words."""
