"""What a person's answers in the audit log come to: rules that are always approved, and what would have spared the asking.

The law of an advice: it covers only what was approved in full view (nothing cut, no secret taken out), never a call that
was denied, and no pattern that would also let through something graver than what was approved, as far as `PROBES` show.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Literal

import msgspec

from toolguard_cli import granting
from toolguard_cli.commands import audit
from toolguard_cli.judging import Judging
from toolguard_cli.transcripts import of_event
from toolguard_engine.layers import always, grants
from toolguard_engine.layers.grants import SUBJECTS, Grant
from toolguard_engine.model import Call
from toolguard_engine.toolsearch import tool_name

Answer = Literal["yes", "no", "expired", "waiting"]

PROBES = ("", "/", "/etc", "/usr/lib/x", "/home", "..", ".", "x", "main", "production", "HEAD", "main /etc", "x/../y")
"""What might stand for a `*`: a pattern that lets one of them through with a higher score is too wide."""
MOST_GRANTS = 5
MOST_THRESHOLD = 100
MIN_PREFIX = 3
"""So many characters two words must share, or a `*` would stand for all of them."""
MAX_WORDS = 200
MAX_SHOWN = 2_000


@dataclass
class Asked:
    """One call that asked for a person. `call`: None where the log does not have all of it."""

    rule: str
    tool: str
    agent: str
    shown: str
    at: float
    call: Call | None
    answer: Answer = "waiting"
    seconds: float | None = None


@dataclass(frozen=True)
class Tally:
    """All that one rule asked."""

    rule: str
    asked: tuple[Asked, ...]

    def count(self, answer: str) -> int:
        return sum(each.answer == answer for each in self.asked)

    @property
    def median(self) -> float | None:
        """Seconds until a person answered."""
        known = [each.seconds for each in self.asked if each.seconds is not None]
        return round(statistics.median(known), 1) if known else None


@dataclass
class Others:
    """What else an advice lets through. `replayed`: calls of transcripts that are held now."""

    count: int = 0
    denied: int = 0
    example: str = ""
    replayed: int = 0

    def public(self, replayed: bool) -> dict[str, Any]:  # noqa: FBT001 - of the two ways to count
        found: dict[str, Any] = {"audit": self.count, "denied": self.denied, "example": self.example}
        return {**found, "replayed": self.replayed if replayed else None}


@dataclass
class ByScore:
    """A threshold, and what it does."""

    spared: int = 0
    others: Others = field(default_factory=Others)


@dataclass
class ByGrant:
    """A grant, and what it does."""

    grant: Grant
    spared: int = 0
    others: Others = field(default_factory=Others)


@dataclass
class Advice:
    """What would have spared the prompts of one rule; `why`: why there is no grant, or not for all."""

    tally: Tally
    grants: list[ByGrant] = field(default_factory=list)
    threshold: int = 0
    score: ByScore | None = None
    why: str = ""

    def see(self, call: Call, score: int, threshold: int) -> None:
        """A call that was made once and would be held now."""
        for option in self.grants:
            option.others.replayed += grants.covers(option.grant, call, 0.0)
        if self.score and threshold <= score < self.threshold:
            self.score.others.replayed += 1


def asked(events: Iterable[dict[str, Any]], after: float) -> list[Asked]:
    """The calls that asked since then, the oldest first, with what became of them."""
    found: list[Asked] = []
    waiting: dict[str, Asked] = {}
    for event in events:
        nonce, kind = str(event.get("nonce", "")), event.get("event")
        if kind == "hold" and nonce:
            waiting.pop(nonce, None)
            at = audit.moment(event)
            if at >= after:
                waiting[nonce] = _asked(event, at)
                found.append(waiting[nonce])
        elif nonce in waiting:
            _answer(waiting[nonce], str(kind), audit.moment(event))
    return found


def _asked(event: dict[str, Any], at: float) -> Asked:
    kept = of_event(event)
    call = kept.call if kept and kept.whole else None
    said = {name: str(event.get(name, "")) for name in ("code", "tool", "agent", "shown")}
    return Asked(said["code"] or "?", said["tool"], said["agent"], said["shown"][:MAX_SHOWN], at, call)


def _answer(waiting: Asked, event: str, at: float) -> None:
    """`consume` without `approve` is a yes in the gateway's own prompt; a yes that nobody used is one all the same."""
    if event == "deny":
        waiting.answer = "no"
    elif event in ("approve", "consume") and waiting.answer == "waiting":
        waiting.answer = "yes"
    elif event == "expire" and waiting.answer == "waiting":
        waiting.answer = "expired"
        return
    else:
        return
    waiting.seconds = max(0.0, at - waiting.at) if waiting.seconds is None else waiting.seconds


def tallies(found: list[Asked]) -> list[Tally]:
    """By rule, the one that asked most first."""
    by_rule: dict[str, list[Asked]] = {}
    for each in found:
        by_rule.setdefault(each.rule, []).append(each)
    return sorted((Tally(rule, tuple(group)) for rule, group in by_rule.items()), key=lambda tally: -len(tally.asked))


def advise(tally: Tally, found: list[Asked], judged: Judging, at_least: int) -> Advice | None:
    """For a rule that was approved so often and never denied."""
    if tally.count("no") or tally.count("yes") < at_least:
        return None
    approved = [each for each in tally.asked if each.answer == "yes"]
    denied = [each.call for each in found if each.answer == "no" and each.call is not None]
    advice = Advice(tally)
    patterns, advice.why = _grants(approved, denied, judged)
    advice.grants = [ByGrant(grant) for grant in patterns]
    if tally.rule != always.CODE:
        scores = [judged.weigh_bare(each.call).score for each in approved if each.call is not None]
        top = max(scores, default=MOST_THRESHOLD)
        if len(scores) == len(approved) and judged.basis.threshold <= top < MOST_THRESHOLD:
            advice.threshold, advice.score = top + 1, ByScore()
    return advice


def weigh_against(advice: list[Advice], found: list[Asked], judged: Judging) -> None:
    """Counts, over all that asked, what each advice would have let through."""
    for each in found:
        if each.call is None:
            continue
        held = judged.weigh_bare(each.call)
        if held.decision == "block":
            continue
        for one in advice:
            for option in one.grants:
                if grants.covers(option.grant, each.call, 0.0):
                    option.spared += _own(each, one)
                    _other(option.others, each, one)
            if one.score and held.score < one.threshold and each.rule != always.CODE:
                one.score.spared += _own(each, one)
                _other(one.score.others, each, one)


def _own(each: Asked, one: Advice) -> bool:
    return each.rule == one.tally.rule and each.answer == "yes"


def _other(others: Others, each: Asked, one: Advice) -> None:
    if _own(each, one):
        return
    others.count += 1
    others.denied += each.answer == "no"
    others.example = others.example or each.shown


def _grants(approved: list[Asked], denied: list[Call], judged: Judging) -> tuple[list[Grant], str]:
    """The fewest grants for what was approved, each with the agent where it was always the same one."""
    calls = [each.call for each in approved if each.call is not None]
    if not calls:
        return [], "the log does not have these calls whole (secrets are taken out, long values cut)"
    agents = {call.agent for call in calls}
    agent = agents.pop() if len(agents) == 1 else ""
    found: list[Grant] = []
    left = 0
    for group in _alike(calls):
        wide = _wide(group, agent, judged)
        if wide and any(grants.covers(wide, call, 0.0) for call in denied):
            wide = None
        exact = [grant for call in group if (grant := granting.exact(call, agent=agent))]
        chosen = [wide] if wide else list({(g.pattern, str(g.params)): g for g in exact}.values())
        chosen = [grant for grant in chosen if not any(grants.covers(grant, call, 0.0) for call in denied)]
        left += sum(not any(grants.covers(grant, call, 0.0) for grant in chosen) for call in group)
        found += chosen
    if len(found) > MOST_GRANTS:
        return [], f"these calls are too different: it would take {len(found)} grants"
    if not found:
        return [], "no pattern can stand for these calls: they hold what a * never covers"
    return found, f"{left} of the calls fit no grant" if left else ""


def _alike(calls: list[Call]) -> list[list[Call]]:
    """Calls that one pattern might cover: the same tool, the same other parameters, the same beginning."""
    groups: dict[tuple[str, ...], list[Call]] = {}
    for call in calls:
        text = grants.subject(call) or ""
        words = text.split()
        kind = grants.kind_of(call.tool)
        head = (words[0], str(len(words))) if kind == "words" and words else (text.rpartition("/")[0],)
        groups.setdefault((tool_name(call.tool), str(sorted(grants.fixed(call).items())), *head), []).append(call)
    return list(groups.values())


def _wide(group: list[Call], agent: str, judged: Judging) -> Grant | None:
    """One pattern for several calls; None where there is none that can be recommended."""
    texts = list(dict.fromkeys(text for call in group if (text := grants.subject(call))))
    if len(texts) < 2 or any("*" in text for text in texts):  # noqa: PLR2004 - one call needs no pattern
        return None
    kind = grants.kind_of(group[0].tool)
    pattern = _merged(texts) if kind == "words" else _prefixed(texts) if kind in ("path", "url") else ""
    grant = granting.of(group[0], pattern, agent=agent) if pattern else None
    if grant is None or not all(grants.covers(grant, call, 0.0) for call in group):
        return None
    broad = grants.too_broad(msgspec.structs.replace(grant, expires=1.0))
    return None if broad or _reaches_further(grant, group, judged) else grant


def _merged(texts: list[str]) -> str:
    """Word by word: what all share, and a `*` for what they do not. Empty where that is more than one word.

    Behind a `/` a `*` may stand for nothing: the folder itself, where only things in it were approved.
    """
    rows = [text.split(" ") for text in texts]
    if len({len(row) for row in rows}) != 1 or len(rows[0]) > MAX_WORDS:
        return ""
    words = [_word(list(column)) for column in zip(*rows, strict=True)]
    return " ".join(words) if sum("*" in word for word in words) == 1 and not any("/*" in word for word in words) else ""


def _word(column: list[str]) -> str:
    if len(set(column)) == 1:
        return column[0]
    same = takewhile(lambda signs: len(set(signs)) == 1, zip(*column, strict=False))
    before = "".join(signs[0] for signs in same)
    return f"{before if len(before) >= MIN_PREFIX else ''}*"


def _prefixed(texts: list[str]) -> str:
    """The folder that all are in."""
    folders = {text.rpartition("/")[0] for text in texts}
    folder = folders.pop() if len(folders) == 1 else ""
    return f"{folder}/*" if folder else ""


def _reaches_further(grant: Grant, group: list[Call], judged: Judging) -> bool:
    """Whether the pattern covers something graver than what was approved."""
    most = max(judged.weigh_bare(call).score for call in group)
    name = SUBJECTS[tool_name(grant.tool)].params[0]
    for probe in PROBES:
        call = replace(group[0], params={**group[0].params, name: grant.pattern.replace("*", probe)})
        if grants.covers(grant, call, 0.0) and judged.weigh_bare(call).score > most:
            return True
    return False
