"""Makes rooms and runs commands in them, as the user that it is started as: questions and answers as JSON lines.

{"ask": "entrance", "rules": [[kind, path, door], ...], "doors": [...]} -> {"room": pid, "cause": text}
{"ask": "probe", "rules": ...} -> {"found": text}
{"ask": "run", "room": pid or 0, "argv": [...], "cwd": path, "env": {...}} -> {"code", "out", "err"}
{"ask": "start", as run} -> {"pid"}; {"ask": "end", "pid"} -> {"code"}
{"ask": "kill", "room": pid} ends a keeper; {"ask": "forbid", "what": "limit" or "filter"} takes the namespaces away.
"""

from __future__ import annotations

import ctypes
import json
import os
import signal
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

from toolguard_engine.containment.rules import RoomRule
from toolguard_engine.server import command_shell
from toolguard_engine.server.rooms import ENTER, Rooms

OPTION = command_shell.entering()
"""As the gateway's commands enter."""
rules: tuple[RoomRule, ...] = ()
rooms = Rooms(lambda _: rules)
started: dict[int, subprocess.Popen[bytes]] = {}

CLONE_NEWUSER = 0x10000000
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2
UNSHARE = {"x86_64": 272, "aarch64": 97}
RETURN_EPERM, RETURN_ALLOW = 0x00050001, 0x7FFF0000


def argv(asked: dict[str, Any]) -> list[str]:
    entering = ["/bin/sh", str(ENTER), *OPTION, str(asked["room"])] if asked["room"] else []
    return [*entering, *asked["argv"]]


def options(asked: dict[str, Any]) -> dict[str, Any]:
    return {"cwd": asked.get("cwd", "/"), "env": {**os.environ, **asked.get("env", {})}, "stdin": subprocess.DEVNULL}


def run(asked: dict[str, Any]) -> dict[str, Any]:
    done = subprocess.run(argv(asked), capture_output=True, check=False, timeout=120, **options(asked))
    out, err = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    return {"code": done.returncode, "out": out, "err": err}


def start(asked: dict[str, Any]) -> dict[str, Any]:
    process = subprocess.Popen(argv(asked), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options(asked))
    started[process.pid] = process
    assert process.stdout is not None
    return {"pid": process.pid, "line": process.stdout.readline().decode(errors="replace")}


def end(asked: dict[str, Any]) -> dict[str, Any]:
    process = started.pop(asked["pid"])
    if asked.get("kill"):
        process.kill()
    process.communicate(timeout=60)
    return {"code": process.returncode}


def forbid(asked: dict[str, Any]) -> dict[str, Any]:
    libc = ctypes.CDLL(None, use_errno=True)
    if asked["what"] == "limit":
        uid, gid = os.getuid(), os.getgid()
        assert libc.unshare(CLONE_NEWUSER) == 0
        for name, text in (("setgroups", "deny"), ("uid_map", f"{uid} {uid} 1"), ("gid_map", f"{gid} {gid} 1")):
            Path("/proc/self", name).write_text(text)
        Path("/proc/sys/user/max_user_namespaces").write_text("0")
        return {}
    number = UNSHARE[os.uname().machine]
    steps = [(0x20, 0, 0, 0), (0x15, 0, 1, number), (0x06, 0, 0, RETURN_EPERM), (0x06, 0, 0, RETURN_ALLOW)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *step) for step in steps))
    program = struct.pack("HL", len(steps), ctypes.addressof(code))
    assert libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
    assert libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, ctypes.create_string_buffer(program), 0, 0) == 0
    return {}


def answer(asked: dict[str, Any]) -> dict[str, Any]:
    global rules  # noqa: PLW0603 - what the rooms are asked for
    if "rules" in asked:
        rules = tuple(RoomRule(kind, Path(path), door) for kind, path, door in asked["rules"])
    match asked["ask"]:
        case "entrance":
            room = rooms.entrance("", frozenset(asked.get("doors", ())))
            cause = rooms.cause or ("", "")
            return {"room": room, "cause": cause[0], "fix": cause[1]}
        case "probe":
            return {"found": rooms.probe()}
        case "run":
            return run(asked)
        case "start":
            return start(asked)
        case "end":
            return end(asked)
        case "kill":
            os.kill(asked["room"], signal.SIGKILL)
            return {}
        case "close":
            rooms.close()
            return {}
        case _:
            return forbid(asked)


def main() -> None:
    sys.stdout.write("{}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()
    rooms.close()


if __name__ == "__main__":
    main()
