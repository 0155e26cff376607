"""`/ws`: sends events to every open page. One poll serves all pages; without a page nothing is polled."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress

import msgspec
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from toolguard_cli.dashboard.api_types import HelloEvent, StateEvent
from toolguard_cli.dashboard.change_feed import Watch
from toolguard_cli.dashboard.endpoint import encoded
from toolguard_cli.dashboard.request_context import Site, now_ms

MOST_CLIENTS = 50
MOST_GREETING = 100
MOST_WAITING = 500
POLL_SECONDS = 0.3
TICK_SECONDS = 5.0
STATE_SECONDS = 1.0
TOKEN_SECONDS = 5.0
CLOSE_SECONDS = 1.0
POLICY, TOO_LARGE, TROUBLE, LATER, MALFORMED, WRONG_TOKEN = 1008, 1009, 1011, 1013, 4400, 4401


class _First(msgspec.Struct):
    token: str = ""


class Client:
    """One open page. `trusted`: it sent the token. `code`: why it is to be closed; 0 while it is open."""

    def __init__(self) -> None:
        self.trusted = False
        self.queue: asyncio.Queue[str] = asyncio.Queue(MOST_WAITING)
        self.over = asyncio.Event()
        self.code = 0

    def put(self, text: str) -> None:
        """A page that does not keep up is disconnected; it reconnects and reloads."""
        try:
            self.queue.put_nowait(text)
        except asyncio.QueueFull:
            self.end(LATER)

    def end(self, code: int) -> None:
        self.code = self.code or code
        self.over.set()


class LiveFeed:
    def __init__(self, site: Site) -> None:
        self._site = site
        self._watch = Watch(site)
        self._thread = ThreadPoolExecutor(1, "watch")
        self._clients: set[Client] = set()
        self._greeting: dict[asyncio.Timeout, None] = {}
        self._joining = asyncio.Lock()
        self._poller: asyncio.Task[None] | None = None

    async def serve(self, socket: WebSocket) -> None:
        await socket.accept()
        client = Client()
        try:
            if not (code := await self._admit(socket, client)):
                await _serve(socket, client)
                code = client.code
            if code:
                await _close(socket, code)
        except WebSocketDisconnect:
            return
        finally:
            self._clients.discard(client)

    async def end(self) -> None:
        if self._poller is not None:
            self._poller.cancel()
            with suppress(asyncio.CancelledError):
                await self._poller
        self._thread.submit(self._watch.close)
        self._thread.shutdown(wait=True)

    async def _admit(self, socket: WebSocket, client: Client) -> int:
        """The close code if the page is rejected, else 0."""
        try:
            message = await self._first(socket)
        except TimeoutError:
            return POLICY
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1000))
        try:
            given = msgspec.json.decode(message.get("text") or "", type=_First).token
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            return MALFORMED
        trusted = bool(given) and self._site.door.opens(given.encode("utf-8", "replace"))
        if not trusted and (given or not self._site.door.local):
            return WRONG_TOKEN
        client.trusted = socket.scope["trusted"] = trusted
        async with self._joining:
            if not self._has_room(client):
                return LATER
            await self._join(client)
        return 0

    async def _first(self, socket: WebSocket) -> Message:
        """The first message. Connections that have not sent it do not count as pages; beyond `MOST_GREETING` the oldest of
        them is closed. Raises `TimeoutError`."""
        if len(self._greeting) >= MOST_GREETING:
            oldest = next(iter(self._greeting))
            del self._greeting[oldest]
            with suppress(RuntimeError):  # its time has just run out
                oldest.reschedule(0)
        async with asyncio.timeout(TOKEN_SECONDS) as limit:
            self._greeting[limit] = None
            try:
                return await socket.receive()
            finally:
                self._greeting.pop(limit, None)

    def _has_room(self, client: Client) -> bool:
        """A page with the token takes the place of one without."""
        if len(self._clients) < MOST_CLIENTS:
            return True
        untrusted = next((other for other in self._clients if client.trusted and not other.trusted), None)
        if untrusted is None:
            return False
        self._clients.remove(untrusted)
        untrusted.end(LATER)
        return True

    async def _join(self, client: Client) -> None:
        """The page gets every event from its greeting on, so that data it loads afterwards leaves no gap."""
        if self._poller is None or self._poller.done():
            await asyncio.get_running_loop().run_in_executor(self._thread, self._watch.begin)
        client.put(_text(HelloEvent(now_ms(), client.trusted)))
        client.put(_text(self._watch.held()))
        client.put(_text(self._watch.tick()))
        self._clients.add(client)
        if self._poller is None or self._poller.done():
            self._poller = asyncio.create_task(self._poll())

    async def _poll(self) -> None:
        loop, ticked, state_sent = asyncio.get_running_loop(), time.monotonic(), 0.0
        changed = False
        try:
            while self._clients:
                for event in await loop.run_in_executor(self._thread, self._watch.poll):
                    if isinstance(event, StateEvent):
                        changed = True
                    else:
                        self._broadcast(_text(event))
                if changed and time.monotonic() > state_sent + STATE_SECONDS:
                    self._broadcast(_text(StateEvent()))
                    changed, state_sent = False, time.monotonic()
                if time.monotonic() > ticked + TICK_SECONDS:
                    self._broadcast(_text(self._watch.tick()))
                    ticked = time.monotonic()
                await asyncio.sleep(POLL_SECONDS)
        finally:
            for client in self._clients:
                client.end(TROUBLE)

    def _broadcast(self, text: str) -> None:
        for client in self._clients:
            client.put(text)


async def _serve(socket: WebSocket, client: Client) -> None:
    """Runs until either side closes. Raises what the connection raises."""
    jobs = [asyncio.create_task(job) for job in (_send(socket, client), _receive(socket), _wait(client))]
    try:
        done, _ = await asyncio.wait(jobs, return_when=asyncio.FIRST_COMPLETED)
        for job in done:
            job.result()
    finally:
        for job in jobs:
            job.cancel()
        await asyncio.gather(*jobs, return_exceptions=True)


async def _send(socket: WebSocket, client: Client) -> None:
    while True:
        await socket.send_text(await client.queue.get())


async def _receive(socket: WebSocket) -> None:
    """Ignores further messages; returns when the page disconnects."""
    while (await socket.receive())["type"] != "websocket.disconnect":
        pass


async def _wait(client: Client) -> None:
    await client.over.wait()


async def _close(socket: WebSocket, code: int) -> None:
    """Gives up on a page that does not accept the close frame."""
    with suppress(TimeoutError, WebSocketDisconnect, RuntimeError):
        async with asyncio.timeout(CLOSE_SECONDS):
            await socket.close(code)


def _text(event: msgspec.Struct) -> str:
    return encoded(event).decode()
