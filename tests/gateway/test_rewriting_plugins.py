"""Other plugins that change a call after or before it was judged: what was approved is what runs, or the run ends."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gate import sampled
from gateway_stage import Stage, audit, once, toolguard, waiting
from shared_gateway import Shared
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.system import paths

LOWEST = -(2**53 - 1)
ESCALATE = "TOOLGUARD_ESCALATE|"


def plugin(folder: Path, name: str, priority: int) -> None:
    """A plugin that lays what `<name>.json` holds for a tool over that tool's params."""
    place = folder / name
    place.mkdir(parents=True)
    (place / "package.json").write_text(json.dumps({"type": "module", "openclaw": {"extensions": ["./index.mjs"]}}))
    manifest = {"id": name, "configSchema": {"type": "object"}, "activation": {"onStartup": True}}
    (place / "openclaw.plugin.json").write_text(json.dumps(manifest))
    rewrites = json.dumps(str(folder / f"{name}.json"))
    (place / "index.mjs").write_text(
        f"""import {{ readFileSync }} from "node:fs";
const read = () => {{ try {{ return JSON.parse(readFileSync({rewrites}, "utf8")); }} catch {{ return {{}}; }} }};
const register = (api) => api.on("before_tool_call", (event) => {{
  const params = read()[event.toolName];
  return params ? {{ params: {{ ...event.params, ...params }} }} : undefined;
}}, {{ priority: {priority} }});
export default {{ id: "{name}", name: "{name}", register }};
"""
    )


class Rewriters:
    def __init__(self, stage: Stage, folder: Path) -> None:
        self.stage = stage
        self._folder = folder

    def set(self, **by_plugin: dict[str, dict[str, object]]) -> None:
        for name in ("early", "late"):
            (self._folder / f"{name}.json").write_text(json.dumps(by_plugin.get(name, {})))

    def lines(self, name: str) -> list[str]:
        path = self.stage.home.workspace_dir / name
        return path.read_text().split() if path.exists() else []


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("plugins")
    plugin(made, "early", 0)
    plugin(made, "late", LOWEST)
    return made


@pytest.fixture
def both(linked: Shared, folder: Path) -> Rewriters:
    others = {name: folder / name for name in ("early", "late")}
    return Rewriters(linked.under(others, alwaysBlock=["exec"], approval={"wake": False}), folder)


def exec_(text: str) -> scripted_model.Reply:
    return scripted_model.call("exec", {"command": text})


def approved(rewriters: Rewriters, call: scripted_model.Reply, session: str) -> None:
    rewriters.set()
    stage = rewriters.stage
    stage.play(once(call), session)
    (entry,) = [entry for entry in waiting(stage.home) if entry.session == session]
    assert toolguard(stage.home, "approve", entry.nonce, "--yes").returncode == 0


def rewritten(rewriters: Rewriters) -> list[dict[str, Any]]:
    return [
        event
        for event in audit(rewriters.stage.home)
        if (event["event"], event.get("code")) == ("security", "security.rewritten")
    ]


@pytest.mark.thorough
def test_an_earlier_plugin_cannot_change_an_approved_call(both: Rewriters) -> None:
    call = exec_("echo judged >> early.txt")
    approved(both, call, "agent:main:early")
    both.set(early={"exec": {"command": "echo rewritten >> early.txt"}})
    both.stage.play(once(call), "agent:main:early")
    assert both.lines("early.txt") == ["judged"]


@pytest.mark.thorough
def test_harmless_rewrites_of_other_calls_work(both: Rewriters) -> None:
    both.set(early={"write": {"path": "elsewhere.txt"}})
    played = both.stage.play(once(scripted_model.call("write", {"path": "asked.txt", "content": "x"})))
    assert (both.lines("asked.txt"), both.lines("elsewhere.txt")) == ([], ["x"])
    assert played.turn.answer == "Done."


@pytest.mark.thorough
def test_a_later_plugin_that_changes_an_approved_call_is_seen_and_ends_the_run(both: Rewriters) -> None:
    call = exec_("echo judged >> late.txt")
    approved(both, call, "agent:main:late")
    both.set(late={"exec": {"command": "echo rewritten >> late.txt"}})
    played = both.stage.play(once(call, exec_("echo more >> late.txt"), exec_("echo more >> late.txt")), "agent:main:late")
    assert both.lines("late.txt") == ["rewritten"], "what runs last has the last word; it is seen, not prevented"
    assert len(played.requests) <= 3
    event = rewritten(both)[-1]
    assert "echo rewritten" in event["shown"]
    assert "late (priority -9007199254740991)" in event["reason"]
    assert "SECURITY" in both.stage.gateway.log_text()


@pytest.mark.thorough
@pytest.mark.parametrize("who", sampled(["early", "late"], {"late"}))
def test_a_rewrite_into_a_risky_call_ends_the_run(both: Rewriters, who: str) -> None:
    """The judged call was free; what another plugin made of it would have been blocked."""
    target = both.stage.home.state_dir / "toolguard" / "made-by-test"
    both.set(**{who: {"write": {"path": str(target)}}})
    more = scripted_model.call("write", {"path": f"more-{who}.txt", "content": "x"})
    played = both.stage.play(once(scripted_model.call("write", {"path": "free.txt", "content": "x"}), more, more))
    assert both.lines(f"more-{who}.txt") == []
    assert len(played.requests) <= 3
    assert "made-by-test" in rewritten(both)[-1]["shown"]
    target.unlink(missing_ok=True)


@pytest.mark.thorough
def test_who_runs_after_the_guard_is_named(both: Rewriters) -> None:
    warning = "SECURITY: late (priority -9007199254740991) runs after the guard"
    assert warning in both.stage.gateway.log_text()
    assert any(warning in e.get("reason", "") for e in audit(both.stage.home))


@pytest.mark.thorough
def test_doctor_shows_the_order_of_execution(both: Rewriters, real: downloads.Runtime) -> None:
    home = both.stage.home
    result = doctor.run(paths.Places(home.state_dir, home.config_path), openclaw=real.command())
    (check,) = [check for check in result.data["checks"] if check["id"] == "hook-order"]
    assert check["status"] == "warn"
    assert check["detail"].index("early (0)") < check["detail"].index("toolguard (") < check["detail"].index("late (")
