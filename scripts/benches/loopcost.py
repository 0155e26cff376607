"""What watching for loops costs: time a call, memory of many sessions, and the file in which standings are kept."""

from __future__ import annotations

import copy
import multiprocessing
import statistics
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import loopplay
from figures import Figure
from loopkinds import KINDS, Act, Kind, Result, with_process

from toolguard_engine import config, guard, protocol, standing
from toolguard_engine.callkeys import digests
from toolguard_engine.history import Count
from toolguard_engine.layers import detectors
from toolguard_engine.model import Call, Run
from toolguard_engine.outcomes import outcome
from toolguard_engine.session import Session
from toolguard_engine.stores.standings import FileStandings

CALLS = 20_000
HISTORY = 30
SESSIONS = 10_000
CALLS_A_SESSION = 40
CHUNK = 500
WATCHED = {"loopDetection": {"enabled": True}}
PROMISE_US = 5
PROMISE_MB = 200


@dataclass(frozen=True)
class Sample:
    """A call of a kind, and what came of it."""

    kind: str
    call: Call
    result: Result
    honest: bool = True

    @property
    def group(self) -> str:
        return "honest" if self.honest else "loops"


@dataclass
class Times:
    """Microseconds of each call, by what was done."""

    of: dict[str, list[float]] = field(default_factory=dict)

    def take(self, name: str, work: Callable[..., Any], *arguments: Any) -> Any:
        started = time.perf_counter_ns()
        done = work(*arguments)
        self.of.setdefault(name, []).append((time.perf_counter_ns() - started) / 1000)
        return done

    def p50(self, name: str) -> float:
        return statistics.median(self.of[name])

    def p99(self, name: str) -> float:
        return statistics.quantiles(self.of[name], n=100)[-1]


def speed() -> list[Figure]:
    times = measured()
    whole = times.p50("session")
    rows = [
        ("detectors, history of 30, honest work", "layer honest", PROMISE_US),
        ("- without the keys of calls", "bare honest", None),
        ("detectors, history of 30, loops", "layer loops", PROMISE_US),
        ("- without the keys of calls", "bare loops", None),
        ("the keys of a call", "keys", None),
        ("what came of a call, made small", "what came", None),
        ("judging and what came of it, all in all", "session", None),
    ]
    return [
        Figure(f"{name}, {which}", value, "us", f"{100 * value / whole:.0f} % of all" if which == "p50" else "", promise)
        for name, key, most in rows
        for which, value, promise in (("p50", times.p50(key), most), ("p99", times.p99(key), None))
    ]


def measured() -> Times:
    """All in turns, some hundred calls each, so that a busy machine disturbs them alike. The first fill the history."""
    laid, times, warming = config.parse(WATCHED), Times(), Times()
    session = loopplay.session(WATCHED)
    runs: dict[str, Run] = defaultdict(Run)
    twins: dict[str, Run] = defaultdict(Run)
    every = list(samples())
    for start in range(0, len(every), CHUNK):
        chunk = every[start : start + CHUNK]
        into = times if start else warming
        outcomes = [into.take("what came", _outcome, sample.call, sample.result) for sample in chunk]
        keys = [into.take("keys", digests, sample.call.tool, sample.call.params) for sample in chunk]
        for sample, found in zip(chunk, outcomes, strict=True):
            go_on(runs[sample.kind])
            into.take(f"layer {sample.group}", layer, sample.call, found, runs[sample.kind], laid)
        known = iter(keys)
        for sample, found in zip(chunk, outcomes, strict=True):
            go_on(twins[sample.kind])
            both = next(known)
            with mock.patch.multiple(detectors, digests=Known(both), call_digest=Known(both[0]), kind_digest=Known(both[1])):
                into.take(f"bare {sample.group}", layer, sample.call, found, twins[sample.kind], laid)
        for sample in chunk:
            go_on(session.guard._runs.get(sample.kind))  # noqa: SLF001 - a run that ended would cost nothing
            into.take("session", whole_call, session, sample)
        session.take_events()
        session.take_records()
    lengths = {kind: len(run.past.calls) for kind, run in runs.items()}
    assert set(lengths.values()) == {HISTORY}, lengths
    return times


class Known:
    """Keys of a call that need not be made."""

    def __init__(self, keys: tuple[int, int] | int) -> None:
        self._keys = keys

    def __call__(self, tool: str, params: Any) -> tuple[int, int] | int:  # noqa: ARG002
        return self._keys


def layer(call: Call, found: Any, run: Run, laid: config.Config) -> None:
    detectors.judge(call, run, laid)
    detectors.wanted(call, run, laid)
    detectors.on_outcome(call, found, run, laid)


def go_on(run: Run | None) -> None:
    """A run that has ended goes on, with the history that it has."""
    if run is not None and run.stop is not None:
        run.stop = None
        run.past.criticals = Count()
        run.past.stale = run.past.errors_most = 0
        run.past.errors.clear()
        run.past.kind_errors.clear()


def _outcome(call: Call, result: Result) -> Any:
    return outcome(
        call.tool, call.params, result.text, len(result.text), result.status, result.exit_code, failed=result.failed
    )


def whole_call(session: Session, sample: Sample) -> None:
    """What the gateway asks about a call that runs."""
    call, result = sample.call, sample.result
    where: dict[str, Any] = {"agent": call.agent, "session": call.session, "run": call.run, "request": call.request}
    session.answer(protocol.Judge(id=1, tool=call.tool, params=call.params, **where))
    came: dict[str, Any] = {"text": result.text, "size": len(result.text), "failed": result.failed, "status": result.status}
    session.answer(protocol.Came(id=2, tool=call.tool, params=call.params, exit_code=result.exit_code, **came, **where))


def samples() -> Iterator[Sample]:
    """Calls of all kinds in turn, each kind in a run of its own, and each call with arguments of its own."""
    kinds = [kind for kind in KINDS if not loopplay.is_refused(kind.act(0))]
    for number in range(CALLS + CHUNK):
        step, which = divmod(number, len(kinds))
        kind, act = kinds[which], _act(kinds[which], step)
        assert act.result
        call = Call(act.tool, copy.deepcopy(act.params), agent="main", session="s", run=kind.name, request=step + 1)
        yield Sample(kind.name, call, act.result, kind.honest)


def _act(kind: Kind, step: int) -> Act:
    act = kind.act(step % kind.calls if kind.calls else step)
    begun = kind.act(0).result
    return Act(act.tool, with_process(act.params, begun.text if begun else ""), act.result)


def memory() -> list[Figure]:
    """In a process of its own, which has used nothing yet."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as process:
        grown, runs, standings, left, seconds = process.submit(many_sessions).result()
    beside = f"{SESSIONS * CALLS_A_SESSION} calls in {seconds:.0f} s; {runs} runs and {standings} standings remembered"
    return [
        Figure(f"memory of {SESSIONS} sessions", grown, "MB", beside, PROMISE_MB),
        Figure("runs and standings remembered once all were idle", left, "", promise=0),
    ]


def many_sessions() -> tuple[float, int, int, int, float]:
    """Megabytes, runs, standings, both after the idle time, seconds. No run ends, and each agent is another one."""
    session = loopplay.session(WATCHED)
    before, started = resident_mb(), time.monotonic()
    for number in range(SESSIONS):
        _one_session(session, number)
        session.take_told()
        session.take_events()
        session.take_records()
        session.take_touched()
        session.guard.autonomy.take_changed()
    grown, seconds = resident_mb() - before, time.monotonic() - started
    runs, standings = remembered(session)
    idle = max(guard.IDLE_SECONDS, standing.IDLE_SECONDS) + 1
    session.guard.sweep(session.setup.clock().timestamp() + idle)
    return grown, runs, standings, sum(remembered(session)), seconds


def _one_session(session: Session, number: int) -> None:
    agent = f"agent-{number}"
    for step in range(CALLS_A_SESSION):
        path = f"/home/u/work/{number}/part-{step}.md"
        call = Call("read", {"path": path}, agent=agent, session=f"agent:{agent}:main", run=agent, request=step + 1)
        whole_call(session, Sample("", call, Result(f"What is known about {path}: {'and so on. ' * 20}")))


def remembered(session: Session) -> tuple[int, int]:
    return len(session.guard._runs), len(session.guard.autonomy._standings)  # noqa: SLF001 - nothing else counts them


def resident_mb() -> float:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0


def stored() -> list[Figure]:
    """All standings at once, which happens at a start; in between only what changed is written."""
    now = time.time()
    seen = standing.Seen(since=now, resources=dict.fromkeys(range(40), 3), recent=[1] * 60, in_minute=60)
    many = {
        (f"agent-{n}", f"agent:agent-{n}:main"): standing.Standing(
            f"agent-{n}", f"agent:agent-{n}:main", 0.7, 0.4, 3, 1, now, [], seen
        )
        for n in range(SESSIONS)
    }
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder:
        store, times = FileStandings(Path(folder)), Times()
        times.take("write", lambda: store.save(many))
        store.close()
        one = dict([next(iter(many.items()))])
        for _ in range(100):
            times.take("one", lambda: store.save(one))
        store.close()
        read = times.take("read", FileStandings(Path(folder)).load)
        size = sum(path.stat().st_size for path in store.path.parent.iterdir()) / 1e6
    assert len(read) == SESSIONS, len(read)
    return [
        Figure(f"{SESSIONS} standings written", times.p50("write") / 1e3, "ms", f"{size:.0f} MB on disk"),
        Figure(f"{SESSIONS} standings read back", times.p50("read") / 1e3, "ms"),
        Figure("one standing written, p50", times.p50("one") / 1e3, "ms", f"p99 {times.p99('one') / 1e3:.2f} ms"),
    ]
