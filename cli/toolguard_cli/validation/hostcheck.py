"""What OpenClaw itself says to a config: `openclaw config validate`, also to one that is not written yet.

Such a config is laid out in a private folder that goes when OpenClaw has answered; its name tells whose it is, so that what
a killed process left goes at the next question. Each file lies there under its whole path, so that relative includes lead
where they should; absolute ones are led there too.
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

from toolguard_cli import children, json5_edit
from toolguard_cli.configfile import ConfigFile
from toolguard_cli.configtree import INCLUDE, ROOTS, ConfigTree, Part, Steps
from toolguard_cli.paths import Places
from toolguard_cli.validation.finding import Finding, Level, finding
from toolguard_engine import answers

LIMIT_SECONDS = 90
"""It takes 2 s where nothing else runs."""
MAX_ISSUES = 200
MAX_MESSAGE = 1000
MAX_STEPS = 64
SILENT = "OpenClaw could not be asked"
_FOLDER = ".asking-"
_OWNER = re.compile(rf"{re.escape(_FOLDER)}(\d{{1,9}})-")
_KEYS = re.compile(r"(?:Unrecognized keys?|must not have additional properties): (\".*)")
_KEY = re.compile(r'"((?:[^"\\]|\\.)*)"')
_AS_IF_DONE = ("Moved ", "Removed ", "Migrated ", "Renamed ", "Set ", "Merged ", "Converted ", "Copied ", "Dropped ")
_UNKNOWN_FIX = "take it out or mend its name; `openclaw config schema` prints what may stand there"


class _Issue(msgspec.Struct):
    path: str
    message: str


class _Answer(msgspec.Struct):
    valid: bool
    issues: list[_Issue] = []
    warnings: list[_Issue] = []


class _SilentError(Exception):
    """OpenClaw gave no answer; the text says why."""


def command() -> tuple[str, ...]:
    """What runs OpenClaw here; empty where it is not on PATH."""
    program = shutil.which("openclaw")
    return (program,) if program else ()


def is_silent(found: Finding) -> bool:
    """Whether this says that OpenClaw gave no answer."""
    return found.message.startswith(SILENT)


def ask(tree: ConfigTree, places: Places, openclaw: Sequence[str], env: Mapping[str, str] = os.environ) -> list[Finding]:
    """The errors and warnings of OpenClaw about the config of this tree, as it is here and not as it is on the disk.

    Where it gives no answer, that is the one finding, a warning. Not for a tree with `problems`: these are all it would say.
    """
    _sweep(_around(places))
    with children.interruptible(), ExitStack() as stack:
        folder = stack.enter_context(_laid_out(tree, places)) if _edited(tree) else None
        known = {**env, "OPENCLAW_STATE_DIR": str(places.state_dir), "OPENCLAW_CONFIG_PATH": str(tree.path), "NO_COLOR": "1"}
        if folder:
            known |= {"OPENCLAW_CONFIG_PATH": str(_place(folder, tree.path)), ROOTS: str(folder)}
        try:
            answer = _decoded(_run([*openclaw, "config", "validate", "--json"], known, places))
        except _SilentError as silent:
            fix = "run `openclaw config validate` yourself"
            return [Finding("warn", "", f"{SILENT}: {silent}", fix, str(tree.path))]
    hide = str(folder) if folder else ""
    told: list[tuple[Level, _Issue]] = [("error", issue) for issue in answer.issues]
    told += [("warn", issue) for issue in answer.warnings]
    return [found for level, issue in told[:MAX_ISSUES] for found in _findings(tree, level, issue, hide)]


def _edited(tree: ConfigTree) -> bool:
    return any(file.data != file.text.encode() for file in tree.files)


@contextmanager
def _laid_out(tree: ConfigTree, places: Places) -> Iterator[Path]:
    """A folder, for nobody else's eyes, with the files of the tree."""
    with tempfile.TemporaryDirectory(prefix=f"{_FOLDER}{os.getpid()}-", dir=_around(places)) as made:
        folder = Path(made).resolve()
        for file in tree.files:
            target = _place(folder, file.path)
            target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            target.touch(mode=0o600)
            target.write_bytes(_led_there(file, folder).encode())
        yield folder


def _around(places: Places) -> Path:
    return places.own if places.own.is_dir() else Path(tempfile.gettempdir())


def _sweep(around: Path) -> None:
    """Removes what processes that are no more have left there."""
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


def _led_there(file: ConfigFile, folder: Path) -> str:
    """The text of the file, with its absolute includes leading into the folder."""
    text = file.text
    for steps, named in list(_includes(json5_edit.value_of(file.root), ())):
        if Path(named).is_absolute():
            text = json5_edit.set_value(text, steps, str(_place(folder, Path(named))))
    return text


def _includes(value: Any, steps: Steps) -> Iterator[tuple[Steps, str]]:
    """The files that are taken in, and where they are named."""
    for step, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        inner = (*steps, step)
        if step != INCLUDE:
            yield from _includes(item, inner)
        elif isinstance(item, str):
            yield inner, item
        elif isinstance(item, list):
            yield from (((*inner, at), each) for at, each in enumerate(item) if isinstance(each, str))


def _run(line: list[str], env: Mapping[str, str], places: Places) -> str:
    """What the command prints. Raises `_SilentError`.

    It runs in the state directory: OpenClaw reads `.env` where it stands, and elsewhere an agent can write one.
    """
    folder = places.state_dir if places.state_dir.is_dir() else Path("/")
    try:
        return children.ask(line, LIMIT_SECONDS, cwd=folder, env=dict(env)).output
    except OSError as error:
        raise _SilentError(f"{line[0]}: {error.strerror or error}") from error
    except subprocess.TimeoutExpired as error:
        raise _SilentError(f"no answer within {LIMIT_SECONDS} s") from error
    except ValueError as error:
        raise _SilentError(str(error)) from error


def _decoded(printed: str) -> _Answer:
    """Raises `_SilentError`. Lines before the answer are passed over."""
    try:
        return msgspec.json.decode(printed[max(0, printed.find("{")) :], type=_Answer)
    except (msgspec.DecodeError, UnicodeError) as error:
        first = printed.strip().partition("\n")[0]
        raise _SilentError(f"it answered {answers.cut(first, 120)!r}" if first else "it printed nothing") from error


def _findings(tree: ConfigTree, level: Level, issue: _Issue, hide: str) -> Iterator[Finding]:
    """One for each unknown key, or the one that it is."""
    message = answers.cut(issue.message.replace(hide, "") if hide else issue.message, MAX_MESSAGE)
    steps = steps_of(tree, issue.path)
    keys = _unknown(message)
    for key in keys:
        yield finding(tree, (*steps, key), level, "OpenClaw does not know this key", _UNKNOWN_FIX)
    if not keys:
        yield finding(tree, steps, level, _said(level, message.removeprefix("invalid config: ")))


def _said(level: Level, message: str) -> str:
    """OpenClaw tells what it reads an old form as in words as if it had written that."""
    if level == "warn" and message.startswith(_AS_IF_DONE):
        return f"OpenClaw reads an old form: {message.rstrip('.')}; nothing was written"
    return f"OpenClaw says: {message}"


def _unknown(message: str) -> list[str]:
    found = _KEYS.search(message)
    return _KEY.findall(found[1]) if found else []


def steps_of(tree: ConfigTree, dotted: str) -> Steps:
    """The path that OpenClaw means: it joins keys that may hold dots, and names agents of the list by their id."""
    words = dotted.split(".")[:MAX_STEPS] if dotted not in ("", "<root>") else []
    if words[:2] == ["agents", "entries"] and tree.part(("agents", "entries")) is None:
        at, rest = _listed(tree, words[2:])
        if at is not None:
            start: Steps = ("agents", "list", at)
            part = tree.part(start)
            return (*start, *_walked(part, rest))
    return _walked(tree.root, words)


def _listed(tree: ConfigTree, words: list[str]) -> tuple[int | None, list[str]]:
    """Which agent of the list is meant, and the words behind its id."""
    agents = tree.get("agents", "list")
    for at, agent in enumerate(agents if isinstance(agents, list) else ()):
        named = str(agent.get("id", "")).split(".") if isinstance(agent, dict) else []
        if named and words[: len(named)] == named:
            return at, words[len(named) :]
    return None, words


def _walked(part: Part | None, words: list[str]) -> Steps:
    """The words as keys and indexes of this part, as far as it has them; the others as they are."""
    for length in range(len(words), 0, -1):
        joined = ".".join(words[:length])
        step = int(joined) if isinstance(part.content if part else None, list) and joined.isdecimal() else joined
        child = part.child(step) if part else None
        if child is not None:
            return (step, *_walked(child, words[length:]))
    return tuple(words)
