"""One of many processes that present and approve calls of one gateway, until they are killed: FOLDER NUMBER DSN PERSON_DSN
GATEWAY TOKEN.

Before a question is asked, and after its answer, a line is written to `FOLDER/NUMBER.log`. A question without an answer is
asked again, by the next process with this number too, as a courier does. It ends by itself when there is `FOLDER/stop`.
"""

from __future__ import annotations

import json
import os
import random
import secrets
import sys
import time
from hashlib import sha256
from pathlib import Path
from typing import Any

import psycopg

PRESENT = """SELECT fleet.present(%s, %s, %s, %s, %s, %s, '', %s, '{}'::bytea, 3600, 1, '{}', 600)"""
DECIDE = "SELECT fleet.decide(%s, %s, 'approved', 'body', 'signature', '')"
BINDINGS = 12
"""So few that the processes always want the same."""


class Log:
    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

    def write(self, *words: str) -> None:
        os.write(self._handle, json.dumps(words).encode() + b"\n")


class Caller:
    def __init__(self, folder: Path, number: str, dsn: str, person: str, gateway: str, token: str) -> None:
        self._dsns = {"gateway": dsn, "person": person}
        self._who = (gateway, bytes.fromhex(token))
        self._open: dict[str, psycopg.Connection[Any]] = {}
        self._stop = folder / "stop"
        path = folder / f"{number}.log"
        self._unanswered = unanswered(path)
        self._log = Log(path)

    def run(self) -> None:
        for attempt, binding in self._unanswered:
            self._present(attempt, binding)
        while not self._stop.exists():
            attempt, binding = secrets.token_hex(16), f"call {random.randrange(BINDINGS)}"  # noqa: S311
            self._log.write("ask", attempt, binding)
            outcome, nonce = self._present(attempt, binding)
            if outcome == "pending":
                self._approve(nonce)

    def _present(self, attempt: str, binding: str) -> tuple[str, str]:
        digest = sha256(binding.encode()).digest()
        while True:
            arguments = (*self._who, bytes.fromhex(attempt), secrets.token_hex(6), binding, binding, digest)
            found = self._asked("gateway", PRESENT, arguments)
            if found is not None:
                self._log.write("answer", attempt, found["outcome"], found.get("nonce", ""))
                return found["outcome"], found.get("nonce", "")

    def _approve(self, nonce: str) -> None:
        self._log.write("approve", nonce)
        if self._asked("person", DECIDE, (self._who[0], nonce)) is not None:
            self._log.write("approved", nonce)

    def _asked(self, who: str, statement: Any, arguments: tuple[Any, ...]) -> Any:
        """None without an answer, or if it was refused."""
        try:
            if who not in self._open:
                self._open[who] = psycopg.connect(self._dsns[who], autocommit=True, prepare_threshold=None)
            row = self._open[who].execute(statement, arguments).fetchone()
            return row[0] if row else None
        except psycopg.OperationalError:
            if who in self._open:
                self._open.pop(who).close()
            time.sleep(0.02)
        except psycopg.Error as error:
            if not (error.sqlstate or "").startswith("TG0"):
                raise
        return None


def unanswered(path: Path) -> list[tuple[str, str]]:
    """Questions of a killed process: attempt and binding."""
    lines = [json.loads(line) for line in path.read_bytes().splitlines()] if path.exists() else []
    asked = {line[1]: line[2] for line in lines if line[0] == "ask"}
    for line in lines:
        if line[0] == "answer":
            asked.pop(line[1], None)
    return list(asked.items())


if __name__ == "__main__":
    Caller(Path(sys.argv[1]), *sys.argv[2:]).run()
