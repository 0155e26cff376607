"""Searches for calls that take much time or memory to judge, by hill climbing: `scripts/test --fuzz cost`.

It begins with the commands of a corpus, pieces of hostile texts and code, changes them, and keeps for each kind of call and
each length what takes most. All times are processor time, in times of an `exec` of 200 characters in the same run, so that
they mean the same on every machine. Ends with 1 if a call takes more than it may.
"""

from __future__ import annotations

import argparse
import functools
import gc
import json
import random
import resource
import signal
import statistics
import sys
import time
import tracemalloc
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import everyday
from hostile_calls import EXEC, HOST, KINDS, OWN_RULES, Play

from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.rules import packs
from toolguard_engine.rules.rule_form import rule_from
from toolguard_engine.server.frame_room import with_room

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "engine"))
import hostile_texts  # noqa: E402 - those that the tests look at as well

MOST_RATIO = 300
MOST_MB = 100
LENGTHS = (200, 1_000, 10_000, 65_536)
KEPT = 10
"""Cases that are kept for each kind of call and length."""

SAVED = 300
GIVE_UP = 15
"""Seconds of processor time after which a call is not waited for."""

SHELL, CODE = (*hostile_texts.PIECES, *hostile_texts.SHELL), hostile_texts.CODE
SIGNS = "*?[]{}$'\"`\\/~.=-|;&<>() \n#!a0,:@%"
NESTED = (("$(", ")"), ("'", "'"), ("f() { ", "; }; f; "), ("{a,", ",b}"), ("(", ")"), ("[", "]"))


@dataclass(frozen=True)
class Case:
    kind: str
    origin: int
    """The number of the text that it began with."""
    text: str
    ratio: float = 0.0
    ms: float = 0.0
    mb: float = 0.0

    @property
    def bad(self) -> bool:
        return self.ratio > MOST_RATIO or self.mb > MOST_MB

    @property
    def rank(self) -> float:
        return max(self.ratio / MOST_RATIO, self.mb / MOST_MB)


class _TooSlowError(Exception):
    pass


class Scale:
    """Measures cases."""

    def __init__(self) -> None:
        named = ({"id": f"constraint.r{number}", "reason": "own", **rule} for number, rule in enumerate(OWN_RULES))
        rules = [rule_from(each, "constraint") for each in named]
        self._book = packs.load()
        self._own = self._book.plus(rules)
        self._everyday = [KINDS[EXEC](text) for text in everyday.commands(200, 60)]
        signal.signal(signal.SIGPROF, self._stop)
        self.unit = self._unit()

    @staticmethod
    def _stop(*_: object) -> None:
        raise _TooSlowError

    def _guard(self, *, own: bool = True) -> Guard:
        return Guard(Config(), {}, HOST, self._own if own else self._book)

    def _ms(self, play: Play, guard: Guard) -> float:
        signal.setitimer(signal.ITIMER_PROF, GIVE_UP)
        begun = time.thread_time()
        try:
            play(guard)
        except _TooSlowError:
            pass
        finally:
            signal.setitimer(signal.ITIMER_PROF, 0)
        return (time.thread_time() - begun) * 1_000

    def _unit(self) -> float:
        """Milliseconds of an `exec` of 200 characters, just now, without rules of a person."""
        guard = self._guard(own=False)
        return statistics.median([self._ms(play, guard) for play in self._everyday])

    def _fresh(self) -> None:
        """Nothing is remembered of the texts before."""
        for each in gc.get_objects():
            if isinstance(each, functools._lru_cache_wrapper) and each.__module__.startswith("toolguard_engine"):  # noqa: SLF001
                each.cache_clear()
        self._everyday[0](self._guard())
        KINDS[EXEC]("ls ~/a ../b /c; cat ~/.openclaw/x")(self._guard())

    def measured(self, case: Case, worst: float) -> Case:
        """Its time, and its memory if it may be one of the `worst`. What takes long is measured again."""
        play = KINDS[case.kind](case.text)
        ms = self._ms(play, self._guard())
        if ms / self.unit / MOST_RATIO > worst:
            ms = min(ms, self._ms(play, self._guard()))
        found = replace(case, ms=ms, ratio=ms / self.unit)
        if found.ratio > MOST_RATIO:
            self._fresh()
            units, times = zip(*[(self._unit(), self._ms(play, self._guard())) for _ in range(4)], strict=True)
            self.unit = statistics.median(units)
            found = replace(found, ms=min(times), ratio=min(each / unit for each, unit in zip(times, units, strict=True)))
        return replace(found, mb=self._mb(play)) if found.rank > worst or random.random() < 1 / 32 else found  # noqa: S311

    def _mb(self, play: Play) -> float:
        guard = self._guard()
        tracemalloc.start()
        try:
            self._ms(play, guard)
            return tracemalloc.get_traced_memory()[1] / 1e6
        finally:
            tracemalloc.stop()


class Search:
    def __init__(self, chance: random.Random, starts: list[Case], scale: Scale) -> None:
        self.chance, self.starts, self.scale = chance, starts, scale
        self.best: dict[tuple[str, int], list[Case]] = {}
        self.tried: Counter[str] = Counter()

    def climb(self, until: Callable[[], bool]) -> None:
        while not until():
            if self.tried.total() % 500 == 0:
                self.scale.unit = self.scale._unit()  # noqa: SLF001 - this machine may be slower than before
            length = self.chance.choice(LENGTHS)
            kind = EXEC if self.chance.random() < 0.4 else self.chance.choice(sorted(KINDS))  # noqa: PLR2004
            kept = self.best.setdefault((kind, length), [])
            parent = self.chance.choice(kept) if kept and self.chance.random() < 0.8 else self._new(kind)  # noqa: PLR2004
            text = parent.text
            for _ in range(self.chance.choice((1, 1, 2, 4))):
                text = self._changed(text)[:length]
            self.keep(replace(parent, text=text or "x"), length)

    def keep(self, case: Case, length: int) -> None:
        """One case of each origin, the most expensive ones of all."""
        kept = self.best.setdefault((case.kind, length), [])
        worst = kept[-1].rank if len(kept) == KEPT else 0.0
        case = self.scale.measured(case, worst)
        self.tried[case.kind] += 1
        kept[:] = sorted((case, *kept), key=lambda each: each.rank, reverse=True)
        seen: set[int] = set()
        kept[:] = [each for each in kept if each.origin not in seen and not seen.add(each.origin)][:KEPT]

    def _new(self, kind: str) -> Case:
        return replace(self.chance.choice(self.starts), kind=kind)

    def _changed(self, text: str) -> str:
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
                other = chance.choice(self.starts).text
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
    texts += [piece * 40 for piece in SHELL] + [piece * 40 for piece in CODE]
    texts += ["".join(piece.format(n) for n in range(200)) for piece in hostile_texts.MANY]
    found = [Case(EXEC, at, text) for at, text in enumerate(texts)]
    rows = map(json.loads, saved.read_text("utf-8").splitlines()) if saved and saved.exists() else ()
    return found + [Case(row["kind"], len(found) + at, row["text"]) for at, row in enumerate(rows)]


@with_room
def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/test --fuzz cost", description=__doc__)
    parser.add_argument("--minutes", type=float, default=5, help="how long to search (5)")
    parser.add_argument("--seed", type=int, default=1, help="another number searches in another order (1)")
    parser.add_argument("--save", type=Path, metavar="FILE", help="where to write the finds, and to read those of before")
    parser.add_argument("--corpus", type=Path, default=everyday.CORPUS, help="labelled commands to begin with")
    chosen = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, resource.getrlimit(resource.RLIMIT_DATA)[1]))
    search = Search(random.Random(chosen.seed), starts(chosen.corpus, chosen.save), Scale())  # noqa: S311 - not a secret
    for case in search.starts[:]:
        if case.text and case.kind in KINDS and len(case.text) > LENGTHS[0]:
            search.keep(case, next((each for each in LENGTHS if len(case.text) <= each), LENGTHS[-1]))
    end = time.monotonic() + chosen.minutes * 60
    search.climb(lambda: time.monotonic() > end)
    return report(search, chosen.save)


def report(search: Search, save: Path | None) -> int:
    cases = [(length, case) for (_, length), kept in search.best.items() for case in kept]
    print(f"{search.tried.total()} calls; an exec of 200 characters: {search.scale.unit * 1000:.0f} us")
    for length in LENGTHS:
        ranked = sorted((case for each, case in cases if each == length), key=lambda case: case.rank, reverse=True)
        for case in ranked[:6]:
            what = f"{case.ms:7.1f} ms {case.ratio:6.0f} x {case.mb:6.1f} MB"
            print(f"{'BAD' if case.bad else '   '} {length:6} {what}  {case.kind}: {case.text[:100]!r}")
    if save:
        worst = sorted((case for _, case in cases), key=lambda case: case.rank, reverse=True)
        save.write_text("".join(json.dumps(asdict(case)) + "\n" for case in worst[:SAVED]), "utf-8")
    return int(any(case.bad for _, case in cases))


if __name__ == "__main__":
    sys.exit(main())
