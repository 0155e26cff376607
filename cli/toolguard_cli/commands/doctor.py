"""`toolguard doctor`: one look that tells whether the guard really guards; `--fix` mends what is safe to mend, `--live`
proves it on a throw-away gateway."""

from __future__ import annotations

import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from typing import Any

import msgspec

from toolguard_cli import asking, children, configtree, configvars, inside, progress
from toolguard_cli.checks import verdict
from toolguard_cli.checks.check import Check, Status, Step, Subject
from toolguard_cli.checks.table import TABLE, Row
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_cli.setup import record
from toolguard_cli.setup.entry import ENTRY
from toolguard_engine import config as settings
from toolguard_engine.stores.locked import StoreError

AT_ONCE = 4
"""Checks that run at the same time."""
SLOW = frozenset({"hook-order", "whole-config"})
"""They ask OpenClaw, so they begin first."""
TICK = 0.1
_KINDS: dict[verdict.Guards, Status] = {"yes": "ok", "partly": "warn", "no": "error"}
_GROUP, _ID = max(len(row.group) for row in TABLE), max(len(row.id) for row in TABLE)


@dataclass(frozen=True)
class Found:
    """What one check said, and what would mend it."""

    row: Row
    check: Check
    steps: list[Step]

    @property
    def data(self) -> dict[str, Any]:
        return {**asdict(self.check), "group": self.row.group, "fixable": bool(self.steps)}


@dataclass(frozen=True)
class Repair:
    """A repair that was tried. `problem`: why it failed; `note`: what else there is to do."""

    words: str
    note: str = ""
    problem: str = ""


def run(
    places: Places,
    *,
    openclaw: tuple[str, ...] | None = None,
    fix: bool = False,
    yes: bool = False,
    dry_run: bool = False,
    live: bool = False,
    as_json: bool = False,
) -> Result:
    """Exit code 1 where any check is an error. `openclaw`: the command that runs it, where it is not the one on PATH."""
    if fix and not dry_run:
        inside.refuse(places, "doctor --fix")
    program = _found() if openclaw is None else openclaw
    subject = replace(look(places), openclaw=program)
    if live and not as_json:
        print("the other checks run first; then the proof, which takes up to a minute", file=sys.stderr, flush=True)  # noqa: T201
    seen = examine(subject)
    planned = list({step.words: step for found in seen for step in found.steps}.values()) if fix else []
    again = shlex.join(["toolguard", "doctor", "--fix", *places.given])
    if not planned:
        return _result([*seen, *_proved(subject, live=live, as_json=as_json)], again, fix=fix)
    words = [step.words for step in planned]
    if dry_run or not (yes or asking.confirm(words, "make these repairs?", as_json=as_json, what="what would be repaired")):
        return _result([*seen, *_proved(subject, live=live, as_json=as_json)], again, fix=fix, planned=words)
    repairs = [_repaired(step) for step in planned]
    subject = replace(look(places), openclaw=program)
    return _result([*examine(subject), *_proved(subject, live=live, as_json=as_json)], again, fix=fix, repairs=repairs)


def _found() -> tuple[str, ...]:
    program = shutil.which("openclaw")
    return (program,) if program else ()


def look(places: Places) -> Subject:
    """The installation at these places, as far as it can be read."""
    known = _record(places)
    try:
        found = configtree.read(places.config)
    except UserError as error:
        return Subject(places, None, known, error.message)
    try:
        own = settings.parse(configvars.filled(found.get(*ENTRY, "config")))
    except msgspec.ValidationError:
        own = settings.Config()  # `settings` reports it
    return Subject(places, found, known, settings=own)


def _record(places: Places) -> record.Record | None:
    try:
        return record.load(places.record)
    except UserError:
        return None  # then the interpreter is looked for elsewhere, as the gateway part does


def examine(subject: Subject) -> list[Found]:
    """All checks, several at the same time, in the order of the table."""
    with children.interruptible(), progress.told() as tell:
        futures = _looked(subject, tell)
    checks = [(row, futures[row].result()) for row in TABLE]
    return [Found(row, check, row.steps(subject) if check.status != "ok" else []) for row, check in checks]


def _looked(subject: Subject, tell: progress.Tell) -> dict[Row, Future[Check]]:
    """Ended by whatever interrupts it, with every program that a check waits for: the threads hear of no signal."""
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        futures = {row: pool.submit(row.checked, subject) for row in sorted(TABLE, key=lambda row: row.id not in SLOW)}
        _wait(futures, tell)
    except BaseException:
        children.end_all()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return futures


def _wait(futures: dict[Row, Future[Check]], tell: progress.Tell) -> None:
    while left := [row.id for row, future in futures.items() if not future.done()]:
        what = "asking OpenClaw" if SLOW.issuperset(left) else "looking"
        tell(what, len(futures) - len(left), len(futures))
        wait(futures.values(), TICK)


def _proved(subject: Subject, *, live: bool, as_json: bool) -> list[Found]:
    """What a throw-away gateway shows; nothing where nobody wants to know."""
    if not live:
        return []
    from toolguard_cli.live import prove  # noqa: PLC0415 - it brings the whole stage along

    tell = (lambda _: None) if as_json else progress.Steps()
    checks = prove(subject.openclaw, subject.places, subject.settings, tell)
    return [_as_found(check) for check in checks]


def _as_found(check: Check) -> Found:
    return Found(Row("live", check.id, lambda _: check), check, [])


def _repaired(step: Step) -> Repair:
    try:
        return Repair(step.words, note=step.perform())
    except (UserError, StoreError, OSError) as error:
        return Repair(step.words, problem=str(error))


def _result(
    seen: list[Found], again: str, *, fix: bool, planned: Sequence[str] = (), repairs: Sequence[Repair] = ()
) -> Result:
    """`again`: the command that repairs; `planned`: what it would do and did not."""
    checks = [found.check for found in seen]
    told = verdict.of(checks)
    lines = [
        *(line for repair in repairs for line in _told(repair)),
        *(line for number, found in enumerate(seen) for line in _lines(found, first=_opens(seen, number))),
        *(Line("info", f"would repair: {words}") for words in planned),
        *_summary(seen, "" if fix else again),
        *_unchanged(seen, planned, fix=fix),
        Line(_KINDS[told.guarded], told.words),
    ]
    why = [check.id for check in told.why]
    data: dict[str, Any] = {"checks": [found.data for found in seen], "verdict": {"guarded": told.guarded, "why": why}}
    if fix:
        data |= {"planned": list(planned), "repairs": [asdict(repair) for repair in repairs]}
    return Result("doctor", data, tuple(lines), int(any(check.status == "error" for check in checks)))


def _told(repair: Repair) -> Iterator[Line]:
    if repair.problem:
        yield Line("error", f"not repaired: {repair.words}: {repair.problem}")
        return
    yield Line("ok", f"repaired: {repair.words}")
    if repair.note:
        yield Line("info", f"-> {repair.note}")


def _opens(seen: list[Found], number: int) -> bool:
    return number == 0 or seen[number - 1].row.group != seen[number].row.group


def _lines(found: Found, *, first: bool) -> Iterator[Line]:
    """One line, or more where it has something to show; the group stands at its first check."""
    check, indent = found.check, " " * (_GROUP + _ID + 2)
    detail = check.detail.replace("\n", f"\n{indent}       ")
    yield Line(check.status, f"{found.row.group if first else '':<{_GROUP}} {check.id:<{_ID}} {detail}")
    if check.fix:
        yield Line("info", f"{indent}-> {check.fix}")


def _summary(seen: list[Found], again: str) -> Iterator[Line]:
    errors = sum(found.check.status == "error" for found in seen)
    warnings = sum(found.check.status == "warn" for found in seen)
    if not errors and not warnings:
        yield Line("info", f"all {len(seen)} checks passed")
        return
    yield Line("info", f"{len(seen)} checks: {_many(errors, 'error')}, {_many(warnings, 'warning')}")
    if again and (mendable := sum(bool(found.steps) for found in seen)):
        yield Line("next", f"{again} (it shows what it would do; {mendable} of them it can mend)")


def _unchanged(seen: list[Found], planned: Sequence[str], *, fix: bool) -> Iterator[Line]:
    """Why `--fix` did nothing, or not more."""
    if planned:
        yield Line("info", "nothing was changed")
    elif fix and any(found.check.status != "ok" for found in seen) and not any(found.steps for found in seen):
        yield Line("info", "none of this can be repaired by --fix: each -> says what to do")


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
