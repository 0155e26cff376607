"""A target that is a program of the user: run without a shell, with the event as JSON on standard input."""

from __future__ import annotations

import json
from pathlib import Path
from subprocess import TimeoutExpired

from toolguard_cli.notify.delivery import Delivery, OutgoingMessage, describe, failed
from toolguard_cli.system import subprocesses
from toolguard_engine.config.settings import NotifyTarget

SECONDS = 30.0
MAX_OUTPUT = 64 * 1024


class CommandTarget:
    def __init__(self, target: NotifyTarget) -> None:
        self._words = target.command if isinstance(target.command, list) else []

    def send(self, message: OutgoingMessage) -> Delivery:
        given = json.dumps({**message.data, "key": message.key}).encode()
        try:
            done = subprocesses.ask(self._words, SECONDS, given, most=MAX_OUTPUT, cwd=Path.home())
        except FileNotFoundError:
            return failed(f"no such program: {self._words[0]}")
        except (OSError, ValueError, RuntimeError) as error:
            return failed(describe(error))
        except TimeoutExpired:
            return failed(f"the command did not end within {SECONDS:.0f} s")
        return Delivery() if done.code == 0 else failed(f"exit code {done.code}: {done.last_words}")
