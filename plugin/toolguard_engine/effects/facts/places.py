"""What a path is to the user. Text only; no file is read and no link followed.

A path is made absolute first (`~`, `$HOME`, the folder it is relative to, `..`, `//`, `/private`, `file://`, drives), then
classified by the first match below. `facts.place_names` has the names themselves. Case counts only for the names of places
that make a call harmless (see `letter_case`).

- `null`, `device`: the null device or the terminal; other devices, where each write is a write to hardware.
- `remote`: a path on another machine, an address.
- `root`: `/`, or what everything on the machine depends on as a whole: `/etc`, `/home`, `/usr/lib`.
- `credentials`, `startup`: what gives access as the user; what runs something again later or opens the machine.
- `unknown`: an unknown part decides. After a known folder it does not: `/tmp/<unknown>` is `temp`.
- `temp`; `workspace`, `artefact` (can be built again), `repository` (`.git`), `in-workspace`; `home`, `in-home`; `system`.
- empty: anywhere else, such as `/data/x`.

The whole content of a folder (`x/*`, `x/.*`) counts as the folder. A relative path is relative to the command's own `cd`,
else to the call's folder, and if neither is known to the workspace.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from posixpath import normpath

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import gateway_file_paths, place_globs, started_places
from toolguard_engine.effects.facts import place_names as names
from toolguard_engine.effects.facts.command import UNKNOWN, Place
from toolguard_engine.effects.facts.letter_case import folded

MAX_CACHED = 512
KEPT_PATHS = 600
"""More than one long command names."""

MAX_PATH = 8192
MAX_PARTS = 100
"""Parts of a path that are examined; no system accepts longer paths."""

_NO_HOME = "/~"
_PLAIN: frozenset[str] = frozenset()
_RAW_DEVICE = ("\\\\.\\", "//./")
_VARIABLE = lazy_re.compile(r"\$(?:\{(\w{1,40})\}|(\w{1,40}))(?=/|\Z)|%(\w{1,40})%(?=[\\/]|\Z)")
_DRIVE = lazy_re.compile(r"[A-Za-z]:(?=[\\/]|\Z)")
_REMOTE = lazy_re.compile(
    r"[a-z][a-z0-9+.-]{1,20}://|(?:[\w.-]{1,64}@[\w.-]{1,255}|[\w.-]{2,255}|\[[0-9a-fA-F:]{2,40}\]):(?!\\)"
)
_SIMPLE = lazy_re.compile(r"(?>(?:[\w-][\w.-]*+/)*)[\w-][\w.-]*+")
"""A relative path without any sign that stands for something else."""

_INSIDE = lazy_re.compile(r"\$(?:(HOME|PWD)\b|\{(HOME|PWD)(#/)?\})")
_PROC = lazy_re.compile(r"/proc/[^/]{1,20}(?:/task/[^/]{1,20})?/(?:root|cwd)")
_LINK_DEPTHS = (3, 5)
_MAX_LINKS = 8
_HOMES = lazy_re.compile(
    r"/(?:(?:home|Users|var/home|export/home|c:/users)/[^/]+|root|var/root|~)(?:/(.*))?\Z", re.DOTALL | re.IGNORECASE
)


def _low(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(map(str.lower, texts)))


_ROOTS = frozenset(_low(names.ROOTS))
_SYSTEM = _low(names.SYSTEM)
_HOME_STARTUP, _HOME_STARTUP_BELOW = frozenset(_low(names.HOME_STARTUP)), _low(names.HOME_STARTUP_BELOW)
_SYSTEM_STARTUP, _SYSTEM_SECRETS = _low(names.SYSTEM_STARTUP), _low(names.SYSTEM_SECRETS)
_NO_SECRETS, _PUBLIC_FOLDERS = frozenset(_low(names.NO_SECRETS)), _low(names.PUBLIC_FOLDERS)
_HOME_SECRETS = {first.lower(): _low(tails) for first, tails in names.HOME_SECRETS.items()}


class Where(msgspec.Struct, frozen=True):
    """What is known of a call's surroundings, as absolute paths; empty if unknown."""

    home: str = ""
    cwd: str = ""
    workspace: str = ""
    state_dir: str = ""


def is_simple(path: str) -> bool:
    """Whether a path is relative and contains no sign that stands for something else."""
    return _SIMPLE.fullmatch(path) is not None


def place(path: str, where: Where, cwd: str = "") -> Place:
    return classify(path, where, cwd)[0]


def marks(path: str, where: Where, cwd: str = "") -> frozenset[str]:
    """Further properties of a path.

    `glob`; `whole` (a folder's whole content, or a folder with a well-known name); `project` (a secret that ordinary work in
    a project touches: its `.env`); `dotfile` (a user setting); `history` (of the shell); `log` (of the system);
    `gateway-file` (one of the gateway's own, see `gateway_file_paths`, or one that it starts, see `started_places`);
    `transcript` (the transcripts of an agent, or its text about itself);
    `service-data` (see `is_service_data`); `personal-file` (see `place_names.is_personal`).
    """
    return classify(path, where, cwd)[1]


def classify(path: str, where: Where, cwd: str = "") -> tuple[Place, frozenset[str]]:
    """`place` and `marks` at once."""
    if len(path) + len(cwd) > MAX_CACHED:
        return _classified.__wrapped__(path[:MAX_PATH], where, cwd[:MAX_PATH])
    return _classified(path, where, cwd)


def normal(path: str, where: Where, cwd: str = "") -> str:
    """The absolute path that is meant, with `UNKNOWN` for unknown parts."""
    if len(path) + len(cwd) > MAX_CACHED:
        return _normal.__wrapped__(path, where, cwd)
    return _normal(path, where, cwd)


@lru_cache(maxsize=KEPT_PATHS)
def _normal(path: str, where: Where, cwd: str) -> str:
    text = path.removeprefix("file://localhost").removeprefix("file://") if path.startswith("file:") else path
    if "$" in text:
        text = _INSIDE.sub(lambda match: _folder(match, where), text)
    if not text.startswith("/"):
        text = _absolute(text, where, cwd)
    if "/proc" in text:
        text = _through_processes(text, where, cwd)
    text = normpath(text) if "//" in text or "/." in text or text.endswith("/") else text
    text = f"/{text.lstrip('/')}"
    if text[:2] in ("/S", "/s") and text[: len(names.FIRM) + 1].lower() == f"{names.FIRM}/".lower():
        text = text[len(names.FIRM) :]
    if where.home.startswith("/Users/") and text[:3].lower() == "/us" and text.lower().startswith(where.home.lower()):
        return where.home + text[len(where.home) :]
    return text[len("/private") :] if text[:2] in ("/p", "/P") and text[:12].lower().startswith(names.PRIVATE) else text


def _folder(match: re.Match[str], where: Where) -> str:
    """The home folder, or the folder that the command starts in, if the match names one."""
    folder = _base(where, "") if "PWD" in (match[1], match[2]) else where.home or _NO_HOME
    return folder.lstrip("/") if match[3] else folder


def _through_processes(text: str, where: Where, cwd: str) -> str:
    """The target of a path through process links: `..` after such a link is not lexical."""
    parts: list[str] = []
    links = 0
    for part in text[:MAX_PATH].split("/"):
        if part == "..":
            del parts[-1:]
        elif part not in ("", "."):
            parts.append(part)
            if part in ("root", "cwd") and len(parts) in _LINK_DEPTHS and links < _MAX_LINKS and _is_link(parts):
                links += 1
                parts = [] if part == "root" else [name for name in _base(where, cwd).split("/") if name]
    return "/" + "/".join(parts)


def _is_link(parts: list[str]) -> bool:
    return _PROC.fullmatch("/" + "/".join(parts)) is not None


def _absolute(text: str, where: Where, cwd: str) -> str:
    if text.startswith("~"):
        text = text.replace("\\", "/") if text.startswith("~\\") else text
        user, _, rest = text[1:].partition("/")
        return f"{_user_home(user, where, cwd)}/{rest}"
    if text.startswith(("$", "%")) and (at := _VARIABLE.match(text)):
        base = _variable((at[1] or at[2] or at[3]).upper(), where, cwd)
        return base + text[at.end() :].replace("\\", "/") if base else f"{UNKNOWN}{text[at.end() :]}"
    if _DRIVE.match(text):
        return "/" + text.replace("\\", "/").lower()
    if text.startswith("\\\\"):
        return text.replace("\\", "/")
    if text.startswith(UNKNOWN):
        return f"/{text}"
    return f"{_base(where, cwd)}/{text}"


def _user_home(user: str, where: Where, cwd: str) -> str:
    if user in ("", UNKNOWN):
        return where.home or _NO_HOME
    if user == "+":
        return _base(where, cwd)
    return "/root" if user == "root" else f"/home/{user}"


def _variable(name: str, where: Where, cwd: str) -> str:
    if name == "PWD":
        return _base(where, cwd)
    if name in names.HOME_VARIABLES:
        return (where.home or _NO_HOME) + names.HOME_VARIABLES[name]
    if name in ("OPENCLAW_STATE_DIR", "CLAWDBOT_STATE_DIR"):
        return where.state_dir or f"{where.home or _NO_HOME}/.openclaw"
    if name == "OPENCLAW_HOME":
        return where.home or _NO_HOME
    return names.VARIABLES.get(name, "")


def _base(where: Where, cwd: str) -> str:
    """The folder that a relative path begins at."""
    base = where.cwd or _workspace(where)
    return normal(cwd, where, "") if cwd else base


def _workspace(where: Where) -> str:
    return where.workspace or where.cwd or f"{where.home or _NO_HOME}/.openclaw/workspace"


@lru_cache(maxsize=KEPT_PATHS)
def _classified(path: str, where: Where, cwd: str) -> tuple[Place, frozenset[str]]:
    if not cwd and path != "-" and _SIMPLE.fullmatch(path) and _begins_in_workspace(where):
        flags: set[str] = {"gateway-file"} if started_places.is_started_in_workspace(folded(path)) else set()
        return _own_name(folded(path), flags) or _rebuilt(path) or "in-workspace", _PLAIN.union(flags)
    if not path or path == "-":
        return "", _PLAIN
    if path.startswith(_RAW_DEVICE):
        return "device", _PLAIN
    if ":" in path and _REMOTE.match(path) and not path.startswith("file:"):
        return "remote", _PLAIN
    full = normal(path, where, cwd)
    workspace = _workspace(where)
    flags = {"gateway-file"} if gateway_file_paths.is_own(full, where.state_dir, workspace) else set()
    meant = full
    if "*" in full or "?" in full or "[" in full:
        flags.add("glob")
        full, whole = place_globs.content(full)
        flags.update(["whole"] if whole else [])
        full = full if _below(full, workspace) else _guessed(full, where)
    if full.startswith("/dev/"):
        return _device(full), frozenset(flags)
    kind = _named(full, where, flags)
    # what starts at login has rules of its own, which know what may be written there
    if kind != "startup" and started_places.is_started(folded(meant), where.home or _NO_HOME, workspace):
        flags.add("gateway-file")
    return kind, frozenset(flags) if flags else _PLAIN


@lru_cache(maxsize=8)
def _begins_in_workspace(where: Where) -> bool:
    workspace = normal(_workspace(where), where)
    if gateway_file_paths.is_near(workspace, where.state_dir):
        return False
    return _base(where, "") == _workspace(where) == workspace and workspace != (where.home or _NO_HOME)


def _guessed(full: str, where: Where) -> str:
    """Replaces wildcards by a well-known name that they match: `/e?c/shad*`, `~/.ss*/id_*`."""
    if "*" not in full and "?" not in full and "[" not in full:
        return full
    home = where.home or _NO_HOME
    in_home = _below(full, home) or _home_part(full)
    known = names.HIDDEN_IN_HOME if in_home else names.HIDDEN_IN_ROOT
    text = folded(in_home or full[1:])
    parts = text.split("/", names.MOST_HIDDEN_PARTS)[: names.MOST_HIDDEN_PARTS]
    beginnings = ["/".join(parts[: count + 1]) for count in range(len(parts))]
    for name in known:
        depth = name.count("/")
        if depth >= len(parts):
            continue
        pattern = beginnings[depth]
        if pattern[:1] in ("*", "?", "[", name[0].lower()) and place_globs.fits(pattern[:MAX_CACHED], name.lower()):
            rest = text[len(pattern) :]
            return f"{home}/{name}{rest}" if in_home else f"/{name}{rest}"
    return full


MEMORY = "/dev/shm/"  # noqa: S108 - a name, nothing is written there
"""The one folder below /dev that has files, which everybody may write."""


def _device(full: str) -> Place:
    if full in names.NULL or full.startswith(names.NULL_FOLDERS):
        return "null"
    return "temp" if full.startswith(MEMORY) else "device"


def is_device(path: str) -> bool:
    return path.startswith("/dev/") and not path.startswith(MEMORY)


def _named(full: str, where: Where, flags: set[str]) -> Place:
    low = folded(full)
    if low in _ROOTS:
        flags.add("whole")
        return "root"
    home, workspace = where.home or _NO_HOME, _workspace(where)
    own = _below(full, workspace) if workspace != home else None
    if own is not None and full != home:
        return _own_name(folded(own), flags) or _unknown(full, where, flags) or _in_workspace(own, flags)
    inside = _below(full, home)
    inside = _home_part(full) if inside is None else inside
    if inside == "":
        flags.add("whole")
        return "home"
    low_inside = None if inside is None else folded(inside)
    return _secret_or_startup(low, low_inside, flags) or _unknown(full, where, flags) or _elsewhere(full, inside, flags)


def _below(full: str, folder: str) -> str | None:
    """The part of a path below a folder; empty for the folder itself, None outside it."""
    if not full.startswith(folder):
        return None
    if len(full) == len(folder):
        return ""
    return full[len(folder) + 1 :] if full[len(folder)] == "/" else None


def _home_part(full: str) -> str | None:
    at = _HOMES.match(full)
    return None if at is None else at[1] or ""


def _own_name(own: str, flags: set[str]) -> Place:
    """The place of a name that counts in any folder, for a folded path in the workspace."""
    last = own.rpartition("/")[2]
    if names.is_secret_name(last):
        flags.add("project")
        return "credentials"
    if last in names.STARTUP_NAMES or ".git/hooks/" in own or (last.endswith(".pth") and "-packages/" in own):
        return "startup"
    return ""


def _is_startup(full: str, last: str) -> bool:
    """Whether something runs a file by itself, wherever the home folder is."""
    if full.startswith(_SYSTEM_STARTUP) or last in names.STARTUP_NAMES or "/.git/hooks/" in full:
        return True
    return last.endswith(".pth") and "-packages/" in full


def _secret_or_startup(full: str, inside: str | None, flags: set[str]) -> Place:
    """Judges a folded path."""
    last = full.rpartition("/")[2]
    if inside is not None and (kind := _of_home(inside, last)):
        if kind == "credentials" and names.TRANSCRIPTS.fullmatch(inside):
            flags.add("transcript")
        return kind
    if _is_startup(full, last):
        return "startup"
    if full.startswith(_SYSTEM_SECRETS) or names.SECRET_PATTERN.match(full):
        return "" if last in _NO_SECRETS or names.PUBLIC_CERTIFICATES.match(full) else "credentials"
    if "/.ssh/" in full:
        return names.SSH.get(last, "" if last.endswith(names.PUBLIC) else "credentials")
    if not names.is_secret_name(last) or full.startswith(_PUBLIC_FOLDERS):
        return ""
    if (inside is not None and "/" in inside) or full.startswith(f"/{UNKNOWN}"):
        flags.add("project")
        if inside is not None and names.is_personal(inside):
            flags.add("personal-file")
    return "credentials"


def _of_home(inside: str, last: str) -> Place:
    first, slash, rest = inside.partition("/")
    if first == ".ssh":
        return names.SSH.get(rest, "" if last.endswith(names.PUBLIC) else "credentials")
    if first in _HOME_STARTUP or (slash and inside.startswith(_HOME_STARTUP_BELOW)):
        return "startup"
    if last in names.SHADOWED and inside.startswith(names.HOME_PROGRAMS):
        return "startup"
    tails = _HOME_SECRETS.get(first)
    if tails is None:
        return ""
    return "credentials" if not tails or not rest or rest.startswith(tails) or f"{rest}/" in tails else ""


def _unknown(full: str, where: Where, flags: set[str]) -> Place:
    """The place of a path with an unknown part; empty if that part does not decide."""
    at = full.find(UNKNOWN)
    if at < 0:
        return ""
    above, _, last = full.rpartition("/")
    if last in names.ARTEFACTS:
        return "artefact"
    above = full[: full.rfind("/", 0, at)]
    if not above:
        return "unknown"
    folder = set[str]()
    kind = _named(above, where, folder)
    flags |= folder & {"personal-file"}
    if kind == "root":
        return "home" if folded(above) in ("/home", "/users") else "system"
    if kind == "home":
        return "unknown"
    return "in-workspace" if kind == "workspace" else kind


def _in_workspace(own: str, flags: set[str]) -> Place:
    if not own:
        flags.add("whole")
        return "workspace"
    return _rebuilt(own) or "in-workspace"


def _rebuilt(path: str) -> Place:
    parts = path.split("/")
    if ".git" in parts or (".git" in path.lower() and ".git" in map(folded, parts)):
        return "repository"
    if not names.ARTEFACTS.isdisjoint(parts) or parts[-1].endswith(names.ARTEFACT_ENDS):
        return "artefact"
    if ("build" in path or "dist" in path) and any(names.BUILT.fullmatch(part) for part in parts[:MAX_PARTS]):
        return "artefact"
    return ""


def _inside_home(inside: str, flags: set[str]) -> Place:
    if inside in names.HISTORIES:
        flags.add("history")
    if inside.startswith(names.HOME_CACHES) and not inside.startswith(names.NO_CACHES):
        return "artefact"
    if inside.startswith("."):
        flags.add("dotfile")
    elif names.is_personal(inside):
        flags.add("personal-file")
    own = "personal-file" in flags and inside.count("/") == 1  # `~/Documents/build` is no project's folder
    return (_rebuilt(inside) if "/" in inside and not inside.startswith(".") and not own else "") or "in-home"


def is_service_data(full: str) -> bool:
    """Whether it is a file of settings, and no code, in the folder of a service that somebody has put below `/opt`, as they
    would below `/srv`."""
    return full.startswith("/opt/") and _SERVICE_DATA.fullmatch(full[:MAX_PATH]) is not None


_SERVICE_DATA = lazy_re.compile(r"/opt/[\w.-]+/(?:[\w.@ -]+/)*[\w.@ -]+\.(?:ya?ml|json|toml|ini|cfg|md|txt)(?:\.bak\w*)?")


def _elsewhere(full: str, inside: str | None, flags: set[str]) -> Place:
    if inside is not None:  # a home inside a temporary folder is still a home
        return _inside_home(inside, flags)
    if full.startswith(names.TEMP) or full in names.TEMP_ROOTS:
        return "temp"
    if full.startswith(names.LOGS):
        flags.add("log")
    if is_service_data(full):
        flags.add("service-data")
    if (folded(full).startswith(_SYSTEM) and not full.startswith(names.MOUNTED)) or folded(full) in names.SYSTEM_ROOTS:
        return "system"
    return _rebuilt(full[1:]) if full.count("/") > 1 else ""
