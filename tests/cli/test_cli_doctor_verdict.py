"""One line at the end: is this gateway guarded."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from cli_stage import put_in
from doctor_stage import IDS, examined

from tables import each_row
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.doctor import guard_verdict
from toolguard_cli.doctor.check_types import Check, Status
from toolguard_cli.doctor.checks import engine_check, entry_check
from toolguard_cli.system.paths import Places
from toolguard_engine.config.settings import parse


def check(name: str, status: Status, detail: str = "so", **data: Any) -> Check:
    return Check(name, status, detail, "" if status == "ok" else "fix it", data)


def loaded(guards: str = "yes", status: Status = "ok") -> Check:
    return check("loaded", status, "the gateway has it", guards=guards)


@each_row(
    ("checks", "guarded", "words"),
    [
        pytest.param([loaded()], "yes", "GUARDED: the gateway has it", id="all is well"),
        pytest.param([check("plugin", "ok")], "unknown", "unproven", id="no gateway was asked"),
        pytest.param([loaded(), check("live-stop", "ok")], "yes", "GUARDED, and proved on a temporary gateway: ", id="live"),
        pytest.param([loaded(), check("latency", "warn")], "yes", "GUARDED: ", id="a warning beside it"),
        pytest.param([loaded("installed")], "installed", "INSTALLED: the gateway has it", id="no gateway runs"),
        pytest.param(
            [loaded("installed"), check("live-stop", "ok"), check("stores", "error")], "installed",
            "INSTALLED, and proved on a temporary gateway: the gateway has it; but stores: so", id="none, and an error",
        ),
        pytest.param([loaded("installed"), check("plugin", "error")], "no", "NOT guarded: plugin: so", id="none loads it"),
        pytest.param([loaded("no", "error")], "no", "NOT guarded: loaded: the gateway has it", id="not loaded"),
        pytest.param([loaded("partly", "error")], "partly", "partly guarded: loaded: ", id="another version"),
        pytest.param([loaded("unknown", "warn")], "unknown", "unproven: loaded: ", id="unseen"),
        pytest.param([loaded(), check("plugin", "error", "gone\nline")], "no", "NOT guarded: plugin: gone", id="gone"),
        pytest.param([loaded(), check("live-stop", "error")], "no", "NOT guarded: live-stop: so", id="disproved"),
        pytest.param([loaded(), check("enforced", "warn", guards="no")], "no", "NOT guarded: enforced: so", id="exempt"),
        pytest.param(
            [loaded(), check("enforced", "warn", guards="observes"), check("stores", "error")],
            "observes", "OBSERVING, nothing is held or blocked: enforced: so; stores: so", id="shadow",
        ),
        pytest.param(
            [check("enforced", "warn", guards="observes"), check("engine", "error")], "no", "NOT guarded: engine: so",
            id="shadow without an engine",
        ),
        pytest.param(
            [loaded(), check("enforced", "warn", guards="partly")], "partly", "partly guarded: enforced: so", id="one agent"
        ),
        pytest.param([loaded(), check("enabled", "warn", guards="no")], "no", "NOT guarded: enabled: so", id="off"),
        pytest.param([loaded(), check("stores", "error")], "partly", "partly guarded: stores: so", id="an error beside it"),
        pytest.param([loaded(), check("hook-order", "warn", guards="unknown")], "unknown", "unproven: ", id="not asked"),
        pytest.param(
            [check("stores", "error"), check("key", "error"), check("engine", "error"), check("log", "error")],
            "no", "NOT guarded: engine: so; stores: so; key: so (and 1 more)", id="the gravest first",
        ),
    ],
)  # fmt: skip
def test_what_the_checks_mean(checks: list[Check], guarded: str, words: str) -> None:
    reported = guard_verdict.draw(checks)
    assert (reported.guarded, reported.words.startswith(words)) == (guarded, True), reported.words


def test_what_the_guard_cannot_do_without() -> None:
    assert [name for name in IDS if name in guard_verdict.ESSENTIAL] == [
        "loaded", "hooks", "hook-order", "plugin", "plugin-files", "manifest", "enabled", "allowed", "config", "settings",
        "whole-config", "python", "engine",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("own", "guards"),
    [
        ({"mode": "shadow"}, "observes"),
        ({"mode": "shadow", "agents": {"a": {"mode": "disabled"}}}, "observes"),
        ({"mode": "disabled", "agents": {"a": {"mode": "shadow"}}}, "observes"),
        ({"mode": "disabled", "agents": {"a": {"mode": "disabled"}}}, None),
        ({"mode": "soft"}, None),
        ({"mode": "soft", "failMode": "open"}, "partly"),
        ({"agents": {"a": {"mode": "soft"}}}, "partly"),
        ({"neverBlock": ["exec"]}, "partly"),
        ({"neverBlock": ["read"]}, "partly"),
        ({"neverBlock": ["a_tool_nobody_knows"]}, "partly"),
        ({"neverBlock": ["memory_get", "web_fetch", "github__get_issue"]}, None),
        ({"neverBlock": ["exec", "process", "write", "edit", "apply_patch"]}, "no"),
        ({"neverBlock": ["core:EXEC", "process", "write", "edit", "apply_patch", "read"], "mode": "shadow"}, "no"),
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
    assert entry_check.enforced(subject).data.get("guards") == guards


@pytest.mark.parametrize(
    ("own", "kind", "words", "exit_code"),
    [
        ({"mode": "shadow"}, "warn", "OBSERVING, nothing is held or blocked: ", 0),
        ({"neverBlock": ["exec"]}, "warn", "partly guarded: enforced: neverBlock exempts exec", 0),
        (
            {"neverBlock": sorted(entry_check.HOST_TOOLS)},
            "error",
            "NOT guarded: enforced: neverBlock exempts apply_patch",
            1,
        ),
        ({"enabled": False}, "error", "NOT guarded: enabled: ", 1),
    ],
)
def test_what_it_means_for_a_script(
    places: Places, monkeypatch: pytest.MonkeyPatch, own: dict[str, Any], kind: str, words: str, exit_code: int
) -> None:
    """The exit code follows from the last line where no check is an error."""
    rows = [row for row in doctor.TABLE if row.id in ("enabled", "enforced")]
    monkeypatch.setattr(doctor, "TABLE", rows)
    put_in(places)
    look = doctor.look(places)
    monkeypatch.setattr(doctor, "look", lambda _: replace(look, settings=parse(own)))
    result = doctor.run(places, openclaw=())
    last = result.lines[-1]
    assert (last.kind, last.text[: len(words)], result.exit_code) == (kind, words, exit_code)


def test_it_is_the_last_line(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_check, "_ask", lambda _python, _scratch: "")
    monkeypatch.setattr(engine_check, "_measured", lambda _python, _scratch: (0.2, 0.1))
    result = doctor.run(places, openclaw=())
    last = result.lines[-1]
    assert (last.kind, last.text[:24]) == ("error", "NOT guarded: loaded: too")
    assert result.data["verdict"]["guarded"] == "no"
    assert result.data["verdict"]["why"][:2] == ["loaded", "plugin"]
    assert examined(places, openclaw=())["plugin"]["status"] == "error"
