"""Whether a call means what a grant was given for: see `call_meaning`. Pure.

A grant without a wildcard covers what its one call meant. With one, the words of its calls differ, so a call is covered that
runs in the same folder, runs no file that was not there with this content, and touches nothing outside of the places of the
grant: those that its pattern names, with links followed as they were then, and else its folder. What a script reads as data
may change while a grant lasts, so that is not compared.
"""

from __future__ import annotations

from msgspec import structs

from toolguard_engine.approvals import call_meaning
from toolguard_engine.approvals.call_meaning import SHARED, Meaning, MeantEffect, shown_from
from toolguard_engine.approvals.grant_matching import kind_of
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.effects.calls.path_owners import THROUGH_LINK
from toolguard_engine.model.call_world import NAMES

_BY_REPETITION = frozenset(["overwrites", "not unchanged", "not agent-made"])
FOLDERS = ("workdir", "cwd")
"""Parameters by which a call chooses its folder."""


def more(grant: Grant, now: Meaning | None, home: str = "") -> list[str]:
    """What the call would do that the grant was not given for, one line each; empty where the grant covers it, as one of an
    earlier version does whatever its calls mean."""
    if not grant.bound:
        return []
    if now is None:
        return ["what it means is not known"]
    now = without_data(now)
    lacking = [_more(grant, bound, now, home) for bound in grant.bound]
    return min(lacking, key=len)


def is_wide(grant: Grant) -> bool:
    return "*" in grant.pattern or any("*" in grant.params.get(name, "") for name in FOLDERS)


def _more(grant: Grant, bound: Meaning, now: Meaning, home: str) -> list[str]:
    if kind_of(grant.tool) == "path":
        bound, now = _paths_only(bound), _paths_only(now)
    return _beyond(grant, bound, now, home) if is_wide(grant) else call_meaning.more(bound, _repeated(now), home)


def without_data(meaning: Meaning) -> Meaning:
    return structs.replace(meaning, files=tuple(file for file in meaning.files if not file.data))


def _repeated(meaning: Meaning) -> Meaning:
    """The meaning without what is so only because the granted call ran before: it replaces its own output."""
    kept = [tuple(danger for danger in effect.dangers if danger not in _BY_REPETITION) for effect in meaning.effects]
    effects = (structs.replace(effect, dangers=left) for effect, left in zip(meaning.effects, kept, strict=True))
    return structs.replace(meaning, effects=tuple(effects))


def _paths_only(meaning: Meaning) -> Meaning:
    """What counts of a file tool: where the file really is. What is written there is free."""
    named = tuple(effect for effect in meaning.effects if effect.kind == NAMES)
    return structs.replace(meaning, folder="", effects=named, files=())


def _beyond(grant: Grant, bound: Meaning, now: Meaning, home: str) -> list[str]:
    show = shown_from(home)
    lines = [] if _is_folder(grant, bound, now) else [f"it would run in {show(now.folder) or 'an unknown folder'}"]
    known = {file.path: file for file in bound.files}
    for file in now.files:
        was = known.get(file.path)
        if was is None and file.code:
            lines.append(f"it would run {show(file.path)}, which was not there with this content")
        elif was is not None and (was.digest, was.real) != (file.digest, file.real):
            lines.append(f"{show(file.path)} has changed since")
    code = {file.path for file in now.files if file.code}
    for effect in now.effects:
        act = grant.tool if effect.kind == NAMES else effect.kind
        lines += [f"it would {act} {show(place)}" for place in _outside(effect, bound, code)]
        if SHARED in effect.dangers and not _was_shared(effect, bound):
            lines.append(f"it would {act} {show(effect.path)}, which has another name as well (a hard link)")
    if now.late or now.gap:
        lines.append("not all of it can be looked at")
    return list(dict.fromkeys(lines))


def _is_folder(grant: Grant, bound: Meaning, now: Meaning) -> bool:
    """The folder of the grant; below it where the grant has a wildcard for the folder."""
    if any("*" in grant.params.get(name, "") for name in FOLDERS):
        return _is_in(now.folder, bound.folder)
    return kind_of(grant.tool) == "path" or now.folder == bound.folder


def _outside(effect: MeantEffect, bound: Meaning, code: set[str]) -> list[str]:
    """Where the effect reaches outside of the grant's places. What a known file names there itself is covered with that
    file."""
    reached = [place for place in (effect.path, *effect.beyond) if place and not _is_within(place, bound)]
    is_plain = not (effect.linked or effect.beyond or THROUGH_LINK & set(effect.dangers))
    return [] if effect.from_file and code and is_plain else reached


def _was_shared(effect: MeantEffect, bound: Meaning) -> bool:
    return any(SHARED in was.dangers and was.path == effect.path for was in bound.effects)


def _is_within(path: str, bound: Meaning) -> bool:
    """Whether a path is a place of the grant, or below a folder that it means with a wildcard, or below its own folder."""
    single = {place for effect in bound.effects for place in (effect.path, *effect.beyond)}
    folders = [effect.path for effect in bound.effects if effect.wild and effect.path]
    return path in single or any(_is_in(path, folder) for folder in (*folders, bound.folder) if folder)


def _is_in(path: str, folder: str) -> bool:
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def as_bound(meaning: Meaning | None) -> tuple[Meaning, ...] | None:
    """What a grant for exactly this call is bound to. None for a call that was held by an earlier version."""
    return None if meaning is None else (structs.replace(without_data(meaning), call=""),)


def described(meaning: Meaning, home: str = "") -> list[str]:
    """Describes to people the folder, the places, and the files whose content counts."""
    show = shown_from(home)
    places = [f"{show(effect.path)}{'/*' if effect.wild else ''}" for effect in meaning.effects if effect.path]
    files = [show(file.path) for file in meaning.files if file.digest]
    rows = (("in", [show(meaning.folder)] if meaning.folder else []), ("at", places), ("with", files))
    return [f"{name} {', '.join(dict.fromkeys(values))}" for name, values in rows if values]
