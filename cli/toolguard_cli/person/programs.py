"""Programs by the part they play in starting others. Names are at most 15 characters long where the kernel cuts them."""

from __future__ import annotations

from pathlib import PurePath
from typing import Literal

from toolguard_cli.person.system import Process

Role = Literal["", "agent", "login", "ssh", "multiplexer", "terminal", "service", "shell"]

_CUT = 15
_AGENTS = ("openclaw-gateway", "openclaw-node", "openclaw-agent", "openclaw-acp")
_SSH = frozenset({"sshd", "sshd-session", "sshd-auth", "dropbear"})
_MULTIPLEXERS = frozenset({"tmux", "tmux: server", "screen", "SCREEN", "zellij", "dtach", "abduco", "byobu", "dvtm"})
_TERMINALS = frozenset(
    {
        "alacritty", "blackbox", "contour", "cool-retro-term", "deepin-terminal", "foot", "footclient", "ghostty",
        "gnome-terminal-server", "kgx", "kitty", "konsole", "lxterminal", "mate-terminal", "mlterm",
        "ptyxis", "ptyxis-agent", "qterminal", "rio", "rxvt", "sakura", "st", "terminology", "tilix", "urxvt", "urxvtd",
        "wezterm-gui", "xfce4-terminal", "xterm", "yakuake", "code", "codium",
        "cosmic-term", "cursor", "dolphin", "io.elementary.terminal", "kate", "tabby", "tilda", "warp", "zed-editor",
        "Terminal", "iTerm2", "iTermServer", "WezTerm", "Ghostty", "Alacritty",
    }
)  # fmt: skip
"""Programs in which a person sees a terminal. Most of them open a window for whoever asks them over a socket or D-Bus."""
_SERVICES = frozenset(
    {
        "anacron", "at", "atd", "atrun", "batch", "cron", "crond", "cronie", "dbus-broker", "dbus-broker-launch",
        "dbus-daemon", "dcron", "emacs", "fcron", "incrond", "inetd", "init", "launchd", "monit", "mosh-server",
        "runit", "runsv", "runsvdir", "s6-supervise", "s6-svscan", "supervisord", "systemd", "upstart", "watchman",
        "xinetd", "xpcproxy",
    }
)  # fmt: skip
"""Programs that run what others have asked for."""
_SHELLS = frozenset(
    {"ash", "bash", "csh", "dash", "elvish", "fish", "ksh", "mksh", "nu", "pwsh", "sh", "tcsh", "xonsh", "zsh"}
)


def role(process: Process) -> Role:
    """The part that a process plays. Both of its names count, the file's and its own: neither alone can hide a part."""
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


def title(process: Process) -> str:
    """Its name for a person: the kernel cuts off what is longer than 15 characters."""
    whole = PurePath(process.program).name
    return whole if len(process.name) == _CUT and whole.startswith(process.name) else process.name


def is_terminal(process: Process) -> bool:
    """Whether a person sees what this program gets from a pseudo-terminal."""
    return _is_really(process, _TERMINALS)


def shows_terminals(program: str) -> bool:
    """Whether a file of this name is a terminal emulator or a multiplexer."""
    return PurePath(program).name in _TERMINALS | _MULTIPLEXERS


def is_multiplexer(process: Process) -> bool:
    return _is_really(process, _MULTIPLEXERS)


def is_login(process: Process) -> bool:
    """Whether it lets people in: anybody can run `sshd` for themselves, so it has to be root's."""
    return process.uid == 0 and _is_really(process, _SSH | {"login"})


def _is_really(process: Process, known: frozenset[str]) -> bool:
    """Here only the file's name counts, where it can be seen: a process can call itself anything."""
    return process.trusted and PurePath(process.program or process.name).name in known


def _has(names: set[str], known: frozenset[str]) -> bool:
    return bool(names & known) or any(name[:_CUT] in names for name in known)
