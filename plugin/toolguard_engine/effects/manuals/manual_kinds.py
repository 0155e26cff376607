"""What an entry with a `kind` may say: only what somebody asks of programs of that kind.

The functions of `cp` do not ask whether it deletes what the source does not have. A copier of that kind whose manual says so
would count as one that does not, so such a manual is refused. What a kind is asked is what its own manual says. Archivers
are judged by what they do and not by their names, so each of them is asked what the manuals of all say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from toolguard_engine.effects.manuals.manual_form import Manual, Usage

_ARCHIVERS = frozenset({"packs", "unpacks"})
_OF_ALL = frozenset({"ends", "operand", "recurses"})
"""What the parser itself and the words of each program are asked."""


def check(manuals: Iterable[Manual]) -> None:
    """Raises `ValueError` that names the program and the key for what nobody asks of its kind."""
    known = {name: manual for manual in manuals for name in manual.names}
    for other in known.values():
        if not other.kind:
            continue
        if other.kind not in known or known[other.kind].kind:
            raise ValueError(f"the manual of {other.names[0]}: kind: {other.kind!r} has no manual of its own")
        asked = _asked(other.kind, known)
        for key, stated in _statements(other):
            if stated not in asked:
                raise ValueError(
                    f"the manual of {other.names[0]}: {key}: nobody asks a program of the kind {other.kind!r} for {stated!r}"
                    f"{_better(other, known)}"
                )


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
        yield from (("words", word.removesuffix("...").rstrip("/")) for word in usage.words)
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
