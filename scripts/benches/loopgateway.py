"""Plays the made-up runs on the real gateway with a scripted model, under several set-ups one after another."""

from __future__ import annotations

import json
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from loopkinds import KINDS, Kind, with_process

from toolguard_cli import paths, transcripts
from toolguard_cli.commands import install
from toolguard_cli.rig import model, runtime
from toolguard_cli.rig.gateway import Gateway
from toolguard_cli.rig.home import Home

QUIET = {"skills": {"workshop": {"autonomous": {"mode": "off"}}}}
"""The gateway does not look back on long sessions by itself."""

TOLD = re.compile(
    r"\[TOOLGUARD NOTE\]|\[TOOL ERROR|\[LOOP DETECTED\]|TOOLGUARD_(?:BLOCK|ESCALATE)|tool-loop|CRITICAL:",
    re.IGNORECASE,
)
WATCHED = {"loopDetection": {"enabled": True}}
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Setup:
    """`settings` of the guard, None where it is not installed; `host`: whether the gateway's own detection is on."""

    name: str
    settings: dict[str, Any] | None
    host: bool


SETUPS = (
    Setup("nothing", None, host=False),
    Setup("gateway's own", None, host=True),
    Setup("toolguard", {}, host=False),
    Setup("toolguard, loops on", WATCHED, host=False),
    Setup("both on", WATCHED, host=True),
)
UNGUARDED = SETUPS[0].name


@dataclass(frozen=True)
class Seen:
    """What one run came to on the gateway. `warned`: the request whose call was answered with a word of the guard or of the
    gateway's own detection, 0 where none was."""

    requests: int
    tokens: int
    seconds: float
    warned: int = 0

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def play_all(keep: Path, progress: Progress) -> dict[str, dict[str, Seen]]:
    """By set-up and kind. The transcripts of the unguarded runs are copied into `keep`."""
    real = runtime.ensure(progress=progress)
    found = {}
    with model.ScriptedModel(model.sequence([])) as server:
        for setup in SETUPS:
            found[setup.name] = play_under(real, server, setup, keep if setup.name == UNGUARDED else None, progress)
    return found


def play_under(
    real: runtime.Runtime, server: model.ScriptedModel, setup: Setup, keep: Path | None, progress: Progress
) -> dict[str, Seen]:
    with _home(server, setup) as home:
        gateway = Gateway(real, home, watched=True)
        started = time.monotonic()
        try:
            gateway.start()
            progress(f"{setup.name}: gateway started in {time.monotonic() - started:.0f} s")
            found = {}
            for number, kind in enumerate(KINDS):
                seen = found[kind.name] = play(gateway, server, kind, number)
                progress(f"  {kind.name}: {seen.requests} requests, {seen.seconds:.1f} s")
            gateway.stop()
            if keep:
                keep_transcripts(home.state_dir, keep)
        finally:
            gateway.stop()
            gateway.end_group()
        return found


@contextmanager
def _home(server: model.ScriptedModel, setup: Setup) -> Iterator[Home]:
    extra = {**QUIET, "tools": {"loopDetection": {"enabled": setup.host}}}
    with Home(server.base_url, extra=extra) as home:
        if setup.settings is not None:
            done = install.run(paths.Places(home.state_dir, home.config_path), link=False, dry_run=False)
            assert done.exit_code == 0, done
            config = json.loads(home.config_path.read_text())
            config["plugins"]["entries"]["toolguard"]["config"] = setup.settings
            home.config_path.write_text(json.dumps(config, indent=2))
        yield home


def play(gateway: Gateway, server: model.ScriptedModel, kind: Kind, number: int) -> Seen:
    """One run in a session of its own. The marker tells its requests from those that the gateway makes on its own."""
    for name, text in kind.files.items():
        (gateway.home.workspace_dir / name).write_text(text)
    marker = f"{kind.name} ({secrets.token_hex(4)})"
    server.play(script(kind), marker)
    turn = gateway.turn(marker, f"agent:main:bench-{number}")
    requests = list(server.requests)
    told = (request.index for request in requests if TOLD.search(request.last_result))
    return Seen(len(requests), server.tokens, round(turn.seconds, 2), next(told, 0))


def script(kind: Kind) -> model.Script:
    acts = kind.acts

    def answer(request: model.Request) -> model.Reply:
        if not request.tools or request.index >= len(acts):
            return model.Reply("That is all.")
        results = request.texts("tool")
        act = acts[request.index]
        return model.call(act.tool, with_process(act.params, results[0] if results else ""))

    return answer


def keep_transcripts(state_dir: Path, folder: Path) -> None:
    """Those of a gateway that has ended, with what its database keeps beside itself."""
    for path in transcripts.within(state_dir):
        for file in path.parent.glob(f"{path.name}*"):
            target = folder / file.relative_to(state_dir)
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(file, target)
