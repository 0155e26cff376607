"""What the benches measure, as a table for people and as JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One measured number; the promise, where there is one: at most so much, or (`least`) at least; and what it was measured
    beside."""

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


def as_json(figures: Sequence[Figure]) -> list[dict[str, Any]]:
    return [{**asdict(figure), "kept": figure.kept} for figure in figures]


def show(figures: Sequence[Figure]) -> None:
    wide = max((len(figure.name) for figure in figures), default=0)
    print(f"| {'what':{wide}} | {'measured':>15} | {'promise':>8} | kept | beside |\n|---|---|---|---|---|")
    for figure in figures:
        promise = "" if figure.promise is None else f"{'>=' if figure.least else '<='} {figure.promise:g}"
        kept = {None: "", True: "yes", False: "NO"}[figure.kept]
        measured = f"{_short(figure.value)} {figure.unit}"
        print(f"| {figure.name:{wide}} | {measured:>15} | {promise:>8} | {kept:4} | {figure.beside} |")


def _short(value: float) -> str:
    return f"{value:.0f}" if value == int(value) or value >= 1000 else f"{value:.2f}"  # noqa: PLR2004
