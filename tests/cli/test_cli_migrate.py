"""`toolguard migrate` as a person meets it: what it says, what it asks, and what it leaves of a file's layout."""

from __future__ import annotations

import json

import pytest
from cli_stage import envelope, put_in, texts, toolguard

import seed_configs
from toolguard_cli import migrations
from toolguard_cli.commands import migrate
from toolguard_cli.hostconfig import config_tree, json5_edit
from toolguard_cli.operations import reload_note
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm

EXAMPLES = seed_configs.examples()
every_example = pytest.mark.parametrize("example", sorted(EXAMPLES))
OLD = """\
{
  plugins: {
    allow: ["tool-guard"], // only this
    entries: {
      // since spring
      "tool-guard": {
        enabled: true,
        config: {
          maxFailuresPerTurn: 5, // enough
          maxIdenticalFailures: 0,
        },
      },
    },
  },
}
"""
NEW = """\
{
  plugins: {
    allow: ["tool-guard", "toolguard"], // only this
    entries: {
      // since spring
      "tool-guard": {
        enabled: false,
        config: {
          maxIdenticalFailures: 0,
        },
      },
      toolguard: {
        enabled: true,
        config: {
          maxFailuresPerTurn: 5, // enough
        },
      },
    },
  },
}
"""
LEFT = "tool-guard maxIdenticalFailures: 0 is not allowed; maxIdenticalFailures must be a whole number from 1 to 100"
WORDS = [
    ("info", "found in CONFIG: tool-guard"),
    ("ok", "tool-guard maxFailuresPerTurn -> toolguard maxFailuresPerTurn = 5"),
    ("ok", "plugins.entries.toolguard.enabled = true"),
    ("ok", "plugins.entries.tool-guard is switched off (enabled: false)"),
    ("ok", 'plugins.allow names "toolguard" too'),
    ("warn", f"not migrated: {LEFT}"),
    (
        "info",
        "tool-guard: its log of malformed calls stays where it is: toolguard writes on in the same form of lines",
    ),
    ("info", "not validated by OpenClaw: no openclaw on PATH"),
]
AFTERWARDS = [
    ("ok", "migrated tool-guard; settings migrated: 1"),
    ("info", "backup of the file: CONFIG.toolguard.bak"),
    ("next", "toolguard install"),
    ("next", reload_note.RELOADED_SOON),
    ("next", "toolguard doctor"),
    ("next", "toolguard migrate --undo restores everything"),
]


def written(places: Places, text: str) -> None:
    places.config.write_bytes(text.encode())


def said(result: object, places: Places) -> list[tuple[str, str]]:
    return [(line.kind, line.text.replace(str(places.config), "CONFIG")) for line in result.lines]  # type: ignore[attr-defined]


@pytest.fixture
def at(places: Places) -> list[str]:
    """The options that name this gateway on the command line."""
    return ["--state-dir", str(places.state_dir)]


def test_what_is_said(places: Places) -> None:
    written(places, OLD)
    done = migrate.run(places, yes=True, openclaw=())
    assert places.config.read_text() == NEW
    assert said(done, places) == [*WORDS, *AFTERWARDS]
    again = migrate.run(places, yes=True, openclaw=())
    assert said(again, places) == [
        ("ok", "nothing to migrate in CONFIG"),
        ("info", f"not moved: {LEFT}"),
    ]


def test_install_is_named_only_where_it_is_needed(places: Places) -> None:
    written(places, OLD)
    put_in(places)
    done = migrate.run(places, yes=True, openclaw=())
    assert "toolguard install" not in texts(done)


def test_what_is_asked_is_what_is_done(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    written(places, OLD)
    shown: list[str] = []
    monkeypatch.setattr(confirm, "confirm", lambda lines, *_, **__: shown.extend(lines) or True)
    done = migrate.run(places, openclaw=())
    assert shown[: len(WORDS)] == [text.replace("CONFIG", str(places.config)) for _, text in WORDS]
    assert '+    allow: ["...", "toolguard"], // only this' in shown
    assert said(done, places) == AFTERWARDS
    assert places.config.read_text() == NEW


def test_a_no_changes_nothing(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    written(places, OLD)
    monkeypatch.setattr(confirm, "confirm", lambda *_, **__: False)
    done = migrate.run(places, openclaw=())
    assert (done.exit_code, texts(done)) == (1, ["nothing was changed"])
    assert places.config.read_text() == OLD


def test_a_file_that_changes_while_it_is_asked_is_not_written(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    written(places, OLD)
    other = OLD.replace("enough", "more than enough")
    monkeypatch.setattr(confirm, "confirm", lambda *_, **__: written(places, other) or True)
    with pytest.raises(UserError, match="was changed in the meantime"):
        migrate.run(places, openclaw=())
    assert places.config.read_text() == other


def test_without_a_terminal_it_needs_yes(places: Places, at: list[str]) -> None:
    written(places, OLD)
    done = toolguard("migrate", *at)
    assert done.returncode == 1
    assert "review the changes above; if you agree, add --yes and try again" in done.stderr
    assert "tool-guard maxFailuresPerTurn -> toolguard maxFailuresPerTurn = 5" in done.stderr
    assert (done.stdout, places.config.read_text()) == ("", OLD)


def test_without_a_terminal_a_script_gets_the_plan(places: Places, at: list[str]) -> None:
    written(places, OLD)
    done = toolguard("migrate", "--json", *at, PATH="")
    reported = envelope(done)
    assert (done.returncode, reported["ok"], reported["errors"]) == (1, False, ["there is no terminal to ask in"])
    assert reported["messages"] == ["-> review the changes above; if you agree, add --yes and try again"]
    assert reported["data"] == envelope(toolguard("migrate", "--dry-run", "--json", *at, PATH=""))["data"]
    assert (reported["data"]["changed"], reported["data"]["done"], places.config.read_text()) == (True, False, OLD)


def test_as_json_and_back(places: Places, at: list[str]) -> None:
    written(places, OLD)
    done = envelope(toolguard("migrate", "--yes", "--json", *at, PATH=""))
    assert (done["ok"], done["errors"], done["data"]["found"]) == (True, [], ["tool-guard"])
    assert done["data"]["moved"] == [{"from": "tool-guard maxFailuresPerTurn", "to": "maxFailuresPerTurn", "value": 5}]
    assert done["data"]["migration"] == 1
    assert done["data"]["backups"] == [f"{places.config}.toolguard.bak"]
    assert places.config.read_text() == NEW
    back = envelope(toolguard("migrate", "--undo", "--json", *at))
    assert (back["ok"], back["data"]["files"]) == (True, [str(places.config)])
    assert places.config.read_text() == OLD


def test_the_commands_that_are_named_are_for_this_gateway(places: Places) -> None:
    written(places, OLD)
    there = Places(places.state_dir, places.config, ("--state-dir", "/srv/my claw"))
    done = migrate.run(there, yes=True, openclaw=())
    assert "toolguard migrate --undo --state-dir '/srv/my claw' restores everything" in texts(done)


def test_undo_is_of_the_whole(at: list[str]) -> None:
    done = toolguard("migrate", "--undo", "--from", "tool-guard", *at)
    assert done.returncode == 2
    assert "the last migration can only be undone as a whole" in done.stderr


def test_what_it_shows_moves_no_cursor(places: Places) -> None:
    odd = '"\\u001b[2Jred": 1, logPath: "/\\u001b[1m\\u202e"'
    text = OLD.replace("maxIdenticalFailures: 0", odd).replace("enough", "\x9b31m enough \u202e")
    written(places, text)
    done = migrate.run(places, dry_run=True, openclaw=())
    assert [line for line in texts(done) if not line.isprintable()] == []


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param(
            '{"plugins":{"entries":{"tool-guard":{"enabled":true,"config":{"logPath":"/x"}}}}}',
            '{"plugins":{"entries":{"tool-guard":{"enabled":false},'
            '"toolguard":{"enabled":true,"config":{"logPath":"/x"}}}}}',
            id="one line",
        ),
        pytest.param(
            '\ufeff{\r\n\t"plugins": {\r\n\t\t"entries": {\r\n\t\t\t"tool-guard": {\r\n\t\t\t\t"enabled": true,\r\n'
            '\t\t\t\t"config": {\r\n\t\t\t\t\t"logPath": "/x" // there\r\n\t\t\t\t}\r\n\t\t\t}\r\n\t\t}\r\n\t}\r\n}',
            '\ufeff{\r\n\t"plugins": {\r\n\t\t"entries": {\r\n\t\t\t"tool-guard": {\r\n'
            '\t\t\t\t"enabled": false\r\n\t\t\t},\r\n'
            '\t\t\t"toolguard": {\r\n\t\t\t\t"enabled": true,\r\n'
            '\t\t\t\t"config": {\r\n\t\t\t\t\t"logPath": "/x" // there\r\n\t\t\t\t}\r\n\t\t\t}\r\n\t\t}\r\n\t}\r\n}',
            id="CRLF, tabs and a byte order mark",
        ),
    ],
)
def test_layouts(places: Places, before: str, after: str) -> None:
    written(places, before)
    migrate.run(places, yes=True, openclaw=())
    assert places.config.read_bytes().decode() == after
    migrate.undo_last(places, yes=False, dry_run=False)
    assert places.config.read_bytes().decode() == before


def test_tabs_are_shown_as_they_are(places: Places) -> None:
    written(places, OLD.replace("  ", "\t"))
    done = migrate.run(places, dry_run=True, openclaw=())
    assert "+\t\t\t\tenabled: false," in texts(done)


def test_comments_that_are_nobodys_stay(places: Places) -> None:
    text = OLD.replace("        config: {\n", "        config: {\n          // --- loops ---\n\n").replace(
        "          maxIdenticalFailures: 0,\n", "\n          /* the end */\n"
    )
    written(places, text)
    migrate.run(places, yes=True, openclaw=())
    found = seed_configs.comments(places.config.read_text())
    assert sorted(found) == sorted(seed_configs.comments(text))


@pytest.mark.parametrize("entry", ["{ $include: './tg.json5' }", "{ enabled: true, config: { $include: './tg.json5' } }"])
def test_an_entry_from_a_file_of_its_own(places: Places, entry: str) -> None:
    inner = "{ logPath: '/x' /* here */ }\n"
    content = inner if "config" in entry else "{\n  enabled: true,\n  config: " + inner.strip() + ",\n}\n"
    places.config.with_name("tg.json5").write_text(content)
    written(places, "{\n  plugins: { entries: { 'tool-guard': ENTRY } },\n}\n".replace("ENTRY", entry))
    migrate.run(places, yes=True, openclaw=())
    found = config_tree.read(places.config).get("plugins", "entries")
    assert found["toolguard"] == {"enabled": True, "config": {"logPath": "/x"}}
    assert found["tool-guard"]["enabled"] is False
    assert "/* here */" in places.config.read_text()
    migrate.undo_last(places, yes=False, dry_run=False)
    assert places.config.with_name("tg.json5").read_text() == content


def test_a_setting_from_a_file_of_its_own_moves_by_itself(places: Places) -> None:
    """Its `$include` does not: it would be read from the place of another file."""
    folder = places.state_dir / "more"
    folder.mkdir()
    (folder / "plugins.json5").write_text(
        "{ entries: { 'tool-guard': { config: { metrics: { $include: './m.json5' } } } } }\n"
    )
    (folder / "m.json5").write_text("{ enabled: true }\n")
    written(places, "{ plugins: { $include: './more/plugins.json5' } }\n")
    migrate.run(places, yes=True, openclaw=())
    tree = config_tree.read(places.config)
    assert tree.problems == ()
    assert tree.get("plugins", "entries", "toolguard", "config") == {"metrics": {"enabled": True}}


def test_settings_that_two_files_hold_together_are_left_to_the_person(places: Places) -> None:
    places.config.with_name("tg.json5").write_text("{ plugins: { entries: { 'tool-guard': { enabled: true } } } }\n")
    text = "{ $include: './tg.json5', plugins: { entries: { other: {} } } }\n"
    written(places, text)
    with pytest.raises(UserError, match="is merged from"):
        migrate.run(places, yes=True, openclaw=())
    assert places.config.read_text() == text


@pytest.mark.skipif(not EXAMPLES, reason="the seed documents are not here")
@every_example
def test_examples_of_the_seeds(places: Places, example: str) -> None:
    text = EXAMPLES[example]
    written(places, text)
    done = migrate.run(places, yes=True, openclaw=())
    after = places.config.read_text()
    assert (done.data["notMoved"], done.data["warnings"]) == ([], [])
    assert sorted(seed_configs.comments(after)) == sorted(seed_configs.comments(text))
    assert migrations.find(config_tree.read(places.config)) == []
    assert migrate.run(places, yes=True, openclaw=()).data["changed"] is False
    assert places.config.read_text() == after
    migrate.undo_last(places, yes=False, dry_run=False)
    assert places.config.read_bytes() == text.encode()


GUARDIAN = ["logLevel", "escalationThreshold", "pendingTimeoutMs", "approvalWindowMs", "alwaysBlock", "neverBlock"]


@pytest.mark.skipif(not EXAMPLES, reason="the seed documents are not here")
@pytest.mark.parametrize(
    ("example", "old", "names"),
    [
        ("1.2", "tool-guard", ["maxIdenticalFailures", "maxFailuresPerTurn", "logPath"]),
        ("1.3", "tool-guard", ["metrics"]),
        ("2.1", "guardian-angel", GUARDIAN),
    ],
)
def test_every_value_of_a_seed_arrives(places: Places, example: str, old: str, names: list[str]) -> None:
    written(places, EXAMPLES[example])
    before = json5_edit.loads(EXAMPLES[example])
    migrate.run(places, yes=True, openclaw=())
    entries = config_tree.read(places.config).get("plugins", "entries")
    assert isinstance(before, dict)
    values = json.loads(json.dumps(before))["plugins"]["entries"][old]["config"]
    assert list(values) == names
    assert {name: entries["toolguard"]["config"][name] for name in names} == values
    assert entries[old] == {"enabled": False}


@pytest.mark.thorough
def test_a_long_file_is_touched_only_where_it_must(places: Places) -> None:
    filler = "".join(f"    k{at}: {{ a: {at} }}, // {at}\n" for at in range(200))
    text = OLD.replace("{\n  plugins", f"{{\n  filler: {{\n{filler}  }},\n  plugins", 1)
    written(places, text)
    migrate.run(places, yes=True, openclaw=())
    assert places.config.read_text() == NEW.replace("{\n  plugins", f"{{\n  filler: {{\n{filler}  }},\n  plugins", 1)
