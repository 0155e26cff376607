"""A timeline as lines of text: sessions and their runs with what they cost, and what happened in each, the oldest first."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from itertools import groupby

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
}
"""Kinds of decisions that do not read as what happened."""


def lines(report: Timeline) -> Iterator[Line]:
    events = report.events[::-1]
    sessions: dict[tuple[str, str, str], list[TimelineEvent]] = {}
    for event in events:
        sessions.setdefault((event.gateway, event.agent, event.session), []).append(event)
    for (_, agent, session), own in sessions.items():
        yield Line("info", printable.plain(f"{agent or 'an unknown agent'}, {session or 'no session'}: {_sums(own)}"))
        for run, part in groupby(own, key=lambda event: event.run):
            happened = list(part)
            yield Line("info", printable.plain(f"  run {run or 'not known'}: {_sums(happened)}"))
            yield from _in_run(happened)
    calls = cost_format.cost(report.totals)
    yield Line(
        "info", f"{len(sessions)} session{'' if len(sessions) == 1 else 's'}, {report.totals.calls:,} model calls, {calls}"
    )
    if report.is_cut:
        begins = printable.moment(report.since / 1000)
        yield Line("info", f"earlier events are left out: these are the newest, since {begins} (--since, --agent, --find)")


def _in_run(events: list[TimelineEvent]) -> Iterator[Line]:
    """Each event, and equal ones that follow each other in one line."""
    for (text, _), group in groupby(events, key=lambda event: (_event(event), bool(event.call))):
        same = list(group)
        times = f" (x {len(same)})" if len(same) > 1 else ""
        yield Line("info", printable.cut(f"    {_clock(same[0].at)}  {text}{times}", 400))


def _event(event: TimelineEvent) -> str:
    if event.call:
        return _model(event.call)
    return _decided(event.decision) if event.decision else ""


def _model(call: CallRow) -> str:
    cost = "" if call.cost_usd is None else f", {'~' if call.estimated else ''}${call.cost_usd:.4f}"
    failed = f", {call.outcome}" if call.outcome not in ("", "completed") else ""
    return f"model     {call.model or 'unknown'}: {call.total:,} tokens{cost}{failed}"


def _decided(row: DecisionRow) -> str:
    by = f" by {row.person}" if row.person else ""
    where = f" ({row.nonce})" if row.nonce else ""
    about = row.shown or row.tool
    why = f": {row.reason}" if row.reason and row.kind != "allow" else ""
    return f"{WORDS.get(row.kind, row.kind):<9} {about}{where}{by}{why}"


def _sums(events: list[TimelineEvent]) -> str:
    calls = [event.call for event in events if event.call]
    kinds = [event.decision.kind for event in events if event.decision]
    cost = sum(call.cost_usd or 0.0 for call in calls)
    counts = [(len(calls), "model call"), (kinds.count("allow"), "tool call allowed"), (kinds.count("hold"), "held call")]
    counts += [(kinds.count("block"), "blocked call"), (kinds.count("malformed") + kinds.count("loop"), "correction")]
    texts = [_counted(number, noun) for number, noun in counts if number]
    return ", ".join([*texts, *([f"${cost:.2f}"] if cost else [])]) or "nothing"


def _counted(number: int, noun: str) -> str:
    if number == 1:
        return f"1 {noun}"
    first, space, rest = noun.partition(" call")
    return f"{number:,} {first}{space}s{rest}" if space else f"{number:,} {noun}s"


def _clock(at: int) -> str:
    return f"{datetime.fromtimestamp(at / 1000).astimezone():%H:%M:%S}"
