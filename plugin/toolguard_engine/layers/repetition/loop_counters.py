"""What every detector's counters can be asked, and the counters that belong to no detector alone."""

from __future__ import annotations

import msgspec

from toolguard_engine.config.settings import LoopDetection
from toolguard_engine.model.history import Count
from toolguard_engine.model.run_counters import DetectorCounters

MAX_SEEN = 50


class LoopCounters(DetectorCounters):
    """The protocol of a detector's counters. A detector overrides what concerns it, and stands in `repetition.COUNTERS` if
    it overrides anything but `matters`."""

    def may_be_due(self, settings: LoopDetection) -> bool:  # noqa: ARG002 - part of the protocol
        """Whether a note or the end of the run could be due with the next result."""
        return False

    @property
    def awaits_news(self) -> bool:
        """Whether a success that is new would change anything."""
        return False

    def on_news(self, *, reads_only: bool) -> None:
        """A call succeeded, with a result that it did not have lately. `reads_only`: it cannot have changed anything."""


class NoteCounters(LoopCounters):
    """`untold`: a note that could not be given behind the result it belongs to, since nobody had asked; it goes behind the
    next one."""

    untold: str = ""

    def may_be_due(self, settings: LoopDetection) -> bool:  # noqa: ARG002 - part of the protocol
        return bool(self.untold)


class BlockCounters(LoopCounters):
    """`criticals`: how often a detector, ours or the gateway's, blocked."""

    criticals: Count = msgspec.field(default_factory=Count)

    @property
    def matters(self) -> bool:
        return bool(self.criticals.count)


class NewsCounters(LoopCounters):
    """`seen`: successes that were news lately, of exempt tools or while a detector awaited some."""

    seen: list[int] = msgspec.field(default_factory=list)

    def is_news(self, digest: int) -> bool:
        """Whether this success (a digest of the call and its result) is not among the last ones; from here on it is."""
        if digest in self.seen:
            return False
        self.seen.append(digest)
        del self.seen[:-MAX_SEEN]
        return True
