"""Measures what toolguard promises about speed, and prints a table; `--json FILE` also writes the figures.

Everything is measured beside something else in the same run: a verdict beside a bare pipe, a command beside an empty
Python, an embedded run of OpenClaw with the plugin beside one without it (`--gateway`, about two minutes).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from figures import Figure, as_json, show

from toolguard_cli import paths
from toolguard_cli.commands import install
from toolguard_cli.rig import model, runtime
from toolguard_cli.rig.gateway import Gateway, local_turn
from toolguard_cli.rig.home import Home
from toolguard_engine.ledger import Decision, Entry
from toolguard_engine.stores import files
from toolguard_engine.stores.nonces import FileNonces

HERE = Path(__file__).resolve().parent
TOOLGUARD = Path(sys.executable).with_name("toolguard")
COMMAND_ROUNDS = 15
APPROVAL_ROUNDS = 500
WAITING = 50
EXIT_ROUNDS = 5
WAKING_ROUNDS = 4
WAKING_LIMIT = 30


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    parser.add_argument(
        "--gateway", action="store_true", help="also on a real gateway: waking, and the end of `agent --local`"
    )
    parser.add_argument("--rounds", type=int, default=5000, help="questions per row (5000)")
    parser.add_argument("--json", type=Path, default=Path("bench.json"), metavar="FILE")
    options = parser.parse_args()
    figures = [*pipe(options.rounds), *command_line(), *approvals()]
    if options.gateway:
        figures += [*embedded_exit(), *waking()]
    show(figures)
    options.json.write_text(json.dumps(as_json(figures), indent=2) + "\n")
    print(f"\nwritten to {options.json}")
    return 0


def pipe(rounds: int) -> list[Figure]:
    """From an event to the verdict, and what the engine process costs."""
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as state:
        script = [str(runtime.node(print)), str(HERE / "pipe.mjs"), sys.executable, state, str(rounds)]
        done = json.loads(subprocess.run(script, check=True, capture_output=True, text=True).stdout)
    bare, *rows = done["rows"]
    figures = [Figure(f"{bare['name']}, {which}", bare[which], "ms") for which in ("p50", "p99")]
    for row in rows:
        for which, promise in (("p50", 0.10), ("p99", 0.5)):
            ratio = f"{row[which] / bare[which]:.1f} x the bare pipe"
            figures.append(Figure(f"{row['name']}, {which}", row[which], "ms", ratio, promise))
    return [
        *figures,
        Figure("engine ready, median of 10", done["readyMs"], "ms", promise=300),
        Figure("engine back after SIGKILL, longest of 5", done["restartMs"], "ms", promise=500),
        Figure("engine memory after the rounds", done["memoryMb"], "MB", promise=60),
    ]


def command_line() -> list[Figure]:
    empty = median_ms([sys.executable, "-c", ""])
    helped = median_ms([str(TOOLGUARD), "--help"])
    return [Figure("toolguard --help", helped, "ms", f"{helped / empty:.1f} x an empty Python", 200)]


def approvals() -> list[Figure]:
    """An approval used up in a store where others wait, beside a file of that size put in place durably; and a yes."""
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder:
        state = Path(folder)
        store = FileNonces(state)
        for number in range(WAITING):
            store.present(_held(f"waiting-{number}"), time.time())
        used, bare = [], []
        for number in range(APPROVAL_ROUNDS):
            held = _held(f"approved-{number}")
            store.approve(store.present(held, time.time()).entry.nonce, Decision("bench", "cli"), time.time(), 30)
            used.append(_ms(lambda held=held: store.present(held, time.time())))
            data = store.path.read_bytes()
            bare.append(_ms(lambda data=data: files.replace(state / "bare", data)))
        said = [_said_yes(store, state, number) for number in range(COMMAND_ROUNDS)]
    empty = median_ms([sys.executable, "-c", ""])
    rows = [(which, _quantile(used, part), _quantile(bare, part)) for which, part in (("p50", 0.5), ("p99", 0.99))]
    return [
        *(
            Figure(f"approval used up, {WAITING} waiting, {which}", value, "ms", f"{value / beside:.1f} x a durable file", 5)
            for which, value, beside in rows
        ),
        Figure("toolguard approve --yes, longest", max(said), "ms", f"{max(said) / empty:.1f} x an empty Python", 300),
        Figure("toolguard approve --yes, median", round(statistics.median(said), 1), "ms"),
    ]


def _held(binding: str) -> Entry:
    now = time.time()
    shown = 'exec({ command: "git push origin main --tags && npm publish" })'
    return Entry("", binding, "exec", "main", "agent:main:main", "run", "rule.x", "a reason", shown, now, now + 300)


def _said_yes(store: FileNonces, state: Path, number: int) -> float:
    nonce = store.present(_held(f"yes-{number}"), time.time()).entry.nonce
    command = [str(TOOLGUARD), "approve", nonce, "--yes", "--state-dir", str(state)]
    return _ms(lambda: subprocess.run(command, check=True, capture_output=True))


def _ms(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return round((time.perf_counter() - started) * 1000, 2)


def _quantile(times: list[float], part: float) -> float:
    return sorted(times)[int(len(times) * part)]


def median_ms(command: list[str]) -> float:
    times = []
    for _ in range(COMMAND_ROUNDS):
        started = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append((time.perf_counter() - started) * 1000)
    return round(statistics.median(times), 1)


def embedded_exit() -> list[Figure]:
    """One tool call in an embedded run, with and without the plugin, in turns; the first round warms up."""
    real = runtime.ensure(progress=print)
    seconds: dict[bool, list[float]] = {False: [], True: []}
    with model.ScriptedModel(model.sequence([])) as server, Home(server.base_url) as bare, Home(server.base_url) as guarded:
        install.run(paths.Places(guarded.state_dir, guarded.config_path), link=False, dry_run=False)
        for _ in range(EXIT_ROUNDS + 1):
            for home in (bare, guarded):
                server.play(model.sequence([model.call("exec", {"command": "true"})]))
                seconds[home is guarded].append(local_turn(real, home, "go").seconds)
    without, with_guard = (statistics.median(seconds[which][1:]) for which in (False, True))
    beside = f"{without:.1f} s without, {with_guard:.1f} s with the plugin"
    return [Figure("agent --local ends later by", round(with_guard - without, 2), "s", beside, 0.5)]


def waking() -> list[Figure]:
    """From `toolguard approve` in a terminal to the idle agent's next request, beside an ordinary turn."""
    real = runtime.ensure(progress=print)
    call = model.call("exec", {"command": "shutdown --help; rm -r nothing-there"})
    woken, usual = [], []
    with model.ScriptedModel(model.sequence([])) as server, Home(server.base_url) as home:
        places = paths.Places(home.state_dir, home.config_path)
        install.run(places, link=False, dry_run=False)
        with Gateway(real, home) as gateway:
            for number in range(WAKING_ROUNDS):
                session = f"agent:main:bench-{number}"
                server.play(model.sequence([call]))
                usual.append(gateway.turn("go", session).seconds)
                waiting = [entry for entry in FileNonces(home.state_dir).entries() if entry.session == session]
                server.play(model.sequence([]))
                woken.append(_woken(server, home.state_dir, waiting[0].nonce))
    beside = f"an ordinary turn takes {statistics.median(usual):.1f} s"
    return [Figure("idle agent asks its model after approve, longest", round(max(woken), 2), "s", beside, 3)]


def _woken(server: model.ScriptedModel, state: Path, nonce: str) -> float:
    started = time.perf_counter()
    subprocess.run([str(TOOLGUARD), "approve", nonce, "--yes", "--state-dir", str(state)], check=True, capture_output=True)
    while not server.requests and time.perf_counter() - started < WAKING_LIMIT:
        time.sleep(0.01)
    return time.perf_counter() - started


if __name__ == "__main__":
    sys.exit(main())
