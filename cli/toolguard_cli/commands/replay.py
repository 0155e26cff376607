"""`toolguard replay`: judges past calls with the current settings. Reads only."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.policy import offline_guard, transcripts
from toolguard_cli.policy.offline_guard import Judging
from toolguard_cli.policy.transcripts import KeptCall, TranscriptSource
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import progress, tables
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.wording import approval, printable

if TYPE_CHECKING:
    from toolguard_engine.rules.judgement import Judgement

RULES = ("RULE", "HELD", "BLOCKED", "EXAMPLE")
FILES = ("CALLS", "HELD", "BLOCKED", "FILE")
MAX_FILES = 20
MAX_EXAMPLE = 2_000
REPORT_EVERY = 50
"""Calls between two progress reports."""

Seen = Callable[[KeptCall, "Judgement"], None]

app = command_app()


@dataclass
class Counts:
    allow: int = 0
    hold: int = 0
    block: int = 0

    @property
    def calls(self) -> int:
        return self.allow + self.hold + self.block

    def add(self, decision: str) -> None:
        setattr(self, decision, getattr(self, decision) + 1)

    def public(self) -> dict[str, int]:
        return {"calls": self.calls, "allow": self.allow, "hold": self.hold, "block": self.block}


@dataclass
class ByRule:
    example: str
    where: str
    reason: str
    counts: Counts = field(default_factory=Counts)


@dataclass
class ReplayReport:
    counts: Counts = field(default_factory=Counts)
    rules: dict[str, ByRule] = field(default_factory=dict)
    files: list[tuple[TranscriptSource, Counts]] = field(default_factory=list)
    cut: int = 0
    """Calls that were not stored completely."""


@command(
    app,
    "toolguard replay",
    "toolguard replay ~/.openclaw/agents/main/sessions/*.jsonl",
    "toolguard replay ~/.openclaw/toolguard/audit.jsonl --json",
)
def run(
    places: Places,
    files: Annotated[
        list[Path] | None, typer.Argument(metavar="FILE", help="Transcripts, folders or logs.", show_default=False)
    ] = None,
) -> Result:
    """Show what would have been held in past sessions.

    Judges every tool call in OpenClaw's transcripts (JSON lines or openclaw-agent.sqlite), the audit log or the log of
    malformed calls with the current settings and rules. Nothing runs and nothing is changed. Without FILE, reads all
    sessions of the gateway.
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
        for source, kept, found in each(judged, sources, report, progressed):
            _count(report, source, kept, found)
    return _result(report, judged, places)


def each(
    judged: Judging, sources: list[TranscriptSource], report: ReplayReport, progressed: progress.Report
) -> Iterator[tuple[TranscriptSource, KeptCall, Judgement]]:
    """Every call with its judgement; adds the counts by file to the report."""
    before, whole = 0, sum(source.size for source in sources) or 1
    for source in sources:
        size, counts = source.size, Counts()
        report.files.append((source, counts))
        for number, kept in enumerate(source.calls()):
            found = judged.weigh(kept.call)
            counts.add(found.decision)
            report.counts.add(found.decision)
            report.cut += not kept.whole
            if number % REPORT_EVERY == 0:
                progressed(f"{printable.cut(source.path.name, 30)}", before + size * source.done / (source.size or 1), whole)
            yield source, kept, found
        before += size


def _count(report: ReplayReport, source: TranscriptSource, kept: KeptCall, found: Judgement) -> None:
    if found.decision == "allow":
        return
    name = offline_guard.cause(found)
    known = report.rules.get(name)
    if known is None:
        shown = printable.plain(approval.shown(kept.call))[:MAX_EXAMPLE]
        known = report.rules[name] = ByRule(shown, f"{source.path}:{kept.line}", found.reason)
    known.counts.add(found.decision)


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
        "basis": judged.basis.public(),
    }
    lines = [_totals(report), *_by_rule(rules), *_by_file(report.files), *_notes(report, damaged, packed)]
    lines.append(Line("info", f"({judged.basis.words()})"))
    if rules:
        where = f" {shlex.join(places.given)}" if places.given else ""
        why, spare = f"toolguard check{where} 'COMMAND' shows why", f"toolguard tune{where} finds what you always approve"
        lines.append(Line("next", f"{why}; {spare}"))
    return Result("replay", data, tuple(lines), 0 if report.counts.calls else 1)


def _rule(name: str, rule: ByRule) -> dict[str, Any]:
    example = {"example": rule.example, "where": rule.where, "reason": rule.reason}
    return {"rule": name, "hold": rule.counts.hold, "block": rule.counts.block, **example}


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
    found = [(source, counts) for source, counts in files if counts.hold or counts.block]
    found.sort(key=lambda item: -(item[1].hold + item[1].block))
    rows = [(str(c.calls), str(c.hold), str(c.block), str(source.path)) for source, c in found[:MAX_FILES]]
    hidden = len(found) - MAX_FILES
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
    if report.cut:
        yield Line(
            "warn",
            f"{report.cut} calls were not stored completely (secrets removed, long values cut); "
            "only the rest of each was judged",
        )
    for source, _ in report.files:
        if source.error:
            yield Line("warn", printable.plain(f"{source.path}: {source.error}"))
