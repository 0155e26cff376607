"""The outcome of a call without its volatile parts, and whether a retry could succeed.

Rules:
- volatile parts do not count (`normalize_output`);
- the note that the gateway's own loop detection appends to a result (`_HOST_NOTE`) is not part of it;
- a failure is lasting if its text says so (`_LASTING_TEXTS`, `_LASTING_PATTERN`) and nothing in it may be transient
  (`_TRANSIENT_TEXTS`, `_TRANSIENT_PATTERN`). A command that waits never fails lastingly; a poll does only if waiting cannot
  help (`_POLL_LASTING`);
- a failure explains itself if its text says more than that it failed or found nothing. It names its object if the text
  contains a file or something in quotes.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls.call_digest import DIGITS, digest
from toolguard_engine.effects.calls.normalize_output import MAX_TEXT, own_values, stable
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.host.tool_search import tool_name

MAX_REASON = 1_500
"""Characters that may say why a call failed: at the end of a command's output, at the beginning of any other error."""


class Outcome(msgspec.Struct, frozen=True):
    """`result`: a digest, equal for outcomes that say the same; `exact`: a digest of everything. Of a failure: `wording`, a
    digest of its text without numbers; `lasting`: a retry cannot fix it; `passing`: it may pass by itself; `explained`: its
    text says why; `names`: it says on what; `cut_off`: the gateway ended the run, so the real outcome is unknown. `running`:
    a command that goes on."""

    result: int
    failed: bool = False
    wording: int = 0
    lasting: bool = False
    passing: bool = False
    explained: bool = False
    names: bool = False
    cut_off: bool = False
    exact: int = 0
    running: bool = False


ABORTED = "Aborted"
"""The gateway's result of a call if it ends the run itself."""

_REFUSED = frozenset({"approval-pending", "approval-unavailable"})
"""What the gateway calls a command that it has not run, because its own policy asks a person first."""

_REFUSALS = ("exec denied", "approval unavailable", "approval required (id")
"""What it says of such a command, in lower case."""

_FAILED = _REFUSED | frozenset(
    {"error", "failed", "failure", "timeout", "timed-out", "timed_out", "killed", "aborted", "denied", "cancelled"}
)
_TRANSIENT = frozenset({"timeout", "timed-out", "timed_out", "killed", "aborted", "cancelled"})
_TRANSIENT_EXITS = frozenset({124, 130, 137, 143})
"""Exit codes of `timeout` and of programs ended by a signal."""
_NOT_RUN = frozenset({126, 127})
"""Exit codes of a shell that cannot start a program."""
_NAME = lazy_re.compile(r"(?<![^\s'\"])(?!http/\d)[^\s'\"/]{0,100}/[^\s'\"]*+|[\w-]{1,100}\.[a-z]\w{0,4}\b")
"""Paths, files and hosts: a file named `timeout.py` is not a timeout."""

_QUOTED = lazy_re.compile(r"(?<!\w)['\"`\u2018\u201c][^'\"`\u2018\u2019\u201c\u201d\n]{2,100}['\"`\u2019\u201d]")
_UNINFORMATIVE = lazy_re.compile(
    r"\b(?:no|0) (?:\w{1,20} )?(?:match|matches|results?|hits?|items|records|output|data)\b(?: (?:were |was )?found)?"
    r"|\bnothing (?:was )?found\b|\bnot found\b|\b(?:the|a|an|command|process|tool|call|execution|request|it|has|was)\b"
    r"|\b(?:exit(?:ed)?|with|code|status|non-?zero|error|err|fail(?:ed|ure)?|unsuccessful|returned|unknown|occurred|signal)\b",
    re.IGNORECASE,
)
_NOT_WORDS = " \t\r\n0123456789.,:;!?()[]{}<>-_=*#/\\|'\"`"
_HOST_NOTE = "[System note: Tool-loop warning"
_HOST_NOTE_END = "making progress.]"
MAX_HOST_NOTE = 300
MAX_HOST_NOTES = 3

_SENDING = program_catalogue.tools("sends")
_SHELLS = program_catalogue.tools("command")
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
    """Whether this call asks for the state of something that runs on its own, so that repeating it is expected."""
    name = tool_name(tool)
    actions = _POLLS.get(name)
    if actions is None:
        return name in _POLLING or name.endswith(_POLLING_ENDS)
    action = params.get("action") if isinstance(params, dict) else None
    return isinstance(action, str) and action.lower() in actions


def outcome(  # noqa: PLR0913
    tool: str, params: Any, text: str, size: int, status: str, exit_code: int | None, *, failed: bool, rest: str = ""
) -> Outcome:
    """The outcome of a tool's result. `rest`: what the gateway plugin reports besides the text, unchanged."""
    if text.endswith(_HOST_NOTE_END):
        text, size = _without_host_note(text, size)
    state = status.lower()
    failed = failed or bool(exit_code) or state in _FAILED
    cut = size if size > len(text) and size > _units(text) else 0
    data = text[:MAX_TEXT].encode("utf-8", "replace")
    known = own_values(params) if data.translate(None, DIGITS) != data else frozenset()
    masked = stable(data, known, sent=tool_name(tool) in _SENDING)
    context = f"{cut} {-1 if exit_code is None else exit_code} {failed:d} {state}\0{rest}".encode("utf-8", "replace")
    result = digest(b"%b\0%b" % (masked, context))
    exact = result if masked is data else digest(b"%b\0%b" % (data, context))
    if not failed:
        return Outcome(result, exact=exact, running=state == "running")
    error = _error(text)
    message = _UNINFORMATIVE.sub("", error[:MAX_REASON])
    if error is not text:
        masked = stable(error[:MAX_TEXT].encode("utf-8", "replace"), known, sent=False)
    lasting, passing = _duration(tool, params, error, state, exit_code)
    return Outcome(
        result,
        failed=True,
        wording=digest(masked.translate(None, DIGITS)),
        lasting=lasting,
        passing=passing,
        explained=bool(message.strip(_NOT_WORDS)),
        names=_NAME.search(message) is not None or _QUOTED.search(message) is not None,
        cut_off=text == ABORTED,
        exact=exact,
    )


def _without_host_note(text: str, size: int) -> tuple[str, int]:
    """Removes the loop-detection note. It can appear more than once: inside Tool Search and around it."""
    for _ in range(MAX_HOST_NOTES):
        before, note_mark, note = text.rpartition(_HOST_NOTE)
        if not note_mark or len(note) > MAX_HOST_NOTE or "]" in note[:-1] or not note.endswith("]"):
            break
        size -= len(text)
        text = before.removesuffix("\n")
        size += len(text)
    return text, size


def _units(text: str) -> int:
    """Length in UTF-16 code units, as the gateway counts."""
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _error(text: str) -> str:
    """The error message of a failure: `error` of the gateway's JSON form, without any file contents shown after it."""
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


def _duration(tool: str, params: Any, error: str, state: str, exit_code: int | None) -> tuple[bool, bool]:
    """Whether a failure is lasting, and whether it may pass by itself. An error that says nothing about it is neither."""
    of_command = tool_name(tool) in _SHELLS
    if state in _TRANSIENT or exit_code in _TRANSIENT_EXITS or (of_command and waits(params)):
        return False, True
    if state in _REFUSED or any(text in error[:MAX_REASON].lower() for text in _REFUSALS):
        return True, False
    reason = (error[-MAX_REASON:] if of_command else error[:MAX_REASON]).lower()
    if "lock': file exists" in reason or _matches(  # git's lock, held while another git runs
        _ADVICE.sub("", _NAME.sub("", reason)), _TRANSIENT_TEXTS, _TRANSIENT_PATTERN
    ):
        return False, True
    if is_poll(tool, params):
        lasting = _POLL_LASTING.search(reason) is not None
        return lasting, not lasting
    return exit_code in _NOT_RUN or _matches(reason, _LASTING_TEXTS, _LASTING_PATTERN), False


def waits(params: Any) -> bool:
    """Whether a command waits for something."""
    command = params.get("command", params.get("cmd")) if isinstance(params, dict) else None
    return isinstance(command, str) and _WAITING.search(command[:MAX_COMMAND]) is not None


_WAITING = lazy_re.compile(
    r"(?:\A|[;&|({\n`!]|\b(?:do|then|else)\b)\s{0,20}(?:[\w./=-]{1,40}[ \t]{1,4}){0,2}"
    r"(?:/usr/bin/|/bin/)?(?:u?sleep|wait|watch|until|inotifywait)(?![\w./=-])"
    r"|\bsleep\(|\b[Ss]tart-[Ss]leep\b|[ \t]--(?:wait|watch)\b"
)
MAX_COMMAND = 4_000
"""Characters of a command that are searched for waiting programs."""

_POLL_LASTING = lazy_re.compile(
    r"\bno session found for \S|\bnot a git repo|\bunknown (?:session|process|id|identifier|action|option|parameter)\b"
    r"|\bpermission denied|\b(?:eacces|unauthorized|unauthenticated|forbidden)\b|\b(?:missing required|bad credentials)\b"
)
"""Lasting failures of a poll. "Not found" is not among them: the thing may still be to come."""

_ADVICE = lazy_re.compile(
    r"\b(?:check|re-?read|read|correct|fix|verify|specify|supply|provide)\b"
    r"(?![^.\n]{0,80}(?:connect|network|server|internet|later|wait))"
    r"[^.\n]{0,80}\b(?:and|then|before) (?:try again|trying again|retry(?:ing)?)\b(?! (?:later|in |after|shortly|soon|with))"
    r"|\b(?:address|port)(?: [^ \n]{1,60})?(?: is)?(?: already)? in use\b"
)
"""In a lasting failure, advice that is not transient: make another call first, or end another program first."""


def _matches(reason: str, texts: tuple[str, ...], pattern: re.Pattern[str]) -> bool:
    return any(text in reason for text in texts) or pattern.search(reason) is not None


_TRANSIENT_TEXTS = (
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
"""Failures that may pass. Matched in lower-case text, as are the ones below."""

_TRANSIENT_PATTERN = lazy_re.compile(
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
"""Failures that repeat until something else changes."""

_LASTING_PATTERN = lazy_re.compile(
    r"\bunknown (?!error|failure|reason|issue|exception)|\bresolve (?:import|module)\b"
    r"|\bresolve ['\"\u201c](?:\.{1,2}/|[/@])|\boutside (?:of )?(?:the )?(?:workspace|sandbox|allowed"
    r"|project|repo|root)|"
    r"\b(?:invalid|illegal|bad|unsupported|unexpected|ambiguous|missing) (?:[a-z]{1,16} ){0,2}"
    r"(?:options?|commands?|subcommand|arguments?|parameters?|flags?|ids?|identifier|action|fields?|key|name|path"
    r"|switch|revision"
    r"|reference|object|operand|type|value|script|target|url|syntax|character|property|choice|number|regular)\b"
)
