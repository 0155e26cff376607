"""A real process of the fleet dashboard, and a person's requests to it."""

from __future__ import annotations

import http.client
import json
import secrets
import socket
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from fleet_database import Connection, FleetDatabase

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
    """Use it as a context manager. With `socket`, it listens there and believes the header of a proxy."""

    def __init__(self, database: FleetDatabase, *, unix: Path | None = None, hosts: tuple[str, ...] = ()) -> None:
        self._command = [sys.executable, "-c", PROGRAM, database.dsn("toolguard_page"), str(unix or ""), *hosts]
        self._unix = unix

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(self._command, stdout=subprocess.PIPE, text=True)
        assert self._process.stdout
        self.url = self._process.stdout.readline().strip()
        assert self.url, "the server did not start"
        self.host = "localhost" if self._unix else self.url.removeprefix("http://")
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.communicate(timeout=60)

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
        connection = http.client.HTTPConnection(self.host, timeout=60)
        if self._unix:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(str(self._unix))
        return connection

    def log_in(self, token: str) -> PageVisitor:
        answer = self.ask("/api/session", {"token": token}, {"origin": f"http://{self.host}"})
        assert answer.status == 200, answer.data
        cookie = answer.headers["set-cookie"].partition(";")[0]
        return PageVisitor(self, {"cookie": cookie, "x-toolguard-key": answer.json["key"]})


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
