"""Rehearsals whose output is applied: `kubectl create ... --dry-run=client -o yaml | kubectl apply -f -` creates it.

The rehearsal stands among the programs that run a second time, as if it were none.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, pairwise

import msgspec

from toolguard_engine.effects.shell.command import ProgramRun

CLIENTS = frozenset({"kubectl", "oc", "k"})
_APPLYING = frozenset({"apply", "create", "replace"})
_INPUT = frozenset({"-", "/dev/stdin"})
_LAST = 12


def applied(runs: list[ProgramRun]) -> Iterator[ProgramRun]:
    """What the last of these programs applies that an earlier one only rehearsed."""
    last = runs[-1] if runs else None
    if last is None or last.name not in CLIENTS or _APPLYING.isdisjoint(last.argv) or _rehearses(last):
        return
    files = set(_files(last.argv))
    for run in islice(reversed(runs), 1, _LAST):
        piped = run.pipeline == last.pipeline and not files.isdisjoint(_INPUT)
        kept = any(redirect.kind != "read" and redirect.target in files for redirect in run.redirects)
        if run.name in CLIENTS and _rehearses(run) and (piped or kept):
            argv = tuple(word for word in run.argv if not word.startswith("--dry-run"))
            yield msgspec.structs.replace(run, argv=argv, redirects=(), piped=False)


def _rehearses(run: ProgramRun) -> bool:
    return any(word.startswith("--dry-run") for word in run.argv)


def _files(argv: tuple[str, ...]) -> Iterator[str]:
    for option, value in pairwise(argv):
        if option in ("-f", "--filename"):
            yield value
    yield from (word.partition("=")[2] for word in argv if word.startswith(("-f=", "--filename=")))
    yield from (word[2:] for word in argv if word.startswith("-f") and word[2:3] not in ("", "="))
