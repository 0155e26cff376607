"""Each check of the config: what it finds in which text, and where."""

from __future__ import annotations

import json
import os
import socket
import stat
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from cli_stage import answering

from toolguard_cli import validation
from toolguard_cli.hostconfig import config_tree
from toolguard_cli.hostconfig.config_tree import ConfigTree
from toolguard_cli.policy import offline_guard
from toolguard_cli.system import extras
from toolguard_cli.system.paths import Places
from toolguard_cli.validation import (
    ConfigFinding,
    ConfigSubject,
    enabled_extras,
    entry_settings,
    file_texts,
    loading,
    pluginids,
    resources,
    rule_ids,
    startup,
)

MAIN = "openclaw.json"
Found = list[tuple[str, str, str, int, int]]
"""Level, path, message, line and column of each finding."""


def ours(settings: str) -> str:
    """A config of one line with these settings of ours."""
    return f"{{ plugins: {{ entries: {{ toolguard: {{ enabled: true, config: {settings} }} }} }} }}"


START = len("{ plugins: { entries: { toolguard: { enabled: true, config: { ")
"""The column in front of the first setting."""


def lay(places: Places, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = places.state_dir / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())


def tree(places: Places, text: str) -> ConfigTree:
    lay(places, {MAIN: text})
    return config_tree.read(places.config)


def look(places: Places, check: validation.Check, text: str, **env: str) -> list[ConfigFinding]:
    lay(places, {MAIN: text})
    return list(check(ConfigSubject(config_tree.read(places.config), places, env)))


def short(found: list[ConfigFinding]) -> Found:
    return [(each.level, each.path, each.message, each.line, each.column) for each in found]


KEYS = "plugins.entries.toolguard.config"
IDLE = "these settings have no effect"
ALWAYS_TEXT = "the value of a variable is always a string"
MODE = "gateway: { mode: 'local' }"
UNKNOWN = "unknown setting; valid names:"
OLDER = "slots, bundledDiscovery, installs"


# ---- the files


def test_no_file(places: Places) -> None:
    found = list(file_texts.there(ConfigSubject(config_tree.read(places.config), places)))
    assert found == [
        ConfigFinding(
            "error",
            "",
            "the file does not exist",
            "toolguard install creates it; or pass the right one with --config",
            str(places.config),
        )
    ]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        pytest.param({MAIN: "{ a: { $include: 'a.json5' } }", "a.json5": "{ b: 1 }"}, [], id="fine"),
        pytest.param(
            {MAIN: "{\n  a: { $include: './a.json5' } }"},
            [("error", "a.$include", "$include ./a.json5 does not exist", 2, 8)],
            id="missing",
        ),
        pytest.param(
            {MAIN: "{ a: { $include: '../x.json5' } }"},
            [("error", "a.$include", "$include ../x.json5 is outside the folder of the config", 1, 8)],
            id="outside",
        ),
        pytest.param(
            {MAIN: "{ a: { $include: 'a.json5' } }", "a.json5": "{ b: { $include: './a.json5' } }"},
            [("error", "a.b.$include", "$include ./a.json5 includes itself", 1, 8)],
            id="itself",
        ),
        pytest.param(
            {MAIN: "{ a: { $include: 'a.json5' } }", "a.json5": "{\n  b: 1\n  c: 2\n}"},
            [("error", "a", "not valid JSON5: expected ',' or '}' after a member, found 'c'", 3, 3)],
            id="no JSON5",
        ),
        pytest.param(
            {MAIN: "{ a: { $include: 3 }, b: { $include: 'b.json5' } }"},
            [
                ("error", "a.$include", "$include does not name a file", 1, 8),
                ("error", "b.$include", "$include b.json5 does not exist", 1, 28),
            ],
            id="two",
        ),
    ],
)
def test_includes(places: Places, files: dict[str, str], found: Found) -> None:
    lay(places, files)
    assert short(list(file_texts.included(ConfigSubject(config_tree.read(places.config), places)))) == found


def test_an_included_file_that_is_no_json5_is_named(places: Places) -> None:
    lay(places, {MAIN: "{ a: { $include: 'a.json5' } }", "a.json5": "{ b: ]}"})
    (found,) = file_texts.included(ConfigSubject(config_tree.read(places.config), places))
    assert found.where == f"{places.state_dir / 'a.json5'}, line 1, column 6"
    assert found.excerpt == "{ b: ]}\n     ^"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("{ gateway: { mode: 'local' } }", [], id="there"),
        pytest.param("{ gateway: { mode: '${MODE}' } }", [], id="a variable"),
        pytest.param("{\n gateway: {} }", [("gateway.mode", 2)], id="an empty group"),
        pytest.param("{ gateway: { mode: '' } }", [("gateway.mode", 1)], id="an empty text"),
        pytest.param("{}", [("gateway.mode", 1)], id="nothing"),
        pytest.param("{ gateway: { $include: 'gone' } }", [], id="an include that cannot be read"),
    ],
)
def test_the_gateway_needs_its_mode(places: Places, text: str, found: list[tuple[str, int]]) -> None:
    reported = look(places, startup.has_mode, text)
    assert [(each.path, each.line) for each in reported] == found
    assert {(each.level, each.fix) for each in reported} <= {("warn", "toolguard config set gateway.mode local")}


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("{}", []),
        ("{ rulesOff: ['nope'] }", [(0, "names nope: there is no such rule or pack")]),
        ("{ rulesOff: ['shell.exfi', 'user.mine', 'nope'] }", [(2, "names nope: there is no such rule or pack")]),
        ("{ rulesOff: ['${NAME_OF_A_RULE}'] }", []),
        ("{ rulesOff: [7] }", []),
    ],
    ids=["none", "one", "some", "a variable", "no text"],
)
def test_rules_that_are_off(places: Places, settings: str, found: list[tuple[int, str]]) -> None:
    known = min(rule.id for rule in offline_guard.all_rules())
    lay(places, {"toolguard/policy.toml": '[[rule]]\nid = "mine"\nrun = ["x"]\nstakes = 1\nreason = "R."\n'})
    reported = look(places, rule_ids.are_known, ours(settings.replace("shell.exfi", known)))
    assert [(each.level, each.path, each.message) for each in reported] == [
        ("warn", f"{KEYS}.rulesOff[{at}]", message) for at, message in found
    ]
    off = "; toolguard check --list lists all rules and packs"
    assert [each.fix for each in reported] == [f"toolguard config unset 'rulesOff[{at}]'{off}" for at, _ in found]


def test_a_rule_that_was_probably_meant(places: Places) -> None:
    known = min(rule.id for rule in offline_guard.all_rules())
    (found,) = look(places, rule_ids.are_known, ours(json.dumps({"rulesOff": [f"{known}x"]})))
    assert found.message.endswith(f"; did you mean {known}?")


# ---- our entry


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("{}", [], id="nothing"),
        pytest.param("{ plugins: [] }", [("error", "plugins", "must be an object { ... }, not []", 1, 3)], id="plugins"),
        pytest.param(
            "{ plugins: {\n entries: 1 } }",
            [("error", "plugins.entries", "must be an object { ... }, not 1", 2, 2)],
            id="entries",
        ),
        pytest.param(
            "{ plugins: { entries: { toolguard: true } } }",
            [("error", "plugins.entries.toolguard", "must be an object { ... }, not true", 1, 25)],
            id="entry",
        ),
        pytest.param(
            "{ plugins: { enabled: '${ON}', allow: ['a', 1], load: { paths: 'x' }, entries: { a: { enabled: 1 } } } }",
            [
                ("error", "plugins.enabled", f'must be true or false, not "${{ON}}"; {ALWAYS_TEXT}', 1, 14),
                ("error", "plugins.allow[1]", "must be a string, not 1", 1, 45),
                ("error", "plugins.load.paths", 'must be a list [ ... ], not "x"', 1, 57),
                ("error", "plugins.entries.a.enabled", "must be true or false, not 1", 1, 87),
            ],
            id="lists and switches",
        ),
        pytest.param("{ plugins: { slots: 7, installs: {} }, gateway: 3 }", [], id="what only OpenClaw knows"),
        pytest.param("{ plugins: { allow: ['${ID}'], entries: { a: { hooks: 1 } } } }", [], id="a text, and what it knows"),
        pytest.param(
            "{ plugins: { bogus: 1, load: { path: 1 }, entries: { a: { bogus: 1, config: null } } } }",
            [
                ("error", "plugins.bogus", f"{UNKNOWN} enabled, allow, deny, load, entries, {OLDER}", 1, 14),
                ("error", "plugins.load.path", "unknown setting; did you mean plugins.load.paths?", 1, 32),
                ("error", "plugins.entries.a.bogus", f"{UNKNOWN} config, enabled, hooks, llm, subagent", 1, 59),
                ("error", "plugins.entries.a.config", "must be an object { ... }, not null", 1, 69),
            ],
            id="keys that the gateway does not know",
        ),
    ],
)
def test_plugins_have_their_shape(places: Places, text: str, found: Found) -> None:
    assert short(look(places, entry_settings.plugins_have_their_shape, text)) == found


def test_all_wrong_settings_are_named_at_once(places: Places) -> None:
    text = """{
  plugins: { entries: { toolguard: { config: {
    // comment
    mode: "loud",
    approval: { prefix: "x",
      colour: 1 },
    agents: { "a.b": { mode: 1 } }, /* two */ alwaysBlock: ["ok", 7],
  } } } },
}"""
    found = look(places, entry_settings.fits, text)
    modes = "must be one of enforce, soft, shadow, disabled"
    assert short(found) == [
        ("error", f"{KEYS}.mode", f'{modes}, not "loud"', 4, 5),
        ("error", f"{KEYS}.approval.prefix", 'must be a string that matches ^[A-Z][A-Z0-9_]{0,39}$, not "x"', 5, 17),
        (
            "error",
            f"{KEYS}.approval.colour",
            (
                "unknown setting; valid names: mode, prefix, wake, agentTool, answerLinks, answerLinkMs, signers, "
                "revokedSigners"
            ),
            6,
            7,
        ),
        ("error", f'{KEYS}.agents["a.b"].mode', f"{modes}, not 1", 7, 24),
        ("error", f"{KEYS}.alwaysBlock[1]", "must be a string of 1 to 200 characters, not 7", 7, 67),
    ]
    assert [each.fix for each in found] == [
        'toolguard config unset mode (the default is "enforce")',
        'toolguard config unset approval.prefix (the default is "TOOLGUARD")',
        "toolguard config unset approval.colour",
        """toolguard config unset 'agents["a.b"].mode'""",
        "toolguard config unset 'alwaysBlock[1]'",
    ]
    assert found[0].excerpt == '    mode: "loud",\n    ^'


@pytest.mark.parametrize(
    ("unknown", "fix"),
    [
        ("gateway", f"toolguard config unset {KEYS}.gateway"),
        ("mdoe", f"rename it to mode, or toolguard config unset {KEYS}.mdoe"),
    ],
)
def test_an_unknown_setting_is_not_taken_for_a_section_of_the_gateway(places: Places, unknown: str, fix: str) -> None:
    (found,) = look(places, entry_settings.fits, ours(f"{{ {unknown}: 1 }}"))
    assert found.fix == fix


def test_settings_that_are_nothing_at_all(places: Places) -> None:
    """The gateway does not start with `config: null`, and does without any."""
    (found,) = validation.errors(validation.findings(tree(places, ours("null")), places))
    assert (found.path, found.message) == (KEYS, "must be an object { ... }, not null")
    assert found.fix == f"toolguard config unset {KEYS}"
    assert look(places, entry_settings.fits, "{ plugins: { entries: { toolguard: { enabled: true } } } }") == []


@pytest.mark.parametrize("number", ["3.0", "3", "3e0"])
def test_a_whole_number_may_be_written_as_a_fraction(places: Places, number: str) -> None:
    text = ours(f"{{ maxIdenticalFailures: {number}, agents: {{ a: {{ maxIdenticalFailures: {number} }} }} }}")
    assert look(places, entry_settings.fits, text) == []
    assert ConfigSubject(tree(places, text), places, {}).settings is not None


def test_agents_under_names_that_the_gateway_does_not_use(places: Places) -> None:
    found = look(
        places, entry_settings.agents_are_called_so, ours("{ agents: { main: {}, Main: {}, 'a b': {}, '--': {} } }")
    )
    assert [(each.level, each.path, each.message, each.fix) for each in found] == [
        ("warn", f"{KEYS}.agents.Main", f"OpenClaw runs this agent as main: {IDLE}", "rename it to main"),
        ("warn", f'{KEYS}.agents["a b"]', f"OpenClaw runs this agent as a-b: {IDLE}", "rename it to a-b"),
        (
            "warn",
            f'{KEYS}.agents["--"]',
            f"OpenClaw runs no agent with such a name: {IDLE}",
            """toolguard config unset 'agents["--"]'""",
        ),
    ]


def test_settings_of_an_old_plugin_at_the_wrong_place_are_for_migrate(places: Places) -> None:
    (found,) = look(
        places, entry_settings.plugins_have_their_shape, "{ plugins: { entries: { 'guardian-angel': { mode: 1 } } } }"
    )
    assert (found.path, found.fix) == ("plugins.entries.guardian-angel.mode", "toolguard migrate")


def test_the_command_names_the_gateway(places: Places) -> None:
    given = Places(places.state_dir, places.config, ("--config", str(places.config)))
    lay(places, {MAIN: ours("{ mode: 1 }")})
    (found,) = entry_settings.fits(ConfigSubject(config_tree.read(places.config), given, {}))
    assert found.fix == f'toolguard config unset mode --config {places.config} (the default is "enforce")'


@pytest.mark.parametrize(
    ("settings", "env", "wrong"),
    [
        ("{ mode: '${MODE}' }", {"MODE": "soft"}, 0),
        ("{ mode: '${MODE}' }", {"MODE": "loud"}, 1),
        ("{ mode: '${MODE}' }", {}, 0),
        ("{ mode: '$${MODE}' }", {}, 1),
        ("{ '${MODE}': 1 }", {}, 1),
        ("{ maxIdenticalFailures: '${MODE}' }", {}, 1),
        ("{ maxIdenticalFailures: '${MODE}' }", {"MODE": "3"}, 1),
        ("{ approval: '${MODE}' }", {}, 1),
        ("{ alwaysBlock: ['${MODE}'] }", {}, 0),
    ],
    ids=["fits", "not", "untold", "no variable", "in a name", "no number", "no number either", "no object", "in a list"],
)
def test_variables_are_filled_in(places: Places, settings: str, env: dict[str, str], wrong: int) -> None:
    assert len(look(places, entry_settings.fits, ours(settings), **env)) == wrong


@pytest.mark.parametrize(
    ("settings", "path", "message"),
    [
        (
            "{ loopDetection: { warningThreshold: 20 } }",
            "loopDetection.warningThreshold",
            "loopDetection.warningThreshold (20) must be below loopDetection.criticalThreshold (20)",
        ),
        (
            "{ loopDetection: { criticalThreshold: 40, historySize: 50 } }",
            "loopDetection.criticalThreshold",
            "loopDetection.criticalThreshold (40) must be below loopDetection.globalCircuitBreakerThreshold (30)",
        ),
        ("{ alwaysBlock: ['memory_get'] }", "alwaysBlock", "alwaysBlock and neverBlock both name 'memory_get'"),
    ],
    ids=["warning and critical", "critical and global", "always and never"],
)
def test_what_contradicts(places: Places, settings: str, path: str, message: str) -> None:
    (found,) = look(places, entry_settings.agrees, ours(settings))
    assert (found.level, found.path) == ("error", f"{KEYS}.{path}")
    assert found.message.startswith(message)
    assert found.fix == f"change one of the two: toolguard config set {path} VALUE"
    assert found.line == 1


def test_a_setting_without_effect_is_a_warning_with_both_ways_out(places: Places) -> None:
    """The guard works all the same."""
    (found,) = look(places, entry_settings.agrees, ours("{ approval: { answerLinks: true } }"))
    assert (found.level, found.path) == ("warn", f"{KEYS}.approval.answerLinks")
    assert "has TLS" in found.fix
    assert found.fix.endswith("or toolguard config unset approval.answerLinks")


def test_defaults_agree_and_what_does_not_fit_is_not_judged_twice(places: Places) -> None:
    assert look(places, entry_settings.agrees, ours("{}")) == []
    assert look(places, entry_settings.agrees, ours("{ mode: 1, loopDetection: { warningThreshold: 20 } }")) == []


def test_variables_that_are_not_set(places: Places) -> None:
    text = ours("{ python: '${PY}/bin/${PY}', logPath: '${HOME_DIR}/x', alwaysBlock: ['$${A}', '${B}'] }")
    said = "is not set here; if it is not set for the gateway either, it is not substituted"
    assert [
        (each.level, each.path, each.message)
        for each in look(places, entry_settings.knows_its_variables, text, HOME_DIR="/h")
    ] == [
        ("warn", f"{KEYS}.python", f"${{PY}} {said}"),
        ("warn", f"{KEYS}.alwaysBlock[1]", f"${{B}} {said}"),
    ]


TARGETS = [
    ("url: '${NO_SUCH}'", []),
    ("webhook: '${NO_SUCH}/x'", []),
    ("url: 'nonsense://x'", [("error", ".url", "apprise does not know this kind of URL, or a part of it is missing")]),
    ("url: 'x'", [("error", "", "url is not one of ntfy or apprise, such as ntfys://host/topic: nothing is sent to x")]),
]


@pytest.mark.parametrize(("target", "wrong"), TARGETS)
def test_addresses_of_notifications(places: Places, target: str, wrong: list[tuple[str, str, str]]) -> None:
    text, path = ours(f"{{ notify: {{ targets: {{ x: {{ {target} }} }} }} }}"), f"{KEYS}.notify.targets.x"
    found = look(places, entry_settings.targets_are_usable, text)
    assert [(each.level, each.path.removeprefix(path), each.message) for each in found] == wrong
    unset = look(places, entry_settings.knows_its_variables, text)
    assert {each.message for each in unset} <= {"${NO_SUCH} is not set here, so the address was not checked"}
    assert bool(unset) != bool(wrong)


def test_without_apprise_the_command_that_installs_it_is_named(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "apprise" else find_spec(name))
    text = ours("{ notify: { targets: { x: { url: 'nonsense://x' } } } }")
    assert look(places, entry_settings.targets_are_usable, text) == []
    (found,) = look(places, enabled_extras.are_installed, text)
    assert (found.level, found.message) == ("warn", "its URL needs apprise, which is not installed")
    assert found.fix == f"{sys.executable} -m pip install 'openclaw-toolguard[notify]'"


# ---- loading


@pytest.mark.parametrize(
    ("check", "plugins", "found"),
    [
        pytest.param(loading.is_allowed, "allow: ['x']", [], id="not installed"),
        pytest.param(loading.is_allowed, "entries: { toolguard: {} }", [], id="no lists"),
        pytest.param(loading.is_allowed, "allow: ['toolguard'], entries: { toolguard: {} }", [], id="allowed"),
        pytest.param(
            loading.is_allowed,
            "allow: ['x'], entries: { toolguard: {} }",
            [("error", "plugins.allow", "does not name toolguard: the gateway does not load the guard", 1, 14)],
            id="not allowed",
        ),
        pytest.param(
            loading.is_allowed,
            "allow: ['toolguard'], deny: ['x', 'toolguard'], entries: { toolguard: {} }",
            [("error", "plugins.deny[1]", "names toolguard: the gateway does not load the guard", 1, 48)],
            id="denied",
        ),
        pytest.param(loading.is_on, "enabled: false", [], id="off and not installed"),
        pytest.param(loading.is_on, "enabled: true, entries: { toolguard: { enabled: true } }", [], id="on"),
        pytest.param(
            loading.is_on,
            "enabled: false, entries: { toolguard: { enabled: false } }",
            [
                ("warn", "plugins.enabled", "is false: the gateway loads no plugins", 1, 14),
                ("warn", "plugins.entries.toolguard.enabled", "is not true: the guard is off", 1, 54),
            ],
            id="off",
        ),
        pytest.param(
            loading.agree,
            "allow: ['a', 'b'], deny: ['c', 'b']",
            [("warn", "plugins.deny[1]", '"b" is in plugins.allow too; it is not loaded', 1, 45)],
            id="in both lists",
        ),
        pytest.param(loading.agree, "allow: 'a', deny: {}", [], id="no lists at all"),
    ],
)
def test_loading(places: Places, check: validation.Check, plugins: str, found: Found) -> None:
    assert short(look(places, check, f"{{ plugins: {{ {plugins} }} }}")) == found


def plugin(place: Path, named: str) -> Path:
    place.mkdir(parents=True)
    (place / "openclaw.plugin.json").write_text(json.dumps({"id": named}))
    return place


def _open_to_all(place: Path) -> None:
    place.chmod(0o777)


def _open_file(place: Path) -> None:
    (place / "openclaw.plugin.json").chmod(0o666)


def _hard_link(place: Path) -> None:
    (place / "other.json").hardlink_to(place / "openclaw.plugin.json")


def _nothing(place: Path) -> None:
    """As it is."""


@pytest.mark.parametrize(
    ("named", "spoil", "level", "said"),
    [
        ("toolguard", _nothing, "", ""),
        ("other", _nothing, "", ""),
        ("toolguard", _open_to_all, "error", "the gateway refuses the guard: PLACE is writable by everyone (mode 777)"),
        (
            "toolguard",
            _open_file,
            "error",
            "the gateway refuses the guard: PLACE/openclaw.plugin.json is writable by everyone (mode 666)",
        ),
        (
            "toolguard",
            _hard_link,
            "error",
            "the gateway refuses the guard: PLACE/openclaw.plugin.json is a hard link (2 names)",
        ),
        ("other", _open_to_all, "warn", "PLACE is writable by everyone (mode 777): the gateway refuses it"),
    ],
    ids=["ours", "another", "ours, open", "a file of ours, open", "ours, linked", "another, open"],
)
def test_load_paths(
    places: Places, tmp_path: Path, named: str, spoil: Callable[[Path], None], level: str, said: str
) -> None:
    place = plugin(tmp_path / "plugins" / named, named)
    place.chmod(0o755)
    spoil(place)
    found = look(places, loading.lie_there, json.dumps({"plugins": {"load": {"paths": [str(place)]}}}))
    assert [(each.level, each.message.replace(str(place), "PLACE")) for each in found] == ([(level, said)] if level else [])
    assert all(each.path == "plugins.load.paths[0]" for each in found)


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("/nowhere/at/all", "/nowhere/at/all does not exist"),
        ("plugins/x", "'plugins/x' depends on the folder in which the gateway is started"),
        ("a\0b", "'a\\x00b' depends on the folder in which the gateway is started"),
        ("${PLUGINS}/x", ""),
        (3, ""),
    ],
    ids=["missing", "relative", "no path", "a variable", "no text"],
)
def test_odd_load_paths(places: Places, written: object, said: str) -> None:
    found = look(places, loading.lie_there, json.dumps({"plugins": {"load": {"paths": ["/", written]}}}))
    assert [(each.level, each.path, each.message) for each in found] == (
        [("warn", "plugins.load.paths[1]", said)] if said else []
    )


def test_a_load_path_that_belongs_to_a_foreigner(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = plugin(tmp_path / "other", "other")
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    real = Path.stat

    def stat_as(self: Path, **options: bool) -> os.stat_result:
        info = real(self, **options)
        return os.stat_result((*info[:4], 54321 if self == place else 12345, *info[5:10]))

    monkeypatch.setattr(Path, "stat", stat_as)
    found = look(places, loading.lie_there, json.dumps({"plugins": {"load": {"paths": [str(place)]}}}))
    assert [each.message for each in found] == [f"{place} belongs to user 54321: the gateway refuses it"]


@pytest.mark.parametrize(
    ("plugins", "found"),
    [
        pytest.param("entries: { 'toolguard': {}, browser: {} }, allow: ['memory-core']", [], id="fine"),
        pytest.param("entries: { 'tool-guard': { enabled: true } }", [], id="an old one, which is not taken over"),
        pytest.param(
            "allow: ['guardian_angel'], deny: ['equilibrium-guard'], slots: { memory: 'equilibrium-guard' }",
            [
                (
                    "warn",
                    "plugins.slots.memory",
                    "toolguard replaces equilibrium-guard, but not in slots",
                )
            ],
            id="old ones in lists",
        ),
        pytest.param(
            "entries: { toolgaurd: {} }, allow: ['my-plugn', 'my-plugin', 'lnked']",
            [
                ("warn", "plugins.entries.toolgaurd", "there is no plugin toolgaurd"),
                ("warn", "plugins.allow[0]", "there is no plugin my-plugn"),
                ("warn", "plugins.allow[2]", "there is no plugin lnked"),
            ],
            id="slips",
        ),
    ],
)
def test_plugin_ids(places: Places, tmp_path: Path, plugins: str, found: list[tuple[str, str, str]]) -> None:
    plugin(places.state_dir / "extensions" / "mine", "my-plugin")
    (places.state_dir / "extensions" / "broken").mkdir()
    (places.state_dir / "extensions" / "broken" / "openclaw.plugin.json").write_text("[")
    linked = plugin(tmp_path / "linked", "linked")
    text = f"{{ plugins: {{ {plugins}, load: {{ paths: [{str(linked)!r}, 7] }} }} }}"
    reported = look(places, pluginids.are_known, text)
    assert [(each.level, each.path, each.message) for each in reported] == found


NO_MORE = "OpenClaw 2026.9 and later remove this unknown setting along with all comments in the file"


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("{}", [], id="nothing"),
        pytest.param(
            "{ plugins: { entries: { 'tool-guard': { enabled: true } } } }",
            [("warn", "plugins.entries.tool-guard", "toolguard replaces tool-guard", 1, 25)],
            id="an old plugin",
        ),
        pytest.param("{ plugins: { entries: { 'tool-guard': { enabled: false } } } }", [], id="an old one that is off"),
        pytest.param(
            "{ tools: { loopDetection: { enabled: true, criticalThreshold: 20, postCompactionGuard: { windowSize: 3 } } } }",
            [
                ("warn", "tools.loopDetection.criticalThreshold", NO_MORE, 1, 44),
                (
                    "warn",
                    "tools.loopDetection.postCompactionGuard",
                    "OpenClaw 2026.9 and later remove this unknown setting along with all comments in the file",
                    1,
                    67,
                ),
            ],
            id="an old block",
        ),
        pytest.param("{ tools: { loopDetection: { enabled: true } } }", [], id="a new block"),
    ],
)
def test_what_is_to_be_taken_over(places: Places, text: str, found: Found) -> None:
    reported = look(places, pluginids.are_taken_over, text)
    assert short(reported) == found
    assert {each.fix for each in reported} <= {"toolguard migrate"}


def test_of_two_words_on_one_fault_the_graver_stays_with_the_better_advice(places: Places, tmp_path: Path) -> None:
    lay(places, {MAIN: "{ gateway: { mode: 'local' }, tools: { loopDetection: { criticalThreshold: 20 } } }"})
    answer = {
        "valid": False,
        "issues": [{"path": "tools.loopDetection", "message": 'Unrecognized key: "criticalThreshold"'}],
    }
    found = validation.findings(config_tree.read(places.config), places, openclaw=answering(tmp_path, answer))
    assert [(each.level, each.path, each.message, each.fix) for each in validation.errors(found)] == [
        ("error", "tools.loopDetection.criticalThreshold", "OpenClaw does not know this key", "toolguard migrate")
    ]
    assert not [each for each in found if each.level == "warn"]


# ---- files, interpreter, port


@pytest.mark.parametrize(
    ("settings", "found"),
    [
        ("{}", []),
        ("{ logPath: '~/.openclaw/log/x.log' }", []),
        ("{ logPath: 'taken/x' }", [("logPath", "STATE/taken/x cannot be created: STATE/taken is not a folder")]),
        ("{ logPath: '~/.openclaw/folder' }", [("logPath", "STATE/folder is a folder")]),
        ("{ storePath: 'STATE/taken/x' }", [("storePath", "STATE/taken/x cannot be created: STATE/taken is not a folder")]),
        ("{ logPath: 'a\\0b' }", [("logPath", "it is not a path")]),
        ("{ logPath: '" + "a" * 300 + "' }", [("logPath", "it cannot be written: File name too long")]),
        ("{ logPath: '${LOGS}/x' }", []),
        ("{ logPath: 7 }", []),
        ("{ metrics: { dbPath: 'taken/x' } }", []),
        (
            "{ metrics: { enabled: true, dbPath: 'taken/x' } }",
            [("metrics.dbPath", "STATE/taken/x cannot be created: STATE/taken is not a folder")],
        ),
        (
            "{ logPath: 'locked/x', storePath: 'shut' }",
            [
                ("logPath", "STATE/locked/x cannot be created: STATE/locked is not writable"),
                ("storePath", "STATE/shut is not writable"),
            ],
        ),
    ],
    ids=[
        "defaults", "a new folder", "a file in the way", "a folder", "whole path", "no path", "too long", "a variable",
        "no text", "metrics are off", "metrics are on", "not allowed",
    ],
)  # fmt: skip
def test_paths(places: Places, monkeypatch: pytest.MonkeyPatch, settings: str, found: list[tuple[str, str]]) -> None:
    lay(places, {"taken": "", "shut": "", "locked/y": ""})
    (places.state_dir / "folder").mkdir()
    may = os.access  # root may write everywhere
    monkeypatch.setattr(os, "access", lambda path, mode: Path(path).name not in {"locked", "shut"} and may(path, mode))
    state = str(places.state_dir)
    before = sorted(places.state_dir.rglob("*"))
    reported = look(places, resources.can_be_written, ours(settings.replace("STATE", state)))
    assert [(each.path.removeprefix(f"{KEYS}."), each.message.replace(state, "STATE")) for each in reported] == found
    assert sorted(places.state_dir.rglob("*")) == sorted({*before, places.config})


@pytest.mark.parametrize(
    ("python", "said"),
    [
        (sys.executable, ""),
        ("python3", ""),
        ("${PY}/python", ""),
        ("/nowhere/python", "/nowhere/python does not exist"),
        ("/", "/ does not exist"),
        ("no-such-python", "no-such-python is not on PATH"),
        ("~/venv/bin/python", "~/venv/bin/python is not an absolute path"),
        ("/etc/hostname-of-mine", "/etc/hostname-of-mine does not exist"),
        ("a\0b", "it is not a path"),
    ],
)
def test_python(places: Places, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, python: str, said: str) -> None:
    (tmp_path / "python3").write_text("#!/bin/sh\n")
    (tmp_path / "python3").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    reported = look(places, resources.can_run, ours(json.dumps({"python": python})))
    assert [(each.level, each.path, each.message) for each in reported] == (
        [("error", f"{KEYS}.python", said)] if said else []
    )


def test_python_that_may_not_be_executed(places: Places, tmp_path: Path) -> None:
    program = tmp_path / "python"
    program.write_text("")
    program.chmod(stat.S_IRUSR)
    (reported,) = look(places, resources.can_run, ours(json.dumps({"python": str(program)})))
    assert reported.message == f"{program} is not executable"


@pytest.fixture
def taken() -> Iterator[int]:
    """A port that somebody listens on."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen()
        yield listening.getsockname()[1]


def dashboard(port: object, *, enabled: bool = True, bind: str = "127.0.0.1", gateway: object = None) -> str:
    settings = {"metrics": {"dashboard": {"enabled": enabled, "port": port, "bind": bind}}}
    return json.dumps({"gateway": {"port": gateway}, "plugins": {"entries": {"toolguard": {"config": settings}}}})


def test_a_port_that_is_taken(places: Places, taken: int) -> None:
    def said(text: str, **env: str) -> list[tuple[str, str]]:
        return [(each.level, each.message) for each in look(places, resources.is_free, text, **env)]

    assert said(dashboard(taken)) == [("warn", f"port {taken} of 127.0.0.1 is in use")]
    assert said(dashboard(taken, bind="localhost")) == [("warn", f"port {taken} of localhost is in use")]
    assert said(dashboard(taken, enabled=False)) == []
    assert said(dashboard(taken, bind="not.looked.up.example")) == []
    assert said(dashboard("x")) == said(dashboard(0)) == []
    assert said(dashboard(taken, gateway=taken)) == [("error", f"{taken} is the gateway's own port")]
    assert said(dashboard(18789)) == [("error", "18789 is the gateway's own port")]
    assert said(dashboard(1234), OPENCLAW_GATEWAY_PORT="1234") == [("error", "1234 is the gateway's own port")]


def test_a_port_that_is_free_and_an_address_of_somebody_else(places: Places, taken: int) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    assert look(places, resources.is_free, dashboard(port)) == []
    (found,) = look(places, resources.is_free, dashboard(port, bind="192.0.2.1"))
    assert found.message == f"port {port} of 192.0.2.1 cannot be used: Cannot assign requested address"


# ---- all together


HEALTHY = """{
  // mine
  gateway: { mode: "local" },
  plugins: { allow: ["toolguard"], entries: { toolguard: { enabled: true, config: { mode: "soft" } } } },
}
"""


def test_a_healthy_config(places: Places, tmp_path: Path) -> None:
    lay(places, {MAIN: HEALTHY})
    tree = config_tree.read(places.config)
    assert validation.findings(tree, places) == []
    assert validation.findings(tree, places, openclaw=answering(tmp_path, {"valid": True})) == []


def test_errors_come_first(places: Places) -> None:
    lay(places, {MAIN: ours("{ budget: {}, mode: 1 }")})
    found = validation.findings(config_tree.read(places.config), places)
    assert [each.level for each in found] == ["error", "warn"]


def test_plugins_that_may_be_anywhere_are_named_where_openclaw_is_not_asked(places: Places, tmp_path: Path) -> None:
    plugin(places.state_dir / "extensions" / "mine", "my-plugin")
    named = "allow: ['toolguard', 'zzz', 'my-plugin'], entries: { nosuch: {}, zzz: {}, toolguard: { enabled: true } }"
    config = tree(places, f"{{ {MODE}, plugins: {{ {named} }} }}")
    (found,) = validation.findings(config, places)
    assert (found.level, found.message) == ("info", "only OpenClaw can check whether these plugins exist: nosuch, zzz")
    assert validation.findings(config, places, openclaw=answering(tmp_path, {"valid": True})) == []
    many = ", ".join(f"'p{number}'" for number in range(12))
    (found,) = validation.findings(
        tree(places, f"{{ {MODE}, plugins: {{ deny: ['b'], slots: {{ a: 'x', memory: 'none' }}, allow: [{many}] }} }}"),
        places,
    )[1:]
    assert found.message.endswith(": x, p0, p1, p2, p3, p4, p5, p6, p7, p8 and 3 more")


def test_nothing_is_said_twice(places: Places, tmp_path: Path) -> None:
    """Of what both find, ours stays: it knows what to do."""
    plugin(places.state_dir / "extensions" / "old", "tool-guard")
    text = (
        "{ plugins: { allow: ['toolguard', 'tool-guard'], entries: { toolguard: { enabled: true, config: { mode: 1 } } } } }"
    )
    lay(places, {MAIN: text.replace("{", f"{{ {MODE}, ", 1)})
    answer = {
        "valid": False,
        "issues": [
            {"path": f"{KEYS}.mode", "message": "must be equal to one of"},
            {"path": "gateway.port", "message": "no"},
        ],
        "warnings": [
            {"path": "plugins.allow", "message": "plugin not found: tool-guard"},
            {"path": "gateway.auth.token", "message": 'Missing env var "X"'},
        ],
    }
    found = validation.findings(config_tree.read(places.config), places, openclaw=answering(tmp_path, answer))
    assert [(each.level, each.path) for each in found] == [
        ("error", f"{KEYS}.mode"),
        ("error", "gateway.port"),
        ("warn", "plugins.allow[1]"),
        ("warn", "gateway.auth.token"),
    ]
    assert found[0].message.startswith("must be one of enforce")


def test_a_plugin_that_is_older_than_this_toolguard(places: Places, tmp_path: Path) -> None:
    lay(places, {MAIN: HEALTHY})
    answer = {
        "valid": False,
        "issues": [{"path": KEYS, "message": 'invalid config: must not have additional properties: "mode"'}],
    }
    (found,) = validation.findings(config_tree.read(places.config), places, openclaw=answering(tmp_path, answer))
    assert (found.level, found.path, found.fix) == ("error", f"{KEYS}.mode", "toolguard install first")
    why = "OpenClaw does not know this key"
    assert found.message == f"the plugin in the gateway rejects this, and may be older than this toolguard ({why})"
    assert (found.line, found.column) == (4, 85)


@pytest.mark.parametrize("text", ["{ a: { $include: 'gone' } }", None], ids=["broken include", "no file"])
def test_openclaw_is_not_asked_what_it_cannot_read(places: Places, tmp_path: Path, text: str | None) -> None:
    if text is not None:
        lay(places, {MAIN: text})
    script = tmp_path / "openclaw.py"
    script.write_text(f"open({str(tmp_path / 'asked')!r}, 'w')")
    found = validation.findings(config_tree.read(places.config), places, openclaw=[sys.executable, str(script)])
    assert len(validation.errors(found)) == 1
    assert not (tmp_path / "asked").exists()


def test_only_the_checks_that_are_wanted(places: Places) -> None:
    lay(places, {MAIN: ours("{ mode: 1, python: '/nowhere' }")})
    tree = config_tree.read(places.config)
    found = validation.findings(tree, places, checks=(resources.can_run,))
    assert [each.path for each in found] == [f"{KEYS}.python"]
