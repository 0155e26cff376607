"""What a replay finds: verdicts by rule, file and session, the questions, and which answers would have saved others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import msgspec

from toolguard_cli.policy import destruction
from toolguard_cli.policy.offline_guard import Judging
from toolguard_cli.policy.played_sessions import PlayedCall, Player
from toolguard_cli.policy.transcript_steps import steps
from toolguard_cli.policy.transcripts import TranscriptSource
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import progress
from toolguard_engine.approvals import repeatable_calls, session_grant
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.approvals.session_grant_record import SessionGrant
from toolguard_engine.wording import approval, printable

MAX_EXAMPLE = 2_000
REPORT_EVERY = 50
"""Calls between two progress reports."""


@dataclass
class Counts:
    allow: int = 0
    hold: int = 0
    block: int = 0
    corrected: int = 0
    questions: int = 0

    @property
    def calls(self) -> int:
        return self.allow + self.hold + self.block + self.corrected

    def add(self, played: PlayedCall) -> None:
        setattr(self, played.decision, getattr(self, played.decision) + 1)
        self.questions += played.is_question

    def public(self) -> dict[str, int]:
        names = ("calls", "allow", "hold", "block", "corrected", "questions")
        return {name: getattr(self, name) for name in names}


@dataclass
class ByRule:
    example: str
    where: str
    reason: str
    counts: Counts = field(default_factory=Counts)


@dataclass
class BySession:
    """`played`: what was not simply allowed, or all; `answers`: those for the rest of this session."""

    source: TranscriptSource
    name: str
    counts: Counts = field(default_factory=Counts)
    played: list[PlayedCall] = field(default_factory=list)
    answers: list[SessionGrant] = field(default_factory=list)


@dataclass
class ByAnswer:
    """A grant for exactly one call, as `approve --for` gives it. `proposed`: nothing is for what destroys something;
    `asked`: how often that call asked."""

    grant: Grant
    proposed: bool
    asked: int = 0


@dataclass
class ReplayReport:
    """`saved`: questions that an answer for the rest of the session would have saved; `repeated`: those of calls that
    `approve --for` would have allowed before. `cut`: calls that were not stored completely."""

    counts: Counts = field(default_factory=Counts)
    rules: dict[str, ByRule] = field(default_factory=dict)
    files: list[tuple[TranscriptSource, Counts]] = field(default_factory=list)
    sessions: list[BySession] = field(default_factory=list)
    grants: dict[bytes, ByAnswer] = field(default_factory=dict)
    saved: int = 0
    cut: int = 0
    logged: int = 0

    @property
    def repeated(self) -> int:
        return sum(grant.asked - 1 for grant in self.grants.values())

    @property
    def asking(self) -> int:
        """Sessions in which somebody is asked."""
        return sum(session.counts.questions > 0 for session in self.sessions)


def replayed(
    places: Places, judged: Judging, sources: list[TranscriptSource], report: ReplayReport, progressed: progress.Report,
    *, every: bool = False,
) -> Iterator[PlayedCall]:  # fmt: skip
    """Every call, which the report then knows. `every`: it keeps those that are simply allowed too."""
    before, whole = 0, sum(source.size for source in sources) or 1
    player = Player(places, judged)
    try:
        for source in sources:
            size, counts = source.size, Counts()
            report.files.append((source, counts))
            known: dict[str, BySession] = {}
            for step in steps(source):
                for played in player.play(step):
                    counts.add(played)
                    _note(report, known, source, played, every=every)
                    report.logged += bool(step.logged)
                    if counts.calls % REPORT_EVERY == 1:
                        name = printable.cut(source.path.name, 30)
                        progressed(name, before + size * source.done / (source.size or 1), whole)
                    yield played
            before += size
    finally:
        player.close()


def _note(
    report: ReplayReport, known: dict[str, BySession], source: TranscriptSource, played: PlayedCall, *, every: bool
) -> None:
    report.counts.add(played)
    report.cut += not played.whole
    session = known.get(played.session)
    if session is None:
        session = known[played.session] = BySession(source, played.session)
        report.sessions.append(session)
    session.counts.add(played)
    if every or played.decision != "allow":
        session.played.append(played)
    if played.decision in ("hold", "block"):
        _by_rule(report, source, played)
    if played.is_question:
        _answers(report, session, played)


def _by_rule(report: ReplayReport, source: TranscriptSource, played: PlayedCall) -> None:
    known = report.rules.get(played.cause)
    if known is None:
        shown = printable.plain(approval.shown(played.call))[:MAX_EXAMPLE]
        known = report.rules[played.cause] = ByRule(shown, f"{source.path}:{played.line}", played.reason)
    known.counts.add(played)


def _answers(report: ReplayReport, session: BySession, played: PlayedCall) -> None:
    """Whether an earlier answer would have saved this question, and which answers this one could get."""
    entry = played.entry
    if entry is None:
        return
    now = entry.created
    if session_grant.covering(entry, session.answers, now):
        report.saved += 1
    elif given := session_grant.offer(entry).grant:
        session.answers.append(session_grant.draft(given, Decision("replay", "replay"), now))
    if narrow := repeatable_calls.narrow_grant(entry).grant:
        key = msgspec.json.encode(msgspec.structs.replace(narrow, bound=None), order="sorted")
        report.grants.setdefault(key, ByAnswer(narrow, not destruction.held_destroys(entry))).asked += 1
