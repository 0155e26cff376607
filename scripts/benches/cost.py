"""Searches for calls that take much processor time or memory, by hill climbing: `scripts/test --fuzz cost`.

A case is a sequence of one to five steps (calls, results, messages, files on disk) that a real engine is asked in the folder
of a project, with no or 10,000 files remembered. The search begins with the commands of a corpus and with pieces of hostile
texts and code, changes them, and keeps for each kind of step, length and memory what takes most. Times are processor time,
in times of judging an everyday command in the same run, so that they mean the same on every machine. What is bad is printed
with the lines that reproduce it. Ends with 1 if a step takes more than it may.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "engine"))
import bomb  # noqa: E402
import everyday  # noqa: E402
from hostile_calls import DISK, EXEC, KINDS, RUN, WRITE  # noqa: E402
from judged_sequences import Engine, unit  # noqa: E402

import hostile_texts  # noqa: E402 - those that the tests look at as well
from toolguard_engine.server.frame_room import with_room  # noqa: E402

MOST_RATIO = 65
"""About 50 ms where reading an everyday command of 200 characters for the first time takes three quarters of one."""

MOST_MB = 100
LENGTHS = (200, 1_000, 10_000, 65_536)
RECORDS = (0, 10_000)
MOST_STEPS = 5
KEPT = 8
"""Cases that are kept for each kind of step, length and memory."""

SAVED = 300
SHOWN = 200
PIPED, OTHERS = 5, 3
SHELL, CODE = (*hostile_texts.PIECES, *hostile_texts.SHELL), hostile_texts.CODE
SIGNS = "*?[]{}$'\"`\\/~.=-|;&<>() \n#!a0,:@%"
NESTED = (("$(", ")"), ("'", "'"), ("f() { ", "; }; f; "), ("{a,", ",b}"), ("(", ")"), ("[", "]"))
LIKELY = (EXEC, EXEC, EXEC, WRITE, RUN, DISK, "node -e", "python -c", "result", "from outside", "message")


@dataclass(frozen=True)
class Step:
    kind: str
    text: str


@dataclass(frozen=True)
class Case:
    """`worst`: the number of the step that takes most."""

    steps: tuple[Step, ...]
    origin: int
    """The number of the text that it began with."""
    records: int = 0
    ratio: float = 0.0
    ms: float = 0.0
    mb: float = 0.0
    worst: int = 0
    decisions: str = ""

    @property
    def bad(self) -> bool:
        return self.ratio > MOST_RATIO or self.mb > MOST_MB

    @property
    def rank(self) -> float:
        return max(self.ratio / MOST_RATIO, self.mb / MOST_MB)

    @property
    def length(self) -> int:
        size = sum(len(step.text) for step in self.steps)
        return next((each for each in LENGTHS if size <= each), LENGTHS[-1])

    def messages(self) -> list[list[dict[str, object]]]:
        return [KINDS[step.kind](step.text) for step in self.steps]


class Scale:
    """Measures cases."""

    def __init__(self, folder: Path) -> None:
        self._engine = Engine(folder)
        self.unit = unit()

    def measured(self, case: Case, worst: float) -> Case:
        """The time of its worst step, and its memory if it may be one of the `worst`. What takes long is measured again."""
        found = self._timed(case)
        if found.rank > worst:
            found = min(found, self._timed(case), key=lambda each: each.ms)
        if found.ratio > MOST_RATIO:
            self._fresh()
            self.unit = max(self.unit, unit())
            found = min((self._timed(case) for _ in range(3)), key=lambda each: each.ratio)
        if found.rank > worst or random.random() < 1 / 32:  # noqa: S311
            found = replace(found, mb=self._engine.memory(case.messages(), case.records))
        return found

    def _timed(self, case: Case) -> Case:
        costs = self._engine.played(case.messages(), case.records)
        at = max(range(len(costs)), key=lambda each: costs[each].ms)
        decisions = " ".join(dict.fromkeys(code for cost in costs for code in cost.decisions))
        return replace(case, ms=costs[at].ms, ratio=costs[at].ms / self.unit, worst=at, decisions=decisions)

    @staticmethod
    def _fresh() -> None:
        """Nothing is remembered of the texts before, and nothing of them is collected while something is measured."""
        for each in gc.get_objects():
            if isinstance(each, functools._lru_cache_wrapper) and each.__module__.startswith("toolguard_engine"):  # noqa: SLF001
                each.cache_clear()
        gc.collect()

    def close(self) -> None:
        self._engine.close()


class Search:
    def __init__(self, chance: random.Random, starts: list[Case], scale: Scale) -> None:
        self.chance, self.starts, self.scale = chance, starts, scale
        self.best: dict[tuple[str, int, int], list[Case]] = {}
        self.tried: Counter[str] = Counter()
        self.told: set[int] = set()

    def climb(self, until: Callable[[], bool]) -> None:
        while not until():
            if self.tried.total() % 500 == 0:
                self.scale.unit = unit()  # this machine may be slower than before
            kept = self.best[self.chance.choice(list(self.best))] if self.best else []
            parent = self.chance.choice(kept) if kept and self.chance.random() < 0.8 else self._new()  # noqa: PLR2004
            case = parent
            for _ in range(self.chance.choice((1, 1, 2, 4))):
                case = self._changed(case)
            self.keep(self._cut(case, self.chance.choice(LENGTHS)))

    def keep(self, case: Case) -> None:
        """One case of each origin, the most expensive ones of all."""
        kind = case.steps[case.worst].kind if case.worst < len(case.steps) else ""
        kept = self.best.get((kind, case.length, case.records), [])
        case = self.scale.measured(case, kept[-1].rank if len(kept) == KEPT else 0.0)
        kind = case.steps[case.worst].kind
        self.tried[kind] += 1
        kept = self.best.setdefault((kind, case.length, case.records), [])
        kept[:] = sorted((case, *kept), key=lambda each: each.rank, reverse=True)
        seen: set[int] = set()
        kept[:] = [each for each in kept if each.origin not in seen and not seen.add(each.origin)][:KEPT]
        if case.bad and case.origin not in self.told:
            self.told.add(case.origin)
            print("found", described(case), flush=True)

    def _new(self) -> Case:
        start = self.chance.choice(self.starts)
        if len(start.steps) > 1:
            return start
        kind = self.chance.choice(LIKELY) if self.chance.random() < 0.6 else self.chance.choice(sorted(KINDS))  # noqa: PLR2004
        return replace(start, steps=(Step(kind, start.steps[0].text),), records=self.chance.choice(RECORDS))

    def _cut(self, case: Case, length: int) -> Case:
        steps, room = [], length
        for step in case.steps[:MOST_STEPS]:
            steps.append(replace(step, text=step.text[: max(1, room)] or "x"))
            room -= len(step.text)
            if room <= 0:
                break
        return replace(case, steps=tuple(steps), worst=0)

    def _changed(self, case: Case) -> Case:
        """A step added, repeated, left out, of another kind or with another text; or another memory."""
        chance, steps = self.chance, list(case.steps)
        at = chance.randrange(len(steps))
        match chance.randrange(12):
            case 0:
                steps.insert(at, self._new().steps[0])
            case 1:
                steps.insert(at + 1, steps[at])
            case 2 if len(steps) > 1:
                del steps[at]
            case 3:
                steps[at] = replace(steps[at], kind=chance.choice(LIKELY))
            case 4 if len(steps) > 1:
                chance.shuffle(steps)
            case 5:
                return replace(case, records=chance.choice(RECORDS))
            case 6:
                kept = self.best.get(chance.choice(list(self.best)), []) if self.best else []
                steps += chance.choice(kept).steps if kept else ()
            case _:
                steps[at] = replace(steps[at], text=self._text(steps[at].text))
        return replace(case, steps=tuple(steps[-MOST_STEPS:]))

    def _text(self, text: str) -> str:
        """Part of it repeated, numbered, nested, grown, joined with another one, renamed or left out."""
        chance = self.chance
        at, end = sorted((chance.randrange(len(text) + 1), chance.randrange(len(text) + 1)))
        if chance.random() < 0.3:  # noqa: PLR2004
            end = min(at + chance.randint(1, 12), len(text))
        part = text[at:end]
        many = chance.choice((2, 3, 10, 100, 3_000))
        match chance.randrange(10):
            case 0 | 1:
                return text[:at] + part * min(many, 1 + 70_000 // (1 + len(part))) + text[end:]
            case 2:
                cut = chance.randrange(len(part) + 1)
                rows = min(many, 1 + 70_000 // (1 + len(part)))
                return text[:at] + "".join(f"{part[:cut]}{n}{part[cut:]}" for n in range(rows)) + text[end:]
            case 3:
                before, behind = chance.choice(NESTED)
                times = min(many, 30)
                return text[:at] + before * times + part + behind * times + text[end:]
            case 4 | 5:
                return text[:at] + chance.choice(SHELL if chance.random() < 0.5 else CODE) + text[at:]  # noqa: PLR2004
            case 6:
                other = chance.choice(self.starts).steps[0].text
                return text[:at] + other + text[end:]
            case 7:
                words = text.split()
                return text.replace(chance.choice(words), chance.choice(words)) if words else text
            case 8:
                return text[:at] + chance.choice(SIGNS) + text[at:]
            case _:
                return text[:at] + text[end:]


def starts(corpus: Path, saved: Path | None) -> list[Case]:
    texts = [json.loads(line)["command"] for line in corpus.read_text("utf-8").splitlines()] if corpus.exists() else []
    texts += [*everyday.commands(200, 40), *SHELL, *CODE, "".join(CODE), *hostile_texts.BEGINNINGS[1:], *hostile_texts.MANY]
    texts += [piece * 40 for piece in SHELL] + [piece * 40 for piece in CODE] + [*hostile_texts.FOUND]
    texts += ["".join(piece.format(n) for n in range(200)) for piece in hostile_texts.MANY]
    found = [Case((Step(EXEC, text),), at) for at, text in enumerate(texts) if text]
    found += [
        Case(tuple(Step(kind, text) for kind, text in steps), len(texts) + at)
        for at, steps in enumerate(hostile_texts.SEQUENCES)
    ]
    rows = map(json.loads, saved.read_text("utf-8").splitlines()) if saved and saved.exists() else ()
    return found + [
        Case(tuple(Step(**step) for step in row["steps"]), 1_000_000 + at, row["records"]) for at, row in enumerate(rows)
    ]


@with_room
def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test --fuzz cost", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="how long to search (5)")
    parser.add_argument("--seed", type=int, default=1, help="another number searches in another order (1)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="where to write the finds, and to read those of before")
    parser.add_argument("--corpus", type=Path, default=everyday.CORPUS, help="labelled commands to begin with")
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder:
        scale = Scale(Path(folder))
        try:
            search = Search(random.Random(chosen.seed), starts(chosen.corpus, chosen.save), scale)  # noqa: S311 - not a secret
            end = time.monotonic() + chosen.minutes * 60
            for case in search.starts:
                if (len(case.steps) > 1 or len(case.steps[0].text) > LENGTHS[0]) and time.monotonic() < end:
                    search.keep(case)
            search.climb(lambda: time.monotonic() > end)
        finally:
            scale.close()
    return report(search, chosen.save)


def _shown(text: str) -> str:
    return text if len(text) <= 2 * SHOWN else f"{text[:SHOWN]} ... {text[-SHOWN // 4 :]}"


def described(case: Case) -> str:
    """Its cost, and what reproduces it."""
    shown = [[step.kind, _shown(step.text)] for step in case.steps]
    size = sum(len(step.text) for step in case.steps)
    cost = f"{case.ms:7.1f} ms {case.ratio:6.0f} x {case.mb:6.1f} MB by step {case.worst + 1}"
    return f"{cost}, {size} characters, {case.records} remembered, {case.decisions[:80]}: {json.dumps(shown)}"


def _beside(worst: list[Case]) -> None:
    """What others wait for the worst of them, through the pipe of an engine of its own."""
    with bomb.engine() as talk:
        for number, case in enumerate(worst):
            messages = [each for step in case.messages() for each in step if each["type"] != "disk"]
            sent = [{key: value for key, value in each.items() if key != "process"} for each in messages]
            seconds = []
            for _ in range(3):
                talk.bomber = f"find-{number}-{len(seconds)}"
                seconds.append(talk.waits(sent, OTHERS))
            print(
                f"{OTHERS} other sessions wait {min(seconds) * 1_000:6.1f} ms, once in the session {described(case)[:160]}"
            )


def report(search: Search, save: Path | None) -> int:
    cases = [case for kept in search.best.values() for case in kept]
    print(f"{search.tried.total()} sequences; judging an everyday command: {search.scale.unit * 1000:.0f} us")
    for length in LENGTHS:
        ranked = sorted((case for case in cases if case.length == length), key=lambda case: case.rank, reverse=True)
        for case in ranked[:8]:
            print(f"{'BAD' if case.bad else '   '} {length:6} {described(case)}")
    _beside(sorted(cases, key=lambda case: case.rank, reverse=True)[:PIPED])
    if save:
        worst = sorted(cases, key=lambda case: case.rank, reverse=True)
        save.write_text("".join(json.dumps(asdict(case)) + "\n" for case in worst[:SAVED]), "utf-8")
        print(f"all of them, as they are: {save}")
    return int(any(case.bad for case in cases))


if __name__ == "__main__":
    sys.exit(main())
