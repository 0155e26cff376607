"""What the engine says: answers, and lines for the gateway's log."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from toolguard_engine.server.outbox import fault
from toolguard_engine.server.pipe import Pipe
from toolguard_engine.wire import messages as protocol

MAX_COMPLAINTS = 100


class Output:
    """Writes messages. Every method may raise `BrokenPipeError`: the gateway is gone."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._complaints: set[str] = set()

    def write(self, encoded: bytes) -> None:
        self._pipe.write(encoded)

    def send(self, message: protocol.Wire) -> None:
        self.write(protocol.encode(message))

    def send_all(self, messages: Iterable[protocol.Wire]) -> None:
        for message in messages:
            self.send(message)

    def complain(self, text: str) -> None:
        """A warning in the gateway's log, once per text; nothing where the text is empty."""
        if text and text not in self._complaints and len(self._complaints) < MAX_COMPLAINTS:
            self._complaints.add(text)
            self.send(protocol.Log("warn", text))

    def forget_complaints(self) -> None:
        """Forgets the complaints: from here on each text is worth saying again."""
        self._complaints.clear()

    def safely(self, step: Callable[[], object]) -> None:
        """Runs a step beside the answers: a bug in it must not end the engine, which would be silence for every session."""
        try:
            step()
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - reported, and the engine goes on
            self.complain(f"{fault(error)}; please report this")
