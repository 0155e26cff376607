"""Rules about the circumstances of a call (paths, agent, channel, requester, time), and those that decide by a severity.

Rules with a severity are asked after all others have been weighed: mandatory ones block, required ones ask, advisory ones
are noted behind the result. They only ever add: what was blocked stays blocked, what was held is held at least; that is why
they need no signature. A mandatory one wins over a hold; of several of the same severity the first one names the verdict.
Those without a severity add to the score of the call (`layers.rubric`).

What is not known of a call (agent, channel, requester, time), or is more than can be looked at, counts as fitting, so that
nothing slips through; for advisory ones it does not.

They are not asked about what no verdict is made of: the envelope of Tool Search, tools under `neverBlock`, mode `disabled`.
A hold by a required one is a question like any other: an approval or a signed grant of a person answers it, and mode `soft`
changes nothing about what a person has written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msgspec import structs

from toolguard_engine.effects.calls.call_texts import EXEC_TOOLS
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.effects.facts.place_globs import name_test
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Call, Host, Verdict
from toolguard_engine.model.clock_hours import DAYS, moment, span_of, within, zone
from toolguard_engine.rules.call_facts import CallFacts
from toolguard_engine.rules.judgement import Judgement, changed
from toolguard_engine.rules.path_globs import PathGlob
from toolguard_engine.rules.patterns import filtered
from toolguard_engine.rules.rulebook import Match, Rule, Rulebook

MAX_NOTES = 5
MAX_REASON = 600
_MAX_KNOWN = 1_000
_MAX_NAMES = 400
"""Characters of names that are remembered together."""


def matches(reading: CallReading, effects: tuple[Effect, ...], book: Rulebook) -> list[Match]:
    """What the rules of the book that need a view and have no severity add to the score of a call."""
    rules = _books(book, reading.host)[0].speaking(reading, effects)
    return [Match(rule.id, rule.reason, rule.clarity, rule.stakes, rule.verdict == "block") for rule in rules]


def judge(given: LayerInput, earlier: Judgement) -> Judgement | None:
    """Adds a block, a hold, a note."""
    if not given.rules.viewed:
        return None
    matching = _books(given.rules, given.reading.host)[1].speaking(given.reading, earlier.effects)
    return _added(earlier, matching) if matching else None


def speaks(rule: Rule, reading: CallReading, effects: tuple[Effect, ...]) -> bool:
    """Whether a rule that needs a view matches a call; what is not known of the call counts as a match."""
    strict = _ActiveRule(structs.replace(rule, severity="required"), reading.host.home)
    return strict.about(reading.call, reading.tool) and strict.holds(CallFacts(reading, effects))


def _added(earlier: Judgement, speaking: list[Rule]) -> Judgement:
    first = {rule.severity: rule for rule in reversed(speaking)}
    notes = [_note(rule) for rule in speaking if rule.severity == "advisory"][:MAX_NOTES]
    note = "\n".join(filter(None, (earlier.note, *notes)))
    earlier = structs.replace(earlier, note=note, free=False) if note != earlier.note else earlier
    if earlier.decision != "block" and (mandatory := first.get("mandatory")):
        return changed(earlier, Verdict("block", mandatory.code, reason=mandatory.reason))
    if earlier.decision != "block" and (required := first.get("required")):
        reason = " ".join(filter(None, (required.reason, earlier.reason)))[:MAX_REASON]
        severe = tuple(rule for rule in speaking if rule.severity == "required")
        return structs.replace(changed(earlier, Verdict("hold", required.code, reason=reason)), severe=severe)
    return earlier


def _note(rule: Rule) -> str:
    return f"[TOOLGUARD NOTE] {rule.reason} (rule {rule.name})"


class Book:
    """Rules by whom and what they are about, so that a call that none is about costs next to nothing."""

    def __init__(self, rules: Iterable[Rule], home: str) -> None:
        self._active = tuple(_ActiveRule(rule, home, number) for number, rule in enumerate(rules))
        self._known: dict[tuple[str, str, str, str], _Group] = {}
        self._sought = filtered(pattern for rule in self._active for _, pattern in rule.rule.params)

    def speaking(self, reading: CallReading, effects: tuple[Effect, ...]) -> list[Rule]:
        """Those that match a call, in the order of the book."""
        group = self.about(reading.call, reading.tool) if self._active else None
        return group.speaking(CallFacts(reading, effects, self._sought)) if group and group.rules else []

    def about(self, call: Call, tool: str) -> _Group:
        """Those that may speak about calls of this tool by this agent for this person."""
        who = tool, call.agent, call.channel, call.requester
        known = self._known.get(who)
        if known is None:
            known = _Group(tuple(rule for rule in self._active if rule.about(call, tool)))
            if sum(map(len, who)) <= _MAX_NAMES:
                if len(self._known) >= _MAX_KNOWN:
                    self._known.clear()
                self._known[who] = known
        return known


class _Group:
    """Rules that are asked together: by what they want of the effects and paths of a call."""

    def __init__(self, active: tuple[_ActiveRule, ...]) -> None:
        self.rules = active
        self._kinds = frozenset(kind for rule in active for kind in rule.rule.effect)
        self._globs = tuple({glob.text: glob for rule in active for glob in rule.paths}.values())
        self._needles = tuple({glob.needle for glob in self._globs})
        others = tuple(rule for rule in active if not rule.paths and not rule.rule.effect)
        self._others = tuple(rule for rule in others if not rule.rule.params)
        self._by_pattern: dict[str, dict[str, list[_ActiveRule]]] = {}
        for own_rule in others:
            for name, pattern in own_rule.rule.params[:1]:
                self._by_pattern.setdefault(name, {}).setdefault(pattern, []).append(own_rule)
        self._by_path = tuple(rule for rule in active if rule.paths and not rule.rule.effect)
        self._by_effect = tuple(rule for rule in active if not rule.paths and rule.rule.effect)
        self._by_both = tuple(rule for rule in active if rule.paths and rule.rule.effect)

    def speaking(self, view: CallFacts) -> list[Rule]:
        """Those that are about a call, in the order of the book."""
        asked, by_path = self._others + tuple(self._by_params(view)), self._by_path
        if self._kinds and not self._kinds.isdisjoint(view.kinds):
            asked, by_path = asked + self._by_effect, by_path + self._by_both
        if by_path and view.may_reach(self._needles, self._globs):
            asked += by_path
        rules = [rule for rule in asked if rule.holds(view)]
        rules.sort(key=lambda rule: rule.number)
        return [own_rule.rule for own_rule in rules]

    def _by_params(self, view: CallFacts) -> Iterable[_ActiveRule]:
        """The rules without those whose first pattern is not in the call."""
        for name, rules in self._by_pattern.items():
            possible = view.possible(name)
            for pattern in rules if possible is None else possible:
                yield from rules.get(pattern, ())


_last: tuple[Rulebook | None, str, tuple[Book, Book]] = (None, "", (Book((), ""), Book((), "")))


def _books(rules: Rulebook, host: Host) -> tuple[Book, Book]:
    """Those that add to a score, and those with a severity. The last two are kept: the same rules come with every call."""
    global _last  # noqa: PLW0603 - a cache of one
    if _last[0] is not rules or _last[1] != host.home:
        scored = [rule for rule in rules.viewed if not rule.severity]
        deciding = [rule for rule in rules.viewed if rule.severity]
        _last = (rules, host.home, (Book(scored, host.home), Book(deciding, host.home)))
    return _last[2]


class _ActiveRule:
    """One rule, ready to be asked."""

    def __init__(self, rule: Rule, home: str, number: int = 0) -> None:
        self.rule = rule
        self.number = number
        self._strict = rule.severity != "advisory"
        self._tools = _Names(map(tool_name, rule.tool))
        self.paths = tuple(PathGlob(pattern, home) for pattern in rule.path)
        self._exceptions = tuple(PathGlob(pattern, home) for pattern in rule.not_path)
        self._span = span_of(rule.hours) if rule.hours else None
        self._days = frozenset(DAYS.index(day) for day in rule.days)
        self._clock = zone(rule.timezone) if rule.timezone else None
        self._who = tuple(self._named())
        self._terms = tuple(self._needed())

    def about(self, call: Call, tool: str) -> bool:
        """Whether it is about this tool, agent, channel and requester."""
        if not self._tools.only_excludes and not self._tools.includes((tool, "exec") if tool in EXEC_TOOLS else (tool,)):
            return False
        return all(self._fits(names, forms(call)) for names, forms in self._who)

    def holds(self, view: CallFacts) -> bool:
        """Whether the other conditions hold."""
        for term in self._terms:  # noqa: SIM110 - a generator takes half as long again
            if not term(view):
                return False
        return True

    def _named(self) -> Iterable[tuple[_Names, Callable[[Call], tuple[str, ...]]]]:
        wanted = self.rule
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

    def _needed(self) -> Iterable[Callable[[CallFacts], bool]]:
        """What costs least first."""
        wanted = self.rule
        if wanted.hours or wanted.days:
            yield self._now
        if wanted.effect:
            kinds = frozenset(wanted.effect)
            yield lambda view: not kinds.isdisjoint(view.kinds)
        if (asked := wanted.of_programs) is not None:
            book = Rulebook((asked,))
            yield lambda view: view.does(book)
        yield from (self._has(name, pattern) for name, pattern in wanted.params)
        if wanted.path or wanted.not_path:
            yield self._reaches

    def _has(self, name: str, pattern: str) -> Callable[[CallFacts], bool]:
        strict = self._strict
        return lambda view: view.has(name, pattern, unseen=strict)

    def _now(self, view: CallFacts) -> bool:
        now = moment(view.call.at, self._clock)
        return self._strict if now is None else within(now, self._span, self._days)

    def _reaches(self, view: CallFacts) -> bool:
        reached = view.touched(self.rule.effect) if self.rule.effect else view.paths
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
