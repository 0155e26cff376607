"""Measures what edits of a long openclaw.json cost, and prints a table; `--json FILE` also writes the figures.

The document is commented JSON5 of 2,000 lines, with every kind of value. Times are those of this process on the processor.
Beside each: how many times what the json package takes for equivalent JSON in the same run, and how much quicker than the
json5 package reading the same text.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import json5
from figures import Figure, as_json, show

from toolguard_cli import json5_edit

LINES = 2_000
ROUNDS = 30
PROMISE_MS = 50
BARE = "json.loads of the same values"
READ = "read (parse with spans)"
LOCATE = "locate"
READING = {BARE, READ, LOCATE}
SECTION = """\
  // section {n}: what the agent may do
  "agent-{n}": {{
    enabled: true, // since {n}
    'name': "agent {n}",
    limits: {{ max: {n}, min: 0x1F, ratio: .5 }},
    tools: ['read', "write", 'exec', // and some more
      'message'],
    /* a block over
       two lines */
    nested: {{
      token: "${{TOKEN_{n}}}",
      note: "it\\'s \\u0041",
      depth: {{ a: null, b: [1, 2, 3] }},
    }}, // behind nested
  }},

"""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench config", description=__doc__)
    parser.add_argument("--lines", type=int, default=LINES, help=f"lines of the document ({LINES})")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help=f"rounds, the median of which counts ({ROUNDS})")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    figures = measure(document(options.lines), options.rounds)
    show(figures)
    if options.json:
        options.json.write_text(json.dumps(as_json(figures), indent=2) + "\n")
        print(f"\nwritten to {options.json}")
    return 0


def document(lines: int) -> str:
    sections = lines // SECTION.count("\n")
    return "// the gateway\n{\n" + "".join(SECTION.format(n=n) for n in range(sections)) + "}\n"


def measure(text: str, rounds: int) -> list[Figure]:
    """All in turns, so that a busy machine disturbs each alike; json5 only once, it takes that long."""
    taken: dict[str, list[float]] = {}
    for number in range(rounds):
        for name, work in works(text, number).items():
            taken.setdefault(name, []).append(milliseconds(work))
    oracle, bare = milliseconds(lambda: json5.loads(text)), statistics.median(taken[BARE])
    figures = [
        Figure(f"json5.loads of {text.count(chr(10))} lines, once", oracle, "ms", f"{oracle / bare:.0f} x json.loads")
    ]
    for name, times in taken.items():
        value = statistics.median(times)
        beside = f"longest {max(times):.1f} ms"
        if name != BARE:
            beside += f"; {value / bare:.0f} x json.loads, json5.loads takes {oracle / value:.0f} x as long"
        figures.append(Figure(name, value, "ms", beside, None if name in READING else PROMISE_MS))
    return figures


def works(text: str, number: int) -> dict[str, Callable[[], object]]:
    """Each on a text of its own, which nobody has read before."""
    middle = f"agent-{text.count('// section') // 2}"
    plain = json.dumps(json5_edit.loads(text), indent=2)
    texts = iter([f"{text}// {number}.{which}\n" for which in range(9)])

    def on(work: Callable[[str], object]) -> Callable[[], object]:
        fresh = next(texts)
        return lambda: work(fresh)

    def move(fresh: str) -> None:
        without, clip = json5_edit.cut(fresh, [middle, "nested"])
        json5_edit.paste(without, ["agent-0", "moved"], clip)

    return {
        BARE: lambda: json.loads(plain),
        READ: on(json5_edit.parse),
        "set_value, replaced": on(lambda fresh: json5_edit.set_value(fresh, [middle, "nested", "depth", "a"], 7)),
        "set_value, new with parents": on(lambda fresh: json5_edit.set_value(fresh, [middle, "x", "y"], {"on": True})),
        "delete": on(lambda fresh: json5_edit.delete(fresh, [middle, "nested"])),
        "cut": on(lambda fresh: json5_edit.cut(fresh, [middle, "nested"])),
        "cut, then paste": on(move),
        "replace_key": on(lambda fresh: json5_edit.replace_key(fresh, [middle, "tools"], "renamed")),
        LOCATE: on(lambda fresh: json5_edit.locate(fresh, [middle, "nested", "depth"])),
    }


def milliseconds(work: Callable[[], object]) -> float:
    gc.collect()
    started = time.process_time()
    work()
    return (time.process_time() - started) * 1000


if __name__ == "__main__":
    sys.exit(main())
