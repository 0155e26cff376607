"""Measures how fast and how well calls are judged.

Speed is measured with one engine in this process, over calls that all differ, and compared with tree-sitter-bash parsing the
same commands in the same run. Quality is measured on a file of labelled commands (`--corpus`), by source: how many dangerous
and how many harmless commands are held or blocked.
"""

from __future__ import annotations

import json
import random
import resource
import statistics
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import tree_sitter_bash
from everyday import commands
from figures import Figure, options, report
from tree_sitter import Language, Parser

from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

TOOLGUARD = Path(sys.executable).with_name("toolguard")
HOSTILE = {
    "1 MB of words": "a " * 500_000,
    "1 MB of commands": "rm a;" * 200_000,
    "1 MB of random bytes": random.Random(7).randbytes(1_000_000).decode("latin-1"),  # noqa: S311 - not a secret
    "10,000 nested substitutions": "echo " + "$(" * 10_000 + "rm" + ")" * 10_000,
    "10,000 unclosed substitutions": "$(" * 10_000,
}


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--corpus", type=Path, help="labelled commands, one JSON object per line")
    parser.add_argument(
        "--misses", action="store_true", help="also list the commands whose verdict differs from their label"
    )
    chosen = parser.parse_args()
    guard = Guard(Config(), {}, Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json"), packs.load())
    rows = [json.loads(line) for line in chosen.corpus.read_text("utf-8").splitlines()] if chosen.corpus else []
    table = quality(guard, rows)
    report([*speed(guard), *stream(), *table.figures()], chosen.json)
    table.show(misses=chosen.misses)
    return 0


def calls(tool: str, params: Iterable[dict[str, Any]]) -> list[Call]:
    return [Call(tool, each, agent="main", session="agent:main:main", cwd="/home/u/work") for each in params]


def microseconds(each: Callable[[Any], object], items: list[Any]) -> list[float]:
    taken = []
    for item in items:
        start = time.perf_counter()
        each(item)
        taken.append((time.perf_counter() - start) * 1e6)
    return taken


def speed(guard: Guard) -> list[Figure]:
    oracle = Parser(Language(tree_sitter_bash.language()))
    texts = commands(200, 4_000)
    parse = statistics.median(microseconds(oracle.parse, [text.encode() for text in texts]))
    ours = statistics.median(microseconds(guard.weigh, calls("exec", [{"command": text} for text in texts])))
    others = [
        *calls("read", [{"path": f"src/file{n}.py"} for n in range(800)]),
        *calls("write", [{"path": f"docs/{n}.md", "content": f"# {n}\n" * 40} for n in range(800)]),
        *calls("edit", [{"path": f"src/{n}.py", "edits": [{"oldText": f"a{n}", "newText": "b"}]} for n in range(800)]),
        *calls("message", [{"action": "send", "target": f"u{n}", "message": f"done {n}"} for n in range(800)]),
        *calls("web_fetch", [{"url": f"https://example.test/{n}"} for n in range(800)]),
        *calls("process", [{"action": "poll", "sessionId": f"s{n}"} for n in range(800)]),
    ]
    other = statistics.median(microseconds(guard.weigh, others))
    long = statistics.median(microseconds(guard.weigh, calls("exec", [{"command": t} for t in commands(10_000, 60)]))) / 1e3
    figures = [
        Figure("exec of 200 characters, p50", ours, "us", f"{ours / parse:.1f} x tree-sitter-bash parsing it", 60),
        Figure("other tools, p50", other, "us", promise=10),
        Figure("exec of 10 kB, p50", long, "ms", promise=2),
    ]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "engine"))
    from hostile_texts import texts as hostile_texts  # noqa: PLC0415 - those that the tests look at as well

    taken, name = max(
        (microseconds(guard.weigh, calls("exec", [{"command": text}]))[0], name)
        for name, text in hostile_texts(65_536).items()
    )
    figures.append(Figure("the dearest text of the tests, 64 kB", taken / 1e3, "ms", name, 50))
    for name, text in HOSTILE.items():
        (taken,) = microseconds(guard.weigh, calls("exec", [{"command": text}]))
        verdict = guard.weigh(calls("exec", [{"command": text}])[0]).decision
        figures.append(Figure(name, taken / 1e3, "ms", verdict, 50))
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    return [*figures, Figure("memory that those took", grown, "MB")]


def stream() -> list[Figure]:
    """`toolguard check --stdin` as a process of its own, its start included."""
    lines = [json.dumps({"tool": "exec", "params": {"command": text}}) for text in commands(90, 20_000)]
    start = time.perf_counter()
    done = subprocess.run(
        [str(TOOLGUARD), "check", "--stdin"], input="\n".join(lines), capture_output=True, text=True, check=True
    )
    taken = time.perf_counter() - start
    answers = done.stdout.count("\n")
    return [Figure("check --stdin", answers / taken, "lines/s", f"{answers} lines in {taken:.1f} s", 5_000, least=True)]


@dataclass(frozen=True)
class Quality:
    """How many rows there are and how many of them were held or blocked, by label and tier, and by source."""

    total: Counter[tuple[str, str]]
    stopped: Counter[tuple[str, str]]
    otherwise: list[tuple[str, str, str]]

    def share(self, *keys: tuple[str, str]) -> float:
        total = sum(self.total[key] for key in keys)
        return 100 * sum(self.stopped[key] for key in keys) / total if total else 0.0

    def figures(self) -> list[Figure]:
        if not self.total:
            return []
        block, ask = ("dangerous", "block"), ("dangerous", "ask")
        return [
            Figure("dangerous (block) held or blocked", self.share(block), "%", promise=95, least=True),
            Figure("all dangerous held or blocked", self.share(block, ask), "%", promise=88, least=True),
            Figure("ordinary benign held or blocked", self.share(("benign", "rule")), "%", promise=0.3),
            Figure("hard negatives held or blocked", self.share(("benign", "author")), "%", promise=3),
        ]

    def show(self, *, misses: bool) -> None:
        if not self.total:
            print("\nno labelled commands here (--corpus)")
            return
        print(f"\n| {'label':9} | {'tier or source':40} | rows | stopped |\n|---|---|---|---|")
        for (label, source), count in sorted(self.total.items()):
            stopped = self.stopped[label, source]
            print(f"| {label:9} | {source:40} | {count:4} | {stopped:4} ({100 * stopped / count:.1f} %) |")
        for label, source, command in self.otherwise if misses else []:
            print(f"{label} {source}: {command[:160]!r}")


def quality(guard: Guard, rows: list[dict[str, Any]]) -> Quality:
    found = Quality(Counter(), Counter(), [])
    for row in rows:
        stopped = guard.weigh(calls("exec", [{"command": row["command"]}])[0]).decision != "allow"
        for key in ((row["label"], row["tier"]), (row["label"], row["source"])):
            found.total[key] += 1
            found.stopped[key] += stopped
        if stopped != (row["label"] == "dangerous"):
            found.otherwise.append((row["label"], row["source"], row["command"]))
    return found


if __name__ == "__main__":
    sys.exit(main())
