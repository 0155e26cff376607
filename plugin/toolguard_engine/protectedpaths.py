"""Which files are the guard's own, and whether a path, however spelled, is one of them. Text only: no file is asked.

Capitals make no difference: on some systems they make none to the files either.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from posixpath import dirname, normpath
from typing import Literal

from toolguard_engine import ownfiles
from toolguard_engine.metrics import place
from toolguard_engine.model import Host
from toolguard_engine.proclinks import GLOB, fits, meant

Place = Literal["", "root", "guard", "key"]
"""`root`: the gateway's whole state, or a folder above a guarded one; `guard`: what the guard keeps or its config."""

CONFIG_NAMES = ("openclaw.json", "clawdbot.json")
_STATE_NAMES = (".openclaw", ".clawdbot")
_HOME_DEPTH = 2
"""How many slashes `/home/user` has: nothing so near the root is taken for a folder of ours."""

_SECRET_DEPTH = 1
"""The same for what is above the dashboard's token."""

_MAX_PATH = 2048

_MADE = "x" * 8
"""The end of a name that `tempfile` makes up, for a glob to fit."""

FILE_NAMES = (*ownfiles.NAMES, "toolguard", *CONFIG_NAMES, *_STATE_NAMES)
"""Names in the guard's folders by which a search would find them."""

_VARIABLE = re.compile(r"\$(?:(\w+)|\{(\w+)[^}]*\})")
_ADDRESS = re.compile(r"^(?:file:)?//(?:localhost|127\.0\.0\.1)(?=/)|^file://", re.IGNORECASE)
_TILDE = re.compile(r"^~[\w.-]*(?=/|$)")


@dataclass(frozen=True, slots=True)
class Protected:
    """The protected places of one host as tuples of path parts, and the words one of which an innocent spelling has.

    `starts`, `tops`: places and roots as text, in small letters; `names`: what a path of ours from an unknown folder has.
    `tails`: the ends of paths that say enough, from whatever folder; `secret_tails`: those of secrets.
    `kept`: the names of the metrics file and of what lies beside it, the token first. `above`: folders that hold it.
    `making`: how the name of a token begins that is just being made.
    """

    home: str
    state: str
    config: str
    roots: tuple[tuple[str, ...], ...]
    places: tuple[tuple[str, ...], ...]
    keys: tuple[tuple[str, ...], ...]
    tails: tuple[tuple[str, ...], ...]
    secret_tails: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]
    starts: tuple[str, ...]
    tops: tuple[str, ...]
    names: tuple[str, ...]
    kept: tuple[str, ...]
    above: tuple[str, ...]
    making: str


@lru_cache(maxsize=8)
def of(host: Host) -> Protected:
    home = host.home.rstrip("/") or "/~"
    state = host.state_dir.rstrip("/") or f"{home}/.openclaw"
    states = dict.fromkeys([state, *(f"{home}/{name}" for name in _STATE_NAMES)])
    config = host.config_path or f"{state}/{CONFIG_NAMES[0]}"
    places = [f"{folder}/{tail}" for folder in states for tail in ("toolguard", "extensions/toolguard", *CONFIG_NAMES)]
    beside = [host.metrics + end for end in place.ENDS] if host.metrics else []
    secrets = [host.metrics + end for end in place.SECRETS] if host.metrics else []
    folder, _, name = host.metrics.rpartition("/")
    making = f".{name}{place.TOKEN}.".lower() if name else ""
    secrets += [f"{folder}/{making}{_MADE}"] if making else []
    guarded = [*host.guarded, *beside, *secrets]
    places += [config, *guarded]
    names = dict.fromkeys([*_STATE_NAMES, _parts(state)[-1]])
    above = _above(host.metrics, home, _SECRET_DEPTH)
    roots = list(dict.fromkeys([*states, *(each for path in host.guarded for each in _above(path, home)), *above]))
    starts = dict.fromkeys("/" + "/".join(_parts(path.lower())) for path in places)
    starts |= dict.fromkeys([f"{folder}/{making}".lower()] if making else [])
    tops = dict.fromkeys("/" + "/".join(_parts(path.lower())) for path in roots)
    last = {_parts(path)[-1].lower() for path in (state, config, *host.guarded, *beside[:1])}
    secret_tails = [_parts(path)[-2:] for path in secrets]
    tails = [(each, *tail) for each in names for tail in (("toolguard",), ("extensions", "toolguard"), *zip(CONFIG_NAMES))]
    tails += [tail for path in beside if (tail := _parts(path)[-2:])[0] in names]
    return Protected(
        home, state, config,
        tuple(map(_parts, roots)),
        tuple(map(_parts, places)),
        tuple(map(_parts, [*(f"{folder}/toolguard/key" for folder in states), *secrets])),
        tuple(tails),
        tuple(secret_tails),
        tuple(last),
        tuple(starts),
        tuple(tops),
        (*map(str.lower, names), *CONFIG_NAMES, *((name.lower(),) if name else ())),
        tuple(path.rpartition("/")[2] for path in (*secrets, *beside)),
        tuple(path for path in above if path not in states),
        making,
    )  # fmt: skip


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in normpath(path).split("/") if part)


def _above(path: str, home: str, depth: int = _HOME_DEPTH) -> list[str]:
    """The folders that hold `path`, below the home folder and never near the root."""
    found = []
    while (path := dirname(path.rstrip("/"))) and path != home and path.count("/") > depth:
        found.append(path)
    return found


def kind(path: str, host: Host, folders: tuple[str, ...] = ()) -> Place:
    """What `path` is; a relative one is looked for in each of `folders`, the folders that it may be meant from.

    A `?` may be a glob's, or begin the options of an address (`file:a.db?mode=rw`).
    """
    protected = of(host)
    path = path.strip().removeprefix("@")
    path = _expanded(_ADDRESS.sub("", path) if "//" in path else path, protected)
    addressed = [path, path.partition("?")[0]] if "?" in path else [path]
    options = [_rooted(option) for each in addressed for option in _absolute(each, protected, folders)]
    found = {_place(_parts(option), protected) for option in options if _may_be(option, protected)}
    lower = path.lower()
    if not any(name in lower for name in protected.names):
        pass
    elif not path.startswith("/"):
        found.add(_by_tail(path, protected, known=bool(folders)))
    elif "$" in path or path.startswith("//"):
        found.add(_by_tail(path, protected, known=True))
    places: tuple[Place, ...] = ("key", "guard", "root")
    return next((place for place in places if place in found), "")


def _may_be(option: str, protected: Protected) -> bool:
    """Whether an absolute path is worth a closer look: a cheap question that most paths answer."""
    lower = option.lower()
    return lower.startswith(protected.starts) or lower in protected.tops or GLOB.search(lower) is not None


def _rooted(option: str) -> str:
    """An absolute path without detours; of one of absurd length the beginning, which says enough."""
    return "/" + normpath(option).lstrip("/")[:_MAX_PATH]


def _absolute(path: str, protected: Protected, folders: tuple[str, ...]) -> list[str]:
    options = [path] if path.startswith("/") else [f"{folder}/{path}" for folder in folders]
    if "/proc" not in (path if path.startswith("/") else "".join(options)) and GLOB.search(path) is None:
        return options
    return list(dict.fromkeys(each for option in options for each in meant(option, (protected.state, *folders))))


def resolved(path: str, host: Host, folders: tuple[str, ...]) -> tuple[str, ...]:
    """The absolute paths that `path` may mean."""
    return tuple(normpath(option) for option in _absolute(_expanded(path, of(host)), of(host), folders))


def is_above(path: str, host: Host, folders: tuple[str, ...] = ()) -> bool:
    """Whether `path` is a state folder, or one that holds a protected place (the home folder, `/`)."""
    protected = of(host)
    options = [
        _rooted(option).lower().rstrip("/") + "/" for option in _absolute(_expanded(path, protected), protected, folders)
    ]
    return any(f"{top}/".startswith(option) for option in options for top in protected.tops)


def _expanded(path: str, protected: Protected) -> str:
    values = {
        "HOME": protected.home, "OPENCLAW_HOME": protected.home, "OPENCLAW_STATE_DIR": protected.state,
        "CLAWDBOT_STATE_DIR": protected.state, "OPENCLAW_CONFIG_PATH": protected.config, "PWD": ".", "OLDPWD": ".",
    }  # fmt: skip
    if "$" in path:
        path = _VARIABLE.sub(lambda match: values.get(match[1] or match[2], match[0]), path)
    return _TILDE.sub(lambda _: protected.home, path)


def _place(parts: tuple[str, ...], protected: Protected) -> Place:
    parts = _made(parts, protected)
    if any(_covers(parts, key) and (len(parts) >= len(key)) for key in protected.keys):
        return "key"
    if any(_covers(parts, place) and len(parts) >= len(place) for place in protected.places):
        return "guard"
    if any(_covers(parts, root) and len(parts) == len(root) for root in protected.roots):
        return "root"
    return ""


def _made(parts: tuple[str, ...], protected: Protected) -> tuple[str, ...]:
    """The same, with the name of a token that is being made as `keys` has it."""
    begun = protected.making and parts and parts[-1].lower().startswith(protected.making)
    return (*parts[:-1], protected.making + _MADE) if begun else parts


def _covers(parts: tuple[str, ...], place: tuple[str, ...]) -> bool:
    """Whether the pattern may name `place`, something in it, or a folder above it."""
    for part, real in zip(parts, place, strict=False):
        if part == "**":
            return True
        if not fits(part, real.lower()):
            return False
    return bool(parts)


def _by_tail(path: str, protected: Protected, *, known: bool) -> Place:
    """A path from an unknown folder is judged by what it ends in."""
    parts = _made(_parts(path), protected)
    if len(parts) > 1 and not GLOB.search(parts[-2]) and any(_covers(parts[-2:], tail) for tail in protected.secret_tails):
        return "key"
    for tail in protected.tails:
        for at in range(len(parts) - len(tail) + 1):
            if _covers(parts[at : at + len(tail)], tail) and not GLOB.search(parts[at]):
                return "key" if [part.lower() for part in parts[at + len(tail) :]] == ["key"] else "guard"
    return "guard" if not known and parts and parts[-1].lower() in CONFIG_NAMES else ""
