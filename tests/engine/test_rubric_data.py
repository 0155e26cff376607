"""The rubric as data, and the examples of the seed documents: what they decide, what toolguard decides, why it differs."""

from __future__ import annotations

from typing import Any

import pytest

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs as rulepacks
from toolguard_engine.rules import scores
from toolguard_engine.rules.rulebook import Rulebook
from toolguard_engine.server import tool_hints

HOME = "/home/ada"
WORKSPACE = f"{HOME}/.openclaw/workspace"
HOST = Host(home=HOME, state_dir=f"{HOME}/.openclaw", config_path=f"{HOME}/.openclaw/openclaw.json")
BOOK = Rulebook(rule for rules in rulepacks.packs().values() for rule in rules)

BASES = [
    ("exec", {}, (4, 5)),
    ("write", {}, (4, 5)),
    ("edit", {}, (4, 5)),
    ("apply_patch", {}, (4, 5)),
    ("gateway", {"action": "config.get"}, (4, 5)),
    ("gateway", {"action": "config.apply", "raw": "{}"}, (7, 5)),
    ("gateway", {"action": "config.patch", "raw": "{}"}, (7, 5)),
    ("gateway", {"action": "config.apply", "raw": "{agents: {model: 1}}"}, (7, 5)),
    ("gateway", {"action": "config.patch", "raw": "{defaultModel: 1}"}, (7, 5)),
    ("gateway", {"action": "update.run"}, (6, 5)),
    ("message", {}, (3, 3)),
    ("browser", {}, (3, 1)),
    ("cron", {}, (3, 1)),
    ("automations", {}, (3, 1)),
    ("nodes", {}, (3, 1)),
    ("read", {}, (1, 1)),
    ("web_fetch", {}, (1, 1)),
    ("a_tool_that_nobody_knows", {}, (1, 1)),
    ("gateway", None, (4, 5)),
    ("gateway", {"action": ["config.apply"], "raw": 7}, (4, 5)),
]


@each_row(("tool", "params", "expected"), BASES, ids=lambda value: str(value)[:40])
def test_base(tool: str, params: Any, expected: tuple[int, int]) -> None:
    assert scores.base(tool, params) == expected


def test_no_score_is_above_the_most() -> None:
    data = {"start": {"clarity": 1, "stakes": 1}, "add": [{"tools": ["x"], "clarity": 9, "stakes": 30}]}
    assert scores.score(scores.parse(data), "x", {}) == (10, 10)


def seed(tool: str, params: dict[str, Any]) -> str:
    """Seed 2's `evaluate`, as it is written there: gate I, then clarity times stakes over substrings."""
    command, action, raw = (str(params.get(name, "")) for name in ("command", "action", "raw"))
    if tool == "exec" and ("rm -rf /" in command.lower() or ":(){ :|:& };:" in command.lower()):
        return "block"
    infrastructure = tool in ("gateway", "exec", "Write", "Edit")
    clarity = 1 + 3 * infrastructure + 2 * (tool in ("message", "browser", "cron", "nodes"))
    stakes = 1 + 4 * infrastructure + 2 * (tool == "message")
    if tool == "gateway":
        config = action in ("config.apply", "config.patch")
        clarity += 3 * config + 2 * (action == "update.run")
        stakes += 3 * (config and ("model" in raw or "defaultModel" in raw))
    if tool == "exec":
        clarity += 2 * ("sudo" in command or "rm " in command)
        stakes += 3 * ("rm " in command and "-i" not in command)
        stakes += 4 * any(word in command for word in ("kill", "shutdown", "reboot"))
    return "hold" if min(clarity, 10) * min(stakes, 10) >= 36 else "allow"


SUBSTRING = "the seed looks for a substring; here what would run is what counts"
SMALL = "one file, or what can be built again, inside the workspace is ordinary work"
PERSON = "the seed's veto has no approval; a person may well want this"
GUARD = "it may take the guard out of the configuration, which no approval lifts"
CONFIG = "35 is one below the threshold; a changed gateway may lock everybody out"
PRIVATE = "the seed scores the tool alone; this looks at or acts on what is private"

SEED_2: list[tuple[str, dict[str, Any], str, str, str]] = [
    # tool, params, what the seed decides, what toolguard decides, why it differs
    ("exec", {"command": "ls"}, "allow", "allow", ""),
    ("exec", {"command": "git status"}, "allow", "allow", ""),
    ("exec", {"command": "rm notes.txt"}, "hold", "allow", SMALL),
    ("exec", {"command": "rm -i notes.txt"}, "allow", "allow", ""),
    ("exec", {"command": "rm -rf dist"}, "hold", "allow", SMALL),
    ("exec", {"command": "rm -rf ~/important"}, "hold", "hold", ""),
    (
        "exec",
        {"command": "rm -rf /tmp/build"},
        "block",
        "allow",
        "the seed finds `rm -rf /` in it; a temporary folder is no root",
    ),
    ("exec", {"command": "rm -rf /"}, "block", "block", ""),
    ("exec", {"command": "rm  -fr  /"}, "hold", "block", "the same act in another spelling"),
    ("exec", {"command": ":(){ :|:& };:"}, "block", "block", ""),
    ("exec", {"command": "kill 4711"}, "hold", "allow", "ending one process of one's own is ordinary work"),
    ("exec", {"command": "sudo ls"}, "allow", "allow", ""),
    ("exec", {"command": "sudo rm x"}, "hold", "hold", ""),
    ("exec", {"command": "shutdown -h now"}, "hold", "hold", ""),
    ("exec", {"command": "reboot"}, "hold", "hold", ""),
    ("exec", {"command": "ls skills"}, "hold", "allow", SUBSTRING),
    ("exec", {"command": "git log --grep reboot"}, "hold", "allow", SUBSTRING),
    ("exec", {"command": "echo 'rm x'"}, "hold", "allow", SUBSTRING),
    ("gateway", {"action": "config.get"}, "allow", "allow", ""),
    ("gateway", {"action": "config.apply", "raw": "{}"}, "allow", "block", GUARD),
    ("gateway", {"action": "config.apply", "raw": "{agents: {model: 'a/b'}}"}, "hold", "block", GUARD),
    ("gateway", {"action": "config.patch", "raw": "{messages: {}}"}, "allow", "hold", CONFIG),
    ("gateway", {"action": "config.patch", "raw": "{agents: {defaultModel: 'a/b'}}"}, "hold", "hold", ""),
    ("gateway", {"action": "update.run"}, "allow", "hold", "another release replaces the running one and restarts it"),
    ("Write", {"path": "notes.md", "content": "x"}, "allow", "allow", ""),
    ("Write", {"path": "~/.ssh/authorized_keys", "content": "x"}, "allow", "hold", PRIVATE),
    ("Edit", {"path": "src/a.py", "edits": []}, "allow", "allow", ""),
    ("message", {"action": "send", "message": "Done."}, "allow", "allow", ""),
    ("message", {"action": "ban", "userId": "7"}, "allow", "hold", PRIVATE),
    ("browser", {"action": "open", "targetUrl": "https://example.org"}, "allow", "allow", ""),
    ("browser", {"action": "act", "kind": "evaluate", "fn": "() => 1"}, "allow", "hold", PRIVATE),
    ("cron", {"action": "list"}, "allow", "allow", ""),
    ("cron", {"action": "add", "job": {"payload": {"kind": "agentTurn", "message": "Remind me"}}}, "allow", "allow", ""),
    ("cron", {"action": "add", "job": {"payload": {"kind": "command", "argv": ["date"]}}}, "allow", "hold", PRIVATE),
    ("nodes", {"action": "status"}, "allow", "allow", ""),
    ("nodes", {"action": "camera_snap", "node": "phone"}, "allow", "hold", PRIVATE),
    ("memory_search", {"query": "x"}, "allow", "allow", ""),
    ("memory_get", {"path": "MEMORY.md"}, "allow", "allow", ""),
    ("session_status", {}, "allow", "allow", ""),
    ("Read", {"path": "README.md"}, "allow", "allow", ""),
]

SEED_4: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("read", {"path": "/home/user/document.txt", "offset": 0, "limit": 100}, "allow", "allow", ""),
    ("read", {"path": "/nonexistent/file.txt"}, "allow", "allow", ""),
    ("bash", {"command": "ls -la /workspace", "timeout": 30000}, "allow", "allow", ""),
    ("exec", {"command": "rm -rf /"}, "block", "block", ""),
    ("exec", {"command": "rm -rf ~/photos"}, "block", "hold", PERSON),
    ("exec", {"command": "rm -rf node_modules"}, "block", "allow", SMALL),
    ("exec", {"command": "sudo systemctl stop nginx"}, "block", "hold", PERSON),
    ("bash", {"command": "chmod 777 /var/www"}, "block", "hold", PERSON),
    ("exec", {"command": "echo x > /etc/motd"}, "block", "hold", PERSON),
    ("exec", {"command": "grep 'rm -rf' build.log"}, "block", "allow", SUBSTRING),
    ("exec", {"command": "echo 'never sudo'"}, "block", "allow", SUBSTRING),
    ("write", {"path": "/etc/passwd", "content": "x"}, "block", "hold", PERSON),
]


def decide(tool: str, params: dict[str, Any], config: Config | None = None) -> str:
    guard = Guard(config or Config(), tool_hints.load(), HOST, BOOK)
    return guard.weigh(Call(tool, params, cwd=WORKSPACE)).decision


@each_row(("tool", "params", "theirs", "ours", "why"), SEED_2, ids=lambda value: str(value)[:60])
def test_examples_of_seed_2(tool: str, params: dict[str, Any], theirs: str, ours: str, why: str) -> None:
    assert seed(tool, params) == theirs
    assert decide(tool, params) == ours
    assert bool(why) is (theirs != ours)


@each_row(("tool", "params", "theirs", "ours", "why"), SEED_4, ids=lambda value: str(value)[:60])
def test_examples_of_seed_4(tool: str, params: dict[str, Any], theirs: str, ours: str, why: str) -> None:
    command = params.get("command", "")
    vetoed = any(part in command for part in ("rm -rf", "sudo", "chmod 777", "> /etc/"))
    assert theirs == ("block" if vetoed or params.get("path") == "/etc/passwd" else "allow")
    assert decide(tool, params) == ours
    assert bool(why) is (theirs != ours)


@pytest.mark.parametrize("action", ["config.get", "update.run", "restart"])
def test_tools_that_always_ask(action: str) -> None:
    """Seed 2's example configuration: all of the gateway's actions wait."""
    assert decide("gateway", {"action": action}, Config(always_block=["gateway"])) == "hold"


@each_row("tool", ["memory_search", "memory_get", "session_status", "Read"])
def test_tools_that_never_ask(tool: str) -> None:
    config = Config(never_block=["memory_search", "memory_get", "session_status", "Read"])
    assert decide(tool, {"path": "~/.ssh/id_rsa"}, config) == "allow"
