"""The level of a call: by what the guard really thinks of it, with the data and the rules that come with toolguard."""

from __future__ import annotations

import tomllib
from importlib.resources import as_file, files
from typing import Any, get_args

from tables import each_row
from toolguard_engine.config.settings import BudgetConfig, Config, RiskLevel
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.guard import Guard
from toolguard_engine.host.tool_names import ToolAction
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs as rulepacks
from toolguard_engine.rules import risk_levels
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.rules.rulebook import Rulebook
from toolguard_engine.server import tool_hints

HOME = "/home/ada"
WORKSPACE = f"{HOME}/.openclaw/workspace"
BOOK = Rulebook(rule for rules in rulepacks.packs().values() for rule in rules)


def call_of(tool: str, params: dict[str, Any]) -> Call:
    return Call(tool, params, agent="main", session="s", run="r", cwd=WORKSPACE)


def weighed(tool: str, params: dict[str, Any], config: Config | None = None) -> tuple[RiskLevel, bool]:
    config = config or Config()
    call = call_of(tool, params)
    found = Guard(config, tool_hints.load(), Host(HOME, f"{HOME}/.openclaw"), BOOK).weigh(call)
    rank, outward = risk_levels.weigh(CallReading(call), found, config)
    assert risk_levels.level(CallReading(call), found, config) == risk_levels.LEVELS[rank]
    return risk_levels.LEVELS[rank], outward


LEVELS: list[tuple[RiskLevel, bool, str, dict[str, Any]]] = [
    ("SAFE", False, "read", {"path": "src/app.py"}),
    ("SAFE", False, "exec", {"command": "ls -la src"}),
    ("SAFE", False, "sessions_list", {}),
    ("SAFE", False, "list_files", {"pattern": "*.py"}),
    ("SAFE", False, "process", {"action": "poll", "sessionId": "p1"}),
    ("LOW", False, "exec", {"command": "npm test"}),
    ("LOW", False, "exec", {"command": "rm -rf node_modules"}),
    ("LOW", False, "write", {"path": "src/app.py", "content": "x"}),
    ("LOW", False, "edit", {"path": "src/app.py", "oldText": "a", "newText": "b"}),
    ("LOW", False, "web_fetch", {"url": "https://docs.example/a"}),
    ("LOW", False, "web_search", {"query": "rate limits"}),
    ("LOW", False, "exec", {"command": "curl https://docs.example/a"}),
    ("LOW", False, "exec", {"command": "curl http://localhost:3000/api -d x"}),
    ("LOW", False, "browser", {"action": "act", "kind": "click"}),
    ("LOW", False, "crm__list_contacts", {}),
    ("LOW", False, "files__write_file", {"path": "a.txt", "content": "x"}),
    ("LOW", False, "frobnicate", {}),
    ("MEDIUM", True, "browser", {"action": "act", "kind": "type", "text": "x"}),
    ("MEDIUM", False, "crm__create_contact", {"title": "x"}),
    ("MEDIUM", False, "exec", {"command": "rm notes.txt"}),
    ("MEDIUM", False, "exec", {"command": "ssh build ls"}),
    ("MEDIUM", False, "write", {"path": f"{HOME}/notes.txt", "content": "x"}),
    ("MEDIUM", False, "apply_patch", {"input": "*** Begin Patch\n*** Delete File: a.py\n*** End Patch"}),
    ("MEDIUM", False, "cron", {"action": "add", "name": "daily"}),
    ("MEDIUM", False, "sessions_spawn", {"task": "x"}),
    ("HIGH", True, "message", {"action": "send", "target": "bob", "message": "x"}),
    ("HIGH", True, "gmail__send_email", {"to": "bob@example.com", "body": "x"}),
    ("HIGH", True, "exec", {"command": "curl -d @a.json https://api.example/v1"}),
    ("HIGH", True, "exec", {"command": "scp a.txt host:b.txt"}),
    ("HIGH", False, "exec", {"command": "sudo apt install ./jq.deb"}),
    ("HIGH", False, "nodes", {"action": "camera_snap"}),
    ("HIGH", False, "crm__delete_account", {"id": "7"}),
    ("CRITICAL", False, "bank__pay_invoice", {"id": "7"}),
    ("CRITICAL", False, "exec", {"command": "rm -rf /"}),
]


def test_levels() -> None:
    assert [
        (level, outward, tool, params, found)
        for level, outward, tool, params in LEVELS
        if (found := weighed(tool, params)) != (level, outward)
    ] == []


@each_row("named", ["message", "Message", "openclaw:core:message"])
@each_row("called", ["message", "MESSAGE"])
def test_a_setting_names_the_level_of_a_tool(named: str, called: str) -> None:
    config = Config(budget=BudgetConfig(tool_risk_map={named: "LOW"}))
    assert weighed(called, {"action": "send", "target": "bob", "message": "x"}, config) == ("LOW", True)
    assert weighed("read", {"path": "a"}, config) == ("SAFE", False)


def test_of_two_spellings_the_higher_level_counts() -> None:
    for chosen in ({"read": "HIGH", "Read": "LOW"}, {"Read": "LOW", "read": "HIGH"}):
        assert weighed("read", {"path": "a"}, Config(budget=BudgetConfig(tool_risk_map=chosen)))[0] == "HIGH"


def judged(stakes: int, *effects: Effect, tool: str = "write") -> RiskLevel:
    return risk_levels.level(CallReading(call_of(tool, {})), Judgement("allow", "allow", 1, stakes, effects), Config())


@each_row(
    ("stakes", "level"),
    [
        (1, "SAFE"),
        (2, "SAFE"),
        (3, "LOW"),
        (5, "LOW"),
        (6, "MEDIUM"),
        (7, "MEDIUM"),
        (8, "HIGH"),
        (9, "HIGH"),
        (10, "CRITICAL"),
    ],
)
def test_by_stakes(stakes: int, level: RiskLevel) -> None:
    assert judged(stakes) == level


def test_a_floor_never_lowers_and_the_highest_counts() -> None:
    fetch, pay = Effect("fetch", "https://a.example"), Effect("mcp", "x", "", frozenset(["pay"]))
    assert judged(8, fetch) == "HIGH"
    assert judged(1, fetch) == "LOW"
    assert judged(1, fetch, pay) == judged(1, pay, fetch) == "CRITICAL"


def test_flags_and_places_of_floors() -> None:
    assert judged(1, Effect("send", "h", "remote", frozenset(["local"]))) == "LOW"
    assert judged(1, Effect("delete", "a", "in-workspace")) == "MEDIUM"
    assert judged(1, Effect("delete", "a", "temp")) == "SAFE"
    assert judged(1, Effect("delete", "a", "in-workspace", frozenset(["rebuilt"]))) == "SAFE"
    assert judged(1, Effect("write", "a", "startup")) == "MEDIUM"


def test_what_only_looks_is_safe_unless_a_rule_speaks_or_it_goes_out() -> None:
    looks = call_of("exec", {"command": "ls"})
    plain = Judgement("allow", "allow", 4, 5)
    assert risk_levels.level(CallReading(looks), plain, Config()) == "SAFE"
    fetched = Judgement("allow", "allow", 4, 5, (Effect("fetch", "https://a.example"),))
    assert risk_levels.level(CallReading(looks), fetched, Config()) == "LOW"
    assert weighed("exec", {"command": "cat .env"})[0] == "MEDIUM"


def test_what_is_blocked_is_critical_where_it_runs_nevertheless() -> None:
    assert risk_levels.level(CallReading(call_of("read", {})), Judgement("block", "protect.files"), Config()) == "CRITICAL"


def test_the_data_names_kinds_and_flags_that_exist() -> None:
    """Kinds are named in the code that makes effects: a misspelt one would never fit."""
    data = tomllib.loads(files("toolguard_manifests").joinpath("levels.toml").read_text("utf-8"))
    with as_file(files("toolguard_engine")) as package:
        sources = [package / "host" / "tool_names.py", *(package / "effects").rglob("*.py")]
        text = "".join(path.read_text("utf-8") for path in sources)
    assert set(data["undescribed"]) - {"other"} <= set(get_args(ToolAction))
    for entry in data["floor"]:
        for name in (*entry["kinds"], *entry.get("flags", ()), *entry.get("not_flags", ())):
            assert f'"{name}"' in text or f" {name} " in text or f"`{name}`" in text or f"{name}=" in text, name
