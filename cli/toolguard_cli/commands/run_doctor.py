"""`toolguard doctor`: checks that the guard works. `--fix` repairs what is safe to repair; `--live` proves it
on a temporary gateway."""

from __future__ import annotations

import faulthandler
import shlex
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import asdict, dataclass, replace
from typing import Annotated, Any

import msgspec
import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.doctor import guard_verdict
from toolguard_cli.doctor.check_list import TABLE, ListedCheck
from toolguard_cli.doctor.check_types import Check, DoctorSubject, Fix, Guards, Status
from toolguard_cli.hostconfig import config_tree, env_vars
from toolguard_cli.person import require_human
from toolguard_cli.setup import install_record
from toolguard_cli.setup.plugin_entry import ENTRY
from toolguard_cli.system import subprocesses
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm as asking
from toolguard_cli.terminal import progress, tables
from toolguard_cli.terminal.result import MARK, Line, Result
from toolguard_engine.config import settings
from toolguard_engine.stores import decode_first
from toolguard_engine.stores.locked import StoreError

AT_ONCE = 4
"""Checks that run at the same time."""
SLOW = frozenset({"hook-order", "whole-config"})
"""They ask OpenClaw, so they begin first."""
LIVE = "live"
"""The group of the checks on a temporary gateway. They are always shown: `--live` asks for this proof."""
TICK = 0.1
_KINDS: dict[Guards, Status] = {
    "yes": "ok", "installed": "ok", "unknown": "warn", "partly": "warn", "observes": "warn", "no": "error",
}  # fmt: skip
_GROUP, _ID = max(len(row.group) for row in TABLE), max(len(row.id) for row in TABLE)

app = command_app()


@command(app, "toolguard doctor", "toolguard doctor -v", "toolguard doctor --fix", "toolguard doctor --live")
def doctor(
    places: Places,
    *,
    everything: Annotated[bool, typer.Option("-v", "--verbose", "--all", help="Also show the checks that passed.")] = False,
    fix: Annotated[bool, typer.Option("--fix", help="Repair what can be repaired without losing anything.")] = False,
    yes: Annotated[bool, typer.Option("-y", "--yes", help="With --fix: do not ask.")] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="With --fix: show what would be done; write nothing.")] = False,
    live: Annotated[
        bool, typer.Option("--live", help="Also test the guard on a temporary gateway with a scripted model.")
    ] = False,
    as_json: bool = False,
) -> Result:
    """Check that the guard works.

    Each problem is shown with its fix; -v shows all checks. The last line says GUARDED, partly guarded, OBSERVING or NOT
    guarded. OBSERVING means shadow mode: calls are judged and logged, but never held or blocked. The exit code is 1 if any
    check fails or the last line says NOT guarded, and 0 otherwise, even if there are warnings. Asking OpenClaw for its hooks
    takes a few seconds.

    GUARDED means that the running gateway has loaded this version with these settings. The last line says INSTALLED if
    no gateway is running, and unproven if something could not be checked.

    --fix shows what it would repair, asks for confirmation, and then checks again. --live starts your version of
    OpenClaw in a temporary folder, without your settings and with a scripted model only; it takes up to a minute.
    """
    if (yes or dry_run) and not fix:
        raise typer.BadParameter("only has an effect with --fix", param_hint="--yes" if yes else "--dry-run")
    if sys.__stderr__ and not faulthandler.is_enabled():
        faulthandler.enable(sys.__stderr__)
    return run(places, fix=fix, yes=yes, dry_run=dry_run, live=live, everything=everything, as_json=as_json)


@dataclass(frozen=True)
class CheckReport:
    row: ListedCheck
    check: Check
    steps: list[Fix]

    @property
    def data(self) -> dict[str, Any]:
        return {**asdict(self.check), "group": self.row.group, "fixable": bool(self.steps)}


@dataclass(frozen=True)
class Repair:
    """An attempted repair. `problem`: why it failed; `note`: what is left to do."""

    words: str
    note: str = ""
    problem: str = ""


def run(  # noqa: PLR0913 - as above
    places: Places,
    *,
    openclaw: tuple[str, ...] | None = None,
    fix: bool = False,
    yes: bool = False,
    dry_run: bool = False,
    live: bool = False,
    everything: bool = True,
    as_json: bool = False,
) -> Result:
    """Exit code 1 if any check is an error or nothing is guarded.

    `openclaw`: the command that runs OpenClaw; by default the one on PATH. `everything`: the lines name passed checks too.
    """
    if fix and not dry_run:
        require_human.refuse(places, "doctor --fix")
    program = _found() if openclaw is None else openclaw
    subject = replace(look(places), openclaw=program)
    if live and not as_json:
        print("running the other checks first; the live check takes up to a minute", file=sys.stderr, flush=True)  # noqa: T201
    seen = examine(subject)
    planned = list({step.words: step for report in seen for step in report.steps}.values()) if fix else []
    again = shlex.join(["toolguard", "doctor", "--fix", *places.given])
    if not planned:
        return _result([*seen, *_proved(subject, live=live, as_json=as_json)], again, fix=fix, everything=everything)
    words = [step.words for step in planned]
    if dry_run or not (yes or asking.confirm(words, "Make these repairs?", as_json=as_json, what="the repairs")):
        return _result(
            [*seen, *_proved(subject, live=live, as_json=as_json)], again, fix=fix, everything=everything, planned=words
        )
    repairs = [_repaired(step) for step in planned]
    subject = replace(look(places), openclaw=program)
    seen = [*examine(subject), *_proved(subject, live=live, as_json=as_json)]
    return _result(seen, again, fix=fix, everything=everything, repairs=repairs)


def _found() -> tuple[str, ...]:
    program = shutil.which("openclaw")
    return (program,) if program else ()


def look(places: Places) -> DoctorSubject:
    """The installation at these places, as far as it can be read."""
    known = _record(places)
    try:
        tree = config_tree.read(places.config)
    except UserError as error:
        return DoctorSubject(places, None, known, error.message)
    try:
        own = settings.parse(env_vars.filled(tree.get(*ENTRY, "config")))
    except msgspec.ValidationError:
        own = settings.Config()  # `settings` reports it
    return DoctorSubject(places, tree, known, settings=own)


def _record(places: Places) -> install_record.Record | None:
    try:
        return install_record.load(places.record)
    except UserError:
        return None  # the interpreter is then searched for elsewhere, as the gateway part does


def examine(subject: DoctorSubject) -> list[CheckReport]:
    """All checks, several at the same time, in the order of the table."""
    with subprocesses.interruptible(), progress.reporting() as report:
        futures = _run_checks(subject, report)
    checks = [(row, futures[row].result()) for row in TABLE]
    return [CheckReport(row, check, row.fixes(subject) if check.status != "ok" else []) for row, check in checks]


def _run_checks(subject: DoctorSubject, report: progress.Report) -> dict[ListedCheck, Future[Check]]:
    """An interrupt also ends every program that a check waits for, because threads receive no signals."""
    decode_first.read()  # checks in several threads decode the same types
    pool = ThreadPoolExecutor(AT_ONCE)
    try:
        futures = {row: pool.submit(row.checked, subject) for row in sorted(TABLE, key=lambda row: row.id not in SLOW)}
        _wait(futures, report)
    except BaseException:
        subprocesses.end_all()
        pool.shutdown(wait=False, cancel_futures=True)
        raise
    pool.shutdown()
    return futures


def _wait(futures: dict[ListedCheck, Future[Check]], report: progress.Report) -> None:
    while left := [row.id for row, future in futures.items() if not future.done()]:
        what = "asking OpenClaw" if SLOW.issuperset(left) else "checking"
        report(what, len(futures) - len(left), len(futures))
        wait(futures.values(), TICK)


def _proved(subject: DoctorSubject, *, live: bool, as_json: bool) -> list[CheckReport]:
    """The checks on a temporary gateway; empty without `--live`."""
    if not live:
        return []
    from toolguard_cli.doctor.live import prove  # noqa: PLC0415 - it imports the whole rig

    report = (lambda _: None) if as_json else progress.Steps()
    checks = prove(subject.openclaw, subject.places, subject.settings, report)
    return [_as_found(check) for check in checks]


def _as_found(check: Check) -> CheckReport:
    return CheckReport(ListedCheck(LIVE, check.id, lambda _: check), check, [])


def _repaired(step: Fix) -> Repair:
    try:
        return Repair(step.words, note=step.perform())
    except (UserError, StoreError, OSError) as error:
        return Repair(step.words, problem=str(error))


def _result(
    seen: list[CheckReport],
    again: str,
    *,
    fix: bool,
    everything: bool,
    planned: Sequence[str] = (),
    repairs: Sequence[Repair] = (),
) -> Result:
    """`again`: the command that repairs; `planned`: repairs that were not made."""
    checks = [report.check for report in seen]
    shown = [report for report in seen if everything or report.check.status != "ok" or report.row.group == LIVE]
    verdict = guard_verdict.draw(checks)
    failed = verdict.guarded == "no" or any(check.status == "error" for check in checks)
    lines = [
        *(line for repair in repairs for line in _repair_lines(repair)),
        *(line for number, report in enumerate(shown) for line in _lines(report, first=_opens(shown, number))),
        *(Line("info", f"would repair: {words}") for words in planned),
        *_summary(seen, "" if fix else again, hidden=len(seen) - len(shown)),
        *_unchanged(seen, planned, fix=fix),
        Line("error" if failed else _KINDS[verdict.guarded], verdict.words),
    ]
    why = [check.id for check in verdict.why]
    data: dict[str, Any] = {"checks": [report.data for report in seen], "verdict": {"guarded": verdict.guarded, "why": why}}
    if fix:
        data |= {"planned": list(planned), "repairs": [asdict(repair) for repair in repairs]}
    return Result("doctor", data, tuple(lines), int(failed))


def _repair_lines(repair: Repair) -> Iterator[Line]:
    if repair.problem:
        yield Line("error", f"not repaired: {repair.words}: {repair.problem}")
        return
    yield Line("ok", f"repaired: {repair.words}")
    if repair.note:
        yield Line("info", f"-> {repair.note}")


def _opens(seen: list[CheckReport], number: int) -> bool:
    return number == 0 or seen[number - 1].row.group != seen[number].row.group


def _lines(report: CheckReport, *, first: bool) -> Iterator[Line]:
    """The group is named at its first check only."""
    check, indent = report.check, " " * (_GROUP + _ID + 2)
    texts = check.detail.split("\n")
    if sys.stdout.isatty():
        room = tables.width() - MARK - len(indent)
        if room < tables.NARROW:
            yield Line(check.status, f"{check.id}: {texts[0]}")
            yield from (Line("info", text) for text in (*texts[1:], *([f"-> {check.fix}"] if check.fix else [])))
            return
        texts = [line for text in texts for line in tables.folded(text, room)]
    detail = f"\n{indent}{' ' * MARK}".join(texts)
    yield Line(check.status, f"{report.row.group if first else '':<{_GROUP}} {check.id:<{_ID}} {detail}")
    if check.fix:
        yield Line("info", f"{indent}-> {check.fix}")


def _summary(seen: list[CheckReport], again: str, *, hidden: int) -> Iterator[Line]:
    errors = sum(report.check.status == "error" for report in seen)
    warnings = sum(report.check.status == "warn" for report in seen)
    more = " (-v shows them)" if hidden else ""
    if not errors and not warnings:
        yield Line("info", f"all {len(seen)} checks passed{more}")
        return
    passed = f"{len(seen) - errors - warnings} passed{more}"
    yield Line("info", f"{len(seen)} checks: {_many(errors, 'error')}, {_many(warnings, 'warning')}, {passed}")
    if again and (fixable := sum(bool(report.steps) for report in seen)):
        yield Line("next", f"{again} (shows what it would do; can repair {fixable} of them)")


def _unchanged(seen: list[CheckReport], planned: Sequence[str], *, fix: bool) -> Iterator[Line]:
    if planned:
        yield Line("info", "nothing was changed")
    elif fix and any(report.check.status != "ok" for report in seen) and not any(report.steps for report in seen):
        yield Line("info", "--fix cannot repair any of these; the lines that start with -> say what to do")


def _many(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
