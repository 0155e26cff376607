"""What becomes of old settings: tables of before and after, of odd shapes, and of what is not taken over."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from effort import some
from tables import each_row
from toolguard_cli import migrations
from toolguard_cli.commands import migrate
from toolguard_cli.hostconfig import config_tree, json5_edit
from toolguard_cli.migrations import allowed, old_plugins, plan
from toolguard_cli.migrations.hostloops import agent_id
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result
from toolguard_cli.validation import ConfigSubject, pluginids

OFF = {"enabled": False}
TOOL_GUARD = {
    "enabled": True,
    "maxIdenticalFailures": 3,
    "maxFailuresPerTurn": 7,
    "logPath": "/var/log/calls.log",
    "metrics": {
        "enabled": True,
        "dbPath": "/srv/metrics.db",
        "dashboard": {"enabled": True, "port": 9090, "bind": "127.0.0.1"},
        "retention": {"rawDays": 10, "hourlyDays": 20, "dailyDays": 30},
    },
}
GUARDIAN = {
    "enabled": True,
    "logLevel": "debug",
    "escalationThreshold": 40,
    "pendingTimeoutMs": 120_000,
    "approvalWindowMs": 20_000,
    "storePath": "/srv/ga.json",
    "alwaysBlock": ["gateway"],
    "neverBlock": ["read"],
}
EQUILIBRIUM = {
    "mode": "enforce",
    "initialTrust": 0.5,
    "budgetSize": 2,
    "riskCosts": {"SAFE": 0, "LOW": 0.1, "MEDIUM": 0.2, "HIGH": 0.5, "CRITICAL": 1},
    "toolRiskMap": {"exec": "HIGH"},
    "dashboardPort": 8081,
    "dashboardEnabled": True,
}
BUDGET = {
    "budget": {
        "mode": "enforce",
        "initialTrust": 0.5,
        "size": 2,
        "riskCosts": EQUILIBRIUM["riskCosts"],
        "toolRiskMap": {"exec": "HIGH"},
    },
    "metrics": {"dashboard": {"port": 8081, "enabled": True}},
}
LOOPS = {
    "historySize": 25,
    "warningThreshold": 9,
    "criticalThreshold": 18,
    "unknownToolThreshold": 8,
    "globalCircuitBreakerThreshold": 28,
    "detectors": {"genericRepeat": False, "knownPollNoProgress": True, "pingPong": True},
    "postCompactionGuard": {"windowSize": 4},
}
PREFIX = {"approval": {"prefix": "GUARDIAN_ANGEL"}}


def written(places: Places, config: object) -> None:
    text = config if isinstance(config, str) else json5_edit.set_value("{}\n", ("x",), config)
    if not isinstance(config, str):
        tree = json5_edit.parse(text)
        node = json5_edit.find(tree, ("x",))
        assert node is not None
        text = text[node.start : node.end] + "\n"
    places.config.write_text(text)


def entries(**named: Any) -> dict[str, Any]:
    return {"plugins": {"entries": {name.replace("_", "-"): entry for name, entry in named.items()}}}


def migrated(places: Places, config: object, source: str = "auto") -> tuple[dict[str, Any], Result]:
    """The config that comes out, and what was said. It must be stable: a second run changes nothing."""
    written(places, config)
    done = migrate.run(places, source=source, yes=True, openclaw=())
    text = places.config.read_bytes()
    again = migrate.run(places, source=source, yes=True, openclaw=())
    assert (again.data["changed"], places.config.read_bytes()) == (False, text)
    return config_tree.read(places.config).value, done


def left(result: Result) -> dict[str, str]:
    return {each["from"]: each["reason"] for each in result.data["notMoved"]}


MAPPINGS = [
    pytest.param("tool-guard", TOOL_GUARD, TOOL_GUARD, id="tool-guard"),
    pytest.param("openclaw-tool-guard", TOOL_GUARD, TOOL_GUARD, id="openclaw-tool-guard"),
    pytest.param("guardian-angel", GUARDIAN, GUARDIAN | PREFIX, id="guardian-angel"),
    pytest.param("guardian_angel", GUARDIAN, GUARDIAN | PREFIX, id="guardian_angel"),
    pytest.param("openclaw-guardian-angel", GUARDIAN, GUARDIAN | PREFIX, id="openclaw-guardian-angel"),
    pytest.param("equilibrium-guard", EQUILIBRIUM, BUDGET, id="equilibrium-guard"),
    pytest.param("equilibrium_guard", EQUILIBRIUM, BUDGET, id="equilibrium_guard"),
    pytest.param("openclaw-equilibrium-guard", EQUILIBRIUM, BUDGET, id="openclaw-equilibrium-guard"),
]


@pytest.mark.parametrize(("plugin", "old", "new"), some(MAPPINGS))
@pytest.mark.parametrize("where", ["config", "entry"])
def test_every_setting_has_its_place(
    places: Places, plugin: str, old: dict[str, Any], new: dict[str, Any], where: str
) -> None:
    """Under `config`, and in the entry itself, where `enabled` is the entry's own."""
    entry = {"enabled": True, "config": old} if where == "config" else {**old, "enabled": True}
    expected = dict(new) if where == "config" else {key: value for key, value in new.items() if key != "enabled"}
    value, done = migrated(places, {"plugins": {"entries": {plugin: entry}}})
    assert value == {"plugins": {"entries": {plugin: OFF, "toolguard": {"enabled": True, "config": expected}}}}
    assert left(done) == {}
    assert {each["from"].split()[0] for each in done.data["moved"]} == {plugin}


def test_every_setting_of_the_tables_is_one_that_toolguard_has() -> None:
    for migration in old_plugins.migrations():
        targets = [target.split(".") for target in (*migration.settings.values(), *migration.set)]
        if "host_loops" in migration.steps:
            targets = [["loopDetection", *target] for target in targets]
        assert [target for target in targets if not allowed.describe(tuple(target))] == []
        assert set(migration.steps) <= set(plan.STEPS)
    assert [each.name[:3] for each in old_plugins.migrations()] == ["001", "002", "003", "004", "005"]


ON, NOT_ON = {"enabled": True}, {"enabled": False}
SWITCHES = [
    pytest.param({"tool-guard": {"enabled": True}}, True, id="on"),
    pytest.param({"tool-guard": {}}, True, id="on unless it says otherwise"),
    pytest.param({"tool-guard": {"enabled": False, "config": {"logPath": "/x"}}}, False, id="off"),
    pytest.param(
        {"tool-guard": {"enabled": False, "config": {"logPath": "/x"}}, "guardian-angel": {"enabled": True}},
        True,
        id="one of two is on",
    ),
    pytest.param({"tool-guard": {"enabled": True}, "toolguard": {"enabled": False}}, False, id="ours says no"),
    pytest.param(
        {"tool-guard": {"enabled": False, "config": {"logPath": "/x"}}, "toolguard": {"enabled": True}},
        True,
        id="ours says yes",
    ),
    pytest.param(
        {"tool-guard": {"enabled": False, "config": {"logPath": "/x"}}, "toolguard": {}}, None, id="ours says nothing"
    ),
]


@pytest.mark.parametrize(("old", "expected"), SWITCHES)
def test_ours_is_on_where_an_old_one_was(places: Places, old: dict[str, Any], expected: bool | None) -> None:  # noqa: FBT001
    value, _ = migrated(places, {"plugins": {"entries": old}})
    assert value["plugins"]["entries"]["toolguard"].get("enabled") is expected
    assert value["plugins"]["entries"]["tool-guard"] == OFF


KEPT_BACK = [
    (
        "tool-guard",
        {"maxIdenticalFailures": 0},
        "0 is not allowed; maxIdenticalFailures must be a whole number from 1 to 100",
    ),
    (
        "tool-guard",
        {"maxIdenticalFailures": 2.5},
        "2.5 is not allowed; maxIdenticalFailures must be a whole number from 1 to 100",
    ),
    (
        "tool-guard",
        {"maxIdenticalFailures": "2"},
        '"2" is not allowed; maxIdenticalFailures must be a whole number from 1 to 100',
    ),
    ("tool-guard", {"logPath": None}, "null is not allowed; logPath must be a string of 1 to 4096 characters"),
    ("tool-guard", {"colour": "red"}, "toolguard has no such setting"),
    ("guardian-angel", {"logLevel": "loud"}, '"loud" is not allowed; logLevel must be one of debug, info, warn, error'),
    ("guardian-angel", {"alwaysBlock": "exec"}, '"exec" is not allowed; alwaysBlock must be a list [ ... ] of at most 500'),
    ("guardian-angel", {"enabled": "yes"}, '"yes" is not allowed; enabled must be true or false'),
    (
        "equilibrium-guard",
        {"dashboardPort": 0},
        "0 is not allowed; metrics.dashboard.port must be a whole number from 1 to 65535",
    ),
    ("equilibrium-guard", {"initialTrust": 2}, "2 is not allowed; budget.initialTrust must be a number from 0 to 1"),
]


@pytest.mark.parametrize(("plugin", "config", "reason"), KEPT_BACK, ids=lambda value: str(value)[:40])
def test_what_would_not_fit_stays_and_is_told(places: Places, plugin: str, config: dict[str, Any], reason: str) -> None:
    value, done = migrated(places, {"plugins": {"entries": {plugin: {"enabled": True, "config": config}}}})
    (key,) = config
    assert left(done) == {f"{plugin} {key}": reason}
    assert value["plugins"]["entries"][plugin] == {"enabled": False, "config": config}
    assert key not in value["plugins"]["entries"]["toolguard"].get("config", {})


def test_a_whole_number_with_a_point_is_one_for_the_gateway(places: Places) -> None:
    settings = "maxIdenticalFailures: 3.0, metrics: { retention: { rawDays: 9. } }"
    text = f"{{ plugins: {{ entries: {{ 'tool-guard': {{ config: {{ {settings} }} }} }} }} }}"
    value, done = migrated(places, text)
    assert (left(done), done.data["warnings"]) == ({}, [])
    assert value["plugins"]["entries"]["toolguard"]["config"] == {
        "maxIdenticalFailures": 3.0,
        "metrics": {"retention": {"rawDays": 9.0}},
    }


def test_of_an_object_what_fits_is_taken(places: Places) -> None:
    metrics = {"enabled": True, "gateway": "ada", "dashboard": {"port": 0, "bind": "::1"}}
    value, done = migrated(places, entries(tool_guard={"enabled": True, "config": {"metrics": metrics}}))
    assert value["plugins"]["entries"] == {
        "tool-guard": {"enabled": False, "config": {"metrics": {"gateway": "ada", "dashboard": {"port": 0}}}},
        "toolguard": {"enabled": True, "config": {"metrics": {"enabled": True, "dashboard": {"bind": "::1"}}}},
    }
    assert left(done) == {
        "tool-guard metrics.gateway": "toolguard has no such setting",
        "tool-guard metrics.dashboard.port": (
            "0 is not allowed; metrics.dashboard.port must be a whole number from 1 to 65535"
        ),
    }


def test_what_is_set_here_wins(places: Places) -> None:
    old = {"maxIdenticalFailures": 3, "metrics": {"enabled": True, "dbPath": "/old.db"}}
    ours = {"maxIdenticalFailures": 4, "metrics": {"dbPath": "/new.db"}}
    value, done = migrated(places, entries(tool_guard={"config": old}, toolguard={"enabled": True, "config": ours}))
    assert value["plugins"]["entries"]["toolguard"]["config"] == {
        "maxIdenticalFailures": 4,
        "metrics": {"dbPath": "/new.db", "enabled": True},
    }
    assert left(done) == {
        "tool-guard maxIdenticalFailures": "toolguard has maxIdenticalFailures = 4, which stays",
        "tool-guard metrics.dbPath": 'toolguard has metrics.dbPath = "/new.db", which stays',
    }


def test_of_two_old_plugins_the_first_of_the_table_wins(places: Places) -> None:
    config = {"guardian-angel": {"config": {"enabled": False}}, "tool-guard": {"config": {"enabled": True}}}
    value, done = migrated(places, {"plugins": {"entries": config}})
    assert value["plugins"]["entries"]["toolguard"]["config"] == {"enabled": True, **PREFIX}
    assert left(done) == {"guardian-angel enabled": "tool-guard enabled became enabled = true, which stays"}


ODD = [
    pytest.param(None, OFF, id="null"),
    pytest.param(True, OFF, id="true"),
    pytest.param([1], OFF, id="a list"),
    pytest.param("on", OFF, id="a text"),
    pytest.param({"enabled": True, "config": None}, OFF, id="config null"),
    pytest.param({"enabled": True, "config": [1]}, OFF, id="config a list"),
    pytest.param({"enabled": "yes"}, OFF, id="enabled a text"),
    pytest.param({"enabled": True, "colour": "red"}, {**OFF, "config": {"colour": "red"}}, id="unknown key beside config"),
    pytest.param(
        {"colour": "red", "config": {"colour": "blue"}}, {"config": {"colour": "blue"}, **OFF}, id="unknown key in both"
    ),
    pytest.param(
        {"enabled": True, "hooks": {"allowConversationAccess": True}},
        {**OFF, "hooks": {"allowConversationAccess": True}},
        id="what the gateway knows in an entry",
    ),
    pytest.param(
        {"logPath": "/direct", "config": {"logPath": "/config"}}, {"config": {"logPath": "/direct"}, **OFF}, id="set twice"
    ),
]


@pytest.mark.parametrize(("entry", "after"), ODD)
def test_entries_of_odd_shapes_become_ones_that_the_gateway_takes(
    places: Places, entry: object, after: dict[str, Any]
) -> None:
    value, _ = migrated(places, {"plugins": {"entries": {"tool-guard": entry}}})
    assert value["plugins"]["entries"]["tool-guard"] == after


@pytest.mark.parametrize(
    "config",
    [
        {},
        {"plugins": None},
        {"plugins": []},
        {"plugins": {"entries": None}},
        {"plugins": {"entries": [{"tool-guard": {}}]}},
        {"plugins": {"entries": {"tool-guard": OFF}}},
        {"plugins": {"entries": {"tool-guard": {**OFF, "config": {"colour": "red"}}}}},
        {"plugins": {"allow": ["tool-guard"], "deny": ["tool-guard"], "load": {"paths": ["/tool-guard"]}}},
        {"tools": None, "agents": {"list": 5, "entries": []}},
        {"tools": {"loopDetection": {"enabled": True}}},
        {"tools": {"loopDetection": [1]}},
        {"agents": {"list": [None, {"tools": {"loopDetection": {"historySize": 3}}}, {"id": "---"}]}},
    ],
    ids=str,
)
def test_nothing_to_migrate(places: Places, config: dict[str, Any]) -> None:
    written(places, config)
    before = places.config.read_bytes()
    done = migrate.run(places, yes=True, openclaw=())
    assert done.lines[0].text == f"nothing to migrate in {places.config}"
    assert (done.data["changed"], done.exit_code, places.config.read_bytes()) == (False, 0, before)
    assert migrations.find(config_tree.read(places.config)) == []


def test_no_config_at_all(places: Places) -> None:
    assert migrate.run(places, yes=True, openclaw=()).data["changed"] is False
    assert not places.config.exists()


@pytest.mark.parametrize("entry", [None, [], {"config": []}, {"config": 3}], ids=str)
def test_an_entry_of_ours_that_is_no_object_is_refused(places: Places, entry: object) -> None:
    written(places, {"plugins": {"entries": {"tool-guard": {"enabled": True}, "toolguard": entry}}})
    before = places.config.read_bytes()
    with pytest.raises(UserError, match="is not an object"):
        migrate.run(places, yes=True, openclaw=())
    assert places.config.read_bytes() == before


@pytest.mark.parametrize(
    ("allow", "after"),
    [
        (["tool-guard"], ["tool-guard", "toolguard"]),
        (["other", "tool-guard", "toolguard"], ["other", "tool-guard", "toolguard"]),
        (["other"], ["other"]),
        ([], []),
    ],
    ids=str,
)
def test_allow(places: Places, allow: list[str], after: list[str]) -> None:
    config = {"plugins": {"allow": allow, "entries": {"tool-guard": {"enabled": True}}}}
    value, _ = migrated(places, config)
    assert value["plugins"]["allow"] == after


@pytest.mark.parametrize("lies", [False, True], ids=["not there", "lies there"])
def test_validate_names_migrate_only_where_that_does_something(places: Places, lies: bool) -> None:  # noqa: FBT001
    if lies:
        folder = places.state_dir / "extensions" / "guardian-angel"
        folder.mkdir(parents=True)
        (folder / "openclaw.plugin.json").write_text('{"id": "guardian-angel"}')
    written(places, {"plugins": {"allow": ["guardian-angel", "toolguard"], "entries": {"toolguard": {"enabled": True}}}})

    def messages() -> list[str]:
        subject = ConfigSubject(config_tree.read(places.config), places)
        found = [*pluginids.are_known(subject), *pluginids.are_taken_over(subject)]
        return [each.fix for each in found]

    assert messages() == (["toolguard migrate"] if lies else [])
    assert migrate.run(places, yes=True, openclaw=()).data["changed"] is lies
    assert messages() == []


def test_what_else_names_an_old_plugin_is_told(places: Places) -> None:
    folder = places.state_dir / "extensions" / "tool-guard"
    folder.mkdir(parents=True)
    plugins = {"deny": ["toolguard"], "slots": {"memory": "tool-guard"}, "entries": {"tool-guard": {"enabled": True}}}
    value, done = migrated(places, {"plugins": plugins})
    assert value["plugins"]["slots"] == {"memory": "tool-guard"}
    assert done.data["warnings"] == [
        'plugins.deny names "toolguard": remove it, or the guard is not loaded',
        "plugins.slots.memory names tool-guard: choose another plugin for it",
    ]
    messages = [line.text for line in done.lines]
    assert f"{folder} stays: a plugin that is switched off is not loaded" in messages


@pytest.mark.parametrize("where", ["extensions", "workspace", "load path", "load path by manifest"])
def test_a_plugin_that_lies_there_without_an_entry_is_switched_off(places: Places, tmp_path: Path, where: str) -> None:
    places_of = {
        "extensions": places.state_dir / "extensions" / "tool-guard",
        "workspace": tmp_path / "w" / ".openclaw" / "extensions" / "tool-guard",
        "load path": tmp_path / "tool-guard",
        "load path by manifest": tmp_path / "checkout",
    }
    folder = places_of[where]
    folder.mkdir(parents=True)
    (folder / "openclaw.plugin.json").write_text('{"id": "tool-guard"}')
    load = {"load": {"paths": [str(folder)]}} if where.startswith("load") else {"enabled": True}
    config = {"agents": {"defaults": {"workspace": str(tmp_path / "w")}}, "plugins": load}
    value, _ = migrated(places, config)
    assert value["plugins"]["entries"] == {"toolguard": {"enabled": True}, "tool-guard": OFF}


@pytest.mark.parametrize("plugins", [{"deny": ["tool-guard"]}, {"allow": ["other"]}], ids=str)
def test_a_plugin_that_does_not_load_needs_no_entry(places: Places, plugins: dict[str, Any]) -> None:
    (places.state_dir / "extensions" / "tool-guard").mkdir(parents=True)
    written(places, {"plugins": plugins})
    assert migrate.run(places, yes=True, openclaw=()).data["changed"] is False


def test_loop_detection_of_the_gateway(places: Places) -> None:
    value, done = migrated(places, {"tools": {"loopDetection": {"enabled": False, **LOOPS}, "exec": {}}})
    assert value == {
        "tools": {"loopDetection": {"enabled": False}, "exec": {}},
        "plugins": {"entries": {"toolguard": {"config": {"loopDetection": {"enabled": False, **LOOPS}}}}},
    }
    assert left(done) == {}


@pytest.mark.parametrize("field", LOOPS)
def test_each_field_alone_is_one_that_the_gateway_knows_no_more(places: Places, field: str) -> None:
    value, _ = migrated(places, {"tools": {"loopDetection": {field: LOOPS[field]}}})
    assert value["plugins"]["entries"]["toolguard"]["config"] == {"loopDetection": {field: LOOPS[field]}}
    assert "loopDetection" not in value["tools"]


AGENTS = [
    pytest.param({"list": [{"id": "other"}, {"id": "Safe Runner"}]}, ("list", 1), "safe-runner", id="list"),
    pytest.param({"entries": {"safe-runner": {}}}, ("entries", "safe-runner"), "safe-runner", id="entries"),
]


@pytest.mark.parametrize(("agents", "at", "agent"), AGENTS)
def test_loop_detection_of_an_agent(places: Places, agents: dict[str, Any], at: tuple[str, Any], agent: str) -> None:
    agents[at[0]][at[1]]["tools"] = {"loopDetection": {"enabled": True, "warningThreshold": 8}}
    value, done = migrated(places, {"agents": agents})
    assert value["agents"][at[0]][at[1]]["tools"] == {"loopDetection": {"enabled": True}}
    ours = {"loopDetection": {"enabled": True, "warningThreshold": 8}}
    assert value["plugins"]["entries"]["toolguard"]["config"] == {"agents": {agent: ours}}
    assert left(done) == {}


def test_nothing_of_it_is_left_in_the_block_of_the_gateway(places: Places) -> None:
    block = {"enabled": True, "warningThreshold": 0, "criticalThreshold": 9, "detectors": {"pingPong": False, "colour": 1}}
    ours = {"enabled": False, "config": {"loopDetection": {"criticalThreshold": 12}}}
    value, done = migrated(places, {"tools": {"loopDetection": block}, "plugins": {"entries": {"toolguard": ours}}})
    assert value["tools"] == {"loopDetection": {"enabled": True}}
    assert value["plugins"]["entries"]["toolguard"] == {
        "enabled": False,
        "config": {"loopDetection": {"criticalThreshold": 12, "enabled": True, "detectors": {"pingPong": False}}},
    }
    gone = "; removed anyway, because the gateway does not know it"
    assert left(done) == {
        "tools.loopDetection.warningThreshold": (
            f"0 is not allowed; loopDetection.warningThreshold must be a whole number from 1 to 10000{gone}"
        ),
        "tools.loopDetection.criticalThreshold": f"toolguard has loopDetection.criticalThreshold = 12, which stays{gone}",
        "tools.loopDetection.detectors.colour": f"toolguard has no such setting{gone}",
    }


def test_what_the_gateway_never_knew_is_left_to_the_person(places: Places) -> None:
    value, done = migrated(places, {"tools": {"loopDetection": {"historySize": 5, "colour": "red"}}})
    assert value["tools"] == {"loopDetection": {"colour": "red"}}
    assert left(done) == {"tools.loopDetection.colour": "neither OpenClaw nor toolguard has such a setting"}
    again = migrate.run(places, yes=True, openclaw=())
    assert [line.text for line in again.lines] == [
        f"nothing to migrate in {places.config}",
        "not moved: tools.loopDetection.colour: neither OpenClaw nor toolguard has such a setting",
    ]


@each_row(
    ("written_id", "expected"),
    [
        ("main", "main"),
        (" Main ", "main"),
        ("Safe Runner!", "safe-runner"),
        ("--", ""),
        ("", ""),
        (3, ""),
        ("a" * 70, "a" * 64),
    ],
)
def test_ids_of_agents_are_those_of_the_gateway(written_id: object, expected: str) -> None:
    assert agent_id(written_id) == expected


def test_a_renamed_entry_moves_as_a_whole(places: Places) -> None:
    entry = {"enabled": True, "hooks": {"allowConversationAccess": True}, "config": {"mode": "soft", "agents": {"a": {}}}}
    value, done = migrated(places, entries(openclaw_toolguard=entry))
    assert value["plugins"]["entries"] == {"toolguard": entry}
    assert [each["to"] for each in done.data["moved"]] == ["mode", "agents"]


def test_a_renamed_entry_beside_ours_moves_by_setting(places: Places) -> None:
    old = {"enabled": True, "config": {"mode": "soft", "failMode": "open"}}
    value, done = migrated(
        places, entries(openclaw_toolguard=old, toolguard={"enabled": True, "config": {"mode": "shadow"}})
    )
    assert value["plugins"]["entries"] == {
        "openclaw-toolguard": {"enabled": False, "config": {"mode": "soft"}},
        "toolguard": {"enabled": True, "config": {"mode": "shadow", "failMode": "open"}},
    }
    assert left(done) == {"openclaw-toolguard mode": 'toolguard has mode = "shadow", which stays'}


@pytest.mark.parametrize("source", ["tool-guard", "001", "001-tool-guard", "openclaw-tool-guard"])
def test_one_of_them(places: Places, source: str) -> None:
    both = entries(tool_guard={"enabled": True}, guardian_angel={"enabled": True})
    value, done = migrated(places, both, source)
    assert done.data["found"] == ["tool-guard"]
    assert value["plugins"]["entries"]["guardian-angel"] == {"enabled": True}
    assert migrations.find(config_tree.read(places.config)) == ["guardian-angel"]


def test_none_of_that_name(places: Places) -> None:
    with pytest.raises(UserError) as caught:
        migrate.run(places, source="nobody", yes=True, openclaw=())
    assert caught.value.message == "unknown migration 'nobody'"
    assert caught.value.fix == (
        "use one of tool-guard, guardian-angel, equilibrium-guard, host-loop-detection, renamed-ids, or auto for all"
    )


def test_found_names_what_is_left_to_do(places: Places) -> None:
    config = entries(
        tool_guard={"enabled": True}, guardian_angel={"enabled": False, "config": {"logLevel": "info"}}, other={}
    )
    agents = {"list": [{"id": "a", "tools": {"loopDetection": {"historySize": 3}}}]}
    written(places, config | {"tools": {"loopDetection": {"historySize": 3}}, "agents": agents})
    assert migrations.find(config_tree.read(places.config)) == [
        "tool-guard",
        "guardian-angel",
        "tools.loopDetection",
        "agents.list[0].tools.loopDetection",
    ]
    migrate.run(places, yes=True, openclaw=())
    assert migrations.find(config_tree.read(places.config)) == []


OFF_STAYS = "toolguard guards nothing until that is changed"


@pytest.mark.parametrize(
    ("more", "ours", "warnings"),
    [
        pytest.param({}, {"enabled": False}, [f"plugins.entries.toolguard.enabled = false: {OFF_STAYS}"], id="entry"),
        pytest.param({"enabled": False}, {}, [f"plugins.enabled = false: {OFF_STAYS}"], id="all plugins"),
        pytest.param(
            {},
            {"enabled": True, "config": {"enabled": False}},
            [f"plugins.entries.toolguard.config.enabled = false: {OFF_STAYS}"],
            id="setting",
        ),
        pytest.param(
            {},
            {"enabled": True, "config": {"mode": "disabled"}},
            [f'plugins.entries.toolguard.config.mode = "disabled": {OFF_STAYS}'],
            id="mode",
        ),
        pytest.param({}, {"enabled": True, "config": {"mode": "soft"}}, [], id="it guards"),
        pytest.param({}, {}, [], id="install switches it on"),
    ],
)
def test_that_nothing_guards_in_the_place_of_an_old_plugin_is_told(
    places: Places, more: dict[str, Any], ours: dict[str, Any], warnings: list[str]
) -> None:
    plugins = {**more, "entries": {"tool-guard": {"enabled": True}, "toolguard": ours}}
    _, done = migrated(places, {"plugins": plugins})
    assert done.data["warnings"] == warnings


def test_a_master_switch_that_is_taken_over_is_told_by_its_old_name(places: Places) -> None:
    _, done = migrated(places, entries(tool_guard={"enabled": True}, guardian_angel={"config": {"enabled": False}}))
    assert done.data["warnings"] == [f"guardian-angel enabled = false: {OFF_STAYS}"]


def test_variables_stay_as_they_are_written(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEVEL", "warn")
    config = {"logLevel": "${LEVEL}", "escalationThreshold": "${NUMBER}"}
    value, done = migrated(places, entries(guardian_angel={"enabled": True, "config": config}))
    assert value["plugins"]["entries"]["toolguard"]["config"] == {"logLevel": "${LEVEL}", **PREFIX}
    assert list(left(done)) == ["guardian-angel escalationThreshold"]


def test_settings_that_contradict_each_other_are_told(places: Places) -> None:
    ours = {"enabled": True, "config": {"maxFailuresPerTurn": 3}}
    _, done = migrated(places, entries(tool_guard={"config": {"maxIdenticalFailures": 9}}, toolguard=ours))
    (warning,) = done.data["warnings"]
    assert warning.startswith(
        "plugins.entries.toolguard.config.maxIdenticalFailures: maxIdenticalFailures (9) must be at most"
    )


def test_a_fault_in_our_own_settings_that_was_there_before_is_told(places: Places) -> None:
    ours = {"enabled": True, "config": {"mode": "loud"}}
    value, done = migrated(places, entries(tool_guard={"config": {"logPath": "/x"}}, toolguard=ours))
    assert value["plugins"]["entries"]["toolguard"]["config"] == {"mode": "loud", "logPath": "/x"}
    (warning,) = done.data["warnings"]
    assert warning.startswith(
        "the gateway does not start because of an earlier error: plugins.entries.toolguard.config.mode: "
    )
