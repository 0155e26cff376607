"""The courier: a process between an engine and the fleet's database. The engine never waits for the network; this process
does, with a deadline for each question.

It ends when its standard input does, and so with its engine, however that one died. Its tasks beside the questions are
`TASKS`; one that fails begins again and disturbs no other. Each connection counts as often as a fleet has gateways: so
`sync` and the policy share one that stays open. Questions about held calls have one of their own, because a slow `sync` must
not use up their deadline, and so has what is shipped. Both are open only while they are in use.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path

from toolguard_engine.stores.fleet import fleet_identity
from toolguard_engine.stores.fleet import pipe_messages as messages
from toolguard_engine.stores.fleet.fleet_identity import FleetIdentity
from toolguard_engine.stores.locked import StoreError
from toolguard_fleet.deadline_connection import DeadlineConnection, one_line
from toolguard_fleet.engine_pipe import EnginePipe
from toolguard_fleet.fleet_errors import FleetError
from toolguard_fleet.hold_questions import HoldQuestions
from toolguard_fleet.person_access import CHANNEL
from toolguard_fleet.policy_follower import follow_policy
from toolguard_fleet.shipping.run_shipping import ShippingReport, ShippingSettings, run_shipping
from toolguard_fleet.sync_loop import SyncLoop

LISTEN_SECONDS = 10.0
RESTART_SECONDS = 5.0
MAX_OPEN = 1_000
IDLE_SECONDS = 60.0
"""For which the connection of the questions stays open after the last one."""


@dataclass(frozen=True)
class Duty:
    """What each task is given. `connection`: the one of `sync` and the policy; `holds`: that of the questions. `news` passes
    something on to the engine."""

    begin: messages.Begin
    identity: FleetIdentity
    sync: SyncLoop
    connection: DeadlineConnection
    holds: DeadlineConnection
    news: Callable[[messages.News], None]

    @property
    def state_dir(self) -> Path:
        return Path(self.begin.state_dir)

    def connect(self, name: str) -> DeadlineConnection:
        return DeadlineConnection(self.begin.dsn, name)


async def _sync(duty: Duty) -> None:
    await duty.sync.run()


async def _listen(duty: Duty) -> None:
    """A hint to ask at once, and nothing more: what it says is not believed."""
    if not duty.begin.listen:
        return
    connection = duty.connect("listen")
    while True:
        try:
            await connection.listen(CHANNEL, duty.sync.hint, LISTEN_SECONDS)
        except FleetError:
            await asyncio.sleep(RESTART_SECONDS)


async def _ship(duty: Duty) -> None:
    """What waits here, and why, is shown with the state of the fleet."""
    begin = duty.begin
    path = Path(begin.metrics_path) if begin.metrics_path else None
    settings = ShippingSettings(begin.ship_audit, begin.ship_metrics, path)

    def report(now: ShippingReport) -> None:
        duty.sync.queue[now.kind] = now.behind
        duty.sync.shipping_errors.pop(now.kind, None)
        if now.error:
            duty.sync.shipping_errors[now.kind] = now.error

    await run_shipping(duty.connect, duty.identity, duty.state_dir, settings, report, asyncio.Event())


async def _close_idle(duty: Duty) -> None:
    while True:
        await asyncio.sleep(IDLE_SECONDS / 2)
        await duty.holds.close_idle(IDLE_SECONDS)


TASKS: list[Callable[[Duty], Awaitable[None]]] = [_sync, _listen, _ship, _close_idle, follow_policy]
"""Those that run beside the questions. One that returns is done."""


async def serve(pipe: EnginePipe) -> None:
    """Returns when the engine is gone."""
    writing = asyncio.ensure_future(pipe.write())
    incoming = pipe.read()
    begin = await anext(incoming, None)
    if not isinstance(begin, messages.Begin) or begin.v != messages.VERSION:
        return
    try:
        identity = fleet_identity.load(Path(begin.state_dir))
    except StoreError as error:
        pipe.send(messages.FleetStatus(error=str(error)))
        await asyncio.sleep(RESTART_SECONDS)
        return
    shared = DeadlineConnection(begin.dsn, "gateway")
    sync = SyncLoop(shared, identity, Path(begin.state_dir), begin.version, pipe.send)
    duty = Duty(begin, identity, sync, shared, DeadlineConnection(begin.dsn, "holds"), pipe.send)
    questions = HoldQuestions(duty.holds, identity)
    beside = {writing, *(asyncio.ensure_future(_kept_up(task, duty)) for task in TASKS)}
    open_questions: set[asyncio.Future[None]] = set()
    async for message in incoming:
        if isinstance(message, messages.Waiting):
            sync.wait_for(message.nonces)
        elif not isinstance(message, messages.Begin) and len(open_questions) < MAX_OPEN:
            asked = asyncio.ensure_future(_answer(questions, message, pipe))
            open_questions.add(asked)
            asked.add_done_callback(open_questions.discard)
    for running in beside:
        running.cancel()


async def _answer(questions: HoldQuestions, question: messages.Question, pipe: EnginePipe) -> None:
    try:
        pipe.send(await questions.answer(question))
    except Exception as error:  # noqa: BLE001 - no answer at all would be silence
        pipe.send(messages.AwayAnswer(question.id, f"the courier failed: {type(error).__name__}: {one_line(error)}"))


async def _kept_up(task: Callable[[Duty], Awaitable[None]], duty: Duty) -> None:
    while True:
        try:
            return await task(duty)
        except Exception:  # noqa: BLE001 - a bug in one task must not end the others
            await asyncio.sleep(RESTART_SECONDS)
