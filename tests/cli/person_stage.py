"""Real processes for the tests about persons: a stand-in gateway that runs what an agent wants, and other daemons.

The stand-ins that have a name (`cron`, `sshd`, `systemd`) are shells under that name which run each line that they are sent.
They, and the process of the tests, are older than the key in the state directory, as a person's programs are; the gateway
and all below it are younger.
"""

from __future__ import annotations

import json
import os
import select
import shlex
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cli_stage import LIMIT, SCRIPT
from held_stage import hold, status_of

from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.stores.files import engine_files as engines
from toolguard_engine.stores.system_calls import namespaces

GATEWAY = """
import json, subprocess, sys
engine = subprocess.Popen([sys.executable, "-c", "import sys; sys.stdin.read()", "toolguard_engine"], stdin=subprocess.PIPE)
print(engine.pid, flush=True)
for line in sys.stdin:
    done = subprocess.run(json.loads(line), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(done.returncode, flush=True)
"""
MANAGER = """
import ctypes, subprocess, sys
ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
sys.exit(subprocess.call([sys.executable, "-c", sys.argv[1]]))
"""
DAEMON = 'while read -r line; do sh -c "$line" >/dev/null 2>&1 & done'


def until(true: Callable[[], object], what: str) -> None:
    limit = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < limit, what
        time.sleep(0.02)


@dataclass
class Machine:
    """A gateway that runs, a call that is held, and a script that approves it when `go` is there."""

    places: Places
    entry: HeldCall
    root: Path
    ends: ExitStack
    gateway: subprocess.Popen[str] = field(init=False)
    engine: int = field(init=False)

    @property
    def script(self) -> Path:
        return self.root / "approve.sh"

    @property
    def output(self) -> Path:
        return self.root / "output"

    @property
    def line(self) -> str:
        """The script without anything of an environment."""
        return f"env -i PATH={shlex.quote(os.environ['PATH'])} sh {shlex.quote(str(self.script))}"

    def start_gateway(self, *, managed: bool = False) -> None:
        code = [MANAGER, GATEWAY] if managed else [GATEWAY]
        self.gateway = self.ends.enter_context(running([sys.executable, "-c", *code]))
        self.engine = int(self._answer())
        pid = _children(self.gateway.pid)[0] if managed else self.gateway.pid
        info = engines.EngineInfo(self.engine, pid, "", "", "", "", time.time(), "enforce", "", namespaces=namespaces())
        engines.publish(self.places.state_dir, info)

    def write_script(self, *words: str) -> None:
        """What approves, and leaves its output and, as the last thing, its exit code."""
        command = shlex.join([str(SCRIPT), *(words or ("approve", self.entry.nonce, "--yes")), *self.at])
        self.script.write_text(
            f"cd {shlex.quote(str(self.root))}\n"
            "while [ ! -e go ]; do sleep 0.05; done\n"
            f"{command} </dev/null >output 2>&1\n"
            "echo $? >code.new && mv code.new code\n"
        )

    @property
    def at(self) -> list[str]:
        return ["--state-dir", str(self.places.state_dir), "--config", str(self.places.config)]

    def below_the_gateway(self, *command: str) -> None:
        """Runs it as an agent's tool would, until it ends. What it left behind goes on."""
        assert self.gateway.stdin is not None
        self.gateway.stdin.write(json.dumps(command) + "\n")
        self.gateway.stdin.flush()
        assert self._answer() == "0"

    def _answer(self) -> str:
        assert self.gateway.stdout is not None
        assert select.select([self.gateway.stdout], [], [], LIMIT)[0]
        return self.gateway.stdout.readline().strip()

    def attempt(self) -> tuple[int, str]:
        """Lets the script go on; its exit code and output."""
        (self.root / "go").touch()
        until((self.root / "code").exists, "the script never ended")
        return int((self.root / "code").read_text()), self.output.read_text()

    @property
    def status(self) -> str:
        return status_of(self.places, self.entry.nonce)


@contextmanager
def machine(places: Places, root: Path) -> Iterator[Machine]:
    """Everything but the gateway, which is started last."""
    with ExitStack() as ends:
        made = Machine(places, hold(places), root, ends)
        made.write_script()
        yield made


@contextmanager
def running(command: Sequence[str]) -> Iterator[subprocess.Popen[str]]:
    """It reads lines from standard input, and ends with that."""
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


@contextmanager
def daemon(root: Path, name: str) -> Iterator[Callable[[str], None]]:
    """A program of this name that runs each line that it is sent, as its child."""
    program = root / name
    shell = shutil.which("sh")
    assert shell
    program.symlink_to(shell)
    with running([str(program), "-c", DAEMON]) as process:
        assert process.stdin is not None
        lines = process.stdin

        def send(line: str) -> None:
            lines.write(line + "\n")
            lines.flush()

        yield send


def _children(pid: int) -> list[int]:
    text = Path(f"/proc/{pid}/task/{pid}/children").read_text()
    return list(map(int, text.split()))
