"""`toolguard tune`: what the audit log says about one's own answers, and what would have spared them. Changes nothing."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from toolguard_cli import granting, judging, progress, stores, tables, transcripts, tuning
from toolguard_cli.commands import replay
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_cli.tuning import Advice, Tally
from toolguard_engine import answers
from toolguard_engine.stores.audit import AuditLog

HEAD = ("RULE", "ASKED", "YES", "NO", "EXPIRED", "MEDIAN", "EXAMPLE")
LASTS = "30d"
MAX_SHOWN = 20


def run(places: Places, *, since: str, at_least: int, replayed: list[Path]) -> Result:
    after = time.time() - tables.seconds(since)
    judged = judging.load(places)
    with stores.told():
        asked = tuning.asked(AuditLog(places.state_dir).events(), after)
    tallies = tuning.tallies(asked)
    advice = [found for tally in tallies if (found := tuning.advise(tally, asked, judged, at_least))]
    tuning.weigh_against(advice, asked, judged)
    report = _replay(advice, judged, replayed)
    lines = [*_head(asked, since, places), *_table(tallies)]
    for found in advice:
        lines += _advice(found, len(asked), report, places)
    if asked and not advice:
        lines.append(
            Line("info", f"no rule was approved {at_least} times or more without a single no: nothing to spare yet")
        )
    if any(found.grants or found.threshold for found in advice):
        lines.append(Line("info", "nothing was changed; run what you agree with, toolguard grants lists what you gave"))
    data = {
        "since": since,
        "asked": len(asked),
        "rules": [_public(tally) for tally in tallies],
        "advice": [_advice_data(found, report, places) for found in advice],
        "replayed": report.counts.calls if report else None,
        "basis": judged.basis.public(),
    }
    return Result("tune", data, tuple(lines))


def _replay(advice: list[Advice], judged: judging.Judging, files: list[Path]) -> replay.Report | None:
    """What each grant and threshold would have let through of calls that were made once."""
    if not files:
        return None
    report = replay.Report()
    sources = [transcripts.Source(path) for path in transcripts.named(files)]
    with progress.told() as tell:
        for _, kept, found in replay.each(judged, sources, report, tell):
            if found.decision == "hold":
                for each in advice:
                    each.see(kept.call, found.score, judged.config_for(kept.call.agent).escalation_threshold)
    return report


def _head(asked: list[tuning.Asked], since: str, places: Places) -> Iterator[Line]:
    if not asked:
        yield Line("info", f"the audit log has no call that a person was asked about in the last {since}")
        replayed = shlex.join(["toolguard", "replay", *places.given])
        yield Line("next", f"{replayed} shows what would have been held in your transcripts; --since 90d looks further back")
        return
    yes = sum(each.answer == "yes" for each in asked)
    yield Line("ok", f"{len(asked)} calls asked for a person in the last {since}; {yes} were approved")


def _table(tallies: list[Tally]) -> list[Line]:
    rows = [
        (
            tally.rule,
            str(len(tally.asked)),
            str(tally.count("yes")),
            str(tally.count("no")),
            str(tally.count("expired")),
            answers.duration(tally.median) if tally.median is not None else "-",
            tally.asked[0].shown,
        )
        for tally in tallies[:MAX_SHOWN]
    ]
    more = [Line("info", f"... and {len(tallies) - MAX_SHOWN} more rules (--json)")] if len(tallies) > MAX_SHOWN else []
    return [*tables.table(HEAD, rows), *more] if rows else []


def _advice(found: Advice, asked: int, report: replay.Report | None, places: Places) -> Iterator[Line]:
    tally = found.tally
    yield Line("info", "")
    yield Line("ok", f"{tally.rule}: always approved, {tally.count('yes')} times")
    if not found.grants and not found.threshold:
        yield Line("info", f"no grant fits: {found.why}")
    for option in found.grants:
        yield Line("next", granting.command(option.grant, LASTS, places.given))
        yield Line("info", f"      spares {option.spared} of {asked} prompts{_else(option.others, report)}")
    if found.threshold and found.score:
        others = found.score.others
        yield Line("info", f'      a wider way is "escalationThreshold": {found.threshold} in the settings')
        spares = f"      spares {found.score.spared} of {asked} prompts{_else(others, report)}"
        yield Line("warn" if others.denied else "info", spares)


def _else(others: tuning.Others, report: replay.Report | None) -> str:
    """What else would get through."""
    calls = f"{others.count} other call{'' if others.count == 1 else 's'}"
    denied = f", {others.denied} of which you denied" if others.denied else ""
    example = f", like {answers.cut(others.example, 80)}" if others.example else ""
    what = f"; would also have let through {calls}{denied}{example}" if others.count else "; lets nothing else through"
    return what + (f"; {others.replayed} of {report.counts.calls} replayed calls" if report else "")


def _public(tally: Tally) -> dict[str, Any]:
    counts = {name: tally.count(name) for name in ("yes", "no", "expired", "waiting")}
    return {"rule": tally.rule, "asked": len(tally.asked), **counts, "medianSeconds": tally.median}


def _advice_data(found: Advice, report: replay.Report | None, places: Places) -> dict[str, Any]:
    options: list[dict[str, Any]] = [
        {
            "grant": granting.command(o.grant, LASTS, places.given),
            "spares": o.spared,
            "others": o.others.public(report is not None),
        }
        for o in found.grants
    ]
    if found.threshold and found.score:
        others = found.score.others.public(report is not None)
        options.append({"escalationThreshold": found.threshold, "spares": found.score.spared, "others": others})
    return {"rule": found.tally.rule, "approved": found.tally.count("yes"), "why": found.why or None, "options": options}
