"""The person's own constraints: mandatory ones block, required ones ask, advisory ones are noted behind the result.

The law: they only ever add. What was blocked stays blocked, what was held is held at least; that is why they need no
signature. A mandatory one wins over a hold; of several of the same severity the first one names the verdict. What is not
known of a call (agent, channel, requester, time), or is more than can be looked at, counts as fitting for mandatory and
required ones and as not fitting for advisory ones. `constraintform` says what each condition means.

They are not asked about what no verdict is made of: the envelope of Tool Search, tools under `neverBlock`, mode `disabled`.
A hold by a required one is a question like any other: an approval or a signed grant of a person answers it, and mode `soft`
changes nothing about what a person has written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import structs

from toolguard_engine.callview import View
from toolguard_engine.clockhours import DAYS, moment, span_of, within, zone
from toolguard_engine.constraintform import Constraint
from toolguard_engine.judgement import Judgement
from toolguard_engine.layers.calltexts import EXEC_TOOLS
from toolguard_engine.model import Call, Host
from toolguard_engine.pathglobs import PathGlob, name_test
from toolguard_engine.toolsearch import tool_name

__all__ = ["Book", "Constraint", "code", "judge", "speaks"]

MAX_NOTES = 5
MAX_REASON = 600
_MAX_KNOWN = 1_000
_MAX_NAMES = 400
"""Characters of names that are remembered together."""

_NO_HOST = Host()


def code(constraint: Constraint) -> str:
    return f"constraint.{constraint.id}"


def judge(call: Call, found: Judgement, constraints: tuple[Constraint, ...], host: Host = _NO_HOST) -> Judgement:
    """`found` with what the constraints add: a block, a hold, a note."""
    book = _book(constraints, host)
    tool = tool_name(call.tool)
    group = book.about(call, tool)
    if not group.laws:
        return found
    speaking = group.speaking(View(call, tool, found, host))
    return _added(found, speaking) if speaking else found


def speaks(constraint: Constraint, call: Call, found: Judgement, host: Host = _NO_HOST) -> bool:
    """Whether a constraint speaks about a call; what is not known of the call counts as fitting."""
    law = _Law(structs.replace(constraint, severity="required"), host.home)
    tool = tool_name(call.tool)
    return law.about(call, tool) and law.holds(View(call, tool, found, host))


def _added(found: Judgement, speaking: list[Constraint]) -> Judgement:
    first = {each.severity: each for each in reversed(speaking)}
    notes = [_note(each) for each in speaking if each.severity == "advisory"][:MAX_NOTES]
    note = "\n".join(filter(None, (found.note, *notes)))
    if found.decision != "block" and (mandatory := first.get("mandatory")):
        return structs.replace(found, decision="block", code=code(mandatory), reason=mandatory.reason, note=note)
    if found.decision != "block" and (required := first.get("required")):
        reason = " ".join(filter(None, (required.reason, found.reason)))[:MAX_REASON]
        return structs.replace(found, decision="hold", code=code(required), reason=reason, note=note)
    return structs.replace(found, note=note) if note != found.note else found


def _note(constraint: Constraint) -> str:
    return f"[TOOLGUARD NOTE] {constraint.reason} (constraint {constraint.id})"


class Book:
    """The constraints by whom and what they are about, so that a call that none is about costs next to nothing."""

    def __init__(self, constraints: Iterable[Constraint], home: str) -> None:
        self._laws = tuple(_Law(constraint, home, number) for number, constraint in enumerate(constraints))
        self._known: dict[tuple[str, str, str, str], _Group] = {}

    def about(self, call: Call, tool: str) -> _Group:
        """Those that may speak about calls of this tool by this agent for this person."""
        who = tool, call.agent, call.channel, call.requester
        known = self._known.get(who)
        if known is None:
            known = _Group(tuple(law for law in self._laws if law.about(call, tool)))
            if sum(map(len, who)) <= _MAX_NAMES:
                if len(self._known) >= _MAX_KNOWN:
                    self._known.clear()
                self._known[who] = known
        return known


class _Group:
    """Constraints that are asked together: by what they want of the effects and paths of a call."""

    def __init__(self, laws: tuple[_Law, ...]) -> None:
        self.laws = laws
        self._kinds = frozenset(kind for law in laws for kind in law.constraint.effect)
        self._globs = tuple({glob.text: glob for law in laws for glob in law.paths}.values())
        self._needles = tuple({glob.needle for glob in self._globs})
        self._others = tuple(law for law in laws if not law.paths and not law.constraint.effect)
        self._by_path = tuple(law for law in laws if law.paths and not law.constraint.effect)
        self._by_effect = tuple(law for law in laws if not law.paths and law.constraint.effect)
        self._by_both = tuple(law for law in laws if law.paths and law.constraint.effect)

    def speaking(self, view: View) -> list[Constraint]:
        """Those that speak about a call, in the order of the file."""
        asked, by_path = self._others, self._by_path
        if self._kinds and not self._kinds.isdisjoint(view.kinds):
            asked, by_path = asked + self._by_effect, by_path + self._by_both
        if by_path and view.may_reach(self._needles, self._globs):
            asked += by_path
        found = [law for law in asked if law.holds(view)]
        found.sort(key=lambda law: law.number)
        return [law.constraint for law in found]


_last: tuple[tuple[Constraint, ...], str, Book] = ((), "", Book((), ""))


def _book(constraints: tuple[Constraint, ...], host: Host) -> Book:
    """The last one is kept: the same tuple comes with every call, and comparing it would take longer than judging."""
    global _last  # noqa: PLW0603 - a cache of one
    if _last[0] is not constraints or _last[1] != host.home:
        _last = (constraints, host.home, Book(constraints, host.home))
    return _last[2]


class _Law:
    """One constraint, ready to be asked."""

    def __init__(self, constraint: Constraint, home: str, number: int = 0) -> None:
        self.constraint = constraint
        self.number = number
        self._strict = constraint.severity != "advisory"
        self._tools = _Names(map(tool_name, constraint.tool))
        self.paths = tuple(PathGlob(pattern, home) for pattern in constraint.path)
        self._exceptions = tuple(PathGlob(pattern, home) for pattern in constraint.not_path)
        self._span = span_of(constraint.hours) if constraint.hours else None
        self._days = frozenset(DAYS.index(day) for day in constraint.days)
        self._clock = zone(constraint.timezone) if constraint.timezone else None
        self._who = tuple(self._named())
        self._terms = tuple(self._needed())

    def about(self, call: Call, tool: str) -> bool:
        """Whether it is about this tool, agent, channel and requester."""
        if not self._tools.only_excludes and not self._tools.includes((tool, "exec") if tool in EXEC_TOOLS else (tool,)):
            return False
        return all(self._fits(names, forms(call)) for names, forms in self._who)

    def holds(self, view: View) -> bool:
        """Whether the other conditions hold."""
        for term in self._terms:  # noqa: SIM110 - a generator takes half as long again
            if not term(view):
                return False
        return True

    def _named(self) -> Iterable[tuple[_Names, Callable[[Call], tuple[str, ...]]]]:
        wanted = self.constraint
        if wanted.agent:
            yield _Names(wanted.agent), lambda call: (call.agent,)
        if wanted.channel:
            yield _Names(wanted.channel), _channel
        if wanted.requester:
            with_channel = any(":" in pattern for pattern in wanted.requester)
            yield _Names(wanted.requester), lambda call: _requester(call, with_channel=with_channel)

    def _fits(self, names: _Names, forms: tuple[str, ...]) -> bool:
        """`forms`: those of one name, empty where it is not known."""
        known = tuple(form.lower() for form in forms if form)
        if names.excludes(known):
            return False
        if names.includes(known):
            return True
        return self._strict if len(known) < len(forms) else names.only_excludes

    def _needed(self) -> Iterable[Callable[[View], bool]]:
        """What costs least first."""
        wanted = self.constraint
        if wanted.hours or wanted.days:
            yield self._now
        if wanted.effect:
            kinds = frozenset(wanted.effect)
            yield lambda view: not kinds.isdisjoint(view.kinds)
        yield from (self._has(name, pattern) for name, pattern in wanted.params)
        if wanted.path or wanted.not_path:
            yield self._reaches

    def _has(self, name: str, pattern: str) -> Callable[[View], bool]:
        strict = self._strict
        return lambda view: view.has(name, pattern, unseen=strict)

    def _now(self, view: View) -> bool:
        now = moment(view.call.at, self._clock)
        return self._strict if now is None else within(now, self._span, self._days)

    def _reaches(self, view: View) -> bool:
        reached = view.touched(self.constraint.effect) if self.constraint.effect else view.paths
        if self._strict and (not reached.all_seen or (reached.hidden and not self.paths)):
            return True
        for path in reached.paths:
            if (not self.paths or any(glob.fits(path) for glob in self.paths)) and not any(
                glob.inside(path) for glob in self._exceptions
            ):
                return True
        return False


class _Names:
    """Globs over a name, capitals and small letters alike; those that begin with `!` take out."""

    def __init__(self, patterns: Iterable[str]) -> None:
        known = tuple(pattern.lower() for pattern in patterns)
        self._wanted = tuple(name_test(pattern) for pattern in known if not pattern.startswith("!"))
        self.only_excludes = not self._wanted
        self._unwanted = tuple(name_test(pattern[1:].strip()) for pattern in known if pattern.startswith("!"))

    def excludes(self, forms: tuple[str, ...]) -> bool:
        """Whether one of the forms of a name is taken out."""
        return any(test(form) for test in self._unwanted for form in forms)

    def includes(self, forms: tuple[str, ...]) -> bool:
        """Whether one of the forms of a name is named."""
        return any(test(form) for test in self._wanted for form in forms)


def _channel(call: Call) -> tuple[str, ...]:
    """`discord:guild` is `discord` too."""
    kind = call.channel.partition(":")[0]
    return (call.channel,) if kind == call.channel else (call.channel, kind)


def _requester(call: Call, *, with_channel: bool) -> tuple[str, ...]:
    """Also as `channel:id`; a part is empty where it is not known."""
    if not with_channel or not call.requester:
        return (call.requester,)
    return (call.requester, f"{call.channel}:{call.requester}" if call.channel else "")
