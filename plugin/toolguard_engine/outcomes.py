"""What came of a call, without what varies by itself, and whether repeating can mend it.

The laws:
- what varies by itself does not count (`volatile`);
- what the gateway's own loop detection writes behind a result (`_HOST_NOTE`) is no part of it;
- a failure lasts where its text says so (`_LASTING_TEXTS`, `_LASTING_PAIR`) and nothing in it may pass (`_PASSING_TEXTS`,
  `_PASSING_PATTERN`). That of a command that waits never does, that of a poll where waiting cannot help (`_NO_USE`);
- it tells why where its text says more than that it failed or that nothing was found, and it names what it failed at where
  a file or something in quotes is in it.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from toolguard_engine.callkeys import DIGITS, digest
from toolguard_engine.toolsearch import tool_name
from toolguard_engine.volatile import MAX_TEXT, own, stable

MAX_REASON = 1_500
"""Characters at the end of what a command printed, or at the beginning of any other error, that say why it failed."""


class Outcome(msgspec.Struct, frozen=True):
    """`result`: a digest, equal for two outcomes that say the same; `exact`: one of all that came. For a failure: `wording`,
    that of its text with all numbers masked; `lasting`: repeating cannot mend it; `tells`: its text says why; `names`: it
    says at what; `cut_off`: the gateway ended the run meanwhile, so what came of it is not known."""

    result: int
    failed: bool = False
    wording: int = 0
    lasting: bool = False
    tells: bool = False
    names: bool = False
    cut_off: bool = False
    exact: int = 0


ABORTED = "Aborted"
"""The gateway's word in place of a result, where it ends the run itself."""

_FAILED = frozenset(
    {"error", "failed", "failure", "timeout", "timed-out", "timed_out", "killed", "aborted", "denied", "cancelled"}
)
_PASSING = frozenset({"timeout", "timed-out", "timed_out", "killed", "aborted", "cancelled"})
_PASSING_EXITS = frozenset({124, 130, 137, 143})
"""`timeout`, and a program that a signal ended."""
_NOT_RUN = frozenset({126, 127})
"""What a shell says of a program that it cannot start."""
_NAME = re.compile(r"(?<![^\s'\"])(?!http/\d)[^\s'\"/]{0,100}/[^\s'\"]*+|[\w-]{1,100}\.[a-z]\w{0,4}\b")
"""Paths, files and hosts: what is called `timeout.py` is no timeout."""

_QUOTED = re.compile(r"(?<!\w)['\"`\u2018\u201c][^'\"`\u2018\u2019\u201c\u201d\n]{2,100}['\"`\u2019\u201d]")
_SAYS_LITTLE = re.compile(
    r"\b(?:no|0) (?:\w{1,20} )?(?:match|matches|results?|hits?|items|records|output|data)\b(?: (?:were |was )?found)?"
    r"|\bnothing (?:was )?found\b|\bnot found\b|\b(?:the|a|an|command|process|tool|call|execution|request|it|has|was)\b"
    r"|\b(?:exit(?:ed)?|with|code|status|non-?zero|error|err|fail(?:ed|ure)?|unsuccessful|returned|unknown|occurred|signal)\b",
    re.IGNORECASE,
)
_NO_WORD = " \t\r\n0123456789.,:;!?()[]{}<>-_=*#/\\|'\"`"
_HOST_NOTE = "[System note: Tool-loop warning"
_HOST_NOTE_END = "making progress.]"
MAX_HOST_NOTE = 300
MAX_HOST_NOTES = 3

_SENDING = frozenset({"message", "sessions_send", "conversations_send", "conversations_turn"})
_SHELLS = frozenset({"exec", "bash", "shell", "process"})
_POLLS: dict[str, frozenset[str]] = {
    "process": frozenset({"poll", "log", "list", "status", "wait"}),
    "subagents": frozenset({"list", "status", "log", "wait", "info"}),
    "nodes": frozenset({"status", "list", "pending"}),
    "cron": frozenset({"status", "list", "runs"}),
    "automations": frozenset({"status", "list", "runs", "get"}),
}
_POLLING = frozenset({"bash_output", "bashoutput", "task_output", "taskoutput", "get_goal", "sessions_yield", "wait"})
_POLLING_ENDS = ("_status", "_wait", "_poll", "_progress")


def is_poll(tool: str, params: Any) -> bool:
    """Whether this call asks how far something is that runs by itself: repeating it is what it is for."""
    name = tool_name(tool)
    actions = _POLLS.get(name)
    if actions is None:
        return name in _POLLING or name.endswith(_POLLING_ENDS)
    action = params.get("action") if isinstance(params, dict) else None
    return isinstance(action, str) and action.lower() in actions


def outcome(  # noqa: PLR0913
    tool: str, params: Any, text: str, size: int, status: str, exit_code: int | None, *, failed: bool, rest: str = ""
) -> Outcome:
    """Of what the gateway part tells (`protocol.Came`). `rest`: what it says of all that is not in the text, as it is."""
    if text.endswith(_HOST_NOTE_END):
        text, size = _without_host_note(text, size)
    state = status.lower()
    failed = failed or bool(exit_code) or state in _FAILED
    cut = size if size > len(text) and size > _units(text) else 0
    data = text[:MAX_TEXT].encode("utf-8", "replace")
    known = own(params) if data.translate(None, DIGITS) != data else frozenset()
    masked = stable(data, known, sent=tool_name(tool) in _SENDING)
    told = f"{cut} {-1 if exit_code is None else exit_code} {failed:d} {state}\0{rest}".encode("utf-8", "replace")
    result = digest(b"%b\0%b" % (masked, told))
    exact = result if masked is data else digest(b"%b\0%b" % (data, told))
    if not failed:
        return Outcome(result, exact=exact)
    error = _error(text)
    said = _SAYS_LITTLE.sub("", error[:MAX_REASON])
    if error is not text:
        masked = stable(error[:MAX_TEXT].encode("utf-8", "replace"), known, sent=False)
    return Outcome(
        result,
        failed=True,
        wording=digest(masked.translate(None, DIGITS)),
        lasting=_lasts(tool, params, error, state, exit_code),
        tells=bool(said.strip(_NO_WORD)),
        names=_NAME.search(said) is not None or _QUOTED.search(said) is not None,
        cut_off=text == ABORTED,
        exact=exact,
    )


def _without_host_note(text: str, size: int) -> tuple[str, int]:
    """It may stand there more than once: inside of Tool Search and around it."""
    for _ in range(MAX_HOST_NOTES):
        before, found, note = text.rpartition(_HOST_NOTE)
        if not found or len(note) > MAX_HOST_NOTE or "]" in note[:-1] or not note.endswith("]"):
            break
        size -= len(text)
        text = before.removesuffix("\n")
        size += len(text)
    return text, size


def _units(text: str) -> int:
    """Its length as the gateway counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _error(text: str) -> str:
    """The sentence in a failure: of the gateway's JSON form its `error`, without the file that it may show behind it."""
    if text.startswith("{"):
        try:
            body = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError, UnicodeError):
            body = None
        error = body.get("error") if isinstance(body, dict) else None
        if isinstance(error, dict):
            error = error.get("message")
        text = error if isinstance(error, str) and error else text
    sentence, shown, _ = text.partition("\nCurrent file contents:")
    return sentence if shown else text


def _lasts(tool: str, params: Any, error: str, state: str, exit_code: int | None) -> bool:
    of_command = tool_name(tool) in _SHELLS
    if state in _PASSING or exit_code in _PASSING_EXITS or (of_command and _waits(params)):
        return False
    reason = (error[-MAX_REASON:] if of_command else error[:MAX_REASON]).lower()
    if is_poll(tool, params):
        lasting = _NO_USE.search(reason) is not None
    else:
        lasting = exit_code in _NOT_RUN or _says(reason, _LASTING_TEXTS, _LASTING_PAIR)
    if not lasting or "lock': file exists" in reason:  # git's, for as long as another git runs
        return False
    return not _says(_MEND_FIRST.sub("", _NAME.sub("", reason)), _PASSING_TEXTS, _PASSING_PATTERN)


def _waits(params: Any) -> bool:
    """Whether a command lets time pass, for something that is to come."""
    command = params.get("command", params.get("cmd")) if isinstance(params, dict) else None
    return isinstance(command, str) and _WAITING.search(command[:MAX_COMMAND]) is not None


_WAITING = re.compile(
    r"(?:\A|[;&|({\n`!]|\b(?:do|then|else)\b)\s{0,20}(?:[\w./=-]{1,40}[ \t]{1,4}){0,2}"
    r"(?:/usr/bin/|/bin/)?(?:u?sleep|wait|watch|until|inotifywait)(?![\w./=-])"
    r"|\bsleep\(|\b[Ss]tart-[Ss]leep\b|[ \t]--(?:wait|watch)\b"
)
MAX_COMMAND = 4_000
"""Characters of a command that are searched for what waits."""

_NO_USE = re.compile(
    r"\bno session found for \S|\bnot a git repo|\bunknown (?:session|process|id|identifier|action|option|parameter)\b"
    r"|\bpermission denied|\b(?:eacces|unauthorized|unauthenticated|forbidden)\b|\b(?:missing required|bad credentials)\b"
)
"""In the answer to a poll. That something is not found says nothing there: it may be still to come."""

_MEND_FIRST = re.compile(
    r"\b(?:check|re-?read|read|correct|fix|verify|specify|supply|provide)\b"
    r"(?![^.\n]{0,80}(?:connect|network|server|internet|later|wait))"
    r"[^.\n]{0,80}\b(?:and|then|before) (?:try again|trying again|retry(?:ing)?)\b(?! (?:later|in |after|shortly|soon|with))"
    r"|\b(?:address|port)(?: [^ \n]{1,60})?(?: is)?(?: already)? in use\b"
)
"""Of a text that lasts: it asks for another call, or another program has to be ended first."""


def _says(reason: str, texts: tuple[str, ...], pattern: re.Pattern[str]) -> bool:
    return any(text in reason for text in texts) or pattern.search(reason) is not None


_PASSING_TEXTS = (
    "timed out", "time out", "times out", "timedout", "time-out", "deadline exceeded", "getaddrinfo", "name resolution",
    "service not known", "nodename nor servname",
    "no such host", "unknown host", "host is down", "no route to host", "unreachable", "not connect", "n't connect",
    "cannot connect", "to connect", "to reach", "not reach", "connection refused", "connection reset", "connection closed",
    "connection aborted", "connection error", "connection lost", "connection was ", "broken pipe", "hang up", "hung up",
    "disconnect", "early eof", "network error", "network is down", "fetch failed",
    "rate limit", "rate-limit", "ratelimit", "rate_limit", "too many requests", "quota", "throttl", "overloaded",
    "at capacity", "bad gateway", "internal server error", "unavailable", "temporary ", "temporarily ",
    "not ready", "not yet ready", "still starting", "still running", "starting up", "in progress", "please wait",
    "try again", "trying again", " busy", " in use", "is locked", "was locked", "been locked", "locked by", "lock held",
    "lock is held",
)  # fmt: skip
"""What may be otherwise the next time. Of the text in small letters, as the others below."""

_PASSING_PATTERN = re.compile(
    r"\be(?:conn|net[udr]|host[ud]|ai_|(?:notfound|pipe|again|busy|txtbsy|wouldblock)\b)|(?<![\w-])retry|(?<!-)timeout"
    r"|(?<![\w.])429(?![\w.])|\bdns\b"
    r"|(?:\bhttp(?:/[\d.]{1,3})?|\bstatus(?:[ _]code)?|\berror|\bcode|\breturned)\W{0,3}5\d\d\b|\(5\d\d\)"
    r"|\bresolv(?:e|ing) (?:the )?(?:remote |dns |server )?(?:host|name|address|domain|proxy|server)"
    r"|\b(?:host|hostname|address|domain)(?: name)? [^.\n]{0,40}\bresolved?\b"
    r"|\b(?:acquir[a-z]{1,3}|get|obtain|take) (?:[a-z]{1,12} )?lock\b"
)

_LASTING_TEXTS = (
    "no such ", "not found", "enoent", "not exist", "n't exist", "no session found", "not a git repo", "no module named",
    "cannot find", "can't find", "could not find", "couldn't find", "cannot open", "can't open", "cannot access",
    "cannot stat", "modulenotfounderror", "filenotfounderror", "not installed", "missing script",
    "did not match any", "no match", "not a directory", "enotdir", "is a directory", "eisdir", "eexist", "file exists",
    "already exists", "permission denied", "permissionerror", "eacces", "eperm", "erofs", "read-only file", "not permitted",
    "not allowed", "access denied", "access is denied", "escapes sandbox", "unauthorized", "unauthenticated", "forbidden",
    "authentication failed", "authentication required", "invalid credentials", "bad credentials",
    "eaddrinuse", "address already in use",
    "string to replace", "text to replace", "must match exactly", "occurrences of the text", "must be unique",
    "syntax error", "syntaxerror", "parse error", "parsererror", "unexpected token", "unexpected end of", "unexpected eof",
    "unterminated", "unrecognized", "unrecognised", "is not recognized", "not supported", "einval", "is required",
    "required argument", "is not a ", "not appear to be",
)  # fmt: skip
"""What says that the same call will fail in the same way until something else changes."""

_LASTING_PAIR = re.compile(
    r"\bunknown (?!error|failure|reason|issue|exception)|\bresolve (?:import|module)\b"
    r"|\bresolve ['\"\u201c](?:\.{1,2}/|[/@])|\boutside (?:of )?(?:the )?(?:workspace|sandbox|allowed"
    r"|project|repo|root)|"
    r"\b(?:invalid|illegal|bad|unsupported|unexpected|ambiguous|missing) (?:[a-z]{1,16} ){0,2}"
    r"(?:options?|commands?|subcommand|arguments?|parameters?|flags?|ids?|identifier|action|fields?|key|name|path"
    r"|switch|revision"
    r"|reference|object|operand|type|value|script|target|url|syntax|character|property|choice|number|regular)\b"
)
