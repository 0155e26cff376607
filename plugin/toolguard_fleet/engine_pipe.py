"""The courier's end of the pipe to its engine."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator

import msgspec

from toolguard_engine.stores.fleet import pipe_messages as messages

_DECODER = msgspec.json.Decoder(messages.FromEngine)


class EnginePipe:
    """Lines in and out. What the engine cannot take yet is kept: it reads all the time, or is gone."""

    def __init__(self, reader: asyncio.StreamReader, handle: int) -> None:
        self._reader = reader
        self._handle = handle
        self._lines: asyncio.Queue[bytes] = asyncio.Queue()

    def send(self, message: messages.Answer | messages.News) -> None:
        self._lines.put_nowait(msgspec.json.encode(message) + b"\n")

    async def write(self) -> None:
        """Writes what was sent. Ends when the engine does."""
        loop = asyncio.get_running_loop()
        while True:
            left = memoryview(await self._lines.get())
            while left:
                try:
                    left = left[os.write(self._handle, left) :]
                except BlockingIOError:
                    writable = loop.create_future()
                    loop.add_writer(self._handle, _set, writable)
                    try:
                        await writable
                    finally:
                        loop.remove_writer(self._handle)
                except BrokenPipeError:
                    return

    async def read(self) -> AsyncIterator[messages.FromEngine]:
        """Reads until the engine ends, or says what is no message of ours."""
        while line := await self._reader.readline():
            try:
                yield _DECODER.decode(line)
            except (msgspec.DecodeError, UnicodeDecodeError):
                return


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def opened(read: int, write: int) -> EnginePipe:
    """`read`, `write`: open files, made non-blocking."""
    reader = asyncio.StreamReader(limit=messages.MAX_LINE)
    loop = asyncio.get_running_loop()
    await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb", buffering=0))
    os.set_blocking(write, False)
    return EnginePipe(reader, write)
