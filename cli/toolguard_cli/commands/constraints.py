"""`toolguard constraints`: those in force, the packs to begin with, adding one, trying all on their examples."""

from __future__ import annotations

import tomllib
from dataclasses import replace
from pathlib import Path

from toolguard_cli import inside, ownconstraints, ownrules, stores, tables
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers, constraintpacks, rulenames
from toolguard_engine.constraintform import Constraint
from toolguard_engine.stores.userconstraints import BadRules, UserConstraints

COMMAND = "constraints"
HEAD = ("ID", "SEVERITY", "LINE", "WHAT")
GOOD_HEAD = ("ID", "SEVERITY", "WHAT")
LAST_COUNT = "until the file is mended the last good ones are in force"
NONE_COUNT = (
    "until the file is mended a gateway that starts has NONE of them in force, and holds every call above SAFE in the modes "
    "enforce and soft; one that runs goes on with those it read before"
)
PACKS_HEAD = ("PACK", "CONSTRAINTS", "WHAT FOR")
NEXT_PACKS = "toolguard constraints packs shows examples to begin with"


def listing(places: Places) -> Result:
    """Those in force. Exit code 1 where the file cannot be understood."""
    if broken := ownrules.broken(places):
        return _faulty(places, ownrules.told(COMMAND, broken))
    path = UserConstraints(places.state_dir).path
    found = ownconstraints.placed(places)
    if not found:
        return Result(COMMAND, {"file": str(path), "constraints": []}, _none(path))
    rows = [(p.rule.id, p.rule.severity, str(p.at.line), ownconstraints.words(p.rule)) for p in found]
    data = [{**ownconstraints.public(p.rule), "line": p.at.line} for p in found]
    counted = f"{len(found)} in {answers.plain(str(path))}"
    lines = (*tables.wrapped(HEAD, rows), Line("info", counted))
    return Result(COMMAND, {"file": str(path), "constraints": data}, lines)


def _faulty(places: Places, told: Result) -> Result:
    """The fault, those that can be understood, and what counts meanwhile."""
    good, last = ownconstraints.good(places), ownconstraints.last_good(places)
    lines = list(told.lines)
    if good:
        lines.append(Line("info", "can be understood:"))
        lines += tables.wrapped(GOOD_HEAD, ((each.id, each.severity, ownconstraints.words(each)) for each in good))
    lines.append(Line("warn", NONE_COUNT if last is None else f"{LAST_COUNT}: {_names(last)}"))
    found = {"constraints": [ownconstraints.public(each) for each in good]}
    counts = None if last is None else [each.id for each in last]
    return replace(told, data={**told.data, **found, "inForce": counts}, lines=tuple(lines))


def _names(constraints: tuple[Constraint, ...]) -> str:
    return answers.plain(", ".join(each.id for each in constraints)) or "none"


def _none(path: Path) -> tuple[Line, ...]:
    return Line("info", f"there are no constraints in {answers.plain(str(path))}"), Line("next", NEXT_PACKS)


def packs() -> Result:
    """The example packs."""
    found = {name: _ids(name) for name in constraintpacks.names()}
    rows = [(name, str(len(ids)), constraintpacks.about(name)) for name, ids in found.items()]
    data = [{"pack": name, "about": constraintpacks.about(name), "constraints": ids} for name, ids in found.items()]
    lines = (
        *tables.table(PACKS_HEAD, rows),
        Line(
            "next", f"toolguard constraints add {next(iter(found))} --dry-run shows one; adapt it to your folders and names"
        ),
    )
    return Result("constraints packs", {"packs": data}, lines)


def _ids(pack: str) -> list[str]:
    return [each["id"] for each in tomllib.loads(constraintpacks.text(pack))["constraint"]]


def add(places: Places, pack: str, *, dry_run: bool) -> Result:
    """Appends a pack to `policy.toml`."""
    inside.refuse(places, "constraints add", loosens=not dry_run)
    if pack not in constraintpacks.names():
        near = rulenames.nearest(pack, constraintpacks.names())
        meant = f"did you mean {near}? " if near else ""
        raise UserError(
            f"there is no pack {answers.cut(answers.plain(pack), 40)}",
            f"{meant}Known are: {', '.join(constraintpacks.names())}",
        )
    own, text = UserConstraints(places.state_dir), constraintpacks.text(pack)
    with stores.told():
        added = own.add(text, dry_run=dry_run)
    verb = "would add" if dry_run else "added"
    path = answers.plain(str(own.path))
    lines = [Line("ok", f"{verb} {len(added)} constraints to {path}")]
    lines += [Line("info", f"{each.id}: {ownconstraints.words(each)}") for each in added]
    if dry_run:
        lines += [Line("info", ""), *(Line("info", each) for each in text.splitlines())]
    else:
        lines.append(Line("next", f"they count now; adapt folders and names in {path}, then toolguard constraints check"))
    data = {"dryRun": dry_run, "file": str(own.path), "added": [ownconstraints.public(each) for each in added]}
    return Result("constraints add", data, tuple(lines))


def check(places: Places) -> Result:
    """Every constraint on its examples. Exit code 1 where one is bad, or an example turns out otherwise."""
    command = "constraints check"
    if broken := ownrules.broken(places):
        return ownrules.told(command, broken)
    own = UserConstraints(places.state_dir)
    try:
        with stores.told():
            found = own.placed(constraintpacks.speaks)
    except UserError as error:
        bad = error.__cause__
        if isinstance(bad, BadRules):
            return ownrules.told(command, bad)
        raise
    lines = [Line("ok", f"{each.rule.id} {_tried(each.rule.matches, each.rule.passes)}") for each in found]
    if not found:
        lines = [*_none(own.path)]
    examples = sum(len(each.rule.matches) + len(each.rule.passes) for each in found)
    return Result(command, {"file": str(own.path), "constraints": len(found), "examples": examples}, tuple(lines))


def _tried(matches: tuple[object, ...], passes: tuple[object, ...]) -> str:
    count = len(matches) + len(passes)
    return f"turns out as its {count} examples say" if count else "is understood, and has no examples to try"
