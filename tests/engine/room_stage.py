"""A home of a user without privileges, and a process of that user that makes rooms and runs commands in them.

Tests run as root, which no room holds, so commands run as `unprivileged.UID`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import programs
import unprivileged
from toolguard_engine.config.containment_settings import ContainmentConfig, Profile
from toolguard_engine.containment.profile import profile
from toolguard_engine.containment.room_places import RoomPlaces
from toolguard_engine.model.call import Host

ROOT = Path(__file__).parents[2]
SERVERS = ("run/docker.sock", "run/bus")
SECRET = f"9d1c-the-key-of-the-guard-{os.getpid()}"
"""No other run has the same: a command in a room may find what lies in the homes of other tests."""
DRIVER = Path(__file__).with_name("room_driver.py")


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


class RoomStage:
    """`home`: of the user, with a gateway's state in it. `own`: what else the user owns, for scripts and tools. `alone`: the
    user sees no process, no temporary file and no network of this machine, so any command can be tried."""

    def __init__(self, *, alone: bool = False) -> None:
        self._alone = alone
        self.top = Path(tempfile.mkdtemp(prefix="room-"))
        self.top.chmod(0o755)
        self.home = self.top / "home"
        self.state = self.home / ".openclaw"
        self.workspace = self.state / "workspace"
        self.furnish()
        self._process = self._started()
        self._answer()

    def furnish(self) -> None:
        """Makes again what a test has removed."""
        _furnish(self.home)
        self.own()

    def kill_driver(self, seconds: float, question: str, **asked: Any) -> None:
        """Asks it something, kills it so much later, and starts another one."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"ask": question, **asked}) + "\n")
        self._process.stdin.flush()
        time.sleep(seconds)
        self._process.kill()
        self._process.wait()
        self._process.stdin.close()
        self._process.stdout.close()
        self._process = self._started()
        self._answer()

    def of_user(self) -> set[int]:
        """The processes that belong to this home."""
        home, found = f"HOME={self.home}".encode(), set()
        for path in Path("/proc").iterdir():
            with suppress(OSError):
                if path.name.isdigit() and home in (path / "environ").read_bytes().split(b"\0"):
                    found.add(int(path.name))
        return found

    def renew(self) -> None:
        """A home as it was at the beginning; the folders stay, since processes are in them."""
        for path in sorted(self.home.rglob("*"), reverse=True):
            if path.is_dir() and not path.is_symlink():
                with suppress(OSError):
                    path.rmdir()
            else:
                path.unlink()
        self.furnish()

    def own(self) -> None:
        if os.geteuid() == 0:
            for path in (self.home, *self.home.rglob("*")):
                os.chown(path, unprivileged.UID, unprivileged.UID, follow_symlinks=False)

    def _started(self) -> subprocess.Popen[str]:
        command = [sys.executable, str(DRIVER)]
        if os.geteuid() == 0:
            folders = [Path(each).resolve() for each in (sys.prefix, sys.base_prefix, ROOT)]
            script = ["set -e", *unprivileged._opened(folders), self._account()]
            script += [*self._cut_off(folders), '"$@"'] if self._alone else ['exec "$@"']
            kinds = ["--mount", *(("--net", "--pid", "--fork", "--kill-child") if self._alone else ())]
            opening = ["unshare", *kinds, "--propagation", "private", "sh", "-c", "\n".join(script), "sh"]
            command = [*opening, *unprivileged.as_user(*command)]
        env = {"HOME": str(self.home), "PATH": os.environ["PATH"], "PYTHONPATH": str(ROOT / "plugin"), "LANG": "C.UTF-8"}
        env |= {"PYTHONDONTWRITEBYTECODE": "1"}
        return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=env)

    def _account(self) -> str:
        """A command that gives the user a name: ssh asks for it."""
        passwd = self.top / "passwd"
        line = f"agent:x:{unprivileged.UID}:{unprivileged.UID}::{self.home}:/bin/bash\n"
        passwd.write_text(Path("/etc/passwd").read_text("utf-8") + line)
        return f"mount --bind {passwd} /etc/passwd"

    def _cut_off(self, folders: list[Path]) -> list[str]:
        """Commands after which nothing of the machine's is there but these folders of what lies in /tmp."""
        kept = [str(each) for each in dict.fromkeys((self.top, *folders)) if Path("/tmp") in each.parents]
        opened = [f"exec {number}< {folder}" for number, folder in enumerate(kept, 3)]
        bound = [
            f"mkdir -p {folder}; mount --no-canonicalize --bind /proc/self/fd/{number} {folder}; exec {number}<&-"
            for number, folder in enumerate(kept, 3)
        ]
        own = ["mount -t proc proc /proc", "ip link set lo up"]
        return [*opened, "mount -t tmpfs -o mode=1777 tmpfs /tmp", *bound, *own]

    def ask(self, question: str, **asked: Any) -> dict[str, Any]:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"ask": question, **asked}) + "\n")
        self._process.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        found: dict[str, Any] = json.loads(self._process.stdout.readline() or '{"broken": true}')
        assert "broken" not in found, "the driver ended"
        return found

    @property
    def host(self) -> Host:
        return Host(
            home=str(self.home), state_dir=str(self.state), config_path=f"{self.state}/openclaw.json",
            guarded=(f"{self.state}/extensions/toolguard",), metrics=f"{self.home}/metrics.db",
        )  # fmt: skip

    def rules(self, name: Profile = "protect") -> list[tuple[str, str, str]]:
        """Of the profile, but for a home that lies in a folder in which it lets commands write."""
        uid = unprivileged.UID if os.geteuid() == 0 else os.getuid()
        places = RoomPlaces(self.host, (str(self.workspace),), ("main",), uid, runtime=str(self.home / "run"))
        found = profile(ContainmentConfig(profile=name), places, "main")
        kept = [rule for rule in found if rule.kind != "write" or rule.path not in self.home.parents]
        return [(rule.kind, str(rule.path), rule.door) for rule in kept]

    def room(self, *, doors: Sequence[str] = (), rules: list[tuple[str, str, str]] | None = None) -> int:
        found = self.ask("entrance", rules=rules or self.rules(), doors=list(doors))
        assert found["room"] != 0, found["cause"]
        return int(found["room"])

    def succeeds(self, argv: Sequence[str], profile: Profile | None) -> bool:
        """Whether a deed of `room_attacks` succeeds in a home that is as new: without a room, or in one of the profile.

        It is given a process of the same user that runs in no room, as the gateway does; so do the servers.
        """
        self.renew()
        for name in SERVERS:
            self.ask("listen", path=str(self.home / name))
        room = self.room(rules=self.rules(profile)) if profile else 0
        waiting = ["/bin/sh", "-c", "echo up; exec sleep 600"]
        outside = self.ask("start", room=0, argv=waiting, cwd=str(self.workspace))["pid"]
        try:
            words = [*argv, str(self.state), str(self.home), f"/proc/{outside}"]
            return self.run(*words, room=room, cwd=self.top).out == "DONE\n"
        finally:
            self.ask("end", pid=outside, kill=True)

    def run(self, *argv: str, room: int = 0, cwd: Path | None = None, **env: str) -> Done:
        found = self.ask("run", room=room, argv=list(argv), cwd=str(cwd or self.workspace), env=env)
        return Done(found["code"], found["out"], found["err"])

    def shell(self, text: str, room: int = 0, cwd: Path | None = None) -> Done:
        return self.run("/bin/bash", "-c", text, room=room, cwd=cwd)

    def close(self) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()
        shutil.rmtree(self.top)


def needed() -> None:
    """Skips the test where no room can be made even by a user without privileges."""
    programs.need("nsenter", "setpriv", "unshare")
    if reason := unprivileged.missing():
        pytest.skip(f"no namespaces here: {reason}")


def _furnish(home: Path) -> None:
    files = {
        ".openclaw/toolguard/key": SECRET,
        ".openclaw/toolguard/nonces.json": "{}",
        ".openclaw/toolguard/kill-switch": "",
        ".openclaw/openclaw.json": '{"gateway": {}}',
        ".openclaw/cache/shell-snapshots/a.sh": "true",
        ".openclaw/agents/main/agent/auth-profiles.json": '{"key": "sk-1"}',
        ".openclaw/workspace/notes.md": "notes",
        ".bashrc": "# mine",
        ".ssh/authorized_keys": "",
        ".ssh/id_ed25519": "private",
        ".config/systemd/user/a.service": "",
        ".openclaw/extensions/toolguard/index.mjs": "// the plugin",
        ".openclaw/agents/main/sessions/s.jsonl": "{}",
        ".aws/credentials": "aws_secret_access_key = x",
        ".config/autostart/a.desktop": "[Desktop Entry]",
        "metrics.db.token": "token",
        "Documents/report.txt": "report",
        ".openclaw/workspace/.git/hooks/post-commit.sample": "",
        "run/empty": "",
    }
    for name, text in files.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        if not (home / name).exists():
            (home / name).write_text(text)
    (home / ".ssh").chmod(0o700)
