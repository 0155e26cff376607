"""What an engine is made of, and with which settings: the only place that constructs its parts."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from toolguard_engine.model.work_timer import WorkTimer
from toolguard_engine.rules import packs
from toolguard_engine.server import preload, tool_hints
from toolguard_engine.server.clock import Clock, SystemClock
from toolguard_engine.server.command_rooms import CommandRooms
from toolguard_engine.server.engine_context import Context, Intervals
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.held_calls_step import HeldCalls
from toolguard_engine.server.install_paths import links_to, own_places, package_of
from toolguard_engine.server.loop import Engine, Parts
from toolguard_engine.server.metrics_step import Metrics
from toolguard_engine.server.output import Output
from toolguard_engine.server.pipe import Pipe
from toolguard_engine.server.policy_step import Includes, PolicyWatch
from toolguard_engine.server.published_engine import Published
from toolguard_engine.server.records_step import Records
from toolguard_engine.server.secrets_step import SecretsWatch
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.server.settings_step import SettingsWatch
from toolguard_engine.server.store_queue import StoreQueue, StoreThread, Worker
from toolguard_engine.server.tool_watch import ToolWatch
from toolguard_engine.server.undo_saver import UndoSaver


def _nothing() -> None:
    pass


def engine(
    pipe: Pipe,
    clock: Clock | None = None,
    intervals: Intervals | None = None,
    worker: Worker | None = None,
    when_warm: Callable[[], object] = _nothing,
    timer: WorkTimer | None = None,
) -> Engine:
    """An engine that has not been greeted yet, by default on the clock of this machine and with a thread for the stores.
    `timer`: stops readings, if something ticks it."""
    preload.load()
    clock = clock or SystemClock()
    intervals = intervals or Intervals()
    output, includes = Output(pipe), Includes()
    queue = StoreQueue(worker or StoreThread(), clock, output.safely, intervals.answer)
    timer = timer or WorkTimer()
    timer.is_awaited = lambda: pipe.ready(0.0)
    held = HeldCalls(output, clock, queue, intervals.poll)
    context = Context(_session(clock, includes, held, queue, timer), output, queue, clock, intervals)
    records = Records(context)
    return Engine(
        Parts(
            pipe=pipe,
            context=context,
            held=held,
            policy=PolicyWatch(context, includes, held.fleet_stop),
            records=records,
            settings=SettingsWatch(context, records),
            secrets=SecretsWatch(context),
            metrics=Metrics(context, held),
            published=Published(context, records),
            tools=ToolWatch(context),
        ),
        when_warm,
    )


def _session(clock: Clock, includes: Includes, held: HeldCalls, queue: StoreQueue, timer: WorkTimer) -> Session:
    return Session(
        Setup(
            hints=tool_hints.load(),
            clock=clock.now,
            timer=timer,
            pid=os.getpid(),
            book=packs.load(),
            home=str(Path.home()),
            guarded=own_places(),
            included=includes.read,
            links=links_to,
            package=package_of,
            open_approvals=held.open,
            files=FileReader(timer=timer),
            queue=queue,
            environment=dict(os.environ),
            take_note=held.take_note,
            rooms=CommandRooms(os.environ),
            undo=UndoSaver(),
        )
    )
