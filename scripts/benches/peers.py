"""Measures toolguard beside other guards for agents that the registries have: what each stops, and what a judgement costs.

Each guard judges the commands of the development corpus in a process of its own, in turns, with the rules it comes with.
Its packages are installed once into the cache folder; nothing of them is in this repository. What comes again are the same
commands in each round, as agents repeat theirs; new commands are about other files in each round. A cost is the processor
time of one judgement inside the guard's process, without a pipe or a hook.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import venv
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from answer import environment
from everyday import CORPUS, renamed
from figures import Figure, options, report

from toolguard_cli.rig import downloads

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
PYTHON_PACKAGES = ("nah==0.11.0", "agentguard-oss==0.5.0", "agent-os-kernel==3.7.0", "policyshield==0.14.0")
NODE_PACKAGES = ("cc-safety-net@2.4.5",)
BLOCK = 50
"""Commands that one guard judges before it is the next one's turn."""


class Peer(NamedTuple):
    """`name`: for `peers_worker` or `peers_worker.mjs`; `shown`: with its version; `node`: it runs in Node."""

    name: str
    shown: str
    node: bool = False


PEERS = (
    Peer("toolguard", "toolguard"),
    Peer("nah", "nah 0.11"),
    Peer("agentguard", "agentguard-oss 0.5"),
    Peer("agentos", "agent-os-kernel 3.7 (semantic policy)"),
    Peer("policyshield", "PolicyShield 0.14 (preset openclaw)"),
    Peer("cc-safety-net", "cc-safety-net 2.4", node=True),
)


class Outcome(NamedTuple):
    """Percent of the dangerous and of the benign commands that were not simply allowed; the median costs in microseconds, of
    commands that come again and of others that were never seen before."""

    stopped: float
    asked: float
    again: float
    new: float


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--corpus", type=Path, default=CORPUS, help="labelled commands, one JSON object per line")
    parser.add_argument("--rounds", type=int, default=4, help="how often everything is measured (4)")
    chosen = parser.parse_args()
    rows = [json.loads(line) for line in chosen.corpus.read_text("utf-8").splitlines()]
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder:
        outcomes = measured(rows, Path(folder), chosen.rounds)
    report(list(figures(outcomes)), chosen.json)
    return 0


def figures(outcomes: dict[Peer, Outcome]) -> Iterator[Figure]:
    ours = next(iter(outcomes.values()))
    for peer, found in outcomes.items():
        yield Figure(f"{peer.shown}: dangerous commands stopped", found.stopped, "%", f"{found.asked:.1f} % of the benign")
        if found is not ours:
            most = 1.0 if 2 * found.stopped >= ours.stopped else None
            for which, own, other in (("again", ours.again, found.again), ("new commands", ours.new, found.new)):
                name = f"toolguard's cost beside {peer.shown}, {which}"
                yield Figure(name, own / other, "x", f"{own:.0f} and {other:.0f} us", most)


def measured(rows: list[dict[str, Any]], folder: Path, rounds: int) -> dict[Peer, Outcome]:
    commands = [row["command"] for row in rows]
    dangerous = [row["label"] == "dangerous" for row in rows]
    with ExitStack() as stack:
        workers = {peer: stack.enter_context(_worker(peer, folder)) for peer in PEERS}
        again: dict[Peer, list[float]] = {peer: [] for peer in PEERS}
        new: dict[Peer, list[float]] = {peer: [] for peer in PEERS}
        refused = _asked(workers, commands, None)
        for _ in range(rounds):
            refused = _asked(workers, commands, again)
        for number in range(rounds):
            _asked(workers, [renamed(command, 100 + number) for command in commands], new)
    return {peer: Outcome(*_shares(refused[peer], dangerous), median(again[peer]), median(new[peer])) for peer in PEERS}


def _asked(
    workers: dict[Peer, subprocess.Popen[str]], commands: list[str], costs: dict[Peer, list[float]] | None
) -> dict[Peer, list[bool]]:
    """Has all guards judge all commands, in turns, and adds what each of them cost."""
    refused: dict[Peer, list[bool]] = {peer: [] for peer in workers}
    for start in range(0, len(commands), BLOCK):
        for peer, process in workers.items():
            found = _ask(process, commands[start : start + BLOCK])
            refused[peer] += [stopped for _, stopped in found]
            if costs is not None:
                costs[peer] += [cost for cost, _ in found]
    return refused


def _shares(refused: list[bool], dangerous: list[bool]) -> tuple[float, float]:
    of_dangerous = [stopped for stopped, is_bad in zip(refused, dangerous, strict=True) if is_bad]
    of_benign = [stopped for stopped, is_bad in zip(refused, dangerous, strict=True) if not is_bad]
    return 100 * sum(of_dangerous) / len(of_dangerous), 100 * sum(of_benign) / len(of_benign)


def _ask(process: subprocess.Popen[str], commands: list[str]) -> list[tuple[float, bool]]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(commands) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if not line:
        raise SystemExit(f"{' '.join(map(str, process.args))[:200]} ended")  # type: ignore[arg-type]
    return [(cost, stopped) for cost, stopped in json.loads(line)]


def _worker(peer: Peer, folder: Path) -> subprocess.Popen[str]:
    home = folder / peer.name
    home.mkdir()
    if peer.name == "toolguard":
        command, env = [sys.executable, "-P", str(HERE / "peers_worker.py")], environment(ROOT)
        env["PYTHONPATH"] = os.pathsep.join([env["PYTHONPATH"], str(HERE)])
    elif peer.node:
        command, env = [str(downloads.node()), str(HERE / "peers_worker.mjs"), str(_node_packages())], {}
    else:
        command, env = [str(_python_packages()), "-P", str(HERE / "peers_worker.py")], {}
    env = {"PATH": os.environ["PATH"], **env, "HOME": str(home)}
    return subprocess.Popen(
        [*command, peer.name], env=env, cwd=home, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )  # fmt: skip


def _node_packages() -> Path:
    return downloads.npm_packages("peers", NODE_PACKAGES) / "cc-safety-net" / "dist" / "api.js"


def _python_packages() -> Path:
    """The interpreter of an environment with the packages, installed into the cache folder if they are not there."""
    names = "-".join(package.replace("==", "_") for package in PYTHON_PACKAGES)
    folder = downloads.cache_dir() / f"peers-{names}"
    done = folder / "installed"
    if not done.exists():
        shutil.rmtree(folder, ignore_errors=True)
        venv.create(folder, with_pip=True)
        subprocess.run([folder / "bin" / "python", "-m", "pip", "install", "-q", *PYTHON_PACKAGES], check=True)
        done.touch()
    return folder / "bin" / "python"


if __name__ == "__main__":
    sys.exit(main())
