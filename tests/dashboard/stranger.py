"""A program that listens where the dashboard did, takes everything and claims to be it."""

from __future__ import annotations

import json
import re
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from types import TracebackType
from typing import Self

SECONDS = 60.0
HELLO = {"name": "toolguard", "version": "0", "proof": "0" * 64}


class Stranger:
    """`heard`: each request, whole."""

    def __init__(self, port: int) -> None:
        self.heard: list[str] = []
        heard = self.heard

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                body = self.rfile.read(int(self.headers.get("content-length", "0")))
                heard.append(f"{self.requestline}\n{self.headers}\n{body.decode()}")
                answer = json.dumps({**HELLO, "port": port}).encode()
                self.send_response(200 if self.path.startswith("/api/hello") else 404)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            do_POST = do_GET  # noqa: N815 - its name

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self._thread = Thread(target=self._server.serve_forever, daemon=True)

    def hears(self, path: str, *, times: int) -> None:
        """Waits until so many requests to this path have come."""
        limit = time.monotonic() + SECONDS
        while sum(bool(re.match(rf"\w+ {path}\b", said)) for said in list(self.heard)) < times:
            assert time.monotonic() < limit, self.heard
            time.sleep(0.02)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
