"""The guard's own files, and whether a path, however it is spelled, is one of them. Text only; no file is read.

Case and Unicode composition make no difference, because on some systems they make none to files. A place is recognized under
every name that the host gives for it (`Host.links`) and through process links.

`kind` is what a path certainly is, `possible` what it may be if part of it is unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from posixpath import dirname, normpath
from typing import Literal

from msgspec import Struct

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts.command import UNKNOWN
from toolguard_engine.effects.facts.letter_case import composed
from toolguard_engine.effects.facts.place_globs import GLOB, may_be
from toolguard_engine.effects.facts.place_globs import shell_fits as fits
from toolguard_engine.effects.facts.place_names import FIRM, PRIVATE
from toolguard_engine.effects.facts.proc_links import link_targets
from toolguard_engine.host import file_names, metrics_path
from toolguard_engine.model.call import Host

Place = Literal["", "root", "config", "guard", "key"]
"""`root`: the gateway's whole state, or a folder above a guarded one; `config`: the gateway's config, which keeps the guard
in place; `guard`: the guard's own files."""

CONFIG_NAMES = ("openclaw.json", "clawdbot.json")
GUARDED = ("toolguard", "extensions/toolguard", "cache/shell-snapshots", *CONFIG_NAMES)
"""What is guarded in the gateway's state. The gateway has a shell source a snapshot before every command that it runs."""

KEYS = ("key", "exports")
"""What nobody may read in the guard's own folder: the key, and the folder of archives of the state, which hold the key."""

_STATE_NAMES = (".openclaw", ".clawdbot")
_HOME_DEPTH = 2
"""Slashes in `/home/user`: a folder this close to the root is never treated as a parent of guarded files."""

_SECRET_DEPTH = 1
"""The same limit for the parents of the dashboard's token."""

_MAX_PATH = 2048

_FIXED_SUFFIX = "x" * 8
"""Suffix in place of the random one that `tempfile` makes up, for globs to match."""

FILE_NAMES = (*file_names.NAMES, "toolguard", *CONFIG_NAMES, *_STATE_NAMES)
"""Names in the guard's folders by which a search would find them."""

_VARIABLE = lazy_re.compile(r"\$(?:(\w+)|\{(\w+)([^}]*)\})")
_CURRENT_DIR = lazy_re.compile(r"\$(?:PWD\b|\{PWD\})")
_OPTIONS = lazy_re.compile(r"(?<=[^/.?*])\?\w+(?:[=&]|\Z)")
"""Start of the options in a URI: `a.db?mode=rw`."""

_NAMES = lazy_re.compile(r"\w[\w.-]*(?:/[\w-][\w.-]*)*", re.ASCII)
"""A relative path of names that stand for nothing else."""

_FDS = lazy_re.compile(r"/(?:proc/[^/]{1,20}(?:/task/[^/]{1,20})?/fd|dev/fd)/[^/]{1,20}(?=/)")
_MAX_OPEN = 64
_MAX_LINKS = 3
_ADDRESS = lazy_re.compile(r"^(?:file:)?//(?:localhost|127\.0\.0\.1)(?=/)|^file://", re.IGNORECASE)
_TILDE = lazy_re.compile(r"^~[\w.-]*(?=/|$)")


class Protected(Struct, frozen=True):
    """The protected places of one host as tuples of path parts, and words for fast rejection of other paths.

    `configs`: those of the places that are a config. `starts`, `tops`: places and roots as lower-case text; `whole`: all of
    them, each with a slash at its end; `leading`: these and the folders above them. `names`: one of them is in every
    protected path from an unknown folder.
    `tails`: ends of paths that are sufficient whatever the folder; `secret_tails`: those of secrets.
    `kept`: the names of the metrics file and the files beside it, the token first, and of the host's secrets.
    `secret_names`: those of the token and the secrets. `above`: folders that contain the metrics file.
    `making`: prefix of a token file that is being written. `marks`: names that hardly anything else has.
    `links`: folders that are links, in lower case, and their targets.
    """

    home: str
    state: str
    config: str
    roots: tuple[tuple[str, ...], ...]
    places: tuple[tuple[str, ...], ...]
    configs: tuple[tuple[str, ...], ...]
    keys: tuple[tuple[str, ...], ...]
    tails: tuple[tuple[str, ...], ...]
    secret_tails: tuple[tuple[str, ...], ...]
    words: tuple[str, ...]
    starts: tuple[str, ...]
    tops: tuple[str, ...]
    whole: tuple[str, ...]
    leading: frozenset[str]
    names: tuple[str, ...]
    kept: tuple[str, ...]
    secret_names: tuple[str, ...]
    above: tuple[str, ...]
    making: str
    marks: tuple[str, ...]
    links: tuple[tuple[str, str], ...]


@lru_cache(maxsize=8)
def protected_on(host: Host) -> Protected:
    host = replace(
        host,
        config_path=plain(host.config_path),
        guarded=tuple(map(plain, host.guarded)),
        metrics=plain(host.metrics),
        secrets=tuple(map(plain, host.secrets)),
    )
    home = plain(host.home).rstrip("/") or "/~"
    state = plain(host.state_dir).rstrip("/") or f"{home}/.openclaw"
    states = dict.fromkeys([state, *(f"{home}/{name}" for name in _STATE_NAMES)])
    config = host.config_path or f"{state}/{CONFIG_NAMES[0]}"
    places = [f"{folder}/{tail}" for folder in states for tail in GUARDED]
    beside = [host.metrics + end for end in metrics_path.ENDS] if host.metrics else []
    secrets = [host.metrics + end for end in metrics_path.SECRETS] if host.metrics else []
    folder, _, name = host.metrics.rpartition("/")
    making = f".{name}{metrics_path.TOKEN}.".lower() if name else ""
    secrets += [f"{folder}/{making}{_FIXED_SUFFIX}"] if making else []
    guarded = [*host.guarded, *beside, *secrets]
    places += [config, *guarded]
    names = dict.fromkeys([*_STATE_NAMES, _parts(state)[-1]])
    above = _above(host.metrics, home, _SECRET_DEPTH)
    roots = list(dict.fromkeys([*states, *(directory for path in host.guarded for directory in _above(path, home)), *above]))
    starts = dict.fromkeys("/" + "/".join(_parts(path.lower())) for path in places)
    starts |= dict.fromkeys([f"{folder}/{making}".lower()] if making else [])
    tops = dict.fromkeys("/" + "/".join(_parts(path.lower())) for path in roots)
    last = {_parts(path)[-1].lower() for path in (state, config, *host.guarded, *beside[:1])}
    read_by_nobody = [*secrets, *host.secrets]
    secret_tails = [_parts(path)[-2:] for path in read_by_nobody]
    tails = [(other_name, *tail.split("/")) for other_name in names for tail in GUARDED]
    tails += [tail for path in beside if (tail := _parts(path)[-2:])[0] in names]
    configs = [*(f"{folder}/{name}" for folder in states for name in CONFIG_NAMES), config]
    keys = [*(f"{folder}/toolguard/{name}" for folder in states for name in KEYS), *read_by_nobody]
    whole = [tuple(map(str.lower, _parts(path))) for path in (*roots, *places, *configs, *keys)]
    return Protected(
        home, state, config,
        tuple(map(_parts, roots)),
        tuple(map(_parts, places)),
        tuple(map(_parts, configs)),
        tuple(map(_parts, keys)),
        tuple(tails),
        tuple(secret_tails),
        tuple(last),
        tuple(starts),
        tuple(tops),
        tuple({_folder(parts): None for parts in whole}),
        frozenset(_folder(parts[:end]) for parts in whole for end in range(len(parts) + 1)),
        (*map(str.lower, names), *CONFIG_NAMES, *((name.lower(),) if name else ())),
        tuple(path.rpartition("/")[2] for path in (*secrets, *beside, *host.secrets)),
        tuple(path.rpartition("/")[2] for path in (*secrets[:1], *host.secrets)),
        tuple(path for path in above if path not in states),
        making,
        (*map(str.lower, names), *CONFIG_NAMES, "toolguard"),
        tuple((link.lower(), target) for link, target in host.links),
    )  # fmt: skip


def _parts(path: str) -> tuple[str, ...]:
    return tuple(part for part in normpath(path).split("/") if part)


def _folder(parts: Sequence[str]) -> str:
    return "".join(f"/{part}" for part in parts) + "/"


def _above(path: str, home: str, depth: int = _HOME_DEPTH) -> list[str]:
    """The folders that contain `path`, below the home folder and not near the root."""
    folders = []
    while (path := dirname(path.rstrip("/"))) and path != home and path.count("/") > depth:
        folders.append(path)
    return folders


def plain(path: str) -> str:
    """A path under the system's own name for it, however its letters are composed."""
    if not path.isascii():
        path = composed(path)
    if path[:2] in ("/S", "/s") and path.lower().startswith(f"{FIRM}/".lower()):
        path = path[len(FIRM) :]
    return path[len("/private") :] if path[:9].lower() == "/private/" and path.lower().startswith(PRIVATE) else path


def kind(path: str, host: Host, folders: tuple[str, ...] = ()) -> Place:
    """What `path` is. A relative path is resolved against each of `folders`.

    A `?` may be a glob, or begin the options of a URI (`file:a.db?mode=rw`).
    """
    protected = protected_on(host)
    if _NAMES.fullmatch(path) and not _may_be_plain(path.lower(), host, folders):
        return ""
    path = _read(path, protected)
    addressed = [path, *([path[: match.start()]] if "?" in path and (match := _OPTIONS.search(path)) else [])]
    options = [_rooted(option) for file in addressed for option in _absolute(file, protected, folders)]
    places = {_place(_parts(option), protected) for option in options if _may_be(option, protected)}
    lower = path.lower()
    if not any(name in lower for name in protected.names):
        pass
    elif not path.startswith("/"):
        places.add(_by_tail(path, protected, known=bool(folders)))
    elif "$" in path or path.startswith("//") or UNKNOWN in path or _FDS.match(path):
        places.add(_by_tail(path, protected, known=True))
    return _most_protected(places)


def unclear(words: Iterable[str], host: Host, folders: tuple[str, ...]) -> list[str]:
    """Those of which `kind` may say something: it says nothing about most words of code."""
    names, leads = ("proc", *protected_on(host).names), _leads(folders, host)
    if leads is None:
        return list(words)
    lower = ((word, word.lower()) for word in words)
    return [
        word
        for word, text in lower
        if _NAMES.fullmatch(word) is None or text.startswith(leads) or any(name in text for name in names)
    ]


def _may_be_plain(lower: str, host: Host, folders: tuple[str, ...]) -> bool:
    """A cheap test that rejects most relative paths of plain names, such as the words of code that have a dot."""
    if "proc" in lower or any(name in lower for name in protected_on(host).names):
        return True
    leads = _leads(folders, host)
    return leads is None or lower.startswith(leads)


@lru_cache(maxsize=64)
def _leads(folders: tuple[str, ...], host: Host) -> tuple[str, ...] | None:
    """How relative paths begin that lead from one of these folders to a protected place; None if others may as well."""
    protected, around = protected_on(host), dict[str, None]()
    for folder in folders:
        at = f"{_rooted(folder).lower().rstrip('/')}/"
        if "$" in folder or UNKNOWN in folder or "/proc" in folder or GLOB.search(folder):
            return None
        for start in (*protected.starts, *protected.tops, *(link for link, _ in protected.links)):
            if at.startswith(start):
                return None
            if start.startswith(at):
                around[start[len(at) :].partition("/")[0]] = None
    return tuple(around)


def possible(path: str, host: Host, folders: tuple[str, ...] = ()) -> Place:
    """What a path with an unknown part may be: with that part empty, or if the rest names the gateway or the guard."""
    if UNKNOWN not in path and "$" not in path and _FDS.match(path) is None:
        return ""
    protected = protected_on(host)
    path = _read(path, protected)
    open_path = _FDS.sub(UNKNOWN, _VARIABLE.sub(lambda match: match[0] if _CURRENT_DIR.match(match[0]) else UNKNOWN, path))
    if UNKNOWN not in open_path:
        return ""
    if _CURRENT_DIR.search(open_path):
        paths = [_CURRENT_DIR.sub(folder.replace("\\", ""), open_path) for folder in folders]
    else:
        paths = [open_path]
    paths = [whole for file in paths for whole in _joined(file, () if file[0] == UNKNOWN else folders) or [file]]
    paths = [file if file[0] == UNKNOWN else normpath(file) for file in paths]
    paths += [link for file in paths if protected.links for link in _through_links(file, protected)]
    named = (file for file in paths if any(mark in file.lower() for mark in protected.marks))
    places = {_open_place(_parts(file), protected) for file in named}
    return _most_protected({*places, kind(open_path.replace(UNKNOWN, ""), host, folders)})


def _most_protected(kinds: set[Place]) -> Place:
    places: tuple[Place, ...] = ("key", "guard", "config", "root")
    return next((place for place in places if place in kinds), "")


def _read(path: str, protected: Protected) -> str:
    path = path.strip().removeprefix("@")
    return plain(_expanded(_ADDRESS.sub("", path) if "//" in path else path, protected))


def _open_place(parts: tuple[str, ...], protected: Protected) -> Place:
    guarded = tuple(place for place in protected.places if place not in protected.configs)
    places: tuple[tuple[Place, tuple[tuple[str, ...], ...]], ...] = (
        ("key", protected.keys), ("guard", guarded), ("config", protected.configs), ("root", protected.roots),
    )  # fmt: skip
    return next((kind for kind, known in places if any(_reaches(parts, real, below=kind == "guard") for real in known)), "")


def _reaches(parts: tuple[str, ...], real: tuple[str, ...], *, below: bool) -> bool:
    """Whether a path with unknown parts may be `real`, or something `below` it. A wholly unknown part may be many parts."""
    ends = {0}
    for part in parts[:_MAX_OPEN]:
        if not part.strip(UNKNOWN):
            ends = set(range(min(ends), len(real) + 1))
        else:
            ends = {end + 1 for end in ends if end < len(real) and may_be(part, real[end].lower())}
        if not ends or (below and len(real) in ends):
            break
    return len(real) in ends


def _may_be(option: str, protected: Protected) -> bool:
    """A cheap test that rejects most absolute paths."""
    lower = option.lower()
    if lower.startswith(protected.starts) or lower in protected.tops:
        return True
    if (wild := GLOB.search(lower)) is None:
        return False
    folder = lower[: lower.rfind("/", 0, wild.start()) + 1]
    return folder in protected.leading or folder.startswith(protected.whole)


def _rooted(option: str) -> str:
    """A normalized absolute path, cut to a maximum length."""
    return "/" + normpath(option).lstrip("/")[:_MAX_PATH]


def _absolute(path: str, protected: Protected, folders: tuple[str, ...]) -> list[str]:
    if "$" in path and _CURRENT_DIR.search(path):
        options = [_CURRENT_DIR.sub(folder.replace("\\", ""), path) for folder in folders]
    else:
        options = [path]
    options = [joined for option in options for joined in _joined(option, folders)]
    if "/proc" in (path if path.startswith("/") else "".join(options)) or GLOB.search(path):
        options = [target for option in options for target in link_targets(option, (protected.state, *folders))]
    if protected.links:
        options += [link for option in options for link in _through_links(option, protected)]
    return list(dict.fromkeys(options))


def _joined(path: str, folders: tuple[str, ...]) -> list[str]:
    return [path] if path.startswith("/") else [f"{folder}/{path}" for folder in folders]


def _through_links(path: str, protected: Protected) -> Iterator[str]:
    """Targets of a path that begins with a link known to the host; links may lead to other links."""
    for _ in range(_MAX_LINKS):
        path = "/" + normpath(path).lstrip("/")
        lower = f"{path.lower()}/"
        linked = next(((link, target) for link, target in protected.links if lower.startswith(f"{link}/")), None)
        if linked is None:
            return
        path = linked[1] + path[len(linked[0]) :]
        yield path


def resolved(path: str, host: Host, folders: tuple[str, ...]) -> tuple[str, ...]:
    """The absolute paths that `path` may mean."""
    return tuple(
        normpath(option) for option in _absolute(plain(_expanded(path, protected_on(host))), protected_on(host), folders)
    )


def is_above(path: str, host: Host, folders: tuple[str, ...] = ()) -> bool:
    """Whether `path` is a state folder, or contains a protected place (the home folder, `/`)."""
    protected = protected_on(host)
    options = [
        _rooted(option).lower().rstrip("/") + "/"
        for option in _absolute(plain(_expanded(path, protected)), protected, folders)
    ]
    return any(f"{top}/".startswith(option) for option in options for top in protected.tops)


def _expanded(path: str, protected: Protected) -> str:
    values = {
        "HOME": protected.home, "OPENCLAW_HOME": protected.home, "OPENCLAW_STATE_DIR": protected.state,
        "CLAWDBOT_STATE_DIR": protected.state, "OPENCLAW_CONFIG_PATH": protected.config,
    }  # fmt: skip
    if "$" in path:
        path = _VARIABLE.sub(lambda match: _value(match, values), path)
    return _TILDE.sub(lambda _: protected.home, path)


def _value(match: re.Match[str], values: dict[str, str]) -> str:
    value = values.get(match[1] or match[2], match[0])
    return value.lstrip("/") if match[3] == "#/" else value


def _place(parts: tuple[str, ...], protected: Protected) -> Place:
    parts = _with_fixed_suffix(parts, protected)
    if any(_covers(parts, key) and (len(parts) >= len(key)) for key in protected.keys):
        return "key"
    covering = [place for place in protected.places if len(parts) >= len(place) and _covers(parts, place)]
    if covering:
        return "config" if all(place in protected.configs for place in covering) else "guard"
    if any(_covers(parts, root) and len(parts) == len(root) for root in protected.roots):
        return "root"
    return ""


def _with_fixed_suffix(parts: tuple[str, ...], protected: Protected) -> tuple[str, ...]:
    """Replaces the random suffix of a token that is being written by the one in `keys`."""
    begun = protected.making and parts and parts[-1].lower().startswith(protected.making)
    return (*parts[:-1], protected.making + _FIXED_SUFFIX) if begun else parts


def _covers(parts: tuple[str, ...], place: tuple[str, ...]) -> bool:
    """Whether the pattern may name `place`, something in it, or a folder above it."""
    for at, (part, real) in enumerate(zip(parts, place, strict=False)):
        if part == "**":
            return _crosses(parts[at + 1 :], place[at:])
        if not fits(part, real.lower()):
            return False
    return bool(parts)


def _crosses(parts: tuple[str, ...], place: tuple[str, ...]) -> bool:
    """Whether the pattern after `**` may reach `place`: `**` matches all folders except hidden ones."""
    last = "".join(parts[-1:])
    if any(part.startswith(".") for part in place) and not any(part.startswith((".", "[")) for part in parts):
        return False
    return last in ("", "**") or any(fits(last, real.lower()) for real in place)


def _inside_tail(tail: Sequence[str], inside: Sequence[str]) -> Place:
    """What lies at these parts of a path below a protected place."""
    if inside and inside[0].lower() in KEYS:
        return "key"
    return "config" if tail[-1] in CONFIG_NAMES else "guard"


def _by_tail(path: str, protected: Protected, *, known: bool) -> Place:
    """Judges a path from an unknown folder by its last parts."""
    parts = _with_fixed_suffix(_parts(path), protected)
    if len(parts) > 1 and not GLOB.search(parts[-2]) and any(_covers(parts[-2:], tail) for tail in protected.secret_tails):
        return "key"
    for tail in protected.tails:
        for at in range(len(parts) - len(tail) + 1):
            if _covers(parts[at : at + len(tail)], tail) and not GLOB.search(parts[at]):
                return _inside_tail(tail, parts[at + len(tail) :])
    return "config" if not known and parts and parts[-1].lower() in CONFIG_NAMES else ""
