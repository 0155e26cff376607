"""A change of the config that the gateway would refuse is answered with a correction, by every way of making it."""

from __future__ import annotations

import json
from typing import Any

import pytest

from setting_ways import CONFIG, HOST, OLD, PREPARED, SETTINGS, Files, asked, decided, text_of, ways, with_value
from tables import each_row
from toolguard_engine.host import setting_schemas

RELEASE = "2026.9.6"
ON_RELEASE = HOST.__class__(HOST.home, HOST.state_dir, HOST.config_path, release=RELEASE)
CORRECTION = "openclaw config validate"


@each_row(
    ("path", "value", "named"),
    [
        ("gateway.port", "many", "gateway.port must be a number"),
        ("gateway.prot", 18800, "did you mean port?"),
        ("cron.enabled", "yes", "cron.enabled must be true or false"),
        ("logging.level", "loud", "logging.level must be one of silent"),
        ("tools.exec.mode", "always", "tools.exec.mode must be one of deny"),
    ],
)
def test_a_refused_setting_is_corrected_by_every_way(path: str, value: Any, named: str) -> None:
    files = Files(text_of(with_value(OLD, path, value)))
    calls = ways(path, value) if path in {each for each, *_ in SETTINGS} else _ways_of_new(path, value)
    for way, (tool, params) in {**calls, **asked(path, value)}.items():
        decision, reason = decided(tool, params, files, ON_RELEASE)
        assert (decision, CORRECTION in reason, named in reason) == ("block", True, True), (way, reason)


def _ways_of_new(path: str, value: Any) -> dict[str, tuple[str, dict[str, Any]]]:
    new = text_of(with_value(OLD, path, value))
    jq = f"jq '.{path} = {json.dumps(value)}' {CONFIG} > /tmp/n.json && mv /tmp/n.json {CONFIG}"
    shell = {"jq": jq, "cp": f"cp {PREPARED} {CONFIG}", "here": f"cat > {CONFIG} <<'E'\n{new}E"}
    return {name: ("exec", {"command": each}) for name, each in shell.items()} | {
        "write": ("write", {"path": CONFIG, "content": new})
    }


@pytest.mark.parametrize("release", ["", "2026.12.1", RELEASE])
@pytest.mark.parametrize(("path", "value"), [("gateway.port", 18800), ("gateway.port", "${PORT}"), ("channels.new.x", 1)])
def test_what_the_gateway_may_accept_is_not_corrected(release: str, path: str, value: Any) -> None:
    host = HOST.__class__(HOST.home, HOST.state_dir, HOST.config_path, release=release)
    params = {"path": CONFIG, "content": text_of(with_value(OLD, path, value))}
    assert CORRECTION not in decided("write", params, Files(), host)[1]


@pytest.mark.parametrize("release", ["", "2026.12.1"])
def test_nothing_is_known_of_another_release(release: str) -> None:
    assert setting_schemas.refusal(RELEASE, ("gateway", "prot"), 1)
    assert not setting_schemas.refusal(release, ("gateway", "prot"), 1)


def test_what_was_refused_before_is_nobody_elses_fault() -> None:
    old = with_value(OLD, "gateway.prot", 1)
    params = {"path": CONFIG, "content": text_of(with_value(old, "ui.seamColor", "#000000"))}
    assert decided("write", params, Files(config=text_of(old)), ON_RELEASE)[0] == "allow"


@pytest.mark.parametrize(
    ("path", "value"),
    [("agents.list", [{"id": "a"}]), ("env.vars.A", "x"), ("agents.entries.a.model", "x/y"), ("$schema", "x")],
)
def test_names_of_older_releases_and_of_ones_own_are_no_mistakes(path: str, value: Any) -> None:
    assert not setting_schemas.refusal(RELEASE, path.split("."), value)
