"""What each run has heard: text from outside, text of this machine, and what a person said. Bounded, and gone with the run.

Of a text the first `MAX_TEXT` bytes count, of a run the last `MAX_RUN`, of all runs together `MAX_ALL`, and
`MAX_RUNS` runs count: the one that was quiet longest is forgotten first. Texts are kept in the form of `normal`, in which
quoting, capitals, line breaks and characters that do not show make no difference. Nothing here is written down anywhere.
"""

from __future__ import annotations

import re
from collections import OrderedDict, deque
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from msgspec import Struct, field

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.tools import tools
from toolguard_engine.layers.provenance.known_secrets import KnownSecrets

MAX_TEXT = 65_536
MAX_RUN = 262_144
MAX_ALL = 8_388_608
MAX_RUNS = 1_000
MAX_TEXTS = 64
MAX_STATED = 16_384
MAX_SESSIONS = 256
MAX_CONFIRMED = 64
CONFIRMED = 8 * 3600.0
"""Seconds for which a person's approval of a destination counts."""

_MAX_HITS = 50
_MAX_NAMED = 200
_MAX_LINES = 8
_MIN_LINE = 16
"""Bytes of a line that two texts have in common by chance."""

Source = Literal["", "outside", "inside"]
Way = Literal["send", "fetch"]
Destination = tuple[Way, bytes]
"""What goes to an address, and the address as `gate.destination` has it."""

_ESCAPES = lazy_re.compile(r"\\(?:[nrt]|u200[b-f])|&(?:amp|lt|gt|quot|#39|#x27);|%20")
_MEANT = {"&amp;": "&", "&lt;": "<", "&gt;": ">"}
_UNSEEN = {ord(char): None for char in "'\"`\\*\u200b\u200c\u200d\u2060\ufeff\u00ad\u201c\u201d\u2018\u2019"}
_EDGE = lazy_re.compile(rb"[a-z0-9_@-]")

_OUTSIDE = program_catalogue.tools("outside")
_COMMANDS = program_catalogue.tools("command")
"""What the gateway part tells of these is what commands brought that name the network."""

_THIS_MACHINE = lazy_re.compile(r"https?://(?:localhost|127\.0\.0\.1|\[::1\])(?![\w.-])", re.IGNORECASE)
_INSIDE = program_catalogue.tools("inside")
_DIRECTORIES = ("contact", "people", "directory", "members")
"""Tools of which the addresses in the answer are what was asked for."""

_INBOXES = lazy_re.compile(
    r"(?:^|/)(?:downloads?|inbound|inbox|attachments|node_modules|site-packages|vendor)/|^/(?:private/)?tmp/", re.IGNORECASE
)
"""Folders in which the text of others is put."""


def normal(text: str) -> bytes:
    """A text as texts are compared."""
    if "\\" in text or "&" in text or "%20" in text:
        text = _ESCAPES.sub(lambda match: _MEANT.get(match[0], " "), text)
    return " ".join(text.lower().translate(_UNSEEN).split()).encode("utf-8", "replace")


def source(tool: str, params: Any) -> Source:
    """Where the text of a tool's result came from; empty where it is the agent's own or the gateway's."""
    if tool in _COMMANDS and _asks_this_machine(params):
        return ""
    if tool in _OUTSIDE or tool in _COMMANDS:
        return "outside"
    if tool in _INSIDE or (tool not in tools.DESCRIBED and _path(params)):
        path = _path(params)
        return "outside" if path.startswith(("http:", "https:")) or _INBOXES.search(path[:1000]) else "inside"
    if tool in tools.DESCRIBED or any(word in tool for word in _DIRECTORIES):
        return ""
    return "outside"


def _asks_this_machine(params: Any) -> bool:
    """Whether all addresses of a command are this machine's own."""
    command = params.get("command") if isinstance(params, dict) else None
    return isinstance(command, str) and 0 < len(_THIS_MACHINE.findall(command)) == command.lower().count("://")


def _path(params: Any) -> str:
    if not isinstance(params, dict):
        return ""
    paths = (params.get(name) for name in ("path", "file_path", "filePath"))
    return next((value for value in paths if isinstance(value, str)), "")


class RunContext(Struct):
    """One run. `known`: what calls named before any external text did. In its session: `said` by the person that the agent
    works for, by `others`."""

    outside: deque[bytes] = field(default_factory=deque)
    origins: deque[str] = field(default_factory=deque)
    """Where each of `outside` came from."""
    inside: deque[bytes] = field(default_factory=deque)
    known: bytes = b""
    confirmed: dict[Destination, float] = field(default_factory=dict)
    """In its session: what a person approved although external text named it, and when."""
    stated: bytes = b""
    others: bytes = b""
    size: int = 0

    def outside_has(self, needle: bytes) -> bool:
        """Whether some external text holds this."""
        return bool(needle) and (any(needle in text for text in self.outside) or needle in self.others)

    def origin(self, needle: bytes) -> str:
        """Where external text that holds this came from; empty where none holds it."""
        source = next((origin for text, origin in zip(self.outside, self.origins, strict=True) if needle in text), "")
        return source or ("a message from somebody else" if needle in self.others else "")

    def inside_has(self, needle: bytes) -> bool:
        return bool(needle) and any(needle in text for text in self.inside)

    def outside_names(self, needle: bytes) -> bool:
        """The same for a name: `bob` does not stand in `bobcat`."""
        return bool(needle) and (any(names(text, needle) for text in self.outside) or names(self.others, needle))

    def is_confirmed(self, destination: Destination, at: float) -> bool:
        """Whether a person has approved this in this session, not longer than `CONFIRMED` ago."""
        since = self.confirmed.get(destination)
        return since is not None and since <= at < since + CONFIRMED

    @property
    def is_tainted(self) -> bool:
        """Whether any external text was read."""
        return bool(self.outside or self.others)

    def stated_by_person(self, needle: bytes) -> bool:
        """Whether the person that the agent works for named this, as whole words."""
        return bool(needle) and _found(self.stated, needle) >= 0

    @staticmethod
    def places(text: bytes, needle: bytes, most: int) -> Iterator[int]:
        """Where a text has this as whole words, at most so many places."""
        start = 0
        for _ in range(most):
            at = _found(text[start:], needle)
            if at < 0:
                return
            yield start + at
            start += at + len(needle)

    def outside_wrote(self, text: str) -> bool:
        """Whether a text, or most of its longest lines, stands in some external text."""
        lines = sorted(set(text[:MAX_TEXT].splitlines()), key=len, reverse=True)[:_MAX_LINES]
        needles = [needle for line in lines if len(needle := normal(line)) >= _MIN_LINE]
        return bool(needles) and 2 * sum(map(self.outside_has, needles)) > len(needles)

    def by_person(self, needle: bytes) -> int:
        """Where a person named this, as whole words; below 0 where none did."""
        return max(_found(self.stated, needle), _found(self.known, needle)) if needle else -1

    def add(self, where: deque[bytes], text: bytes, origin: str = "") -> int:
        """Keeps a text; the bytes that the run grew by."""
        before = self.size
        where.append(text)
        if where is self.outside:
            self.origins.append(origin)
        self.size += len(text)
        while self.size > MAX_RUN or len(self.outside) + len(self.inside) > MAX_TEXTS:
            oldest = self.outside if len(self.outside) >= len(self.inside) else self.inside
            self.size -= len(oldest.popleft())
            if oldest is self.outside:
                self.origins.popleft()
        return self.size - before


def names(text: bytes, needle: bytes) -> bool:
    """Whether a text has this as whole words."""
    return _found(text, needle) >= 0


def _found(text: bytes, needle: bytes) -> int:
    """Where a text has this with an edge of a word on both sides; below 0 where it has not."""
    at = text.find(needle)
    for _ in range(_MAX_HITS):
        if at < 0:
            return -1
        end = at + len(needle)
        if not _EDGE.match(text[max(0, at - 1) : at]) and not _EDGE.match(text[end : end + 1]) and not _goes_on(text, end):
            return at
        at = text.find(needle, at + 1)
    return at  # so often that it is surely meant


def _goes_on(text: bytes, end: int) -> bool:
    """Whether a host name goes on behind a dot: `example.org` in `example.org.evil.net`."""
    return text[end : end + 1] == b"." and _EDGE.match(text[end + 1 : end + 2]) is not None


class RunContexts:
    """What all runs have heard."""

    def __init__(self) -> None:
        self._runs: OrderedDict[str, RunContext] = OrderedDict()
        self._stated: OrderedDict[str, bytes] = OrderedDict()
        self._others: OrderedDict[str, bytes] = OrderedDict()
        self._confirmed: OrderedDict[str, dict[Destination, float]] = OrderedDict()
        self.size = 0
        self.secrets = KnownSecrets()
        """What must not leave again of what tools brought."""

    def get(self, run: str, session: str = "") -> RunContext | None:
        """What a run has heard, and what was said in its session; None where that is nothing."""
        context, others = self._runs.get(run), self._others.get(session, b"")
        if context is None:
            context = RunContext() if others or session in self._stated else None
        if context is not None:
            context.stated, context.others = self._stated.get(session, b""), others
            context.confirmed = self._confirmed.get(session, {})
        return context

    def result(self, run: str, tool: str, params: Any, text: str) -> None:
        """A tool came back with this text. `tool`: as `toolsearch.tool_name` spells it."""
        origin = source(tool, params)
        if run and origin and text:
            self._keep(run, origin, text, params, tool)

    def message(self, session: str, text: str, *, owner: bool) -> None:
        """Somebody wrote to the agent: the person it works for, or somebody else."""
        if not session:
            return
        words_of = self._stated if owner else self._others
        words_of[session] = (words_of.pop(session, b"") + b"\n" + normal(text[:MAX_STATED]))[-MAX_STATED:]
        if len(words_of) > MAX_SESSIONS:
            words_of.popitem(last=False)

    def confirm(self, session: str, destinations: Iterable[Destination], at: float) -> None:
        """A person has approved a call that was held for these."""
        confirmed = {destination: at for destination in destinations if destination[1]}
        if not session or not confirmed:
            return
        known = {**self._confirmed.pop(session, {}), **confirmed}
        self._confirmed[session] = dict(list(known.items())[-MAX_CONFIRMED:])
        if len(self._confirmed) > MAX_SESSIONS:
            self._confirmed.popitem(last=False)

    def session_ended(self, session: str) -> None:
        """What was confirmed in a session is over with it."""
        self._confirmed.pop(session, None)

    def ended(self, run: str) -> None:
        if context := self._runs.pop(run, None):
            self.size -= context.size

    def _keep(self, run: str, origin: Source, text: str, params: Any, tool: str) -> None:
        context = self._runs.setdefault(run, RunContext())
        self._runs.move_to_end(run)
        if origin == "outside":
            _remember_names(context, params)
        where = context.outside if origin == "outside" else context.inside
        self.size += context.add(where, normal(text[:MAX_TEXT])[:MAX_TEXT], _named_origin(tool, params))
        while (self.size > MAX_ALL and len(self._runs) > 1) or len(self._runs) > MAX_RUNS:
            _, oldest = self._runs.popitem(last=False)
            self.size -= oldest.size


_ADDRESS = lazy_re.compile(r"[a-z][a-z0-9+.-]{1,20}://(?:[^/\s@]{1,200}@)?([\w.-]{1,100})", re.IGNORECASE)


def _named_origin(tool: str, params: Any) -> str:
    """What a person is shown of where a text came from: a host, else the tool."""
    values = list(params.values())[:20] if isinstance(params, dict) else []
    matches = (_ADDRESS.search(value, 0, _MAX_NAMED * 10) for value in values if isinstance(value, str))
    return next((match[1].lower() for match in matches if match), "") or f"the tool {tool[:_MAX_NAMED]}"


def _remember_names(context: RunContext, params: Any) -> None:
    """What a call named by itself, before the text that it brought, was not taken from that text."""
    if not isinstance(params, dict):
        return
    for value in list(params.values())[:20]:
        if isinstance(value, str) and 0 < len(value) <= _MAX_NAMED and len(context.known) < MAX_STATED:
            name = normal(value)
            if not context.outside_has(name):
                context.known += b"\n" + name
