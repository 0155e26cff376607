"""Measures how soon loops end and what watching for them costs; prints tables. `--json FILE` also writes the figures.

Made-up runs are played on the real gateway under five set-ups in turn (about four minutes): with nothing, with the
gateway's own detection, with toolguard by default, with its `loopDetection` on, and with both. What counts are the requests
to the model until the run ends, of at most 60. Beside it the same runs played through the engine alone; and what the gateway
kept of the unguarded ones played back: at which request toolguard would have ended them, and the tokens that saves.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import loopcost
import loopgateway
import loopplay
import looprecords
from figures import Figure, as_json, show
from loopgateway import SETUPS, UNGUARDED, Seen
from loopkinds import CAP, KINDS, Kind
from loopplay import Played
from looprecords import Recorded

from toolguard_cli.errors import UserError

SIMULATED = {setup.name: setup.settings for setup in SETUPS if setup.settings is not None and not setup.host}
DEFAULT = next(iter(SIMULATED))
GUARDED = {setup.name for setup in SETUPS if setup.settings is not None}
MAX_SHOWN = 55

Real = dict[str, dict[str, Seen]]
Simulated = dict[str, dict[str, Played]]
"""By set-up and kind."""


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/bench loops", description=__doc__)
    parser.add_argument("--fast", action="store_true", help="without a gateway; measures time and memory as well")
    parser.add_argument("--transcripts", type=Path, metavar="FOLDER", help="only play back the transcripts in there")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    try:
        data = measured(options)
    except UserError as error:
        print(f"scripts/bench loops: {error}", file=sys.stderr)
        return 1
    if options.json:
        options.json.write_text(json.dumps(data, indent=2) + "\n")
        print(f"\nwritten to {options.json}")
    return 0


def measured(options: argparse.Namespace) -> dict[str, Any]:
    if options.transcripts:
        return {"recorded": play_back(options.transcripts)}
    simulated = simulate()
    with tempfile.TemporaryDirectory(prefix="toolguard-bench-") as folder:
        real = {} if options.fast else loopgateway.play_all(Path(folder), say)
        compare(real, simulated)
        recorded = play_back(Path(folder)) if real else []
    figures = promises(real, simulated)
    if options.fast:
        for measure in (loopcost.speed, loopcost.stored, loopcost.memory):
            say(f"measuring: {measure.__name__}")
            figures += measure()
    print()
    show(figures)
    return {"figures": as_json(figures), "kinds": rows(real, simulated), "recorded": recorded}


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def simulate() -> Simulated:
    return {
        name: {kind.name: loopplay.play_kind(loopplay.session(settings), kind) for kind in KINDS}
        for name, settings in SIMULATED.items()
    }


def compare(real: Real, simulated: Simulated) -> None:
    """Requests to the model, and in which of them the model was first told something; `!=` where both ways differ."""
    header = ["requests (first told at; tokens)", *(name for setup in SETUPS for name in _columns(setup.name, real))]
    table([header, *(_row(kind, real, simulated) for kind in KINDS)])


def _row(kind: Kind, real: Real, simulated: Simulated) -> list[str]:
    cells = [kind.name]
    for setup in SETUPS:
        seen = real.get(setup.name, {}).get(kind.name)
        cells += [_cell(kind, seen, f"; {seen.tokens // 1000}k")] if seen else []
        if played := simulated.get(setup.name, {}).get(kind.name):
            cells.append(_cell(kind, played) + (" !=" if seen and not _alike(seen, played) else ""))
    return cells


def table(cells: list[list[str]]) -> None:
    """The first row is the header."""
    wide = [max(len(row[column]) for row in cells) for column in range(len(cells[0]))]
    lines = [" | ".join(f"{cell:{width}}" for cell, width in zip(row, wide, strict=True)) for row in cells]
    print(f"\n| {lines[0]} |\n|{'---|' * len(wide)}")
    for line in lines[1:]:
        print(f"| {line} |")


def _columns(setup: str, real: Real) -> list[str]:
    return ([setup] if real else []) + (["simulated" if real else setup] if setup in SIMULATED else [])


def _cell(kind: Kind, found: Seen | Played, more: str = "") -> str:
    never = "" if kind.honest or found.requests < CAP else ">="
    told = f"told at {found.warned}" if found.warned else "-"
    return f"{never}{found.requests} ({told}{more})"


def _alike(seen: Seen, played: Played) -> bool:
    return (seen.requests, seen.warned) == (played.requests, played.warned)


def promises(real: Real, simulated: Simulated) -> list[Figure]:
    """Loops that have to end, honest work that must be done; as seen on the gateway, where one was there."""
    found = []
    runs = {name: played for name, played in real.items() if name in GUARDED} or simulated
    for name, played in runs.items():
        for kind in KINDS:
            run = played[kind.name]
            beside = f"{real[UNGUARDED][kind.name].requests} with {UNGUARDED}" if real else "simulated"
            most = kind.by_default if name == DEFAULT else kind.watched
            promise = kind.calls + 1 if kind.calls else most
            found.append(Figure(f"{kind.name}: {name}", run.requests, "requests", beside, promise, least=kind.honest))
    return found


def rows(real: Real, simulated: Simulated) -> list[dict[str, Any]]:
    return [
        {
            "kind": kind.name,
            "honest": kind.honest,
            "gateway": {name: seen[kind.name].as_json() for name, seen in real.items()},
            "simulated": {name: played[kind.name].as_json() for name, played in simulated.items()},
        }
        for kind in KINDS
    ]


def play_back(folder: Path) -> list[dict[str, Any]]:
    """What toolguard would have done about recorded runs; shows those about which it would have done something."""
    runs = looprecords.within(folder, say)
    engines = {name: loopplay.session(settings) for name, settings in SIMULATED.items()}
    found = [
        _played_back(run, {name: loopplay.play(each, run.requests, run.name) for name, each in engines.items()})
        for run in runs
    ]
    told = [row for row in found if any(each["warned"] for each in row["toolguard"].values())]
    print(f"\n{len(runs)} recorded runs with {sum(row['requests'] for row in found)} requests to the model")
    header = ["recorded run", "requests", *(f"{name}: end, saved" for name in SIMULATED)]
    table([header, *([row["run"], str(row["requests"]), *map(_saved, row["toolguard"].values())] for row in told)])
    for name in SIMULATED:
        ended = [row["toolguard"][name] for row in found if row["toolguard"][name]["code"]]
        saved = [sum(each[what] for each in ended) for what in ("savedRequests", "savedTokens")]
        print(f"{name}: {len(ended)} runs ended, {saved[0]} requests and {saved[1] // 1000}k tokens saved")
    return found


def _played_back(run: Recorded, played: dict[str, Played]) -> dict[str, Any]:
    shown = "".join(letter if letter.isprintable() else " " for letter in run.asked or run.name)[:MAX_SHOWN]
    spared = {name: len(run.requests) - each.requests if each.code else 0 for name, each in played.items()}
    return {
        "run": shown,
        "requests": len(run.requests),
        "tokens": sum(run.tokens),
        "toolguard": {
            name: {
                **each.as_json(),
                "savedRequests": max(0, spared[name]),
                "savedTokens": sum(run.tokens[each.requests :]) if each.code else 0,
            }
            for name, each in played.items()
        },
    }


def _saved(row: dict[str, Any]) -> str:
    if not row["code"]:
        return f"told at {row['warned']}" if row["warned"] else "-"
    return f"{row['requests']} ({row['code']}), {row['savedRequests']} requests, {row['savedTokens'] // 1000}k tokens"


if __name__ == "__main__":
    sys.exit(main())
