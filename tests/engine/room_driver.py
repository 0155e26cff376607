"""Makes rooms and runs commands in them, as the user that it is started as: questions and answers as JSON lines.

{"ask": "entrance", "rules": [[kind, path, door], ...], "doors": [...]} -> {"room": pid, "cause": text}
{"ask": "probe", "rules": ...} -> {"found": text}
{"ask": "run", "room": pid or 0, "argv": [...], "cwd": path, "env": {...}} -> {"code", "out", "err"}
{"ask": "launch", as run, "count": n} starts it so many times and waits for none of them.
{"ask": "start", as run} -> {"pid"}; {"ask": "end", "pid"} -> {"code"}
{"ask": "try", as run, "seconds": n} -> {"code" (null if it did not end), "out", "err"}: what it starts may go on
{"ask": "sweep"} ends all that commands have started, in a namespace where there is nothing else
{"ask": "cost", "room": pid, "rounds": n} -> {"plain", "entered"}: milliseconds of processor time
{"ask": "listen", "path": path}: a server that answers nobody listens there.
{"ask": "kill", "room": pid} ends a keeper; {"ask": "forbid", "what": "limit" or "filter"} takes the namespaces away.
"""

from __future__ import annotations

import ctypes
import json
import os
import resource
import signal
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
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
servers: list[socket.socket] = []

MAX_OUTPUT = 200_000
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
    done = subprocess.run(argv(asked), capture_output=True, check=False, timeout=900, **options(asked))
    out, err = (text.decode(errors="replace") for text in (done.stdout, done.stderr))
    return {"code": done.returncode, "out": out, "err": err}


def start(asked: dict[str, Any]) -> dict[str, Any]:
    process = subprocess.Popen(argv(asked), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **options(asked))
    started[process.pid] = process
    assert process.stdout is not None
    return {"pid": process.pid, "line": process.stdout.readline().decode(errors="replace")}


def launch(asked: dict[str, Any]) -> dict[str, Any]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, "start_new_session": True}
    for _ in range(asked["count"]):
        process = subprocess.Popen(argv(asked), **quiet, **options(asked))
        started[process.pid] = process
    return {}


def attempt(asked: dict[str, Any]) -> dict[str, Any]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        process = subprocess.Popen(argv(asked), stdout=out, stderr=err, start_new_session=True, **options(asked))
        code = None
        try:
            code = process.wait(asked["seconds"])
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        for each in (out, err):
            each.seek(0)
        return {"code": code, "out": out.read(MAX_OUTPUT).decode("latin-1"), "err": err.read(MAX_OUTPUT).decode("latin-1")}


def sweep(_: dict[str, Any]) -> dict[str, Any]:
    own = os.getpid()
    kept = {1, own, *map(int, Path(f"/proc/{own}/task/{own}/children").read_text().split())}
    while (
        left := {int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and _is_running(each.name)} - kept
    ):
        for pid in left:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.01)
    return {}


def _is_running(pid: str) -> bool:
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def cost(asked: dict[str, Any]) -> dict[str, Any]:
    shell = ["/bin/sh", "-c", ":"]
    ways = {"plain": shell, "entered": ["/bin/sh", str(ENTER), *OPTION, str(asked["room"]), *shell]}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(asked["rounds"]):
        for name, words in ways.items():
            before = _spent()
            os.waitpid(os.posix_spawn(words[0], words, {"PATH": os.defpath}), 0)
            found[name].append((_spent() - before) * 1000)
    return {name: statistics.median(each) for name, each in found.items()}


def _spent() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


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
    return ANSWERS[asked["ask"]](asked)


def entrance(asked: dict[str, Any]) -> dict[str, Any]:
    room = rooms.entrance("", frozenset(asked.get("doors", ())))
    cause = rooms.cause or ("", "")
    return {"room": room, "cause": cause[0], "fix": cause[1]}


def listen(asked: dict[str, Any]) -> dict[str, Any]:
    servers.append(socket.socket(socket.AF_UNIX))
    servers[-1].bind(asked["path"])
    servers[-1].listen()
    return {}


ANSWERS: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
    "entrance": entrance,
    "probe": lambda _: {"found": rooms.probe()},
    "run": run,
    "start": start,
    "launch": launch,
    "end": end,
    "try": attempt,
    "sweep": sweep,
    "cost": cost,
    "listen": listen,
    "kill": lambda asked: os.kill(asked["room"], signal.SIGKILL) or {},
    "close": lambda _: rooms.close() or {},
    "forbid": forbid,
}


def main() -> None:
    sys.stdout.write("{}\n")
    sys.stdout.flush()
    for line in sys.stdin:
        sys.stdout.write(json.dumps(answer(json.loads(line))) + "\n")
        sys.stdout.flush()
    rooms.close()


if __name__ == "__main__":
    main()
