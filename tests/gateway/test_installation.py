"""The plugin as the real gateway sees it, installed in both ways."""

from __future__ import annotations

import json

import pytest

from gateway_stage import endless, put_in
from shared_gateway import Shared
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.commands import uninstall
from toolguard_cli.rig import scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import openclaw
from toolguard_cli.system import paths
from toolguard_engine.stores.files import engine_files as engines


@pytest.mark.thorough
@pytest.mark.parametrize("link", [False, True], ids=["copy", "link"])
def test_the_gateway_loads_it_without_errors(real, home: Home, *, link: bool) -> None:
    before = home.config_path.read_bytes()
    put_in(home, link=link)
    done = openclaw(real, home, "plugins", "inspect", "toolguard", "--runtime", "--json")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout[done.stdout.index("{") :])
    assert found["plugin"]["status"] == "loaded"
    assert not found["plugin"].get("error")
    errors = [entry for entry in found.get("diagnostics", []) if entry.get("level") == "error"]
    assert errors == []
    hooks = {hook["name"]: hook.get("priority") for hook in found["typedHooks"]}
    assert hooks["before_tool_call"] == -(2**53 - 1)
    validated = openclaw(real, home, "config", "validate")
    assert validated.returncode == 0, validated.stdout + validated.stderr
    uninstall.run(paths.Places(home.state_dir, home.config_path), dry_run=False)
    assert home.config_path.read_bytes() == before


@pytest.mark.thorough
def test_a_linked_plugin_guards(real, stage, wait) -> None:
    home = stage.home
    played = stage.play(endless(scripted_model.call("read", {})))
    assert len(played.requests) <= 4
    wait(lambda: any(info.seams.get("hooks") == "works" for info in engines.running(home.state_dir)))
    checks = {c["id"]: c for c in doctor.run(paths.Places(home.state_dir, home.config_path)).data["checks"]}
    names = ("config", "plugin", "enabled", "engine", "running", "hooks")
    assert {name: checks[name]["status"] for name in names} == dict.fromkeys(names, "ok")
    assert real.version in checks["hooks"]["detail"]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("settings", "key"),
    [({"mode": "loud"}, "mode"), ({"maxFailuresPerTurn": 0}, "maxFailuresPerTurn"), ({"colour": "red"}, "colour")],
    ids=["bad enum", "out of range", "unknown key"],
)
def test_bad_settings_are_named_by_the_gateway_and_by_doctor(real, home: Home, settings: dict, key: str) -> None:
    put_in(home)
    value = json.loads(home.config_path.read_text())
    value["plugins"]["entries"]["toolguard"]["config"] = settings
    home.config_path.write_text(json.dumps(value))
    done = openclaw(real, home, "config", "validate")
    assert done.returncode != 0
    assert "toolguard" in done.stdout + done.stderr
    result = doctor.run(paths.Places(home.state_dir, home.config_path))
    check = next(check for check in result.data["checks"] if check["id"] == "settings")
    assert check["status"] == "error"
    assert f"plugins.entries.toolguard.config.{key}" in check["detail"]
    assert result.exit_code == 1


@pytest.mark.thorough
def test_shadow_only_records(either: Shared, wait) -> None:
    stage = either.under(mode="shadow")
    before = len(stage.log())
    played = stage.play(scripted_model.endless(scripted_model.call("read", {}), "Stopped.", give_up_after=8))
    assert len(played.requests) == 9
    assert all(text.startswith("Validation failed") for text in played.results)
    wait(lambda: len(stage.log()) >= before + 3)  # the engine writes after it has answered
    actions = [line["action"] for line in stage.log()[before:]]
    assert actions[:3] == ["would-be-corrected", "would-be-loop-detected", "would-be-limit"]
