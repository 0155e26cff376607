"""An operator's program: a process of its own that holds one WebSocket. Lines on its standard input are sent as messages,
and messages are printed as lines. The tests' own process is no model of one: it also serves the scripted model."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress

from websockets.exceptions import ConnectionClosedError

CODE = """
import sys, threading
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

with connect(sys.argv[1], max_size=None) as connection:
    print("open", flush=True)

    def send():
        for line in sys.stdin:
            connection.send(line.rstrip("\\n"))
        connection.close()

    threading.Thread(target=send, daemon=True).start()
    try:
        for text in connection:
            print(text.replace("\\n", " "), flush=True)
    except ConnectionClosed:
        pass
"""


class OperatorProcess:
    """Raises `OSError` if there is no connection."""

    def __init__(self, address: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", CODE, address], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._into, self._out = self._process.stdin, self._process.stdout
        if self._out.readline() != "open\n":
            self.close()
            raise ConnectionRefusedError(address)

    def send(self, text: str) -> None:
        try:
            self._into.write(f"{text}\n")
            self._into.flush()
        except (BrokenPipeError, ValueError) as error:
            raise ConnectionClosedError(None, None) from error

    def __iter__(self) -> Iterator[str]:
        with suppress(ValueError):  # it was closed meanwhile
            yield from self._out

    def close(self) -> None:
        with suppress(BrokenPipeError):
            self._into.close()
        self._process.wait()
        self._out.close()


POSTING = """
import json, sys
from http.client import HTTPConnection

for line in sys.stdin:
    port, path, body, headers, limit = json.loads(line)
    connection = HTTPConnection("127.0.0.1", port, timeout=limit)
    try:
        connection.request("POST", path, json.dumps(body), headers)
        response = connection.getresponse()
        found = [response.status, response.read().decode("utf-8", "replace")]
    except Exception as error:
        found = [0, f"{type(error).__name__}: {error}"]
    finally:
        connection.close()
    print(json.dumps(found), flush=True)
"""


class PostingProcess:
    """Sends requests to a gateway, one at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", POSTING], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._into, self._out = self._process.stdin, self._process.stdout

    def post(self, port: int, path: str, body: object, headers: dict[str, str], limit: float) -> tuple[int, str]:
        """The status and the text of the answer. Raises `OSError` if there is none."""
        self._into.write(json.dumps([port, path, body, headers, limit]) + "\n")
        self._into.flush()
        status, text = json.loads(self._out.readline() or '[0, "the program has ended"]')
        if not status:
            raise OSError(text)
        return status, text

    def close(self) -> None:
        self._into.close()
        self._process.wait()
        self._out.close()
