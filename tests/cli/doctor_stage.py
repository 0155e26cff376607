"""What the tests of `toolguard doctor` share: a healthy installation, with an OpenClaw that only lists its hooks."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cli_stage import put_in

from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_engine import __version__
from toolguard_engine.stores.files import engine_files as engines

LOWEST = -(2**53 - 1)
LIVING = 4_000_001
"""The process of an engine that `alive` takes for one that runs."""

IDS = [
    "loaded", "openclaw", "node", "hooks", "hook-order", "loops", "agents", "entry-points",
    "toolguard", "plugin", "plugin-files", "manifest", "plugin-copy", "enabled", "enforced", "allowed",
    "config", "settings", "whole-config", "old-plugins", "environment",
    "python", "engine", "latency", "running", "containment",
    "user", "state-dir", "state-files", "stores", "standings", "key", "audit", "log", "disk", "clock",
    "metrics", "limits", "dashboard",
    "kill-switch", "notify", "stale", "policy", "rules", "self-approval", "signers", "fleet-trust", "fleet-policy",
    "fleet", "fleet-server", "weakened",
]  # fmt: skip


@dataclass(frozen=True)
class Host:
    """A folder with programs called `openclaw` and `node`; the first belongs to a package, as npm lays it out."""

    root: Path

    @property
    def openclaw(self) -> tuple[str, ...]:
        return (str(self.root / "bin" / "openclaw"),)

    @property
    def package(self) -> Path:
        return self.root / "lib" / "node_modules" / "openclaw"

    def is_release(self, version: str, node: str = ">=24.16.0 <25 || >=26.1.0") -> None:
        reported = {"name": "openclaw", "version": version, "engines": {"node": node}}
        (self.package / "package.json").write_text(json.dumps(reported))

    def answers(self, text: str, code: int = 0) -> None:
        """What this OpenClaw prints when it is asked for its plugins."""
        (self.root / "answer").write_text(text)
        valid = f'if [ "$1" = config ]; then cat "{self.root}/valid"; exit; fi'
        _program(self.package / "openclaw.mjs", f'{valid}\ncat "{self.root}/answer"; exit {code}')

    def hangs(self, script: str) -> None:
        """What this OpenClaw does when it is asked for its plugins."""
        _program(self.package / "openclaw.mjs", f'[ "$1" = config ] && exec cat "{self.root}/valid"\n{script}')

    def validates(self, text: str) -> None:
        """What it says to the config."""
        (self.root / "valid").write_text(text)

    def lists(self, *hooks: tuple[str, int | None]) -> None:
        self.answers(f"[plugins] a line of the log\n{json.dumps(listing(*hooks), indent=2)}\n")

    def has_node(self, version: str) -> None:
        _program(self.root / "bin" / "node", f"echo {version}")


def host(root: Path) -> Host:
    made = Host(root)
    (root / "bin").mkdir(parents=True)
    made.package.mkdir(parents=True)
    (root / "bin" / "openclaw").symlink_to(made.package / "openclaw.mjs")
    made.is_release("2026.9.6")
    made.lists(("other", None), ("toolguard", LOWEST))
    made.validates('{"valid": true}')
    made.has_node("v24.19.0")
    return made


def _program(path: Path, text: str) -> None:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)


def listing(*hooks: tuple[str, int | None]) -> list[dict[str, Any]]:
    """What OpenClaw prints: a hook whose priority was not set has none."""
    return [
        {
            "plugin": {"id": plugin},
            "typedHooks": [{"name": "before_tool_call"} | ({} if priority is None else {"priority": priority})],
        }
        for plugin, priority in hooks
    ]


def healthy(places: Places, *, link: bool = False) -> None:
    """As it is after a first run."""
    put_in(places, link=link)
    ran(places, seams={"hooks": "works", "inPlaceText": "works", "textTransform": "unknown"})


def info(**changes: Any) -> engines.EngineInfo:
    usual: dict[str, Any] = {
        "pid": LIVING,
        "gateway_pid": 7,
        "gateway": "openclaw",
        "host": "2026.9.6",
        "version": __version__,
        "plugin": __version__,
        "started": 0.0,
        "mode": "enforce",
        "log_path": "/log",
    }
    return engines.EngineInfo(**usual | changes)


def runs(places: Places, **changes: Any) -> None:
    engines.publish(places.state_dir, info(**changes))


def ran(places: Places, **changes: Any) -> None:
    gone = info(**changes)
    engines.publish(places.state_dir, gone)
    engines.retire(places.state_dir, gone.pid)


def examined(places: Places, **options: Any) -> dict[str, dict[str, Any]]:
    """What `doctor` found, by id."""
    return by_id(doctor.run(places, **options))


def by_id(result: Result) -> dict[str, dict[str, Any]]:
    found: list[dict[str, Any]] = result.data["checks"]
    assert [check["id"] for check in found] == IDS
    failed = result.data["verdict"]["guarded"] == "no" or any(check["status"] == "error" for check in found)
    assert result.exit_code == int(failed)
    for check in found:
        assert list(check) == ["id", "status", "detail", "fix", "data", "group", "fixable"]
        assert bool(check["fix"]) is (check["status"] != "ok"), check
        assert check["status"] != "ok" or not check["fixable"], check
    return {check["id"]: check for check in found}


def faulty(found: dict[str, dict[str, Any]], but: Iterable[str] = ()) -> dict[str, str]:
    """The checks that are not ok, with their status."""
    return {name: check["status"] for name, check in found.items() if check["status"] != "ok" and name not in but}
