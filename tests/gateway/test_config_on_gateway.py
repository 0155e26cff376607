"""`toolguard config` and the real gateway: what keeps it from starting is refused, and named where somebody wrote it."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from gateway_stage import RELEASE, put_in
from toolguard_cli.commands import config_unset as unset
from toolguard_cli.commands import config_validate as validate
from toolguard_cli.operations import set_setting as set_command
from toolguard_cli.operations.change_setting import ChangeOptions
from toolguard_cli.rig.downloads import Runtime
from toolguard_cli.rig.private_home import Home
from toolguard_cli.rig.real_gateway import Gateway, openclaw
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Result

KEYS = "plugins.entries.toolguard.config"
COMMENT = "// the gateway of the office\n"


@dataclass(frozen=True)
class Fault:
    """What is set; what a hand would write behind which words; the path that is named, and whether --root is needed."""

    path: str
    value: str
    behind: str
    written: str
    named: str
    root: bool = False


FATAL = [
    pytest.param(
        Fault("colour", "1", "{\n", '"colour": 1,\n', "colour", root=True),
        id="an unknown key at the top",
        marks=[pytest.mark.thorough, pytest.mark.skipif(RELEASE < "2026.8", reason="this release does not name the key")],
    ),
    pytest.param(
        Fault("gateway.port", "x", '"gateway": {\n', '"port": "x",\n', "gateway.port"),
        id="a bad value",
        marks=pytest.mark.thorough,
    ),
    pytest.param(
        Fault("mode", "loud", '"toolguard": {\n', '"config": {"mode": "loud"},\n', f"{KEYS}.mode"), id="a bad value of ours"
    ),
]


@pytest.fixture
def places(home: Home) -> Places:
    """A gateway with the guard, and a comment in its config."""
    put_in(home)
    home.config_path.write_text(COMMENT + home.config_path.read_text())
    return Places(home.state_dir, home.config_path)


def validated(places: Places, real: Runtime) -> Result:
    return validate.run(places, offline=False, openclaw=tuple(real.command()))


@pytest.mark.parametrize("fault", FATAL)
def test_what_keeps_the_gateway_from_starting(real: Runtime, home: Home, places: Places, fault: Fault) -> None:
    before = home.config_path.read_text()
    with pytest.raises(UserError) as caught:
        set_command.run(places, fault.path, fault.value, ChangeOptions(root=fault.root, openclaw=tuple(real.command())))
    assert caught.value.message.startswith(f"{fault.named}: ")
    assert caught.value.fix.startswith("nothing was written; ")
    assert home.config_path.read_text() == before

    before = before.replace(f'"port": {home.port},', "")
    at = before.index(fault.behind) + len(fault.behind)
    written = before[:at] + fault.written + before[at:]
    home.config_path.write_text(written)
    result = validated(places, real)
    assert result.exit_code == 1
    (found,) = [each for each in result.data["findings"] if each["level"] == "error"]
    assert (found["path"], found["file"]) == (fault.named, str(home.config_path))
    key = fault.written.index(f'"{fault.named.rpartition(".")[2]}"')
    assert (found["line"], found["column"]) == (before.count("\n", 0, at) + 1, key + 1)

    done = openclaw(real, home, "gateway", "run")
    assert done.returncode not in {0, -9}, "it started, or did not end"
    assert home.config_path.read_text() == written


@pytest.mark.thorough
def test_the_gateway_starts_after_a_good_change(real: Runtime, home: Home, places: Places) -> None:
    asked = ChangeOptions(openclaw=tuple(real.command()))
    for path, value in (("agents.main.mode", "soft"), ("tools.loopDetection.enabled", "false")):
        assert set_command.run(places, path, value, asked).data["openclawAsked"] is True
    assert unset.run(places, "agents.main", asked).data["changed"] is True
    assert home.config_path.read_text().startswith(COMMENT)
    result = validated(places, real)
    assert [each for each in result.data["findings"] if each["level"] != "info"] == []
    assert result.exit_code == 0
    with Gateway(real, home) as gateway:
        assert gateway.process is not None


@pytest.mark.thorough
def test_an_included_file_of_a_draft_is_what_openclaw_sees(real: Runtime, home: Home, places: Places) -> None:
    """Absolute and relative includes; the fault is in the file that would be changed."""
    inner, section = home.state_dir / "tools.json5", home.state_dir / "parts" / "loops.json5"
    section.parent.mkdir()
    section.write_text("{ // loops\n  enabled: true }")
    inner.write_text("{ loopDetection: { $include: './parts/loops.json5' } }")
    text = home.config_path.read_text()
    home.config_path.write_text(text.replace("{\n", f'{{\n  "tools": {{ "$include": "{inner}" }},\n', 1))
    asked = ChangeOptions(openclaw=tuple(real.command()))
    with pytest.raises(UserError) as caught:
        set_command.run(places, "tools.loopDetection.enabled", "maybe", asked)
    assert caught.value.message.startswith("tools.loopDetection.enabled: OpenClaw says: ")
    assert section.read_text() == "{ // loops\n  enabled: true }"
    done = set_command.run(places, "tools.loopDetection.enabled", "false", asked)
    assert (done.data["file"], done.data["openclawAsked"]) == (str(section), True)
    assert section.read_text() == "{ // loops\n  enabled: false }"
    assert list(places.own.glob(".asking-*")) == []
