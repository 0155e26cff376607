"""`toolguard audit`: reads the audit log, checks it, copies it."""

from __future__ import annotations

import csv
import json
import os
import sys
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, TextIO

from toolguard_cli import stores, tables
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers, rulenames
from toolguard_engine.stores.audit import LOST, AuditLog, Event

HEAD = ("TIME", "EVENT", "CODE", "NONCE", "TOOL", "AGENT", "BY", "WHAT")
EVENTS = (
    "hold", "hold-again", "approve", "deny", "consume", "expire", "block", "would-refuse", "note", "stop", "budget",
    "drift", "external", "checkpoint", "kill-switch", "grant", "grant-used", "revoke", "security", "error", "forged",
    "recovered", LOST, "weakened", "restored", "accepted", "ended",
)  # fmt: skip
"""All kinds of lines, those about calls first."""

COLUMNS = ("seq", *Event.__struct_fields__)
FORMULA = ("=", "+", "-", "@", "\t", "\r", "|", "%")
"""A spreadsheet takes a cell that begins with one of these for a formula."""


@dataclass(frozen=True)
class Filter:
    """Which lines; empty is any. `nonce` is a prefix, `since` a span like `7d`."""

    event: str = ""
    nonce: str = ""
    since: str = ""

    def chosen(self, places: Places) -> Iterator[dict[str, Any]]:
        after = time.time() - tables.seconds(self.since) if self.since else 0.0
        for event in AuditLog(places.state_dir).events():
            if self._fits(event) and (not after or moment(event) >= after):
                yield event

    def _fits(self, event: dict[str, Any]) -> bool:
        right_event = self.event in ("", event.get("event"))
        return right_event and str(event.get("nonce", "")).startswith(self.nonce.strip().lower())


def show(places: Places, chosen: Filter, last: int) -> Result:
    chosen = replace(chosen, event=chosen.event.strip().lower())
    with stores.told():
        events = list(deque(chosen.chosen(places), maxlen=last))
    if not events:
        _refuse_unknown(chosen.event)
        return Result("audit show", {"events": []}, (Line("info", "no line of the audit log fits"),))
    return Result("audit show", {"events": events}, tuple(tables.table(HEAD, (_row(event) for event in events))))


def _refuse_unknown(name: str) -> None:
    """Raises `UserError` for a kind of event that there is none of."""
    if name and name not in EVENTS:
        near = rulenames.nearest(name, EVENTS)
        meant = f"did you mean {near}? " if near else ""
        said = f"there is no event {answers.cut(answers.plain(name), 40)}"
        raise UserError(said, f"{meant}Known are: {', '.join(EVENTS)}")


def _row(event: dict[str, Any]) -> list[str]:
    said = {name: str(event.get(name, "")) for name in Event.__struct_fields__}
    by = f"{said['by']} ({said['where']})" if said["by"] and said["where"] else said["by"] or said["where"]
    what = ": ".join(text for text in (said["why"], said["shown"] or said["reason"]) if text)
    when = tables.local(moment(event)) if moment(event) else said["time"]
    code = "" if said["code"].endswith(f".{said['event']}") else said["code"]  # budget.checkpoint of a checkpoint
    return [when, said["event"], code, said["nonce"], said["tool"], said["agent"], by, what]


def moment(event: dict[str, Any]) -> float:
    """Seconds since 1970 of a line; 0 where it has no time."""
    try:
        return datetime.fromisoformat(str(event.get("time"))).timestamp()
    except (ValueError, OverflowError):
        return 0.0


def verify(places: Places) -> Result:
    """Exit code 1 where the chain is broken."""
    log = AuditLog(places.state_dir)
    with stores.told():
        log.mend()
        found = log.verify()
    data = {"lines": found.lines, "error": found.error, "file": found.file, "line": found.line, "recovered": found.recovered}
    data |= {"gaps": found.gaps}
    counted = f"{found.lines} line{'' if found.lines == 1 else 's'}"
    if not found.error:
        torn = f"; {found.recovered} unfinished by a killed process, and said so" if found.recovered else ""
        whole = Line("ok", f"the audit log is whole: {counted}{torn}")
        gap = Line("warn", f"lines may be missing before {found.gaps} of them: toolguard audit show --event {LOST}")
        return Result("audit verify", data, (whole, gap) if found.gaps else (whole,))
    at = f"{log.path.with_name(found.file)}:{found.line}" if found.file else str(log.path)
    lines = (
        Line("error", answers.plain(f"{at}: {found.error}")),
        Line("info", f"the {counted} before are as they were written; what follows proves nothing"),
        Line("next", "keep a copy of the file, and find out who could write to it"),
    )
    return Result("audit verify", data, lines, 1)


def export(places: Places, target: str, *, as_csv: bool) -> Result | None:
    """Every line that can be read, as JSON lines or CSV. None where it went to standard output."""
    if target == "-":
        with stores.told():
            _write(AuditLog(places.state_dir), sys.stdout, as_csv=as_csv)
        return None
    path = Path(target)
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    except FileExistsError as error:
        raise UserError(f"{answers.plain(target)} is there already", "name another file, or remove that one") from error
    with os.fdopen(handle, "w", encoding="utf-8", newline="") as file, stores.told():
        count = _write(AuditLog(places.state_dir), file, as_csv=as_csv)
    told = Line("ok", f"{count} line{'' if count == 1 else 's'} written to {answers.plain(str(path))}")
    return Result("audit export", {"file": str(path.absolute()), "lines": count}, (told,))


def _write(log: AuditLog, file: TextIO, *, as_csv: bool) -> int:
    table = csv.writer(file, lineterminator="\n")
    if as_csv:
        table.writerow(COLUMNS)
    count = 0
    for count, event in enumerate(log.events(), 1):  # noqa: B007 - the count is the answer
        if as_csv:
            table.writerow([_cell(event.get(name, "")) for name in COLUMNS])
        else:
            file.write(json.dumps(event, separators=(",", ":"), ensure_ascii=file.isatty()) + "\n")
    return count


def _cell(value: object) -> str:
    text = answers.plain(str(value))
    return f"'{text}" if text.startswith(FORMULA) else text
