"""Checks that look at what others made: nothing there makes doctor wait, follow, or believe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cli_stage import put_in

from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.doctor.check_types import DoctorSubject, account, owner_name
from toolguard_cli.doctor.checks import (
    config_check,
    dashboard_check,
    discovery_check,
    hook_order_check,
    notify_check,
    plugin_check,
)
from toolguard_cli.hostconfig import openclaw_check
from toolguard_cli.system.paths import Places
from toolguard_engine.config import settings

LISTENER = """
import socket, sys
listener = socket.socket()
listener.bind(("127.0.0.1", 0))
listener.listen()
print(listener.getsockname()[1], flush=True)
sys.stdin.read()
"""


@pytest.fixture
def subject(places: Places) -> DoctorSubject:
    put_in(places)
    return doctor.look(places)


def with_dashboard(subject: DoctorSubject, port: int) -> DoctorSubject:
    own = settings.parse({"metrics": {"enabled": True, "dashboard": {"enabled": True, "port": port}}})
    return replace(subject, settings=own)


@pytest.mark.parametrize(
    ("words", "expected"),
    [(["toolguard_cli.dashboard", "--db=x"], "a dashboard for another metrics file (process "), (["somebody"], "process ")],
)
def test_whose_the_port_is(subject: DoctorSubject, words: list[str], expected: str) -> None:
    command = [sys.executable, "-c", LISTENER, *words]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        port = int(other.stdout.readline())
        check = dashboard_check.served(with_dashboard(subject, port))
        other.communicate("")
    assert check.status == "error"
    assert f"is taken by {expected}{other.pid}" in check.detail
    assert check.fix.startswith("toolguard config set metrics.dashboard.port ")
    assert (
        dashboard_check.served(with_dashboard(subject, port)).detail
        == f"127.0.0.1:{port} is free; the dashboard starts with the gateway"
    )


def in_workspace(subject: DoctorSubject, name: str) -> Path:
    place = subject.places.state_dir / "workspace" / ".openclaw" / "extensions" / name
    place.mkdir(parents=True)
    return place / "openclaw.plugin.json"


def _pipe(path: Path) -> None:
    os.mkfifo(path)


HOSTILE = {
    "a pipe": _pipe,
    "a folder": lambda path: path.mkdir(),
    "too deep": lambda path: path.write_text("[" * 100_000),
    "too long": lambda path: path.write_bytes(b'{"id": "toolguard"}' + b" " * 2_000_000 + b"x"),
    "no UTF-8": lambda path: path.write_bytes(b'{"id": "\xff"}'),
    "a list": lambda path: path.write_text("[1]"),
    "itself": lambda path: path.symlink_to(path),
}


@pytest.mark.parametrize("make", HOSTILE.values(), ids=list(HOSTILE))
def test_manifests_that_an_agent_may_have_made(subject: DoctorSubject, make: Any) -> None:
    make(in_workspace(subject, "made"))
    assert discovery_check.locations(subject) == [subject.places.extension]


def test_a_copy_in_the_workspace_counts_as_one(subject: DoctorSubject) -> None:
    path = in_workspace(subject, "made")
    path.write_text('{"id": "toolguard"}')
    assert discovery_check.locations(subject) == [subject.places.extension, path.parent]
    assert (
        plugin_check.manifest(subject).detail == f"{path.parent / 'package.json'} names nothing to run (openclaw.extensions)"
    )


@pytest.mark.parametrize(
    "entry",
    ["../../../openclaw.json", "/etc/passwd", "none.mjs", "a\0b", "", 7],
    ids=["out", "absolute", "gone", "NUL", "empty", "number"],
)
def test_what_a_package_says_to_run(subject: DoctorSubject, entry: object) -> None:
    package = {"openclaw": {"extensions": [entry]}}
    (subject.places.extension / "package.json").write_text(json.dumps(package))
    check = plugin_check.manifest(subject)
    assert check.status == "error"
    assert check.detail.endswith("which package.json names")


@pytest.mark.parametrize(
    "listed",
    [
        {"a": 1},
        [1, "x", None],
        [{"plugin": 3, "typedHooks": [{"name": "before_tool_call", "priority": "high"}]}],
        [
            {"plugin": {"id": "\x1b[2J"}, "typedHooks": [{"name": "before_tool_call", "priority": None}]},
            {"typedHooks": None},
        ],
    ],
    ids=["object", "scalars", "odd types", "control characters"],
)
def test_a_list_of_hooks_that_is_none(subject: DoctorSubject, monkeypatch: pytest.MonkeyPatch, listed: object) -> None:
    monkeypatch.setattr(hook_order_check, "_ask", lambda _subject: listed)
    check = hook_order_check.last(replace(subject, openclaw=("openclaw",)))
    assert check.status == "error"
    assert check.detail.startswith("toolguard is not among the hooks: ")
    assert check.detail.isprintable()


def test_settings_that_do_not_fit_leave_the_defaults(places: Places) -> None:
    put_in(places)
    value = json.loads(places.config.read_text())
    value["plugins"]["entries"]["toolguard"]["config"] = {"mode": "loud"}
    places.config.write_text(json.dumps(value))
    assert doctor.look(places).settings == msgspec.convert({}, settings.Config)


def test_a_free_name_for_a_foreign_copy(subject: DoctorSubject) -> None:
    """Moving it there works, whatever lies beside it."""
    path = in_workspace(subject, "toolguard")
    path.write_text('{"id": "toolguard"}')
    for taken in ("toolguard.aside", "toolguard.aside1"):
        (subject.places.state_dir / taken).mkdir()
    aside = subject.places.state_dir / "toolguard.aside2"
    assert discovery_check.check(subject).fix == f"mv {path.parent} {aside}"
    assert not aside.exists()


def test_openclaw_is_not_asked_about_the_state_of_another_user(
    subject: DoctorSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root would leave a database there that the gateway cannot write."""

    def asked(_subject: DoctorSubject) -> None:
        raise AssertionError("asked")

    monkeypatch.setattr(hook_order_check, "_ask", asked)
    monkeypatch.setattr(openclaw_check, "ask", asked)
    monkeypatch.setattr(os, "geteuid", lambda: 54_321)
    other = replace(subject, openclaw=("openclaw",))
    check = hook_order_check.last(other)
    assert (check.status, check.fix.split()[:2]) == ("warn", ["sudo", "-u"])
    assert config_check.whole(other).detail == "no problem found in its plugins section"


def test_an_account_without_a_name_is_no_comment_for_the_shell() -> None:
    assert (account(54_321), owner_name(54_321)) == ("#54321", "54321")
    assert owner_name(0) == "root"


JOBS = {"jobs": [{"name": "nightly", "payload": {"kind": "agentTurn"}}, {"name": "dump", "payload": {"kind": "command"}}]}
OWN_JOBS = {"jobs": [{**JOBS["jobs"][0], "declarationKey": "memory-core:memory-dreaming-promotion"}]}
HOOK = {"targets": {"hook": {"webhook": "https://host.example/x"}}}
LEARNS: list[tuple[str, dict[str, Any], dict[str, Any], dict[str, Any], str, str]] = [
    ("somebody at the chat", {}, {}, {}, "ok", "no notification target: you learn"),
    ("an automation", {}, {}, JOBS, "warn", "nobody would learn of a held call of the automation nightly:"),
    ("what the host runs for itself", {}, {}, OWN_JOBS, "ok", "no notification target: you learn"),
    ("a heartbeat", {}, {"agents": {"defaults": {"heartbeat": {"every": "30m"}}}}, {}, "warn", "of the heartbeat"),
    ("nothing is held", {"mode": "shadow"}, {}, JOBS, "ok", "no call is held in mode shadow"),
    (
        "the gateway asks",
        {"approval": {"mode": "native"}},
        {"approvals": {"plugin": {"enabled": True, "mode": "targets", "targets": [{"channel": "telegram", "to": "1"}]}}},
        *(JOBS, "ok", "the gateway's own prompt is forwarded"),
    ),
    ("a target", {"notify": HOOK}, {}, JOBS, "ok", "held calls are reported to hook"),
    (
        "not of held calls",
        {"notify": {**HOOK, "events": ["digest"]}},
        {},
        JOBS,
        "warn",
        "no usable target receives `held` events",
    ),
    ("unusable", {"notify": {"targets": {"x": {"webhook": "h"}}}}, {}, {}, "warn", "x: webhook is not an address"),
    ("unset", {"notify": {"targets": {"x": {"url": "${NO_SUCH}"}}}}, {}, {}, "warn", "x: ${NO_SUCH} is not set here"),
    ("unknown", {"notify": {"targets": {"x": {"url": "nonsense://x"}}}}, {}, {}, "warn", "x: apprise does not know this"),
    ("no file", {"notify": {"targets": {"x": {"urlFile": "/no/such"}}}}, {}, {}, "warn", "x: /no/such cannot be read"),
]


@pytest.mark.parametrize(
    ("own", "host", "jobs", "status", "detail"), [row[1:] for row in LEARNS], ids=[row[0] for row in LEARNS]
)
def test_whether_somebody_learns_of_a_held_call(
    places: Places, own: dict[str, Any], host: dict[str, Any], jobs: dict[str, Any], status: str, detail: str
) -> None:
    put_in(places)
    value = {**json.loads(places.config.read_text()), **host}
    value["plugins"]["entries"]["toolguard"]["config"] = own
    places.config.write_text(json.dumps(value))
    (places.state_dir / "cron").mkdir()
    (places.state_dir / "cron" / "jobs.json").write_text(json.dumps(jobs))
    subject = doctor.look(places)
    check = notify_check.somebody(subject)
    assert (check.status, detail in check.detail) == (status, True), check.detail
    assert config_check.fits(subject).status != "error"
