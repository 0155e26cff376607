"""Validates a config with OpenClaw itself (`openclaw config validate`), even if it is not written yet.

An unwritten config is copied to a private temporary folder, each file under its full path, so that relative includes work;
absolute includes are redirected there. The folder's name contains the process id, so that the next run can remove folders
of killed processes.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import msgspec

from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.hostconfig.config_file import ConfigFile
from toolguard_cli.hostconfig.config_tree import INCLUDE, ROOTS, ConfigTree, Part, Steps
from toolguard_cli.hostconfig.finding import ConfigFinding, Level, finding
from toolguard_cli.system import subprocesses
from toolguard_cli.system.paths import Places
from toolguard_engine.wording import printable

LIMIT_SECONDS = 90
"""It takes 2 s on an idle machine."""
MAX_ISSUES = 200
MAX_MESSAGE = 1000
MAX_STEPS = 64
SILENT = "OpenClaw could not validate the config"
_FOLDER = ".asking-"
_OWNER = re.compile(rf"{re.escape(_FOLDER)}(\d{{1,9}})-")
_KEYS = re.compile(r"(?:Unrecognized keys?|must not have additional properties): (\".*)")
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"')
_AS_IF_DONE = ("Moved ", "Removed ", "Migrated ", "Renamed ", "Set ", "Merged ", "Converted ", "Copied ", "Dropped ")
_UNKNOWN_FIX = "remove it or fix its name; `openclaw config schema` lists the valid keys"


class _Issue(msgspec.Struct):
    path: str
    message: str


class _Answer(msgspec.Struct):
    valid: bool
    issues: list[_Issue] = []
    warnings: list[_Issue] = []


class _SilentError(Exception):
    """OpenClaw returned no result; the text says why."""


MISSING = "install OpenClaw (npm install -g openclaw, which needs Node 24.16 or later), or add its folder to PATH"


def command() -> tuple[str, ...]:
    """The command that runs OpenClaw; empty if it is not on PATH."""
    program = shutil.which("openclaw")
    return (program,) if program else ()


def is_silent(problem: ConfigFinding) -> bool:
    """Whether this finding says that OpenClaw returned no result."""
    return problem.message.startswith(SILENT)


def ask(
    tree: ConfigTree, places: Places, openclaw: Sequence[str], env: Mapping[str, str] = os.environ
) -> list[ConfigFinding]:
    """OpenClaw's errors and warnings for this tree, including changes that are not written.

    If OpenClaw returns no result, the only finding is a warning. Not for a tree with `problems`: OpenClaw would report only
    these.
    """
    _sweep(_around(places))
    with subprocesses.interruptible(), ExitStack() as stack:
        folder = stack.enter_context(_laid_out(tree, places)) if _edited(tree) else None
        known = {**env, "OPENCLAW_STATE_DIR": str(places.state_dir), "OPENCLAW_CONFIG_PATH": str(tree.path), "NO_COLOR": "1"}
        if folder:
            known |= {"OPENCLAW_CONFIG_PATH": str(_place(folder, tree.path)), ROOTS: str(folder)}
        try:
            answer = _decoded(_run([*openclaw, "config", "validate", "--json"], known, places))
        except _SilentError as silent:
            fix = "run `openclaw config validate` yourself"
            return [ConfigFinding("warn", "", f"{SILENT}: {silent}", fix, str(tree.path))]
    hide = str(folder) if folder else ""
    issues: list[tuple[Level, _Issue]] = [("error", issue) for issue in answer.issues]
    issues += [("warn", issue) for issue in answer.warnings]
    return [problem for level, issue in issues[:MAX_ISSUES] for problem in _findings(tree, level, issue, hide)]


def _edited(tree: ConfigTree) -> bool:
    return any(file.data != file.text.encode() for file in tree.files)


@contextmanager
def _laid_out(tree: ConfigTree, places: Places) -> Iterator[Path]:
    """A private folder with the files of the tree."""
    with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-", dir=_around(places)) as made:
        folder = Path(made).resolve()
        for file in tree.files:
            target = _place(folder, file.path)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.touch(mode=0o600)
            target.write_bytes(_redirected(file, folder).encode())
        yield folder


def _around(places: Places) -> Path:
    return places.own if places.own.is_dir() else Path(tempfile.gettempdir())


def _sweep(around: Path) -> None:
    """Removes the folders of processes that no longer exist."""
    for left in sorted(around.glob(f"{_FOLDER}*")):
        owner = _OWNER.match(left.name)
        with suppress(OSError):
            if owner and left.lstat().st_uid == os.geteuid() and _is_gone(int(owner[1])):
                shutil.rmtree(left)


def _is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _place(folder: Path, path: Path) -> Path:
    return folder.joinpath(*Path(os.path.normpath(path)).parts[1:])


def _redirected(file: ConfigFile, folder: Path) -> str:
    """The text of the file, with its absolute includes redirected into the folder."""
    text = file.text
    for steps, named in list(_includes(json5_edit.value_of(file.root), ())):
        if Path(named).is_absolute():
            text = json5_edit.set_value(text, steps, str(_place(folder, Path(named))))
    return text


def _includes(value: Any, steps: Steps) -> Iterator[tuple[Steps, str]]:
    """The included files, with the paths of their names in the config."""
    for step, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        inner = (*steps, step)
        if step != INCLUDE:
            yield from _includes(item, inner)
        elif isinstance(item, str):
            yield inner, item
        elif isinstance(item, list):
            yield from (((*inner, at), include) for at, include in enumerate(item) if isinstance(include, str))


def _run(line: list[str], env: Mapping[str, str], places: Places) -> str:
    """The output of the command. Raises `_SilentError`.

    It runs in the state directory: OpenClaw reads `.env` in its working directory, and elsewhere an agent could write one.
    """
    folder = places.state_dir if places.state_dir.is_dir() else Path("/")
    try:
        return subprocesses.ask(line, LIMIT_SECONDS, cwd=folder, env=dict(env)).output
    except OSError as error:
        raise _SilentError(f"{line[0]}: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise _SilentError(f"no answer within {LIMIT_SECONDS} s") from error
    except ValueError as error:
        raise _SilentError(str(error)) from error


def _decoded(printed: str) -> _Answer:
    """Skips lines before the JSON result. Raises `_SilentError`."""
    try:
        return msgspec.json.decode(printed[max(0, printed.find("{")) :], type=_Answer)
    except (msgspec.DecodeError, UnicodeError) as error:
        first = printed.strip().partition("\n")[0]
        raise _SilentError(f"it printed {printable.cut(first, 120)!r}" if first else "it printed nothing") from error


def _findings(tree: ConfigTree, level: Level, issue: _Issue, hide: str) -> Iterator[ConfigFinding]:
    """The finding for an issue; one for each key if it is about unknown keys."""
    message = printable.cut(issue.message.replace(hide, "") if hide else issue.message, MAX_MESSAGE)
    steps = steps_of(tree, issue.path)
    keys = _unknown(message)
    for key in keys:
        yield finding(tree, (*steps, key), level, "OpenClaw does not know this key", _UNKNOWN_FIX)
    if not keys:
        yield finding(tree, steps, level, _attributed(level, message.removeprefix("invalid config: ")))


def _attributed(level: Level, message: str) -> str:
    """Say what OpenClaw did not: it migrates an old form while reading, and sounds as if it had changed the file."""
    if level == "warn" and message.startswith(_AS_IF_DONE):
        return f"OpenClaw converts an old form on reading: {message.rstrip('.')}; the file was not changed"
    return f"OpenClaw says: {message}"


def _unknown(message: str) -> list[str]:
    match = _KEYS.search(message)
    return _KEY.findall(match[1]) if match else []


def steps_of(tree: ConfigTree, dotted: str) -> Steps:
    """The steps of OpenClaw's dotted path, whose keys may contain dots, and where agents of the list are named by id."""
    words = dotted.split(".")[:MAX_STEPS] if dotted not in ("", "<root>") else []
    if words[:2] == ["agents", "entries"] and tree.part(("agents", "entries")) is None:
        at, rest = _listed(tree, words[2:])
        if at is not None:
            start: Steps = ("agents", "list", at)
            part = tree.part(start)
            return (*start, *_walked(part, rest))
    return _walked(tree.root, words)


def _listed(tree: ConfigTree, words: list[str]) -> tuple[int | None, list[str]]:
    """The index of the agent in the list, None if not found, and the words after its id."""
    agents = tree.get("agents", "list")
    for at, agent in enumerate(agents if isinstance(agents, list) else ()):
        named = str(agent.get("id", "")).split(".") if isinstance(agent, dict) else []
        if named and words[: len(named)] == named:
            return at, words[len(named) :]
    return None, words


def _walked(part: Part | None, words: list[str]) -> Steps:
    """The words as keys and indexes of this part, as far as they exist; the rest unchanged."""
    for length in range(len(words), 0, -1):
        joined = ".".join(words[:length])
        step = int(joined) if isinstance(part.content if part else None, list) and joined.isdecimal() else joined
        child = part.child(step) if part else None
        if child is not None:
            return (step, *_walked(child, words[length:]))
    return tuple(words)
