"""Commands that end the engine or its gateway: `kill` in all its forms, by number, by name, by what a command prints."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase
from functools import lru_cache

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
_SERVICES = names("systemctl service launchctl supervisorctl pm2 docker podman rc-service initctl")
_ENDING = names("stop disable mask kill rm remove delete unload bootout down pause")
_SERVICE_NAMES = re.compile(r"openclaw|toolguard|clawdbot", re.IGNORECASE)
_MAX_PATTERN = 64


@lru_cache(maxsize=4)
def _mentions(command: str) -> bool:
    """Whether the guard or its gateway is named; asked for every command of a line."""
    return bool(_MENTION.search(command))


def reason(line: Line, command: str, host: Host) -> str:
    killed_by_output = any(simple.name == "kill" for simple in line)
    if killed_by_output and any(simple.name in {"pgrep", "pidof"} and _by_name(simple.unwrapped()) for simple in line):
        return REASON
    if any(_ends(simple, command, host) for simple in line):
        return REASON
    return REASON if _by_code(command, host) else ""


def _ends(simple: Simple, command: str, host: Host) -> bool:
    words = simple.unwrapped()
    name, rest = (base(words[0]), words[1:]) if words else ("", [])
    if name == "kill":
        return _by_number(rest, command, host, fed="xargs" in simple.words)
    if name in {"pkill", "killall", "skill"}:
        return _by_name(words)
    if name == "fuser":
        options = "".join(word for word in rest if word.startswith("-"))
        return "k" in options and _mentions(command)
    return name in _SERVICES and bool(_ENDING & set(rest)) and any(_SERVICE_NAMES.search(word) for word in rest)


def _by_number(rest: list[str], command: str, host: Host, *, fed: bool) -> bool:
    targets = _targets(rest)
    if targets is None:
        return False
    if fed and not targets:
        return _mentions(command)
    for target in targets:
        number = target.rstrip(",")
        if number == "-1" or (number.lstrip("-").isdigit() and int(number.lstrip("-")) in host.pids):
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
    if any(re.fullmatch(r"-[uUgGsPt]\w*|--(?:user|uid|euid|group|parent|session).*", word) for word in words[1:]):
        chosen = any(_fits(word, exact=exact) for word in patterns)
        return chosen or len(patterns) <= 1
    return any(_fits(word, exact=exact) or "$" in word or UNKNOWN in word for word in patterns)


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


def _by_code(command: str, host: Host) -> bool:
    for match in _CODE.finditer(command):
        numbers = {int(number) for number in _NUMBER.findall(match[0])}
        if numbers & host.pids or {-number for number in numbers} & host.pids:
            return True
        if _PARENT.search(match[0]) or re.search(r"\(\s*-1\b", match[0]) or _mentions(command):
            return True
    return False
