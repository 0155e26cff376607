"""Removes the volatile parts of a call's outcome.

In doubt, two outcomes are different. These do not count: times of day, durations, UUIDs, temporary names, process ids,
memory addresses, request ids, ids of the gateway's own approvals, attempt counters, and the ids that a sent message got. All
other numbers do: `41%` and `42%` are two results. So do durations that are described as remaining or as part of a total, and
anything from the call's own arguments.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.any_of import AnyOf
from toolguard_engine.effects.calls.call_digest import DIGITS, ISO_TEXT, TEMPORARY, UUID, UUID_HINT, without_attempts

MAX_TEXT = 20_000
"""Characters of an outcome that count. The gateway plugin sends fewer."""

_UNIT = rb"(?:ns|\xc2\xb5s|us|ms|s|msecs?|millis(?:econds?)?|secs?|[Ss]econds?|mins?|[Mm]inutes?|h|hrs?|[Hh]ours?|[Dd]ays?)"
_TIMES = lazy_re.compile(
    rb"[0-9](?:(?<=2)(?<![0-9].)" + ISO_TEXT.replace(b"(?>20", b"(?>0", 1) + rb"|(?<![\w.-].)(?:"
    rb"(?<!:.)[0-9]?:[0-5][0-9](?::[0-5][0-9](?:[.,][0-9]{1,9})?(?: ?[AaPp][Mm])?(?![\w:])| ?[AaPp]\.?[Mm]\b"
    rb"|(?<=, 20[0-9]{2} - [0-9]{2}:[0-9]{2})(?![\w:]))"
    rb"|[0-9]{0,11}(?:\.[0-9]{1,9})?(?:(?:d|h|m|min) ?[0-9]{1,6}(?:\.[0-9]{1,9})?){0,3} ?" + _UNIT + rb"(?![\w%])"
    rb"|(?<=1)[678][0-9]{8}(?:[0-9]{3}|\.[0-9]{1,9})?(?![\w%])(?!\s{0,3}(?:bytes|octets|/|[A-Z][a-z]{2} ))))",
    re.DOTALL,
)
"""Times of day and durations. Begins with a consumed character because a pattern that begins with a lookbehind is slow."""
_REMAINING_BEFORE = lazy_re.compile(
    rb"(?:remaining|left|(?<![a-z])eta)(?:[ _](?:time|is|in|about|of)){0,2}[^\w\n]{0,8}\Z|(?<![a-z])time= {0,2}\Z"
)
_REMAINING_AFTER = lazy_re.compile(rb"[ \t]{0,3}(?:remain|left\b|to go\b|of\b|/ ?~?[0-9])")
_PROGRESS = AnyOf((
    rb"remain|left|time=|to go",
    rb"(?:\A|[^a-z])eta",
    rb"[0-9] ?[a-z.\xc2\xb5]{0,12}[ \t]{0,3}(?:of\b|/ ?~?[0-9])",
))  # fmt: skip
"""What a text in lower case must contain for one of its times to tell how much is done or remains: the last of them is a
number, its unit, and what may follow it."""
_CONTEXT = 32
"""Characters before a time that may say what it is."""
_WRAPPER = lazy_re.compile(rb'(EXTERNAL_UNTRUSTED_CONTENT id=\\{0,3}")[0-9a-f]{8,64}')
_PID = lazy_re.compile(
    rb'([Pp](?<![A-Za-z].)(?:[Pp]?[Ii][Dd]|rocess [Ii][Dd])"?[\s#:=]{1,3})[0-9]{1,10}(?![0-9A-Za-z%]|\.[0-9])', re.DOTALL
)
_WARNING_PID = lazy_re.compile(rb"(\((?:node|python|ruby):)[0-9]{1,10}(?=\))")
_BACKGROUND = lazy_re.compile(rb"(\(session )[\w-]{1,80}(?=, pid )")
_ADDRESS = lazy_re.compile(rb"0x[0-9a-fA-F]{6,16}\b")
_REQUEST = lazy_re.compile(
    rb"([RrTtCcIi](?:equest|EQUEST|race|RACE|orrelation|nvocation)[-_ ]?[Ii][Dd]"
    rb'(?:\\?"?[ \t]{0,2}[:=][ \t]{0,2}|[ \t])\\?"?)[\w-]{6,80}'
)
_APPROVAL = lazy_re.compile(rb"(\(id |/approve )[0-9a-f]{8}\b")
"""The short id of an approval that the gateway itself asks for: each attempt has its own."""

_REQUEST_NAME = lazy_re.compile(rb"req_[A-Za-z0-9]{8,64}")
_SENT_IDS = lazy_re.compile(
    rb'("(?i:message_?ids?|platformMessageIds?|file_?id|fileKey|poll_?id|receipt|run_?id|idempotencyKey|ts|timestamp'
    rb"|sentAt"
    rb'|deliveredAt|createdAt|date|id)"\s{0,8}:\s{0,8})'
    rb'(?:"[^"\\\n]{0,300}"|-?[0-9]{1,20}(?:\.[0-9]{1,20})?|\[[^\]\[{}]{0,2000}\])'
)


def own_values(params: Any) -> frozenset[bytes]:
    """The UUIDs, times and temporary names in the arguments of a call: the ones it asked about."""
    try:
        data = _encoder.encode(params)[:MAX_TEXT]
    except (RecursionError, TypeError, ValueError, OverflowError):
        return frozenset()
    values = {match[0] for match in TEMPORARY.finditer(data)} if b"tmp" in data else set()
    if len(data.translate(None, DIGITS)) == len(data):
        return frozenset(values)
    if UUID_HINT.search(data):
        values |= {match[0] for match in UUID.finditer(data)}
    return frozenset(values | {time for match in _TIMES.finditer(data) if b":" in (time := match[0]) or len(time) >= _EPOCH})


_EPOCH = 10
"""Digits of an epoch. Durations are shorter, and those in a command (`timeout 5s`) are not what it asked about."""
_encoder = msgspec.json.Encoder()


def stable(data: bytes, known: frozenset[bytes], *, sent: bool) -> bytes:
    """An outcome without its volatile texts, except `known`, the result of `own_values`."""
    if not sent and b"tmp" not in data and len(data.translate(None, DIGITS)) == len(data):
        return data

    def masked(match: re.Match[bytes]) -> bytes:
        return match[0] if match[0] in known else b"<random>"

    def masked_time(match: re.Match[bytes]) -> bytes:
        return match[0] if match[0] in known or _is_progress(match, low) else b"<time>"

    if UUID_HINT.search(data):
        data = UUID.sub(masked, data)
    if b"tmp" in data:
        data = TEMPORARY.sub(masked, data)
    data = without_attempts(data)
    low = data.lower()
    data = _TIMES.sub(masked_time if known or _PROGRESS.may_be_in(low) else b"<time>", data)
    if b"UNTRUSTED_CONTENT" in data:
        data = _WRAPPER.sub(rb"\1", data)
    if sent:
        data = _SENT_IDS.sub(rb"\1", data)
    return _without_ids(data)


def _is_progress(match: re.Match[bytes], low: bytes) -> bool:
    """Whether a time tells how much is done or remains. `low`: the searched text in lower case."""
    at, end = match.span()
    if _REMAINING_AFTER.match(low, end):
        return True
    before = low[max(0, at - _CONTEXT) : at]
    if b"left" not in before and b"eta" not in before and b"rem" not in before and b"time=" not in before:
        return False
    remaining = _REMAINING_BEFORE.search(before)
    return remaining is not None and (b":" in match[0] or not remaining[0].startswith(b"time="))


def _without_ids(data: bytes) -> bytes:
    low = data.lower()
    if b"pid" in low or b"process id" in low:
        data = _PID.sub(rb"\1", _BACKGROUND.sub(rb"\1", data))
    if b"(node:" in low or b"(python:" in low or b"(ruby:" in low:
        data = _WARNING_PID.sub(rb"\1", data)
    if b"0x" in low:
        data = _ADDRESS.sub(b"<address>", data)
    if b"request" in low or b"trace" in low or b"correl" in low or b"invoc" in low:
        data = _REQUEST.sub(rb"\1", data)
    if b"/approve " in low:
        data = _APPROVAL.sub(rb"\1", data)
    if b"req_" in low:
        data = _REQUEST_NAME.sub(b"req_", data)
    return data
