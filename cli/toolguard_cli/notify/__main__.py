"""Starts the notifier: `python -m toolguard_cli.notify --state-dir DIR`, with the settings as one line of JSON on standard
input. It ends when standard input closes, so it never outlives the gateway."""

from __future__ import annotations

import argparse
import os
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from toolguard_cli.notify import run_notifier
from toolguard_cli.notify.gateway_channel import GatewayLine
from toolguard_cli.notify.run_notifier import NotifierSettings
from toolguard_engine.config.settings import Config, parse

MAX_LINE = 4 * 1024 * 1024
NICE = 5
"""Verdicts come first."""

NEEDED = ("notify", "storePath")


def main(arguments: list[str], given: BinaryIO) -> int:
    parser = argparse.ArgumentParser(prog="python -m toolguard_cli.notify")
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("--config", type=Path)
    parser.add_argument("--gateway", default="")
    options = parser.parse_args(arguments)
    try:
        config = _config(given.readline(MAX_LINE))
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        print(f"the settings cannot be used: {error}", file=sys.stderr)  # noqa: T201 - for the gateway's log
        return 2
    with suppress(OSError):
        os.nice(NICE)
    line = GatewayLine(lambda text: print(text, flush=True))  # noqa: T201 - for the gateway part
    settings = NotifierSettings(
        options.state_dir.absolute(),
        config,
        options.config,
        options.gateway,
        run_notifier.gateway_of(os.getppid()),
        line,
    )
    threading.Thread(target=_listen, args=(given, line, settings.over), daemon=True).start()
    return run_notifier.run(settings)


def _config(line: bytes) -> Config:
    """Only what is needed, so that an error elsewhere does not matter."""
    value: dict[str, Any] = msgspec.json.decode(line, type=dict[str, Any])
    return parse({name: value[name] for name in NEEDED if name in value})


def _listen(given: BinaryIO, line: GatewayLine, over: threading.Event) -> None:
    while text := given.readline(MAX_LINE):
        line.answered(text.decode("utf-8", "replace"))
    over.set()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:], sys.stdin.buffer))
