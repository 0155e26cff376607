"""Joins the two notes of the gateway about one model call: that it ended, and what its answer used.

Invariants:

- Every ended call and every answer is in exactly one row, in whatever order they arrive. An answer alone counts if it used
  tokens or failed; otherwise the gateway has only recorded text of its own.
- The two are joined by session and run, unless both provider and model differ. Calls of one run are sequential, so at most
  one half waits per run. The next half of the same kind or of another model, the end of the run or `WAIT_SECONDS` ends the
  wait.
- Unreported values are 0 or empty, never guessed: a call without an answer (it failed, or it was a summary for a
  compaction, whose tokens the gateway does not report) has no tokens and no cost.
"""

from __future__ import annotations

from collections import deque
from typing import TypeGuard

from msgspec import Struct, field

from toolguard_engine.metrics import channels
from toolguard_engine.metrics.bounds import MAX_COST, MAX_TOKENS
from toolguard_engine.metrics.row_writer import CallRecord
from toolguard_engine.stores import audit_log
from toolguard_engine.wire.messages import ModelAnswer, ModelEnded, Used
from toolguard_engine.wording import correction

Key = tuple[str, str]
WAIT_SECONDS = 3.0
"""The two halves of a call arrive within milliseconds of each other."""

MAX_WAITING = 1_000
MAX_DONE = 100_000
COMPLETED = "completed"
FAILED_STOPS = frozenset({"error", "aborted"})


class Half(Struct, frozen=True):
    """One of the two notes, or both. `at`: seconds since 1970."""

    at: float
    ended: ModelEnded | None = None
    answer: ModelAnswer | None = None


class ModelCalls(Struct):
    """Takes notes and returns rows. Drops the oldest rows that are not taken."""

    _waiting: dict[Key, Half] = field(default_factory=dict)
    _done: deque[CallRecord] = field(default_factory=lambda: deque(maxlen=MAX_DONE))

    def ended(self, note: ModelEnded, now: float) -> None:
        key = self._key_of(note)
        if (other := self._waiting.get(key)) and other.answer and _of_one_call(note, other.answer):
            del self._waiting[key]
            self._finish(Half(other.at, note, other.answer))
        else:
            self._wait((note.session, note.run), Half(now, ended=note))

    def answered(self, note: ModelAnswer, now: float) -> None:
        key = self._key_of(note)
        if (other := self._waiting.get(key)) and other.ended and _of_one_call(other.ended, note):
            del self._waiting[key]
            self._finish(Half(now, other.ended, note))
        else:
            self._wait((note.session, note.run), Half(now, answer=note))

    def run_ended(self, run: str) -> None:
        """Including requests made for this run."""
        self._flush([key for key in self._waiting if key[1] == run or key[1].startswith(f"{run}:")])

    def due(self, now: float) -> None:
        """Ends waits that are over. A clock that was set does not prolong a wait."""
        self._flush([key for key, half in self._waiting.items() if abs(now - half.at) >= WAIT_SECONDS])

    def take(self) -> list[CallRecord]:
        """The rows that are ready, each once, the oldest first."""
        taken = list(self._done)
        self._done.clear()
        return taken

    def _key_of(self, note: ModelEnded | ModelAnswer) -> Key:
        """Where the other half waits: in the same run, or in the same session if the run of the answer is unknown."""
        key = (note.session, note.run)
        if key in self._waiting:
            return key
        if isinstance(note, ModelEnded):
            return note.session, ""
        if note.run:
            return key
        ends = (
            (key_of_call, half.ended)
            for key_of_call, half in reversed(self._waiting.items())
            if key_of_call[0] == note.session
        )
        return next((other_key for other_key, ended in ends if ended and _of_one_call(ended, note)), key)

    def _wait(self, key: Key, half: Half) -> None:
        if key in self._waiting:
            self._flush([key])
        elif len(self._waiting) >= MAX_WAITING:
            self._flush([next(iter(self._waiting))])
        self._waiting[key] = half

    def _flush(self, keys: list[Key]) -> None:
        for key in keys:
            self._finish(self._waiting.pop(key))

    def _finish(self, half: Half) -> None:
        if half.ended or (half.answer and (_total(half.answer.usage) or half.answer.stop in FAILED_STOPS)):
            self._done.append(_row(half))


def _of_one_call(ended: ModelEnded, answer: ModelAnswer) -> bool:
    """A gateway may have two names for a provider or for a model, but hardly for both: then it is another model."""
    known = ended.provider and ended.model and answer.provider and answer.model
    return not known or ended.provider == answer.provider or ended.model == answer.model


def _row(half: Half) -> CallRecord:
    note = half.ended or half.answer or ModelAnswer()
    used = half.answer.usage if half.answer else Used()
    return CallRecord(
        at=round(half.at * 1000),
        agent=correction.name(note.agent),
        session=audit_log.plain(note.session),
        channel=channels.channel(note.channel, note.session),
        provider=correction.name(note.provider),
        model=correction.name(note.model),
        input=count(used.input),
        output=count(used.output),
        cache_read=count(used.cache_read),
        cache_write=count(used.cache_write),
        total=_total(used),
        cost_usd=_cost(half.answer),
        duration_ms=count(half.ended.duration_ms) if half.ended else None,
        outcome=_outcome(half),
    )


def count(value: object) -> int:
    """A plausible number of tokens or milliseconds; 0 for anything else."""
    return round(min(value, MAX_TOKENS)) if _is_number(value) and value > 0 else 0


def _total(used: Used) -> int:
    parts = (used.input, used.output, used.cache_read, used.cache_write)
    return count(used.total_tokens) or min(sum(count(part) for part in parts), MAX_TOKENS)


def _cost(answer: ModelAnswer | None) -> float | None:
    """The cost in USD, None if it is not known: the gateway reports 0 for a model without a price."""
    if answer is None:
        return None
    reported = answer.usage.cost
    if _is_number(reported) and reported > 0:
        return float(min(reported, MAX_COST))
    return None if _total(answer.usage) else 0.0


def _is_number(value: object) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool) and value == value  # noqa: PLR0124 - not NaN


def _outcome(half: Half) -> str:
    reported, stop = half.ended.outcome if half.ended else "", half.answer.stop if half.answer else ""
    if reported not in {"", COMPLETED}:
        return correction.name(reported)
    return stop if stop in FAILED_STOPS else COMPLETED
