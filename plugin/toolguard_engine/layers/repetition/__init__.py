"""Repetition without progress. The rules, per run, over the last `historySize` executed calls:

- the same call with the same result, or two in turn (`generic_repeat`, `poll_no_progress`, `ping_pong`): a note behind the
  `warningThreshold`-th and every fifth result after it; behind `criticalThreshold` of them the next such call is blocked,
  and the second block ends the run;
- a call is the same where its digest is, and where it failed with the same words and only its numbers differ; where the
  words tell why, they may differ in anything, until some success told something new;
- a changed result ends any count: progress is never touched. A success that is new and may have changed something is
  progress: only what is repeated behind it counts;
- a call that the gateway's own detection does not let run counts as one that ran and as a block (`host_veto`);
- calls in a row that bring nothing new end the run, whichever they are (`circuit_breaker`);
- calls of tools under `neverBlock` are neither counted nor noted, and end no run;
- several different calls round after round that bring nothing new end the run much later (`sequences`): with `enabled`
  absent only where each fails or is known to only read;
- with `enabled` absent only `identical_errors`, `uniform_errors`, `certain_loops`, `sequences` and the guard after a
  `compaction` count, with false nothing does;
- what one message of the model does twice counts once: it could not know better in between. No run ends in the message in
  which it was first warned.
"""

from __future__ import annotations

from types import ModuleType
from typing import Literal, NamedTuple

from msgspec import structs

from toolguard_engine.config.settings import Config, LoopDetection
from toolguard_engine.effects.calls.call_digest import call_digest, digests, kind_digest
from toolguard_engine.effects.calls.outcomes import Outcome, is_poll
from toolguard_engine.effects.calls.read_only import is_read_only
from toolguard_engine.layers import exemptions
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.layers.repetition import (
    after_compaction,
    certain_loops,
    circuit_breaker,
    generic_repeat,
    host_veto,
    identical_errors,
    ping_pong,
    poll_no_progress,
    sequences,
    uniform_errors,
    unknown_tool,
)
from toolguard_engine.layers.repetition.loop_counters import BlockCounters, LoopCounters, NewsCounters, NoteCounters
from toolguard_engine.layers.repetition.reaction import NOTHING, Reaction, merge
from toolguard_engine.model.call import Call, Run, Stop, Verdict
from toolguard_engine.model.history import Past, mixed
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.wording import loop_notes

__all__ = [
    "NOTHING", "Reaction", "judge", "on_compaction", "on_message", "on_outcome", "on_unknown_tool",
    "on_user_message", "on_veto", "wanted",
]  # fmt: skip

Wanted = Literal["tell", "ask"]
AGAIN = 5
"""A note is repeated with every fifth result after the first one."""

MANY = 3
"""Of fewer repetitions nothing has to be forgotten where there is progress: whether there is takes its time to find out."""

IN_FLIGHT = 4
"""What comes of a call is asked for so many counts early: others of the same message may come back before it."""


class _Found(NamedTuple):
    """A pattern: its detector and how many calls it is long."""

    detector: ModuleType
    calls: int


def judge(given: LayerInput, _: Judgement) -> Judgement | None:
    """Blocks a call that repeats without progress; the second time in a run it also sets `run.stop`."""
    verdict = _verdict(given.call, given.run, given.config) if given.run else None
    return judgement.wrap(verdict, ends=True, free=True) if verdict else None


def _verdict(call: Call, run: Run, config: Config) -> Verdict | None:
    settings = config.loop_detection
    if run.past.hot < settings.critical_threshold or settings.enabled is not True:
        return None
    found = _stuck(call, run, settings)
    if found is None:
        return None
    finding = found.detector.describe(call, found.calls)
    criticals = run.counters.get(BlockCounters).criticals
    if criticals.again(call.request) and criticals.count > 1:
        run.stop = Stop(found.detector.CODE, loop_notes.ends(finding))
    text = run.stop.text if run.stop else loop_notes.blocked(call, finding)
    return Verdict("block", found.detector.CODE, text, finding)


def _stuck(call: Call, run: Run, settings: LoopDetection) -> _Found | None:
    """The pattern at its critical threshold that this call would go on with."""
    # A detector that blocks by counters of its own is asked here: the history knows nothing of calls with new arguments.
    past = run.past
    key, family = digests(call.tool, call.params)
    kind = kind_digest(call.tool, call.params)
    at = past.newest(key, family, kind)
    if at < 0:
        return None
    critical, detectors = settings.critical_threshold, settings.detectors
    freely = past.families[at] == kind
    if freely and past.calls[at] != key:  # one call that failed over and over says nothing of another one
        count = past.varieties(past.series[at])
    else:
        count = past.streak(past.calls[at], past.series[at], past.results[at], freely=freely)
    if count >= critical and (of := _of_one(call)).is_on(detectors):
        return _Found(of, count)
    count = ping_pong.length(past)
    if count >= critical and ping_pong.is_on(detectors) and ping_pong.goes_on(past.series[at], past):
        return _Found(ping_pong, count)
    return None


def _of_one(call: Call) -> ModuleType:
    """Whose business the repetition of this one call is."""
    return poll_no_progress if is_poll(call.tool, call.params) else generic_repeat


def wanted(call: Call, run: Run, config: Config) -> Wanted:
    """Whether what comes of this call may have to be answered (`ask`): a note or the end could be due with it."""
    settings = config.loop_detection
    if settings.enabled is False or not _may_be_due(run, settings):
        return "tell"
    return "tell" if exemptions.exempt(call, config) else "ask"


COUNTERS: tuple[type[LoopCounters], ...] = (
    after_compaction.CompactionCounters, NoteCounters, identical_errors.ErrorCounters, uniform_errors.UniformErrorCounters,
    sequences.SequenceCounters,
)  # fmt: skip
"""Those that are asked whether anything may be due, and told of news."""


def _may_be_due(run: Run, settings: LoopDetection) -> bool:
    past, counters = run.past, run.counters
    for kind in COUNTERS:  # a generator takes twice as long
        if counters.get(kind).may_be_due(settings):
            return True
    if settings.enabled is not True:
        return past.stale + IN_FLIGHT >= settings.warning_threshold
    return past.hot + IN_FLIGHT >= settings.warning_threshold or past.stale + IN_FLIGHT >= circuit_breaker.warns_at(settings)


def on_outcome(call: Call, outcome: Outcome, run: Run, config: Config, *, asked: bool = True) -> Reaction:
    """Enters what came of a call into `run.past`; sets `run.stop` where the run ends. `asked`: a note gets to the model; if
    not, it goes behind the next result of which one does: calls of one message are all judged before anything came of one.
    """
    found = _on_outcome(call, outcome, run, config)
    notes = run.counters.get(NoteCounters)
    if found.stop:
        notes.untold = ""
    elif not asked:
        notes.untold = found.note or notes.untold
    elif notes.untold:
        note = f"{notes.untold}\n\n{found.note}" if found.note else notes.untold
        found, notes.untold = structs.replace(found, note=note), ""
        circuit_breaker.note_given(run, call.request)
    return found


def _on_outcome(call: Call, outcome: Outcome, run: Run, config: Config) -> Reaction:
    settings, past = config.loop_detection, run.past
    if settings.enabled is False or run.stop is not None:
        return NOTHING
    exempt = exemptions.exempt(call, config)
    if (
        not outcome.failed
        and (exempt or any(run.counters.get(kind).awaits_news for kind in COUNTERS))
        and run.counters.get(NewsCounters).is_news(mixed(call_digest(call.tool, call.params), outcome.result))
    ):
        _on_news(call, run, exempt=exempt is not None)
    if exempt:
        if exempt is exemptions.EXEMPT and settings.enabled is not True:
            certain_loops.beside(call, past)
        return NOTHING
    lasting = identical_errors.counts(outcome)
    found = after_compaction.watch(call, outcome, run)
    if lasting and run.stop is None:
        family = digests(call.tool, call.params)[1]
        found = identical_errors.on_failure(call, family, outcome, run, settings.identical_errors)
    if uniform_errors.counts(outcome) and run.stop is None:
        found = merge(found, uniform_errors.on_failure(call, outcome, run, settings))
    if found.stop:
        return found
    on_step = _on_step if settings.enabled is True else certain_loops.on_outcome
    found = merge(found, on_step(call, outcome, run, settings))
    return found if found.stop else merge(found, sequences.on_outcome(call, outcome, run, settings))


def _on_news(call: Call, run: Run, *, exempt: bool) -> None:
    """A success that is new. An exempt one counts for nothing, but what it may have changed is progress for what does."""
    reads_only = is_read_only(call.tool, call.params)
    for kind in COUNTERS:
        run.counters.get(kind).on_news(reads_only=reads_only)
    if exempt and not reads_only:
        run.past.progressed_beside()


def _on_step(call: Call, outcome: Outcome, run: Run, settings: LoopDetection) -> Reaction:
    key, family = digests(call.tool, call.params) if outcome.failed else (call_digest(call.tool, call.params), 0)
    past, result = run.past, mixed(key, outcome.result)
    failed, freely = outcome.failed, outcome.explained
    if freely:
        family = kind_digest(call.tool, call.params)
    series = mixed(outcome.wording, family) if failed else result  # the other way round: never that of a success
    if past.in_message(series, call.request):
        return NOTHING
    known = series in past.series
    before = past.streak(key, series, result, freely=freely) if known else 0
    moved = not failed and past.hot >= min(MANY, settings.warning_threshold - 1) and _moves(call, key, past)
    full = past.enter(key, family, result, series, settings.history_size)
    past.of_message(call.request)
    past.heat(before + 1)
    if moved:
        past.progressed()
    if not known or (failed and not before and result not in past.results[:-1]):
        past.stale = 0
        if not failed:
            past.brought_news()
        return NOTHING
    broken = circuit_breaker.on_stale(call, run, settings)
    if broken.stop or max(before + 1, past.alternating) < settings.warning_threshold:
        return broken
    count = before + 1
    if full and _is_due(count, settings):  # one of them may just have been forgotten
        count = past.streak(key, series, result, freely=freely)
    found = _warning(call, count, past, settings, grew=count > before)
    return found if found.code else broken


def _moves(call: Call, key: int, past: Past) -> bool:
    """Whether a call that succeeded is progress: it is new, and may have changed something."""
    return key not in past.calls and not is_read_only(call.tool, call.params)


def _warning(call: Call, count: int, past: Past, settings: LoopDetection, *, grew: bool) -> Reaction:
    """The note that is due. A count that only stays what it was, since the history holds no more, is none."""
    if grew and _is_due(count, settings) and (of := _of_one(call)).is_on(settings.detectors):
        finding: Reaction = of.warn(call, count, settings.critical_threshold)
        return finding
    length = ping_pong.length(past)
    if length == past.alternating and _is_due(length, settings) and ping_pong.is_on(settings.detectors):
        return ping_pong.warn(call, length, settings.critical_threshold)
    return NOTHING


def _is_due(count: int, settings: LoopDetection) -> bool:
    return count >= settings.warning_threshold and (count - settings.warning_threshold) % AGAIN == 0


def may_end(run: Run, config: Config) -> bool:
    """Whether a message could end this run because of what a detector blocked in it."""
    return config.loop_detection.enabled is True and run.counters.get(BlockCounters).criticals.count > 0


def on_message(calls: list[Call], run: Run, config: Config) -> Stop | None:
    """The end of a run whose next message only repeats what a detector blocked already; sets `run.stop`."""
    settings = config.loop_detection
    if not calls or run.stop is not None or not may_end(run, config):
        return run.stop
    found = None
    for call in calls:
        found = None if exemptions.exempt(call, config) else _stuck(call, run, settings)
        if found is None:
            return None
    if found:
        run.stop = Stop(found.detector.CODE, loop_notes.ends(found.detector.describe(calls[-1], found.calls)))
    return run.stop


def on_veto(call: Call, run: Run, config: Config) -> Reaction:
    """The gateway's own detection did not let this call run; sets `run.stop` where the run ends."""
    settings, past = config.loop_detection, run.past
    if settings.enabled is not True or run.stop is not None or config.active_mode == "disabled":
        return NOTHING
    if exemptions.exempt(call, config):
        return NOTHING
    key, family = digests(call.tool, call.params)
    at = past.newest(key, family)
    if at >= 0 and not past.in_message(past.series[at], call.request):  # what would have come of it: what came before
        again = past.calls[at], past.families[at], past.results[at], past.series[at]
        before = past.streak(again[0], again[3], again[2])
        past.enter(*again, settings.history_size)
        past.of_message(call.request)
        past.heat(before + 1)
    return host_veto.on_veto(call, run)


def on_unknown_tool(call: Call, run: Run, config: Config) -> Stop | None:
    """Counts a call of a tool that does not exist; the end of the run where there were too many."""
    settings = config.loop_detection
    return unknown_tool.on_miss(call, run, settings) if settings.enabled is True else None


def on_user_message(run: Run) -> None:
    """Somebody wrote in the session of this run."""
    run.past.stale = 0
    sequences.somebody_wrote(run)


def on_compaction(run: Run, config: Config) -> int:
    """Arms the guard after a compaction; for how many calls, 0 where it is off."""
    settings = config.loop_detection
    if settings.enabled is False:
        return 0
    if settings.enabled is not True:
        run.past.progressed_beside()
    return after_compaction.arm(run, settings)
