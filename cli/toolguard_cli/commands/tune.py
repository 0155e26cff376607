"""`toolguard tune`: finds calls that are always approved, and what would avoid the prompts. Changes nothing."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import typer

from toolguard_cli.approvals import narrow_grant
from toolguard_cli.commands.command_options import command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.policy import offline_guard, replay_report, transcripts, tuning
from toolguard_cli.policy.replay_report import ReplayReport
from toolguard_cli.policy.tuning import Advice, RuleTally
from toolguard_cli.system import time_spans
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import progress, tables
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.stores import open as stores
from toolguard_engine.wording import printable

HEAD = ("RULE", "ASKED", "YES", "NO", "EXPIRED", "MEDIAN", "EXAMPLE")
LASTS = "30d"
MAX_SHOWN = 20

app = command_app()


@command(app, "toolguard tune", "toolguard tune --since 90d --with ~/.openclaw/agents", "toolguard tune --json")
def run(
    places: Places,
    *,
    since: Annotated[str, typer.Option("--since", help="How far to look back: 12h, 30d, 8w.")] = "30d",
    at_least: Annotated[
        int, typer.Option("--at-least", min=1, help="Only rules whose calls were approved at least this many times.")
    ] = 3,
    replayed: Annotated[
        list[Path] | None,
        typer.Option(
            "--with", metavar="FILE", help="Also count what would be allowed in these transcripts, or folders of them."
        ),
    ] = None,
) -> Result:
    """Find calls you always approve, and ways to avoid the prompts.

    Reads from the audit log how often each rule held a call, what you answered and how fast. For rules whose calls you
    always approved, suggests the grant or the threshold that would have avoided those prompts, and counts what else it
    would have allowed. Nothing is changed: run the suggested commands that you agree with.
    """
    after = time.time() - time_spans.seconds(since, "--since")
    judged = offline_guard.load(places)
    with gateway_stores.user_errors():
        asked = tuning.asked(stores.audit_log(places.state_dir).events(), after)
    tallies = tuning.tallies(asked)
    advice = [advised for tally in tallies if (advised := tuning.advise(tally, asked, judged, at_least))]
    tuning.weigh_against(advice, asked, judged)
    report = _replay(places, advice, judged, replayed or [])
    lines = [*_head(asked, since, places), *_table(tallies)]
    for advised in advice:
        lines += _advice(advised, len(asked), report, places)
    if asked and not advice:
        none = f"no rule's calls were approved {at_least} times or more without a denial: nothing to suggest yet"
        lines.append(Line("info", none))
    if any(advised_of.grants or advised_of.threshold for advised_of in advice):
        lines.append(
            Line("info", "nothing was changed; run the commands that you agree with; toolguard grants lists your grants")
        )
    data = {
        "since": since,
        "asked": len(asked),
        "rules": [_public(tally) for tally in tallies],
        "advice": [_advice_data(advised_of, report, places) for advised_of in advice],
        "replayed": report.counts.calls if report else None,
        "basis": judged.basis.public(),
    }
    return Result("tune", data, tuple(lines))


def _replay(places: Places, advice: list[Advice], judged: offline_guard.Judging, files: list[Path]) -> ReplayReport | None:
    """What each grant and threshold would have allowed in the past calls of these files."""
    if not files:
        return None
    report = ReplayReport()
    sources = [transcripts.TranscriptSource(path) for path in transcripts.named(files)]
    with progress.reporting() as progressed:
        for played in replay_report.replayed(places, judged, sources, report, progressed):
            if played.decision == "hold":
                score = judged.weigh_bare(played.call).score
                for advised in advice:
                    advised.see(played.call, score, judged.config_for(played.call.agent).escalation_threshold)
    return report


def _head(asked: list[tuning.HeldQuestion], since: str, places: Places) -> Iterator[Line]:
    if not asked:
        yield Line("info", f"the audit log has no held calls from the last {since}")
        replayed = shlex.join(["toolguard", "replay", *places.given])
        yield Line("next", f"{replayed} shows what would have been held in your transcripts; --since 90d goes further back")
        return
    yes = sum(question.answer == "yes" for question in asked)
    yield Line("ok", f"{len(asked)} calls were held in the last {since}; {yes} were approved")


def _table(tallies: list[RuleTally]) -> list[Line]:
    rows = [
        (
            tally.rule,
            str(len(tally.asked)),
            str(tally.count("yes")),
            str(tally.count("no")),
            str(tally.count("expired")),
            printable.duration(tally.median) if tally.median is not None else "-",
            tally.asked[0].shown,
        )
        for tally in tallies[:MAX_SHOWN]
    ]
    more = [Line("info", f"... and {len(tallies) - MAX_SHOWN} more rules (--json)")] if len(tallies) > MAX_SHOWN else []
    return [*tables.table(HEAD, rows), *more] if rows else []


def _advice(advice: Advice, asked: int, report: ReplayReport | None, places: Places) -> Iterator[Line]:
    tally = advice.tally
    yield Line("info", "")
    yield Line("ok", f"{tally.rule}: always approved, {tally.count('yes')} times")
    if not advice.grants and not advice.threshold:
        yield Line("info", f"no grant fits: {advice.why}")
    for option in advice.grants:
        yield Line("next", narrow_grant.command(option.grant, LASTS, places.given))
        yield Line("info", f"      avoids {option.spared} of {asked} prompts{_else(option.others, report)}")
    if advice.threshold and advice.score:
        others = advice.score.others
        yield Line("info", f'      a wider setting: "escalationThreshold": {advice.threshold} in the settings')
        avoided = f"      avoids {advice.score.spared} of {asked} prompts{_else(others, report)}"
        yield Line("warn" if others.denied else "info", avoided)


def _else(others: tuning.Others, report: ReplayReport | None) -> str:
    calls = f"{others.count} other call{'' if others.count == 1 else 's'}"
    denied = f", {others.denied} of which you denied" if others.denied else ""
    example = f", like {printable.cut(others.example, 80)}" if others.example else ""
    what = f"; would also have allowed {calls}{denied}{example}" if others.count else "; allows nothing else"
    return what + (f"; {others.replayed} of {report.counts.calls} replayed calls" if report else "")


def _public(tally: RuleTally) -> dict[str, Any]:
    counts = {name: tally.count(name) for name in ("yes", "no", "expired", "waiting")}
    return {"rule": tally.rule, "asked": len(tally.asked), **counts, "medianSeconds": tally.median}


def _advice_data(advice: Advice, report: ReplayReport | None, places: Places) -> dict[str, Any]:
    options: list[dict[str, Any]] = [
        {
            "grant": narrow_grant.command(o.grant, LASTS, places.given),
            "spares": o.spared,
            "others": o.others.public(report is not None),
        }
        for o in advice.grants
    ]
    if advice.threshold and advice.score:
        others = advice.score.others.public(report is not None)
        options.append({"escalationThreshold": advice.threshold, "spares": advice.score.spared, "others": others})
    return {"rule": advice.tally.rule, "approved": advice.tally.count("yes"), "why": advice.why or None, "options": options}
