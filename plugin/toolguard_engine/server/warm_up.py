"""Sample calls through the deciding path before the first real one: what is learned and compiled on first use is there then.
After them, all other regular expressions are compiled, those of rules as well.

The samples are weighed without a run, a session or a store, so nothing of them is counted, recorded or remembered.
"""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine import lazy_re
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call
from toolguard_engine.rules import risk_levels
from toolguard_engine.wire import messages

_COMMANDS = (
    "ls -la src docs",
    "cd app && git status --short | head -20; git diff --stat && git log --oneline -5",
    "cat package.json | jq .version; sed -n '1,80p' src/index.js",
    "grep -rn 'def main' src --include=*.py | sort -k2 | uniq -c",
    "find . -name '*.ts' -not -path './node_modules/*' | xargs wc -l",
    "npm test -- --watch=false 2>&1 | tail -20",
    "python3 -m pytest -q tests/unit; python3 -c 'print(1)'",
    "node -p 'require(\"./package.json\").version'; awk '{system(\"ls\")}' a; perl -ne 'print if open(F, $_)' a",
    'mkdir -p build && cp a.json build/ && echo "$HOME" > notes.txt && rm -rf build/tmp',
    'curl -s https://example.test/items | jq .name; for f in *.js; do echo "$f"; done',
    "sudo systemctl status nginx; docker ps; kill 1",
    "python3 -c '" + "\n".join(f"found_{number} = write(items[{number}])" for number in range(40)) + "'",
)
_CALLS = (
    *(("exec", {"command": command}) for command in _COMMANDS),
    ("read", {"path": "src/index.js"}),
    ("write", {"path": "docs/a.md", "content": "a"}),
)
_QUESTION = b'{"id":1,"type":"judge","tool":"read","params":{"path":"a"},"agent":"main","session":"s","run":"r","call":"c"}'


def steps(guard: Guard) -> Iterator[None]:
    """Does a part of the work at each step."""
    messages.decode(_QUESTION)
    messages.encode(messages.VerdictAnswer(1, "allow", "allow", outcome="tell"))
    config = guard.config_for("")
    for tool, params in _CALLS:
        reading = guard.read(Call(tool, params, cwd="/"))
        risk_levels.weigh(reading, guard.weigh_reading(reading), config)
        yield
    yield from guard.prepared()
    yield from lazy_re.unused()
