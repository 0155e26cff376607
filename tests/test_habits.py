"""The files that code hosts, editors and pre-commit read: they name what exists."""

from __future__ import annotations

import shlex
from pathlib import Path

import json5
import pytest
import yaml

ROOT = Path(__file__).parent.parent
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]


def owned() -> list[str]:
    lines = (ROOT / ".github" / "CODEOWNERS").read_text("utf-8").splitlines()
    return [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]


def test_somebody_owns_everything_and_no_line_is_about_nothing() -> None:
    everything, *special = owned()
    assert everything == "*"
    assert [name for name in special if not (ROOT / name.strip("/")).exists()] == []


def test_hooks_run_what_the_gate_runs() -> None:
    gate = (ROOT / "scripts" / "test").read_text("utf-8")
    programs = {hook["id"]: shlex.split(hook["entry"]) for hook in HOOKS}
    named = {word for words in programs.values() for word in words if word.startswith(("scripts/", "tests/"))}
    assert len(named) > 3
    assert {name for name in named if not (ROOT / name).is_file()} == set()
    for name in ("ruff", "ruff-format", "mypy", "generated"):
        assert " ".join(programs[name]).removeprefix(".venv/bin/python ") in gate
    assert {hook["language"] for hook in HOOKS} == {"system"}, "nothing is downloaded"


def test_the_devcontainer_sets_up_a_checkout_as_the_tests_do() -> None:
    container = json5.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    assert "source scripts/_environment" in container["postCreateCommand"]
    assert (ROOT / "scripts" / "_environment").is_file()
    workflow = yaml.safe_load((ROOT / ".github" / "workflows" / "test.yml").read_text("utf-8"))["jobs"]["test"]
    node = next(step["with"]["node-version"] for step in workflow["steps"] if "node" in step.get("uses", ""))
    assert [feature["version"] for name, feature in container["features"].items() if "node" in name] == [str(node)]
    assert container["image"].rpartition(":")[2] in workflow["strategy"]["matrix"]["python"]


@pytest.mark.parametrize("form", sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[!c]*.yml")), ids=lambda form: form.stem)
def test_issue_forms_have_what_the_host_requires(form: Path) -> None:
    read = yaml.safe_load(form.read_text("utf-8"))
    assert {"name", "description", "body"} <= set(read)
    for part in read["body"]:
        assert part["type"] == "markdown" or (part["id"] and part["attributes"]["label"])
