"""`toolguard audit`: reads, verifies and exports the audit log."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path
from typing import Annotated, Any, TextIO

import typer

from toolguard_cli.approvals import held_calls
from toolguard_cli.commands.command_options import command, command_app, examples
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.operations import audit_targets
from toolguard_cli.operations.forward_audit_log import AuditForwarder
from toolguard_cli.person import require_human
from toolguard_cli.system import time_spans
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.rules import vocabulary
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.audit_log import LOST, REMOVED, AuditEvent, moment
from toolguard_engine.stores.ports import AuditLogStore
from toolguard_engine.stores.undo import undo_notes
from toolguard_engine.wording import printable

HEAD = ("TIME", "EVENT", "CODE", "NONCE", "TOOL", "AGENT", "BY", "WHAT")
WIDE = 120
FEWER = ("TIME", "EVENT", "NONCE", "BY", "WHAT")
"""In a terminal that is narrower than `WIDE`. `BY` has the agent where nobody did it."""
EVENTS = (
    "hold", "hold-again", "approve", "deny", "consume", "expire", "lapsed", "block", "would-refuse", "note", "kept", "stop",
    "budget", "drift", "external", "checkpoint", "kill-switch", "grant", "grant-used", "revoke", "undo", "state", "security",
    "error", "forged", "recovered", LOST, REMOVED, "weakened", "restored", "accepted", "ended", "notification-lost",
    "policy",
)  # fmt: skip
"""All events, those about calls first."""

COLUMNS = ("seq", *AuditEvent.__struct_fields__)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")
"""A spreadsheet reads a cell that starts with one of these as a formula."""

app = command_app()


@app.callback(
    no_args_is_help=True,
    epilog=examples("toolguard audit show --since 7d", "toolguard audit verify", "toolguard audit export audit.jsonl"),
)
def group() -> None:
    """Read, verify and export the audit log."""


@command(app, "toolguard audit show --event hold --since 7d", "toolguard audit show --nonce 3f9a", name="show")
def audit_show(
    places: Places,
    *,
    last: Annotated[int, typer.Option(min=1, max=100_000, help="Show at most this many of the newest lines.")] = 50,
    event: Annotated[
        str, typer.Option(help="Only this event, for example hold or block; see above.", show_default=False)
    ] = "",
    nonce: Annotated[str, typer.Option(help="Only nonces that start with this.", show_default=False)] = "",
    since: Annotated[str, typer.Option(help=f"Only the last {time_spans.SPELLED}.", show_default=False)] = "",
) -> Result:
    """Show the newest lines of the audit log.

    The code names the reason: a rule, a budget, a loop or the kill switch. Events about calls: hold, hold-again, approve,
    deny, consume (an approved call ran), expire, lapsed (an approved call did not run in time), block, would-refuse (only
    logged, because the mode is shadow or soft), note, kept (the call can be undone), stop (the run was ended), budget, drift
    and external (reported by another program). Events about users and the guard: checkpoint, kill-switch, grant, grant-used,
    revoke, undo, security, error, forged, recovered, head-lost and segment-removed. Events about the guard's settings and
    installation: weakened, restored, accepted and ended. notification-lost: a notification could not be delivered. policy:
    the fleet's policy was adopted or rejected.

    Consecutive identical lines are shown as one line with their count; --json shows them all.
    """
    return show(places, Filter(event, nonce, since), last)


@dataclass(frozen=True)
class Filter:
    """Which lines; empty matches all. `nonce` is a prefix, `since` a duration like `7d`."""

    event: str = ""
    nonce: str = ""
    since: str = ""

    def chosen(self, places: Places) -> Iterator[dict[str, Any]]:
        after = time.time() - time_spans.seconds(self.since, "--since") if self.since else 0.0
        for event in stores.audit_log(places.state_dir).events():
            if self._fits(event) and (not after or moment(event) >= after):
                yield event

    def _fits(self, event: dict[str, Any]) -> bool:
        right_event = self.event in ("", event.get("event"))
        return right_event and str(event.get("nonce", "")).startswith(self.nonce.strip().lower())


def show(places: Places, chosen: Filter, last: int) -> Result:
    chosen = replace(chosen, event=chosen.event.strip().lower())
    with gateway_stores.user_errors():
        events = list(deque(chosen.chosen(places), maxlen=last))
    if not events:
        _refuse_unknown(chosen.event)
        nowhere = Line("warn", held_calls.nowhere(places)) if held_calls.never_been(places) else None
        nothing = nowhere or Line("info", "no line of the audit log matches")
        return Result("audit show", {"events": []}, (nothing,))
    rows = list(_folded(_row(places, event) for event in events))
    head, rows = (FEWER, list(map(_fewer, rows))) if sys.stdout.isatty() and tables.width() < WIDE else (HEAD, rows)
    return Result("audit show", {"events": events}, tuple(tables.table(head, rows)))


def _fewer(row: list[str]) -> list[str]:
    """The row in a narrow terminal: what does not fit into a column stands before the text below it."""
    when, event, code, nonce, tool, agent, by, what = row
    named = "" if f"{tool}(" in what else tool
    before = ", ".join(filter(None, (code, named, f"agent {agent}" if by and agent else "")))
    return [when, event, nonce, by or agent, ": ".join(filter(None, (before, what)))]


def _folded(rows: Iterable[list[str]]) -> Iterator[list[str]]:
    """Rows that repeat the one before them, but for the time, become one. `--json` and `export` have them all."""
    for _, repeated in groupby(rows, key=lambda row: row[1:]):
        first, *more = repeated
        if more:
            first[-1] = " ".join(filter(None, [first[-1], f"({len(more) + 1} times, until {more[-1][0]})"]))
        yield first


def _refuse_unknown(name: str) -> None:
    """Raises `UserError` if there is no such event."""
    if name and name not in EVENTS:
        near = vocabulary.nearest(name, EVENTS)
        meant = f"did you mean {near}? " if near else ""
        message = f"there is no event {printable.cut(printable.plain(name), 40)}"
        raise UserError(message, f"{meant}The events are: {', '.join(EVENTS)}")


def _row(places: Places, event: dict[str, Any]) -> list[str]:
    text = {name: str(event.get(name, "")) for name in AuditEvent.__struct_fields__}
    by = f"{text['by']} ({text['where']})" if text["by"] and text["where"] else text["by"] or text["where"]
    undo = undo_notes.current(places.state_dir, text["code"], text["reason"]) if text["code"] in undo_notes.CODES else ""
    what = ": ".join(part for part in (text["why"], undo, text["shown"] or text["reason"]) if part)
    when = printable.moment(moment(event)) if moment(event) else text["time"]
    code = "" if text["code"].endswith(f".{text['event']}") else text["code"]  # budget.checkpoint of a checkpoint
    return [when, text["event"], code, text["nonce"], text["tool"], text["agent"], by, what]


@command(app, "toolguard audit verify", name="verify")
def verify(places: Places) -> Result:
    """Verify that no line was changed, removed or added."""
    log = stores.audit_log(places.state_dir)
    with gateway_stores.user_errors():
        log.close_torn_line()
        verification = log.verify()
    data = {
        "lines": verification.lines,
        "error": verification.error,
        "file": verification.file,
        "line": verification.line,
        "recovered": verification.recovered,
    }
    data |= {"gaps": verification.gaps}
    counted = f"{verification.lines} line{'' if verification.lines == 1 else 's'}"
    if not verification.error:
        torn = f"; {verification.recovered} cut off by a killed process and marked as such" if verification.recovered else ""
        whole = Line("ok", f"the audit log is intact: {counted}{torn}")
        gap = Line("warn", f"lines may be missing before {verification.gaps} of them: toolguard audit show --event {LOST}")
        return Result("audit verify", data, (whole, gap) if verification.gaps else (whole,))
    at = f"{log.path.with_name(verification.file)}:{verification.line}" if verification.file else str(log.path)
    lines = (
        Line("error", printable.plain(f"{at}: {verification.error}")),
        Line("info", f"the {counted} before it are unchanged; later lines prove nothing"),
        Line("next", "keep a copy of the file, and find out who could write to it"),
    )
    return Result("audit verify", data, lines, 1)


@command(
    app,
    "toolguard audit forward syslog:///dev/log",
    "toolguard audit forward otlp+http://127.0.0.1:4318 --once",
    name="forward",
)
def forward(
    places: Places,
    address: Annotated[str, typer.Argument(help=f"For example {audit_targets.FORMS}.", show_default=False)],
    *,
    once: Annotated[bool, typer.Option("--once", help="Send what is there, then exit.")] = False,
) -> Result:
    """Send the log to syslog or OpenTelemetry as it grows.

    Runs until it is interrupted; let your service manager keep it running. Each target is sent every line, also those from
    before its first start. After a crash, the last lines may be sent twice.
    """
    require_human.refuse(places, "audit forward", loosens=False)
    target = audit_targets.target(address)
    forwarder = AuditForwarder(places.state_dir, address, target, _report, _left_out)
    try:
        with suppress(KeyboardInterrupt):
            forwarder.run(once=once)
    except OSError as error:
        why = printable.plain(str(error.strerror or error))
        raise UserError(f"not all lines could be sent: {why}", "check the address, then try again") from error
    finally:
        target.close()
    count = f"{forwarder.sent} line{'' if forwarder.sent == 1 else 's'}"
    return Result("audit forward", {"sent": forwarder.sent}, (Line("ok", f"{count} sent to {printable.plain(address)}"),))


def _left_out(number: int, why: str) -> None:
    typer.echo(f"line {number} is left out, because it is never taken: {printable.plain(why)}", err=True)


def _report(problem: str) -> None:
    text = f"cannot send: {printable.plain(problem)}; it is tried again" if problem else "sending works again"
    typer.echo(text, err=True)


@command(app, "toolguard audit export audit.jsonl", "toolguard audit export - --csv | head", name="export")
def export(
    places: Places,
    target: Annotated[str, typer.Argument(metavar="FILE", help="A new file, or - for standard output.", show_default=False)],
    *,
    as_csv: Annotated[bool, typer.Option("--csv", help="Write CSV instead of JSON lines.")] = False,
) -> Result | None:
    """Export the log to a file."""
    if target == "-":
        with gateway_stores.user_errors():
            _write(stores.audit_log(places.state_dir), sys.stdout, as_csv=as_csv)
        return None
    path = Path(target)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise UserError(f"{printable.plain(target)} already exists", "name another file, or remove that one") from error
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file, gateway_stores.user_errors():
        count = _write(stores.audit_log(places.state_dir), file, as_csv=as_csv)
    message = Line("ok", f"{count} line{'' if count == 1 else 's'} written to {printable.plain(str(path))}")
    return Result("audit export", {"file": str(path.absolute()), "lines": count}, (message,))


def _write(log: AuditLogStore, file: TextIO, *, as_csv: bool) -> int:
    table = csv.writer(file, lineterminator="\n")
    if as_csv:
        table.writerow(COLUMNS)
    count = 0
    for count, event in enumerate(log.events(), 1):  # noqa: B007 - the count is returned
        if as_csv:
            table.writerow([safe_cell(event.get(name, "")) for name in COLUMNS])
        else:
            file.write(json.dumps(event, separators=(",", ":"), ensure_ascii=file.isatty()) + "\n")
    return count


def safe_cell(value: object) -> str:
    text = printable.plain(str(value))
    return f"'{text}" if text.startswith(FORMULA) else text
