"""When two calls are the same call: digests of a tool and its arguments, without what varies by itself.

The laws, for `call`, where in doubt two calls are different ones:
- parameters whose name says that they only identify or time this one call (`VOLATILE`) do not count, at the top level;
- inside a text these do not count: what stands behind such a name (`--request-id x`, `nonce=x`, `ts=1795360415`), names as
  `mktemp` makes them, and counters of attempts. All other numbers, times and UUIDs are what the call is about;
- of more than `LONG` bytes only the first and the last `END` are searched for them; the rest counts as it is (as a check
  sum), so that what changes its length there (`attempt 9`, `attempt 10`) makes it another call.

For `family` numbers do not count either, but UUIDs, dates and points in time do; of a long call only its two ends count.

For `kind` arguments do not count at all, but for the program that a command begins with.
"""

from __future__ import annotations

import re
from functools import lru_cache
from hashlib import blake2b
from itertools import product
from typing import Any
from zlib import crc32

import msgspec

from toolguard_engine.toolsearch import tool_name

LONG = 2_048
END = 1_024
_FAMILY_END = 512
"""Of an end without its digits so much counts: both have as many characters, however long the numbers were."""

_ONCE = """
request id, client request id, correlation id, trace id, span id, call id, tool call id, tool use id, invocation id,
idempotency key, dedupe key, deduplication id, client token, nonce, cache buster, progress token, meta,
timestamp, current time, requested at, issued at, client time,
attempt, attempts, attempt number, attempt count, retry, retries, retry count, retry number, max retries, max attempts,
timeout, timeout ms, timeout millis, timeout seconds, timeout sec, timeout secs, request timeout, gateway timeout ms,
yield ms, yield time, yield time ms, wait ms, max wait ms, wait time ms, wait seconds, poll interval ms,
explanation, rationale, thought, thoughts, tool title
"""
"""Names of parameters that are made anew for each call, that say how long to wait for it, or only why it is made."""
_SAID = "description, summary, purpose, justification, reason, title, comment"
"""The same beside a command: elsewhere (an issue, a card) they are what is written."""
_COMMANDS = frozenset({"command", "cmd"})
_MAX_PROGRAM = 100


def _spelled(names: str) -> frozenset[str]:
    """`request id` as `requestId`, `RequestId`, `request_id`, `request-id`, `requestid`, `_requestId`, ..."""
    found = set()
    for words in (name.split() for name in names.replace("\n", " ").split(",")):
        capitals = [word.title() for word in words]
        forms = ("".join([words[0], *capitals[1:]]), "".join(capitals), "_".join(words), "-".join(words), "".join(words))
        found |= {dash + form for dash, form in product(("", "_"), forms)}
    return frozenset(found)


VOLATILE = _spelled(_ONCE)
_VOLATILE_BESIDE_COMMAND = VOLATILE | _spelled(_SAID)

_encoder = msgspec.json.Encoder(order="sorted")
_UUID_TEXT = rb"[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}(?![0-9A-Za-z])"
UUID_HINT = re.compile(rb"-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}")
UUID = re.compile(rb"(?<![0-9A-Za-z])" + _UUID_TEXT)
_NAMES_ONE = re.compile(rb"20[0-9]{2}-[01][0-9]-[0-3][0-9]|1[678][0-9]{8}")
_NUMBER = re.compile(
    rb"((?<![0-9A-Za-z])" + _UUID_TEXT + rb"|(?<![0-9])(?:20[0-9]{2}-[01][0-9]-[0-3][0-9](?![0-9])"
    rb"(?:[Tt_ ][0-2][0-9]:?[0-5][0-9](?::?[0-5][0-9])?)?|1[678][0-9]{8}(?:[0-9]{3})?(?![0-9])))|[0-9]{1,1000}"
)
"""Its group: what has digits but is no number that is counted up, so that it names one thing."""
ISO_TEXT = (
    rb"(?>20[0-9]{2}-[01][0-9]-[0-3][0-9]"
    rb"(?:[Tt_][0-2][0-9]:?[0-5][0-9](?::?[0-5][0-9])?| [0-2][0-9]:[0-5][0-9](?::[0-5][0-9])?)(?:[.,][0-9]{1,9})?"
    rb"(?:Z\b| ?[+-][01][0-9]:?[0-5][0-9](?![0-9]))?)"
)
_ANEW = rb"(?i:request[-_]?id|idempotency[-_]?key|client[-_]?token|cache[-_]?buster|nonce)"
_MADE_ANEW = re.compile(
    rb"(--" + _ANEW + rb"[ \t]|\b" + _ANEW + rb"""\\?["']?[ \t]{0,2}[:=][ \t]{0,2})(?:\\?["'])?[\w-]{1,80}"""
)
_STAMPED = re.compile(rb"((?:[?&]_|(?<![\w-])ts|--ts)=)(?:1[678][0-9]{8}(?:[0-9]{3})?(?![0-9.])|" + ISO_TEXT + rb")")
"""Of an epoch whole seconds or milliseconds: one with decimals is the name of a message in some chats."""
TEMPORARY = re.compile(
    rb"(/tmp/|/var/tmp/|/var/folders/\w{1,4}/\w{1,64}/T/|\\Temp\\{1,2})"
    rb"tmp(?=[.A-Za-z_]{0,9}(?:[0-9]{1,9}[A-Za-z_]|[a-z][A-Z]))(?:[a-z0-9_]{8}|\.[A-Za-z0-9]{10})(?![\w-])"
)
"""A word, or a word with a number behind it, was not made by chance."""
_ATTEMPT = re.compile(
    rb"([AaRrTt](?:(?<![\w/.-].)|(?<=\\[nt].))(?:ttempt|etry|ry|TTEMPT|ETRY|RY)"
    rb"(?:[ _-]?(?:no\.?|number|count|NO|NUMBER|COUNT))?[ \t#:=(]{1,4})[0-9]{1,9}",
    re.DOTALL,
)
DIGITS = b"0123456789"


def digest(data: bytes) -> int:
    """63 bits of BLAKE2b."""
    return int.from_bytes(blake2b(data, digest_size=8).digest(), "big") >> 1


def digests(tool: str, params: Any) -> tuple[int, int]:
    """`(call, family)`: equal for calls that differ only in volatile parts; equal for those that also differ in numbers."""
    form = _form(tool, params)
    return digest(form), digest(_family(form))


def call_digest(tool: str, params: Any) -> int:
    """Only the first of them: most calls need no more."""
    return digest(_form(tool, params))


def exact_digest(tool: str, params: Any) -> int:
    """Equal for calls with the very same arguments."""
    try:
        return digest(_encoder.encode((tool_name(tool), params)))
    except (RecursionError, TypeError, ValueError, OverflowError):
        return digest(_roughly(tool_name(tool), params))


def kind_digest(tool: str, params: Any) -> int:
    """Equal for calls of one tool, of one that runs commands for those that begin with one program."""
    program = ""
    if isinstance(params, dict) and isinstance(command := params.get("command", params.get("cmd")), str):
        program = (command[:_MAX_PROGRAM].split(maxsplit=1) or [""])[0]
    return _kind(tool_name(tool)[:_MAX_PROGRAM], program)


@lru_cache(maxsize=1_000)
def _kind(tool: str, program: str) -> int:
    return digest(f"{tool}\n{program}".encode("utf-8", "backslashreplace"))


def _form(tool: str, params: Any) -> bytes:
    """What of a call counts: all of it, of a long one its two ends with a check sum between two zeros."""
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
        return _roughly(tool, params)


def _roughly(tool: str, params: Any) -> bytes:
    """Of what is no JSON: how it shows itself; nothing of it where it is nested too deep for that."""
    try:
        shown = repr(params)
    except RecursionError:
        shown = "too deep"
    return f"{tool}\n{shown}".encode("utf-8", "backslashreplace")


def _stable(data: bytes) -> bytes:
    """JSON without its volatile texts. Each search for them is asked only where a quick one says that it may find any."""
    low = data.lower()
    if b"request" in low or b"nonce" in low or b"idempotency" in low or b"client" in low or b"cache" in low:
        data = _MADE_ANEW.sub(rb"\1", data)
    if b"ts=" in low or b"_=" in low:
        data = _STAMPED.sub(rb"\1", data)
    if b"tmp" in low:
        data = TEMPORARY.sub(rb"\1<random>", data)
    return without_attempts(data)


def without_attempts(data: bytes) -> bytes:
    """Without counters of attempts."""
    low = data.lower()
    return _ATTEMPT.sub(rb"\1", data) if b"try" in low or b"attempt" in low else data


def without_numbers(data: bytes) -> bytes:
    """But with UUIDs, dates and points in time."""
    if UUID_HINT.search(data) or _NAMES_ONE.search(data):
        return _NUMBER.sub(rb"\1", data)
    return data.translate(None, DIGITS)
