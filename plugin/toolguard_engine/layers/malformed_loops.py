"""Malformed calls that repeat. The rules, per run:

- a failure is answered with a correction;
- the `maxIdenticalFailures`-th failure of the same call for the same cause is answered with `[LOOP DETECTED]`;
- one more such call, or `maxFailuresPerTurn` failures of any kind, ends the run with `[TOOL ERROR LIMIT]`;
- calls of one message are one attempt: the model could not know better in between, so they count once where they are
  identical, and alone they never end the run;
- a success of a call resets its own count, never the total;
- a call that the guard held or blocked counts like a failure, but whether a held one may run is not for this layer to say.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b

import msgspec

from toolguard_engine.config.settings import Config
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Call, Correction, Failure, Identical, Run, Stop, Verdict
from toolguard_engine.rules import judgement
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.wording import approval, correction

CODE_IDENTICAL = "loop.identical"
CODE_LIMIT = "loop.limit"
CODE_WAITING = "approval.waiting"

HELD = Failure("held")
BLOCKED = Failure("blocked")
MAX_NAMED = 10
"""Held calls that the end of a run names."""

KEY_BYTES = 64
"""A call's arguments can be megabytes; a run must not hold on to them. 64 bytes are a full BLAKE2b digest."""

MAX_DISTINCT = 200
"""Different failing calls that one run remembers; only one huge message can have more, and the total still counts them."""

_encoder = msgspec.json.Encoder(order="sorted")


def key(call: Call) -> bytes:
    """Equal for two calls of the same tool with the same arguments, whatever their order."""
    try:
        params = _encoder.encode(call.params)
    except RecursionError:  # could be read and cannot be written: as deep as that, all calls of a tool are one
        params = b"too deep"
    spelled = tool_name(call.tool).encode(errors="replace") + b"\0" + params
    return spelled if len(spelled) <= KEY_BYTES else blake2b(spelled, digest_size=KEY_BYTES).digest()


def _known(call: Call, run: Run) -> Identical | None:
    """What is known of this very call. A tool that cannot be called directly may well be there through Tool Search."""
    known = run.identical.get(key(call))
    if known and known.failure.error == "unknown-tool" and known.searched != call.searched:
        return None
    return known


def judge(given: LayerInput, _: Judgement) -> Judgement | None:
    verdict = _verdict(given.call, given.run, given.config) if given.run else None
    return judgement.wrap(verdict, ends=True, free=True) if verdict else None


def _verdict(call: Call, run: Run, config: Config) -> Verdict | None:
    if run.stop:
        return Verdict("block", run.stop.code, run.stop.text)
    if run.failures == 0:
        return None
    count = identical_failures(call, run)
    if count < config.max_identical_failures or known_failure(call, run) == HELD:
        return None  # whether a held call may run by now is written elsewhere
    run.stop = Stop(CODE_IDENTICAL, correction.repeated(call, count))
    return Verdict("block", CODE_IDENTICAL, run.stop.text)


def identical_failures(call: Call, run: Run) -> int:
    """How often this very call failed in this run."""
    known = _known(call, run)
    return known.count if known else 0


def known_failure(call: Call, run: Run) -> Failure:
    """Why this very call failed before, or that it was simply not executed any more."""
    known = _known(call, run)
    return known.failure if known else Failure("not-executed")


def on_failure(
    call: Call, failure: Failure, run: Run, config: Config, hints: correction.Hints, missed: int = 0
) -> Correction:
    """Counts one refusal and says what the model is told about it. `missed`: failures of this run counted elsewhere."""
    run.first_request = run.first_request or call.request
    run.failures += 1
    count = _count(call, failure, run)
    if run.stop is None:
        run.stop = _end(call, run, count, run.failures + missed, config)
    if run.stop is not None:
        return Correction("limit", run.stop.text, run.stop)
    if count >= config.max_identical_failures:
        return Correction("loop-detected", correction.loop_detected(call, failure, count))
    return Correction("corrected", correction.corrective(call, failure, hints))


def on_refused(call: Call, run: Run, config: Config, nonce: str = "") -> int:
    """Counts a call that the guard held (under `nonce`) or blocked; how often this very call was refused like that."""
    run.first_request = run.first_request or call.request
    run.failures += 1
    if nonce and (known := run.identical.get(key(call))) and known.nonce not in ("", nonce):
        on_success(call, run)  # what it waited for was decided, so this is the first time that it waits again
    count = _count(call, HELD if nonce else BLOCKED, run)
    if nonce and (known := run.identical.get(key(call))):
        known.nonce = nonce
    if run.stop is None and (stop := _end(call, run, count, run.failures, config)):
        run.stop = _waiting(run, config) if nonce else stop
    return count


def _waiting(run: Run, config: Config) -> Stop:
    """The end of a run in which calls wait: it tells how to approve them."""
    nonces = [known.nonce for known in run.identical.values() if known.nonce]
    named = nonces[-MAX_NAMED:]
    return Stop(CODE_WAITING, approval.ends_waiting(named, signed=config.signs_approvals), tuple(named))


def _end(call: Call, run: Run, count: int, failures: int, config: Config) -> Stop | None:
    if count > config.max_identical_failures:
        return Stop(CODE_IDENTICAL, correction.repeated(call, count - 1))
    answered = call.request == 0 or call.request != run.first_request
    if failures >= config.max_failures_per_turn and (answered or failures > run.failures):
        return Stop(CODE_LIMIT, correction.limit(failures))
    return None


def _count(call: Call, failure: Failure, run: Run) -> int:
    known = _known(call, run)
    if known and known.failure.signature == failure.signature:
        known.count += call.request == 0 or call.request != known.request
        known.request = call.request
        return known.count
    if len(run.identical) < MAX_DISTINCT:
        run.identical[key(call)] = Identical(failure, 1, call.request, call.searched)
    return 1


def on_success(call: Call, run: Run) -> None:
    """The call went through: what was wrong with it is fixed."""
    if run.identical:
        run.identical.pop(key(call), None)


def on_decided(call: Call, run: Run) -> None:
    """A held call was approved and runs: that it was held was no failure."""
    known = run.identical.get(key(call))
    if known and known.nonce:
        run.failures = max(0, run.failures - known.count)
    on_success(call, run)


def may_end(run: Run) -> bool:
    """Whether a message could end this run because of what failed in it; a glance, whatever the message has."""
    return bool(run.identical)


def on_message(calls: list[Call], run: Run, config: Config, decided: Callable[[str], bool]) -> Stop | None:
    """Whether the run ends before the calls of this message run. `decided`: whether the call of a nonce waits no more.

    A message that only repeats what failed is stopped. Where at least one of its calls is another one, the message runs:
    the valid calls of a batch are never lost to an invalid neighbour.
    """
    if not calls or run.stop is not None:
        return run.stop
    counts: list[int] = []
    for call in calls:
        counts.append(identical_failures(call, run))
        if counts[-1] < config.max_identical_failures:
            return None
    if any(_has_news(call, run, decided) for call in calls):
        return None
    waits = any(known_failure(call, run) == HELD for call in calls)
    run.stop = _waiting(run, config) if waits else Stop(CODE_IDENTICAL, correction.repeated(calls[0], counts[0]))
    return run.stop


def _has_news(call: Call, run: Run, decided: Callable[[str], bool]) -> bool:
    known = _known(call, run)
    return bool(known and known.nonce and decided(known.nonce))
