"""Everyday command lines that the benches ask about, and where a corpus of labelled ones may be."""

from __future__ import annotations

import random
import re
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "commands.jsonl"
PARTS = [
    "cd /home/u/project{n}", "git status --short | head -{n}", "grep -rn 'def main{n}' src/ --include=*.py | sort -k2",
    "npm test -- --watch=false --reporter dot{n}", 'echo "done with {n} tests, {n} of them new" >> notes{n}.txt',
    "python3 -m pytest -q tests/unit/test_module{n}.py -k 'fast or {n}' 2>&1 | tail -20",
    "ls -la src/part{n} docs",
    "git add -A && git commit -m 'Part {n}: say what was wrong and why this mends it'",
    "cp config/a{n}.json config/b{n}.json",
    "sed -n '1,{n}p' src/components/module{n}.js", "git diff HEAD~{n} --stat", "cat docs/guide{n}.md | wc -l",
    "find . -name '*{n}.ts' -not -path './node_modules/*'", "curl -s https://api.example.test/v1/items/{n} | jq .name",
    "docker ps --filter name=n{n}", "test -f a{n} || touch a{n}", "awk '{{print ${n}}}' data{n}.txt", "make -j{n} all",
    "for f in src/{n}/*.js; do echo \"$f\"; done", "export NODE_ENV=test{n}; node scripts/build.js --out dist/{n}",
]  # fmt: skip
MEAN_PART = 40
FIRST = 4
_NAMES = re.compile(r"(?<=[a-z])(?=\.[a-z])|(?<=[a-z_])(?=\s*$)")


def renamed(command: str, number: int) -> str:
    """The same command about other files: the first names of files in it, and its last word, get a number."""
    return _NAMES.sub(str(number), command)


def commands(length: int, count: int, seed: int = FIRST) -> list[str]:
    """Everyday command lines of about this length, each one different; others for another seed."""
    chance = random.Random(seed)  # noqa: S311 - the same commands in every run
    found = []
    for number in range(count):
        text = f"echo {number if seed == FIRST else f'{seed}-{number}'}"
        while len(text) < length - MEAN_PART // 2:
            text += chance.choice([" && ", "; ", "\n"]) + chance.choice(PARTS).format(n=chance.randrange(10_000))
        found.append(text)
    return found
