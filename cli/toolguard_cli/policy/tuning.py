"""Evaluates the answers in the audit log: rules that are always approved, and what would have avoided the prompts.

Invariants: advice covers only calls that were approved in full view (nothing cut, no secret removed), never a denied call,
and no pattern that would also allow a more severe call than those approved, as far as `PROBES` show.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, Literal

import msgspec

from toolguard_cli.policy import destruction
from toolguard_cli.policy.offline_guard import Judging
from toolguard_cli.policy.transcripts import of_event
from toolguard_engine.approvals import exact_grant
from toolguard_engine.approvals import grant_matching as grants
from toolguard_engine.approvals.grant_matching import SUBJECTS
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.layers import always_block
from toolguard_engine.model.call import Call
from toolguard_engine.stores import audit_log

Answer = Literal["yes", "no", "expired", "waiting"]

PROBES = ("", "/", "/etc", "/usr/lib/x", "/home", "..", ".", "x", "main", "production", "HEAD", "main /etc", "x/../y")
"""Possible values of a `*`: a pattern that allows one of them with a higher score is too broad."""
MOST_GRANTS = 5
MOST_THRESHOLD = 100
MIN_PREFIX = 3
"""The characters that words must share; otherwise a `*` replaces the whole word."""
MAX_WORDS = 200
MAX_SHOWN = 2_000
DESTROYS = "such a call destroys something, so it is better to be asked each time"


@dataclass
class HeldQuestion:
    """One held call. `call`: None if the log does not have all of it."""

    rule: str
    tool: str
    agent: str
    shown: str
    at: float
    call: Call | None
    answer: Answer = "waiting"
    seconds: float | None = None


@dataclass(frozen=True)
class RuleTally:
    rule: str
    asked: tuple[HeldQuestion, ...]

    def count(self, answer: str) -> int:
        return sum(question.answer == answer for question in self.asked)

    @property
    def median(self) -> float | None:
        known = [question.seconds for question in self.asked if question.seconds is not None]
        return round(statistics.median(known), 1) if known else None


@dataclass
class Others:
    """What else the advice would allow. `replayed`: calls of transcripts that are held now."""

    count: int = 0
    denied: int = 0
    example: str = ""
    replayed: int = 0

    def public(self, replayed: bool) -> dict[str, Any]:  # noqa: FBT001 - whether transcripts were replayed
        data: dict[str, Any] = {"audit": self.count, "denied": self.denied, "example": self.example}
        return {**data, "replayed": self.replayed if replayed else None}


@dataclass
class ByScore:
    spared: int = 0
    others: Others = field(default_factory=Others)


@dataclass
class ByGrant:
    grant: Grant
    spared: int = 0
    others: Others = field(default_factory=Others)


@dataclass
class Advice:
    """What would have avoided the prompts of one rule. `why`: why there is no grant, or not for all."""

    tally: RuleTally
    grants: list[ByGrant] = field(default_factory=list)
    threshold: int = 0
    score: ByScore | None = None
    why: str = ""

    def see(self, call: Call, score: int, threshold: int) -> None:
        """Counts a past call that would be held now."""
        for option in self.grants:
            option.others.replayed += grants.covers(option.grant, call, 0.0)
        if self.score and threshold <= score < self.threshold:
            self.score.others.replayed += 1


def asked(events: Iterable[dict[str, Any]], after: float) -> list[HeldQuestion]:
    """The calls that asked since then, the oldest first, with what became of them."""
    questions: list[HeldQuestion] = []
    waiting: dict[str, HeldQuestion] = {}
    for event in events:
        nonce, kind = str(event.get("nonce", "")), event.get("event")
        if kind == "hold" and nonce:
            waiting.pop(nonce, None)
            at = audit_log.moment(event)
            if at >= after:
                waiting[nonce] = _asked(event, at)
                questions.append(waiting[nonce])
        elif nonce in waiting:
            _answer(waiting[nonce], str(kind), audit_log.moment(event))
    return questions


def _asked(event: dict[str, Any], at: float) -> HeldQuestion:
    kept = of_event(event)
    call = kept.call if kept and kept.whole else None
    text = {name: str(event.get(name, "")) for name in ("code", "tool", "agent", "shown")}
    return HeldQuestion(text["code"] or "?", text["tool"], text["agent"], text["shown"][:MAX_SHOWN], at, call)


def _answer(waiting: HeldQuestion, event: str, at: float) -> None:
    """`consume` without `approve` is an approval in the gateway's own prompt; unused approvals count too."""
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


def tallies(questions: list[HeldQuestion]) -> list[RuleTally]:
    by_rule: dict[str, list[HeldQuestion]] = {}
    for question in questions:
        by_rule.setdefault(question.rule, []).append(question)
    return sorted((RuleTally(rule, tuple(group)) for rule, group in by_rule.items()), key=lambda tally: -len(tally.asked))


def advise(tally: RuleTally, questions: list[HeldQuestion], judged: Judging, at_least: int) -> Advice | None:
    """Advice for a rule that was approved `at_least` times and never denied."""
    if tally.count("no") or tally.count("yes") < at_least:
        return None
    approved = [question for question in tally.asked if question.answer == "yes"]
    denied = [question.call for question in questions if question.answer == "no" and question.call is not None]
    advice = Advice(tally)
    if any(question.call is not None and destruction.destroys(judged.weigh_bare(question.call)) for question in approved):
        advice.why = DESTROYS
        return advice
    patterns, advice.why = _grants(approved, denied, judged)
    advice.grants = [ByGrant(grant) for grant in patterns]
    if tally.rule != always_block.CODE:
        scores = [judged.weigh_bare(question.call).score for question in approved if question.call is not None]
        top = max(scores, default=MOST_THRESHOLD)
        if len(scores) == len(approved) and judged.basis.threshold <= top < MOST_THRESHOLD:
            advice.threshold, advice.score = top + 1, ByScore()
    return advice


def weigh_against(advice: list[Advice], questions: list[HeldQuestion], judged: Judging) -> None:
    """Counts which held calls each advice would have allowed."""
    for question in questions:
        if question.call is None:
            continue
        held = judged.weigh_bare(question.call)
        if held.decision == "block":
            continue
        for one in advice:
            for option in one.grants:
                if grants.covers(option.grant, question.call, 0.0):
                    option.spared += _own(question, one)
                    _other(option.others, question, one)
            if one.score and held.score < one.threshold and question.rule != always_block.CODE:
                one.score.spared += _own(question, one)
                _other(one.score.others, question, one)


def _own(question: HeldQuestion, one: Advice) -> bool:
    return question.rule == one.tally.rule and question.answer == "yes"


def _other(others: Others, question: HeldQuestion, one: Advice) -> None:
    if _own(question, one):
        return
    others.count += 1
    others.denied += question.answer == "no"
    others.example = others.example or question.shown


def _grants(approved: list[HeldQuestion], denied: list[Call], judged: Judging) -> tuple[list[Grant], str]:
    """The fewest grants for the approved calls, limited to the agent if it was always the same one."""
    calls = [question.call for question in approved if question.call is not None]
    if not calls:
        return [], "the log does not have these calls in full (secrets are removed, long values cut)"
    agents = {call.agent for call in calls}
    agent = agents.pop() if len(agents) == 1 else ""
    narrow: list[Grant] = []
    left = 0
    for group in _alike(calls):
        wide = _wide(group, agent, judged)
        if wide and any(grants.covers(wide, call, 0.0) for call in denied):
            wide = None
        exact = [grant for call in group if (grant := exact_grant.exact(call, agent=agent))]
        chosen = [wide] if wide else list({(g.pattern, str(g.params)): g for g in exact}.values())
        chosen = [grant for grant in chosen if not any(grants.covers(grant, call, 0.0) for call in denied)]
        left += sum(not any(grants.covers(grant, call, 0.0) for grant in chosen) for call in group)
        narrow += chosen
    if len(narrow) > MOST_GRANTS:
        return [], f"these calls are too different: it would take {len(narrow)} grants"
    if not narrow:
        return [], "no pattern can cover these calls: they contain what a * never matches"
    return narrow, f"{left} of the calls match no grant" if left else ""


def _alike(calls: list[Call]) -> list[list[Call]]:
    """Groups calls that one pattern might cover: same tool, same other parameters, same beginning."""
    groups: dict[tuple[str, ...], list[Call]] = {}
    for call in calls:
        text = grants.subject(call) or ""
        words = text.split()
        kind = grants.kind_of(call.tool)
        head = (words[0], str(len(words))) if kind == "words" and words else (text.rpartition("/")[0],)
        groups.setdefault((tool_name(call.tool), str(sorted(grants.fixed(call).items())), *head), []).append(call)
    return list(groups.values())


def _wide(group: list[Call], agent: str, judged: Judging) -> Grant | None:
    """One pattern for several calls; None if none can be recommended."""
    texts = list(dict.fromkeys(text for call in group if (text := grants.subject(call))))
    if len(texts) < 2 or any("*" in text for text in texts):  # noqa: PLR2004 - one call needs no pattern
        return None
    kind = grants.kind_of(group[0].tool)
    pattern = _merged(texts) if kind == "words" else _prefixed(texts) if kind in ("path", "url") else ""
    grant = exact_grant.make(group[0], pattern, agent=agent) if pattern else None
    if grant is None or not all(grants.covers(grant, call, 0.0) for call in group):
        return None
    broad = grants.too_broad(msgspec.structs.replace(grant, expires=1.0))
    return None if broad or _reaches_further(grant, group, judged) else grant


def _merged(texts: list[str]) -> str:
    """Merges word by word, with a `*` for the word that differs. Empty if more than one differs.

    A `*` after a `/` is rejected because it may be empty: it would cover the folder itself, not only things in it.
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
    folders = {text.rpartition("/")[0] for text in texts}
    folder = folders.pop() if len(folders) == 1 else ""
    return f"{folder}/*" if folder else ""


def _reaches_further(grant: Grant, group: list[Call], judged: Judging) -> bool:
    """Whether the pattern covers a more severe call than those approved."""
    most = max(judged.weigh_bare(call).score for call in group)
    name = SUBJECTS[tool_name(grant.tool)].params[0]
    for probe in PROBES:
        call = replace(group[0], params={**group[0].params, name: grant.pattern.replace("*", probe)})
        if grants.covers(grant, call, 0.0) and judged.weigh_bare(call).score > most:
            return True
    return False
