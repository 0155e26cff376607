"""Rehearsals whose output is applied: `kubectl create ... --dry-run=client -o yaml | kubectl apply -f -` creates it.

The rehearsal stands among the programs that run a second time, as if it were none.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from posixpath import dirname, normpath

import msgspec

from toolguard_engine.effects.facts.command import ProgramRun

CLIENTS = frozenset({"kubectl", "oc", "k"})
_APPLYING = frozenset({"apply", "create", "replace"})
_INPUT = frozenset({"-", "/dev/stdin"})
_MAX_CLIENTS = 50
_UNDONE = frozenset({"none", "false"})


def applied(runs: list[ProgramRun]) -> Iterator[ProgramRun]:
    """What the last of these programs applies that an earlier one only rehearsed."""
    last = runs[-1] if runs else None
    if last is None or last.name not in CLIENTS or _APPLYING.isdisjoint(last.argv) or _rehearses(last):
        return
    files = {part for word in _files(last) for part in word.split(",")}
    reads = not files.isdisjoint(_INPUT)
    pipelines = {last.pipeline} if reads else set()
    if reads:
        files |= {redirect.target for redirect in last.redirects if redirect.kind == "read"}
        files |= set(last.stdin.files if last.stdin is not None else ())
    files = {normpath(file) for file in files - _INPUT}
    of_text = any(not CLIENTS.isdisjoint(feed.programs) for _, feed in last.given) or (
        reads and last.stdin is not None and not CLIENTS.isdisjoint(last.stdin.programs)
    )
    clients = 0
    for program in islice(reversed(runs), 1, None):
        if not files.isdisjoint(_written(program)):
            pipelines.add(program.pipeline)
        if program.name not in CLIENTS:
            continue
        clients += 1
        if clients > _MAX_CLIENTS:
            return
        if _rehearses(program) and (program.pipeline in pipelines or (of_text and "$()" in program.via)):
            dry = {option.word for option in program.words.given if "--dry-run" in option.entry.names}
            places = [at for at in range(len(program.argv)) if at not in dry]
            applied = program.with_words(tuple(program.argv[at] for at in places), places=places)
            yield msgspec.structs.replace(applied, redirects=(), piped=False)


def _written(program: ProgramRun) -> Iterator[str]:
    """The files that keep its output, and their folders."""
    kept = [redirect.target for redirect in program.redirects if redirect.kind != "read"]
    for file in (*kept, *(program.argv[1:] if program.name == "tee" else ())):
        yield normpath(file)
        yield dirname(normpath(file)) or "."


def _rehearses(program: ProgramRun) -> bool:
    return any(value.text not in _UNDONE for value in program.words.values("--dry-run"))


def _files(program: ProgramRun) -> Iterator[str]:
    return (value.text.removeprefix("=") for value in program.words.values("--filename"))
