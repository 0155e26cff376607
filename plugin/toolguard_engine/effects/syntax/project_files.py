"""The commands in files of projects and services, as texts with their positions: Makefile, justfile, Taskfile,
`package.json`, `tox.ini`, units of systemd, crontabs. What a file leaves open is left to the shell grammar."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from shlex import quote

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.effects.syntax import configured_values

Lines = list[tuple[int, str]]
"""Commands, each with its position, counted from 1."""

MAX_LINES = 400
"""Commands of one file that are walked; a longer one counts as not read to its end."""

MAX_TARGETS = 40
_MAX_LINE = 65_536

_MAKE_SETS = lazy_re.compile(r"(?:export\s{1,9}|override\s{1,9})?([\w.-]{1,80})\s{0,9}(?:[:?+!]{0,3})=\s{0,9}(.*)")
_MAKE_NAMES = lazy_re.compile(r"\$(?:\((\w{1,80})\)|\{(\w{1,80})\})")
_MAKE_RULE = lazy_re.compile(r"([^\s:=#][^:=#]{0,300}?)\s{0,9}::?(?!=)\s{0,9}([^;#]{0,1000})(?:;(.*))?")
_MAKE_TAKES = lazy_re.compile(r"-?s?include\s{1,9}(\S[^#]{0,4000})")
_JUST_RULE = lazy_re.compile(r"@?([\w-]{1,80})(?:\s[^:=]{0,200})?:(?!=)\s{0,9}([\w\s-]{0,300})")


class Rules:
    """Targets with what they need and run; not changed once they are read, since a file that runs itself is read again and
    again. `first` is what runs if none is named; `always` runs whatever is."""

    def __init__(self) -> None:
        self.needs: dict[str, list[str]] = {}
        self.runs: dict[str, Lines] = {}
        self.variables: dict[str, str] = {}
        self.always: Lines = []
        self.taken: list[str] = []
        self.first = ""

    def collect(self, names: list[str]) -> Lines:
        """The commands of these targets and of what they need; of all that a pattern makes if one is not known."""
        waiting, seen, rows = list(reversed(names or [self.first])), set[str](), list(self.always)
        while waiting and len(seen) < MAX_TARGETS:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            if name not in self.runs:
                name = next((run for run in self.runs if "%" in run and _fits(run, name)), name)
            rows += self.runs.get(name, ())
            waiting += reversed(self.needs.get(name, ()))
        return rows if not waiting else [*self.always, *(line for lines in self.runs.values() for line in lines)]


def _fits(pattern: str, name: str) -> bool:
    before, _, after = pattern.partition("%")
    return name.startswith(before) and name.endswith(after)


def _lines(text: str, joined: bool = True) -> Iterator[tuple[int, str]]:  # noqa: FBT001, FBT002 - one caller for each
    """The lines with their positions, those that end in a backslash with the next one."""
    at, begun, start = 1, "", 1
    for line in text.split("\n"):
        start = start if begun else at
        whole = begun + (line.lstrip() if begun else line)
        at += len(line) + 1
        if joined and line.endswith("\\") and len(whole) < _MAX_LINE:
            begun = whole[:-1] + " "
            continue
        begun = ""
        yield start, whole[:_MAX_LINE]


_MAKE_DEFINES = lazy_re.compile(r"^(?:override[ \t]{1,9})?define[ \t]{1,9}([\w.-]{1,80})[^\n]{0,20}\n", re.MULTILINE)


@lru_cache(maxsize=4)
def makefile(text: str) -> Rules:
    rules, current = Rules(), list[str]()
    end = 0
    while defined := _MAKE_DEFINES.search(text, end):
        end = text.find("endef", defined.end())
        end = end if end >= 0 else len(text)
        lines = text[defined.end() : end].splitlines()
        rules.variables[defined[1]] = "; ".join(_recipe(line) for line in lines if line.strip())
    for at, line in _lines(text):
        if line.startswith("\t"):
            if command := _recipe(line):
                for name in current:
                    rules.runs[name].append((at, command))
            continue
        plain = line.strip()
        if not plain or plain.startswith("#"):
            continue
        if match := _MAKE_TAKES.match(plain):
            rules.taken += _named(match[1], rules.variables)
        elif match := _MAKE_SETS.fullmatch(plain):
            rules.variables[match[1]] = _shell_text(match[2])
            if "$(shell " in match[2] or "!=" in plain[: len(match[1]) + 4]:
                rules.always.append((at, f": {_shell_text(match[2])}" if "$(shell " in match[2] else match[2]))
        elif match := _MAKE_RULE.match(plain):
            current = match[1].split()
            _enter(rules, current, match[2].split(), at, _recipe(match[3] or ""))
        elif "$(shell " in plain:
            rules.always.append((at, f": {_shell_text(plain)}"))
    return rules


def _enter(rules: Rules, names: list[str], needs: list[str], at: int, command: str = "") -> None:
    for name in names:
        if not rules.first and not name.startswith(".") and "%" not in name:
            rules.first = name
        rules.needs.setdefault(name, []).extend(need for need in needs if need != "|")
        rules.runs.setdefault(name, []).extend([(at, command)] if command else [])


def _recipe(line: str) -> str:
    return _shell_text(line.lstrip("\t @-+"))


def _named(text: str, variables: dict[str, str]) -> list[str]:
    """The files that `include` names, also as a pattern or by variables of this file."""
    named = _MAKE_NAMES.sub(lambda match: variables.get(match[1] or match[2], match[0]), text)
    return named.replace("$(wildcard ", " ").replace(")", " ").split()


def _shell_text(text: str) -> str:
    """A line of a Makefile as the shell would read it: variables of make are those of the shell."""
    text = _MAKE_NAMES.sub(lambda match: f"${{{match[1] or match[2]}}}", text)
    return text.replace("$(shell ", "$(").replace("$$", "$").replace("$@", "target").replace("$<", "source").strip()


_JUST_ALIAS = lazy_re.compile(r"alias\s{1,9}([\w-]{1,80})\s{0,9}:=\s{0,9}([\w-]{1,80})")
_JUST_TAKES = lazy_re.compile(r"(?:import|mod)\??\s{1,9}[\w-]{0,40}\s{0,9}['\"]([^'\"]{1,200})['\"]")


def _add_command(rules: Rules, names: list[str], at: int, command: str) -> None:
    for name in names:
        rules.runs[name].append((at, command))


@lru_cache(maxsize=4)
def justfile(text: str) -> Rules:
    rules, current = Rules(), list[str]()
    for at, line in _lines(text):
        if line[:1] in (" ", "\t"):
            if command := line.strip().lstrip("@-"):
                _add_command(rules, current, at, re.sub(r"\{\{\s*(\w+)\s*\}\}", r"${\1}", command))
        elif match := _JUST_ALIAS.match(line):
            _enter(rules, [match[1]], [match[2]], at)
        elif match := _JUST_TAKES.match(line):
            rules.taken.append(match[1])
        elif match := _MAKE_SETS.fullmatch(line.replace(":=", "=", 1)) if ":=" in line else None:
            rules.variables[match[1]] = match[2].strip("'\"")
            rules.always += [(at, match[2].strip("` "))] if match[2][:1] == "`" else []
        elif match := _JUST_RULE.match(line):
            current = [match[1]]
            _enter(rules, current, match[2].split(), at)
    rules.runs = {name: _script(lines) for name, lines in rules.runs.items()}
    return rules


_CODE_OPTIONS = {"python": "python3 -c", "node": "node -e", "ruby": "ruby -e", "perl": "perl -e"}


def _script(lines: Lines) -> Lines:
    """A recipe that begins with `#!` is one script."""
    if not lines or not lines[0][1].startswith("#!"):
        return lines
    option = next((code for name, code in _CODE_OPTIONS.items() if name in lines[0][1]), "")
    text = "\n".join(line for _, line in lines[1:])
    return [(lines[0][0], f"{option} {quote(text)}" if option else text)]


@lru_cache(maxsize=4)
def taskfile(text: str) -> Rules:
    """The tasks of a Taskfile, whatever its indentation."""
    rules = Rules()
    for value in configured_values.of_yaml(text):
        if value.keys[0] == "includes" and "." in value.text:
            rules.taken.append(value.text)
        if value.keys[0] != "tasks" or len(value.keys) < 2:  # noqa: PLR2004 - the key and the name
            continue
        _enter_task(rules, value)
    rules.first = "default" if "default" in rules.runs else rules.first
    return rules


def _enter_task(rules: Rules, value: configured_values.Value) -> None:
    """One value of a task: a command, another task that it needs, or another name of it."""
    name, kind = value.keys[1], value.keys[2] if len(value.keys) > 2 else "cmds"  # noqa: PLR2004 - the key and the name
    _enter(rules, [name], [], value.at)
    if value.keys[-1] == "task" or kind == "deps":
        rules.needs[name].append(value.text.rpartition(":")[2])
    elif kind == "aliases":
        _enter(rules, [value.text], [name], value.at)
    elif kind in ("cmds", "cmd", "preconditions", "status") or value.keys[-1] == "sh":
        rules.runs[name].append((value.at, re.sub(r"\{\{\s*\.?(\w+)\s*\}\}", r"${\1}", value.text)))


_SCRIPT = lazy_re.compile(r'"((?:pre|post)?[\w:.-]{1,80})"\s{0,9}:\s{0,9}"((?>(?:[^"\\]|\\.)*))"')


def package_scripts(text: str, names: list[str]) -> Lines:
    """The scripts of these names in a `package.json`, also where it is only a part of one."""
    block = max(text.find('"scripts"'), 0)
    matches = [match for match in _SCRIPT.finditer(text, block) if match[1] in names]
    return [(match.start() + 1, _unquoted(match[2])) for name in names for match in matches if match[1] == name]


def script_names(text: str) -> list[str]:
    return [match[1] for match in _SCRIPT.finditer(text, max(text.find('"scripts"'), 0))]


def _unquoted(text: str) -> str:
    try:
        return msgspec.json.decode(f'"{text}"', type=str)
    except msgspec.DecodeError:
        return text


def settings(text: str, keys: str) -> Lines:
    """The values of keys, as `ExecStart=` of a unit or `commands =` of `tox.ini`; `keys`: a pattern."""
    lines: Lines = []
    wanted, in_value = re.compile(rf"(?:{keys})\s{{0,9}}=\s{{0,9}}(.*)"), False
    for at, line in _lines(text):
        if match := wanted.fullmatch(line.strip()) if line[:1] not in (" ", "\t") else None:
            in_value = True
            lines += [(at, match[1].lstrip("@-:+!"))] if match[1] else []
        elif in_value and line[:1] in (" ", "\t") and line.strip():
            lines.append((at, line.strip().lstrip("- ")))
        else:
            in_value = False
    return lines


_CRON = lazy_re.compile(r"\s*(?:@\w{4,8}|(?:[\d*,/LW#?a-zA-Z-]{1,60}\s{1,9}){5})\s*(\S.*)")


def crontab(text: str) -> Lines:
    return [(at, match[1]) for at, line in _lines(text, joined=False) if (match := _CRON.fullmatch(line))]
