"""What every part of the server is given: the session, the output, the queue, the clock, and how often things are done."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from toolguard_engine.metrics.model_calls import WAIT_SECONDS
from toolguard_engine.server.clock import Clock
from toolguard_engine.server.output import Output
from toolguard_engine.server.session import Session
from toolguard_engine.server.store_queue import ANSWER_SECONDS, StoreQueue
from toolguard_engine.stores.values import KILL_SWITCH_SECONDS
from toolguard_engine.wire import messages


@dataclass(frozen=True)
class Intervals:
    """Intervals in seconds."""

    publish: float = 1.0
    """Between two writes of the engine's own files, while there is news."""
    retry: float = 0.5
    """Until what could not be written or read is tried again."""
    rules: float = 1.0
    """Between two looks at whether the person's own rules, or the files of the gateway's config, were changed."""
    switch: float = KILL_SWITCH_SECONDS
    """Between two looks at the kill switch."""
    sweep: float = 60.0
    """Between two looks for what has been idle for long."""
    record: float = WAIT_SECONDS + 0.1
    """Of silence, after which nothing more is waited for of model calls that were reported in part."""
    poll: float = 0.2
    """Between two looks at the store of held calls, while calls wait."""
    answer: float = ANSWER_SECONDS
    """Within which a question is answered, whether or not the store has answered by then."""


class Context(Struct, frozen=True):
    session: Session
    output: Output
    queue: StoreQueue
    clock: Clock
    intervals: Intervals

    @property
    def hello(self) -> messages.Hello:
        assert self.session.hello is not None  # noqa: S101 - only used after hello
        return self.session.hello

    @property
    def state_dir(self) -> Path:
        return Path(self.hello.state_dir)
