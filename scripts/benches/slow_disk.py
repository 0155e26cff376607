"""Runs a command on a disk as slow as a file says: `slow_disk.py FILE COMMAND...`.

Each `fsync` and `fdatasync` of the command waits for as many seconds as FILE holds by then (`inf`: it hangs), and a line
in FILE.seen names its thread. The kernel reports these system calls (seccomp user notification, Linux 5.5), so they are slow
in C libraries too, and nothing else is.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import signal
import struct
import sys
import time
from contextlib import suppress
from pathlib import Path

SYSTEMS = {"x86_64": (0xC000003E, 74, 75, 317), "aarch64": (0xC00000B7, 82, 83, 277)}
"""By machine: its name in filters, and the numbers of `fsync`, `fdatasync` and `seccomp`."""

PR_SET_PDEATHSIG, PR_SET_NO_NEW_PRIVS = 1, 38
SET_MODE_FILTER, NEW_LISTENER = 1, 8
LOAD, EQUAL, RETURN = 0x20, 0x15, 0x06
ALLOW, NOTIFY = 0x7FFF0000, 0x7FC00000
RECEIVE, SEND, CONTINUE = 0xC0502100, 0xC0182101, 1
LOOK_SECONDS = 0.002

_libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    control, *command = sys.argv[1:]
    reports, engine = _reports(), os.getpid()
    if os.fork():
        os.close(reports)
        os.execv(command[0], command)  # noqa: S606 - the command that was asked for
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    for stream in range(3):
        os.close(stream)
    while os.getppid() == engine:
        _delay(reports, Path(control))


def _reports() -> int:
    """Filters this process and all that follows in it; where the kernel reports the calls. Raises `OSError`."""
    machine, *syncs, seccomp = SYSTEMS[os.uname().machine]
    steps = [(LOAD, 0, 0, 4), (EQUAL, 0, 3, machine), (LOAD, 0, 0, 0), (EQUAL, 2, 0, syncs[0]), (EQUAL, 1, 0, syncs[1])]
    code = b"".join(struct.pack("HBBI", *step) for step in [*steps, (RETURN, 0, 0, ALLOW), (RETURN, 0, 0, NOTIFY)])
    text = ctypes.create_string_buffer(code, len(code))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", len(code) // 8, ctypes.addressof(text)))
    _libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    reports = int(_libc.syscall(seccomp, SET_MODE_FILTER, NEW_LISTENER, program))
    if reports < 0:
        raise OSError(ctypes.get_errno(), "this kernel does not report system calls")
    return reports


def _delay(reports: int, control: Path) -> None:
    notice = bytearray(80)
    fcntl.ioctl(reports, RECEIVE, notice)
    name, thread = struct.unpack_from("QI", notice)
    with Path(f"{control}.seen").open("a") as seen:
        seen.write(f"{thread}\n")
    begun = time.monotonic()
    while time.monotonic() - begun < float(control.read_text() or 0):
        time.sleep(LOOK_SECONDS)
    with suppress(FileNotFoundError):  # the thread was killed meanwhile
        fcntl.ioctl(reports, SEND, struct.pack("QqiI", name, 0, 0, CONTINUE))


if __name__ == "__main__":
    main()
