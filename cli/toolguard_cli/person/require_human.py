"""Requires that a person started this command. Called first by commands that decide, or that change what the guard allows.

The package `person` explains the decision. A refusal is recorded in the audit log.
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

from toolguard_cli.person import namespaces, origin, question, terminals
from toolguard_cli.person.system_facts import Agents, System, is_marked
from toolguard_cli.system import operating_system, paths
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.stores import audit_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable, redact

MAX_SHOWN = 300
"""Characters of one line of the confirmation."""
MAX_LINES = 8
SELF_APPROVAL = "security.self-approval"
NO_PERSON = "security.no-person"
FIX = (
    "run it in a terminal of your own that can be checked (the console, ssh from another machine, GNOME Terminal, Konsole, "
    "xterm)"
)
_ELSEWHERE = ", or answer the call in the dashboard or in chat"
_ANSWERS = frozenset({"approve", "deny", "revive", "watch"})
"""Commands that can be replaced by an answer elsewhere."""


@dataclass(frozen=True)
class Caller:
    """Who started `toolguard COMMAND`. `doubt`: why it is not certain that a person did; empty if it is."""

    places: Places
    command: str
    doubt: str = ""

    def require(self, about: Sequence[str] = ()) -> None:
        """Raises `UserError` unless confirmed. `about`: what the command would do, shown below the command."""
        shown = [printable.cut(printable.plain(redact.redact_text(line)), MAX_SHOWN) for line in about]
        more = [f"and {len(shown) - MAX_LINES} more"] if len(shown) > MAX_LINES else []
        if not self.confirm([_as_given(), *shown[:MAX_LINES], *more]):
            raise UserError(
                f"`toolguard {self.command}` was not confirmed", "nothing was changed; run it again to be asked again"
            )

    def confirm(self, lines: Sequence[str]) -> bool:
        """Whether the command is confirmed: no doubt, or the code was typed. Raises `UserError` if asking is impossible."""
        if not self.doubt:
            return True
        shown = [*lines, f"`toolguard {self.command}` was started {self.doubt}: --yes is ignored"]
        try:
            return question.asked(shown)
        except question.NoTerminalError as error:
            raise _no_person(self.places, self.command, f"{self.doubt}, and {error}") from error


def refuse(places: Places, command: str, *, loosens: bool = True) -> None:
    """Raises `UserError` unless a person started this command, or confirms it on the terminal if that is not certain.

    `loosens`: whether the guard could allow more afterwards. If not, the command is refused only to agents.
    """
    caller(places, command, loosens=loosens).require()


def caller(places: Places, command: str, *, loosens: bool = True) -> Caller:
    """Who started this command. Raises `UserError` for an agent, and if confirmation is needed but impossible."""
    system, pid = this_system(), os.getpid()
    agents = agents_of(places, system)
    person = origin.trace(system, pid, agents) if not is_marked(os.environ) else origin.MARKED
    started = printable.plain(person.why)  # process names are untrusted
    if person.kind == "agent":
        log_self_approval(places, f"`toolguard {command}` was started {started}")
        raise UserError(f"`toolguard {command}` was started {started}; only a person may do that", _fix(command))
    if not loosens:
        return Caller(places, command)
    if why := namespaces.doubt(namespaces_of(places)):
        raise _no_person(places, command, why)
    if person.kind == "person":
        return Caller(places, command)
    if why := terminals.refusal(system, pid, agents):
        raise _no_person(places, command, f"{started}, and {printable.plain(why)}")
    return Caller(places, command, started)


def _as_given() -> str:
    return printable.cut(printable.plain(redact.redact_text(shlex.join(["toolguard", *sys.argv[1:]]))), 500)


def _no_person(places: Places, command: str, why: str) -> UserError:
    _log(places, NO_PERSON, f"`toolguard {command}` was started {why}")
    return UserError(f"`toolguard {command}` was started {why}; a person has to confirm it", _fix(command))


def _fix(command: str) -> str:
    return f"{FIX}{_ELSEWHERE if command in _ANSWERS else ''}"


def log_self_approval(places: Places, reason: str) -> None:
    _log(places, SELF_APPROVAL, reason)


def _log(places: Places, code: str, reason: str) -> None:
    event = audit_log.AuditEvent(
        id=secrets.token_hex(8),
        time=audit_log.when(time.time()),
        event="security",
        code=code,
        where="cli",
        reason=audit_log.plain(reason),
    )
    with suppress(StoreError):
        stores.audit_log(places.state_dir).append([event])


def this_system() -> System:
    """The processes and terminals of the system that this runs on."""
    if operating_system.is_macos():
        from toolguard_cli.person.macos import MacOS  # noqa: PLC0415 - needed on macOS only

        return MacOS()
    from toolguard_cli.person.linux import Linux  # noqa: PLC0415

    return Linux()


def agents_of(places: Places, system: System) -> Agents:
    """The gateways and engines of this machine. A `--state-dir` option does not hide the gateway whose config is changed."""
    folders = _folders(places)
    running = [info for folder in folders for info in stores.engines(folder).running()]
    # The process number of an ended gateway may be reused; a running gateway is an ancestor of its engine.
    gateways = frozenset(info.gateway_pid for info in running if origin.descends(system, info.pid, info.gateway_pid))
    starts = [process.started for process in map(system.process, gateways) if process]
    since = min([*starts, *(_made(stores.signing_key(folder).path) for folder in folders)])
    return Agents(gateways, frozenset(info.pid for info in running), since)


def namespaces_of(places: Places) -> list[list[str]]:
    """Namespaces of the current or last engines: a command in another namespace cannot see whether they run."""
    engines = [info for folder in _folders(places) for info in stores.engines(folder).noted()]
    return [info.namespaces for info in engines if info.namespaces]


def _folders(places: Places) -> set[Path]:
    usual = paths.find(None, None).state_dir
    return {places.state_dir, places.config.parent, *([usual] if os.access(usual, os.R_OK | os.X_OK) else [])}


def _made(path: Path) -> float:
    """When the key was written, which happens once; infinite if there is none."""
    try:
        return path.lstat().st_mtime
    except OSError:
        return float("inf")
