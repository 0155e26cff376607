"""Commands that end the engine or its gateway: `kill` in all its forms, by number, by name, by what a command prints.

A process that listens on a port is ours if the port lies where gateways are by default (`_OUR_PORTS`): which one this
gateway has is not known here, and the ports of ordinary development servers (3000, 5173, 8080) must stay free to be cleared.
"""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache
from itertools import pairwise

from toolguard_engine.model import Host
from toolguard_engine.shellwords import UNKNOWN, Line, Simple, base, names

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
_LISTERS = names("ps top pgrep pidof lsof fuser ss netstat")
_SEARCHERS = names("grep egrep fgrep rg ag")
_SEARCHED = re.compile(r"/([^/]{1,64})/|~\s*\"([^\"]{1,64})\"")
_PORT_KILLERS = names("kill-port fkill killport")
_SERVICES = names("systemctl service launchctl supervisorctl pm2 docker podman rc-service initctl")
_ENDING = names("stop disable mask kill rm remove delete unload bootout down pause")
_SERVICE_NAMES = re.compile(r"openclaw|toolguard|clawdbot", re.IGNORECASE)
_MAX_PATTERN = 64
_MAX_PATTERNS = 50
"""So many names in one `killall` are no honest list; it counts as one that holds ours."""


@lru_cache(maxsize=4)
def _mentions(command: str) -> bool:
    """Whether the guard or its gateway is named; asked for every command of a line."""
    return bool(_MENTION.search(command))


def reason(line: Line, command: str, host: Host) -> str:
    if _kills_listed(line) and any(_lists_ours(simple) for simple in line):
        return REASON
    return REASON if any(_ends(simple, command, host) for simple in line) else ""


def _kills_listed(line: Line) -> bool:
    """Whether something is killed that another command of this line may have printed."""
    return any(
        (simple.name == "kill" and ("xargs" in simple.words or any("$" in word for word in simple.words)))
        or (simple.name in {"awk", "gawk", "mawk", "sed"} and any("kill" in word for word in simple.words))
        for simple in line
    )


def _lists_ours(simple: Simple) -> bool:
    """Whether what it lists or lets through may be a process of ours."""
    words = simple.unwrapped()
    name, rest = (base(words[0]), words[1:]) if words else ("", [])
    given = [word for word in rest if not word.startswith("-")]
    if name in {"pgrep", "pidof"}:
        return _by_name(words)
    if name in _LISTERS:
        chosen = [word for option, word in pairwise(rest) if option in {"-C", "-c"}]
        return any(_fits(word, exact=True) for word in chosen) or (name != "ps" and _our_port(rest))
    if name in _SEARCHERS and "-v" not in rest:
        return any(_fits(word, exact=False) for word in given[:1]) or _our_port(given[:1])
    if name in {"awk", "gawk", "mawk", "sed"}:
        return any(_fits(match[1] or match[2], exact=False) for word in given for match in _SEARCHED.finditer(word))
    return False


def _our_port(words: list[str]) -> bool:
    found = [(int(match[1]), int(match[2] or match[1])) for word in words for match in _PORT.finditer(word)]
    return any(first < _OUR_PORTS.stop and last >= _OUR_PORTS.start for first, last in found)


def _ends(simple: Simple, command: str, host: Host) -> bool:
    words = simple.unwrapped()
    name, rest = (base(words[0]), words[1:]) if words else ("", [])
    if name == "kill":
        return _by_number(rest, command, host, fed="xargs" in simple.words)
    if name in {"pkill", "killall", "skill"}:
        return _by_name(words)
    if name == "fuser":
        options = "".join(word for word in rest if word.startswith("-"))
        return "k" in options and (_our_port(rest) or _mentions(command))
    if any(base(word).partition("@")[0] in _PORT_KILLERS for word in words[:4]):
        return _our_port(rest) or _mentions(command)
    return name in _SERVICES and bool(_ENDING & set(rest)) and any(_SERVICE_NAMES.search(word) for word in rest)


def _number(text: str) -> int:
    """A process number as it is written, or 0."""
    digits = text.removeprefix("-").lstrip("0")
    return int(digits) if digits.isdecimal() and len(digits) <= _MAX_DIGITS else 0


def _by_number(rest: list[str], command: str, host: Host, *, fed: bool) -> bool:
    targets = _targets(rest)
    if targets is None:
        return False
    if fed and not targets:
        return _mentions(command)
    for target in targets:
        number = target.rstrip(",")
        if number == "-1" or _number(number) in host.pids:
            return True
        if _PARENT.search(target) or (("$" in target or UNKNOWN in target) and _mentions(command)):
            return True
    return rest == ["-1"]


def _targets(rest: list[str]) -> list[str] | None:
    """What `kill` is aimed at; nothing if it only lists signals or asks whether a process lives."""
    if rest[:1] in (["-0"], ["-l"], ["-L"], ["-t"]) or rest[:2] == ["-s", "0"]:
        return None
    if rest[:1] and rest[0] in {"-s", "-n", "--signal"}:
        rest = rest[2:]
    elif rest[:1] and rest[0].startswith("-") and rest[0] != "--" and len(rest) > 1:
        rest = rest[1:]
    return [word for word in rest if word != "--"]


def _by_name(words: list[str]) -> bool:
    """Whether the pattern of `pkill` and its kin fits a process of ours."""
    exact = base(words[0]) in {"killall", "pidof"} and not any(re.match(r"-\w*r|--regexp", word) for word in words)
    patterns = [word for word in words[1:] if not word.startswith("-")]
    if len(patterns) > _MAX_PATTERNS:
        return True
    if any(re.fullmatch(r"-[uUgGsPt]\w*|--(?:user|uid|euid|group|parent|session).*", word) for word in words[1:]):
        chosen = any(_fits(word, exact=exact) for word in patterns)
        return chosen or len(patterns) <= 1
    return any(_fits(word, exact=exact) or "$" in word or UNKNOWN in word for word in patterns)


@lru_cache(maxsize=256)
def _fits(pattern: str, *, exact: bool) -> bool:
    pattern = pattern.lower()[:_MAX_PATTERN]
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


def by_code(command: str, host: Host) -> str:
    """The same for code: `os.kill(1234, 9)`, asked once for the whole command."""
    for match in _CODE.finditer(command):
        numbers = {_number(number) for number in _NUMBER.findall(match[0])}
        if numbers & host.pids or _PARENT.search(match[0]) or re.search(r"\(\s*+-1\b", match[0]) or _mentions(command):
            return REASON
    return ""
