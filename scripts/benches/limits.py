"""Measures what limits on cost and tokens cost a call: honest calls under limits that they do not reach.

Three engines answer the same calls in turns: without metrics, with metrics, and with 18 amounts of all kinds. Each call
follows the notes about the model call that made it. The times are those of a whole question through the engine's pipes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from everyday import commands
from figures import Figure, options, quantile, report

BLOCK = 10
PLACE = {"agent": "main", "session": "agent:main:main"}
SCOPES: list[dict[str, str]] = [{}, {"agent": "main"}, {"model": "p/*"}, {"agent": "other", "model": "m"}]
LIMITS = [{"per": "session", **each, "usd": 1e6} for each in SCOPES[:2]] + [
    {"per": per, **each, "usd": 1e6, "tokens": 10**12} for per in ("day", "month") for each in SCOPES
]
CONFIGS: dict[str, dict[str, Any]] = {
    "without metrics": {},
    "metrics": {"metrics": {"enabled": True}},
    "limits": {"limits": LIMITS},
}


class EngineProcess:
    def __init__(self, stack: ExitStack, folder: Path, name: str) -> None:
        config = {**CONFIGS[name], "metrics": {**CONFIGS[name].get("metrics", {}), "dbPath": str(folder / f"{name}.db")}}
        command = [sys.executable, "-m", "toolguard_engine"]
        environment = {**os.environ, "HOME": str(folder)}
        process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        self.process = stack.enter_context(process)
        stack.callback(lambda: self.process.stdin.close() if self.process.stdin else None)
        self.number = 0
        self.ask({"type": "hello", "v": 1, "stateDir": str(folder / name), "gateway": name, "config": config})

    def ask(self, message: dict[str, Any], *notes: dict[str, Any]) -> float:
        """Microseconds until the answer."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        for note in notes:
            self.process.stdin.write(json.dumps({**note, **PLACE, "run": f"r{self.number}"}).encode() + b"\n")
            self.process.stdin.flush()
            time.sleep(0.0005)  # the gateway does other things in between
        line = json.dumps({"id": self.number, **message}).encode() + b"\n"
        mark = f'"id":{self.number},'.encode()
        self.number += 1
        begun = time.perf_counter_ns()
        self.process.stdin.write(line)
        self.process.stdin.flush()
        while mark not in self.process.stdout.readline():
            pass
        return (time.perf_counter_ns() - begun) / 1e3


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--calls", type=int, default=3_000, help="calls for each engine (3000)")
    chosen = parser.parse_args()
    times: dict[str, list[float]] = {name: [] for name in CONFIGS}
    texts = commands(60, 320)
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder, ExitStack() as stack:
        engines = {name: EngineProcess(stack, Path(folder), name) for name in CONFIGS}
        for start in range(-BLOCK, chosen.calls, BLOCK):
            for name, engine in engines.items():
                found = [engine.ask(judge(texts[at % len(texts)], at), *notes(at)) for at in range(start, start + BLOCK)]
                times[name] += found if start >= 0 else []
    report(list(figures(times)), chosen.json)
    return 0


def judge(text: str, number: int) -> dict[str, Any]:
    return {"type": "judge", "tool": "exec", "params": {"command": text}, "run": f"r{number}", "call": f"c{number}", **PLACE}


def notes(number: int) -> list[dict[str, Any]]:
    model = {"provider": "p", "model": "m"}
    usage = {"input": 1_000 + number, "output": 100, "totalTokens": 1_100 + number, "cost": 0.01}
    return [
        {"type": "model-ended", **model, "outcome": "completed", "durationMs": 900},
        {"type": "answered", **model, "usage": usage},
    ]


def figures(times: dict[str, list[float]]) -> list[Figure]:
    found = []
    for which, share, promise in (("p50", 0.5, 1.1), ("p99", 0.99, None)):
        measured = {name: quantile(each, share) for name, each in times.items()}
        base = measured["metrics"]
        found += [
            Figure(f"a call, {name}, {which}", value, "us", f"{value / base:.2f} x with metrics")
            for name, value in measured.items()
        ]
        ratio = measured["limits"] / base
        found.append(Figure(f"... limits in times of metrics alone, {which}", ratio, "x", promise=promise))
    return found


if __name__ == "__main__":
    sys.exit(main())
