"""A timeline as lines of text: sessions and their runs with what they cost, and what happened in each, the oldest first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from itertools import groupby
from typing import NamedTuple

from toolguard_cli.status import cost_format
from toolguard_cli.terminal.result import Line
from toolguard_engine.metrics.result_types import CallRow, DecisionRow, Timeline, TimelineEvent
from toolguard_engine.wording import printable

WORDS = {
    "allow": "allowed",
    "malformed": "corrected",
    "loop": "loop corrected",
    "hold": "held",
    "hold-again": "held again",
    "approve": "approved",
    "consume": "ran as approved",
    "deny": "denied",
    "expire": "expired",
    "block": "blocked",
    "stop": "run ended",
    "note": "noted",
    "kept": "kept",
}
"""Kinds of decisions that do not read as what happened."""


WIDTH = 400
"""Of a line. The call in it is cut, but not below `LEAST`; who approved it, and why, is not."""
LEAST = 60
LONGEST_TEXT = 200
"""Of a reason, or the name of a person."""


class _Entry(NamedTuple):
    """What a line says. `about`: the call, of which only the beginning is shown if it is long."""

    word: str
    about: str
    more: str = ""


def lines(report: Timeline) -> Iterator[Line]:
    events = report.events[::-1]
    sessions: dict[tuple[str, str, str], list[TimelineEvent]] = {}
    for event in events:
        sessions.setdefault((event.gateway, event.agent, event.session), []).append(event)
    are_several = len({gateway for gateway, _, _ in sessions}) > 1
    for (gateway, agent, session), own in sessions.items():
        at = f", gateway {gateway or 'not known'}" if are_several else ""
        yield Line("info", printable.plain(f"{agent or 'an unknown agent'}, {session or 'no session'}{at}: {_sums(own)}"))
        for run, part in groupby(own, key=lambda event: event.run):
            happened = list(part)
            begins = printable.moment(happened[0].at / 1000)
            yield Line("info", printable.plain(f"  run {run or 'not known'}, {begins}: {_sums(happened)}"))
            yield from _in_run(happened)
    calls = f"{printable.counted(report.totals.calls, 'model call')}, {cost_format.cost(report.totals)}"
    yield Line("info", f"{printable.counted(len(sessions), 'session')}, {calls}")
    if report.is_cut:
        begins = printable.moment(report.since / 1000)
        yield Line(
            "info", f"earlier events are left out: these are the newest, since {begins} (--since, --until, --agent, --find)"
        )


def _in_run(events: list[TimelineEvent]) -> Iterator[Line]:
    """Each event, and equal ones that follow each other on a day in one line. A new day has a line of its own."""
    day = _day(events[0])
    for (entry, _, of_day), group in groupby(events, key=lambda event: (_entry(event), bool(event.call), _day(event))):
        same = list(group)
        if of_day != day:
            day = of_day
            yield Line("info", f"    {day}")
        times = f" (x {len(same)})" if len(same) > 1 else ""
        begin, end = f"    {_clock(same[0].at)}  {entry.word:<9} ", printable.plain(f"{entry.more}{times}")
        about = printable.cut(entry.about, max(LEAST, WIDTH - len(begin) - len(end)))
        yield Line("info", printable.plain(f"{begin}{about}{end}"))


def _entry(event: TimelineEvent) -> _Entry:
    if event.call:
        return _model(event.call)
    return _decided(event.decision) if event.decision else _Entry("", "")


def _model(call: CallRow) -> _Entry:
    cost = "" if call.cost_usd is None else f", {'~' if call.estimated else ''}${call.cost_usd:.4f}"
    failed = f", {call.outcome}" if call.outcome not in ("", "completed") else ""
    return _Entry("model", call.model or "unknown", f": {call.total:,} tokens{cost}{failed}")


def _decided(row: DecisionRow) -> _Entry:
    by = f" by {printable.cut(row.person, LONGEST_TEXT)}" if row.person else ""
    where = f" ({row.nonce})" if row.nonce else ""
    why = f": {printable.cut(row.reason, LONGEST_TEXT)}" if row.reason and row.kind != "allow" else ""
    return _Entry(WORDS.get(row.kind, row.kind), row.shown or row.tool, f"{where}{by}{why}")


def _sums(events: list[TimelineEvent]) -> str:
    calls = [event.call for event in events if event.call]
    kinds = Counter(_NOUNS.get(event.decision.kind, event.decision.kind) for event in events if event.decision)
    cost = sum(call.cost_usd or 0.0 for call in calls)
    counts = [("model call", len(calls)), *((noun, kinds[noun]) for noun in dict.fromkeys([*_NOUNS.values(), *kinds]))]
    texts = [printable.counted(number, noun) for noun, number in counts if number]
    return ", ".join([*texts, *([cost_format.usd(cost)] if cost else [])])


_NOUNS = {
    "allow": "tool call* allowed",
    "hold": "held call",
    "hold-again": "call* held again",
    "approve": "call* approved",
    "consume": "call* that ran as approved",
    "deny": "call* denied",
    "expire": "call* expired",
    "block": "blocked call",
    "malformed": "correction",
    "loop": "correction",
    "stop": "end* of a run",
    "note": "note",
    "kept": "call* that can be undone",
}
"""What is counted, in this order."""


def _day(event: TimelineEvent) -> str:
    return f"{datetime.fromtimestamp(event.at / 1000).astimezone():%Y-%m-%d}"


def _clock(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000).astimezone():%H:%M:%S}"
