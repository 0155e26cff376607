"""Measures how soon loops end: scripted runs on the real gateway under five set-ups (about four minutes).

The set-ups: no detection, the gateway's own detection, toolguard with its defaults, toolguard with `loopDetection` enabled,
and both. The figure is the number of requests to the model until the run ends, including the final answer, up to 60.
"""

from __future__ import annotations

import json
import re
import secrets
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from figures import Figure, options, report

from toolguard_cli.operations import install_plugin
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.system import paths

CAP = 60
PROCESS = "{process}"
"""Stands for the name that the gateway gave to the command in the background."""

_PROCESS = re.compile(r"Command still running \(session ([\w-]{1,100}),")
_WORDS = ["amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "haven", "islet", "jetty"]
QUIET = {"skills": {"workshop": {"autonomous": {"mode": "off"}}}}
"""The gateway does not look back on long sessions by itself."""

WATCHED = {"loopDetection": {"enabled": True}}
SETUPS: dict[str, tuple[dict[str, Any] | None, bool]] = {
    "nothing": (None, False),
    "gateway's own": (None, True),
    "toolguard": ({}, False),
    "toolguard, loops on": (WATCHED, False),
    "both on": (WATCHED, True),
}
"""The settings of the guard, None where it is not installed; whether the gateway's own detection is on."""

Call = tuple[str, Any]
"""A tool and its params."""


@dataclass(frozen=True)
class Kind:
    """A kind of run. `call`: that of the n-th request, from 0; `calls`: how many it takes to be done, if ever.

    `by_default`, `watched`: requests within which toolguard has to end it, with its default settings and with
    `loopDetection.enabled`; None where it is not meant to. `files`: what lies in the workspace.
    """

    name: str
    call: Callable[[int], Call]
    calls: int | None = None
    files: dict[str, str] = field(default_factory=dict)
    by_default: int | None = None
    watched: int | None = None


def _in_turn(*calls: Call) -> Callable[[int], Call]:
    return lambda number: calls[number % len(calls)]


def _command(command: str) -> Call:
    return "exec", {"command": command}


def _replace(path: str, old: str, new: str) -> Call:
    return "edit", {"path": path, "edits": [{"oldText": old, "newText": new}]}


def _not_found(number: int) -> Call:
    words = f"The {_WORDS[number % 10]} {_WORDS[number // 10 % 10]}"
    return _replace("plan.md", f"{words} was", f"{words} is")


def _polled(command: str) -> Callable[[int], Call]:
    """A command in the background, and then nothing but questions about it."""
    start: Call = ("exec", {"command": command, "background": True})
    return lambda number: ("process", {"action": "poll", "sessionId": PROCESS}) if number else start


def _work(number: int) -> Call:
    """Another call each time, each of another kind than the one before."""
    word = _WORDS[number // 5]
    return (
        ("read", {"path": f"{word}.md"}),
        _command(f"grep -c {word} {word}.md"),
        ("write", {"path": f"{word}.txt", "content": f"{word} was read.\n"}),
        _replace(f"{word}.md", f"About {word}", f"All about {word}"),
        _command(f"wc -w {word}.md"),
    )[number % 5]


def _fix(number: int) -> Call:
    """An edit, then the test that still fails in the same way, as often as it takes."""
    return _command("sh check.sh") if number % 2 else _replace("step.py", f"= {number // 2}\n", f"= {number // 2 + 1}\n")


FAILS = "echo \"FAIL test_report: FileNotFoundError: [Errno 2] No such file or directory: 'out/report.json'\"; exit 1\n"
FETCH = """\
n=$(cat fetched 2>/dev/null || echo 0)
n=$((n + 1))
echo $n > fetched
[ $((n % 4)) = 0 ] && echo "page $((n / 4)) of the report" && exit
echo 'curl: (28) Operation timed out after 5000 milliseconds with 0 bytes received' >&2
exit 28
"""
STEPS = 'for i in $(seq 1500); do echo "[$i/1500] Compiling"; sleep 0.01; done'
NOTES = {name: f"What is known about {name}.\n" for name in ("north.md", "south.md", "west.md")}
READS = [("read", {"path": name}) for name in NOTES]
QUEUED = {"job.state": "queued\n"}
ABOUT = {f"{word}.md": f"About {word}\nThe {word} stands where it stood.\n" for word in _WORDS}
KINDS = (
    Kind("read of a missing file", _in_turn(("read", {"path": "missing.md"})), by_default=8, watched=8),
    Kind("command with a counter, same error", lambda n: _command(f"head -n {n + 1}0 report.csv"), by_default=8, watched=8),
    Kind("edit of text that is not there", _not_found, files={"plan.md": "# Plan\n"}, by_default=8, watched=8),
    Kind("malformed call, read({})", _in_turn(("read", {})), by_default=4, watched=4),
    Kind("tool that does not exist", _in_turn(("search_docs", {"query": "report"})), by_default=7, watched=7),
    Kind("same call, same answer", _in_turn(_command("cat job.state")), files=QUEUED, by_default=32, watched=25),
    Kind("only a time of day differs", _in_turn(_command("date -Is; cat job.state")), files=QUEUED, watched=25),
    Kind("ping-pong of two calls", _in_turn(*READS[:2]), files=NOTES, by_default=32, watched=25),
    Kind("cycle of three calls", _in_turn(*READS), files=NOTES, by_default=32, watched=40),
    Kind("poll without progress", _polled("sleep 90"), watched=26),
    Kind("poll with progress", _polled(STEPS), calls=45),
    Kind("fifty different calls", _work, calls=50, files=ABOUT),
    Kind("edit and test, which goes on failing", _fix, calls=50, files={"step.py": "step = 0\n", "check.sh": FAILS}),
    Kind("unreliable network", _in_turn(_command("sh fetch.sh")), calls=48, files={"fetch.sh": FETCH}),
)


def main() -> int:
    chosen = options(__doc__).parse_args()
    real = downloads.ensure(progress=say)
    requests: dict[str, dict[str, int]] = {}
    with scripted_model.ScriptedModel(scripted_model.sequence([])) as server:
        for setup in SETUPS:
            requests[setup] = play_all(real, server, setup)
    report([figure for kind in KINDS for figure in of_kind(kind, requests)], chosen.json)
    return 0


def of_kind(kind: Kind, requests: dict[str, dict[str, int]]) -> Iterator[Figure]:
    for setup, (settings, _) in SETUPS.items():
        promise = None
        if settings is not None:
            promise = kind.calls + 1 if kind.calls else kind.watched if settings else kind.by_default
        found = requests[setup][kind.name]
        given_up = f"given up at {CAP}" if found >= CAP else ""
        yield Figure(f"{kind.name}: {setup}", found, "requests", given_up, promise, least=kind.calls is not None)


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def play_all(real: downloads.Runtime, server: scripted_model.ScriptedModel, setup: str) -> dict[str, int]:
    """The requests of each kind of run under one set-up."""
    found = {}
    with _home(server, *SETUPS[setup]) as home:
        gateway = Gateway(real, home)
        try:
            started = time.monotonic()
            gateway.start()
            say(f"{setup}: gateway started in {time.monotonic() - started:.0f} s")
            for number, kind in enumerate(KINDS):
                found[kind.name] = play(gateway, server, kind, number)
                say(f"  {kind.name}: {found[kind.name]} requests")
        finally:
            gateway.stop()
            gateway.end_group()
    return found


@contextmanager
def _home(server: scripted_model.ScriptedModel, settings: dict[str, Any] | None, host: bool) -> Iterator[Home]:  # noqa: FBT001
    with Home(server.base_url, extra={**QUIET, "tools": {"loopDetection": {"enabled": host}}}) as home:
        if settings is not None:
            done = install_plugin.run(paths.Places(home.state_dir, home.config_path), link=False, dry_run=False)
            assert done.exit_code == 0, done
            config = json.loads(home.config_path.read_text())
            config["plugins"]["entries"]["toolguard"]["config"] = settings
            home.config_path.write_text(json.dumps(config, indent=2))
        yield home


def play(gateway: Gateway, server: scripted_model.ScriptedModel, kind: Kind, number: int) -> int:
    """One run in a session of its own. The marker tells its requests from those that the gateway makes on its own."""
    for name, text in kind.files.items():
        (gateway.home.workspace_dir / name).write_text(text)
    marker = f"{kind.name} ({secrets.token_hex(4)})"
    server.play(script(kind), marker)
    gateway.turn(marker, f"agent:main:bench-{number}")
    return len(server.requests)


def script(kind: Kind) -> scripted_model.Script:
    most = min(kind.calls or CAP, CAP - 1)

    def answer(request: scripted_model.Request) -> scripted_model.Reply:
        if not request.tools or request.index >= most:
            return scripted_model.Reply("That is all.")
        tool, params = kind.call(request.index)
        begun = _PROCESS.search("".join(request.texts("tool")[:1]))
        return scripted_model.call(tool, json.loads(json.dumps(params).replace(PROCESS, begun[1])) if begun else params)

    return answer


if __name__ == "__main__":
    sys.exit(main())
