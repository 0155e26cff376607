"""The fleet dashboard as it is served, and a person's requests to it."""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import subprocess
import sys
import threading
from hashlib import sha256
from pathlib import Path
from queue import Queue
from types import TracebackType
from typing import Any, Self
from unittest.mock import patch

from fleet_database import Connection, FleetDatabase
from toolguard_cli.dashboard.http_server import HttpServer
from toolguard_cli.fleet import run_page
from toolguard_cli.fleet.page_settings import PageSettings

START_SECONDS = 300.0

PROGRAM = """
import sys
from pathlib import Path
from toolguard_cli.fleet import run_page
from toolguard_cli.fleet.page_settings import PageSettings
socket = Path(sys.argv[2]) if sys.argv[2] else None
settings = PageSettings(sys.argv[1], port=0, socket=socket, hosts=tuple(sys.argv[3:]))
run_page.run(settings, lambda address: print(address, flush=True))
"""


def new_token(owner: Connection, person: str, days: int = 30) -> str:
    """A token of this person, as `toolguard fleet tokens add` makes it."""
    token = f"tgf-{secrets.token_hex(32)}"
    owner.execute("SELECT fleet.add_page_token(%s, %s, %s)", (person, sha256(token.encode()).digest(), days))
    return token


class Answer:
    def __init__(self, response: http.client.HTTPResponse) -> None:
        self.status = response.status
        self.headers = response.headers
        self.data = response.read()

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def code(self) -> str:
        return str(self.json["error"]["code"])


class FleetPage:
    """In a thread of this process: a program of its own takes a second to start. Use it as a context manager."""

    def __init__(self, database: FleetDatabase) -> None:
        self._database = database
        self._unix: Path | None = None
        self._served: Queue[str] = Queue()
        self._servers: list[HttpServer] = []
        self._thread = threading.Thread(target=self._run, name="fleet dashboard", daemon=True)

    def __enter__(self) -> Self:
        def keep(server: HttpServer) -> None:
            self._servers.append(server)

        with patch.object(HttpServer, "end_at_signals", keep):  # signals are the main thread's
            self._thread.start()
            self._serves_at(self._served.get(timeout=START_SECONDS))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        for server in self._servers:
            server.end()
        self._thread.join(START_SECONDS)
        assert not self._thread.is_alive(), "the dashboard does not end"

    def _run(self) -> None:
        try:
            run_page.run(PageSettings(self._database.dsn("toolguard_page"), port=0), self._served.put)
        finally:
            self._served.put("")

    def _serves_at(self, url: str) -> None:
        assert url, "the server did not start"
        self.url = url
        self.host = "localhost" if self._unix else url.removeprefix("http://")

    def ask(self, path: str, body: object = None, headers: dict[str, str] | None = None, method: str = "") -> Answer:
        """A request as any program can send it."""
        given = {"host": self.host} | (headers or {})
        connection = self._connection()
        try:
            if body is None:
                connection.request(method or "GET", path, headers=given)
            else:
                data = body if isinstance(body, bytes) else json.dumps(body).encode()
                connection.request(method or "POST", path, data, {"content-type": "application/json"} | given)
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        connection = http.client.HTTPConnection(self.host, timeout=START_SECONDS)
        if self._unix:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(str(self._unix))
        return connection

    def log_in(self, token: str) -> PageVisitor:
        answer = self.ask("/api/session", {"token": token}, {"origin": f"http://{self.host}"})
        assert answer.status == 200, answer.data
        cookie = answer.headers["set-cookie"].partition(";")[0]
        return PageVisitor(self, {"cookie": cookie, "x-toolguard-key": answer.json["key"]})


class FleetPageProcess(FleetPage):
    """A program of its own. With `unix`, it listens there and believes the header of a proxy."""

    def __init__(self, database: FleetDatabase, *, unix: Path | None = None, hosts: tuple[str, ...] = ()) -> None:
        super().__init__(database)
        self._command = [sys.executable, "-c", PROGRAM, database.dsn("toolguard_page"), str(unix or ""), *hosts]
        self._unix = unix

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        self._serves_at(self._process.stdout.readline().strip())
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.communicate(timeout=START_SECONDS)


class PageVisitor:
    """A person who has logged in."""

    def __init__(self, page: FleetPage, headers: dict[str, str]) -> None:
        self.page = page
        self.headers = headers

    def get(self, path: str) -> Any:
        answer = self.page.ask(path, headers=self.headers)
        assert answer.status == 200, (path, answer.status, answer.data[:500])
        return answer.json

    def ask(self, path: str, body: object = None, **changed: str) -> Answer:
        return self.page.ask(path, body, self.headers | {"origin": f"http://{self.page.host}"} | changed)
