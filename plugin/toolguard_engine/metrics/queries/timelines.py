"""What agents did, in the order in which it happened: model calls, tool calls with their verdicts, and what people decided.

Both tables are read by the index of their times, the newest first, and no more than `SEARCHED` rows of each: a question with
a rare answer then says how far back it was looked for, and the next one continues there.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator
from typing import Any, NamedTuple

from toolguard_engine.metrics.queries.feeds import CALL, DECISION, call_row, decision_row
from toolguard_engine.metrics.queries.row_values import EXACT, money
from toolguard_engine.metrics.result_types import CallRow, DecisionRow, Timeline, TimelineEvent, Totals

SEARCHED = 10_000
"""Rows of each table that one question reads."""
MOST = 2_000
"""Events of one answer."""
MOST_PAGES = 100
"""Times that one search goes further back."""
LARGEST = 2**63 - 1

_WITHIN = "at >= ? AND at <= ? AND (at < ? OR id < ?)"
_OF_CALLS = ("agent", "session", "model", "provider", "channel", "outcome")
_OF_DECISIONS = ("agent", "session", "run", "tool", "code", "reason", "shown", "nonce", "person")


class TimelineKey(NamedTuple):
    """A place between two events: behind it are all earlier ones, and those of the same moment with a lower id. Written, it
    is the three numbers with dots between them."""

    at: int
    call: int = 0
    decision: int = 0

    def __str__(self) -> str:
        return ".".join(map(str, self))

    @classmethod
    def parse(cls, text: str) -> TimelineKey:
        at, call, decision = (min(int(number), LARGEST) for number in text.split("."))
        return cls(at, call, decision)


class TimelineFilter(NamedTuple):
    """Which events are asked for; empty: all. `text`: anywhere in an event (agent, tool, path, nonce, text), with letters of
    ASCII in capitals or not."""

    gateway: str = ""
    agent: str = ""
    session: str = ""
    run: str = ""
    text: str = ""


def search(connection: sqlite3.Connection, since: int, until: int, wanted: TimelineFilter, limit: int) -> Timeline:
    """The same as `timeline`, page after page, until there are `limit` events or there is nothing before."""
    events, page, many = list[TimelineEvent](), timeline(connection, since, until, wanted, limit), max(1, min(limit, MOST))
    events += page.events
    for _ in range(MOST_PAGES):
        if not page.next or len(events) >= many:
            break
        page = timeline(connection, since, until, wanted, many - len(events), page.next)
        events += page.events
    return Timeline(events, page.since, page.until, page.is_cut, _totals(events), page.next)


def timeline(
    connection: sqlite3.Connection,
    since: int,
    until: int,
    wanted: TimelineFilter | None = None,
    limit: int = 200,
    before: str = "",
) -> Timeline:
    """The newest events from `since` until before `until`, in milliseconds since 1970. `before`: `next` of the page that
    came first."""
    wanted, many = wanted or TimelineFilter(), max(1, min(limit, MOST))
    begins, ends = (max(0, min(since, EXACT)), max(0, min(until, EXACT)))
    behind = min(TimelineKey(ends), TimelineKey.parse(before)) if before else TimelineKey(ends)
    read = _in_session(connection, begins, behind, wanted)
    calls, calls_from = _rows(connection, _CALLS, begins, behind, read, many)
    decisions, decisions_from = _rows(connection, _DECISIONS, begins, behind, read, many)
    complete = max(calls_from, decisions_from)
    events = [*(_of_decision(decision_row(row)) for row in decisions), *(_of_call(call_row(row)) for row in calls)]
    begun = _begun(connection, complete, behind) if wanted.text and calls else []
    matching = [event for event in _with_runs(events, begun) if event.at >= complete and wanted.run in ("", event.run)]
    shown = matching[:many]
    is_more = len(matching) > many
    following = _key(shown[-1]) if is_more else TimelineKey(complete) if complete > begins else None
    reach = shown[-1].at if is_more else complete
    return Timeline(shown, reach, ends, following is not None, _totals(shown), str(following or ""))


def _order(event: TimelineEvent) -> TimelineKey:
    """The decisions of a moment come before its model calls."""
    return TimelineKey(event.at, event.call.id if event.call else 0, event.decision.id if event.decision else 0)


def _key(last: TimelineEvent) -> TimelineKey:
    """What is behind the last event of a page. Behind a model call are all decisions of its moment."""
    return TimelineKey(last.at, last.call.id, LARGEST) if last.call else _order(last)


class _Table(NamedTuple):
    name: str
    columns: str
    texts: tuple[str, ...]
    place: int
    """Of its id in a key."""


_CALLS = _Table("toolguard_calls", CALL, _OF_CALLS, 1)
_DECISIONS = _Table("toolguard_verdicts", DECISION, _OF_DECISIONS, 2)


def _in_session(
    connection: sqlite3.Connection, begins: int, behind: TimelineKey, wanted: TimelineFilter
) -> TimelineFilter | None:
    """The same question, with the session of the run if the run has one: then only its rows are read. None if nothing was
    decided in this run: then no model call belongs to it either."""
    if not wanted.run:
        return wanted
    searched = f"SELECT run, session FROM {_DECISIONS.name} WHERE {_WITHIN} ORDER BY at DESC, id DESC LIMIT {SEARCHED}"  # noqa: S608 - names
    sessions = connection.execute(
        f"SELECT DISTINCT session FROM ({searched}) WHERE run = ? LIMIT 2",  # noqa: S608 - as above
        (begins, behind.at, behind.at, behind.decision, wanted.run),
    ).fetchall()
    if not sessions:
        return None
    return wanted._replace(session=sessions[0][0]) if len(sessions) == 1 and not wanted.session else wanted


def _rows(
    connection: sqlite3.Connection, table: _Table, begins: int, behind: TimelineKey, wanted: TimelineFilter | None, many: int
) -> tuple[list[Any], int]:
    """The newest rows of this time that are wanted, and from when on they are all there. With a run, all of them: which
    calls belong to it is known only from their neighbours."""
    ends = (behind.at, behind.at, behind[table.place])
    times = f"SELECT at FROM {table.name} WHERE {_WITHIN} ORDER BY at DESC, id DESC LIMIT 1 OFFSET ?"  # noqa: S608 - names
    newest, oldest = (connection.execute(times, (begins, *ends, offset)).fetchone() for offset in (0, SEARCHED))
    start = int(oldest[0]) + (oldest < newest) if oldest else begins  # or else a moment with too many rows ends the search
    if wanted is None:
        return [], start
    conditions, values = _conditions(table, wanted)
    most = SEARCHED if wanted.run else many + 1
    asked = (
        f"SELECT {table.columns} FROM {table.name} WHERE {' AND '.join([_WITHIN, *conditions])}"  # noqa: S608 - as above
        f" ORDER BY at DESC, id DESC LIMIT {most}"
    )
    return connection.execute(asked, (start, *ends, *values)).fetchall(), start


def _conditions(table: _Table, wanted: TimelineFilter) -> tuple[list[str], list[str]]:
    exact = {name: getattr(wanted, name) for name in ("gateway", "agent", "session") if getattr(wanted, name)}
    conditions = [f"{name} = ?" for name in exact]
    if not wanted.text:
        return conditions, [*exact.values()]
    pattern = "%" + re.sub(r"([%_~])", r"~\1", wanted.text) + "%"
    some = " OR ".join(f"{name} LIKE ? ESCAPE '~'" for name in table.texts)
    return [*conditions, f"({some})"], [*exact.values(), *[pattern] * len(table.texts)]


def _of_call(call: CallRow) -> TimelineEvent:
    return TimelineEvent(call.at, call.agent, call.session, "", call.gateway, call=call)


def _of_decision(decision: DecisionRow) -> TimelineEvent:
    return TimelineEvent(decision.at, decision.agent, decision.session, decision.run, decision.gateway, decision=decision)


_Begun = tuple[TimelineKey, str, str, str]
"""When a decision was made, on which gateway, in which session and run."""


def _begun(connection: sqlite3.Connection, begins: int, behind: TimelineKey) -> list[_Begun]:
    """What tells the runs of calls where a text is searched for, which leaves out most of their neighbours."""
    rows = connection.execute(
        f"SELECT at, id, gateway, session, run FROM {_DECISIONS.name} WHERE at >= ? AND at <= ? AND run <> ''"  # noqa: S608 - a name
        " ORDER BY at DESC, id DESC LIMIT ?",
        (begins, behind.at, SEARCHED),
    )
    return [(TimelineKey(at, 0, number), gateway, session, run) for at, number, gateway, session, run in rows]


def _with_runs(events: list[TimelineEvent], begun: list[_Begun]) -> Iterator[TimelineEvent]:
    """The events, the newest first. A model call has no run of its own: it belongs to the run that its session is in."""
    own = [(_order(event), event.gateway, event.session, event.run) for event in events if event.decision and event.run]
    marks = sorted([*own, *begun])
    runs: dict[tuple[str, str], str] = {}
    ordered: list[TimelineEvent] = []
    place = 0
    for event in sorted(events, key=_order):
        while place < len(marks) and marks[place][0] <= _order(event):
            _, gateway, session, run = marks[place]
            runs[gateway, session] = run
            place += 1
        ordered.append(_in_run(event, runs.get((event.gateway, event.session), "")))
    return reversed(ordered)


def _in_run(event: TimelineEvent, run: str) -> TimelineEvent:
    if event.decision or not run:
        return event
    return TimelineEvent(event.at, event.agent, event.session, run, event.gateway, call=event.call)


def _totals(events: list[TimelineEvent]) -> Totals:
    calls = [event.call for event in events if event.call]
    known = [call for call in calls if call.cost_usd is not None]
    return Totals(
        calls=len(calls),
        failed=sum(call.outcome not in ("", "completed") for call in calls),
        input=sum(call.input for call in calls),
        output=sum(call.output for call in calls),
        cache_read=sum(call.cache_read for call in calls),
        cache_write=sum(call.cache_write for call in calls),
        total=sum(call.total for call in calls),
        priced=len(known),
        cost_usd=money(sum(call.cost_usd or 0.0 for call in known)),
        estimated_usd=money(sum(call.cost_usd or 0.0 for call in known if call.estimated)),
    )
