"""What `toolguard migrate` makes of each seed's example, as the real gateway sees it."""

from __future__ import annotations

import json

import pytest

import seed_configs
from toolguard_cli.commands import migrate
from toolguard_cli.hostconfig import config_tree
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway, openclaw
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places

EXAMPLES = seed_configs.examples()
REFUSED = {"3.1", "3.2", "3.3"}
"""Examples that OpenClaw of now calls invalid: they are of the one of then."""

pytestmark = pytest.mark.skipif(not EXAMPLES, reason="the seed documents are not here")


def runnable(home: Home, example: str) -> Places:
    """The example, with what the rig's gateway needs laid under it."""
    text = seed_configs.laid_under(EXAMPLES[example], json.loads(home.config_path.read_text()))
    home.config_path.write_text(text)
    return Places(home.state_dir, home.config_path)


@pytest.mark.thorough
def test_without_a_migration_the_gateway_throws_thresholds_and_comments_away(real, home: Home) -> None:
    """Why to migrate before the next start: this gateway mends such a config itself, by leaving out."""
    places = runnable(home, "3.1")
    with Gateway(real, home):
        text = home.config_path.read_text()
    assert config_tree.read(places.config).get("tools", "loopDetection") == {"enabled": False}
    assert seed_configs.comments(text) == []


@pytest.mark.thorough
@pytest.mark.parametrize("example", sorted(EXAMPLES))
def test_the_gateway_starts_with_what_becomes_of_it(real, home: Home, example: str) -> None:
    places = runnable(home, example)
    before = home.config_path.read_bytes()
    refused = openclaw(real, home, "config", "validate").returncode != 0
    assert refused is (example in REFUSED)
    done = migrate.run(places, yes=True, openclaw=real.command())
    assert done.data["warnings"] == []
    text = home.config_path.read_text()
    assert sorted(seed_configs.comments(text)) == sorted(seed_configs.comments(EXAMPLES[example]))
    with Gateway(real, home) as gateway:
        log = gateway.log_text()
    assert "plugin not found: tool-guard" not in log
    assert "plugin not found: guardian-angel" not in log
    migrate.undo_last(places, yes=False, dry_run=False)
    assert home.config_path.read_bytes() == before


@pytest.mark.thorough
def test_what_the_gateway_would_not_start_with_is_not_written(real, home: Home) -> None:
    """The old plugin lies there, and its schema wants a setting that would be taken out."""
    folder = home.state_dir / "extensions" / "tool-guard"
    folder.mkdir(parents=True)
    schema = {"type": "object", "required": ["logPath"], "properties": {"logPath": {"type": "string"}}}
    (folder / "openclaw.plugin.json").write_text(json.dumps({"id": "tool-guard", "version": "1", "configSchema": schema}))
    package = {"name": "tool-guard", "version": "1.0.0", "type": "module", "openclaw": {"extensions": ["./index.mjs"]}}
    (folder / "package.json").write_text(json.dumps(package))
    (folder / "index.mjs").write_text('export default { id: "tool-guard", register() {} };\n')
    entry = {"enabled": True, "config": {"logPath": "~/.openclaw/tool-guard.log", "colour": "red"}}
    config = json.loads(home.config_path.read_text()) | {"plugins": {"entries": {"tool-guard": entry}}}
    home.config_path.write_text(json.dumps(config))
    before = home.config_path.read_bytes()
    assert openclaw(real, home, "config", "validate").returncode == 0
    with pytest.raises(
        UserError, match=r"the gateway would not start with the migrated config: plugins\.entries\.tool-guard"
    ) as error:
        migrate.run(Places(home.state_dir, home.config_path), yes=True, openclaw=real.command())
    assert error.value.fix == "nothing was written; fix that first, then try again"
    assert home.config_path.read_bytes() == before


@pytest.mark.thorough
def test_a_fault_of_somebody_else_is_no_hindrance(real, home: Home) -> None:
    places = runnable(home, "3.1")
    home.config_path.write_text(seed_configs.laid_under(home.config_path.read_text(), {"colour": "red"}))
    done = migrate.run(places, yes=True, openclaw=real.command())
    assert done.data["warnings"] == [
        "the gateway could not start before, and still cannot, because of these errors:",
        "colour: OpenClaw does not know this key",
    ]
    assert config_tree.read(places.config).get("tools", "loopDetection") == {"enabled": False}


@pytest.mark.thorough
def test_settings_in_the_entry_itself_keep_the_gateway_from_starting_no_more(real, home: Home) -> None:
    entry = {"enabled": True, "mode": "shadow", "initialTrust": 0.5, "colour": "red"}
    config = json.loads(home.config_path.read_text()) | {"plugins": {"entries": {"equilibrium-guard": entry}}}
    home.config_path.write_text(json.dumps(config))
    assert openclaw(real, home, "config", "validate").returncode != 0
    migrate.run(Places(home.state_dir, home.config_path), yes=True, openclaw=real.command())
    assert openclaw(real, home, "config", "validate").returncode == 0
    assert config_tree.read(home.config_path).get("plugins", "entries") == {
        "equilibrium-guard": {"enabled": False, "config": {"colour": "red"}},
        "toolguard": {"enabled": True, "config": {"budget": {"mode": "shadow", "initialTrust": 0.5}}},
    }
