"""Asks the database without a courier, for commands and the dashboard on a gateway's machine: each question has a connection
of its own, and the same deadline as one of the engine."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

from toolguard_engine.stores.fleet import pipe_messages as messages
from toolguard_engine.stores.fleet.courier_link import FleetAwayError, error_of
from toolguard_engine.stores.fleet.fleet_identity import FleetIdentity
from toolguard_fleet.deadline_connection import DeadlineConnection
from toolguard_fleet.hold_questions import HoldQuestions

SLACK = 1.0
"""Seconds behind the deadline for which the thread may need to say so."""


class DirectLink:
    """See `fleet_setup.Link`. It asks in a thread, because its caller may have an event loop of its own."""

    def __init__(self, dsn: str, identity: Callable[[], FleetIdentity]) -> None:
        self._dsn = dsn
        self._identity = identity

    def ask(self, make: Callable[[int, float], messages.Question], seconds: float) -> messages.Answer:
        question, identity = make(1, seconds), self._identity()
        answers: list[messages.Answer] = []
        asking = threading.Thread(target=lambda: answers.append(asyncio.run(self._asked(question, identity))), daemon=True)
        asking.start()
        asking.join(seconds + SLACK)
        if not answers:
            raise FleetAwayError("the fleet's database does not answer; try again later")
        if isinstance(answers[0], messages.AwayAnswer):
            raise error_of(answers[0])
        return answers[0]

    async def _asked(self, question: messages.Question, identity: FleetIdentity) -> messages.Answer:
        connection = DeadlineConnection(self._dsn, "command")
        try:
            return await HoldQuestions(connection, identity).answer(question)
        finally:
            await connection.close()

    def wait_for(self, nonces: tuple[str, ...]) -> None:
        """Whoever asks directly waits for nothing."""
