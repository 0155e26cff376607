"""Sends the audit log somewhere else as it grows. How far it was sent is remembered for each target, so nothing is left out;
after a crash the last lines may be sent twice."""

from __future__ import annotations

import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import msgspec

from toolguard_cli.operations.audit_targets import AuditTarget, Refused
from toolguard_engine.stores import atomic, state_files
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.audit_tail import AuditLine, AuditTail, lines_in

MAX_BYTES = 4_096
FIRST_RETRY, LAST_RETRY = 1.0, 60.0
PAUSE = 1.0


class Forwarded(msgspec.Struct):
    """How far a target has got: the number of the last line, and which line the log began with."""

    seq: int = 0
    first: str = ""


class AuditForwarder:
    """`report`: what a person is told when sending fails, and with an empty text when it works again. `leave_out`: the
    number of a line that the target never takes, and why."""

    def __init__(
        self, state_dir: Path, address: str, target: AuditTarget, report: Callable[[str], None],
        leave_out: Callable[[int, str], None] = lambda *_: None,
    ) -> None:  # fmt: skip
        name = f"{state_files.FORWARDED}-{sha256(address.encode()).hexdigest()[:16]}.json"
        self._path = atomic.own_folder(state_dir) / name
        self._target = target
        self._tail = AuditTail(stores.audit_log(state_dir))
        self._report = report
        self._leave_out = leave_out
        self._failures = 0
        self._has_sent = False
        self.sent = 0

    def run(self, *, once: bool, sleep: Callable[[float], None] = time.sleep) -> None:
        """Sends until it is interrupted; with `once`, up to the end of the log. Raises `OSError` then if that fails."""
        while True:
            try:
                more = self.step()
            except OSError as error:
                if once:
                    raise
                self._failures += 1
                if self._failures == 1:
                    self._report(str(error.strerror or error))
                sleep(min(LAST_RETRY, FIRST_RETRY * 2.0 ** min(self._failures - 1, 10)))
                continue
            if self._failures:
                self._failures = 0
                self._report("")
            if not more:
                if once:
                    return
                sleep(PAUSE)

    def step(self) -> bool:
        """Sends the next lines; whether there may be more. Raises `OSError`; then they are sent again with the next step."""
        chunk = self._tail.read(self._position)
        lines = [(line, text.decode(errors="replace")) for text in chunk.data.split(b"\n") for line in lines_in(text)]
        if lines:
            sent = self._send(lines)
            self._remember(Forwarded(lines[-1][0].seq, chunk.first))
            self.sent += sent
        return self._tail.passed(chunk)

    def _send(self, lines: list[tuple[AuditLine, str]]) -> int:
        """Returns how many the target took."""
        try:
            self._target.send(lines)
        except Refused:
            return len(lines) - self._send_each(lines)
        self._has_sent = True
        return len(lines)

    def _send_each(self, lines: list[tuple[AuditLine, str]]) -> int:
        """How many were left out. A target that has taken no line yet may be none, so nothing is left out for it."""
        refused: list[tuple[int, Refused]] = []
        for line in lines:
            try:
                self._target.send([line])
                self._has_sent = True
            except Refused as error:
                refused.append((line[0].seq, error))
        if refused and not self._has_sent:
            raise refused[0][1]
        for number, refusal in refused:
            self._leave_out(number, str(refusal.strerror or refusal))
        return len(refused)

    def _position(self) -> tuple[int, str]:
        try:
            known = msgspec.json.decode(atomic.read_bounded(self._path, MAX_BYTES), type=Forwarded)
        except FileNotFoundError:
            return 0, ""
        except (msgspec.DecodeError, UnicodeDecodeError):  # everything is sent again rather than left out
            return 0, ""
        return known.seq, known.first

    def _remember(self, position: Forwarded) -> None:
        atomic.make_folder(self._path.parent)
        atomic.replace(self._path, msgspec.json.encode(position), durable=False)
