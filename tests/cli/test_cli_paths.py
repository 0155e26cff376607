"""Where state directory, config and plugin are found. `H` is the home, `W` the working directory."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

import toolguard_engine
from toolguard_cli.system import paths
from toolguard_cli.system.errors import UserError
from toolguard_engine.host import file_names

Table = dict[str, str]

STATE = "H/.openclaw"
CONFIG = "H/.openclaw/openclaw.json"


def case(name: str, state: str, config: str, *there: str, options: Table | None = None, **env: str) -> Any:
    """With these options and variables, where these files and folders (with `/`) are there."""
    return pytest.param(options or {}, env, there, state, config, id=name)


@pytest.mark.parametrize(
    ("options", "env", "there", "state", "config"),
    [
        case("nothing is there", STATE, CONFIG),
        case("only .clawdbot", "H/.clawdbot", "H/.clawdbot/openclaw.json", "H/.clawdbot/"),
        case("both: .openclaw", STATE, CONFIG, "H/.clawdbot/", "H/.openclaw/"),
        case("a file is no state directory", STATE, CONFIG, "H/.openclaw"),
        case("clawdbot.json", STATE, "H/.openclaw/clawdbot.json", "H/.openclaw/clawdbot.json"),
        case("openclaw.json first", STATE, CONFIG, "H/.openclaw/clawdbot.json", CONFIG),
        case("config in the other", STATE, "H/.clawdbot/clawdbot.json", "H/.openclaw/", "H/.clawdbot/clawdbot.json"),
        case("OPENCLAW_HOME", "H/o/.openclaw", "H/o/.openclaw/openclaw.json", OPENCLAW_HOME="H/o"),
        case("~ in OPENCLAW_HOME", "H/o/.openclaw", "H/o/.openclaw/openclaw.json", OPENCLAW_HOME="~/o"),
        case("empty variable", STATE, CONFIG, OPENCLAW_HOME=""),
        case("OPENCLAW_STATE_DIR", "H/s", "H/s/openclaw.json", OPENCLAW_STATE_DIR="H/s"),
        case("OPENCLAW_STATE_DIR without a config: the usual one", "H/s", CONFIG, CONFIG, OPENCLAW_STATE_DIR="H/s"),
        case(
            "OPENCLAW_STATE_DIR with a config",
            "H/s",
            "H/s/clawdbot.json",
            CONFIG,
            "H/s/clawdbot.json",
            OPENCLAW_STATE_DIR="H/s",
        ),
        case("~ in OPENCLAW_STATE_DIR", "H/s", "H/s/clawdbot.json", "H/s/clawdbot.json", OPENCLAW_STATE_DIR="~/s"),
        case("~ is the home of OpenClaw", "H/o/s", "H/o/s/openclaw.json", OPENCLAW_STATE_DIR="~/s", OPENCLAW_HOME="H/o"),
        case("~name is a name", "W/~me/s", "W/~me/s/openclaw.json", OPENCLAW_STATE_DIR="~me/s"),
        case("OPENCLAW_CONFIG_PATH", STATE, "H/c.json", CONFIG, OPENCLAW_CONFIG_PATH="H/c.json"),
        case(
            "--state-dir stands alone",
            "H/mine",
            "H/mine/openclaw.json",
            "H/c.json",
            options={"state_dir": "H/mine"},
            OPENCLAW_CONFIG_PATH="H/c.json",
        ),
        case(
            "TOOLGUARD_STATE_DIR comes first, and stands alone",
            "H/t",
            "H/t/openclaw.json",
            CONFIG,
            TOOLGUARD_STATE_DIR="H/t",
            OPENCLAW_STATE_DIR="H/s",
        ),
        case(
            "TOOLGUARD_CONFIG comes first", STATE, "H/t.json", TOOLGUARD_CONFIG="H/t.json", OPENCLAW_CONFIG_PATH="H/c.json"
        ),
        case("--state-dir", "H/x", "H/x/openclaw.json", CONFIG, options={"state_dir": "H/x"}, TOOLGUARD_STATE_DIR="H/t"),
        case(
            "--state-dir with clawdbot.json", "H/x", "H/x/clawdbot.json", "H/x/clawdbot.json", options={"state_dir": "H/x"}
        ),
        case("--config", STATE, "H/x.json", CONFIG, options={"config": "H/x.json"}, TOOLGUARD_CONFIG="H/t.json"),
        case("relative", "W/x", "W/y.json", options={"state_dir": "x", "config": "y.json"}),
        case("~ in options", "H/x", "H/y.json", options={"state_dir": "~/x", "config": "~/y.json"}),
    ],
)
def test_find(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    options: Table,
    env: Table,
    there: tuple[str, ...],
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
    reported = {name: Path(real(value)) for name, value in options.items()}
    variables = {"HOME": str(home), **{name: real(value) for name, value in env.items()}}
    found = paths.find(reported.get("state_dir"), reported.get("config"), variables)
    assert found == paths.Places(Path(real(state)), Path(real(config)))


def test_own_places() -> None:
    places = paths.Places(Path("/s"), Path("/c/openclaw.json"))
    assert places.own == Path("/s/toolguard")
    assert places.record == Path("/s/toolguard/install.json")
    assert places.extension == Path("/s/extensions/toolguard")


def test_a_name_that_is_not_utf8_is_refused() -> None:
    with pytest.raises(UserError) as caught:
        paths.find(Path("/s\udcff"), None, {"HOME": "/h"})
    assert (caught.value.message, caught.value.fix) == (r"'/s\udcff' is not UTF-8", "give a path that is")


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


def test_the_usual_environments_are_found_as_the_gateway_finds_them(tmp_path: Path) -> None:
    listed = re.search(
        r"const ENVIRONMENTS = \[(.*?)\];", (paths.plugin_source() / "command.mjs").read_text("utf-8"), re.DOTALL
    )
    assert listed
    assert tuple(re.findall(r'"(.*?)"', listed[1])) == file_names.ENVIRONMENTS
    assert paths.usual_python(tmp_path) == ""
    for place in reversed(file_names.ENVIRONMENTS):  # the first of the list comes first
        python = tmp_path / place / "bin" / "python"
        python.parent.mkdir(parents=True)
        python.touch()
        assert paths.usual_python(tmp_path) == str(python)
