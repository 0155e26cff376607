"""Where state directory, config and plugin are found. `H` is the home, `W` the working directory."""

from __future__ import annotations

from pathlib import Path

import pytest

import toolguard_engine
from toolguard_cli import paths
from toolguard_cli.errors import UserError

Table = dict[str, str]

STATE = "H/.openclaw"
CONFIG = "H/.openclaw/openclaw.json"


@pytest.mark.parametrize(
    ("options", "env", "there", "state", "config"),
    [
        pytest.param({}, {}, [], STATE, CONFIG, id="nothing is there"),
        pytest.param({}, {}, ["H/.clawdbot/"], "H/.clawdbot", "H/.clawdbot/openclaw.json", id="only .clawdbot"),
        pytest.param({}, {}, ["H/.clawdbot/", "H/.openclaw/"], STATE, CONFIG, id="both: .openclaw"),
        pytest.param({}, {}, ["H/.openclaw"], STATE, CONFIG, id="a file is no state directory"),
        pytest.param({}, {}, ["H/.openclaw/clawdbot.json"], STATE, "H/.openclaw/clawdbot.json", id="clawdbot.json"),
        pytest.param({}, {}, ["H/.openclaw/clawdbot.json", CONFIG], STATE, CONFIG, id="openclaw.json first"),
        pytest.param(
            {},
            {},
            ["H/.openclaw/", "H/.clawdbot/clawdbot.json"],
            STATE,
            "H/.clawdbot/clawdbot.json",
            id="config in the other",
        ),
        pytest.param({}, {"OPENCLAW_HOME": "H/o"}, [], "H/o/.openclaw", "H/o/.openclaw/openclaw.json", id="OPENCLAW_HOME"),
        pytest.param(
            {}, {"OPENCLAW_HOME": "~/o"}, [], "H/o/.openclaw", "H/o/.openclaw/openclaw.json", id="~ in OPENCLAW_HOME"
        ),
        pytest.param({}, {"OPENCLAW_HOME": ""}, [], STATE, CONFIG, id="empty variable"),
        pytest.param({}, {"OPENCLAW_STATE_DIR": "H/s"}, [], "H/s", "H/s/openclaw.json", id="OPENCLAW_STATE_DIR"),
        pytest.param(
            {},
            {"OPENCLAW_STATE_DIR": "H/s"},
            [CONFIG],
            "H/s",
            CONFIG,
            id="OPENCLAW_STATE_DIR without a config: the usual one",
        ),
        pytest.param(
            {},
            {"OPENCLAW_STATE_DIR": "H/s"},
            [CONFIG, "H/s/clawdbot.json"],
            "H/s",
            "H/s/clawdbot.json",
            id="OPENCLAW_STATE_DIR with a config",
        ),
        pytest.param(
            {},
            {"OPENCLAW_STATE_DIR": "~/s"},
            ["H/s/clawdbot.json"],
            "H/s",
            "H/s/clawdbot.json",
            id="~ in OPENCLAW_STATE_DIR",
        ),
        pytest.param(
            {},
            {"OPENCLAW_STATE_DIR": "~/s", "OPENCLAW_HOME": "H/o"},
            [],
            "H/o/s",
            "H/o/s/openclaw.json",
            id="~ is the home of OpenClaw",
        ),
        pytest.param({}, {"OPENCLAW_STATE_DIR": "~me/s"}, [], "W/~me/s", "W/~me/s/openclaw.json", id="~name is a name"),
        pytest.param({}, {"OPENCLAW_CONFIG_PATH": "H/c.json"}, [CONFIG], STATE, "H/c.json", id="OPENCLAW_CONFIG_PATH"),
        pytest.param(
            {"state_dir": "H/mine"},
            {"OPENCLAW_CONFIG_PATH": "H/c.json"},
            ["H/c.json"],
            "H/mine",
            "H/mine/openclaw.json",
            id="--state-dir stands alone",
        ),
        pytest.param(
            {},
            {"TOOLGUARD_STATE_DIR": "H/t", "OPENCLAW_STATE_DIR": "H/s"},
            [CONFIG],
            "H/t",
            "H/t/openclaw.json",
            id="TOOLGUARD_STATE_DIR comes first, and stands alone",
        ),
        pytest.param(
            {},
            {"TOOLGUARD_CONFIG": "H/t.json", "OPENCLAW_CONFIG_PATH": "H/c.json"},
            [],
            STATE,
            "H/t.json",
            id="TOOLGUARD_CONFIG comes first",
        ),
        pytest.param(
            {"state_dir": "H/x"}, {"TOOLGUARD_STATE_DIR": "H/t"}, [CONFIG], "H/x", "H/x/openclaw.json", id="--state-dir"
        ),
        pytest.param(
            {"state_dir": "H/x"}, {}, ["H/x/clawdbot.json"], "H/x", "H/x/clawdbot.json", id="--state-dir with clawdbot.json"
        ),
        pytest.param({"config": "H/x.json"}, {"TOOLGUARD_CONFIG": "H/t.json"}, [CONFIG], STATE, "H/x.json", id="--config"),
        pytest.param({"state_dir": "x", "config": "y.json"}, {}, [], "W/x", "W/y.json", id="relative"),
        pytest.param({"state_dir": "~/x", "config": "~/y.json"}, {}, [], "H/x", "H/y.json", id="~ in options"),
    ],
)
def test_find(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: Table,
    env: Table,
    there: list[str],
    state: str,
    config: str,
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    work.mkdir()
    monkeypatch.chdir(work)

    def real(text: str) -> str:
        head, slash, rest = text.partition("/")
        return {"H": str(home), "W": str(work)}.get(head, head) + slash + rest

    for name in there:
        made = Path(real(name))
        made.parent.mkdir(parents=True, exist_ok=True)
        if name.endswith("/"):
            made.mkdir()
        else:
            made.touch()
    told = {name: Path(real(value)) for name, value in options.items()}
    variables = {"HOME": str(home), **{name: real(value) for name, value in env.items()}}
    found = paths.find(told.get("state_dir"), told.get("config"), variables)
    assert found == paths.Places(Path(real(state)), Path(real(config)))


def test_own_places() -> None:
    places = paths.Places(Path("/s"), Path("/c/openclaw.json"))
    assert places.own == Path("/s/toolguard")
    assert places.record == Path("/s/toolguard/install.json")
    assert places.extension == Path("/s/extensions/toolguard")


def test_a_name_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(UserError) as caught:
        paths.find(Path("/s\udcff"), None, {"HOME": "/h"})
    assert (caught.value.message, caught.value.fix) == (r"'/s\udcff' is not UTF-8", "name a place that is")


def test_plugin_source_of_a_checkout() -> None:
    assert paths.plugin_source() == Path(toolguard_engine.__file__).parents[1] / "gateway"


def test_plugin_source_of_an_installed_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(toolguard_engine, "__file__", str(tmp_path / "toolguard_engine" / "__init__.py"))
    found = paths.plugin_source()
    assert (found.parent.name, found.name) == ("toolguard_manifests", "gateway")


def test_the_options_are_remembered(tmp_path: Path) -> None:
    found = paths.find(tmp_path / "s", tmp_path / "c.json", {"HOME": str(tmp_path)})
    assert found.given == ("--state-dir", str(tmp_path / "s"), "--config", str(tmp_path / "c.json"))
    assert paths.find(None, None, {"HOME": str(tmp_path), "TOOLGUARD_STATE_DIR": str(tmp_path)}).given == ()
