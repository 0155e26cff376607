"""One line at the end: is this gateway guarded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cli_stage import put_in
from doctor_stage import IDS, examined

from toolguard_cli.checks import engine, entry, verdict
from toolguard_cli.checks.check import Check, Status
from toolguard_cli.commands import doctor
from toolguard_cli.paths import Places
from toolguard_engine.config import parse


def check(name: str, status: Status, detail: str = "so", **data: Any) -> Check:
    return Check(name, status, detail, "" if status == "ok" else "mend it", data)


@pytest.mark.parametrize(
    ("checks", "guarded", "words"),
    [
        pytest.param([check("plugin", "ok")], "yes", "GUARDED, as far as can be told without a run: ", id="all is well"),
        pytest.param([check("live-stop", "ok")], "yes", "GUARDED, and proved on a throw-away gateway", id="proved"),
        pytest.param([check("latency", "warn")], "yes", "GUARDED, as far as ", id="a warning beside it"),
        pytest.param([check("plugin", "error", "gone\nline")], "no", "NOT guarded: plugin: gone", id="not there"),
        pytest.param([check("live-stop", "error")], "no", "NOT guarded: live-stop: so", id="proved that it is not"),
        pytest.param([check("enforced", "warn", guards="no")], "no", "NOT guarded: enforced: so", id="shadow"),
        pytest.param([check("enforced", "warn", guards="partly")], "partly", "partly guarded: enforced: so", id="one agent"),
        pytest.param([check("enabled", "warn", guards="no")], "no", "NOT guarded: enabled: so", id="off"),
        pytest.param([check("stores", "error")], "partly", "partly guarded: stores: so", id="an error beside it"),
        pytest.param([check("self-approval", "warn")], "partly", "partly guarded: self-approval: so", id="its own yes"),
        pytest.param([check("hook-order", "warn", hooks=[1])], "partly", "partly guarded: hook-order: so", id="changed"),
        pytest.param([check("hook-order", "warn")], "yes", "GUARDED, as far as ", id="not asked"),
        pytest.param(
            [check("stores", "error"), check("key", "error"), check("engine", "error"), check("log", "error")],
            "no", "NOT guarded: engine: so; stores: so; key: so (and 1 more)", id="the gravest first",
        ),
    ],
)  # fmt: skip
def test_what_the_checks_mean(checks: list[Check], guarded: str, words: str) -> None:
    told = verdict.of(checks)
    assert (told.guarded, told.words.startswith(words)) == (guarded, True), told.words


def test_the_ids_are_those_of_checks() -> None:
    assert verdict.STANDS_ON | verdict.SWITCHES | verdict.LETS_THROUGH | {verdict.PLUGIN_AFTER} <= set(IDS)


@pytest.mark.parametrize(
    ("own", "guards"),
    [
        ({"mode": "shadow"}, "no"),
        ({"mode": "shadow", "agents": {"a": {"mode": "disabled"}}}, "no"),
        ({"mode": "shadow", "agents": {"a": {"mode": "enforce"}}}, "partly"),
        ({"agents": {"a": {"mode": "shadow"}, "b": {}}}, "partly"),
        ({"failMode": "open"}, "partly"),
        ({}, None),
    ],
)
def test_which_agents_are_guarded(places: Places, own: dict[str, Any], guards: str | None) -> None:
    put_in(places)
    subject = doctor.look(places)
    subject = replace(subject, settings=parse(own))
    assert entry.enforced(subject).data.get("guards") == guards


def test_it_is_the_last_line(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "_ask", lambda _python, _scratch: "")
    monkeypatch.setattr(engine, "_measured", lambda _python, _scratch: (0.2, 0.1))
    result = doctor.run(places, openclaw=())
    last = result.lines[-1]
    assert (last.kind, last.text[:24]) == ("error", "NOT guarded: plugin: the")
    assert result.data["verdict"]["guarded"] == "no"
    assert result.data["verdict"]["why"][0] == "plugin"
    assert examined(places, openclaw=())["plugin"]["status"] == "error"
