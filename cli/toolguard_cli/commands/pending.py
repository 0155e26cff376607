"""`toolguard pending`: the calls that wait for approval."""

from __future__ import annotations

import shlex
import time
from typing import Annotated, Any

import typer

from toolguard_cli.approvals import held_calls
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import missed_calls
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import MARK, Line, Result
from toolguard_engine.approvals import held_text, replies
from toolguard_engine.approvals.ledger import OPEN, HeldCall, is_lapsed
from toolguard_engine.wording import printable

HEAD = ("NONCE", "STATE", "AGE", "TOOL", "AGENT", "CALL")
MISSED_HEAD = ("NONCE", "WHAT", "EXPIRED", "WAITED", "TOOL", "AGENT", "CALL")

MAX_DETAILED = 20
"""Calls whose effects are looked up."""
MAX_CALL = 80
"""Characters of a call in the table."""
OTHER_LINES = 7
"""Lines around the only call that waits."""
ASIDE, AHEAD = 10, 32
"""Columns before the dangers of one of several calls, and before its call."""

APPROVED_LAPSED = "approved, lapsed"

app = command_app()


@command(app, "toolguard pending", "toolguard pending --missed", "toolguard pending --all --json")
def run(
    places: Places,
    *,
    everything: Annotated[bool, typer.Option("--all", help="Include calls that are no longer waiting.")] = False,
    missed: Annotated[
        bool,
        typer.Option(
            "--missed", help="List the calls of the last 7 days that expired unanswered, or did not run though approved."
        ),
    ] = False,
) -> Result:
    """List the calls waiting for approval."""
    if held_calls.never_been(places):
        return Result("pending", {"pending": []}, (Line("warn", held_calls.nowhere(places)),))
    with gateway_stores.user_errors():
        entries = gateway_stores.nonces(places).entries()
    now = time.time()
    if missed:
        gone = missed_calls.missed(entries, now)
        return Result("pending", {"missed": [_public(entry, now) for entry in gone]}, tuple(_missed(gone, now)))
    known = sorted(replies.now_known(entries, now).entries, key=lambda entry: entry.created)
    calls = [entry for entry in known if everything or entry.status in OPEN]
    return Result(
        "pending",
        {"pending": [held_calls.public(entry, now) for entry in calls]},
        tuple(_lines(calls, now, everything, _options(places))),
    )


def _public(entry: HeldCall, now: float) -> dict[str, Any]:
    return {**held_calls.public(entry, now), "lapsed": is_lapsed(entry)}


def _missed(calls: list[HeldCall], now: float) -> list[Line]:
    if not calls:
        return [Line("info", "no call expired unanswered, and no approval lapsed, in the last 7 days")]
    lines = tables.table(MISSED_HEAD, (_missed_row(entry, now) for entry in calls))
    which = calls[0].nonce if len(calls) == 1 else "NONCE"
    return [
        *lines,
        Line("next", f"toolguard revive {which} asks the agent to make the call again, which is then held again"),
    ]


def _missed_row(entry: HeldCall, now: float) -> tuple[str, ...]:
    waited = printable.duration(entry.expires - entry.created)
    ago = f"{printable.duration(now - entry.expires)} ago"
    what = APPROVED_LAPSED if is_lapsed(entry) else "unanswered"
    return entry.nonce, what, ago, waited, entry.tool, entry.agent, printable.cut(entry.shown, MAX_CALL)


def _options(places: Places) -> str:
    """What was given to this command, for the next one."""
    return "".join(f" {shlex.quote(printable.plain(word))}" for word in places.given)


def _lines(calls: list[HeldCall], now: float, everything: bool, options: str) -> list[Line]:
    if not calls:
        return [Line("info", "no call was held in the last 24 hours" if everything else "no call is waiting")]
    lines = tables.table(HEAD, (_row(entry, now) for entry in calls))
    waiting = [entry.nonce for entry in calls if entry.status == "pending"]
    lines += _dangers([entry for entry in calls if entry.status == "pending"], now)
    if len(waiting) == 1:
        only = next(entry for entry in calls if entry.nonce == waiting[0])
        lines.append(Line("next", f"toolguard approve {waiting[0]}{options}, or toolguard deny {waiting[0]}{options}"))
        from toolguard_cli.policy import destruction  # noqa: PLC0415 - brings the judgements along
        from toolguard_engine.approvals import repeatable_calls  # noqa: PLC0415 - reads commands, and is slow to import

        narrow = repeatable_calls.narrow_grant(only)
        if narrow.grant and not destruction.held_destroys(only):
            lines.append(
                Line("next", f"toolguard approve {waiting[0]} --for 1d{options} also allows {narrow.scope} for a day")
            )
    elif waiting:
        lines.append(Line("next", f"toolguard approve{options} (asks which one, and shows it first)"))
    return lines


def _dangers(waiting: list[HeldCall], now: float) -> list[Line]:
    """The only call as it is, or the dangers of each of several."""
    shown = waiting[:MAX_DETAILED]
    views = held_calls.looked_at(shown, now)
    if len(views) == 1:
        return [Line("info", text) for text in held_calls.lines(views[0], OTHER_LINES)]
    lines: list[str] = []
    for entry, view in zip(shown, views, strict=True):
        lines.append(f"{entry.nonce}  {view.title}: {held_text.first_line(view, tables.width() - AHEAD)}")
        width = tables.width() - MARK - ASIDE
        lines += [f"{' ' * ASIDE}{text}" for text in [*held_text.reasons(view, width), *held_text.dangers(view, width)]]
    more = [f"{len(waiting) - len(shown)} more calls are waiting; toolguard approve NONCE shows what one would do"]
    return [Line("info", line) for line in [*lines, *(more if len(waiting) > len(shown) else [])]]


def _row(entry: HeldCall, now: float) -> tuple[str, ...]:
    state = APPROVED_LAPSED if is_lapsed(entry) else replies.state(entry, now)
    age = printable.duration(now - entry.created)
    return entry.nonce, state, age, entry.tool, entry.agent, printable.cut(entry.shown, MAX_CALL)
