"""The languages in which files say what is run, by their names in `runners.toml`: functions from a text to commands."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Collection
from fnmatch import fnmatchcase
from operator import itemgetter
from shlex import quote

from toolguard_engine import lazy_re
from toolguard_engine.effects.syntax import (
    build_scripts,
    configured_values,
    container_files,
    playbooks,
    project_files,
    quoted_commands,
    tool_scripts,
)
from toolguard_engine.effects.syntax.configured_values import Value
from toolguard_engine.effects.syntax.project_files import Lines, Rules

_NO_COMMANDS = frozenset(
    """
    description desc summary help name title cwd dir directory env environment image sources outputs inputs depends dependsOn
    deps needs label labels version type default platforms tags
    """.split()  # noqa: SIM905 - a table of names
)
"""Keys below a key of commands whose values are none."""

RULES: dict[str, Callable[[str], Rules]] = {
    "make": project_files.makefile,
    "just": project_files.justfile,
    "task": project_files.taskfile,
}
"""Files with targets, of which those that are named run."""

KEYED: dict[str, Callable[[str], list[Value]]] = {
    "json": configured_values.of_json,
    "yaml": configured_values.of_yaml,
    "toml": configured_values.of_toml,
    "ini": configured_values.of_ini,
    "pairs": configured_values.of_pairs,
}
"""Files with keys and values, of which those of certain keys are commands."""


def keyed(text: str, path: str, language: str, keys: Collection[str], picked: Collection[str] | None) -> Lines:
    """The values of these keys, or of keys below them. `picked`: only those with one of these keys as well."""
    read = KEYED[_by_ending(path, language)]
    return [(value.at, value.text) for value in read(text) if _counts(value.keys, keys, picked)]


def _by_ending(path: str, language: str) -> str:
    """Many programs take their settings in several formats, and tell them by the file's name."""
    ending = path.rpartition(".")[2].lower()
    known = {"json": "json", "jsonc": "json", "json5": "json", "yml": "yaml", "yaml": "yaml", "toml": "toml", "cfg": "ini"}
    return known.get(ending, language) if language != "pairs" else language


def _counts(given: tuple[str, ...], keys: Collection[str], picked: Collection[str] | None) -> bool:
    at = next(
        (at for at, key in enumerate(given) if any(key == pattern or fnmatchcase(key, pattern) for pattern in keys)), -1
    )
    if at < 0 or (given[-1] in _NO_COMMANDS and at < len(given) - 1):
        return False
    return picked is None or not picked or any(_is_picked(key, picked) for key in given[at:])


def _is_picked(key: str, picked: Collection[str]) -> bool:
    return key in picked or any(
        key in (f"pre{target}", f"post{target}") or key == target.rpartition(":")[2] for target in picked
    )


_GENERATES = lazy_re.compile(r"^//go:generate[ \t]{1,9}(.+)$", re.MULTILINE)
_M4 = lazy_re.compile(r"(?:esyscmd|syscmd)\(\s{0,9}(?:`([^']{1,60000}+)'|\[{1,2}([^\]]{1,60000}+)\])")
_TEX = lazy_re.compile(
    r"\\(?:write18|ShellEscape|directlua)\s{0,4}\{([^{}]{1,60000}+)\}"
    r"|\\(?:input|openin\d{0,2}\s{0,3}=?)\s{0,4}\{?\"?\|\s{0,4}([^}\"\n]{1,60000})"
)
_ROTATES = lazy_re.compile(r"^[ \t]{0,40}(?:prerotate|postrotate|firstaction|lastaction|preremove)\b", re.MULTILINE)
_TASK_LINE = lazy_re.compile(
    r"^[^\S\n]{0,40}-?\s{0,9}(?:ansible\.builtin\.)?(?:shell|command|raw|cmd|entry)\s{0,9}:\s{0,9}[>|]?-?\s{0,9}(.+)$",
    re.MULTILINE,
)


def _found(pattern: re.Pattern[str]) -> Callable[[str], Lines]:
    def lines(text: str) -> Lines:
        matches = pattern.finditer(text)
        parts = ((match.start() + 1, next(filter(None, match.groups()), "")) for match in matches)
        return [(at, part.strip().strip("'\"")) for at, part in parts]

    return lines


def playbook_commands(text: str) -> Lines:
    """The shell commands of a playbook."""
    blocks = (value for value in configured_values.of_yaml(text) if "\n" in value.text)
    return [
        *_found(_TASK_LINE)(text),
        *((block.at, block.text) for block in blocks if _SHELL_KEYS.fullmatch(block.keys[-1])),
    ]


_SHELL_KEYS = lazy_re.compile(r"(?:ansible\.(?:builtin|legacy)\.)?(?:shell|command|raw|cmd)")


def playbook_tasks(text: str) -> Lines:
    """The commands of a playbook, and what its other tasks do, in their order."""
    starts = [0, *(at.end() for at in re.finditer("\n", text))]
    tasks = [(starts[line - 1] + 1, command) for line, command in playbooks.commands(text)]
    return sorted([*playbook_commands(text), *tasks], key=itemgetter(0))


def _logrotate(text: str) -> Lines:
    commands: Lines = []
    end = 0
    for begun in _ROTATES.finditer(text):
        if begun.start() >= end:
            end = text.find("endscript", begun.end())
            end = end if end >= 0 else len(text)
            commands.append((begun.end() + 1, text[begun.end() : end]))
    return commands


def _notebook(text: str) -> Lines:
    """The cells with code of a Jupyter notebook; in a script for IPython its lines that begin with `!`."""
    try:
        cells = json.loads(text)["cells"] if text.lstrip()[:1] == "{" else []
    except (ValueError, KeyError, TypeError, RecursionError):
        return quoted_commands.commands(text)
    if not isinstance(cells, list):
        return []
    sources = [cell.get("source", "") for cell in cells if isinstance(cell, dict) and cell.get("cell_type") == "code"]
    code = "\n".join("".join(map(str, source)) if isinstance(source, list) else str(source) for source in sources) or text
    own = [(1, line.strip()[1:]) for line in code.split("\n") if line.strip()[:1] == "!"]
    plain = "\n".join(line for line in code.split("\n") if line.strip()[:1] not in ("!", "%"))
    return [*own, (1, f"python3 -c {quote(plain)}")]


def _build_backend(text: str) -> Lines:
    """The backend that builds a Python project, where the project brings it along."""
    values = {value.keys[-1]: value for value in configured_values.of_toml(text) if value.keys[:1] == ("build-system",)}
    backend, path = values.get("build-backend"), values.get("backend-path")
    if backend is None or path is None:
        return []
    module = backend.text.partition(":")[0].replace(".", "/")
    return [(backend.at, f"python3 {quote(f'{path.text}/{module}{end}')}") for end in (".py", "/__init__.py")]


def _tox_settings(text: str) -> Lines:
    """The settings in `pyproject.toml`, in which there may be a whole `tox.ini`."""
    values = configured_values.of_toml(text)
    own = [(value.at, value.text) for value in values if value.keys[-1] in _TOX_KEYS]
    whole = (value for value in values if value.keys[-1] == "legacy_tox_ini")
    return own + [
        (value.at + inner.at - 1, inner.text)
        for value in whole
        for inner in configured_values.of_ini(value.text)
        if inner.keys[-1] in _TOX_KEYS
    ]


_TOX_KEYS = frozenset({"commands", "commands_pre", "commands_post"})


def _libraries(text: str) -> Lines:
    """The libraries that a configuration of OpenSSL loads."""
    values = (
        value for value in configured_values.of_ini(text) if value.keys[-1] in ("dynamic_path", "module", "engine_path")
    )
    return [(value.at, f"ld.so --preload {quote(value.text)} true") for value in values]


def _pytest_options(text: str) -> Lines:
    values = configured_values.of_ini(text)
    return [(value.at, f"pytest {value.text}") for value in values if value.keys[-1] == "addopts"][:1]


def _php_settings(text: str) -> Lines:
    values = configured_values.of_ini(text)
    wanted = ("auto_prepend_file", "auto_append_file")
    return [(value.at, f"php {quote(value.text.strip(chr(34)))}") for value in values if value.keys[-1] in wanted]


def _kube_config(text: str) -> Lines:
    """The programs that a configuration of `kubectl` asks for credentials."""
    values = configured_values.of_yaml(text)
    groups: dict[tuple[str, ...], list[Value]] = {}
    for value in values:
        if "exec" in value.keys and value.keys[-1] in ("command", "args"):
            groups.setdefault(value.keys[: value.keys.index("exec")], []).append(value)
    lines: Lines = []
    for parts in groups.values():
        command = next((part for part in parts if part.keys[-1] == "command"), None)
        given = [part.text for part in parts if part.keys[-1] == "args"]
        if command is not None:
            whole = given[-1] if len(given) > 1 else " ".join(map(quote, given))
            lines.append((command.at, f"{command.text} {whole}"))
    return lines


def _yarnrc(text: str) -> Lines:
    """The program that stands in for yarn, and its plugins."""
    matches = _YARN.finditer(text)
    return [(match.start(1) + 1, f"node {quote(match[1])}") for match in matches]


_YARN = lazy_re.compile(
    r"^[ \t]{0,20}(?:yarnPath:|yarn-path|-[ \t]{1,9}(?:path:[ \t]{1,9})?)[ \t]{0,9}[\"']?"
    r"(\.{0,2}/?[\w./-]{1,200}\.[cm]?js)",
    re.MULTILINE,
)


def _python_files(text: str) -> Lines:
    """Plugins, hooks and the like: files of Python, or modules."""
    plugins = (plugin.strip("-, \"'") for plugin in _PLUGIN.findall(text[:MAX_SETTINGS]))
    return [(1, f"python3 {quote(plugin)}") for plugin in plugins if plugin]


MAX_SETTINGS = 20_000
_PLUGIN = lazy_re.compile(
    r"(?:plugins?|hooks?|init-hook)[ \t]{0,9}[:=]\s{0,40}(?:-\s{1,9})?[\[\"' ]{0,4}([\w./-]{1,200}\.py)"
)
_GHCI = lazy_re.compile(r"^[ \t]{0,9}:[ \t]{0,4}!(.+)$", re.MULTILINE)
_MUTT = lazy_re.compile(
    r"^[ \t]{0,9}set[ \t]{1,9}(?:sendmail|editor|print_command|query_command|sendmail_wait|imap_pass|tunnel|display_filter)"
    r"[ \t]{0,9}=[ \t]{0,9}(.+)$|`([^`\n]{1,500})`|^[ \t]{0,9}source[ \t].{0,9}\|?(.{0,200})\|[ \t]{0,9}[\"']?$",
    re.MULTILINE,
)


_CLIENT = lazy_re.compile(r"^[ \t]{0,9}(?:\\!|\.(?:shell|system)|system)[ \t]{0,9}(.+)$", re.MULTILINE)
LINES: dict[str, Callable[[str], Lines]] = {
    "build-backend": _build_backend,
    "build-xml": build_scripts.build_xml,
    "client-start": _found(_CLIENT),
    "cmake": build_scripts.cmake,
    "containers": container_files.described,
    "crontab": project_files.crontab,
    "ed": tool_scripts.ed,
    "gdb": tool_scripts.gdb,
    "ghci": _found(_GHCI),
    "go-generate": _found(_GENERATES),
    "kube-config": _kube_config,
    "libraries": _libraries,
    "logrotate": _logrotate,
    "m4": _found(_M4),
    "mutt": _found(_MUTT),
    "ninja": build_scripts.ninja,
    "notebook": _notebook,
    "npmrc": tool_scripts.npmrc,
    "php-settings": _php_settings,
    "procfile": tool_scripts.procfile,
    "pytest-options": _pytest_options,
    "python-files": _python_files,
    "requirements": container_files.required,
    "screen": tool_scripts.screen,
    "sed": tool_scripts.sed,
    "ssh": tool_scripts.ssh,
    "tox-settings": _tox_settings,
    "tex": _found(_TEX),
    "tmux": tool_scripts.tmux,
    "vim": tool_scripts.vim,
    "yarnrc": _yarnrc,
}
"""Files all of whose commands run."""
