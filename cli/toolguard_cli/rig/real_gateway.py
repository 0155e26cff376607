"""The real gateway and its command line, as processes in a private home."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from toolguard_cli.rig.downloads import Openclaw
from toolguard_cli.rig.private_home import Home
from toolguard_cli.system.errors import UserError

START_SECONDS = 240
TURN_SECONDS = 600
STOP_SECONDS = 20
KILL_SECONDS = 5
POLL_SECONDS = 0.05
POLL_LIMIT_SECONDS = 10
WATCHER = """
import os, shutil, signal, sys
sys.stdin.buffer.read()
try:
    os.killpg(int(sys.argv[1]), signal.SIGKILL)
except (ProcessLookupError, PermissionError):
    pass
shutil.rmtree(sys.argv[2], ignore_errors=True)
"""
"""Waits until the process that started the gateway ends, in any way; then kills the gateway and deletes its home."""


@dataclass(frozen=True)
class Turn:
    ok: bool
    answer: str
    output: str
    seconds: float


def openclaw(
    runtime: Openclaw, home: Home, *arguments: str, limit: float = TURN_SECONDS
) -> subprocess.CompletedProcess[str]:
    """Runs one command of OpenClaw. At the limit its process group is killed, and the exit code is -9."""
    process = subprocess.Popen(
        runtime.command(*arguments),
        env=home.environment,
        cwd=home.workspace_dir,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        output, errors = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        output, errors = process.communicate()
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        raise
    return subprocess.CompletedProcess(process.args, process.returncode, output, errors)


def local_turn(runtime: Openclaw, home: Home, message: str, limit: float = TURN_SECONDS) -> Turn:
    """Sends one message to the agent `main` in an embedded run: `openclaw agent --local`."""
    started = time.monotonic()
    done = openclaw(runtime, home, "agent", "--local", "--agent", "main", "--message", message, limit=limit)
    return Turn(done.returncode == 0, _answer(done.stdout), done.stdout + done.stderr, time.monotonic() - started)


def _answer(output: str) -> str:
    """The agent's answer: the output without the lines of the gateway's log, which start with [subsystem]."""
    lines = [line for line in output.splitlines() if line.strip() and not _is_log(line)]
    return "\n".join(lines).strip()


def _is_log(line: str) -> bool:
    head, bracket, _ = line.partition("]")
    return bool(bracket) and head.startswith("[") and not head.startswith(("[TOOL", "[LOOP"))


class Gateway:
    """A running gateway. As a context manager it ends the process, and all that it started, on exit. Even if this process is
    killed, the gateway ends and its home is deleted. `within`: seconds to start; `patience`: seconds to end by itself."""

    def __init__(
        self,
        runtime: Openclaw,
        home: Home,
        *,
        within: float = START_SECONDS,
        patience: float = STOP_SECONDS,
    ) -> None:
        self.runtime = runtime
        self.home = home
        self.within = within
        self.patience = patience
        self.log = home.root / "gateway.log"
        self.process: subprocess.Popen[bytes] | None = None
        self._leader: subprocess.Popen[bytes] | None = None
        self._watcher: subprocess.Popen[bytes] | None = None

    def start(self) -> Self:
        """Returns when the gateway accepts messages. Raises `UserError` with the end of its log if it does not."""
        self._unwatch()
        with self.log.open("ab") as log:
            self.process = self._leader = subprocess.Popen(
                self.runtime.command("gateway", "run"),
                env=self.home.environment,
                cwd=self.home.workspace_dir,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        with self._ended_on_error():
            self._watch(self.process)
            self._wait()
        return self

    @contextmanager
    def _ended_on_error(self) -> Iterator[None]:
        """Stops the gateway if its start is interrupted, by Ctrl-C too."""
        try:
            yield
        except BaseException:
            self.stop()
            raise

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        self._watcher = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", WATCHER, str(process.pid), str(self.home.root)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd="/",
            start_new_session=True,
        )

    def _unwatch(self) -> None:
        watcher, self._watcher = self._watcher, None
        if watcher is not None:
            watcher.kill()
            watcher.communicate()

    def _wait(self) -> None:
        limit = time.monotonic() + self.within
        while not self._ready():
            if problem := self._not_starting(limit):
                raise UserError(f"the gateway does not start: {problem}\n{self.tail()}")
            time.sleep(POLL_SECONDS)

    def _not_starting(self, limit: float) -> str:
        """Why the start has failed; empty while it may still succeed."""
        code = self.process.poll() if self.process else -1
        if code is not None:
            return f"it ended with exit code {code}"
        return f"no answer within {self.within:.0f} s" if time.monotonic() > limit else ""

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ends the gateway; after `patience` its process group is killed."""
        process, self.process = self.process, None
        if process is None:
            return
        if process.poll() is None:
            process.send_signal(how)
        try:
            process.wait(self.patience)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        self._unwatch()

    def end_group(self) -> None:
        """Kills all remaining processes that it started, and waits until they are gone."""
        if self._leader is not None:
            _end_group(self._leader)
        self._unwatch()

    def turn(
        self, message: str, session: str = "agent:main:rehearsal", limit: float = TURN_SECONDS, agent: str = "main"
    ) -> Turn:
        """Sends one message to the agent; messages of one session share its history."""
        started = time.monotonic()
        body = {"model": f"openclaw/{agent}", "messages": [{"role": "user", "content": message}]}
        status, text = self._post("/v1/chat/completions", body, {"x-openclaw-session-key": session}, limit)
        return Turn(status == HTTPStatus.OK, _content(text), text, time.monotonic() - started)

    def _post(self, path: str, body: dict[str, Any], headers: dict[str, str], limit: float) -> tuple[int, str]:
        connection = HTTPConnection("127.0.0.1", self.home.port, timeout=limit)
        try:
            connection.request("POST", path, json.dumps(body), {**self._headers, **headers})
            response = connection.getresponse()
            return response.status, response.read().decode("utf-8", "replace")
        finally:
            connection.close()

    @property
    def _headers(self) -> dict[str, str]:
        return {"authorization": f"Bearer {self.home.token}", "content-type": "application/json"}

    def _ready(self) -> bool:
        connection = HTTPConnection("127.0.0.1", self.home.port, timeout=POLL_LIMIT_SECONDS)
        try:
            connection.request("GET", "/v1/models", headers=self._headers)
            return connection.getresponse().status == HTTPStatus.OK
        except (OSError, HTTPException):
            return False
        finally:
            connection.close()

    def tail(self, lines: int = 15) -> str:
        return "\n".join(self.log_text().splitlines()[-lines:])

    def log_text(self) -> str:
        return self.log.read_text("utf-8", "replace") if self.log.exists() else ""

    @property
    def pid(self) -> int:
        assert self.process is not None  # noqa: S101 - asked only while it runs
        return self.process.pid

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.stop()


def _end_group(leader: subprocess.Popen[bytes]) -> None:
    """Kills the process group of this leader, and waits until it is gone."""
    gone = (ProcessLookupError, PermissionError)  # macOS raises the second
    with suppress(*gone):
        os.killpg(leader.pid, signal.SIGKILL)
    leader.wait()
    limit = time.monotonic() + KILL_SECONDS
    with suppress(*gone):
        while time.monotonic() < limit:
            os.killpg(leader.pid, 0)
            time.sleep(POLL_SECONDS)


def _content(text: str) -> str:
    """The answer in a chat completion; the body itself if it is not one."""
    try:
        return str(json.loads(text)["choices"][0]["message"]["content"])
    except (ValueError, KeyError, IndexError, TypeError):
        return text


def engine_pids(state_dir: Path) -> list[int]:
    import psutil  # noqa: PLC0415 - needed by the rig only

    pids = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):  # it belongs to another user or has ended
            if "toolguard_engine" in " ".join(process.cmdline()) and Path(process.cwd()).resolve() == state_dir.resolve():
                pids.append(process.pid)
    return sorted(pids)
