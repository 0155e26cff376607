"""Many gateways in one process, by the courier's own code: its sync loop, its questions about held calls, its connections.

A worker reads its task from standard input as JSON, runs it, and prints what it measured as JSON. What a gateway ships is
made here, chained by the engine's code; files are not read. Signatures are not verified: that is the engine's work.
"""

from __future__ import annotations

import asyncio
import json
import random
import secrets
import sys
import time
from collections import Counter, defaultdict
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, LiteralString

import msgspec
from psycopg import AsyncConnection
from psycopg.types.json import Jsonb

from toolguard_engine.stores.audit_log import AuditEvent, when
from toolguard_engine.stores.files.audit_log_file import chained
from toolguard_engine.stores.fleet.fleet_identity import FleetIdentity
from toolguard_engine.stores.fleet.pipe_messages import AwayAnswer, HoldDecided, News, Present, PresentAnswer
from toolguard_fleet.deadline_connection import DeadlineConnection
from toolguard_fleet.fleet_errors import FleetError
from toolguard_fleet.hold_questions import HoldQuestions
from toolguard_fleet.shipping.gateway_connection import GatewayConnection
from toolguard_fleet.sync_loop import SyncLoop

SHOWN = "exec rm -rf ./build && npm run deploy -- --target staging --region eu-west-1 --note " + "x" * 120
SHIP_SECONDS, IDLE_CLOSES, SUM_SECONDS = 2.0, 30.0, 60.0
DECIDED_LIMIT = 120.0
DECIDE = "SELECT fleet.decide(%s, %s, 'approved', %s, %s, '')"
DEADLINE = 10.0
"""More than a courier gives, so that a slow answer is measured and not counted as lost."""


class Task(msgspec.Struct):
    """`gateways`: id, token in hex. `holds`, `rows`, `lines`: of all of them together, in a second. `ramp`: seconds in which
    they appear one after another."""

    dsn: str
    person: str
    gateways: list[tuple[str, str]]
    folder: str
    seconds: float
    ramp: float
    holds: float
    rows: float
    lines: float


class Tally:
    def __init__(self) -> None:
        self.times: dict[str, list[float]] = defaultdict(list)
        self.counts: Counter[str] = Counter()
        self.errors: Counter[str] = Counter()


class TimedConnection(DeadlineConnection):
    """Times are by function of the database."""

    def __init__(self, dsn: str, name: str, tally: Tally) -> None:
        super().__init__(dsn, name)
        self._tally = tally

    async def call(
        self, statement: LiteralString, arguments: tuple[Any, ...], seconds: float, *, at_once: bool = False
    ) -> Any:
        kind = statement.partition("(")[0].rpartition(".")[2]
        begun = time.perf_counter()
        try:
            found = await super().call(statement, arguments, max(seconds, DEADLINE), at_once=at_once)
        except FleetError as error:
            self._tally.errors[f"{kind}: {error}"] += 1
            raise
        self._tally.times[kind].append(time.perf_counter() - begun)
        return found

    async def _connect(self) -> AsyncConnection[Any]:
        begun = time.perf_counter()
        connection = await super()._connect()
        self._tally.times["connect"].append(time.perf_counter() - begun)
        return connection


@dataclass
class Chain:
    seq: int = 0
    last: str = "0" * 64
    name: str = ""

    def add(self) -> bytes:
        event = AuditEvent(
            secrets.token_hex(8), when(time.time()), "hold", "rule.delete-important", secrets.token_hex(6), "exec", "main",
            "agent:main:main", secrets.token_hex(16), shown=SHOWN,
        )  # fmt: skip
        line, self.last = chained(event, self.seq + 1, self.last)
        self.seq += 1
        self.name = self.name or self.last
        return line


class SimulatedGateway:
    def __init__(self, task: Task, identity: FleetIdentity, tally: Tally, decide: DeadlineConnection) -> None:
        self._tally, self._task, self._decide = tally, task, decide
        self._share = 1 / len(task.gateways)
        self.id = identity.id
        folder = Path(task.folder) / identity.id

        shared = TimedConnection(task.dsn, "gateway", tally)
        self._questions = HoldQuestions(shared, identity)
        self._sync = SyncLoop(shared, identity, folder, "1.0", self._take)
        self._shipping = GatewayConnection(TimedConnection(task.dsn, "shipping", tally), identity.id, identity.token)
        self._waiting: dict[str, asyncio.Event] = {}
        self._chain, self._rows, self._stream = Chain(), 0, secrets.token_hex(8)
        self._unsent: list[bytes] = []
        self._summed_at = time.monotonic() - random.uniform(0, SUM_SECONDS)  # noqa: S311

    async def run(self) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(self._sync.run())
            group.create_task(self._ship())

    def _take(self, news: News) -> None:
        if isinstance(news, HoldDecided) and (event := self._waiting.get(news.nonce)):
            event.set()

    async def _present(self, binding: str, attempt: bytes) -> PresentAnswer | None:
        entry = json.dumps({"binding": binding, "shown": SHOWN, "filler": "x" * 300}).encode()
        question = Present(
            1, DEADLINE, attempt, secrets.token_hex(6), binding, "agent:main:main", "", sha256(entry).digest(), entry,
            3600.0, 600.0,
        )  # fmt: skip
        answer = await self._questions.answer(question)
        if isinstance(answer, AwayAnswer) or not isinstance(answer, PresentAnswer):
            self._tally.counts["holds without an answer"] += 1
            return None
        return answer

    async def hold(self) -> None:
        """One call: held, approved by a person, used."""
        binding = secrets.token_hex(32)
        begun = time.perf_counter()
        held = await self._present(binding, secrets.token_bytes(16))
        if held is None or held.outcome != "pending":
            self._tally.counts["holds that were not held"] += 1
            return
        decided = self._waiting[held.nonce] = asyncio.Event()
        self._sync.wait_for(tuple(self._waiting))
        try:
            await self._decide.call(DECIDE, (self.id, held.nonce, b"b" * 420, b"s" * 300), DEADLINE)
            at = time.perf_counter()
            async with asyncio.timeout(DECIDED_LIMIT):
                await decided.wait()
        except (FleetError, TimeoutError) as error:
            self._tally.errors[f"hold: {type(error).__name__} {error}"] += 1
            return
        finally:
            del self._waiting[held.nonce]
            self._sync.wait_for(tuple(self._waiting))
        used = await self._present(binding, secrets.token_bytes(16))
        if used is None or (used.outcome, used.nonce) != ("used", held.nonce):
            self._tally.counts["approvals that were not used"] += 1
            return
        self._tally.times["decided to used"].append(time.perf_counter() - at)
        self._tally.times["held to used"].append(time.perf_counter() - begun)
        self._tally.counts["holds used"] += 1

    async def _ship(self) -> None:
        while True:
            await asyncio.sleep(SHIP_SECONDS * random.uniform(0.75, 1.25))  # noqa: S311
            with suppress(FleetError):  # counted; lines are sent again
                await self._ship_once()

    async def _ship_once(self) -> None:
        now = time.monotonic()
        self._unsent += [self._chain.add() for _ in range(_poisson(self._task.lines * self._share * SHIP_SECONDS))]
        if lines := self._unsent[:500]:
            first = self._chain.seq - len(self._unsent) + 1
            function: LiteralString = "fleet.audit_append(%s, %s, %s, %s, %s::bytea[])"
            answer = await self._shipping.ask(function, self._chain.name, first, lines)
            if answer["outcome"] != "stored":
                self._tally.errors[f"audit: {answer['outcome']}"] += 1
            del self._unsent[: len(lines)]
            self._tally.counts["audit lines"] += len(lines)
        rows = _poisson(self._task.rows * self._share * SHIP_SECONDS)
        if rows:
            await self._shipping.ask("fleet.record(%s, %s, %s)", Jsonb(self._calls(rows), dumps=msgspec.json.encode))
            self._tally.counts["metrics rows"] += rows
        if now - self._summed_at > SUM_SECONDS:
            self._summed_at = now
            await self._shipping.ask("fleet.sum_up(%s, %s)")
        await self._shipping.close_idle(IDLE_CLOSES)

    def _calls(self, count: int) -> dict[str, Any]:
        first, at = self._rows + 1, int(time.time() * 1000)
        self._rows += count
        rows = [
            {
                "seq": seq, "at": at, "agent": "main", "session": f"agent:main:{seq % 20}", "channel": "chat",
                "provider": "anthropic", "model": "model", "input": 1200, "output": 300, "cache_read": 9000,
                "cache_write": 0, "total": 10500, "cost_usd": 0.0123, "estimated": False, "duration_ms": 2100,
                "outcome": "completed",
            }
            for seq in range(first, first + count)
        ]  # fmt: skip
        return {"stream": self._stream, "calls": rows, "verdicts": []}


def _poisson(mean: float) -> int:
    """Draw a Poisson number by the times between events."""
    count, at = 0, random.expovariate(1.0)
    while at < mean:
        count, at = count + 1, at + random.expovariate(1.0)
    return count


async def run(task: Task) -> dict[str, Any]:
    tally = Tally()
    persons = [TimedConnection(task.person, "decide", tally) for _ in range(4)]
    open_holds: set[asyncio.Task[None]] = set()
    running: list[asyncio.Task[None]] = []
    gateways: list[SimulatedGateway] = []
    for number, (name, token) in enumerate(task.gateways):
        identity = FleetIdentity(name, bytes.fromhex(token), "ops")
        gateways.append(SimulatedGateway(task, identity, tally, persons[number % len(persons)]))
        running.append(asyncio.create_task(gateways[-1].run()))
        await asyncio.sleep(task.ramp / len(task.gateways))
    running.append(asyncio.create_task(_measure_lag(tally)))
    tally.times.clear()  # what came before was the beginning
    until = time.monotonic() + task.seconds
    while time.monotonic() < until:
        await asyncio.sleep(random.expovariate(task.holds) if task.holds else 1.0)
        if task.holds:
            made = asyncio.create_task(random.choice(gateways).hold())  # noqa: S311
            open_holds.add(made)
            made.add_done_callback(open_holds.discard)
    tally.counts["waiting at the end"] = len(open_holds)
    await asyncio.gather(*open_holds)
    for each in running:
        each.cancel()
    await asyncio.gather(*running, return_exceptions=True)
    times = {kind: [round(each * 1000, 2) for each in found] for kind, found in tally.times.items()}
    return {"times": times, "counts": tally.counts, "errors": tally.errors.most_common(20)}


async def _measure_lag(tally: Tally) -> None:
    """How late this process itself is: what it measures of others is too long by so much."""
    while True:
        begun = time.perf_counter()
        await asyncio.sleep(0.1)
        tally.times["lag of the simulation"].append(time.perf_counter() - begun - 0.1)


if __name__ == "__main__":
    given = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    print(json.dumps(asyncio.run(run(given))))
