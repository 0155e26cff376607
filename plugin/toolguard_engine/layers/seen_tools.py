"""The tools that the gateway does not come with: as what they have described themselves, and who may use them.

A tool is known to only read if its name says so (`get_issue`), or if its server's `readOnlyHint` does and its name says
nothing. Neither can be verified; a hint to the contrary wins. Names count in any language only as far as they are known:
a name that says nothing is one of a tool that acts.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import msgspec

from toolguard_engine.approvals.tool_answer import ToolAnswers, ToolStanding
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.tools.tools import DESCRIBED
from toolguard_engine.host.tool_names import named
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.host.tool_servers import server_of
from toolguard_engine.model.call import Call
from toolguard_engine.model.tool_use import ToolUse
from toolguard_engine.wording import printable

SHOWN_BY = program_catalogue.tools("shows_tools")
"""Tools of the gateway that show others."""

MAX_TOOLS = 2_000
MAX_NAME = 200
MAX_READ = 100_000
LONG_DIGEST = 32
MAX_ABOUT = 160
MAX_DIGEST = 64
MAX_LISTED = 200

_SERVER_KINDS = ("mcp", "openclaw")
"""What ids begin with in which the second part names a server or a plugin."""


class _ShownTool(msgspec.Struct, frozen=True):
    """What the gateway has shown of one tool. `reads`: what its annotations say; None where they say nothing."""

    server: str = ""
    words: str = ""
    schema: str = ""
    about: str = ""
    reads: bool | None = None


_NOT_SHOWN = _ShownTool()


class SeenTools:
    """`answers`: what people have said, as far as it counts without asking a store; `shown`: called for each tool that
    shows itself."""

    def __init__(self) -> None:
        self._shown: OrderedDict[tuple[str, str], _ShownTool] = OrderedDict()
        self.answers = ToolAnswers()
        self.unread = ""
        """Why what people have said cannot be read; empty where it can."""
        self.shown: Callable[[ToolUse], None] = lambda _: None
        self._vouched: ToolUse | None = None

    def described(self, agent: str, text: str) -> None:
        """The gateway has shown this agent one tool or several."""
        try:
            parsed = msgspec.json.decode(text)
        except (msgspec.DecodeError, RecursionError):
            return
        for use in self._taken(agent, parsed):
            self.shown(use)

    def _taken(self, agent: str, listing: Any) -> Iterator[ToolUse]:
        listed = listing.get("tools") if isinstance(listing, dict) and "tools" in listing else [listing]
        for shown_tool in listed[:MAX_LISTED] if isinstance(listed, list) else ():
            name = tool_name(_text(shown_tool, "name", MAX_READ))
            if not name or is_own(name):
                continue
            before, now = self._shown.get((agent, known_name(name)), _NOT_SHOWN), _shown(shown_tool)
            if not now.schema:  # a list shows no parameters: what was shown of them stays
                now = msgspec.structs.replace(now, schema=before.schema, reads=before.reads)
            self._keep((agent, known_name(name)), now)
            yield self._use(name, agent)

    def _keep(self, key: tuple[str, str], shown: _ShownTool) -> None:
        self._shown[key] = shown
        self._shown.move_to_end(key)
        if len(self._shown) > MAX_TOOLS:
            self._shown.popitem(last=False)

    def uses(self) -> list[ToolUse]:
        """Each tool that has shown itself, to each agent."""
        return [self._use(name, agent) for agent, name in self._shown]

    def use_of(self, call: Call) -> ToolUse | None:
        """This use of a tool; None for one that the gateway comes with."""
        name = tool_name(call.tool)
        return None if is_own(name) else self._use(name, call.agent)

    def _use(self, name: str, agent: str) -> ToolUse:
        known = known_name(name)
        shown = self._shown.get((agent, known), _NOT_SHOWN)
        named_server = known_name(server_of(name))
        other = named_server if shown.server and _letters(shown.server) != _letters(named_server) else ""
        server = shown.server if other else named_server or shown.server
        reads = _only_reads(name, shown.reads)
        return ToolUse(known, server, agent, shown.words, shown.schema, shown.about, reads, other)

    @contextmanager
    def vouched(self, use: ToolUse | None) -> Iterator[None]:
        """A store has said that this very use is trusted: it is, for what is judged meanwhile."""
        self._vouched = use
        try:
            yield
        finally:
            self._vouched = None

    def standing(self, use: ToolUse) -> ToolStanding:
        standing = self.answers.standing(use)
        return "trusted" if standing != "refused" and use == self._vouched else standing


def known_name(name: str) -> str:
    """The name under which answers about a tool or a server are kept: a longer one is cut, and ends with a digest."""
    if len(name) <= MAX_NAME:
        return name
    digest = hashlib.sha256(name.encode(errors="surrogatepass")).hexdigest()[:LONG_DIGEST]
    return f"{name[: MAX_NAME - LONG_DIGEST - 1]}~{digest}"


def is_own(name: str) -> bool:
    """Whether the gateway comes with a tool of this name, in lower case and without its source."""
    return name in _OWN


_OWN = DESCRIBED.union(*program_catalogue.load().tools.values())


def _letters(server: str) -> str:
    """What is left of the name of a server in the names of its tools, whatever stands there for its other signs."""
    return "".join(sign for sign in server if sign.isalnum())


def _only_reads(name: str, hint: bool | None) -> bool:  # noqa: FBT001 - as the annotation says it
    action = named(name).action
    if not action and (server := server_of(name)):  # `slack__slack_list_channels` lists
        action = named(name.rpartition("__")[2].removeprefix(server)).action
    return hint is not False if action == "look" else hint is True and not action


def _shown(tool: dict[str, Any]) -> _ShownTool:
    kind, _, rest = _text(tool, "id", MAX_READ).partition(":")
    server = rest.partition(":")[0] if kind in _SERVER_KINDS else ""
    reads = tool.get("reads")
    return _ShownTool(
        "" if server == "core" else known_name(server.lower()),
        _text(tool, "words", MAX_DIGEST),
        _text(tool, "schema", MAX_DIGEST),
        printable.cut(printable.plain(_text(tool, "about", 4 * MAX_ABOUT)), MAX_ABOUT),
        reads if isinstance(reads, bool) else None,
    )


def _text(tool: Any, name: str, most: int) -> str:
    value = tool.get(name) if isinstance(tool, dict) else None
    return value[:most] if isinstance(value, str) else ""
