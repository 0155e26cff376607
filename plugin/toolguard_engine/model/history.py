"""What a run did lately: the last calls and what came of them, as digests. `layers.repetition` finds patterns in it.

A digest is 63 bits of BLAKE2b as an int, what two of them are mixed to has 60 bits: small in memory, and the same on disk.
The steps are parallel lists, so that looking for one among them is a search in C.
"""

from __future__ import annotations

import msgspec

_BITS = (1 << 60) - 1


class Count(msgspec.Struct, array_like=True, gc=False):
    """How often something happened, and in which request to the model for the last time (0 where that is not known)."""

    count: int = 0
    request: int = 0

    def again(self, request: int) -> bool:
        """Counts once more, but for what one message of the model did twice; whether it counted."""
        if request and request == self.request:
            return False
        self.count += 1
        self.request = request
        return True


class Past(msgspec.Struct, omit_defaults=True):
    """The last steps of a run, the newest last. What detectors count beside them is their own: `run_counters`.

    A step is one executed call: in `calls` its tool and arguments, in `results` its call and exactly what came of it. Of one
    that failed, `families` has which calls are alike (its kind where its text tells why, else the same call with numbers
    masked), and `series` that and the wording; of a success 0, and the same as in `results`. `request`: the request to the
    model that the newest `of_request` steps came from.

    So many of the oldest steps lie before the last progress (`spent`): what they repeated counts no more, they only show
    that a call is not new. And so many before the last success that told something new (`learned`): for calls that failed
    and vary freely they do not count either.

    `hot`: no repetition among the steps that count is longer; it is looked at again `hot_left` steps later.

    `alternating`: how many of the newest steps are two calls in strict alternation. `stale`: how many calls in a row
    brought nothing new.
    """

    calls: list[int] = []
    families: list[int] = []
    results: list[int] = []
    series: list[int] = []
    request: int = 0
    of_request: int = 0
    spent: int = 0
    learned: int = 0
    hot: int = 0
    hot_left: int = 0
    alternating: int = 0
    stale: int = 0

    def __post_init__(self) -> None:
        if len({len(column) for column in self._columns}) > 1:  # no engine wrote that: the steps are not known
            for column in self._columns:
                column.clear()
            self.hot = self.alternating = self.spent = self.learned = 0

    @property
    def _columns(self) -> tuple[list[int], ...]:
        return self.calls, self.families, self.results, self.series

    def streak(self, call: int, series: int, result: int, *, freely: bool = False) -> int:
        """Counts, from the newest back, how many of the steps that are the same call as this one had this result.

        Of calls that failed and differ the wording counts, of the very same call exactly what came of it: where the same
        tests fail in other numbers something moves. `freely`: they may differ in anything.
        """
        calls, known, results, learned = self.calls, self.series, self.results, self.learned if freely else 0
        if spent := self.spent:
            calls, known, results, learned = calls[spent:], known[spent:], results[spent:], learned - spent
        if calls.count(call) == results.count(result):  # nothing moved: the same without looking at each step
            return known.count(series) if learned <= 0 else known[learned:].count(series) + calls[:learned].count(call)
        count, at = 0, len(calls)
        for other, same, exact in zip(reversed(calls), reversed(known), reversed(results), strict=True):
            at -= 1
            if other == call:
                if exact != result:
                    break
                count += 1
            elif same == series and at >= learned:
                count += 1
        return count

    def varieties(self, series: int) -> int:
        """How many different calls failed like this, freely varying, since something new was told."""
        start = max(self.spent, self.learned)
        steps = zip(self.calls[start:], self.series[start:], strict=True)
        return len({call for call, same in steps if same == series})

    def newest(self, call: int, family: int, kind: int = 0) -> int:
        """The place of the newest step that is the same call, or failed and is one of its family or kind; -1 for none."""
        calls, families = self.calls, self.families
        if call not in calls and family not in families and (not kind or kind not in families):
            return -1
        at = len(calls) - 1
        while calls[at] != call and families[at] != family and (not kind or families[at] != kind):
            at -= 1
        return at

    def in_message(self, series: int, request: int) -> bool:
        """Whether this message of the model did the same already."""
        return bool(request) and request == self.request and series in self.series[-self.of_request :]

    def enter(self, call: int, family: int, result: int, series: int, size: int) -> bool:
        """One more step, of a history of `size`; whether older ones were forgotten for it."""
        calls, families, results, known = self.calls, self.families, self.results, self.series
        if not calls or known[-1] == series or calls[-1] == call:
            self.alternating = 1
        elif len(calls) == 1 or (results[-2] != result if calls[-2] == call else known[-2] != series):
            self.alternating = 2
        else:
            self.alternating += 1
        if full := len(calls) >= size:
            many = len(calls) - size + 1
            del calls[:many], families[:many], results[:many], known[:many]
            self.spent = self.spent - many if self.spent > many else 0
            self.learned = self.learned - many if self.learned > many else 0
        calls.append(call)
        families.append(family)
        results.append(result)
        known.append(series)
        return full

    def of_message(self, request: int) -> None:
        """The newest step came from this request."""
        self.of_request = self.of_request + 1 if request == self.request else 1
        self.request = request

    def brought_news(self) -> None:
        """The newest step told something that was not known."""
        self.learned = len(self.calls)

    def progressed(self) -> None:
        """The newest step may have changed something, in a way that is new."""
        self.spent = len(self.calls) - 1
        self.hot, self.hot_left = max(1, self.alternating), len(self.calls)

    def progressed_beside(self) -> None:
        """A call that is no step may have changed something."""
        self.spent = self.learned = len(self.calls)
        self.alternating = self.stale = 0
        self.hot, self.hot_left = 0, len(self.calls)

    def heat(self, streak: int) -> None:
        """The newest step made a repetition so long."""
        count = max(streak, self.alternating)
        self.hot_left -= 1
        if count >= self.hot:
            self.hot, self.hot_left = count, len(self.calls)
        elif self.hot_left <= 0:
            series = self.series[self.spent :]
            longest = len(series) - len(set(series)) + 1
            self.hot, self.hot_left = max(longest, self.alternating), len(self.calls)


def mixed(one: int, two: int) -> int:
    """A digest of two digests."""
    return (one * 31 + two) & _BITS
