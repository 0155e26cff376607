"""A target on one of the gateway's own channels: the gateway part sends it, in the gateway's process.

The process asks on its standard output (`send {...}`) and is answered on its standard input (`sent {...}`).
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from queue import Empty, Queue

import msgspec

from toolguard_cli.notify.delivery import Delivery, OutgoingMessage, failed
from toolguard_engine.config.settings import NotifyTarget

SECONDS = 50.0
ALONE = Delivery("only the gateway can send on its channels; start it, then try again")


class _Answer(msgspec.Struct):
    key: str
    error: str = ""


class GatewayLine:
    """The line to the gateway part, shared by all targets. `say`: prints one line."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._lock = threading.Lock()
        self._open: dict[str, Queue[str]] = {}

    def ask(self, request: dict[str, str], limit: float = SECONDS) -> str | None:
        """The error; empty if it was sent, None without an answer."""
        box: Queue[str] = Queue(1)
        with self._lock:
            self._open[request["key"]] = box
            self._say(f"send {json.dumps(request)}")
        try:
            return box.get(timeout=limit)
        except Empty:
            return None
        finally:
            with self._lock:
                self._open.pop(request["key"], None)

    def answered(self, line: str) -> None:
        """A line from the gateway part; others than answers are ignored."""
        word, _, rest = line.partition(" ")
        if word != "sent":
            return
        try:
            answer = msgspec.json.decode(rest, type=_Answer)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return
        with self._lock:
            box = self._open.pop(answer.key, None)
        if box is not None:
            box.put(answer.error)


class ChannelTarget:
    def __init__(self, target: NotifyTarget, line: GatewayLine | None) -> None:
        self._target = target
        self._line = line

    def send(self, message: OutgoingMessage) -> Delivery:
        if self._line is None:
            return ALONE
        account = self._target.account if isinstance(self._target.account, str) else ""
        whom = {"channel": str(self._target.channel), "to": str(self._target.to), "account": account}
        error = self._line.ask({"key": message.key, **whom, "text": f"{message.title}\n{message.text}"})
        if error is None:
            return failed("the gateway did not answer")
        return failed(error) if error else Delivery()
