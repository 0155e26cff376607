"""Why no room can be made here, and what a person can do about it."""

from __future__ import annotations

import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from toolguard_engine.stores import system_calls

NSENTER = ("/usr/bin/nsenter", "/bin/nsenter", "/usr/local/bin/nsenter")
"""Where `enter` looks for it."""

SANDBOX = "/usr/bin/sandbox-exec"
SETUP = "toolguard containment setup"
_SYSCTL = "/proc/sys"
_FILTERED = "2"
"""The state of seccomp in `/proc/self/status` if a filter is in force."""


class RoomCause(NamedTuple):
    """`text` completes "commands are not contained: ..."; `fix` is a command, or says what to do."""

    text: str
    fix: str


ROOT = RoomCause(
    "the gateway runs as root, which can undo whatever a room hides",
    "run the gateway as a user of its own: sudo useradd --create-home openclaw, and set User=openclaw in its service",
)
OTHER_SYSTEM = RoomCause("this system has no way to do it that is known here", "run the gateway on Linux or macOS")
NO_SANDBOX = RoomCause("sandbox-exec is missing, which macOS has", "restore /usr/bin/sandbox-exec")
NO_NSENTER = RoomCause("nsenter is missing", "install util-linux")
NO_NAMESPACES = RoomCause("user.max_user_namespaces is 0", "sudo sysctl -w user.max_user_namespaces=15000")
NO_CLONE = RoomCause("kernel.unprivileged_userns_clone is 0", "sudo sysctl -w kernel.unprivileged_userns_clone=1")
APPARMOR = RoomCause("AppArmor restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns is 1)", SETUP)
SECCOMP = RoomCause(
    "a seccomp filter, probably the container's, refuses new namespaces",
    "start the container with --security-opt seccomp=unconfined --security-opt apparmor=unconfined",
)


def standing() -> RoomCause | None:
    """What prevents every room, found without trying to make one."""
    if system_calls.NAME == "darwin":
        return None if os.access(SANDBOX, os.X_OK) else NO_SANDBOX
    if not system_calls.NAME.startswith("linux"):
        return OTHER_SYSTEM
    if os.geteuid() == 0:
        return ROOT
    if not any(os.access(path, os.X_OK) for path in NSENTER):
        return NO_NSENTER
    return None


def identify(error: str) -> RoomCause:
    """The cause that this error of a room shows."""
    if cause := standing():
        return cause
    if _read("user/max_user_namespaces") == "0":
        return NO_NAMESPACES
    if _read("kernel/unprivileged_userns_clone") == "0":
        return NO_CLONE
    if _read("kernel/apparmor_restrict_unprivileged_userns") == "1":
        return APPARMOR
    if _seccomp() == _FILTERED:
        return SECCOMP
    return RoomCause(f"the kernel refuses it ({error})" if error else "the kernel refuses it", SETUP)


def apparmor_profile(python: str) -> str:
    """Lets the interpreter of the keepers, and so all that it runs, make user namespaces."""
    name = "toolguard-room"
    return (
        f"abi <abi/4.0>,\ninclude <tunables/global>\n\nprofile {name} {python} flags=(unconfined) {{\n"
        f"  userns,\n  include if exists <local/{name}>\n}}\n"
    )


def has_apparmor() -> bool:
    return shutil.which("apparmor_parser", path=f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin") is not None


def _read(name: str) -> str:
    with suppress(OSError):
        return Path(_SYSCTL, name).read_text("ascii").strip()
    return ""


def _seccomp() -> str:
    with suppress(OSError):
        for line in Path("/proc/self/status").read_text("ascii", errors="replace").splitlines():
            if line.startswith("Seccomp:"):
                return line.partition(":")[2].strip()
    return ""
