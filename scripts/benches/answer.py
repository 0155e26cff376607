"""Measures what a gateway waits for: whole answers, by the engine alone, through its pipes, and with a pause before each.

The commands are like those of agents: harmless rows of a corpus of labelled commands where one is there (`--corpus`), else a
set of everyday command lines. `--against` runs another checkout in turns with this one and compares the two. `--gateway`
measures turns of the real gateway with and without the guard.
"""

from __future__ import annotations

import json
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psutil
from everyday import CORPUS, commands
from figures import Figure, options, quantile, report

from toolguard_cli.operations import install_plugin
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.system import paths

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
BLOCK = 40
"""Questions that one checkout answers before it is the other one's turn."""

STEPS = 8
"""Calls in one turn of the real gateway."""

PLACE = {"agent": "main", "session": "agent:main:main", "cwd": "/home/u/work"}
TARGETS = {"agent commands": 0.6, "10 kB": 0.8}
"""How long an answer may take, in times of what it takes in the other checkout."""


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--against", type=Path, metavar="CHECKOUT", help="another checkout of toolguard to compare with")
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="labelled commands, one JSON object per line")
    parser.add_argument("--rounds", type=int, default=8, help="how often each question is asked (8)")
    parser.add_argument("--gateway", action="store_true", help="turns of the real gateway, with and without the guard")
    chosen = parser.parse_args()
    trees = [ROOT, *([chosen.against.resolve()] if chosen.against else [])]
    figures = [*answers(trees, chosen.corpus, chosen.rounds), *pipes(trees, chosen.rounds)]
    report(figures + (turns() if chosen.gateway else []), chosen.json)
    return 0


def agent_commands(corpus: Path) -> list[str]:
    """Harmless commands, in an order that is the same in each run."""
    if not corpus.exists():
        return commands(60, 320)
    rows = map(json.loads, corpus.read_text("utf-8").splitlines())
    found = [row["command"] for row in rows if row["label"] == "benign"]
    random.Random(1).shuffle(found)  # noqa: S311 - not a secret
    return found


def environment(tree: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(str(tree / name) for name in ("plugin", "manifests"))}


@contextmanager
def worker(tree: Path, script: str = "answer_worker.py", *arguments: str) -> Iterator[subprocess.Popen[str]]:
    command = [sys.executable, str(HERE / script), *arguments]
    process = subprocess.Popen(
        command, env=environment(tree), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1
    )
    with process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def answers(trees: list[Path], corpus: Path, rounds: int) -> list[Figure]:
    """Decode, answer, encode: in one process for each checkout, in turns."""
    kinds: dict[str, list[dict[str, Any]]] = {
        "agent commands": [{"command": text} for text in agent_commands(corpus)],
        "200 characters": [{"command": text} for text in commands(200, 400)],
        "10 kB": [{"command": text} for text in commands(10_000, 20)],
    }
    figures = []
    with ExitStack() as stack:
        workers = [stack.enter_context(worker(tree)) for tree in trees]
        for kind, params in kinds.items():
            times = in_turns(workers, params, rounds)
            ours, *other = [[each for each, _ in found] for found in times]
            behind = [each for _, each in times[0]]
            for which, share in (("p50", 0.5), ("p99", 0.99)):
                value = quantile(ours, share)
                ratio = value / quantile(other[0], share) if other else 0.0
                beside = f"{ratio:.2f} x the other checkout" if other else ""
                figures.append(Figure(f"answer, {kind}, {which}", value, "us", beside))
                if other and which == "p50" and kind in TARGETS:
                    figures.append(Figure(f"... in times of the other checkout, {kind}", ratio, "x", promise=TARGETS[kind]))
            figures.append(Figure(f"... done behind it, {kind}, p50", quantile(behind, 0.5), "us"))
    return figures


def in_turns(
    workers: list[subprocess.Popen[str]], params: list[dict[str, Any]], rounds: int
) -> list[list[tuple[float, float]]]:
    """The microseconds of every question, for each checkout; each question is a new one, in a run that ends."""
    found: list[list[tuple[float, float]]] = [[] for _ in workers]
    questions = [
        {"id": 1, "type": "judge", "tool": "exec", "params": each, "run": f"r{at // 20}", "call": f"c{at}", **PLACE}
        for at, each in enumerate(params)
    ]
    for number in range(-1, rounds):
        for start in range(0, len(questions), BLOCK):
            for at, process in enumerate(workers):
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(json.dumps(questions[start : start + BLOCK]) + "\n")
                times = json.loads(process.stdout.readline())
                found[at] += [(one / 1e3, two / 1e3) for one, two in times] if number >= 0 else []
    return found


def pipes(trees: list[Path], rounds: int) -> list[Figure]:
    """The time from a gateway's event to the verdict, hot and after a pause, beside a bare pipe and an HTTP service."""
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as state:
        script = [str(downloads.node(print)), str(HERE / "answer.mjs"), sys.executable, state, str(rounds), *map(str, trees)]
        done = subprocess.run(script, check=True, capture_output=True, text=True)
    found = json.loads(done.stdout)
    echo, http = found["echo"], found["http"]
    figures = [
        Figure("bare pipe, hot, p50", echo["hot"], "us"),
        Figure("bare pipe, after 20 ms, p50", echo["idle"], "us"),
        Figure("an HTTP side-car's bare answer, hot, p50", http, "us"),
    ]
    for name, row in zip(("", "other checkout: "), found["trees"], strict=False):
        targets = not name
        for tool in ("exec", "read"):
            hot, idle = row[tool]["hot"], row[tool]["idle"]
            figures += [
                Figure(
                    f"{name}{tool}, hot, p50",
                    hot,
                    "us",
                    f"{hot / echo['hot']:.1f} x the bare pipe",
                    12 * echo["hot"] if targets else None,
                ),
                Figure(
                    f"{name}{tool}, after 20 ms, p50",
                    idle,
                    "us",
                    f"{idle / echo['idle']:.1f} x the bare pipe",
                    4 * echo["idle"] if targets else None,
                ),
                Figure(
                    f"{name}{tool}, not answered while the gateway looks, back to back",
                    100 * row[tool]["missed"],
                    "%",
                    f"those take {row[tool]['late']:.0f} us",
                    10 if targets else None,
                ),
            ]
        figures += [
            Figure(
                f"{name}HTTP side-car in times of exec, hot",
                http / row["exec"]["hot"],
                "x",
                "",
                20 if targets else None,
                least=True,
            ),
            Figure(
                f"{name}first exec in times of the median",
                row["first"] / row["exec"]["hot"],
                "x",
                f"{row['first']:.0f} us",
                3 if targets else None,
            ),
            Figure(f"{name}engine ready, median", row["ready"], "ms"),
            Figure(f"{name}memory of the engine", row["memory"], "MB"),
        ]
    return figures


def turns() -> list[Figure]:
    """Turns of the real gateway, with and without the guard, in turns; and the engine's CPU time for each of its steps."""
    real = downloads.ensure(progress=print)
    seconds: list[list[float]] = [[], []]
    with ExitStack() as stack:
        server = stack.enter_context(scripted_model.ScriptedModel(scripted_model.sequence([])))
        homes = [stack.enter_context(Home(server.base_url)) for _ in range(2)]
        install_plugin.run(paths.Places(homes[1].state_dir, homes[1].config_path), link=False, dry_run=False)
        gateways = [stack.enter_context(Gateway(real, home)) for home in homes]
        for number in range(13):
            for at, gateway in enumerate(gateways):
                server.play(
                    scripted_model.sequence(
                        [scripted_model.call("exec", {"command": f"echo {number} {step}; ls -la"}) for step in range(STEPS)]
                    )
                )
                taken = gateway.turn("go", f"agent:main:bench-{number}").seconds
                seconds[at] += [taken] if number else []
            if number == 0:
                before = cpu_seconds(gateways[1].pid)
        steps = 12 * STEPS
        spent = cpu_seconds(gateways[1].pid) - before
    without, with_guard = (statistics.median(each) * 1000 / STEPS for each in seconds)
    return [
        Figure("a gateway's step, without the guard", without, "ms"),
        Figure("a gateway's step, with the guard", with_guard, "ms", f"{with_guard - without:+.1f} ms"),
        Figure("engine CPU for a gateway's step", spent * 1000 / steps, "ms", promise=1),
    ]


def cpu_seconds(gateway: int) -> float:
    """What the engine of this gateway has used so far."""
    for child in psutil.Process(gateway).children():
        if "toolguard_engine" in child.cmdline():
            used = child.cpu_times()
            return float(used.user + used.system)
    raise SystemExit("the gateway has no engine")


if __name__ == "__main__":
    sys.exit(main())
