"""Install and uninstall where the config is merged from several files."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from cli_stage import put_in, take_out, texts

from toolguard_cli.hostconfig import config_file
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places

MAIN = "openclaw.json"
LAYOUTS = {
    "plugins": {
        MAIN: "{\n  // the rest lies beside\n  plugins: { $include: './plugins.json5' },\n}\n",
        "plugins.json5": "{\n  // mine\n  allow: ['x'],\n}\n",
    },
    "entries": {
        MAIN: "{ plugins: { entries: { $include: 'conf/entries.json5' }, allow: [] } }\n",
        "conf/entries.json5": "{\r\n  other: { enabled: true }, // theirs\r\n}\r\n",
    },
    "one entry": {
        MAIN: "{ plugins: { entries: { toolguard: { $include: 'guard.json5' } } } }\n",
        "guard.json5": "{ enabled: false, config: { mode: 'shadow' } }\n",
    },
    "a base": {
        MAIN: "{ $include: 'base.json5', gateway: {} }\n",
        "base.json5": "{ gateway: { port: 1 } }\n",
    },
    "elsewhere": {
        MAIN: "{ agents: { $include: 'agents.json5' } }\n",
        "agents.json5": "{ list: [] }\n",
    },
}
INSTALLED = {
    "plugins": {
        "plugins.json5": "{\n  // mine\n  allow: ['x', 'toolguard'],\n"
        "  entries: {\n    toolguard: {\n      enabled: true,\n    },\n  },\n}\n"
    },
    "entries": {
        MAIN: "{ plugins: { entries: { $include: 'conf/entries.json5' }, allow: ['toolguard'] } }\n",
        "conf/entries.json5": "{\r\n  other: { enabled: true }, // theirs\r\n"
        "  toolguard: {\r\n    enabled: true,\r\n  },\r\n}\r\n",
    },
    "one entry": {"guard.json5": "{ enabled: true, config: { mode: 'shadow' } }\n"},
    "a base": {MAIN: "{ $include: 'base.json5', gateway: {}, plugins: { entries: { toolguard: { enabled: true } } } }\n"},
    "elsewhere": {
        MAIN: "{ agents: { $include: 'agents.json5' }, plugins: { entries: { toolguard: { enabled: true } } } }\n"
    },
}


@pytest.fixture
def places(tmp_path: Path) -> Places:
    state = tmp_path / ".openclaw"
    state.mkdir()
    return Places(state, state / MAIN)


def lay(places: Places, layout: str) -> dict[str, str]:
    for name, text in LAYOUTS[layout].items():
        place = places.state_dir / name
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(text.encode())
    return LAYOUTS[layout]


def now(places: Places, layout: str) -> dict[str, str]:
    return {name: (places.state_dir / name).read_bytes().decode() for name in LAYOUTS[layout]}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_in_the_files_that_own_the_values_and_back(places: Places, layout: str) -> None:
    before = lay(places, layout)
    reported = texts(put_in(places))
    after = before | INSTALLED[layout]
    assert now(places, layout) == after
    changed = [str(places.state_dir / name) for name in before if after[name] != before[name]]
    assert [name for name in changed if any(name in text for text in reported)] == changed
    assert put_in(places).data["changed"] is False
    done = take_out(places)
    assert (done.data["exact"], now(places, layout)) == (True, before)


def test_an_included_file_that_changed_meanwhile(places: Places) -> None:
    lay(places, "plugins")
    put_in(places)
    included = places.state_dir / "plugins.json5"
    included.write_text(included.read_text().replace("// mine", "// mine, changed"))
    assert take_out(places).data["exact"] is False
    assert included.read_text() == LAYOUTS["plugins"]["plugins.json5"].replace("// mine", "// mine, changed")


def test_backups_lie_beside_each_file(places: Places) -> None:
    before = lay(places, "entries")
    put_in(places)
    backups = {name: config_file.backup_path(places.state_dir / name).read_bytes().decode() for name in before}
    assert backups == before


def test_the_record_knows_what_each_file_was(places: Places) -> None:
    before = lay(places, "plugins")
    put_in(places)
    record = msgspec.json.decode(places.record.read_bytes())
    digests = {name: config_file.digest(text.encode()) for name, text in before.items()}
    assert record["before"] == digests[MAIN]
    assert record["others"] == {str(places.state_dir / "plugins.json5"): digests["plugins.json5"]}


def test_what_two_files_make_is_refused(places: Places) -> None:
    places.config.write_text("{ plugins: { $include: ['a.json5', 'b.json5'] } }\n")
    for name in ("a", "b"):
        (places.state_dir / f"{name}.json5").write_text("{ deny: [] }\n")
    with pytest.raises(UserError) as caught:
        put_in(places)
    both = f"{places.state_dir / 'a.json5'} and {places.state_dir / 'b.json5'}"
    assert caught.value.message == f"plugins.entries.toolguard.enabled is merged from {both} ($include)"
    assert caught.value.fix == "edit one of these files by hand: plugins.entries.toolguard.enabled"
