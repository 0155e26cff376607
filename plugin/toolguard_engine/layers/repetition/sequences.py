"""Several different calls, made round after round without any news: they end the run with the default settings.

Whoever looks at thirty things forty times, and each time reads what they had read before, gets no further. But not all work
shows: `./next-item.sh` and `git commit -qam wip` say the same in each round, and so does every key of a browser. So this
counts only

- calls that failed, or are known to only read, unless `loopDetection.enabled` is true: then others as well;
- calls whose arguments and results (but for times, process ids and the like) were all there lately, of at least two kinds;
- in rounds without a pause: half a minute between two results, a call that polls or waits, one that fails as something may
  that passes by itself, and what somebody writes start the count again. Where something goes on in the background, only
  sequences of many different calls count. Somebody may wait for something;
- until there were `loopDetection.sequenceThreshold` of them, and ten rounds of all calls in them.

One new argument or one new result starts the count again as well.
"""

from __future__ import annotations

import msgspec

from toolguard_engine.config.settings import LoopDetection
from toolguard_engine.effects.calls.call_digest import call_digest
from toolguard_engine.effects.calls.outcomes import Outcome, is_poll, waits
from toolguard_engine.layers.repetition.certain_loops import PAUSE_SECONDS, goes_on, only_reads
from toolguard_engine.layers.repetition.circuit_breaker import CODE
from toolguard_engine.layers.repetition.loop_counters import LoopCounters
from toolguard_engine.layers.repetition.reaction import NOTHING, Reaction, end
from toolguard_engine.model.call import Call, Run
from toolguard_engine.model.history import mixed
from toolguard_engine.wording import loop_notes

REMEMBERED = 100
"""Calls with their results: longer sequences are not found."""
FEWEST, FEWEST_BESIDE = 2, 10
"""Different calls in a sequence, and beside something that goes on in the background: nobody waits in so many ways."""
ROUNDS = 10
SAVED = 30
"""From so many known calls on, an engine after this one should know of them."""


class SequenceCounters(LoopCounters):
    """`sequence_seen`: digests of the last different calls with their results. `sequence_length`: how many calls in a row
    were among them; `sequence_parts`: which; `sequence_noted`: how many those were when the model was told, 0 if it was not.
    `sequence_message`: those of the message with the number `sequence_request`; `sequence_beside`: something that the run
    started may still be running."""

    sequence_seen: list[int] = msgspec.field(default_factory=list)
    sequence_length: int = 0
    sequence_parts: list[int] = msgspec.field(default_factory=list)
    sequence_noted: int = 0
    sequence_request: int = 0
    sequence_message: list[int] = msgspec.field(default_factory=list)
    sequence_beside: bool = False

    @property
    def matters(self) -> bool:
        return self.sequence_length >= SAVED

    def may_be_due(self, settings: LoopDetection) -> bool:
        return 0 < settings.sequence_threshold <= 2 * (self.sequence_length + REMEMBERED)

    def is_news(self, digest: int) -> bool:
        """Whether this is not among the last ones; from here on it is."""
        if digest in self.sequence_seen:
            return False
        self.sequence_seen.append(digest)
        del self.sequence_seen[:-REMEMBERED]
        return True

    def is_again(self, digest: int, request: int) -> bool:
        """Whether one message of the model did this before."""
        if not request or request != self.sequence_request:
            self.sequence_request, self.sequence_message = request, []
        if digest in self.sequence_message:
            return True
        self.sequence_message.append(digest)
        del self.sequence_message[:-REMEMBERED]
        return False

    def begin(self) -> None:
        """Counts from nothing."""
        self.sequence_length = self.sequence_noted = 0
        self.sequence_parts = []


def somebody_wrote(run: Run) -> None:
    """What is asked now may be asked for the second time."""
    run.counters.get(SequenceCounters).begin()


def on_outcome(call: Call, outcome: Outcome, run: Run, settings: LoopDetection) -> Reaction:
    """Counts this call, or starts again with it."""
    if not settings.sequence_threshold:
        return NOTHING
    counted = run.counters.get(SequenceCounters)
    digest = mixed(call_digest(call.tool, call.params), outcome.result)
    counted.sequence_beside = counted.sequence_beside or goes_on(call, outcome)
    if counted.is_again(digest, call.request):
        return NOTHING
    if counted.is_news(digest) or _may_wait(call, outcome, run) or _may_work(call, outcome, settings):
        counted.begin()
        return NOTHING
    counted.sequence_length += 1
    if digest not in counted.sequence_parts:
        counted.sequence_parts.append(digest)
    return _due(call, run, counted, settings.sequence_threshold)


def _may_wait(call: Call, outcome: Outcome, run: Run) -> bool:
    """Whether somebody may be waiting for something that happens elsewhere."""
    if outcome.passing or call.at - run.used >= PAUSE_SECONDS:
        return True
    return is_poll(call.tool, call.params) or waits(call.params)


def _may_work(call: Call, outcome: Outcome, settings: LoopDetection) -> bool:
    """Whether it may have done something that its result does not show, and that counts."""
    return settings.enabled is not True and not outcome.failed and not only_reads(call)


def _due(call: Call, run: Run, counted: SequenceCounters, threshold: int) -> Reaction:
    """The note at half of what ends the run, then the end."""
    count, different = counted.sequence_length, len(counted.sequence_parts)
    last = max(threshold, ROUNDS * different)
    fewest = FEWEST_BESIDE if counted.sequence_beside else FEWEST
    if different < fewest or count < last // 2:
        return NOTHING
    if not counted.sequence_noted:
        counted.sequence_noted = count
        return Reaction(CODE, loop_notes.leads_nowhere_in_rounds(call, count, last), reason=loop_notes.stale(call, count))
    return end(run, CODE, loop_notes.stale(call, count)) if count >= last and count > counted.sequence_noted else NOTHING
