"""The npm package on the real gateway: without the Python part it says at once what is missing, with it it guards."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path

import pytest

from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.rig.downloads import Openclaw
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.system import paths
from toolguard_engine import __version__
from toolguard_engine.host import file_names
from toolguard_engine.stores.files import engine_files as engines

ROOT = Path(__file__).parents[2]
MISSING = f"Install the Python part (`uv tool install --force openclaw-toolguard=={__version__}`"
ASKS = b"[y/N]"
LIMIT = 300


def answered(real: Openclaw, home: Home, *arguments: str) -> tuple[int, str]:
    """Runs a command of OpenClaw in a terminal where each question is answered with yes: its exit code and what it shows."""
    command = real.command(*arguments)
    child, terminal = pty.fork()
    if child == 0:
        os.chdir(home.workspace_dir)
        os.execvpe(command[0], command, home.environment)  # noqa: S606 - a list of arguments
    killer = threading.Timer(LIMIT, os.kill, (child, signal.SIGKILL))
    killer.start()
    shown, answers = b"", 0
    with suppress(OSError):  # how a terminal ends
        while part := os.read(terminal, 4_096):
            shown += part
            while shown.count(ASKS) > answers:
                os.write(terminal, b"y\r")
                answers += 1
    killer.cancel()
    os.close(terminal)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), shown.decode(errors="replace")


@pytest.mark.thorough
def test_it_says_that_the_python_part_is_missing_and_finds_it_once_it_is_there(
    real: Openclaw, home: Home, tmp_path: Path, wait
) -> None:
    """OpenClaw installs it without a flag: it asks about the source, which is not its registry, and about capabilities."""
    package = subprocess.run(
        [sys.executable, ROOT / "scripts" / "npm_package", tmp_path], capture_output=True, text=True, check=True
    ).stdout.strip()
    code, shown = answered(real, home, "plugins", "install", package)
    assert code == 0, shown
    places = paths.Places(home.state_dir, home.config_path)
    with Gateway(real, home, within=300) as gateway:
        wait(lambda: MISSING in gateway.log_text())
        checks = {check["id"]: check for check in doctor.run(places).data["checks"]}
        assert checks["plugin-copy"]["detail"].startswith("it is the npm package of toolguard")
        fix = f"toolguard config set python {sys.executable} (this Python, which has toolguard)"
        assert (checks["engine"]["status"], checks["engine"]["fix"]) == ("error", fix)

        python = Path(home.environment["HOME"]) / file_names.ENVIRONMENTS[0] / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        wait(lambda: bool(engines.running(home.state_dir)))  # the gateway was not restarted
