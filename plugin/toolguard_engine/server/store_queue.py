"""Work with stores, beside the loop: another process may hold a lock for long, and a disk may be slow.

One thread does it, in the order in which it was asked for. Only `work` and `behind` of a job run there; everything else runs
in the loop, between two messages. A job that has not begun within its time is not begun any more. One that ends after its
time is late: what it did to the store is done, and `late` says what follows.
"""

from __future__ import annotations

import math
import os
import threading
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from queue import SimpleQueue
from typing import Any, Generic, Protocol, TypeVar

from msgspec import Struct

from toolguard_engine.server.clock import Clock, SystemClock
from toolguard_engine.stores import decode_first

ANSWER_SECONDS = 1.5
"""By default; see `Intervals.answer`."""
MAX_OPEN = 1_000
"""Questions that wait for the store. One more is answered as if its time were over."""

T = TypeVar("T")


def nothing(*_: object) -> None:
    """What follows where nothing does."""


class StoreJob(Struct, Generic[T], eq=False):
    """`work` and `behind` run in the thread, `behind` after the loop was told of the result; the others run in the loop.

    `overdue`: its time is over, and it is not done. `late`: it was done all the same.
    """

    work: Callable[[], T]
    done: Callable[[T], None]
    failed: Callable[[Exception], None]
    overdue: Callable[[], None] = nothing
    late: Callable[[T], None] = nothing
    behind: Callable[[], None] = nothing
    seconds: float = math.inf
    always: bool = False
    """It is begun also after its time: what it enters has happened."""
    deadline: float = math.inf
    is_overdue: bool = False
    follow: Callable[[], None] | None = None
    """What follows from it, once it has run."""

    def run(self) -> None:
        """Runs in the thread."""
        if self.is_overdue and not self.always:
            self.follow = nothing
            return
        try:
            result = self.work()
        except Exception as error:  # noqa: BLE001 - the loop is told
            failure = error
            self.follow = lambda: None if self.is_overdue else self.failed(failure)
        else:
            self.follow = lambda: self.late(result) if self.is_overdue else self.done(result)

    def follow_up(self) -> None:
        """Follows up in the thread. What cannot be done now is done with the next change."""
        with suppress(Exception):
            self.behind()


class Worker(Protocol):
    """Runs jobs in the order in which they were given."""

    def submit(self, job: StoreJob[Any]) -> None: ...

    def take(self) -> list[StoreJob[Any]]:
        """Those that have run, each once."""

    def fileno(self) -> int:
        """Returns a descriptor that is readable when a job has run; negative where `submit` runs it at once."""

    def drain(self) -> None:
        """What made it readable was seen."""

    def close(self, seconds: float) -> None:
        """Runs what was given, for no longer than that."""


class AtOnce:
    """A worker for those who wait anyway."""

    def __init__(self) -> None:
        self._finished: list[StoreJob[Any]] = []

    def submit(self, job: StoreJob[Any]) -> None:
        job.run()
        self._finished.append(job)
        job.follow_up()

    def take(self) -> list[StoreJob[Any]]:
        taken, self._finished = self._finished, []
        return taken

    def fileno(self) -> int:
        return -1

    def drain(self) -> None: ...

    def close(self, seconds: float) -> None: ...


class StoreThread:
    """The thread; it begins with its first job. It keeps no process from ending."""

    def __init__(self) -> None:
        self._jobs: SimpleQueue[StoreJob[Any] | None] = SimpleQueue()
        self._finished: deque[StoreJob[Any]] = deque()
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._readable, self._signal = os.pipe()
        os.set_blocking(self._readable, False)
        os.set_blocking(self._signal, False)

    def submit(self, job: StoreJob[Any]) -> None:
        if self._is_closed:
            self._run_last(job)
            return
        self._jobs.put(job)
        self._begin()

    def _begin(self) -> None:
        """A thread that cannot be started is tried again with the next job, and whenever the loop looks."""
        if self._thread is not None:
            return
        decode_first.read_stored()
        thread = threading.Thread(target=self._run, name="stores", daemon=True)
        with suppress(RuntimeError, MemoryError):  # the system has none left
            thread.start()
            self._thread = thread

    def _run(self) -> None:
        while (job := self._jobs.get()) is not None:
            job.run()
            self._finished.append(job)
            with suppress(BlockingIOError):  # full: it is readable as it is
                os.write(self._signal, b".")
            job.follow_up()

    def take(self) -> list[StoreJob[Any]]:
        if not (self._is_closed or self._jobs.empty()):
            self._begin()
        return [self._finished.popleft() for _ in range(len(self._finished))]

    def fileno(self) -> int:
        return self._readable

    def drain(self) -> None:
        with suppress(BlockingIOError):
            os.read(self._readable, 4096)

    def _run_last(self, job: StoreJob[Any]) -> None:
        """What follows from the last jobs. Nothing more is begun behind one that hangs."""
        if self._thread is None or not self._thread.is_alive():
            job.run()
            self._finished.append(job)

    def close(self, seconds: float) -> None:
        self._is_closed = True
        if self._thread is not None:
            self._jobs.put(None)
            self._thread.join(seconds)
            return
        while not self._jobs.empty():
            if job := self._jobs.get():
                self._run_last(job)


class StoreQueue:
    """The jobs of one engine, as the loop sees them. `safely` runs what follows from one: a bug in it stops no other."""

    def __init__(
        self, worker: Worker, clock: Clock, safely: Callable[[Callable[[], object]], None],
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:  # fmt: skip
        self.answer_seconds = answer_seconds
        self._worker = worker
        self._clock = clock
        self._safely = safely
        self._open: dict[StoreJob[Any], None] = {}
        self._timed: deque[StoreJob[Any]] = deque()
        """Those with a time, the first to end first: all have the same."""
        self._finished: list[StoreJob[Any]] = []

    def do(self, job: StoreJob[Any]) -> None:
        if len(self._open) >= MAX_OPEN and job.seconds < math.inf and not job.always:
            job.is_overdue = True
            job.overdue()
            return
        self._open[job] = None
        if job.seconds < math.inf:
            job.deadline = self._clock.monotonic() + job.seconds
            self._timed.append(job)
        self._worker.submit(job)

    @property
    def is_busy(self) -> bool:
        return bool(self._open)

    @property
    def next(self) -> float:
        """When the time of a job ends, by the monotonic clock."""
        while self._timed and (self._timed[0].is_overdue or self._timed[0].follow):
            self._timed.popleft()
        return self._timed[0].deadline if self._timed else math.inf

    def fileno(self) -> int:
        return self._worker.fileno()

    def drain(self) -> None:
        self._worker.drain()

    def has_news(self) -> bool:
        """Whether a job has run, or its time is over."""
        if not self._open:
            return False
        self._finished += self._worker.take()
        return bool(self._finished) or self.next <= self._clock.monotonic()

    def settle(self) -> None:
        """Does what follows from those jobs."""
        while self._open and self.has_news():
            finished, self._finished = self._finished, []
            for job in finished:
                self._open.pop(job, None)
                self._safely(job.follow or nothing)
            self._expire(self._clock.monotonic())

    def _expire(self, now: float) -> None:
        while (due := self.next) <= now and due < math.inf:
            job = self._timed.popleft()
            job.is_overdue = True
            self._safely(job.overdue)

    def close(self, seconds: float) -> None:
        """The time of all is over. What runs may end within so many seconds."""
        self._expire(math.inf)
        self._worker.close(seconds)
        self.settle()


def at_once() -> StoreQueue:
    """A queue whose jobs run when they are given; `settle` does what follows."""
    return StoreQueue(AtOnce(), SystemClock(), _plainly)


def _plainly(step: Callable[[], object]) -> None:
    step()
