"""The paths that people write, and the values."""

from __future__ import annotations

from typing import Any

import pytest

from tables import each_row
from toolguard_cli.hostconfig import config_tree
from toolguard_cli.hostconfig.config_tree import ConfigTree, Steps
from toolguard_cli.operations import setting_names
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import negative_numbers

OWN = ("plugins", "entries", "toolguard", "config")
TEXT = """{
  agents: { list: [{ id: "main" }] },
  plugins: { allow: ["a", "b"], entries: { "a b": {}, "x.y": {}, toolguard: { config: { rulesOff: ["r"] } } } },
}"""


@pytest.fixture
def tree(places: Places) -> ConfigTree:
    places.config.write_text(TEXT)
    return config_tree.read(places.config)


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("mode", (*OWN, "mode")),
        ("approval.prefix", (*OWN, "approval", "prefix")),
        ("agents.main.mode", (*OWN, "agents", "main", "mode")),
        ("agents.my-agent.mode", (*OWN, "agents", "my-agent", "mode")),
        ("rulesOff[0]", (*OWN, "rulesOff", 0)),
        ("rulesOff.0", (*OWN, "rulesOff", 0)),
        ("rulesOff[1]", (*OWN, "rulesOff", 1)),
        ("loopDetection.detectors.pingPong", (*OWN, "loopDetection", "detectors", "pingPong")),
        ('agents["a.b"].mode', (*OWN, "agents", "a.b", "mode")),
        ("plugins.allow", ("plugins", "allow")),
        ("plugins.allow[1]", ("plugins", "allow", 1)),
        ('plugins.entries["a b"]', ("plugins", "entries", "a b")),
        ("plugins.entries['x.y'].enabled", ("plugins", "entries", "x.y", "enabled")),
        ("plugins.entries.a b", ("plugins", "entries", "a b")),
        (r'plugins.entries["q\"]"]', ("plugins", "entries", 'q"]')),
        ("plugins.entries.toolguard.config.mode", (*OWN, "mode")),
        ('["plugins"].allow', ("plugins", "allow")),
        ("tools.exec.security", ("tools", "exec", "security")),
    ],
)
def test_a_path(tree: ConfigTree, text: str, steps: Steps) -> None:
    assert setting_names.resolve(text, tree, root=False).steps == steps


def test_root_means_the_whole_config(tree: ConfigTree) -> None:
    assert setting_names.resolve("agents.list.0.id", tree, root=True).steps == ("agents", "list", 0, "id")
    assert setting_names.resolve("mode", tree, root=True).steps == ("mode",)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "",
            ".",
            ".mode",
            "mode.",
            "a..b",
            "a[",
            "a[]",
            "a[x]",
            "a[-1]",
            "[",
            '["a',
            "a b[",
            "a.[0]",
            "a]",
            " mode",
            'a"b"',
        ),
        "a" * 2000,
        ".".join("a" * 100),
    ],
    ids=lambda text: text[:12] or "empty",
)
def test_no_path(tree: ConfigTree, text: str) -> None:
    with pytest.raises(UserError) as caught:
        setting_names.resolve(text, tree, root=False)
    assert caught.value.message.endswith("is not a path")
    assert caught.value.fix == """write it like mode, agents.main.mode, rulesOff[0], plugins.entries["a b"]"""


@pytest.mark.parametrize(
    ("text", "meant"),
    [("mdoe", "mode"), ("escalationTreshold", "escalationThreshold"), ("Mode", "mode"), ("agent.main.mode", "agents")],
)
def test_a_slip(tree: ConfigTree, text: str, meant: str) -> None:
    with pytest.raises(UserError) as caught:
        setting_names.resolve(text, tree, root=False)
    assert caught.value.message == f"toolguard has no setting {text.partition('.')[0]}, and the config has no such key"
    assert caught.value.fix == f"did you mean {meant}? Use --root for a path in the whole config"
    assert setting_names.resolve(text, tree, root=True).steps[0] == text.partition(".")[0]


@pytest.mark.parametrize(
    ("path", "text", "value"),
    [
        ("mode", "soft", "soft"),
        ("mode", '"soft"', "soft"),
        ("approval.prefix", "123", "123"),
        ("approval.prefix", "true", "true"),
        ("approval.prefix", "null", "null"),
        ("logPath", "/a b/c", "/a b/c"),
        ("logPath", "{a: 1}", "{a: 1}"),
        ("escalationThreshold", "40", 40),
        ("escalationThreshold", "forty", "forty"),
        ("enabled", "false", False),
        ("alwaysBlock", "['a', 'b',]", ["a", "b"]),
        ("rulesOff[0]", "12", "12"),
        ("approval", "{ prefix: 'X' } // mine", {"prefix": "X"}),
        ("agents.main", "{}", {}),
        ("gateway.port", "18789", 18789),
        ("gateway.port", "x", "x"),
        ("gateway.token", "0x10", 16),
        ("gateway.token", "", ""),
        ("logPath", "[x", "[x"),
        ("gateway.port", "-5", -5),
    ],
)
def test_a_value(tree: ConfigTree, path: str, text: str, value: Any) -> None:
    found = setting_names.value_for(setting_names.resolve(path, tree, root=False), text)
    assert (type(found), found) == (type(value), value)


@pytest.mark.parametrize("text", ["[a", "{", " {a: }", "[1] 2"])
def test_what_begins_like_a_list_or_an_object_is_no_text(tree: ConfigTree, text: str) -> None:
    with pytest.raises(UserError) as caught:
        setting_names.value_for(setting_names.resolve("gateway.token", tree, root=False), text)
    assert caught.value.message.startswith("VALUE is not valid JSON5: line 1, column ")
    assert caught.value.fix == f"""fix it; to set a string, write '"{text}"'"""


@each_row(
    ("args", "parsed"),
    [
        (["limit", "-5"], ["limit", "--", "-5"]),
        (["limit", "-.5", "--offline"], ["limit", "--offline", "--", "-.5"]),
        (["limit", "--", "-5"], ["limit", "--", "-5"]),
        (["mode", "soft", "--root"], ["mode", "soft", "--root"]),
        (["limit", "-5", "-6"], ["limit", "-5", "-6"]),
    ],
    ids=["a number", "options behind it", "ended by hand", "no number", "two"],
)
def test_a_negative_number_is_no_option(args: list[str], parsed: list[str]) -> None:
    assert negative_numbers.behind(args) == parsed


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("agents.main.budget.size", "an agent may only have budget.mode of its own"),
        (
            "agents.main.loopDetection.postCompactionGuard.enabled",
            "agents means toolguard's settings here",  # no general setting either
        ),
        ("agents.main.budget.sizes", "agents means toolguard's settings here"),
    ],
)
def test_what_no_agent_may_have(tree: ConfigTree, text: str, said: str) -> None:
    with pytest.raises(UserError, match=said):
        setting_names.refuse_other_agents(setting_names.resolve(text, tree, root=False), text, tree, "toolguard config set")
