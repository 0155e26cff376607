"""What all benches share: figures, their table, and timing."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One measured number. `promise`: it may be at most that, or must be at least that (`least`); `beside`: what it was
    measured beside."""

    name: str
    value: float
    unit: str
    beside: str = ""
    promise: float | None = None
    least: bool = False

    @property
    def kept(self) -> bool | None:
        if self.promise is None:
            return None
        return self.value >= self.promise if self.least else self.value <= self.promise


def options(description: str | None) -> argparse.ArgumentParser:
    """The options that every bench has."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=description)
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures")
    return parser


def report(figures: Sequence[Figure], file: Path | None) -> None:
    wide = max((len(figure.name) for figure in figures), default=0)
    print(f"| {'what':{wide}} | {'measured':>15} | {'target':>8} | met  | baseline |\n|---|---|---|---|---|")
    for figure in figures:
        promise = "" if figure.promise is None else f"{'>=' if figure.least else '<='} {figure.promise:g}"
        kept = {None: "", True: "yes", False: "NO"}[figure.kept]
        measured = f"{_short(figure.value)} {figure.unit}"
        print(f"| {figure.name:{wide}} | {measured:>15} | {promise:>8} | {kept:4} | {figure.beside} |")
    if file:
        rows = [{**asdict(figure), "kept": figure.kept} for figure in figures]
        file.write_text(json.dumps(rows, indent=2) + "\n")
        print(f"\nwritten to {file}")


def _short(value: float) -> str:
    return f"{value:.0f}" if value == int(value) or value >= 1000 else f"{value:.2f}"  # noqa: PLR2004


def milliseconds(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def quantile(times: list[float], share: float) -> float:
    return sorted(times)[min(len(times) - 1, int(len(times) * share))]
