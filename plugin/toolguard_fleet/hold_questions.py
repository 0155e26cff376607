"""Answers the engine's questions about held calls from the database."""

from __future__ import annotations

from typing import Any

import msgspec

from toolguard_engine.stores.fleet import pipe_messages as messages
from toolguard_engine.stores.fleet.fleet_identity import FleetIdentity
from toolguard_fleet.deadline_connection import DeadlineConnection
from toolguard_fleet.fleet_errors import BusyError, FleetError, UnreachableError

PRESENT = "SELECT fleet.present(%s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s, %s)"
CLOSE = "SELECT fleet.close(%s, %s, %s, %s, %s, %s, %s)"
GIVE_BACK = "SELECT fleet.give_back(%s, %s, %s, %s)"
MOVE_END = "SELECT fleet.move_end(%s, %s, %s, %s)"
ENTRIES = "SELECT fleet.entries(%s, %s)"


class HoldQuestions:
    """Never raises: a question that cannot be answered gets an `AwayAnswer`."""

    def __init__(self, connection: DeadlineConnection, identity: FleetIdentity) -> None:
        self._connection = connection
        self._who = (identity.id, identity.token)

    async def answer(self, question: messages.Question) -> messages.Answer:
        try:
            return await self._answer(question)
        except FleetError as error:
            is_refusal = not isinstance(error, UnreachableError | BusyError)
            return messages.AwayAnswer(question.id, str(error), is_refusal=is_refusal)
        except msgspec.ValidationError as error:
            return messages.AwayAnswer(question.id, f"the fleet's database returned an unexpected answer: {error}")

    async def _answer(self, question: messages.Question) -> messages.Answer:
        match question:
            case messages.Present():
                arguments = (
                    question.attempt, question.nonce, question.binding, question.session, question.requester,
                    question.digest, question.entry, question.wait, question.need, list(question.need_teams),
                    question.window,
                )  # fmt: skip
                answer = await self._connection.call(PRESENT, (*self._who, *arguments), question.seconds, at_once=True)
                return msgspec.convert({**answer, "type": "presented", "id": question.id}, messages.PresentAnswer)
            case messages.Close():
                words = (question.nonce, question.status, question.by, question.where, question.why)
                return await self._done(CLOSE, words, question)
            case messages.GiveBack():
                return await self._done(GIVE_BACK, (question.nonce, question.attempt), question)
            case messages.MoveEnd():
                return await self._done(MOVE_END, (question.nonce, question.left), question)
            case messages.Entries():
                answer = await self._connection.call(ENTRIES, self._who, question.seconds, at_once=True)
                rows = [row for row in (*answer["open"], *answer["closed"]) if row["entry"] is not None]
                entries = msgspec.convert([_renamed(row) for row in rows], tuple[messages.FleetEntry, ...])
                return messages.EntriesAnswer(question.id, entries)

    async def _done(self, statement: Any, arguments: tuple[Any, ...], question: messages.Question) -> messages.Answer:
        answer = await self._connection.call(statement, (*self._who, *arguments), question.seconds, at_once=True)
        return messages.DoneAnswer(question.id, answer is not None)


def _renamed(row: dict[str, Any]) -> dict[str, Any]:
    return {**row, "decided": row.get("at") or 0.0}
