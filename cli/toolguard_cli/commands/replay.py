"""`toolguard replay`: calls that were made once, judged as they would be now. Reads only."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from toolguard_cli import judging, progress, tables, transcripts
from toolguard_cli.errors import UserError
from toolguard_cli.judging import Judging
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_cli.transcripts import Kept, Source
from toolguard_engine import answers, approval_texts

if TYPE_CHECKING:
    from toolguard_engine.judgement import Judgement

RULES = ("RULE", "HELD", "BLOCKED", "EXAMPLE")
FILES = ("CALLS", "HELD", "BLOCKED", "FILE")
MAX_FILES = 20
MAX_EXAMPLE = 2_000
LOOK_EVERY = 50
"""Calls between two looks at the clock."""

Seen = Callable[[Kept, "Judgement"], None]


@dataclass
class Counts:
    """So many calls of each verdict."""

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
    """What one rule did; the first call is the example."""

    example: str
    where: str
    reason: str
    counts: Counts = field(default_factory=Counts)


@dataclass
class Report:
    """What came of all files."""

    counts: Counts = field(default_factory=Counts)
    rules: dict[str, ByRule] = field(default_factory=dict)
    files: list[tuple[Source, Counts]] = field(default_factory=list)
    cut: int = 0
    """Calls of which not all was kept."""


def run(places: Places, files: list[Path]) -> Result:
    chosen = transcripts.named(files) if files else transcripts.within(places.state_dir / "agents")
    if not chosen:
        raise UserError(
            f"there is no transcript below {places.state_dir / 'agents'}",
            "name files or a folder: toolguard replay FILE..., or another gateway with --state-dir",
        )
    judged = judging.load(places)
    report = Report()
    sources = [Source(path) for path in chosen]
    with progress.told() as tell:
        for source, kept, found in each(judged, sources, report, tell):
            _count(report, source, kept, found)
    return _result(report, judged, places)


def each(
    judged: Judging, sources: list[Source], report: Report, tell: progress.Tell
) -> Iterator[tuple[Source, Kept, Judgement]]:
    """Every call with its judgement; the sums by file go into the report."""
    before, whole = 0, sum(source.size for source in sources) or 1
    for source in sources:
        size, counts = source.size, Counts()
        report.files.append((source, counts))
        for number, kept in enumerate(source.calls()):
            found = judged.weigh(kept.call)
            counts.add(found.decision)
            report.counts.add(found.decision)
            report.cut += not kept.whole
            if number % LOOK_EVERY == 0:
                tell(f"{answers.cut(source.path.name, 30)}", before + size * source.done / (source.size or 1), whole)
            yield source, kept, found
        before += size


def _count(report: Report, source: Source, kept: Kept, found: Judgement) -> None:
    if found.decision == "allow":
        return
    name = judging.cause(found)
    known = report.rules.get(name)
    if known is None:
        shown = answers.plain(approval_texts.shown(kept.call))[:MAX_EXAMPLE]
        known = report.rules[name] = ByRule(shown, f"{source.path}:{kept.line}", found.reason)
    known.counts.add(found.decision)


def _result(report: Report, judged: Judging, places: Places) -> Result:
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
        why, spare = f"toolguard check{where} 'COMMAND' says why", f"toolguard tune{where} finds out what you always approve"
        lines.append(Line("next", f"{why}; {spare}"))
    return Result("replay", data, tuple(lines), 0 if report.counts.calls else 1)


def _rule(name: str, rule: ByRule) -> dict[str, Any]:
    said = {"example": rule.example, "where": rule.where, "reason": rule.reason}
    return {"rule": name, "hold": rule.counts.hold, "block": rule.counts.block, **said}


def _file(source: Source, counts: Counts) -> dict[str, Any]:
    state = {"damaged": source.damaged, "compressed": source.packed, "error": source.error or None}
    return {"file": str(source.path), **counts.public(), **state}


def _totals(report: Report) -> Line:
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
    return Line("ok", f"{of}: {counts.hold} would have been held, {counts.block} blocked ({share:.1f} %)")


def _by_rule(rules: list[tuple[str, ByRule]]) -> list[Line]:
    rows = [(name, str(rule.counts.hold), str(rule.counts.block), rule.example) for name, rule in rules]
    return tables.table(RULES, rows) if rows else []


def _by_file(files: list[tuple[Source, Counts]]) -> list[Line]:
    """Those in which something would have been stopped, where there are several; the others are in --json."""
    if len(files) == 1:
        return []
    found = [(source, counts) for source, counts in files if counts.hold or counts.block]
    found.sort(key=lambda item: -(item[1].hold + item[1].block))
    rows = [(str(c.calls), str(c.hold), str(c.block), str(source.path)) for source, c in found[:MAX_FILES]]
    more = [Line("info", f"... and {len(found) - MAX_FILES} more files (--json has all)")] if len(found) > MAX_FILES else []
    return [Line("info", ""), *tables.table(FILES, rows), *more] if rows else []


def _notes(report: Report, damaged: int, packed: int) -> Iterator[Line]:
    if damaged:
        first = next(str(source.path) for source, _ in report.files if source.damaged)
        yield Line("warn", answers.plain(f"{damaged} damaged lines were left out, the first in {first}"))
    if packed:
        yield Line(
            "warn",
            f"{packed} answers of the model are compressed and were left out: they are large, like a written file; "
            "with the package backports.zstd beside toolguard, or Python 3.14, they are read",
        )
    if report.cut:
        yield Line(
            "warn", f"{report.cut} calls were not kept whole (secrets taken out, long values cut): judged by what is left"
        )
    for source, _ in report.files:
        if source.error:
            yield Line("warn", answers.plain(f"{source.path}: {source.error}"))
