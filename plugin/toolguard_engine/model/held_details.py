"""What a held call would do and which rules say so, for the person who decides. Values only, bounded and redacted."""

from __future__ import annotations

import msgspec

MAX_EFFECTS = 12
MAX_RULES = 8
MAX_TARGET = 200
MAX_ALIKE = 24
BY_SETTINGS = "by-settings"
"""A flag of `HeldAlike`: which system the call acts on is chosen by settings, and not by its words."""


class HeldEffect(msgspec.Struct, frozen=True, gc=False):
    """One thing that the call would do. `path`: the absolute path concerned, empty for anything else; `place`: what kind of
    place that is, empty where it has none, or an earlier version held the call."""

    kind: str
    target: str = ""
    path: str = ""
    flags: tuple[str, ...] = ()
    place: str = ""


class HeldRule(msgspec.Struct, frozen=True, gc=False):
    """One rule that matched: its id and its reason. `strength`: clarity times stakes, each with one added; `severity`: of a
    rule that decides by itself; `target`: what of the call it is about, empty where an earlier version held the call; `on`:
    the absolute path of the database file or working tree that its program works on, empty where that is not certain."""

    rule: str
    reason: str
    strength: int = 0
    severity: str = ""
    target: str = ""
    on: str = ""


class HeldAlike(msgspec.Struct, frozen=True, gc=False, omit_defaults=True):
    """What one rule says of a call, so that later calls can be compared with it; see `rules.alike`. `about`: the path, the
    address or the program with its words; `exact`: that is a digest of the whole call instead. `rule` is empty for an effect
    on another machine that no rule is about. `area`: the folder (ending in a slash) or file in which changes are alike, see
    `rules.session_areas`; all of a call have it, or none."""

    rule: str
    kind: str = ""
    about: str = ""
    flags: tuple[str, ...] = ()
    place: str = ""
    exact: bool = False
    area: str = ""


class HeldDetails(msgspec.Struct, frozen=True, gc=False):
    """`more`: how many further effects and rules there are, one at least if not all of the call was judged; `files`: the
    digests of the files that the call runs; `wait`: the shortest `pending_timeout` of its rules in seconds, 0 where none has
    one; `stakes`: 1 trivial to 10 irreversible, 0 where they are not known; `alike`: all that its rules say, empty where
    that is too much to be compared."""

    effects: tuple[HeldEffect, ...] = ()
    rules: tuple[HeldRule, ...] = ()
    more: int = 0
    files: tuple[str, ...] = ()
    wait: int = 0
    stakes: int = 0
    alike: tuple[HeldAlike, ...] = ()


class ExactCall(msgspec.Struct, frozen=True, gc=False):
    """What a grant for just this call says: its pattern, a glob for each parameter that it has to name, and the folder."""

    pattern: str
    params: dict[str, str] = {}
    cwd: str = ""
