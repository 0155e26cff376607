"""Toolguard without its extras: all of the guard works, and what is missing is named with the command that brings it."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import core_environment
import pytest
from cli_stage import LIMIT, toolguard
from packaging.requirements import Requirement

from tables import each_row
from toolguard_cli.system import extras, ntfy_address
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.extras import ALL, DASHBOARD, FLEET, NOTIFY, Extra
from toolguard_cli.system.paths import Places

PROJECT: dict[str, Any] = tomllib.loads((core_environment.ROOT / "pyproject.toml").read_text())["project"]
PAGE = {"metrics": {"dashboard": {"enabled": True, "port": 1}}}
MAIL = {"notify": {"targets": {"post": {"url": "mailto://me:pw@example.org"}}}}
PHONE = {"notify": {"targets": {"phone": {"url": "ntfys://ntfy.example/topic"}}}}
TEAM = {"fleet": {"enabled": True, "dsn": "host=127.0.0.1 port=1 dbname=x", "team": "t"}}


def names(requirements: list[str]) -> set[str]:
    return {Requirement(text).name for text in requirements}


@pytest.mark.parametrize("extra", ALL, ids=lambda extra: extra.name)
def test_an_extra_is_what_the_project_says_and_no_part_of_the_core(extra: Extra) -> None:
    own = names(PROJECT["optional-dependencies"][extra.name])
    assert own == set(extra.modules)
    assert not own & (names(PROJECT["dependencies"]) | set(core_environment.core()))


def test_the_core_is_small() -> None:
    """A package that somebody's next release brings along is noticed here: it costs each installation."""
    assert set(core_environment.core()) == {
        "msgspec", "google-re2", "rfc8785", "tomlkit", "json5", "psutil", "platformdirs", "filelock", "typer", "rich",
        *(["backports-zstd"] if sys.version_info < (3, 14) else []),
        *["shellingham", "annotated-doc", "markdown-it-py", "mdurl", "pygments"],  # of typer
    }  # fmt: skip


def test_the_command_names_the_environment_and_is_typed_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/home/a b/bin/python")
    assert extras.install_command(NOTIFY) == "'/home/a b/bin/python' -m pip install 'openclaw-toolguard[notify]'"
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name == "pip" else find_spec(name))
    expected = "uv pip install --python '/home/a b/bin/python' 'openclaw-toolguard[dashboard,fleet]'"
    assert extras.install_command(DASHBOARD, FLEET) == expected


def without(monkeypatch: pytest.MonkeyPatch, *modules: str) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None if name in modules else find_spec(name))


@each_row(
    ("extra", "gone", "text"),
    [
        (DASHBOARD, ("uvicorn",), "the dashboard needs uvicorn, which is not installed"),
        (
            DASHBOARD, DASHBOARD.modules,
            "the dashboard needs starlette, uvicorn, websockets and prometheus_client, which are not installed",
        ),
        (FLEET, ("psycopg",), "the fleet needs psycopg, which is not installed"),
    ]
)  # fmt: skip
def test_what_is_missing_is_named(extra: Extra, gone: tuple[str, ...], text: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        without(patch, *gone)
        with pytest.raises(UserError) as refusal:
            extras.require(*ALL)
    assert (refusal.value.message, refusal.value.fix) == (text, extras.install_command(extra))


def configured(places: Places, settings: dict[str, Any]) -> tuple[str, ...]:
    entry = {"enabled": True, "config": settings}
    places.config.write_text(json.dumps({"gateway": {"mode": "local"}, "plugins": {"entries": {"toolguard": entry}}}))
    return "--state-dir", str(places.state_dir)


@each_row(
    ("settings", "extra", "setting", "check"),
    [
        (PAGE, DASHBOARD, "metrics.dashboard.enabled", "dashboard"),
        (MAIL, NOTIFY, "notify.targets.post.url", "notify"),
        (TEAM, FLEET, "fleet.enabled", "fleet-server"),
    ],
)
def test_an_enabled_feature_that_is_missing_is_reported(
    places: Places, settings: dict[str, Any], extra: Extra, setting: str, check: str
) -> None:
    """By `install` (an upgrade must not lose a page silently), `status`, `doctor`, `config validate` and `config set`."""
    given, command = configured(places, settings), extras.install_command(extra)
    with pytest.MonkeyPatch.context() as patch:
        without(patch, *extra.modules)
        for words in (["install"], ["status"]):
            shown = " ".join(toolguard(*words, *given).stdout.split())
            assert f"{setting} is set, but {extra.lack}" in shown
            assert f"-> {command}" in shown
        looked = json.loads(toolguard("doctor", *given, "--json").stdout)["data"]["checks"]
        (found,) = [one for one in looked if one["id"] == check]
        assert extra.lack in found["detail"]
        assert (found["status"] in ("warn", "error"), found["fix"]) == (True, command)
        validated = json.loads(toolguard("config", "validate", "--offline", *given, "--json").stdout)["data"]["findings"]
        (finding,) = [one for one in validated if one["message"] == extra.lack]
        assert (finding["path"].endswith(setting), finding["level"], finding["fix"]) == (True, "warn", command)
    shown = toolguard("status", *given).stdout
    assert "is set, but" not in shown


def test_a_page_that_is_switched_on_says_at_once_what_is_missing(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    given = configured(places, {})
    without(monkeypatch, *DASHBOARD.modules)
    done = toolguard("config", "set", "metrics.dashboard.enabled", "true", "--offline", *given)
    assert DASHBOARD.lack in " ".join(done.stdout.split())


def test_an_address_of_ntfy_needs_nothing(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    given = configured(places, PHONE)
    without(monkeypatch, *NOTIFY.modules)
    assert "is set, but" not in toolguard("status", *given).stdout
    assert "apprise" not in toolguard("config", "validate", "--offline", *given).stdout


@each_row(
    ("address", "expected"),
    [
        ("ntfy://host/topic", ("http://host", ("topic",), "", 0)),
        ("NTFYS://host:8443/a/b_c-1", ("https://host:8443", ("a", "b_c-1"), "", 0)),
        ("ntfys://[::1]:80/a?priority=high", ("https://[::1]:80", ("a",), "", 4)),
        ("ntfy://host/a?priority=1", ("http://host", ("a",), "", 1)),
        ("ntfy://MyTopic", ("https://ntfy.sh", ("MyTopic",), "", 0)),
        ("ntfy://ntfy.sh/Mine", ("https://ntfy.sh", ("Mine",), "", 0)),
        ("ntfys://me:p%40w@host/a", ("https://host", ("a",), "Basic bWU6cEB3", 0)),
        ("ntfys://tk_abc@host/a", ("https://host", ("a",), "Bearer tk_abc", 0)),
        ("ntfys://host/a?delay=1h", None),
        ("ntfys://host/a?priority=huge", None),
        ("ntfys://host/a%20b", None),
        ("ntfys://host/a\r\nX: y", None),
        ("ntfys://", None),
        ("ntfys://to.pic", None),
        ("tgram://1/2", None),
    ],
)
def test_addresses_of_ntfy(address: str, expected: tuple[str, tuple[str, ...], str, int] | None) -> None:
    """The rest, apprise knows."""
    assert ntfy_address.parse(address) == (ntfy_address.NtfyAddress(*expected) if expected else None)


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """That of an environment with the core alone."""
    return core_environment.made(tmp_path_factory.mktemp("core") / "venv")


COMMANDS = [
    ("install", 0, "is set, but the dashboard needs"),
    ("doctor", 1, "it is on, but the dashboard needs"),
    ("check 'rm -rf ~'", 5, "delete"),
    ("status", 0, "is set, but the dashboard needs"),
    ("pending", 0, "no call is waiting"),
    ("usage", 0, ""),
    ("timeline", 0, ""),
    ("notify status", 0, "phone"),
    ("dashboard", 1, "the dashboard needs starlette, uvicorn, websockets and prometheus_client, which are not installed"),
    ("fleet pending", 1, "the fleet needs psycopg, which is not installed"),
    ("fleet dashboard", 1, "the fleet needs psycopg, which is not installed; the dashboard needs starlette"),
    ("uninstall --yes", 0, ""),
]


def test_the_core_alone_guards_and_says_what_is_missing(python: Path, places: Places) -> None:
    """In an environment that has nothing else, so each import of a command, of its engine and of what it starts is tried."""
    given = configured(places, {**PAGE, **PHONE})
    for words, code, text in COMMANDS:
        done = ran(python, "-m", "toolguard_cli", *[word.strip("'") for word in re.findall(r"'[^']*'|\S+", words)], *given)
        shown = " ".join((done.stdout + done.stderr).split())
        assert "Traceback" not in shown, shown
        assert (done.returncode, text in shown) == (code, True), (words, shown)


def test_the_gateways_own_page_says_what_is_missing_in_one_line(python: Path, places: Places) -> None:
    """For the gateway's log. Exit code 1: the gateway tries again each minute, also after it was installed."""
    given = ("--db", str(places.state_dir / "m.db"), "--state-dir", str(places.state_dir), "--config", str(places.config))
    done = ran(python, "-m", "toolguard_cli.dashboard", *given)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (1, "", 1)
    assert done.stderr.startswith("the dashboard needs starlette, ")
    assert done.stderr.endswith("'openclaw-toolguard[dashboard]'\n")


def ran(python: Path, *words: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(
        [python, *words],
        env=environment,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        stdin=subprocess.DEVNULL,
    )
