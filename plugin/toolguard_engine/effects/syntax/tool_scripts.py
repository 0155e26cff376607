"""What the scripts of editors, debuggers and other tools run, each as the shell command that does the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from shlex import quote

from toolguard_engine import lazy_re
from toolguard_engine.effects.syntax import configured_values
from toolguard_engine.effects.syntax.project_files import Lines

OfLine = Callable[[str], str]


def _by_line(text: str, of_line: OfLine) -> Lines:
    """The commands of lines, each of which stands for at most one."""
    lines: Lines = []
    at = 1
    for line in text.split("\n"):
        if command := of_line(line.strip()):
            lines.append((at, command))
        at += len(line) + 1
    return lines


_VIM_CODE = lazy_re.compile(r":?\s{0,4}(lua|py(?:thon|x)?3?|ruby|perl|tcl)\s{1,4}(.*)", re.DOTALL)
_VIM_DELETES = lazy_re.compile(
    r"(?:\bcall\s{1,4}|\becho\s{1,4}|=)?\s{0,4}\bdelete\(\s{0,4}(?:expand\(\s{0,4})?['\"]([^'\"\n]{1,400})['\"](.{0,20})"
)
_VIM_RUNS = lazy_re.compile(
    r"\b(?:system|systemlist|job_start|jobstart|termopen)\(\s{0,4}\[?['\"]([^'\"\n]{1,400})['\"]|\bterm(?:inal)?!?\s{1,4}([^|\n]{1,400})"
)
_VIM_WRITES = lazy_re.compile(
    r":?\s{0,4}(?:e|edit|w|write|wq|sav|saveas|sp|split|tabe|tabedit)!?\s{1,4}(?!!)([~/.\w][^\s|'\"]{0,400})\s{0,9}$"
    r"|(?:call\s{1,4})?writefile\(.{0,400}?['\"]([~/][^'\"]{1,400})['\"]"
)
_VIM_SHELL = lazy_re.compile(r":?\s{0,4}set\s{1,4}shell=([^|\n]{1,200})")
_VIM_SCRIPT = lazy_re.compile(r":?\s{0,4}(?:so(?:urce)?|runtime)!?\s{1,4}(\S{1,400})")
_VIM_FILE = lazy_re.compile(r":?\s{0,4}(lua|py(?:thon|x)?3?|ruby|perl)file?\s{1,4}(\S{1,400})")
_VIM_LANGUAGES = {"lu": "lua -e", "py": "python3 -c", "ru": "ruby -e", "pe": "perl -e", "tc": "tclsh -c"}
_VIM_MODIFIER = lazy_re.compile(
    r"(?:silent|sil|noautocmd|noau|keepalt|verbose)!?\s{1,4}|:\s{0,4}|exe(?:cute)?\s{1,4}(?=[\"']\s{0,4}:?!)"
)
_VIM_EVENT = lazy_re.compile(r"(?:autocmd|au)!?\s{1,4}\S{1,100}\s{1,4}\S{1,100}\s{1,4}(?:\+\+\w{1,10}\s{1,4}){0,3}")
_VIM_FILTER = lazy_re.compile(r"(?:r(?:ead)?|w(?:rite)?|[\d.,$%'<>a-z]{1,12})\s{0,4}!(?=\s{0,4}\S)")
_MAX_MODIFIERS = 6


def vim_command(command: str) -> str:
    """What a command of vim or ex runs."""
    if match := _VIM_FILE.match(command):
        return f"{_VIM_LANGUAGES[match[1][:2]].split()[0]} {quote(match[2])}"
    if match := _VIM_CODE.match(command):
        return f"{_VIM_LANGUAGES[match[1][:2]]} {quote(match[2])}"
    if match := _VIM_SHELL.match(command):
        return match[1] if "shell" in command[match.end() :] else ""
    if match := _VIM_SCRIPT.match(command):
        return f"vim -S {quote(match[1])}"
    if match := _VIM_WRITES.match(command):
        return f"true >> {match[1] or match[2]}"
    if command.lstrip(": ").startswith("!"):
        return command.lstrip(": !")
    command = command.replace("$HOME . '/", "'~/").replace('$HOME . "/', '"~/').replace("$HOME.'/", "'~/")
    if match := _VIM_DELETES.search(command):
        return f"rm {'-r ' if 'r' in match[2].rpartition(',')[2] else ''}{match[1]}"
    match = _VIM_RUNS.search(command)
    return str(match[1] or match[2]) if match else ""


def vim(text: str) -> Lines:
    """The commands of a script for vim or ex."""

    def of_line(line: str) -> str:
        if line[:1] in ('"', ""):
            return ""
        for pattern in (_VIM_MODIFIER, _VIM_EVENT, *(_VIM_MODIFIER,) * _MAX_MODIFIERS):
            if match := pattern.match(line):
                line = line[match.end() :]
        line = line.strip("\"'") if line[:1] in "\"'" else line
        if match := _VIM_FILTER.match(line):
            line = line[match.end() - 1 :]
        return vim_command(line)

    blocks = [
        block
        for name, program in _VIM_LANGUAGES.items()
        for block in _blocks(text, rf"{name}\w{{0,6}}\s{{0,4}}<<.{{0,20}}", "EOF", program)
    ]
    return _by_line(text, of_line) + blocks


_GDB_SHELL = lazy_re.compile(r"(?:!|shell\s|platform shell\s|(?:pipe\s|\|).{0,80}?\|)\s{0,4}(?:-h\s{1,4}--\s{1,4})?(.+)")


def gdb(text: str) -> Lines:
    """Also of `lldb`."""

    def of_line(line: str) -> str:
        if match := re.match(r"command script import\s{1,4}(\S{1,400})", line):
            return f"python3 {quote(match[1])}"
        if match := re.match(r"(?:source|so|command source)\s{1,4}(?:-\w\s{1,4}){0,3}(\S{1,400})", line):
            return f"gdb -x {quote(match[1])}"
        if match := re.match(r"(?:!|shell\s|platform shell\s|pipe\s.{0,80}?\|)\s{0,4}(?:-h\s{1,4}--\s{1,4})?(.+)", line):
            return match[1]
        match = re.match(r"(?:python|py|pi|script|python-interactive)\s{1,4}(?:--\s{1,4})?(.+)", line)
        return f"python3 -c {quote(match[1])}" if match else ""

    return _by_line(text, of_line) + _blocks(text, r"(?:python|py|script)", "end", "python3 -c")


def _blocks(text: str, begin: str, end: str, program: str) -> Lines:
    lines: Lines = []
    stop = 0
    for block in re.finditer(rf"^[ \t]{{0,9}}{begin}[ \t]{{0,9}}$", text, re.MULTILINE):
        if block.start() >= stop:
            stop = text.find(f"\n{end}", block.end())
            stop = stop if stop >= 0 else len(text)
            lines.append((block.end() + 2, f"{program} {quote(text[block.end() + 1 : stop])}"))
    return lines


_ED = lazy_re.compile(r"(?:\S{0,40}[rweE]\s{1,4})?!(.+)")


def _with(pattern: re.Pattern[str]) -> OfLine:
    """What a pattern finds at the beginning of a line."""

    def of_line(line: str) -> str:
        match = pattern.match(line)
        return str(match[1]) if match else ""

    return of_line


def ed(text: str) -> Lines:
    return _by_line(text, _with(_ED))


_SED_PLACE = r"(?:\d{1,9}|\$|/(?>(?:[^/\\\n]|\\.){1,200})/)"
_SED_RUNS = lazy_re.compile(
    rf"(?:^|[;{{}}])[ \t]{{0,9}}(?:{_SED_PLACE}[IM]{{0,2}}(?:,[~+]?{_SED_PLACE}?)?)?"
    r"[ \t]{0,4}!?[ \t]{0,4}\{?[ \t]{0,4}e[ \t]{1,4}([^\n]{1,60000})", re.MULTILINE
)  # fmt: skip
_SED_REPLACES = lazy_re.compile(
    r"s([/|,#@!%+])(?>(?:(?!\1)[^\\\n]|\\.){0,400})\1((?>(?:(?!\1)[^\\\n]|\\.){0,60000}))\1[gpIiMm\d]{0,6}e"
)
"""The result is run as a command: the new text stands in it."""


def sed(text: str) -> Lines:
    lines = [(match.start(1) + 1, match[1]) for match in _SED_RUNS.finditer(text)]
    replaced = (match for match in _SED_REPLACES.finditer(text) if match[2].strip("&\\0123456789 "))
    return lines + [
        (match.start(2) + 1, match[2].replace(f"\\{match[1]}", match[1]).replace("\\n", "\n")) for match in replaced
    ]


_TMUX_DEFAULT = lazy_re.compile(r"set(?:-option)?\s{1,4}(?:-\w{1,3}\s{1,4}){0,4}default-(?:command|shell)\s{1,4}(.+)")


def tmux(text: str) -> Lines:
    """Its own commands, as if each was given to `tmux`."""

    def of_line(line: str) -> str:
        line = re.sub(r"^(?:bind(?:-key)?|set-hook)\s{1,4}(?:-\w{1,3}\s{1,4}){0,4}\S{1,60}\s{1,4}", "", line)
        if match := re.match(
            r"(?:set(?:-option)?)\s{1,4}(?:-\w{1,3}\s{1,4}){0,4}default-(?:command|shell)\s{1,4}(.+)", line
        ):
            return match[1].strip("'\"")
        return f"tmux {line}" if re.match(r"(?:run|if|new|split|respawn|source|pipe)[\w-]{0,20}\s", line) else ""

    return _by_line(text, of_line)


_SCREEN = lazy_re.compile(
    r"(?:screen|exec|backtick\s\d{1,4}\s\d{1,4}\s\d{1,4})\s{1,4}(?:-\w{1,3}\s(?:\w{1,20}\s)?){0,4}(.+)"
)
_PROCESS = lazy_re.compile(r"[\w-]{1,60}:\s{0,9}(\S.*)")


def screen(text: str) -> Lines:
    return _by_line(text, _with(_SCREEN))


def procfile(text: str) -> Lines:
    return _by_line(text, _with(_PROCESS))


_SSH = lazy_re.compile(
    r"(?i)(proxycommand|localcommand|knownhostscommand|remotecommand|proxyusefdpass|include|pkcs11provider|securitykeyprovider)[\s=]{1,9}(.+)"
)


def ssh(text: str) -> Lines:
    """A configuration of OpenSSH. What runs on the other machine is not meant."""

    def of_line(line: str) -> str:
        if match := re.search(r"(?i)^match\b.{0,200}?\bexec[\s=]{1,4}(?:\"([^\"]{1,60000})\"|(\S{1,400}))", line):
            return str(match[1] or match[2])
        match = _SSH.match(line)
        if not match or match[2].strip("\"' ").lower() == "none":
            return ""
        name, value = match[1].lower(), match[2].strip()
        if name == "include":
            return f"ssh -F {value if value.startswith(('/', '~')) else '~/.ssh/' + value} host"
        if name in ("proxycommand", "localcommand", "knownhostscommand"):
            return value[1:-1] if value[:1] == value[-1:] == '"' else value
        return f"ld.so --preload {quote(value)} true" if "provider" in name else ""

    return _by_line(text, of_line)


def npmrc(text: str) -> Lines:
    """Settings of npm that name programs, or files for each of Node's processes."""
    lines: Lines = []
    for at, (_, key), given in _settings(text):
        value = given.strip("\"'")
        if key in ("script-shell", "shell", "git", "editor", "viewer", "browser"):
            lines.append((at, value))
        elif key == "node-options":
            lines.append((at, f"node {value} -e 0"))
        elif key in ("init-module", "onload-script", "globalconfig"):
            lines.append((at, f"node {quote(value)}"))
    return lines


def _settings(text: str) -> Iterator[tuple[int, tuple[str, str], str]]:
    for value in configured_values.of_ini(text):
        yield value.at, (value.keys[0], value.keys[-1].lower()), value.text


_GIT_RUNS = lazy_re.compile(
    r"core\.(?:pager|editor|sshcommand|fsmonitor|askpass|gitproxy)|diff\.external|sequence\.editor|pager\.[\w-]{1,40}"
    r"|gpg\.(?:.{0,20}\.)?program|uploadpack\.packobjectshook|remote\..{1,80}\.(?:uploadpack|receivepack|vcs)|web\.browser"
    r"|(?:filter|diff|merge|difftool|mergetool|browser|man|trailer)\..{1,80}\.(?:clean|smudge|process|command|textconv|driver|cmd|path)"
    r"|interactive\.difffilter|instaweb\.httpd|sendemail\.(?:.{0,40}\.)?(?:smtpserver|tocmd|cccmd|sendmailcmd)",
    re.IGNORECASE,
)
"""Keys whose value is a command."""
_GIT_FLAGS = frozenset({"true", "false", "yes", "no", "on", "off", "1", "0", ""})


def git(text: str, folder: str = ".") -> Lines:
    """A configuration of Git that lies in a folder."""
    return [
        (value.at, command)
        for value in configured_values.of_ini(text.replace("\n\t", "\n").replace("\n ", "\n"))
        if (command := git_setting(_git_key(value.keys[0], value.keys[-1]), value.text, folder))
    ]


def _git_key(section: str, key: str) -> str:
    name, _, part = section.partition(" ")
    inner = part.strip().strip('"')
    return f"{name}.{inner}.{key}" if inner else f"{name}.{key}"


INCLUDED = "git-config-file"
"""Stands for Git with a further configuration, the operand."""


def git_setting(key: str, value: str, folder: str = ".") -> str:
    """What Git runs because of a setting; empty if that is nothing. Aliases run under their own names only."""
    value = re.sub(r'\\(["\\])', r"\1", value.strip().removeprefix('"').removesuffix('"'))
    lower = key.lower()
    if lower == "include.path" or (lower.startswith("includeif.") and lower.endswith(".path")):
        return (
            f"{INCLUDED} {quote(value if value[:1] == '/' else f'{folder}/{value}')}"
            if value[:1] != "~"
            else f"{INCLUDED} {value}"
        )
    if re.fullmatch(r"credential\.(?:.{0,200}\.)?helper", lower):
        return value[1:] if value[:1] == "!" else value if value[:1] in "/~." and value else ""
    if re.fullmatch(r"submodule\..{1,200}\.update", lower):
        return value[1:] if value[:1] == "!" else ""
    if lower == "core.fsmonitor" and value.lower() in _GIT_FLAGS:
        return ""
    return value if _GIT_RUNS.fullmatch(lower) else ""


def git_aliases(text: str) -> dict[str, tuple[int, str]]:
    """The aliases of a configuration, each with its position and the command that it stands for."""
    aliases: dict[str, tuple[int, str]] = {}
    for value in configured_values.of_ini(text.replace("\n\t", "\n").replace("\n ", "\n")):
        if value.keys[0].lower() == "alias":
            command = re.sub(r'\\(["\\])', r"\1", value.text.strip().removeprefix('"').removesuffix('"'))
            aliases[value.keys[-1]] = (value.at, command[1:] if command[:1] == "!" else f"git {command}")
    return aliases
