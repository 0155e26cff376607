"""Audit logs for tests: chains of lines in memory, and the engine's own log in a state directory."""

from __future__ import annotations

import copy
import json
import secrets
from hashlib import sha256
from pathlib import Path
from typing import Self

from toolguard_engine.stores import open as stores
from toolguard_engine.stores.audit_log import AuditEvent, when

NOW = 1_795_000_000.0


class Chain:
    """Composes lines as they stand in `audit.jsonl`, without the engine's code."""

    def __init__(self) -> None:
        self.seq, self.last, self.name = 0, "0" * 64, ""

    def copy(self) -> Self:
        return copy.copy(self)

    def add(self, many: int, **fields: str) -> list[bytes]:
        return [self._take(self.line(self.seq + 1, self.last, **fields)) for _ in range(many)]

    def raw(self, members: bytes) -> bytes:
        return self._take(_closed(b'{"seq":%d,"prev":"%s",%s}' % (self.seq + 1, self.last.encode(), members)))

    def adopt(self, lines: list[bytes]) -> None:
        for line in lines:
            self._take(line)

    def line(self, seq: int, prev: str, **fields: str) -> bytes:
        """A line that follows any hash; unlike any other."""
        known = {"id": secrets.token_hex(8), "time": "2026-11-23T10:00:00.000Z", "event": "hold", **fields}
        return _closed(json.dumps({"seq": seq, "prev": prev, **known}, separators=(",", ":")).encode())

    def _take(self, line: bytes) -> bytes:
        self.seq, self.last = self.seq + 1, self.hash_of(line)
        self.name = self.name or self.last
        return line

    @staticmethod
    def hash_of(line: bytes) -> str:
        return line[-67:-3].decode()

    @classmethod
    def name_of(cls, lines: list[bytes]) -> str:
        return cls.hash_of(lines[0])


def _closed(body: bytes) -> bytes:
    return body[:-1] + b',"hash":"' + sha256(body).hexdigest().encode() + b'"}\n'


def event(**fields: str) -> AuditEvent:
    return AuditEvent(secrets.token_hex(8), when(NOW), fields.pop("event", "hold"), **fields)


def log_with(state_dir: Path, many: int) -> Path:
    """Adds events to the log of a state directory; its newest part."""
    log = stores.audit_log(state_dir)
    (state_dir / "toolguard").mkdir(parents=True, exist_ok=True)
    log.append([event(agent="main", shown=f"exec {number}") for number in range(many)])
    return log.files()[-1]
