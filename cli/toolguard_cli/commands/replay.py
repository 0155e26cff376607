"""`toolguard replay`: judges past calls with the current settings. Reads only."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from toolguard_cli.approvals import narrow_grant
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.policy import offline_guard, replay_report, transcripts
from toolguard_cli.policy.offline_guard import Judging
from toolguard_cli.policy.played_sessions import PlayedCall
from toolguard_cli.policy.replay_report import ByRule, BySession, Counts, ReplayReport
from toolguard_cli.policy.transcripts import TranscriptSource
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import progress, tables
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.wording import approval, printable

RULES = ("RULE", "HELD", "BLOCKED", "EXAMPLE")
FILES = ("CALLS", "HELD", "BLOCKED", "FILE")
CALLS = ("LINE", "VERDICT", "RULE", "CALL")
MAX_FILES = 20
MAX_SESSIONS = 20
MAX_CALLS = 20
"""Calls of a session that are listed; `--calls` lists all."""
MAX_SHOWN = 300
MAX_GRANTS = 5
LASTS = "7d"

app = command_app()


@command(
    app,
    "toolguard replay",
    "toolguard replay --calls ~/.openclaw/agents/main/sessions/*.jsonl",
    "toolguard replay ~/.openclaw/toolguard/audit.jsonl --json",
)
def run(
    places: Places,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="Transcripts, folders or logs.", show_default=False)
    ] = None,
    *,
    calls: Annotated[bool, typer.Option("--calls", help="List every call, also those that are allowed.")] = False,
) -> Result:
    """Show what would have been held in past sessions.

    Plays OpenClaw's transcripts (JSON lines or openclaw-agent.sqlite) to an engine of its own with the current settings and
    rules, as the gateway would have asked it: with what the agent had read before, the files that it had made, and what it
    had spent. A call that ran counts as approved. Calls of the audit log or the log of malformed calls are judged one by
    one.
    Nothing runs and nothing is changed. Without FILE, reads all sessions of the gateway.
    """
    chosen = transcripts.named(files) if files else transcripts.within(places.state_dir / "agents")
    if not chosen:
        raise UserError(
            f"there are no transcripts below {places.state_dir / 'agents'}",
            "name files or a folder: toolguard replay FILE..., or another gateway with --state-dir",
        )
    judged = offline_guard.load(places)
    report = ReplayReport()
    sources = [TranscriptSource(path) for path in chosen]
    with progress.reporting() as progressed:
        for _ in replay_report.replayed(places, judged, sources, report, progressed, every=calls):
            pass
    return _result(report, judged, places)


def _result(report: ReplayReport, judged: Judging, places: Places) -> Result:
    rules = sorted(report.rules.items(), key=lambda item: -item[1].counts.calls)
    damaged = sum(source.damaged for source, _ in report.files)
    packed = sum(source.packed for source, _ in report.files)
    data = {
        **report.counts.public(),
        "damaged": damaged,
        "compressed": packed,
        "incomplete": report.cut,
        "rules": [_rule(name, rule) for name, rule in rules],
        "files": [_file(source, counts) for source, counts in report.files],
        "sessions": [_session(session) for session in report.sessions],
        "sessionsAsking": report.asking,
        "saved": {"session": report.saved, "for": report.repeated},
        "basis": judged.basis.public(),
    }
    lines = [_totals(report), *_questions(report), *_by_rule(rules), *_by_session(report), *_by_file(report.files)]
    lines += [*_answers(report, places), *_notes(report, damaged, packed)]
    lines.append(Line("info", f"({judged.basis.describe()})"))
    if rules:
        where = f" {shlex.join(places.given)}" if places.given else ""
        why, spare = f"toolguard check{where} 'COMMAND' shows why", f"toolguard tune{where} finds what you always approve"
        lines.append(Line("next", f"{why}; {spare}"))
    return Result("replay", data, tuple(lines), 0 if report.counts.calls else 1)


def _rule(name: str, rule: ByRule) -> dict[str, Any]:
    example = {"example": rule.example, "where": rule.where, "reason": rule.reason}
    return {"rule": name, "hold": rule.counts.hold, "block": rule.counts.block, **example}


def _session(session: BySession) -> dict[str, Any]:
    calls = [_call(call) for call in session.played]
    return {"file": str(session.source.path), "session": session.name, **session.counts.public(), "listed": calls}


def _call(played: PlayedCall) -> dict[str, Any]:
    shown = printable.cut(printable.plain(approval.shown(played.call)), MAX_SHOWN)
    verdict = {"verdict": played.decision, "rule": played.cause, "reason": played.reason, "question": played.is_question}
    return {"line": played.line, "call": shown, **verdict, "ran": played.ran}


def _questions(report: ReplayReport) -> Iterator[Line]:
    """How often a person would have been asked, and how often for nothing new."""
    asked, calls, sessions = report.counts.questions, report.counts.calls, len(report.sessions)
    if not asked:
        return
    rate = f"{100 * asked / calls:.1f} per 100 calls, {asked / sessions:.1f} per session"
    where = f"in {report.asking} of {sessions} session{'' if sessions == 1 else 's'}"
    yield Line("info", f"{asked} question{'' if asked == 1 else 's'} to you: {rate}, {where}")
    if report.saved:
        yield Line("info", f"{report.saved} of them would have been saved by an earlier answer with --session")


def _by_session(report: ReplayReport) -> Iterator[Line]:
    """The calls of each session that are not simply allowed, or all."""
    sessions = [played for played in report.sessions if played.played]
    for session in sessions[:MAX_SESSIONS]:
        yield Line("info", "")
        yield Line("info", printable.plain(f"session {session.name}: {session.counts.calls} calls ({session.source.path})"))
        is_all = len(session.played) == session.counts.calls
        shown = session.played if is_all else session.played[:MAX_CALLS]
        yield from tables.table(CALLS, (_row(call) for call in shown))
        if more := len(session.played) - len(shown):
            yield Line("info", f"... and {more} more calls (--calls or --json shows all)")
    if hidden := len(sessions) - MAX_SESSIONS if len(sessions) > MAX_SESSIONS else 0:
        yield Line("info", f"... and {hidden} more sessions (--json shows all)")


def _row(played: PlayedCall) -> tuple[str, ...]:
    again = "hold (asked before)" if played.decision == "hold" and not played.is_question else played.decision
    return str(played.line), again, played.cause, printable.cut(printable.plain(approval.shown(played.call)), MAX_SHOWN)


def _answers(report: ReplayReport, places: Places) -> Iterator[Line]:
    """Grants that `approve --for` would have given, for calls that asked more than once."""
    often = sorted(
        (grant for grant in report.grants.values() if grant.proposed and grant.asked > 1), key=lambda answer: -answer.asked
    )
    for often_asked in often[:MAX_GRANTS]:
        yield Line("next", narrow_grant.command(often_asked.grant, LASTS, places.given))
        yield Line("info", f"      this call asked {often_asked.asked} times")


def _file(source: TranscriptSource, counts: Counts) -> dict[str, Any]:
    state = {"damaged": source.damaged, "compressed": source.packed, "error": source.error or None}
    return {"file": str(source.path), **counts.public(), **state}


def _totals(report: ReplayReport) -> Line:
    counts, files = report.counts, len(report.files)
    of = f"{counts.calls} call{'' if counts.calls == 1 else 's'} in {files} file{'' if files == 1 else 's'}"
    if not counts.calls:
        return Line(
            "warn", f"no calls in {files} file{'' if files == 1 else 's'}: these are not transcripts, or no tool was called"
        )
    stopped = counts.hold + counts.block
    if not stopped:
        return Line("ok", f"{of}: none would have been held or blocked")
    share = 100 * stopped / counts.calls
    return Line("ok", f"{of}: {counts.hold} would have been held, {counts.block} blocked ({share:.1f}%)")


def _by_rule(rules: list[tuple[str, ByRule]]) -> list[Line]:
    rows = [(name, str(rule.counts.hold), str(rule.counts.block), rule.example) for name, rule in rules]
    return tables.table(RULES, rows) if rows else []


def _by_file(files: list[tuple[TranscriptSource, Counts]]) -> list[Line]:
    """The files with stopped calls, if there are several files; --json lists the others."""
    if len(files) == 1:
        return []
    stopped = [(source, counts) for source, counts in files if counts.hold or counts.block]
    stopped.sort(key=lambda item: -(item[1].hold + item[1].block))
    rows = [(str(c.calls), str(c.hold), str(c.block), str(source.path)) for source, c in stopped[:MAX_FILES]]
    hidden = len(stopped) - MAX_FILES
    more = [Line("info", f"... and {hidden} more files (--json shows all)")] if hidden > 0 else []
    return [Line("info", ""), *tables.table(FILES, rows), *more] if rows else []


def _notes(report: ReplayReport, damaged: int, packed: int) -> Iterator[Line]:
    if damaged:
        first = next(str(source.path) for source, _ in report.files if source.damaged)
        yield Line("warn", printable.plain(f"{damaged} damaged lines were skipped, the first in {first}"))
    if packed:
        yield Line(
            "warn",
            f"{packed} model replies were skipped because they are compressed, as large ones are; "
            "to read them, install the package backports.zstd next to toolguard or use Python 3.14",
        )
    if report.logged:
        yield Line("info", f"{report.logged} calls come from a log, which does not say what happened before them")
    if report.cut:
        yield Line(
            "warn",
            f"{report.cut} calls were not stored completely (secrets removed, long values cut); "
            "only the rest of each was judged",
        )
    for source, _ in report.files:
        if source.error:
            yield Line("warn", printable.plain(f"{source.path}: {source.error}"))
