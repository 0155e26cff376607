"""Calibrates the steps of work: what a step of each kind of work costs, in processor time.

For each kind, commands of two lengths are judged in turns; what the longer one takes more is divided by the steps that it
counts more. A kind whose steps cost several times the usual lets expensive calls through; one whose steps cost a fraction of
it has honest ones held.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from figures import Figure, options, report

from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "tests" / "engine"))
from honest_scripts import NODE, PYTHON, Author

SHORT, LONG = 3_000, 6_000
"""Characters."""

UNLIMITED = 1e6
"""Steps, so that nothing is held."""

PARTS = {
    "programs": "ls -la src{n} docs; ",
    "programs with manuals": "git log -n {n} --oneline -- src; ",
    "programs of projects": "pytest -q tests/test_{n}.py; ",
    "many words": "echo a{n} b c d e f g h i j k l m n o p q r s t u v w x y z; ",
    "files that are written": "echo a{n} >> notes{n}.txt; ",
    "copies": "cp a{n}.txt b{n}.txt; ",
    "assignments": 'A{n}="x{n}"; ',
    "expansions": 'A=x{n}; echo "$A" "${{A:-b}}"; ',
    "wildcards": "wc -l src{n}/*.py; ",
    "substitutions": "echo $(wc -l a{n}.txt); ",
    "loops": 'for f in a b c; do echo "$f" {n}; done; ',
    "conditions": "if test -f a{n}; then echo {n}; fi; ",
    "functions": "f{n}() {{ echo {n}; }}; f{n}; ",
    "pipelines": "sort a{n} | uniq -c | head; ",
    "programs beside the guard's": "systemctl status x{n}; ls src{n}; ",
    "comments": "# about {n}: nothing that matters, but it is said all the same\n",
}


CODE = {"Python": ("python3 -", PYTHON), "Node": ("node -", NODE)}
Text = Callable[[int, int], str]
"""Of so many characters, for each round another one: what was read last is kept."""


def main() -> int:
    parser = options(__doc__)
    parser.add_argument("--rounds", type=int, default=5, help="how often each command is judged (5)")
    chosen = parser.parse_args()
    guard = Guard(Config(), {}, Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json"), packs.load())
    kinds: dict[str, Text] = {kind: partial(_filled, part) for kind, part in PARTS.items()}
    kinds |= {language: partial(_code, language) for language in CODE}
    costs = {kind: cost(guard, text, chosen.rounds) for kind, text in kinds.items()}
    usual = statistics.median(each for each, _ in costs.values())
    figures = [
        Figure(f"a step: {kind}", each, "us", f"{each / usual:.1f} x the median; {steps:.2f} steps for a character")
        for kind, (each, steps) in sorted(costs.items(), key=lambda item: -item[1][0])
    ]
    report(figures, chosen.json)
    return 0


def _filled(part: str, size: int, round_: int) -> str:
    found, number = "", 1_000 * round_
    while len(found) < size:
        number += 1
        found += part.format(n=number)
    return found


def _code(language: str, size: int, round_: int) -> str:
    program, piece = CODE[language]
    return f"{program} <<'CODE'\n{Author(round_).code(piece, size)}CODE"


def cost(guard: Guard, text: Text, rounds: int) -> tuple[float, float]:
    """Microseconds for each further step, and steps for each further character."""
    times: list[list[float]] = [[], []]
    steps, characters = [0.0, 0.0], [0, 0]
    for number in range(rounds + 1):
        for at, size in enumerate((SHORT, LONG)):
            command = text(size, 2 * number + at)
            reading = guard.read(Call("exec", {"command": command}, agent="main", session="s", cwd="/home/u/work"))
            reading.work.extend(UNLIMITED)
            begun = time.process_time()
            guard.weigh_reading(reading)
            times[at] += [time.process_time() - begun] if number else []
            steps[at], characters[at] = reading.work.spent, len(command)
    more = steps[1] - steps[0]
    return (min(times[1]) - min(times[0])) * 1e6 / more, more / (characters[1] - characters[0])


if __name__ == "__main__":
    sys.exit(main())
