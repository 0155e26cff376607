"""`toolguard doctor` on the real OpenClaw: without a fault after a first run, and what it says where there is one."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from gateway_stage import audit, configure, once, put_in
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway
from toolguard_cli.system import paths
from toolguard_cli.terminal.result import Result
from toolguard_engine.stores.files import engine_files as engines

LATE = """
export default { id: "late", name: "Late", register(api) {
  api.on("before_tool_call", () => undefined, { priority: -Number.MAX_SAFE_INTEGER });
} };
"""


@pytest.fixture
def program(real: downloads.Runtime, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """This OpenClaw and its Node are on PATH, as an installation puts them there."""
    (tmp_path / "node").symlink_to(real.node)
    (tmp_path / "openclaw").symlink_to(real.openclaw)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")


def examined(home: Home) -> Result:
    return doctor.run(paths.Places(home.state_dir, home.config_path))


def faulty(result: Result) -> dict[str, dict[str, Any]]:
    return {check["id"]: check for check in result.data["checks"] if check["status"] != "ok"}


def own(home: Home) -> dict[str, bytes]:
    """All files that are toolguard's, and the config."""
    root = home.state_dir
    ours = [path for folder in (root / "toolguard", root / "extensions") for path in folder.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes() for path in [home.config_path, *ours]}


@pytest.mark.thorough
@pytest.mark.usefixtures("program")
def test_after_a_first_run_nothing_is_wrong(
    real: downloads.Runtime, server: scripted_model.ScriptedModel, home: Home, wait: Any
) -> None:
    put_in(home)
    configure(home, containment={"profile": "off"})  # as root nothing can be contained, and `doctor` says so
    server.play(once(scripted_model.call("exec", {"command": "true"}), scripted_model.call("read", {})))
    with Gateway(real, home) as gateway:
        gateway.turn("go")
        wait(lambda: any(info.seams.get("inPlaceText") == "works" for info in engines.running(home.state_dir)))
        while_running = examined(home)
    assert faulty(while_running) == {}
    assert while_running.lines[-2].text == f"all {len(while_running.data['checks'])} checks passed"
    assert while_running.lines[-1].text.startswith("GUARDED: the gateway on 127.0.0.1:")
    found = {check["id"]: check for check in while_running.data["checks"]}
    assert found["openclaw"]["detail"] == f"OpenClaw {real.version}"
    assert found["hooks"]["detail"].startswith(f"proved on OpenClaw {real.version}: hooks")
    assert found["hook-order"]["data"]["hooks"][-1] == {"plugin": "toolguard", "priority": -(2**53 - 1)}
    ended = [event["reason"] for event in audit(home) if event["event"] == "ended"]
    assert ended == ["the guard stopped with its gateway"]
    before = own(home)
    afterwards = examined(home)
    assert faulty(afterwards) == {}
    assert afterwards.lines[-1].text.startswith("INSTALLED: no gateway is running")
    assert own(home) == before


@pytest.mark.thorough
@pytest.mark.usefixtures("program")
def test_a_plugin_behind_the_guard_and_a_wrong_key_are_named(home: Home) -> None:
    put_in(home, link=True)
    late = home.root / "late"
    late.mkdir(mode=0o755)
    (late / "index.mjs").write_text(LATE)
    package = {"name": "late", "version": "1.0.0", "type": "module", "openclaw": {"extensions": ["./index.mjs"]}}
    (late / "package.json").write_text(json.dumps(package))
    (late / "openclaw.plugin.json").write_text(json.dumps({"id": "late", "configSchema": {"type": "object"}}))
    value = json.loads(home.config_path.read_text())
    value["plugins"]["load"]["paths"].append(str(late))
    value["plugins"]["entries"]["late"] = {"enabled": True}
    home.config_path.write_text(json.dumps(value))
    order = faulty(examined(home))["hook-order"]
    assert (order["status"], order["detail"].partition(" ")[0]) == ("warn", "late")
    assert [hook["plugin"] for hook in order["data"]["hooks"]] == ["toolguard", "late"]
    home.config_path.write_text(json.dumps({**value, "colour": "red"}))
    whole = faulty(examined(home))["whole-config"]
    assert (whole["status"], whole["data"]["findings"][0]["path"]) == ("error", "colour")
