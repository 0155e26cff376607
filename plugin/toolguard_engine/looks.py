"""Calls that only look: they change nothing anywhere, so that what failed before them fails behind them as well.

A command looks where every program in it is known to, with the words that it has here, and nothing is written. What would
let time pass (`sleep`, `wait`) does not: time may mend. Neither does what a wrapper runs elsewhere or as somebody else.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from typing import Any

from toolguard_engine.shell.model import UNKNOWN, Reading, Redirect, Run
from toolguard_engine.shell.unwrap import read
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
_SETTINGS = words("env elevated")
"""Parameters of a command that make known programs into others, or run it with more rights."""


def only_looks(tool: str, params: Any) -> bool:
    """Whether this call surely changes nothing; False where that cannot be known."""
    name = tool_name(tool)
    if name in _TOOLS:
        return True
    if not isinstance(params, dict):
        return False
    if name in _ACTIONS:
        action = params.get("action")
        return isinstance(action, str) and action in _ACTIONS[name]
    if name not in _COMMAND_LINES or any(params.get(setting) for setting in _SETTINGS):
        return False
    command = params.get("command")
    return isinstance(command, str) and len(command) <= MAX_COMMAND and _reading_looks(read(command))


def _reading_looks(reading: Reading) -> bool:
    return bool(reading.runs) and not reading.flaws and all(map(_run_looks, reading.runs)) and _all_seen(reading.runs)


def _all_seen(runs: tuple[Run, ...]) -> bool:
    """Whether of each wrapper it was found out what it runs."""
    around = Counter(run.name for run in runs if run.name in _WRAPPERS and not _asks(run))
    inside = Counter(run.via[-1] for run in runs if run.via)
    return all(inside[name] >= count for name, count in around.items())


def _asks(run: Run) -> bool:
    """`command -v x`, and `env` alone: they run nothing."""
    return (run.name == "command" and run.argv[1:2] in (("-v",), ("-V",))) or run.argv == ("env",)


def _run_looks(run: Run) -> bool:
    if run.argv[0] != run.name and not _FOLDER.fullmatch(run.argv[0]):
        return False
    if not (_AROUND.issuperset(run.via) and all(map(_reads, run.redirects))):
        return False
    if not all(_HARMLESS_NAME.fullmatch(name) for name, _ in run.assigns):
        return False
    return run.name in _READERS or (run.name in _ASKED and _ASKED[run.name](run.argv[1:]))


_FOLDER = re.compile(r"(?:/usr(?:/local)?)?/s?bin/[^/]+")
"""A program elsewhere is another one, whatever its name."""
_WRAPPERS = words("timeout gtimeout nice time env command builtin xargs")
_AROUND = _WRAPPERS | {"$()", "()"}
_HARMLESS_NAME = re.compile(r"[a-z_][a-z0-9_]{0,40}|[A-Z]|LC_[A-Z]{1,20}|LANG|LANGUAGE|TZ|NO_COLOR|TERM|COLUMNS|LINES")
"""Variables that make no program run or load another."""
_NOTHING = words("/dev/null /dev/stderr /dev/stdout &1 &2")


def _reads(redirect: Redirect) -> bool:
    if redirect.kind == "read":
        return not redirect.target.startswith(("/dev/tcp", "/dev/udp", UNKNOWN))
    return redirect.kind == "text" or redirect.target in _NOTHING


_READERS = words(
    "cat tac nl head wc stat ls dir vdir du df grep egrep fgrep zgrep zcat cut tr comm cmp paste fold column expand rev od "
    "hexdump strings md5sum sha1sum sha256sum sha512sum cksum sum b2sum jq diff "
    "echo printf true false : test [ [[ cd pwd which whereis basename dirname realpath readlink seq expr type "
    "id whoami groups uname nproc arch uptime ps pgrep lsof netstat lscpu lsblk printenv locale getent tty "
    "timeout gtimeout nice command builtin xargs"
)
"""With whatever words: no option of theirs writes, waits or runs anything, or what they run is looked at for itself."""

_GIT_LOOKS = words(
    "status log diff show shortlog blame rev-parse rev-list ls-files ls-tree describe cat-file merge-base grep name-rev "
    "for-each-ref show-ref count-objects var version whatchanged cherry check-ignore"
)
_GIT_BEGINS = {
    "branch": words("--list"),
    "tag": words("-l --list"),
    "remote": words("show get-url"),
    "stash": words("list show"),
    "worktree": words("list"),
    "config": words("--get --get-all --get-regexp --list -l"),
    "submodule": words("status"),
}
"""Sub-commands that look where their first word is one of these ..."""
_GIT_FLAGS = {
    "branch": words("-a -r -v -vv -av -avv --all --remotes --verbose --show-current --no-color"),
    "tag": words("-n"),
    "remote": words("-v --verbose"),
}
"""... or where all their words are, if they have any."""
_GIT_WRITES = ("--output", "--ext", "--open", "-O", "--textconv", "--filters", "-d", "-D", "--delete", "--edit", "--unset")


def _git(argv: tuple[str, ...]) -> bool:
    while argv and argv[0] in ("--no-pager", "-P", "--no-optional-locks", "-C"):
        argv = argv[2:] if argv[0] == "-C" else argv[1:]
    verb, rest = (argv[0], argv[1:]) if argv else ("", ())
    if any(word.startswith(_GIT_WRITES) for word in rest) and verb != "ls-files":
        return False
    if verb in _GIT_LOOKS or (verb in _GIT_FLAGS and _GIT_FLAGS[verb].issuperset(rest)):
        return True
    return verb in _GIT_BEGINS and rest[:1] != () and rest[0] in _GIT_BEGINS[verb]


def _without(pattern: str) -> Callable[[tuple[str, ...]], bool]:
    """Looks unless one of its words begins like that, or with what is not known."""
    writes = re.compile(pattern)
    return lambda argv: not any(writes.match(word) or word.startswith(UNKNOWN) for word in argv)


_SED_SHOWS = re.compile(
    r"(?:(?:\d{1,9}|\$)?(?:,(?:\+?\d{1,9}|\$))?[pdq=];? ?){1,9}"
    r"|s(?:/[^/\\\n]*/[^/\\\n]*/|\|[^|\\\n]*\|[^|\\\n]*\|)[gpI0-9]{0,4}"
)
_SED_OPTIONS = words("-n -E -r -nE -nr -En -rn --quiet --silent --regexp-extended")


def _sed(argv: tuple[str, ...]) -> bool:
    """With one script that surely only prints: `sed -n 10,20p file`."""
    operands = [word for word in argv if word not in _SED_OPTIONS]
    return bool(operands and _SED_SHOWS.fullmatch(operands[0])) and not any(word[:1] in ("-", UNKNOWN) for word in operands)


_ASKED: dict[str, Callable[[tuple[str, ...]], bool]] = {
    "find": _without(r"-(?:delete|exec|ok|fprint|fls)"),
    "fd": _without(r"-[a-zA-Z]*[xX]|--exec"),
    "fdfind": _without(r"-[a-zA-Z]*[xX]|--exec"),
    "rg": _without(r"--pre|--hostname-bin|--search-zip|-[a-zA-Z]*z"),
    "git": _git,
    "sed": _sed,
    "sort": _without(r"-[a-zA-Z0-9]*[oT]|--[oct]"),
    "uniq": lambda argv: len([word for word in argv if word[:1] != "-" or word == "-"]) <= 1,
    "date": _without(r"-[a-zA-HJ-Z]*s|--s|\d{8}"),
    "hostname": lambda argv: not argv,
    "env": lambda argv: not any(word.startswith("-") for word in argv[:1]),
    "time": _without(r"-[a-zA-Z]*[oa]|--[oa]"),
    "tree": _without(r"-[a-zA-Z]*[oR]|--output"),
    "tail": _without(r"-[a-zA-Z0-9]*[fF]|--f|--retry|--pid"),
    "file": _without(r"-[a-zA-Z]*C|--comp"),
    "ss": _without(r"-[a-zA-Z]*[KE]|--kill|--events"),
    "free": _without(r"-[a-zA-Z]*[sc]|--[sc]"),
}
"""Those with an option or an operand that is no look, and what is asked of their words."""
