"""The same change of something elsewhere, again and again: a loop closes issues, or publishes one gist after another.

Counted are the runs of programs for accounts on a code platform. In a loop whose rounds nobody knows they count as many.
The kind is `expose` with the flag `many`; the target says what, and how often if that is known.
"""

from __future__ import annotations

from collections import Counter

from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect, ProgramRun, Reading
from toolguard_engine.effects.manuals import option_parser
from toolguard_engine.effects.programs import principles

PROGRAMS = program_catalogue.programs("code_platform", "gateway_cli")
MOST = 10
"""Changes of one kind by one command that are nothing special, as for tools that take lists."""
MOST_PUBLISHED = 2
_MAX_WORDS = 20
_VERBS_AT = 3
_MANY = frozenset(["many"])
_LISTS = program_catalogue.programs("list_runner")
_CHANGES = principles.pattern("repeated", "changes")
_PUBLISHES = principles.pattern("repeated", "publishes")


def effects(seen: Reading) -> list[Effect]:
    """What the programs of `seen` change more often than a person would by hand."""
    counts: Counter[str] = Counter()
    runs: dict[str, ProgramRun] = {}
    unknown: set[str] = set()
    for run in seen.runs:
        if run.name in PROGRAMS and (act := _act(run)):
            counts[act] += 1
            runs.setdefault(act, run)
            if run.pipeline in seen.repeated or not _LISTS.isdisjoint(run.via):
                unknown.add(act)
    return [
        Effect("expose", act if act in unknown else f"{act}, {count} times", "remote", _MANY, runs[act])
        for act, count in counts.items()
        if act in unknown or count > (MOST_PUBLISHED if _PUBLISHES.fullmatch(act) else MOST)
    ]


def _act(run: ProgramRun) -> str:
    """The words that say what is changed, such as `gh issue close`; empty where nothing is."""
    verbs = [word.text for word in option_parser.plain(run.argv[:_MAX_WORDS]).operands[:_VERBS_AT]]
    for at, verb in enumerate(verbs):
        if _CHANGES.fullmatch(verb):
            return " ".join((run.name, *verbs[: at + 1]))
    return ""
