"""Gate P: calls that do what text from outside says. Pure; `context` keeps what was read.

The rules:
- Only what leaves the machine or destroys something is looked at. Reading, searching, fetching what was found, editing files
  of the workspace and whatever can be built again are nobody's business, wherever the idea came from.
- What a person said themselves (an address, a command), and what a call named before any text from outside was heard, is
  theirs. An answer into the conversation that is under way (no address, or that of the session) is not looked at.
- `target`: something is sent to an address that external text named. `payload`: a message says word for word what outside
  text said, to an address, or to another run as its task, now or later. `command`: a command that destroys or
  sends repeats external text. `local`: what was read on this machine is carried elsewhere after external text was read.
- An address that stands in external text may be fetched as it stands there; with more data in it, it may not.
- What a person has approved as `target` in this session is not held as `target` again in it: sending for sending, fetching
  for fetching. What is carried there is looked at all the same.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any
from urllib.parse import unquote_plus

from msgspec.structs import replace

from toolguard_engine import lazy_re
from toolguard_engine.effects.calls import call_texts
from toolguard_engine.effects.facts.command import UNKNOWN, Effect
from toolguard_engine.host.tool_names import split
from toolguard_engine.layers.provenance import orders
from toolguard_engine.layers.provenance.context import Destination, RunContext, Way, normal
from toolguard_engine.model.call import Call
from toolguard_engine.model.held_details import MAX_TARGET, HeldDetails

KIND = "provenance"
TARGET_RULE = "provenance.target"
MAX_EFFECTS = 20
"""Of one call so many are compared with what was heard."""

MAX_TARGETS = 20
MAX_TEXT = 16_000
MAX_DEPTH = 4
_PIECE = 12
"""Words of one's own in a row that are no accident."""

_MAX_PIECES = 40
_MAX_LINES = 3
_MIN_PAYLOAD, _MIN_COMMAND, _MIN_NAME, _MIN_VALUE, _MIN_BLOB = 24, 10, 5, 24, 40

_SENDS = split("send http copy-out tunnel connect remote-shell exfiltrate message")
_PATHS = split("delete empty moved-away device-write permissions owner encrypt")
_STATEMENTS = split("sql nosql run-text")
_WRITTEN = split("startup credentials system root device home")
_HARMLESS = split("artefact temp null")
_SENDING = split("send publish pay")
_SKIP = split("local api")
"""What goes to this machine, and to an interface that the user is logged in to by name."""

_TASKED = split("spawn schedule")
"""What another run is told to do; that run has not heard where it came from."""

_INTERESTING = _SENDS | _PATHS | _STATEMENTS | _TASKED | {"write", "fetch", "mcp", "act"}
_TARGETS = split(
    "target targets to cc bcc recipient recipients channelId userId conversation address sessionKey email phone url webhook "
    "account iban wallet host"
)
_ANSWERS = split("replyTo reply_to thread_id threadId in_reply_to inReplyTo message_id messageId")
"""What makes a message an answer: the conversation is the one that was read."""

_BODIES = split("message text content body caption html subject comment description data value query task input")
_TASKS = split("prompt instructions systemEvent agentTurn")
_COMMON = split(
    "github.com api.github.com gitlab.com bitbucket.org pypi.org npmjs.com registry.npmjs.org google.com www.google.com "
    "googleapis.com wikipedia.org en.wikipedia.org stackoverflow.com youtube.com x.com twitter.com linkedin.com reddit.com "
    "discord.com slack.com"
)
"""Hosts that stand in every other page: for these the whole address counts."""

_METHOD = lazy_re.compile(r"[A-Z]{3,10} (?=\S)")
_SCHEME = lazy_re.compile(r"[a-z][a-z0-9+.-]{1,20}://")
_ADDRESS = lazy_re.compile(
    r"\s*(?:[^\s@]{1,80}@[^\s@]{1,80}\.|[a-z]{2,8}://|\+?[\d ()-]{8,}|\w{20,}|(?:[\w-]{1,60}\.){1,4}[a-z]{2,10}(?:/|$))",
    re.IGNORECASE,
)
"""An address that is good anywhere. Names and numbers that only mean something to one server are looked up there."""

_OPAQUE = lazy_re.compile(r"[A-Za-z0-9+/_=-]{40,}")


def judge(call: Call, effects: tuple[Effect, ...], context: RunContext | None) -> tuple[Effect, ...]:
    """The effects of kind `provenance` that a call has besides its own.

    `call`: looked through Tool Search; `effects`: what it does; `context`: what its run has read so far
    (`RunContexts.of`), None if that is nothing.

    Give them to `Rulebook.for_call(tool, params, found)`, for commands too: the rules are in `rules/provenance.toml`.
    """
    if context is None or not (context.is_tainted or context.inside) or not isinstance(call.params, dict):
        return ()
    by_target: dict[str, Effect] = {}
    looked = 0
    for effect in effects if context.is_tainted else ():
        if effect.kind in _INTERESTING and (
            effect.kind == "fetch" or effect.kind in _TASKED or _leaves(effect) or _is_severe(effect)
        ):
            looked += 1
            for flag, target in _suspicions(call.params, effect, call, context):
                by_target.setdefault(flag, Effect(KIND, target[:MAX_TEXT], "", frozenset([flag]), effect.program))
            if looked == MAX_EFFECTS:
                break
    if not by_target and (value := orders.ordered(call, context)):
        return (Effect(KIND, value[:MAX_TEXT], "", frozenset(["order"])),)
    return tuple(by_target.values())


_ASKED_FOR = frozenset(["pay", "take-away", "destroy", "let-in"])


def requested(call: Call, effects: tuple[Effect, ...], context: RunContext | None) -> tuple[Effect, ...]:
    """The effects of a call, those that the person asked for with the flag `asked`."""
    if context is None or not any(effect.kind == "mcp" and not _ASKED_FOR.isdisjoint(effect.flags) for effect in effects):
        return effects
    if not orders.is_requested(call, context):
        return effects
    return tuple(replace(effect, flags=effect.flags | {"asked"}) if effect.kind == "mcp" else effect for effect in effects)


def _suspicions(params: dict[str, Any], effect: Effect, call: Call, context: RunContext) -> Iterator[tuple[str, str]]:
    if effect.kind == "fetch":
        for flag, target in _fetched(effect.target, effect.flags, context):
            if flag != "target" or not context.is_confirmed(("fetch", destination(effect.target)), call.at):
                yield flag, target
        return
    if effect.kind in _TASKED and (task := next((text for text in _tasks(params, 0) if _is_dictated(text, context)), "")):
        yield "payload", task
    if effect.program is not None and _is_severe(effect) and (command := _repeated(effect, call, context)):
        yield "command", command
    if not _leaves(effect) or not _SKIP.isdisjoint(effect.flags):
        return
    if effect.kind == "act":
        yield from _typed(params, context)
        return
    here = call.session.lower().split(":")
    theirs = [text for text in _targets(params, effect) if text.lower() not in here and context.by_person(_needle(text)) < 0]
    if effect.kind == "mcp":
        theirs = [text for text in theirs if not orders.passes_on(call, text, context)]
    asked = (text for text in theirs if not context.is_confirmed(("send", destination(text)), call.at))
    if named := next((target for target in asked if _is_named(target, context)), ""):
        yield "target", named
    if theirs:
        yield from _carried(params, effect, theirs[0], context)


def _leaves(effect: Effect) -> bool:
    if effect.kind == "mcp":
        return not _SENDING.isdisjoint(effect.flags)
    if effect.kind == "schedule":
        return "webhook" in effect.flags
    return effect.kind in _SENDS or (effect.kind == "act" and "typed" in effect.flags)


def _is_severe(effect: Effect) -> bool:
    """Whether it would matter who had the idea."""
    if effect.kind in _SENDS or effect.kind in _STATEMENTS:
        return _SKIP.isdisjoint(effect.flags)
    if effect.kind == "write":
        return effect.place in _WRITTEN
    if effect.kind not in _PATHS or effect.place in _HARMLESS or "rebuilt" in effect.flags:
        return False
    return effect.place != "in-workspace" or "recursive" in effect.flags


def _repeated(effect: Effect, call: Call, context: RunContext) -> str:
    """The command that external text has as well, and that no person said."""
    assert effect.program is not None  # noqa: S101 - a caller's promise
    spelled = " ".join(effect.program.argv)
    lines = (line for text in call_texts.commands(call.tool.lower(), call.params) for line in text[:MAX_TEXT].split("\n"))
    about = [
        line
        for line in islice(lines, _MAX_PIECES)
        if effect.program.name in line and _last_word(effect.program.argv) in line
    ]
    for text in (spelled, *about[:_MAX_LINES]):
        needle = normal(text) if UNKNOWN not in text else b""
        if len(needle) >= _MIN_COMMAND and b" " in needle and _is_theirs(needle, context):
            return text
    return ""


def _last_word(argv: tuple[str, ...]) -> str:
    return argv[-1] if UNKNOWN not in argv[-1] else ""


def _targets(params: dict[str, Any], effect: Effect) -> list[str]:
    """Where an effect goes to."""
    if effect.program is not None:
        return [_METHOD.sub("", effect.target, count=1)] if effect.target and UNKNOWN not in effect.target else []
    if effect.kind == "schedule":
        return [text for text in _texts(params, 0) if text.startswith(("http:", "https:"))][:MAX_TARGETS]
    if effect.kind == "mcp" and not _ANSWERS.isdisjoint(params):
        return []
    texts = [text for name in _TARGETS if name in params for text in _texts(params[name], 0)]
    texts = [text for text in texts[:MAX_TARGETS] if text and len(text) <= MAX_TEXT]
    return [text for text in texts if _ADDRESS.match(text[:200])] if effect.kind == "mcp" else texts


def _texts(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict) and depth < MAX_DEPTH:
        for item in list(value.values() if isinstance(value, dict) else value)[:MAX_TARGETS]:
            yield from _texts(item, depth + 1)


def _tasks(value: Any, depth: int) -> Iterator[str]:
    """What another run would be told, wherever the call says it."""
    if not isinstance(value, dict | list) or depth > MAX_DEPTH:
        return
    for key, item in islice(value.items() if isinstance(value, dict) else enumerate(value), MAX_TARGETS * 2):
        if isinstance(item, str):
            if key in _BODIES or key in _TASKS or not isinstance(key, str):
                yield item
        else:
            yield from _tasks(item, depth + 1)


def _is_dictated(text: str, context: RunContext) -> bool:
    """Whether a text says word for word what external text said."""
    payload = normal(text[:MAX_TEXT])
    return len(payload) >= _MIN_PAYLOAD and b" " in payload and _is_theirs(payload, context)


def _needle(target: str) -> bytes:
    return normal(_bare(target)[0] or target)


def destinations(details: HeldDetails) -> list[Destination]:
    """The addresses that a call was held for because external text names them, in the form in which later calls are compared
    with them; none where not all that the call does was kept."""
    rules = [rule for rule in details.rules if rule.rule == TARGET_RULE and 0 < len(rule.target) < MAX_TARGET]
    targets = [_METHOD.sub("", rule.target, count=1) for rule in rules]
    return [] if details.more else [(_way(target, details), destination(target)) for target in targets]


def _way(target: str, details: HeldDetails) -> Way:
    kinds = {
        effect.kind
        for effect in details.effects
        if effect.kind != KIND and _METHOD.sub("", effect.target, count=1) == target
    }
    return "fetch" if kinds == {"fetch"} else "send"


def destination(target: str) -> bytes:
    """A target as it is compared: of an address the host, unless others have theirs there as well; else all of it."""
    bare, host, _ = _bare(target)
    if not bare:
        return normal(target)
    is_common = host in _COMMON or host.partition(".")[2] in _COMMON
    return normal(bare if is_common else host)


def _bare(target: str) -> tuple[str, str, str]:
    """Return an address without scheme, query and last slash, its host and its query. Empty if it is none."""
    text = target.strip()
    scheme = _SCHEME.match(text[:30].lower())
    rest = text[scheme.end() :] if scheme else text
    rest, _, query = rest.partition("?")
    rest = rest.partition("#")[0].rstrip("/")
    authority = rest.partition("/")[0]
    host = authority.rpartition("@")[2]
    if not scheme:
        host, colon, _ = host.partition(":")
        return (rest, host, query) if colon and "." in host else ("", "", "")
    name, _, port = host.rpartition(":")
    return rest, (name if name and port.isdigit() else host).lower(), query


def _is_named(target: str, context: RunContext) -> bool:
    """Whether external text names this address."""
    bare, host, _ = _bare(target)
    if not bare:
        needle = normal(target)
        return len(needle) >= _MIN_NAME and context.outside_names(needle)
    if "/" in bare and context.outside_names(normal(bare)):
        return True
    common = host in _COMMON or host.partition(".")[2] in _COMMON
    return (
        not common and len(host) >= _MIN_NAME and context.outside_names(normal(host)) and context.by_person(normal(host)) < 0
    )


def _fetched(address: str, flags: frozenset[str], context: RunContext) -> Iterator[tuple[str, str]]:
    """Asking for an address can carry something, too."""
    if "search" in flags or "local" in flags or len(address) < _MIN_VALUE:
        return
    bare, host, query = _bare(address)
    values = [unquote_plus(item.partition("=")[2] or item) for item in query[:MAX_TEXT].split("&")[:MAX_TARGETS] if item]
    values += [unquote_plus(part) for part in bare.split("/")[1:][:MAX_TARGETS]]
    telling = [value for value in values if _is_telling(value)]
    opaque = [value for value in values if _OPAQUE.search(value[:MAX_TEXT])]
    if not bare or not (telling or opaque or "data" in flags):
        return
    whole = normal(address)
    if context.outside_has(whole) or context.inside_has(whole) or context.by_person(whole) >= 0:
        return
    if any(context.inside_has(normal(value)) for value in telling):
        yield "local", address
    if host in _COMMON or context.by_person(normal(host)) >= 0 or not context.outside_names(normal(host)):
        return
    if "data" in flags or any(not context.outside_has(normal(value)) for value in opaque):
        yield "target", address


def _is_telling(value: str) -> bool:
    """Whether a part of an address is a sentence or looks like a key, and is no mere name of something."""
    if len(value) < _MIN_VALUE:
        return False
    return value.count(" ") > 2 or (_KEYLIKE.fullmatch(value[:200]) is not None and not _HASH.fullmatch(value))  # noqa: PLR2004


_KEYLIKE = lazy_re.compile(r"(?=[^\d]{0,200}\d)(?=[^A-Za-z]{0,200}[A-Za-z])[\w+/=.-]{24,}")
_HASH = lazy_re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f-]{36}")


def _typed(params: dict[str, Any], context: RunContext) -> Iterator[tuple[str, str]]:
    """What is typed into a page."""
    for text in list(_texts(params, 0))[:MAX_TARGETS] if context.inside else ():
        if any(context.inside_has(piece) for piece in _pieces(normal(text[:MAX_TEXT]))):
            yield "local", "a web page"


def _carried(params: dict[str, Any], effect: Effect, target: str, context: RunContext) -> Iterator[tuple[str, str]]:
    """What an effect with an address carries."""
    if effect.program is not None:
        bodies = [" ".join(effect.program.argv)[:MAX_TEXT]]
    else:
        bodies = [text[:MAX_TEXT] for name in _BODIES if name in params for text in _texts(params[name], 0)][:MAX_TARGETS]
    for body in bodies:
        text = normal(body)
        if effect.program is None and _is_dictated(body, context):
            yield "payload", target
        if context.inside and any(context.inside_has(piece) for piece in _pieces(text)):
            yield "local", target


def _is_theirs(text: bytes, context: RunContext) -> bool:
    return context.outside_has(text) and context.by_person(text) < 0


def _pieces(text: bytes) -> Iterator[bytes]:
    """Runs of words out of the whole text: two of them in a row are sure to be found where a text is copied."""
    pieces = text.split()
    starts = range(0, max(1, len(pieces) - _PIECE + 1), _PIECE)
    for start in starts[:: max(1, len(starts) // _MAX_PIECES)]:
        if len(piece := pieces[start : start + _PIECE]) == _PIECE:
            yield b" ".join(piece)
