"""`toolguard dashboard`: the address of one that runs, or one of its own until Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from cli_stage import SCRIPT, dashboard_thread, envelope, toolguard

from tables import each_row
from toolguard_cli.commands import show_dashboard
from toolguard_cli.dashboard import discovery, open_browser, run_server, token
from toolguard_cli.dashboard.server_settings import DashboardSettings
from toolguard_cli.doctor.check_types import DoctorSubject
from toolguard_cli.doctor.checks import metrics_check as metrics
from toolguard_cli.doctor.checks.dashboard_check import served
from toolguard_cli.rig.private_home import free_port
from toolguard_cli.status import cost_format
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.config.settings import parse
from toolguard_engine.metrics.database import connect

HOSTS = ["Box.ts.net", "http://lan:9000"]
LIMIT = 120
"""Seconds after which something counts as never coming."""


@pytest.fixture
def db(places: Places) -> Path:
    """The metrics file that the settings name."""
    path = places.state_dir / "usage" / "m.db"
    configure(places, dbPath=str(path), dashboard={"port": free_port()})
    return path


def configure(places: Places, **metrics: Any) -> None:
    entry = {"enabled": True, "config": {"metrics": metrics}}
    places.config.write_text(json.dumps({"plugins": {"entries": {"toolguard": entry}}}))


def named(places: Places) -> tuple[str, ...]:
    return ("--state-dir", str(places.state_dir), "--config", str(places.config))


@contextmanager
def running(places: Places, *options: str, **env: str) -> Iterator[subprocess.Popen[str]]:
    """The command in the foreground, from when it can be found on; ended with Ctrl-C."""
    command, here = [SCRIPT, "dashboard", *named(places), *options], {**os.environ, **env}
    path = Path(cost_format.settings(places).db_path)
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=here) as one:
        try:
            until(lambda: discovery.running(path) or one.poll() is not None)
            yield one
        finally:
            one.kill()


@contextmanager
def serving(db: Path, port: int) -> Iterator[discovery.Running]:
    """A dashboard over this metrics file, in a thread."""
    places = ["--state-dir", str(db.parent), "--config", str(db.parent / "none.json")]
    with dashboard_thread(["--db", str(db), *places, "--port", str(port)]) as one:
        yield one


def until(condition: Any) -> None:
    limit = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < limit
        time.sleep(0.02)


def test_it_serves_until_ctrl_c_and_is_found_meanwhile(places: Places, db: Path) -> None:
    with running(places) as one:
        own = token.obtain(db)
        port = cost_format.settings(places).dashboard.port
        url = f"http://127.0.0.1:{port}/#token={own}"
        again = toolguard("dashboard", *named(places))
        reported = envelope(toolguard("dashboard", *named(places), "--json"))
        other = toolguard("dashboard", *named(places), "--port", str(free_port()))
        one.send_signal(signal.SIGINT)
        said, _ = one.communicate(timeout=LIMIT)
    assert one.returncode == 0, said
    first = f"ok    the dashboard is running at http://127.0.0.1:{port} (process {one.pid}); open it with the token:"
    assert said.splitlines()[:2] == [first, f"next  {url}"]
    assert again.stdout.splitlines()[:2] == [first, f"next  {url}"]
    assert "listening" not in said
    assert show_dashboard.SECRET in said
    assert "press Ctrl-C to stop it" in said
    assert again.returncode == 0
    assert (reported["data"]["url"], reported["data"]["pid"]) == (url, one.pid)
    assert other.returncode == 1
    assert other.stderr.splitlines() == [
        f"error a dashboard for this metrics file is already running at http://127.0.0.1:{port} (process {one.pid})",
        f"      -> stop that one first: press Ctrl-C where it was started, or run kill {one.pid}",
    ]
    assert discovery.running(db) is None
    assert toolguard("dashboard", *named(places), "--json").returncode == 1


@pytest.mark.parametrize(
    ("wish", "fix"),
    [
        (show_dashboard.DashboardRequest(9), "toolguard config set metrics.dashboard.port 9, or "),
        (show_dashboard.DashboardRequest(bind="::1"), "toolguard config set metrics.dashboard.bind ::1, or "),
        (show_dashboard.DashboardRequest(bind="127.0.0.1", port=7), None),
        (show_dashboard.DashboardRequest(bind="localhost"), None),
    ],
)
def test_one_that_the_gateway_runs_is_not_moved_by_an_option(
    places: Places, db: Path, monkeypatch: pytest.MonkeyPatch, wish: show_dashboard.DashboardRequest, fix: str | None
) -> None:
    token.obtain(db)
    monkeypatch.setattr(discovery, "running", lambda _: discovery.Running(5, "http://127.0.0.1:7", 0, "1", owned=True))
    if fix is None:
        assert show_dashboard.run(places, wish, as_json=False).data["pid"] == 5
        return
    with pytest.raises(UserError) as caught:
        show_dashboard.run(places, wish, as_json=False)
    assert caught.value.fix.startswith(f"the gateway runs that one; move it with {fix}")
    assert "toolguard config set metrics.dashboard.enabled false" in caught.value.fix


def test_a_dashboard_over_another_file_is_told_as_one(places: Places, db: Path, tmp_path: Path) -> None:
    """By the command line of its process."""
    port = cost_format.settings(places).dashboard.port
    with running(places) as one:
        configure(places, dbPath=str(tmp_path / "other.db"), dashboard={"port": port})
        done = toolguard("dashboard", *named(places))
        own = parse({"metrics": {"dbPath": str(tmp_path / "other.db"), "dashboard": {"enabled": True, "port": port}}})
        check = served(DoctorSubject(places, None, None, settings=own))
    taken = f"is taken by a dashboard for another metrics file (process {one.pid})"
    assert taken in done.stderr
    assert "-> toolguard dashboard --port " in done.stderr
    assert taken in check.detail


@pytest.mark.parametrize(
    ("enabled", "bind", "status", "reported"),
    [
        (True, "127.0.0.1", "ok", "running at "),
        (True, "0.0.0.0", "warn", "nothing is encrypted"),
        (False, "127.0.0.1", "ok", "it is off; one runs at "),
    ],
)
def test_doctor_knows_one(places: Places, db: Path, bind: str, status: str, reported: str, *, enabled: bool) -> None:
    with serving(db, free_port()) as one:
        own = parse({"metrics": {"dbPath": str(db), "dashboard": {"enabled": enabled, "bind": bind}}})
        check = served(DoctorSubject(places, None, None, settings=own))
    assert (check.status, reported in check.detail) == (status, True)
    assert (check.data.get("pid") == one.pid) is enabled


def test_doctor_knows_when_metrics_were_written(places: Places, db: Path) -> None:
    connect(db).close()
    own = parse({"metrics": {"enabled": True, "dbPath": str(db)}})
    check = metrics.recorded(DoctorSubject(places, None, None, settings=own))
    assert (check.status, check.data["path"]) == ("ok", str(db))
    assert check.detail.startswith(f"{db}, last written ")
    assert check.data["bytes"] >= db.stat().st_size


def test_options_win_over_the_settings(places: Places, db: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[DashboardSettings] = []
    monkeypatch.setattr(run_server, "run", lambda settings, _tell: asked.append(settings) or 0)
    toolguard("dashboard", *named(places))
    toolguard("dashboard", *named(places), "--port", "4711", "--bind", "localhost")
    port = cost_format.settings(places).dashboard.port
    assert [(each.bind, each.port) for each in asked] == [("127.0.0.1", port), ("localhost", 4711)]


def test_a_taken_port_is_named_with_the_next_free_one(places: Places, db: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = toolguard("dashboard", *named(places), "--port", str(port))
    assert done.returncode == 1
    assert f"port {port} on 127.0.0.1 is taken by process {os.getpid()} " in done.stderr
    assert "-> toolguard dashboard --port " in done.stderr
    assert not db.exists()


def test_the_browser_gets_a_file_and_no_token_in_its_command_line(places: Places, db: Path, tmp_path: Path) -> None:
    browser, heard = tmp_path / "browser", tmp_path / "heard"
    browser.write_text(f'#!/bin/sh\ncat "${{1#file://}}" > {heard}.page\necho "$@" > {heard}.new\nmv {heard}.new {heard}\n')
    browser.chmod(0o700)
    with running(places, "--open", BROWSER=f"{browser} %s") as one:
        until(heard.exists)
        door = Path(heard.read_text().strip().removeprefix("file://"))
        mode, own = door.stat().st_mode & 0o777, token.obtain(db)
        one.send_signal(signal.SIGINT)
        one.communicate(timeout=LIMIT)
    assert mode == 0o600
    assert own not in heard.read_text()
    assert f"/#token={own}" in Path(f"{heard}.page").read_text()
    assert not door.exists()


def test_without_a_browser_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER"):
        monkeypatch.delenv(name, raising=False)
    line = open_browser.in_browser("http://127.0.0.1:1/#token=0", tmp_path / "m.db")
    assert (line.kind, line.text) == ("warn", "no browser found; open the address above yourself")
    assert list(tmp_path.iterdir()) == []


@each_row(
    ("bind", "near"),
    [
        ("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("localhost", True), ("LOCALHOST", True),
        ("0.0.0.0", False), ("::", False), ("192.168.1.5", False), ("my-host", False), ("", False),
    ],
)  # fmt: skip
def test_what_is_this_machine_alone(bind: str, *, near: bool) -> None:
    assert show_dashboard.is_loopback(bind) is near


@pytest.mark.parametrize(
    ("metrics", "bind", "warned", "off"),
    [
        ({"enabled": True}, "127.0.0.1", False, False),
        ({"enabled": False}, "127.0.0.1", False, True),
        ({"enabled": True}, "0.0.0.0", True, False),
    ],
)
def test_what_a_person_is_told_first(metrics: dict[str, Any], bind: str, *, warned: bool, off: bool) -> None:
    about, config = discovery.Running(1, "http://x", 0, "1"), parse({"metrics": metrics}).metrics
    reported = [
        line.text for line in show_dashboard.running_lines(about, "http://x/#token=1", bind, config, "toolguard install")
    ]
    assert any("nothing is encrypted" in text for text in reported) is warned
    assert any("ssh -L" in text for text in reported) is warned
    assert any("metrics are disabled" in text for text in reported) is off
    assert any("-> toolguard install" in text for text in reported) is off


def test_the_public_names_are_shown_with_the_token() -> None:
    about, metrics = (
        discovery.Running(1, "http://127.0.0.1:8080", 0, "0"),
        parse({"metrics": {"dashboard": {"hosts": HOSTS}}}),
    )
    lines = show_dashboard.running_lines(about, f"{about.url}/#token=x", "127.0.0.1", metrics.metrics, "switch")
    found = [line.text for line in lines if line.kind == "next"]
    assert found == ["https://box.ts.net/#token=x", "http://lan:9000/#token=x", f"{about.url}/#token=x"]


def test_a_setting_that_is_wrong(places: Places) -> None:
    configure(places, dashboard={"port": 0})
    with pytest.raises(UserError, match="port"):
        show_dashboard.run(places, show_dashboard.DashboardRequest(), as_json=False)
