"""The person at the gateway: an operator client of its WebSocket.

The gateway takes JSON frames: `{type: "req", id, method, params}` is answered by `{type: "res", id, ok, payload | error}`,
and `{type: "event", event, payload}` comes unasked. What a client may do is said by its scopes when it connects.
"""

from __future__ import annotations

import json
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Self

from websockets.exceptions import ConnectionClosed

from chat_confirmation import confirmed
from operator_process import OperatorProcess
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_engine.server.person import AWAY

OWNER = ("operator.admin", "operator.approvals", "operator.read", "operator.write")
APPROVER = ("operator.approvals", "operator.read", "operator.write")
"""May decide on the gateway's own prompts, and is nobody's owner."""

WRITER = ("operator.write",)
CAN_BE_ASKED = ("plugin-approvals",)

PROTOCOL = 4
STARTING = "startup-sidecars"
START_SECONDS = 300
CALL_SECONDS = 300
REPLY_SECONDS = 600
LOOK = "/toolguard pending"
SECOND_REPLY_SECONDS = 300
"""A run that was stopped ends twice: once without a word, then with the notice that the person sees."""

_ENDS = frozenset({"final", "error", "aborted"})


class GatewayError(Exception):
    """The gateway refused a request; the text is its error as JSON."""


class Operator:
    """One connection. Use it as a context manager."""

    def __init__(self, home: Home, scopes: tuple[str, ...] = OWNER, caps: tuple[str, ...] = ()) -> None:
        self.events: list[dict[str, Any]] = []
        self._decide: Callable[[dict[str, Any]], str] | None = None
        self._answers: dict[str, queue.Queue[dict[str, Any]]] = {}
        self._news = threading.Condition()
        self._socket, self.hello = self._connected(home, scopes, caps)

    def _connected(self, home: Home, scopes: tuple[str, ...], caps: tuple[str, ...]) -> tuple[Any, Any]:
        """The gateway answers HTTP before it takes operators: it says so and closes."""
        client = {"id": "gateway-client", "version": "1.0.0", "platform": "linux", "mode": "backend"}
        params = {
            "minProtocol": PROTOCOL, "maxProtocol": PROTOCOL, "client": client, "role": "operator",
            "scopes": list(scopes), "caps": list(caps), "auth": {"token": home.token},
        }  # fmt: skip
        limit = time.monotonic() + START_SECONDS
        while True:
            self._socket = OperatorProcess(f"ws://127.0.0.1:{home.port}")
            self._reader = threading.Thread(target=self._read, args=(self._socket,), daemon=True)
            self._reader.start()
            try:
                return self._socket, self.call("connect", params)
            except GatewayError as error:
                self.close()
                if STARTING not in str(error) or time.monotonic() > limit:
                    raise
                time.sleep(0.3)

    def call(self, method: str, params: dict[str, Any], limit: float = CALL_SECONDS) -> Any:
        """One request. Raises `GatewayError`."""
        name = str(uuid.uuid4())
        answer = self._answers[name] = queue.Queue()
        self._send(name, method, params)
        try:
            frame = answer.get(timeout=limit)
        except queue.Empty:
            raise GatewayError(f"no answer to {method} within {limit} s") from None
        finally:
            del self._answers[name]
        if not frame.get("ok"):
            raise GatewayError(json.dumps(frame.get("error")))
        return frame.get("payload")

    def chat(self, session: str, text: str, limit: float = REPLY_SECONDS) -> str:
        """Sends a message as in the gateway's own chat; the text of the reply, or of the notice that stands for it."""
        while (reply := self._answer(session, text, limit)) == AWAY and text == LOOK:
            pass  # the store was late on a busy machine, and whoever only looks may look again
        return reply

    def _answer(self, session: str, text: str, limit: float) -> str:
        name = str(uuid.uuid4())
        self.call("chat.send", {"sessionKey": session, "message": text, "idempotencyKey": name})

        def ends(payload: dict[str, Any]) -> bool:
            return payload.get("runId") == name and payload.get("state") in _ENDS

        first = self.event("chat", ends, limit)
        if said(first):
            return said(first)
        return said(self.event("chat", lambda payload: ends(payload) and bool(said(payload)), SECOND_REPLY_SECONDS))

    def approve(self, session: str, nonce: str, why: str = "") -> str:
        """The call is shown, and approved with the code below it."""
        in_chat = lambda words: self.chat(session, f"/toolguard approve {nonce} {words}".strip())  # noqa: E731
        return confirmed(in_chat, why, text=str)

    def event(self, name: str, fits: Callable[[dict[str, Any]], bool], limit: float = REPLY_SECONDS) -> dict[str, Any]:
        """The payload of the first event of this name that fits, waited for."""
        found: list[dict[str, Any]] = []

        def came() -> bool:
            found[:] = [payload for payload in self.payloads(name) if fits(payload)]
            return bool(found)

        with self._news:
            assert self._news.wait_for(came, limit), f"no event {name} that fits within {limit} s"
        return found[0]

    def payloads(self, name: str) -> list[dict[str, Any]]:
        """What the events of this name said so far."""
        return [frame["payload"] for frame in list(self.events) if frame["event"] == name]

    @contextmanager
    def deciding(self, decision: str) -> Iterator[list[dict[str, Any]]]:
        """Answers every prompt at once like this; the list is filled with the prompts."""
        with self.watching(lambda _: decision) as asked:
            yield asked

    @contextmanager
    def watching(self, decide: Callable[[dict[str, Any]], str]) -> Iterator[list[dict[str, Any]]]:
        """Answers every prompt with what this returns, if that is not empty."""
        asked: list[dict[str, Any]] = []
        self._decide = lambda prompt: asked.append(prompt) or decide(prompt)
        try:
            yield asked
        finally:
            self._decide = None

    def close(self) -> None:
        self._socket.close()
        self._reader.join(CALL_SECONDS)

    def _send(self, name: str, method: str, params: dict[str, Any]) -> None:
        try:
            self._socket.send(json.dumps({"type": "req", "id": name, "method": method, "params": params}))
        except ConnectionClosed as error:
            raise GatewayError(str(error)) from error

    def _read(self, connection: Any) -> None:
        try:
            for text in connection:
                self._take(json.loads(text))
        except ConnectionClosed:
            pass
        for waiting in list(self._answers.values()):
            waiting.put({"ok": False, "error": {"message": "the connection was closed"}})

    def _take(self, frame: dict[str, Any]) -> None:
        if frame.get("type") == "res":
            if waiting := self._answers.get(frame["id"]):
                waiting.put(frame)
        elif frame.get("type") == "event":
            with self._news:
                self.events.append(frame)
                self._news.notify_all()
            asks = frame["event"] == "plugin.approval.requested" and self._decide
            if asks and (decision := asks(frame["payload"])):
                answer = {"id": frame["payload"]["id"], "decision": decision}
                self._send(str(uuid.uuid4()), "plugin.approval.resolve", answer)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


def said(payload: dict[str, Any]) -> str:
    """The text that a chat event shows."""
    message = payload.get("message") or {}
    return scripted_model.content_text(message.get("content")) or str(payload.get("errorMessage", ""))
