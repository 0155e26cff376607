"""What single programs do: each module has `PROGRAMS`, from a program's name to what finds its effects.

`on` and what stands beside it make effects on paths alike everywhere: a path's place, and what is plain of it, as flags.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Protocol

from toolguard_engine.shell.acts.getopt import Options
from toolguard_engine.shell.model import UNKNOWN, Effect, Run
from toolguard_engine.shell.placenames import is_secret_name
from toolguard_engine.shell.places import Where, is_simple, look, place


class Act(Protocol):
    def __call__(self, run: Run, where: Where, /) -> Iterable[Effect]: ...


_TO_HARDWARE = frozenset(["write", "empty", "move-in"])
_MANY = 64
MOST = 500
"""More than that, nobody looks through: it is told as a `flood`."""
_FURTHEST = 4_000

_SECRET = frozenset(["credentials", "device"])


def on(kind: str, path: str, run: Run | None, where: Where, flags: Iterable[str] = ()) -> Effect:
    """An effect on a path. Writing to a device is `device-write`."""
    where_to, plain = look(path, where, run.cwd if run else "")
    if where_to == "device" and kind in _TO_HARDWARE:
        kind = "device-write"
    return Effect(kind, path, where_to, plain.union(flags) if flags else plain, run)


def wrote(path: str, run: Run | None, where: Where, *flags: str) -> Iterator[Effect]:
    """A file that is written; nothing where it goes to the terminal or nowhere."""
    if path and path != "-":
        found = on("write", path, run, where, flags)
        if found.place != "null":
            yield found


def secrets_read(paths: Iterable[str], run: Run | None, where: Where, *flags: str) -> Iterator[Effect]:
    """Files that are read, as far as somebody would mind: credentials and raw devices. All other reading is no effect."""
    listed = telling(paths)
    if len(listed) > MOST:
        yield Effect("flood", run=run)
        listed = listed[:MOST] + [path for path in listed[MOST:_FURTHEST] if path[:1] in "/~$." or is_secret_name(path)]
    for path in listed:
        if path and place(path, where, run.cwd if run else "") in _SECRET:
            yield on("read", path, run, where, flags)


def telling(paths: Iterable[str]) -> list[str]:
    """The paths that have to be looked at: of very many, plain names in the current folder tell nothing new."""
    listed = list(paths)
    if len(listed) <= _MANY:
        return listed
    return listed[:_MANY] + [
        path for path in listed[_MANY:] if not is_simple(path) or is_secret_name(path.rpartition("/")[2])
    ]


def asked(options: Options, *names: str) -> bool:
    """Whether one of these options is given; a long one also by its beginning, as getopt takes it."""
    for given, _ in options.options:
        if given in names or (len(given) > 3 and any(name.startswith(given) for name in names)):  # noqa: PLR2004 - `--` and 2 letters
            return True
    return False


def stays(options: Options, given: tuple[str, ...], back: tuple[str, ...]) -> bool:
    """Whether the last of these options is one of those that are asked for, and none that takes them back."""
    asked_for = False
    for name, _ in options.options:
        if name in back:
            asked_for = False
        elif name in given or (len(name) > 3 and any(each.startswith(name) for each in given)):  # noqa: PLR2004 - `--` and 2 letters
            asked_for = True
    return asked_for


def operands(options: Options, run: Run) -> list[str]:
    """The words that are no options; what `xargs` and the like would add counts as one unknown word."""
    words = [word.text for word in options.operands]
    if not words and any(name in _ADD_WORDS for name in run.via):
        return [UNKNOWN]
    return words


_ADD_WORDS = frozenset(["xargs", "parallel", "find", "fd", "fdfind"])
