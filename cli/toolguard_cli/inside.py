"""Whether a person started this command. The commands that decide, or that change what the guard allows, ask here first.

`person` has the decision and its reasons. A refusal leaves a line in the audit log.
"""

from __future__ import annotations

import os
import secrets
import shlex
import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from toolguard_cli import paths
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_cli.person import namespaces, origin, question, terminals
from toolguard_cli.person.system import Agents, System, is_marked
from toolguard_engine import answers
from toolguard_engine.stores import audit, engines, key
from toolguard_engine.stores.locked import StoreError

SELF_APPROVAL = "security.self-approval"
NO_PERSON = "security.no-person"
FIX = (
    "run it in a terminal of your own that can be checked (the console, ssh from another machine, GNOME Terminal, Konsole, "
    "xterm), or answer in the dashboard or in chat"
)


@dataclass(frozen=True)
class Caller:
    """Who started `toolguard COMMAND`. `doubt`: why nobody can tell whether it was a person; empty if it was."""

    places: Places
    command: str
    doubt: str = ""

    def confirm(self, lines: Sequence[str]) -> bool:
        """Whether a person typed the code that is asked for in doubt. Raises `UserError` if nobody can be asked."""
        if not self.doubt:
            return True
        told = [*lines, f"`toolguard {self.command}` was started {self.doubt}: --yes does not count here"]
        try:
            return question.asked(told)
        except question.NoTerminalError as error:
            raise _no_person(self.places, self.command, f"{self.doubt}, and {error}") from error


def refuse(places: Places, command: str, *, loosens: bool = True) -> None:
    """Raises `UserError` unless a person started this command, or confirms it on the terminal where that cannot be told.

    `loosens`: whether the guard could allow more afterwards. A command after which it cannot is refused to agents alone.
    """
    if not caller(places, command, loosens=loosens).confirm([_as_given()]):
        raise UserError(f"`toolguard {command}` was not confirmed", "nothing was changed; repeat it to be asked again")


def caller(places: Places, command: str, *, loosens: bool = True) -> Caller:
    """Who started this command. Raises `UserError` for an agent, and where a person would have to be asked but cannot."""
    system, pid = _system(), os.getpid()
    agents = _agents(places, system)
    found = origin.of(system, pid, agents) if not is_marked(os.environ) else origin.MARKED
    started = answers.plain(found.why)  # names of processes are anybody's words
    if found.kind == "agent":
        _log(places, SELF_APPROVAL, f"`toolguard {command}` was started {started}")
        raise UserError(f"`toolguard {command}` was started {started}; only a person may do that", FIX)
    if not loosens:
        return Caller(places, command)
    if why := namespaces.doubt(_namespaces(places)):
        raise _no_person(places, command, why)
    if found.kind == "person":
        return Caller(places, command)
    if why := terminals.refusal(system, pid, agents):
        raise _no_person(places, command, f"{started}, and {answers.plain(why)}")
    return Caller(places, command, started)


def _as_given() -> str:
    return answers.cut(answers.plain(shlex.join(["toolguard", *sys.argv[1:]])), 500)


def _no_person(places: Places, command: str, why: str) -> UserError:
    _log(places, NO_PERSON, f"`toolguard {command}` was started {why}")
    return UserError(f"`toolguard {command}` was started {why}; a person has to confirm it", FIX)


def _log(places: Places, code: str, reason: str) -> None:
    event = audit.Event(
        id=secrets.token_hex(8),
        time=audit.when(time.time()),
        event="security",
        code=code,
        where="cli",
        reason=audit.plain(reason),
    )
    with suppress(StoreError):
        audit.AuditLog(places.state_dir).append([event])


def _system() -> System:
    if sys.platform == "darwin":
        from toolguard_cli.person.macos import MacOS  # noqa: PLC0415 - each system its own

        return MacOS()
    from toolguard_cli.person.linux import Linux  # noqa: PLC0415

    return Linux()


def _agents(places: Places, system: System) -> Agents:
    """What runs agents here. A state directory named by an option does not hide the gateway whose config is changed."""
    folders = _folders(places)
    running = [info for folder in folders for info in engines.running(folder)]
    # A gateway that has ended may have left its number to another process; one that runs is above its engine.
    gateways = frozenset(info.gateway_pid for info in running if origin.descends(system, info.pid, info.gateway_pid))
    starts = [process.started for process in map(system.process, gateways) if process]
    since = min([*starts, *(_made(key.path(folder)) for folder in folders)])
    return Agents(gateways, frozenset(info.pid for info in running), since)


def _namespaces(places: Places) -> list[list[str]]:
    """Those of the engines that run, or ran last: in a namespace of its own a command does not see that they run."""
    found = [info for folder in _folders(places) for info in engines.noted(folder)]
    return [info.namespaces for info in found if info.namespaces]


def _folders(places: Places) -> set[Path]:
    usual = paths.find(None, None).state_dir
    return {places.state_dir, places.config.parent, *([usual] if os.access(usual, os.R_OK | os.X_OK) else [])}


def _made(path: Path) -> float:
    """The key is written once; infinite where there is none."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return float("inf")
