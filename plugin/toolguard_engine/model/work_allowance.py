"""What judging may cost a session over time. A call may cost `work_limit.MOST` steps; who sends such calls again and again
would have the engine work for nobody else, so theirs are held sooner.

A session has an allowance of steps, which refills as time passes. The first `FREE` steps of each call are free; what exceeds
them uses the allowance up, and the next call may cost no more than what is left. Honest commands of 4,000 characters take no
more than what is free. The content of files that a call runs has a budget of its own; what exceeds half
of that counts as well, and half of it is always left.
"""

from __future__ import annotations

from collections import OrderedDict

from toolguard_engine.model.call import Call
from toolguard_engine.model.work_limit import MOST

FULL = 220_000.0
"""Steps: four to five calls of any size at once."""

PER_SECOND = 3_000.0
"""Steps that come back in a second, about a 300th of the processor's time. No model writes text that fast."""

FREE = 8_000
"""Steps that any call may cost."""

MAX_SESSIONS = 1_000


class WorkAllowance:
    """Knows only the sessions that have used some of theirs. Time is what calls say (`Call.at`)."""

    def __init__(self) -> None:
        self._left: OrderedDict[tuple[str, str], tuple[float, float]] = OrderedDict()

    def most(self, call: Call) -> float:
        """The steps that this call may cost."""
        if not self._left:
            return MOST
        return min(float(MOST), max(float(FREE), self._now(call)))

    def used(self, call: Call, steps: float, *, stopped: bool = False) -> None:
        """A call has cost so many. `stopped`: for want of allowance; half of it counts then, so that an honest call that is
        repeated every few seconds is judged some time."""
        if steps <= FREE:
            return
        cost = (steps - FREE) / (2 if stopped else 1)
        self._left[_who(call)] = max(0.0, self._now(call) - cost), call.at
        self._left.move_to_end(_who(call))
        if len(self._left) > MAX_SESSIONS:
            self._left.popitem(last=False)

    def _now(self, call: Call) -> float:
        left, at = self._left.get(_who(call), (FULL, call.at))
        allowance = min(FULL, left + max(0.0, call.at - at) * PER_SECOND)
        if allowance >= FULL:
            self._left.pop(_who(call), None)
        return allowance


def _who(call: Call) -> tuple[str, str]:
    return call.agent, call.session
