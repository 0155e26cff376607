"""The program that OpenClaw runs commands with where they are contained: it enters the room that the call names.

OpenClaw takes the shell from `SHELL` at each command, and its arguments from the name of that shell. So the program has the
name of the shell that would have run, and is where commands cannot change it. It takes the variables back that lead to it.
"""

from __future__ import annotations

import os
import pwd
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from toolguard_engine.server import room_causes, rooms
from toolguard_engine.server.rooms import ENTER
from toolguard_engine.stores import atomic

FOLDER = Path("toolguard", "shell")
ENTER_SANDBOX = Path(__file__).with_name("enter_sandbox")
"""`enter` on macOS."""
USED = "used"
"""Beside the program: a command was run with it."""
LOSS = "state"
"""Beside the program: why commands were not contained when an engine last began, empty if they were."""
MAX_LOSS = 10_000
TRIAL = 5.0
"""Seconds."""

_NO_SHELLS = frozenset({"false", "nologin"})
_REHEARSED = """\
case $TOOLGUARD_ROOM in
    *+rehearse:* | *+commit:* | *+run:*)
        set -- {interpreter} {folder} "${{TOOLGUARD_ROOMS%%,*}}" "$TOOLGUARD_ROOM" {shell} "$@"
        unset TOOLGUARD_ROOM TOOLGUARD_ROOMS
        exec "$@"
        ;;
esac
"""
_TEXT = """\
#!/bin/sh
# Written by toolguard. OpenClaw {release} runs commands with this program; it enters the room that TOOLGUARD_ROOM names,
# and TOOLGUARD_ROOMS says which process holds it: ",NAME=PID,NAME=PID,".
{restored}
if [ -z "$TOOLGUARD_ROOM" ]; then
    unset TOOLGUARD_ROOM TOOLGUARD_ROOMS
    exec {shell} "$@"
fi
[ -e {used} ] || : > {used}
TOOLGUARD_ROOMS=${{TOOLGUARD_ROOMS#*",$TOOLGUARD_ROOM="}}
{rehearsed}set -- {options}"${{TOOLGUARD_ROOMS%%,*}}" {shell} "$@"
unset TOOLGUARD_ROOM TOOLGUARD_ROOMS
_tg_kept={kept}

"""
WITH_FOLDER = "--wdns"
"""The option of nsenter and of `enter` that saves a shell."""


def put(state_dir: Path, shell: str, path: str, release: str = "", rehearsing: Sequence[str] = ()) -> Path:
    """Writes the program. `shell`, `path`: the variables of the person who started the gateway; `rehearsing`: what runs
    commands that are rehearsed, with the folder that it works in. With another text, such as for another `release` of
    OpenClaw, it counts as unused. Raises `OSError`."""
    if FOLDER.parts == Path(shell).parent.parts[-len(FOLDER.parts) :]:
        # The gateway was started anew by one that used this program, and has its variable: whose shell it was is not known.
        shell = _shell_of_account()
    real = real_shell(shell, path)
    if not real:
        raise OSError(f"there is no shell to run commands with ({shell or 'SHELL is not set'})")
    folder = state_dir / FOLDER
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    used = folder / USED
    program = folder / Path(real).name
    text = _TEXT.format(
        release="".join(release.split())[:40],
        restored=f"SHELL={shlex.quote(shell)}; export SHELL" if shell else "unset SHELL",
        shell=shlex.quote(real),
        used=shlex.quote(str(used)),
        kept=shlex.quote(os.path.realpath(folder)),
        options="".join(f"{option} " for option in entering()),
        rehearsed=_rehearsed(rehearsing, shlex.quote(real)),
    )
    data = os.fsencode(text) + (ENTER_SANDBOX if rooms.IS_MACOS else ENTER).read_bytes()
    if not _is(program, data):
        used.unlink(missing_ok=True)
        atomic.replace(program, data, mode=0o700)
    _try(program)
    return program


def entering() -> list[str]:
    """The options of `enter` on this machine."""
    named = next((path for path in room_causes.NSENTER if os.access(path, os.X_OK)), "")
    try:
        done = subprocess.run([named, "--help"], capture_output=True, timeout=TRIAL, check=False) if named else None
    except (OSError, subprocess.TimeoutExpired):
        return []
    return [WITH_FOLDER] if done is not None and WITH_FOLDER.encode() in done.stdout else []


def _rehearsed(command: Sequence[str], shell: str) -> str:
    if not command:
        return ""
    *interpreter, folder = map(shlex.quote, command)
    return _REHEARSED.format(interpreter=" ".join(interpreter), folder=folder, shell=shell)


def _try(program: Path) -> None:
    """Raises `OSError` if the program cannot be run where it lies, as on a file system without programs (`noexec`)."""
    plain = {name: value for name, value in os.environ.items() if not name.startswith("TOOLGUARD_ROOM")}
    try:
        done = subprocess.run(
            [program, "-c", ":"], env=plain, stdin=subprocess.DEVNULL, capture_output=True, timeout=TRIAL, check=False
        )
    except subprocess.TimeoutExpired as error:
        raise OSError(f"{program} did not end") from error
    if done.returncode:
        raise OSError(f"{program} cannot run commands (exit code {done.returncode})")


def _shell_of_account() -> str:
    try:
        return pwd.getpwuid(os.getuid()).pw_shell
    except KeyError:
        return ""


def _is(program: Path, data: bytes) -> bool:
    try:
        return atomic.read_bounded(program, len(data)) == data and os.access(program, os.X_OK)
    except OSError:
        return False


def known_loss(state_dir: Path) -> str | None:
    """Why commands were not contained when an engine last began, empty if they were; None if they never were."""
    try:
        return atomic.read_bounded(state_dir / FOLDER / LOSS, MAX_LOSS).decode("utf-8", "replace")
    except OSError:
        return None


def keep_loss(state_dir: Path, why: str) -> None:
    """Raises `OSError`."""
    atomic.replace(state_dir / FOLDER / LOSS, why[:1_000].encode("utf-8", "replace"), durable=False)


def real_shell(shell: str, path: str) -> str:
    """What OpenClaw would run commands with: not fish, nor a shell that runs none. Empty if there is nothing."""
    named = shell.strip()
    if named and os.path.basename(named) not in _NO_SHELLS | {"fish"}:  # noqa: PTH119 - as OpenClaw does
        return named if os.access(named, os.X_OK) else ""
    is_fish = os.path.basename(named) == "fish"  # noqa: PTH119
    order = ("bash", "sh") if is_fish else ("sh", "bash")
    return next((real for name in order if (real := shutil.which(name, path=path))), "")
