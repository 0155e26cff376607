"""Nothing ends the engine or its gateway: `kill` in all its forms, by number, by name, by what a command prints, by code.

A process that listens on a port is ours if the port lies where gateways are by default (`_OUR_PORTS`): which one this
gateway has is not known here, and the ports of ordinary development servers (3000, 5173, 8080) must stay free to be cleared.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise

from toolguard_engine.layers.protection.scene import Finding, Scene, base
from toolguard_engine.model import Host
from toolguard_engine.shell.model import UNKNOWN, Run

REASON = "This command would stop the guard or the gateway that it protects."

_NAMES = ("toolguard", "openclaw", "openclaw-gateway", "clawdbot", "node", "mainthread",
          "python", "python3", "python3.11", "python3.12", "python3.13", "python3.14")  # fmt: skip
"""Process names of the engine and of the gateway; Node calls its first thread MainThread."""

_LINES = ("python3 -p -m toolguard_engine", "python -m toolguard_engine", "node openclaw.mjs gateway run",
          "openclaw-gateway", "/usr/bin/node /usr/lib/node_modules/openclaw/dist/index.js gateway --port 18789")  # fmt: skip
_MENTION = re.compile(r"toolguard|(?<![./\w])(?:openclaw|clawdbot)|\bengine\b|18789|PPID", re.IGNORECASE)
_PARENT = re.compile(r"PPID|getppid|process\.ppid|\bppid=")
_CODE = re.compile(r"\bkill(?:pg|Sync)?['\"]?\s*(?:\(|\s['\"]?\w+['\"]?\s*,)([^)\n]*)")
_NUMBER = re.compile(r"(?<![\w.])-?\d+")
_MAX_DIGITS = 12
_OUR_PORTS = range(18700, 20000)
_PORT = re.compile(r"(?<![\w.-])(\d{1,5})(?:-(\d{1,5}))?(?![\w.])")
_LISTERS = frozenset({"ps", "top", "pgrep", "pidof", "lsof", "fuser", "ss", "netstat"})
_SEARCHERS = frozenset({"grep", "egrep", "fgrep", "rg", "ag"})
_EDITORS = frozenset({"awk", "gawk", "mawk", "nawk", "sed", "perl"})
_SEARCHED = re.compile(r"/([^/]{1,64})/|~\s*\"([^\"]{1,64})\"")
_PORT_KILLERS = frozenset({"kill-port", "fkill", "killport", "fkill-cli"})
_SERVICES = frozenset(
    {"systemctl", "service", "launchctl", "supervisorctl", "pm2", "docker", "podman", "rc-service", "initctl"}
)
_ENDING = frozenset({"stop", "disable", "mask", "kill", "rm", "remove", "delete", "unload", "bootout", "down", "pause"})
_UNITS = ("openclaw-gateway.service", "openclaw-gateway", "openclaw.service", "openclaw")
_GLOB = re.compile(r"[*?\[]")
_SERVICE_NAMES = re.compile(r"openclaw|toolguard|clawdbot", re.IGNORECASE)
_MAX_PATTERN = 64
_MAX_PATTERNS = 50
"""So many names in one `killall` are no honest list; it counts as one that holds ours."""


def findings(scene: Scene) -> Iterator[Finding]:
    if any(_ends(run, scene) for run in scene.runs):
        yield Finding(REASON)
    if any(_kills_listed(run) for run in scene.runs) and any(_lists_ours(run) for run in scene.runs):
        yield Finding(REASON)
    if any(_by_code(code, scene) for _, code in scene.codes()):
        yield Finding(REASON)


def _kills_listed(run: Run) -> bool:
    """Whether it kills what another program of this command may have printed."""
    if run.name == "kill":
        return any(UNKNOWN in word or "$" in word for word in run.argv)
    return run.name in _EDITORS and any("kill" in word for word in run.argv)


def _lists_ours(run: Run) -> bool:
    """Whether what it lists or lets through may be a process of ours."""
    name, rest = run.name, run.argv[1:]
    if name in {"pgrep", "pidof"}:
        return _by_name(run)
    if name in _LISTERS:
        chosen = [word for option, word in pairwise(rest) if option in {"-C", "-c"}]
        return any(_fits(word, exact=True) for word in chosen) or (name != "ps" and _our_port(rest))
    given = [word for word in rest if not word.startswith("-")]
    if name in _SEARCHERS and "-v" not in rest:
        return any(_fits(word, exact=False) for word in given[:1]) or _our_port(given[:1])
    if name in _EDITORS:
        return any(_fits(match[1] or match[2], exact=False) for word in given for match in _SEARCHED.finditer(word))
    return False


def _our_port(words: Iterable[str]) -> bool:
    found = [(int(match[1]), int(match[2] or match[1])) for word in words for match in _PORT.finditer(word)]
    return any(first < _OUR_PORTS.stop and last >= _OUR_PORTS.start for first, last in found)


def _mentions(scene: Scene) -> bool:
    return _mentioned(scene.text)


@lru_cache(maxsize=4)
def _mentioned(text: str) -> bool:
    return _MENTION.search(text) is not None


def _ends(run: Run, scene: Scene) -> bool:
    name, rest = run.name, run.argv[1:]
    if name == "kill":
        return _by_number(rest, scene)
    if name in {"pkill", "killall", "skill"}:
        return _by_name(run)
    if name == "fuser":
        options = "".join(word for word in rest if word.startswith("-"))
        return "k" in options and (_our_port(rest) or _mentions(scene))
    if any(base(word).partition("@")[0] in _PORT_KILLERS for word in run.argv[:4]):
        return _our_port(rest) or _mentions(scene)
    return name in _SERVICES and not _ENDING.isdisjoint(rest) and any(_is_service(word, name) for word in rest)


def _is_service(word: str, manager: str) -> bool:
    """Whether a service of ours is named, by a pattern too where that is one; `*` for all is a restart of the machine."""
    if _SERVICE_NAMES.search(word):
        return True
    if manager != "systemctl" or len(word) > _MAX_PATTERN or word.startswith("-") or _GLOB.search(word) is None:
        return False
    return any(fnmatchcase(unit, word.lower()) for unit in _UNITS)


def _number(text: str) -> int:
    """A process number as it is written, or 0."""
    digits = text.removeprefix("-").lstrip("0")
    return int(digits) if digits.isdecimal() and len(digits) <= _MAX_DIGITS else 0


def _by_number(rest: tuple[str, ...], scene: Scene) -> bool:
    targets = _targets(rest)
    if targets is None:
        return False
    for target in targets:
        number = target.rstrip(",")
        if number == "-1" or _number(number) in scene.host.pids:
            return True
        if _PARENT.search(target) or (("$" in target or UNKNOWN in target) and _mentions(scene)):
            return True
    return rest == ("-1",)


def _targets(rest: tuple[str, ...]) -> list[str] | None:
    """What `kill` is aimed at; nothing if it only lists signals or asks whether a process lives."""
    if rest[:1] in (("-0",), ("-l",), ("-L",), ("-t",)) or rest[:2] == ("-s", "0"):
        return None
    if rest[:1] and rest[0] in {"-s", "-n", "--signal"}:
        rest = rest[2:]
    elif rest[:1] and rest[0].startswith("-") and rest[0] != "--" and len(rest) > 1:
        rest = rest[1:]
    return [word for word in rest if word != "--"]


def _by_name(run: Run) -> bool:
    """Whether the pattern of `pkill` and its kin fits a process of ours."""
    words = run.argv
    exact = run.name in {"killall", "pidof"} and not any(re.match(r"-\w*r|--regexp", word) for word in words)
    patterns = [word for word in words[1:] if not word.startswith("-")]
    if len(patterns) > _MAX_PATTERNS:
        return True
    if any(re.fullmatch(r"-[uUgGsPt]\w*|--(?:user|uid|euid|group|parent|session).*", word) for word in words[1:]):
        chosen = any(_fits(word, exact=exact) for word in patterns)
        return chosen or len(patterns) <= 1
    return any(_fits(word, exact=exact) or "$" in word or UNKNOWN in word for word in patterns)


def _fits(pattern: str, *, exact: bool) -> bool:
    return _fits_ours(pattern.lower()[:_MAX_PATTERN], exact=exact)


@lru_cache(maxsize=256)
def _fits_ours(pattern: str, *, exact: bool) -> bool:
    if exact:
        return base(pattern) in _NAMES or bool(_SERVICE_NAMES.search(pattern))
    for option in re.sub(r"[()]", "", pattern).split("|"):
        glob = option.replace("\\", "").strip("^$").replace("?", "").replace("+", "")
        glob = glob.replace(".*", "*").replace(".", "?")
        if glob and any(fnmatchcase(name, f"*{glob}*") for name in (*_NAMES, *_LINES)):
            return True
        if "toolguard" in glob or re.search(r"(?<![./\w])(?:openclaw|clawdbot)", glob):
            return True
    return False


def _by_code(code: str, scene: Scene) -> bool:
    """The same for code: `os.kill(1234, 9)`."""
    return any(_aims_at_us(match[0], scene.host) or _mentions(scene) for match in _CODE.finditer(code))


def _aims_at_us(text: str, host: Host) -> bool:
    numbers = {_number(number) for number in _NUMBER.findall(text)}
    return bool(numbers & host.pids) or _PARENT.search(text) is not None or re.search(r"\(\s*+-1\b", text) is not None
