"""What a call means beyond its words: the places it touches with links followed, what it does there, and the content of the
files that decide it. An approval or a grant keeps that of the moment it was given; a call that means more is not covered.

Less is covered: a target that is gone, an effect without a danger it had. A file that runs or is read must be the same one,
also if it is gone, since a missing setting may change everything. Pure; `model.call_world` names what is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256

import msgspec
from msgspec import structs

from toolguard_engine.model.call_world import MANY, NAMES, Named, NamedTarget, SeenPlaces, SeenTarget
from toolguard_engine.wording.printable import plain
from toolguard_engine.wording.redact import cut, redact_text

VERSION = 1
MAX_TEXT = 200
MAX_LINES = 6
MAX_SIZE = 4_096
"""Bytes of a meaning that is kept; of a larger one a digest is. The store has to take those of all open and closed calls."""

TOO_LARGE = "it means more than is kept"
SHARED = "shared"
_DANGERS = {
    "not unchanged": "there are changes that Git does not have",
    "not agent-made": "no agent made it",
    "not filtered": "without a filter",
    "overwrites": "it replaces what is there",
    "through-link": "through a link",
    SHARED: "the file has another name as well (a hard link)",
}
WILDCARDS = frozenset("*?[")


class MeantEffect(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """One effect. `named`: as the call names it; `path`: the place with links followed, of a path with wildcards the part
    before them (`wild`); empty for anything else. `key`: a digest of what is not kept as text. `beyond`, `listing`: see
    `call_world.SeenTarget`. `from_file`: a file that the call runs names it; `linked`: a link leads there."""

    kind: str
    named: str = ""
    path: str = ""
    key: str = ""
    dangers: tuple[str, ...] = ()
    beyond: tuple[str, ...] = ()
    listing: str = ""
    wild: bool = False
    from_file: bool = False
    linked: bool = False


class FileState(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """A file that the call runs (`code`) or may read, or a link to a folder (without a digest). `data`: only its code names
    it, not its words."""

    path: str
    real: str = ""
    digest: str = ""
    code: bool = False
    data: bool = False


class Meaning(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """`call`: a digest of the call's words; `folder`: where it runs, with links followed, empty if it does not matter.
    `gap`: why not all of it is known; `late`: the file system did not answer in time."""

    v: int
    call: str = ""
    folder: str = ""
    effects: tuple[MeantEffect, ...] = ()
    files: tuple[FileState, ...] = ()
    gap: str = ""
    late: bool = False


def derive(named: Named, seen: SeenPlaces, call: str = "") -> Meaning:
    """The meaning of a call now. `call`: see `binding.bind`."""
    pairs = zip(named.targets, seen.targets, strict=True)
    effects = tuple(dict.fromkeys(_effect(target, target_seen) for target, target_seen in pairs))
    code = [FileState(_kept(path), _kept(path), digest, code=True) for path, digest in named.code]
    code += [FileState(_kept(path), _kept(seen.files[path].real), seen.files[path].digest, code=True)
             for path in named.unread if path in seen.files]  # fmt: skip
    known = {*named.unread, *named.words, *named.data}
    settings = [path for path in seen.files if path not in known]
    code += [FileState(_kept(path), _kept(seen.files[path].real), seen.files[path].digest, code=True) for path in settings]
    read = [FileState(_kept(path), _kept(seen.files[path].real), seen.files[path].digest)
            for path in named.words if path in seen.files]  # fmt: skip
    read += [FileState(_kept(path), _kept(seen.files[path].real), seen.files[path].digest, data=True)
             for path in named.data if path in seen.files]  # fmt: skip
    meaning = Meaning(VERSION, call, _kept(seen.folder), effects, (*code, *read), named.gap, seen.late)
    whole = msgspec.json.encode(structs.replace(meaning, call=""))
    if len(whole) <= MAX_SIZE:
        return meaning
    gap = MANY if named.gap == MANY else f"{TOO_LARGE}: {sha256(whole).hexdigest()}"
    return structs.replace(meaning, effects=(), files=(), gap=gap)


def _effect(target: NamedTarget, seen: SeenTarget) -> MeantEffect:
    path = _kept(seen.path) if seen.path else ""
    return MeantEffect(
        kind=target.kind,
        named=_text(target.text),
        path=path,
        key="" if path == seen.path and path else _digest(target.kind, seen.path or target.text),
        dangers=(*target.dangers, *([SHARED] if seen.shared else [])),
        beyond=tuple(map(_kept, seen.beyond)),
        listing=seen.listing,
        wild=bool(WILDCARDS.intersection(target.path)),
        from_file=target.from_file,
        linked=not _is_part(seen.path, target.path),
    )


def _is_part(whole: str, named: str) -> bool:
    return named == whole or named.startswith(f"{whole.rstrip('/')}/")


def _kept(path: str) -> str:
    """The path, or a digest of one that is too long to be kept or contains a secret."""
    return path if len(path) <= MAX_TEXT and redact_text(path) == path else f"#{_digest(path)}"


def _digest(*texts: str) -> str:
    return sha256("\0".join(texts).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _text(text: str) -> str:
    return cut(redact_text(plain(text[: 4 * MAX_TEXT])), MAX_TEXT)


def more(before: Meaning, now: Meaning, home: str = "") -> list[str]:
    """What the call would do now that it would not have done before, one line each; empty where that covers it."""
    show = shown_from(home)
    lines = list(
        dict.fromkeys([*_of_folder(before, now, show), *_of_files(before, now, show), *_of_effects(before, now, show)])
    )
    if now.late:
        lines.append("the file system does not answer in time, so nothing can be compared")
    elif now.gap == MANY:
        lines.append("it names more than can be compared: no approval covers it, make it in smaller parts")
    elif now.gap not in ("", before.gap):
        is_large = now.gap.startswith(TOO_LARGE)
        lines.append(
            "something has changed among more than can be listed" if is_large else "not all of it can be looked at now"
        )
    return lines if len(lines) <= MAX_LINES else [*lines[: MAX_LINES - 1], f"and {len(lines) - MAX_LINES + 1} more changes"]


def is_comparable(meaning: Meaning) -> bool:
    return not meaning.late and meaning.gap != MANY


def covers(before: Meaning, now: Meaning) -> bool:
    return before.v == now.v and not more(before, now)


def shown_from(home: str) -> Callable[[str], str]:
    def show(path: str) -> str:
        if path.startswith("#"):
            return "a place that is not shown"
        inside = home and home != "/" and f"{path}/".startswith(f"{home}/")
        return plain(f"~{path[len(home) :]}" if inside else path)

    return show


def _of_folder(before: Meaning, now: Meaning, show: Callable[[str], str]) -> Iterator[str]:
    if now.folder != before.folder:
        yield f"it would now run in {show(now.folder) or 'an unknown folder'}"


def _of_files(before: Meaning, now: Meaning, show: Callable[[str], str]) -> Iterator[str]:
    known, left = {file.path: file for file in before.files}, {file.path for file in now.files}
    for file in now.files:
        was = known.get(file.path)
        if was is None and not file.digest:
            yield f"{show(file.path)} now points to {show(file.real)}"
        elif was is None:
            yield f"now also {'runs' if file.code else 'reads'} {show(file.path)}"
        elif was.digest != file.digest:
            yield f"{show(file.path)} has changed since"
        elif was.real != file.real:
            yield f"{show(file.path)} now points to {show(file.real)}"
    for path, file in known.items():
        if path not in left:
            yield f"{show(path)} is {'gone' if file.digest else 'no link any more'}"


def _of_effects(before: Meaning, now: Meaning, show: Callable[[str], str]) -> Iterator[str]:
    known: dict[tuple[str, str, str], list[MeantEffect]] = {}
    for effect in before.effects:
        known.setdefault((effect.kind, effect.path, effect.key), []).append(effect)
    new = [effect for effect in now.effects if (effect.kind, effect.path, effect.key) not in known]
    stated = {effect.path for effect in new if effect.kind != NAMES}
    for effect in new:
        if effect.kind == NAMES and effect.path in stated:
            continue
        elsewhere = [was for was in before.effects if was.kind == effect.kind and was.named == effect.named and was.path]
        if elsewhere and effect.path:
            yield f"{effect.named} now points to {show(effect.path)}"
        else:
            yield f"now also: {effect.kind} {show(effect.path) if effect.path else effect.named}".rstrip()
    for effect in now.effects:
        if was := known.get((effect.kind, effect.path, effect.key)):
            yield from _of_same(was, effect, show)


def _of_same(was: list[MeantEffect], effect: MeantEffect, show: Callable[[str], str]) -> Iterator[str]:
    """The same effect on the same place: does it reach further?"""
    known = [(set(meaning.dangers), set(meaning.beyond), meaning.listing) for meaning in was]
    if any(effect.listing == listing and not (set(effect.beyond) - beyond or set(effect.dangers) - dangers)
           for dangers, beyond, listing in known):  # fmt: skip
        return
    reached = set(effect.beyond) - set().union(*(beyond for _, beyond, _ in known))
    dangers = set(effect.dangers) - set().union(*(dangers for dangers, _, _ in known))
    for place in sorted(reached):
        yield f"now also: {effect.kind} {show(place)}"
    if dangers:
        words = ", ".join(_DANGERS.get(danger, danger) for danger in sorted(dangers))
        yield f"now also, for {effect.kind} {show(effect.path) or effect.named}: {words}"
    if not (reached or dangers):
        yield f"what {effect.named} means has changed"
