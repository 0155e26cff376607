"""What an entry with a `kind` may say: only what somebody asks of programs of that kind.

The functions of `cp` do not ask whether it deletes what the source does not have. A copier of that kind whose manual says so
would count as one that does not, so such a manual is refused. What a kind is asked is what its own manual says. Archivers
are judged by what they do and not by their names, so each of them is asked what the manuals of all say.

What the program does to files, and what its words are, it has to say itself, since neither follows from its kind.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolguard_engine.effects.manuals.manual_form import Manual, Usage

_ARCHIVERS = frozenset({"packs", "unpacks"})
_OF_ALL = frozenset({"ends", "operand", "recurses"})
"""What the parser itself and the words of each program are asked."""


def check(manuals: Iterable[Manual]) -> None:
    """Raises `ValueError` that names the program and the key for what nobody asks of its kind, and for what it has to say
    and does not."""
    known = {name: manual for manual in manuals for name in manual.names}
    for other in known.values():
        if not other.kind:
            continue
        if other.kind not in known or known[other.kind].kind:
            raise ValueError(f"the manual of {other.names[0]}: kind: {other.kind!r} has no manual of its own")
        if lacking := _lacking(other, known[other.kind]):
            raise ValueError(f"the manual of {other.names[0]}: {lacking}")
        asked = _asked(other.kind, known)
        for key, stated in _statements(other):
            if stated not in asked:
                raise ValueError(
                    f"the manual of {other.names[0]}: {key}: nobody asks a program of the kind {other.kind!r} for {stated!r}"
                    f"{_better(other, known)}"
                )


def _lacking(manual: Manual, base: Manual) -> str:
    """What the manual has to say as well, since nobody knows it otherwise; empty if it says all of it. Where the manual of
    the kind says nothing itself, there is nothing to say."""
    does, words = _deeds(base), [word for usage in _usages(base) for word in usage.words]
    roles = {option.role for usage in _usages(manual) for option in usage.options}
    traits = {trait for usage in _usages(manual) for option in usage.options for trait in option.traits}
    if does and not _deeds(manual) and not traits & _ARCHIVERS:
        return f"without `does`, it counts as doing nothing to files: write what it does, as in {_as_in(base, 'does')}"
    if words and not any(usage.words for usage in _usages(manual)) and roles.isdisjoint(map(_role, words)):
        return f"without `words`, nobody knows what its operands are: write their roles, as in {_as_in(base, 'words')}"
    return ""


def _as_in(base: Manual, key: str) -> str:
    """What a manual says under a key, as it stands there."""
    usage = next(usage for usage in _usages(base) if getattr(usage, key))
    stated = usage.words if key == "words" else sorted(usage.does)
    return f'`{key} = "{" ".join(stated)}"` of {base.names[0]!r}'


def _role(word: str) -> str:
    return word.removesuffix("...").rstrip("/")


def _asked(kind: str, known: dict[str, Manual]) -> frozenset[str]:
    base = known[kind]
    family = [base]
    if _is_archiver(base):
        family += [manual for manual in known.values() if not manual.kind and _is_archiver(manual)]
    return _OF_ALL.union(stated for manual in family for _, stated in _statements(manual))


def _is_archiver(manual: Manual) -> bool:
    return any(stated in _ARCHIVERS for _, stated in _statements(manual))


def _deeds(manual: Manual) -> frozenset[str]:
    return frozenset().union(*(usage.does for usage in _usages(manual)))


def _usages(manual: Manual) -> Iterator[Usage]:
    yield manual.usage
    yield from manual.verbs.values()


def _statements(manual: Manual) -> Iterator[tuple[str, str]]:
    """The roles, deeds and traits of a manual, each with the key that has it."""
    for usage in _usages(manual):
        yield from (("words", _role(word)) for word in usage.words)
        yield from (("does", deed) for deed in sorted(usage.does))
        for option in usage.options:
            yield from ((option.name, stated) for stated in (*filter(None, (option.role,)), *sorted(option.traits)))


def _better(manual: Manual, known: dict[str, Manual]) -> str:
    """Names the kind without verbs that does what this one does and is asked for most, if that includes all that it says."""
    stated = {word for _, word in _statements(manual)}
    does = _deeds(known[manual.kind])
    plain = (other for other in known.values() if not other.kind and not other.verbs and does & _deeds(other))
    able = [other for other in plain if stated <= _asked(other.names[0], known)]
    return f"; take {max(able, key=lambda other: len(set(_statements(other)))).names[0]!r}" if able else ""
