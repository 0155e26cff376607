"""The npm package on the real gateway: without the Python part it says at once what is missing, with it it guards."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway, openclaw
from toolguard_cli.system import paths
from toolguard_engine.stores.files import engine_files as engines

ROOT = Path(__file__).parents[2]
MISSING = "No call is judged, and failMode decides. Install the Python part (`uv tool install --force openclaw-toolguard`)"


@pytest.mark.thorough
def test_it_says_that_the_python_part_is_missing_and_finds_it_once_it_is_there(
    real, home: Home, tmp_path: Path, wait
) -> None:
    package = subprocess.run(
        [sys.executable, ROOT / "scripts" / "npm_package", tmp_path], capture_output=True, text=True, check=True
    ).stdout.strip()
    done = openclaw(real, home, "plugins", "install", package, "--force", "--accept-capabilities", limit=300)
    assert done.returncode == 0, done.stdout + done.stderr
    places = paths.Places(home.state_dir, home.config_path)
    with Gateway(real, home, within=300) as gateway:
        wait(lambda: MISSING in gateway.log_text())
        checks = {check["id"]: check for check in doctor.run(places).data["checks"]}
        assert checks["plugin-copy"]["detail"].startswith("it is the npm package of toolguard")
        assert (checks["engine"]["status"], checks["engine"]["fix"][:17]) == ("error", "toolguard install")
        gateway.stop()

        python = Path(home.environment["HOME"]) / paths.TOOLS[0] / "openclaw-toolguard" / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
        python.chmod(0o755)
        gateway.start()
        wait(lambda: bool(engines.running(home.state_dir)))
