"""Programs by their role in starting others. The kernel truncates process names to 15 characters."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal

from toolguard_cli.person.system_facts import ProcessInfo
from toolguard_engine.effects.facts import program_catalogue

Role = Literal["", "agent", "login", "ssh", "multiplexer", "terminal", "service", "shell"]

_CUT = 15
_AGENTS = ("openclaw-gateway", "openclaw-node", "openclaw-agent", "openclaw-acp")
_SSH = program_catalogue.programs("ssh_server")
_MULTIPLEXERS = program_catalogue.programs("terminal_multiplexer") | {"tmux: server", "SCREEN"}
_TERMINALS = program_catalogue.programs("terminal")
_SERVICES = program_catalogue.programs("service")
_BROWSERS = program_catalogue.programs("browser")
_SHELLS = program_catalogue.programs("person_shell")


def role(process: ProcessInfo) -> Role:
    """The role of a process, by the name of its file or its own name: neither alone can hide a role."""
    names = {process.name, PurePath(process.program).name.removesuffix(" (deleted)")}
    if any(process.name.startswith(title[:_CUT]) for title in _AGENTS):
        return "agent"
    if names & _MULTIPLEXERS or process.name.startswith("tmux: "):
        return "multiplexer"
    if _has(names, _SERVICES) or process.name.startswith("PM2 "):
        return "service"
    if _has(names, _TERMINALS):
        return "terminal"
    if names & _SSH:
        return "ssh"
    if "login" in names:
        return "login"
    return "shell" if names & _SHELLS else ""


def title(process: ProcessInfo) -> str:
    """Its name for messages; the full name if the kernel truncated it."""
    whole = PurePath(process.program).name
    return whole if len(process.name) == _CUT and whole.startswith(process.name) else process.name


def is_terminal(process: ProcessInfo) -> bool:
    """Whether this program is a terminal emulator, which shows a pseudo-terminal to a person."""
    return _is_really(process, _TERMINALS)


def shows_terminals(program: str) -> bool:
    """Whether a file of this name is a terminal emulator or a multiplexer."""
    return PurePath(program).name in _TERMINALS | _MULTIPLEXERS


def is_multiplexer(process: ProcessInfo) -> bool:
    return _is_really(process, _MULTIPLEXERS)


def is_browser(process: ProcessInfo) -> bool:
    """Whether it is a web browser, or one of its processes."""
    return _has({process.name, PurePath(process.program).name.removesuffix(" (deleted)")}, _BROWSERS)


def is_login(process: ProcessInfo) -> bool:
    """Whether it is a login service. Any user can run an `sshd`, so it has to be root's."""
    return process.uid == 0 and _is_really(process, _SSH | {"login"})


def _is_really(process: ProcessInfo, known: frozenset[str]) -> bool:
    """Only the name of the file counts here, if visible: a process can choose its own name."""
    return process.trusted and PurePath(process.program or process.name).name in known


def _has(names: set[str], known: frozenset[str]) -> bool:
    return bool(names & known) or any(name[:_CUT] in names for name in known)
