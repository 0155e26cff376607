"""The wheel as a user gets it: built, looked into, installed into a fresh environment, and used from there."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path

import core_environment
import pytest
from cli_stage import SOURCE, envelope, names

ROOT = SOURCE.parents[1]
BUILD_LIMIT = 300
PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet"]


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        command, env=environment, cwd="/", capture_output=True, text=True, timeout=BUILD_LIMIT, check=False
    )


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is written into the checkout."""
    tree = tmp_path_factory.mktemp("wheel")
    source = tree / "source"
    source.mkdir()
    for name in ("cli", "plugin", "manifests", "tests"):
        shutil.copytree(ROOT / name, source / name, ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source / name)
    isolation = [] if importlib.util.find_spec("hatchling") is None else ["--no-build-isolation"]
    built = run(*PIP, "wheel", "--no-deps", *isolation, "--wheel-dir", tree / "built", source)
    assert built.returncode == 0, built.stderr
    (found,) = (tree / "built").glob("*.whl")
    return found


@pytest.fixture(scope="module")
def home(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment with the wheel. Its dependencies, and no extra, are those of this environment."""
    place = tmp_path_factory.mktemp("fresh") / "venv"
    venv.create(place, with_pip=False, symlinks=True)
    python = place / "bin" / "python"
    put = run(*PIP, "--python", python, "install", "--no-deps", "--no-index", wheel)
    assert put.returncode == 0, put.stderr
    core_environment.borrow(place)
    return place


def test_what_is_in_it(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = archive.namelist()
    gateway = sorted(name.removeprefix("toolguard_manifests/gateway/") for name in held if "/gateway/" in name)
    assert gateway == sorted(path.name for path in SOURCE.iterdir())
    assert {"index.mjs", "openclaw.plugin.json", "package.json"} <= set(gateway)
    tops = {name.partition("/")[0] for name in held}
    packages = {"toolguard_cli", "toolguard_engine", "toolguard_fleet", "toolguard_manifests"}
    assert tops == packages | {"openclaw_toolguard-0.1.0.dist-info"}
    assert "toolguard_fleet/migrations/0001_registry.sql" in held
    assert [name for name in held if "test" in name.lower() or name.endswith(".pyc")] == []
    assert {"toolguard_cli/py.typed", "toolguard_manifests/plugin.toml"} <= set(held)


@pytest.mark.thorough
def test_used_from_a_fresh_environment(home: Path, tmp_path: Path) -> None:
    state = tmp_path / "state"
    script = home / "bin" / "toolguard"
    where = run(home / "bin" / "python", "-c", "from toolguard_cli.system import paths; print(paths.plugin_source())")
    assert Path(where.stdout.strip()).is_relative_to(home), where

    installed = run(script, "install", "--state-dir", state, "--json")
    reported = envelope(installed)
    assert (installed.returncode, installed.stderr, reported["ok"]) == (0, "", True)
    assert Path(reported["data"]["python"]).parent == home / "bin"
    copied = state / "extensions" / "toolguard"
    assert names(copied) == sorted([".toolguard.json", *(path.name for path in SOURCE.iterdir())])
    assert {path.stat().st_nlink for path in copied.iterdir()} == {1}
    for path in SOURCE.iterdir():
        assert (copied / path.name).read_bytes() == path.read_bytes()

    looked = run(script, "doctor", "--state-dir", state, "--json")
    checks = {check["id"]: check for check in envelope(looked)["data"]["checks"]}
    assert [check for check in checks.values() if check["status"] == "error"] == []
    assert checks["engine"]["status"] == "ok"
    assert checks["python"]["detail"].endswith(f"({reported['data']['python']})")
    assert run(script, "uninstall", "--state-dir", state).returncode == 0
    assert not copied.exists()
