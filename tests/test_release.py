"""What is published: one version, absolute addresses, the checks of `scripts/release`, and the workflow for hosts."""

from __future__ import annotations

import importlib.util
import json
import re
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Callable
from importlib.machinery import SourceFileLoader
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
import yaml

from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.doctor.checks import discovery_check, engine_check, health_check, plugin_check
from toolguard_cli.setup import plugin_folder
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine import __version__

ROOT = Path(__file__).parent.parent


def script(name: str) -> ModuleType:
    loader = SourceFileLoader(name, str(ROOT / "scripts" / name))
    spec = importlib.util.spec_from_loader(name, loader)
    assert spec
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A clean checkout of a version that may be released."""
    texts = {
        "plugin/toolguard_engine/__init__.py": '__version__ = "1.2.3"\n',
        "CHANGELOG.md": "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n\n- All.\n",
        "pyproject.toml": '[project.urls]\nRepository = "https://code.example/toolguard"\n',
    }
    for name, text in texts.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", "-A")
    git(tmp_path, "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qm", "x")
    return tmp_path


def git(place: Path, *arguments: str) -> None:
    subprocess.run(["git", "-C", place, *arguments], check=True, capture_output=True)  # noqa: S607


def changed(name: str, before: str, after: str) -> Callable[[Path], None]:
    def change(place: Path) -> None:
        text = (place / name).read_text()
        assert before in text
        (place / name).write_text(text.replace(before, after))
        git(place, "-c", "user.name=a", "-c", "user.email=a@b.example", "commit", "-qam", "y")

    return change


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda _: None, []),
        (lambda place: (place / "new").touch(), ["the checkout is not clean: commit or remove ?? new"]),
        (lambda place: git(place, "tag", "v1.2.3"), ["v1.2.3 is tagged already: raise __version__"]),
        (changed("CHANGELOG.md", "[1.2.3]", "[1.2.30]"), ["CHANGELOG.md has no `## [1.2.3] - YYYY-MM-DD`"]),
        (changed("pyproject.toml", "code.example", "toolguard.invalid"), ["pyproject.toml names no repository"]),
    ],
)
def test_what_stops_a_release(checkout: Path, change: Callable[[Path], object], expected: list[str]) -> None:
    change(checkout)
    found = script("release").problems(checkout)
    assert len(found) == len(expected)
    assert all(text.startswith(begin) for text, begin in zip(found, expected, strict=True))


def test_the_version_is_in_one_place() -> None:
    gateway = ROOT / "plugin" / "gateway"
    named = {json.loads((gateway / name).read_text())["version"] for name in ("package.json", "openclaw.plugin.json")}
    assert named == {__version__} == {script("release").version(ROOT)}
    assert "version" not in tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert version("openclaw-toolguard") == __version__


def test_the_repository_is_one() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())
    substitutions = about["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]
    repository = script("release").repository(ROOT)
    addresses = [
        *about["project"]["urls"].values(),
        *(re.findall(r"\((.*)\)", each["replacement"])[0] for each in substitutions),
    ]
    assert {address[: len(repository)] for address in addresses} == {repository}


def test_the_long_description_has_no_relative_address() -> None:
    about = tomllib.loads((ROOT / "pyproject.toml").read_text())
    text = (ROOT / "README.md").read_text()
    for each in about["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(each["pattern"], each["replacement"], text)
    addresses = re.findall(r"\]\(([^)\s]+)\)", text)
    assert [address for address in addresses if not address.startswith(("https://", "#"))] == []
    assert any(address.endswith("/raw/v$HFPR_VERSION/docs/dashboard-overview.png") for address in addresses)


def test_the_npm_package_has_all_that_the_gateway_loads(tmp_path: Path) -> None:
    place = script("npm_package").staged(tmp_path, "https://code.example/toolguard")
    about = json.loads((place / "package.json").read_text())
    assert "private" not in about
    assert about["repository"]["url"] == "git+https://code.example/toolguard.git"
    kept = [path for path in place.iterdir() if path.suffix in (".mjs", ".json") or path.name in ("README.md", "LICENSE")]
    assert sorted(kept) == sorted(place.iterdir())
    assert all((place / entry).is_file() for entry in about["openclaw"]["extensions"])
    needed = {"compat": {"pluginApi", "minGatewayVersion"}, "build": {"openclawVersion", "pluginSdkVersion"}}  # by ClawHub
    assert {part: set(about["openclaw"][part]) for part in needed} == needed


def test_a_package_that_openclaw_installed_is_known_and_kept(tmp_path: Path) -> None:
    place = script("npm_package").staged(tmp_path)
    assert plugin_folder.is_package(place)
    assert not plugin_folder.is_package(ROOT / "plugin" / "gateway")
    (tmp_path / "link").symlink_to(place)
    assert not plugin_folder.is_package(tmp_path / "link")
    before = sorted(place.iterdir())
    with pytest.raises(UserError, match="installed by `openclaw plugins install`"):
        plugin_folder.copy(ROOT / "plugin" / "gateway", place, __version__)
    assert sorted(place.iterdir()) == before


@pytest.mark.parametrize("where", ["extensions/toolguard", discovery_check.NPM_PROJECT])
@pytest.mark.parametrize("number", [__version__, "0.0.9"])
def test_doctor_knows_the_package(tmp_path: Path, where: str | Path, number: str) -> None:
    folder = tmp_path / "state" / where
    folder.parent.mkdir(parents=True)
    script("npm_package").staged(tmp_path).rename(folder)
    manifest = folder / "openclaw.plugin.json"
    manifest.write_text(manifest.read_text().replace(f'"version": "{__version__}"', f'"version": "{number}"'))
    (tmp_path / "state" / "openclaw.json").write_text("{}")
    subject = doctor.look(Places(tmp_path / "state", tmp_path / "state" / "openclaw.json"))
    found = [check(subject) for check in (discovery_check.check, health_check.ours, plugin_check.current)]
    assert [check.status for check in found] == ["ok", "ok", "ok" if number == __version__ else "warn"]
    assert found[2].fix == ("" if number == __version__ else "openclaw plugins update toolguard")
    assert engine_check.interpreter(subject)[1].startswith("toolguard config set python /")


def test_the_workflow_is_valid_and_runs_the_suite_on_both_systems() -> None:
    flow = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text())
    job = flow["jobs"]["test"]
    assert {name.partition("-")[0] for name in job["strategy"]["matrix"]["os"]} == {"ubuntu", "macos"}
    assert any(step.get("run") == "scripts/test" for step in job["steps"])
    assert {"run": "scripts/test --all"} in flow["jobs"]["all"]["steps"]
    assert flow[True]["schedule"]  # YAML 1.1 reads `on` as a boolean
    assert all(re.fullmatch(r"actions/[a-z-]+@v\d+", step["uses"]) for step in job["steps"] if "uses" in step)
    assert flow["permissions"] == {"contents": "read"}


@pytest.mark.thorough
def test_a_rehearsed_release(tmp_path: Path) -> None:
    """Builds all, checks it as the registry does, and installs the wheel and the sdist into fresh environments."""
    for name in ("build", "twine"):
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is missing: pip install -e '.[release]'")
    command = [sys.executable, ROOT / "scripts" / "release", "--rehearse", "--into", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    wheel, sdist, npm = (f"openclaw_toolguard-{__version__}-py3-none-any.whl", f"openclaw_toolguard-{__version__}.tar.gz",
                         f"openclaw-toolguard-{__version__}.tgz")  # fmt: skip
    assert {path.name for path in tmp_path.iterdir()} == {wheel, sdist, npm}
    assert done.stdout.count("PASSED") == 2
    assert "twine upload" in done.stdout
    assert "npm publish" in done.stdout
    assert "clawhub package publish" in done.stdout
    assert "$ openclaw plugins install" in done.stdout
    with tarfile.open(tmp_path / npm) as archive:
        names = {name.removeprefix("package/") for name in archive.getnames()}
    assert names == {path.name for path in (ROOT / "plugin" / "gateway").iterdir() if path.is_file()} | {
        "README.md",
        "LICENSE",
    }
