"""When two calls count as the same call: digests of a tool and its arguments without volatile parts.

Rules for `call`. In doubt, two calls are different:
- top-level parameters whose name says that they only identify or time this one call (`VOLATILE`) do not count;
- inside a text, these do not count: the value after such a name (`--request-id x`, `nonce=x`, `ts=1795360415`), names as
  `mktemp` makes them, and attempt counters. All other numbers, times and UUIDs count;
- in a call of more than `LONG` bytes only the first and last `END` bytes are searched for them. The rest counts as a
  checksum, so a volatile part that changes the length there (`attempt 9`, `attempt 10`) makes it another call.

For `family` numbers do not count either, but UUIDs, dates and times do; only the two ends of a long call count.

For `kind` no arguments count, except the program that a command begins with.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from itertools import product
from typing import Any
from zlib import crc32

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.host.tool_search import tool_name

LONG = 2_048
END = 1_024
_FAMILY_END = 512
"""Bytes of each end that count once digits are removed: the same number however long the numbers were."""

_VOLATILE_NAMES = """
request id, client request id, correlation id, trace id, span id, call id, tool call id, tool use id, invocation id,
idempotency key, dedupe key, deduplication id, client token, nonce, cache buster, progress token, meta,
timestamp, current time, requested at, issued at, client time,
attempt, attempts, attempt number, attempt count, retry, retries, retry count, retry number, max retries, max attempts,
timeout, timeout ms, timeout millis, timeout seconds, timeout sec, timeout secs, request timeout, gateway timeout ms,
yield ms, yield time, yield time ms, wait ms, max wait ms, wait time ms, wait seconds, poll interval ms,
explanation, rationale, thought, thoughts, tool title
"""
"""Names of parameters that are new for each call, that say how long to wait for it, or that only explain it."""
_EXPLANATIONS = "description, summary, purpose, justification, reason, title, comment"
"""Further explanations beside a command. In other calls (an issue, a card) these are content."""
_COMMANDS = frozenset({"command", "cmd"})
_MAX_PROGRAM = 100


def _spelled(names: str) -> frozenset[str]:
    """`request id` as `requestId`, `RequestId`, `request_id`, `request-id`, `requestid`, `_requestId`, ..."""
    spellings = set()
    for words in (name.split() for name in names.replace("\n", " ").split(",")):
        capitals = [word.title() for word in words]
        forms = ("".join([words[0], *capitals[1:]]), "".join(capitals), "_".join(words), "-".join(words), "".join(words))
        spellings |= {dash + form for dash, form in product(("", "_"), forms)}
    return frozenset(spellings)


VOLATILE = _spelled(_VOLATILE_NAMES)
_VOLATILE_BESIDE_COMMAND = VOLATILE | _spelled(_EXPLANATIONS)

_encoder = msgspec.json.Encoder(order="sorted")
_UUID_TEXT = rb"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}(?![0-9A-Za-z])"
UUID_HINT = lazy_re.compile(rb"-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
UUID = lazy_re.compile(rb"(?<![0-9A-Za-z])" + _UUID_TEXT)
_DATE_OR_TIME = lazy_re.compile(rb"20[0-9]{2}-[01][0-9]-[0-3][0-9]|1[678][0-9]{8}")
_NUMBER = lazy_re.compile(
    rb"((?<![0-9A-Za-z])" + _UUID_TEXT + rb"|(?<![0-9])(?:20[0-9]{2}-[01][0-9]-[0-3][0-9](?![0-9])"
    rb"(?:[Tt_ ][0-2][0-9]:?[0-5][0-9](?::?[0-5][0-9])?)?|1[678][0-9]{8}(?:[0-9]{3})?(?![0-9])))|[0-9]{1,1000}"
)
"""The group matches digits that name one thing and are not counted up."""
ISO_TEXT = (
    rb"(?>20[0-9]{2}-[01][0-9]-[0-3][0-9]"
    rb"(?:[Tt_][0-2][0-9]:?[0-5][0-9](?::?[0-5][0-9])?| [0-2][0-9]:[0-5][0-9](?::[0-5][0-9])?)(?:[.,][0-9]{1,9})?"
    rb"(?:Z\b| ?[+-][01][0-9]:?[0-5][0-9](?![0-9]))?)"
)
_NEW_NAMES = rb"(?i:request[-_]?id|idempotency[-_]?key|client[-_]?token|cache[-_]?buster|nonce)"
_NEW_VALUE = lazy_re.compile(
    rb"(--" + _NEW_NAMES + rb"[ \t]|\b" + _NEW_NAMES + rb"""\\?["']?[ \t]{0,2}[:=][ \t]{0,2})(?:\\?["'])?[\w-]{1,80}"""
)
_TIMESTAMP_VALUE = lazy_re.compile(
    rb"((?:[?&]_|(?<![\w-])ts|--ts)=)(?:1[678][0-9]{8}(?:[0-9]{3})?(?![0-9.])|" + ISO_TEXT + rb")"
)
"""Only whole seconds or milliseconds of an epoch: one with decimals is a message name in some chats."""
TEMPORARY = lazy_re.compile(
    rb"(/tmp/|/var/tmp/|/var/folders/\w{1,4}/\w{1,64}/T/|\\Temp\\{1,2})"
    rb"tmp(?=[.A-Za-z_]{0,9}(?:[0-9]{1,9}[A-Za-z_]|[a-z][A-Z]))(?:[a-z0-9_]{8}|\.[A-Za-z0-9]{10})(?![\w-])"
)
"""A word, or a word followed by a number, is not random."""
_ATTEMPT = lazy_re.compile(
    rb"([AaRrTt](?:(?<![\w/.-].)|(?<=\\[nt].))(?:ttempt|etry|ry|TTEMPT|ETRY|RY)"
    rb"(?:[ _-]?(?:no\.?|number|count|NO|NUMBER|COUNT))?[ \t#:=(]{1,4})[0-9]{1,9}",
    re.DOTALL,
)
DIGITS = b"0123456789"


def digest(data: bytes) -> int:
    """The first 63 bits of BLAKE2b."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1


def digests(tool: str, params: Any) -> tuple[int, int]:
    """`(call, family)`: equal for calls that differ only in volatile parts; equal for those that also differ in numbers."""
    form = _form(tool, params)
    return digest(form), digest(_family(form))


def call_digest(tool: str, params: Any) -> int:
    """The `call` digest alone, which is all that most calls need."""
    return digest(_form(tool, params))


def exact_digest(tool: str, params: Any) -> int:
    """Equal for calls with exactly the same arguments."""
    try:
        return digest(_encoder.encode((tool_name(tool), params)))
    except (RecursionError, TypeError, ValueError, OverflowError):
        return digest(_fallback_encoding(tool_name(tool), params))


def kind_digest(tool: str, params: Any) -> int:
    """Equal for calls of one tool; for a tool that runs commands, for those that begin with the same program."""
    program = ""
    if isinstance(params, dict) and isinstance(command := params.get("command", params.get("cmd")), str):
        program = (command[:_MAX_PROGRAM].split(maxsplit=1) or [""])[0]
    return _kind(tool_name(tool)[:_MAX_PROGRAM], program)


def tool_digest(tool: str) -> int:
    """Equal for all calls of one tool."""
    return _kind(tool_name(tool)[:_MAX_PROGRAM], "")


@lru_cache(maxsize=1_000)
def _kind(tool: str, program: str) -> int:
    return digest(f"{tool}\n{program}".encode("utf-8", "backslashreplace"))


def _form(tool: str, params: Any) -> bytes:
    """The bytes of a call that count: all of them, or for a long call its two ends with a checksum between two NUL bytes."""
    data = _encoded(tool_name(tool), params)
    if len(data) > LONG:
        middle = data[END:-END]
        return b"%b\0%d %d\0%b" % (_stable(data[:END]), len(middle), crc32(middle), _stable(data[-END:]))
    return _stable(data) if b"tmp" in data or len(data.translate(None, DIGITS)) != len(data) else data


def _family(form: bytes) -> bytes:
    head, long, rest = form.partition(b"\0")
    if not long:
        return without_numbers(form)
    tail = rest.rpartition(b"\0")[2]
    return without_numbers(head)[:_FAMILY_END] + b"\0" + without_numbers(tail)[-_FAMILY_END:]


def _encoded(tool: str, params: Any) -> bytes:
    if isinstance(params, dict):
        names = VOLATILE if _COMMANDS.isdisjoint(params) else _VOLATILE_BESIDE_COMMAND
        if not names.isdisjoint(params):
            params = {name: value for name, value in params.items() if name not in names}
    try:
        return _encoder.encode((tool, params))
    except (RecursionError, TypeError, ValueError, OverflowError):
        return _fallback_encoding(tool, params)


def _fallback_encoding(tool: str, params: Any) -> bytes:
    """Arguments that are not JSON, as their `repr`; without them if they are nested too deep for that."""
    try:
        shown = repr(params)
    except RecursionError:
        shown = "too deep"
    return f"{tool}\n{shown}".encode("utf-8", "backslashreplace")


def _stable(data: bytes) -> bytes:
    """JSON without its volatile texts. Each costly search runs only if a cheap one says that it may match."""
    low = data.lower()
    if b"request" in low or b"nonce" in low or b"idempotency" in low or b"client" in low or b"cache" in low:
        data = _NEW_VALUE.sub(rb"\1", data)
    if b"ts=" in low or b"_=" in low:
        data = _TIMESTAMP_VALUE.sub(rb"\1", data)
    if b"tmp" in low:
        data = TEMPORARY.sub(rb"\1<random>", data)
    return without_attempts(data)


def without_attempts(data: bytes) -> bytes:
    """Removes attempt counters."""
    low = data.lower()
    return _ATTEMPT.sub(rb"\1", data) if b"try" in low or b"attempt" in low else data


def without_numbers(data: bytes) -> bytes:
    """Removes numbers, but keeps UUIDs, dates and times."""
    if UUID_HINT.search(data) or _DATE_OR_TIME.search(data):
        return _NUMBER.sub(rb"\1", data)
    return data.translate(None, DIGITS)
