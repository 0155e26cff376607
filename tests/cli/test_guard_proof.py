"""Whether the running gateway has loaded this toolguard: each state of a machine, by the facts that are known about it."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from cli_stage import put_in, texts, toolguard
from doctor_stage import info

from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.commands import show_status as status
from toolguard_cli.doctor import guard_verdict
from toolguard_cli.doctor.checks import gateway_check
from toolguard_cli.hostconfig import openclaw_check
from toolguard_cli.operations import guard_lines, guard_proof, set_kill_switch
from toolguard_cli.operations.set_kill_switch import KillSwitchRequest
from toolguard_cli.setup import plugin_folder
from toolguard_cli.system.gateway_processes import EngineProcess, GatewayProcess, PortAnswer, ThisMachine
from toolguard_cli.system.paths import Places
from toolguard_engine.config.settings import digests, parse
from toolguard_engine.stores.files import engine_files as engines

GATEWAY, ENGINE = 70, 71
NOW = 2_000_000_000.0


@dataclass
class Machine:
    """A machine on which a gateway runs with an engine, until a fact is changed."""

    places: Places
    running: list[GatewayProcess] = field(default_factory=list)
    processes: dict[int, EngineProcess] = field(default_factory=dict)
    port: PortAnswer = "nothing"

    def gateways(self) -> list[GatewayProcess]:
        return self.running

    def engine(self, pid: int) -> EngineProcess | None:
        return self.processes.get(pid)

    def answer(self, port: int, *, tls: bool) -> PortAnswer:
        assert (port, tls) == (1, False)
        return self.port

    def owner(self, port: int) -> str:
        return f"process 9 of {port}"

    def runs(self, state: Path | None = None, started: float = NOW - 100) -> None:
        self.running = [GatewayProcess(GATEWAY, started, "127.0.0.1:1", state or self.places.state_dir)]
        self.port = "gateway"

    def has_loaded(self, *, parent: int = GATEWAY, works: bool = True, **reported: Any) -> None:
        """The gateway's engine has reported itself."""
        self.runs()
        self.processes = {ENGINE: EngineProcess((parent, 1), NOW - 50, works)}
        known = {"pid": ENGINE, "gateway_pid": GATEWAY, "started": NOW - 50, "published": NOW, **reported}
        engines.publish(self.places.state_dir, info(**known))

    def configure(self, **parts: Any) -> None:
        value = json.loads(self.places.config.read_text())
        for path, new in parts.items():
            *above, last = path.split("__")
            place = value
            for step in above:
                place = place.setdefault(step, {})
            place[last] = new
        self.places.config.write_text(json.dumps(value))


@pytest.fixture
def machine(places: Places, monkeypatch: pytest.MonkeyPatch) -> Machine:
    put_in(places)
    made = Machine(places)
    monkeypatch.setattr(guard_proof, "ThisMachine", lambda: made)
    monkeypatch.setattr(time, "time", lambda: NOW)
    monkeypatch.setattr(guard_proof, "SETTLE_SECONDS", 0)
    monkeypatch.setattr(guard_proof, "RELOAD_WAIT_SECONDS", 0)
    return made


def not_installed(machine: Machine) -> None:
    machine.places.record.unlink()
    machine.places.config.write_text("{}")


def not_installed_and_running(machine: Machine) -> None:
    not_installed(machine)
    machine.runs()


def disabled(machine: Machine) -> None:
    machine.configure(plugins__entries__toolguard__enabled=False)
    machine.runs()


def reload_off(machine: Machine) -> None:
    machine.configure(gateway__reload__mode="off")
    machine.runs()


def copied_too_late(machine: Machine) -> None:
    """A gateway that is young, but loads nothing that comes after its start."""
    reload_off(machine)
    machine.runs(started=NOW - 20)
    os.utime(machine.places.extension / plugin_folder.MARKER, (NOW, NOW))


def other_settings(machine: Machine, **host: Any) -> None:
    machine.has_loaded(settings=digests(parse({"failMode": "open", "mode": "soft", "python": "${PYTHON}"})))
    config = {"mode": "soft", "neverBlock": ["read"], "python": "/usr/bin/${PYTHON}", "logPath": "/x/tool-guard.log"}
    machine.configure(plugins__entries__toolguard__config=config, **host)


def engine_gone(machine: Machine, fail_mode: str = "closed") -> None:
    machine.has_loaded()
    machine.configure(plugins__entries__toolguard__config={"failMode": fail_mode})
    machine.processes.clear()


def has_just_changed(machine: Machine, make: Callable[[Machine], None], seconds: float = 20) -> None:
    make(machine)
    os.utime(machine.places.config, (NOW - seconds, NOW - seconds))


def stopped(machine: Machine) -> None:
    machine.has_loaded()
    machine.running.clear()
    machine.port = "nothing"


def pid_reused(machine: Machine) -> None:
    """The files are of an earlier gateway and engine, whose process ids others have now."""
    machine.has_loaded(started=NOW - 5_000, published=NOW - 4_000)


def unseen(machine: Machine) -> None:
    machine.running, machine.port = [GatewayProcess(GATEWAY, NOW)], "gateway"


def unseen_but_loaded(machine: Machine) -> None:
    """The gateway of another user, whose engine is known."""
    machine.has_loaded()
    machine.running = [GatewayProcess(GATEWAY, NOW)]


def taken(machine: Machine) -> None:
    machine.port = "other"


ANSWERS = "a gateway answers on 127.0.0.1:1 and has not loaded toolguard"
LOADED = "the gateway on 127.0.0.1:1 has loaded toolguard 0.1.0 with these settings"
RESTART, INSTALL = "openclaw gateway restart", "toolguard install"
OTHER = "the gateway on 127.0.0.1:1 runs with settings that differ from its config: failMode, neverBlock"
SLOW = "a gateway answers on 127.0.0.1:1 and has been starting its engine for "
AWAY = "a gateway answers on 127.0.0.1:1 and has loaded toolguard, but its engine is not running: "


def slow_start(machine: Machine, *, works: bool, failed: int, since: float = NOW - 90) -> None:
    machine.runs()
    folder = engines.folder(machine.places.state_dir)
    folder.mkdir(parents=True, exist_ok=True)
    note = {"gatewayPid": GATEWAY, "since": since, "failed": failed, "works": works, "limit": 60.0}
    (folder / f"{GATEWAY}.starting").write_text(json.dumps(note))


STATES: list[tuple[str, Callable[[Machine], None], str, str, str, str]] = [
    ("not installed", not_installed, "not-installed", "toolguard is not installed, and", INSTALL, "NOT guarded"),
    ("not installed, a gateway runs", not_installed_and_running, "not-loaded", ANSWERS, INSTALL, "NOT guarded"),
    ("installed", lambda _: None, "installed", "no gateway is running; it loads", "openclaw gateway run", "INSTALLED"),
    ("disabled", disabled, "not-loaded", f"{ANSWERS}: plugins.entries.toolguard.enabled is false", INSTALL, "NOT guarded"),
    ("loaded", Machine.has_loaded, "guarded", LOADED, "", "GUARDED"),
    ("loaded, mode shadow", lambda m: m.has_loaded(mode="shadow"), "observing", f"{LOADED} (mode shadow: ", "", "GUARDED"),
    ("loaded, switched off", lambda m: m.has_loaded(mode="disabled"), "disabled", LOADED, "toolguard config set mode", ""),
    ("not loaded", Machine.runs, "not-loaded", ANSWERS, RESTART, "NOT guarded"),
    ("still starting", lambda m: m.runs(started=NOW - 20), "starting",
     "the gateway on 127.0.0.1:1 is still starting", "wait 30 s, then: toolguard doctor", "unproven"),
    ("an engine that takes long", lambda m: slow_start(m, works=True, failed=0), "starting",
     f"{SLOW}1m30s (attempt 1, at most 1m00s); until it is ready, calls wait", "wait, then: toolguard doctor", "unproven"),
    ("an engine that says nothing", lambda m: slow_start(m, works=False, failed=2), "starting",
     f"{SLOW}1m30s (attempt 3, at most 1m00s); until it is ready, every call is blocked (failMode closed)",
     "wait, then: toolguard doctor", "unproven"),
    ("an engine of an earlier gateway", lambda m: slow_start(m, works=True, failed=0, since=NOW - 300), "not-loaded",
     ANSWERS, RESTART, "NOT guarded"),
    ("reload off, copied after the start", copied_too_late, "not-loaded", ANSWERS, RESTART, "NOT guarded"),
    ("reload off, not restarted", reload_off, "not-loaded", ANSWERS, RESTART, "NOT guarded"),
    ("stale version", lambda m: m.has_loaded(version="0.0.9"), "old-version",
     "the gateway on 127.0.0.1:1 runs toolguard 0.0.9, not 0.1.0", RESTART, "partly guarded"),
    ("stale gateway part", lambda m: m.has_loaded(plugin="0.0.8"), "old-version",
     "the gateway on 127.0.0.1:1 runs toolguard 0.0.8, not 0.1.0", RESTART, "partly guarded"),
    ("version before this report", lambda m: m.has_loaded(version="0.0.9", published=0.0), "old-version",
     "the gateway on 127.0.0.1:1 runs toolguard 0.0.9", RESTART, "partly guarded"),
    ("no hooks are called", lambda m: m.has_loaded(seams={"hooks": "fails"}), "not-loaded",
     "the gateway on 127.0.0.1:1 has loaded toolguard, but does not call its hooks", "toolguard doctor", "NOT guarded"),
    ("package replaced", lambda m: m.has_loaded(replaced="toolguard was replaced"), "old-version", "toolguard was replaced",
     RESTART, "partly guarded"),
    ("copied after it was loaded", lambda m: m.has_loaded(started=5.0), "old-version",
     "the gateway on 127.0.0.1:1 has loaded an earlier copy of toolguard 0.1.0", RESTART, "partly guarded"),
    ("stale settings", other_settings, "old-settings", OTHER, "wait for the current run", "partly guarded"),
    ("stale settings, reload off", lambda m: other_settings(m, gateway__reload__mode="off"), "old-settings", OTHER, RESTART,
     "partly guarded"),
    ("invalid settings", lambda m: (m.has_loaded(), m.configure(plugins__entries__toolguard__config={"mode": 1}))[0],
     "old-settings", "the gateway on 127.0.0.1:1 runs with earlier settings: those", "toolguard config validate", ""),
    ("another state directory", lambda m: m.runs(Path("/srv/other state")), "other-state",
     "the gateway on 127.0.0.1:1 uses /srv/other state, not ", "toolguard doctor --state-dir '/srv/other ", "NOT guarded"),
    ("stopped after install", stopped, "installed", "no gateway is running", "openclaw gateway run", "INSTALLED"),
    ("engine dead", engine_gone, "engine-away", f"{AWAY}every call is blocked (failMode closed)", RESTART, "NOT guarded"),
    ("engine dead, fail open", lambda m: engine_gone(m, "open"), "engine-away", f"{AWAY}calls run unjudged", RESTART,
     "NOT guarded"),
    ("engine stopped", lambda m: m.has_loaded(works=False), "engine-away", AWAY, RESTART, "NOT guarded"),
    ("engine gone, config just changed", lambda m: has_just_changed(m, engine_gone), "reloading",
     "a gateway answers on 127.0.0.1:1 and is applying a change of its config", "wait, then: toolguard status", "unproven"),
    ("config just changed", lambda m: has_just_changed(m, other_settings), "reloading",
     "the gateway on 127.0.0.1:1 has not applied the change of its config yet: failMode", "wait for", "unproven"),
    ("not loaded, config just changed", lambda m: has_just_changed(m, Machine.runs), "reloading",
     "a gateway answers on 127.0.0.1:1 and is applying a change", "wait, then: toolguard status", "unproven"),
    ("reload off, config just changed", lambda m: has_just_changed(m, reload_off), "not-loaded", ANSWERS, RESTART,
     "NOT guarded"),
    ("still starting, config just changed", lambda m: (has_just_changed(m, lambda _: None), m.runs(started=NOW - 10))[1],
     "starting", "the gateway on 127.0.0.1:1 is still starting", "wait 30 s, then: toolguard doctor", "unproven"),
    ("engine gone after the change", lambda m: has_just_changed(m, engine_gone, 55), "engine-away", AWAY, RESTART,
     "NOT guarded"),
    ("engine gone, config changed long ago", lambda m: has_just_changed(m, engine_gone, 61), "engine-away", AWAY, RESTART,
     "NOT guarded"),
    ("a process of somebody else", lambda m: m.has_loaded(parent=5), "engine-away", AWAY, RESTART, "NOT guarded"),
    ("files of dead processes", pid_reused, "not-loaded", ANSWERS, RESTART, "NOT guarded"),
    ("not to be examined", unseen, "unknown", "a gateway answers on 127.0.0.1:1, and its process cannot be ",
     "run this again", "unproven"),
    ("its engine is known", unseen_but_loaded, "guarded", "the gateway of process 70 has loaded", "", "GUARDED"),
    ("no gateway on the port", taken, "port-taken", "no gateway is running, and none can start on 127.0.0.1:1: process 9",
     "end that program", "INSTALLED"),
    ("unreadable config", lambda m: m.places.config.write_text("{ x") and None, "unreadable", "unknown: ", "fix",
     "unproven"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("make", "state", "text", "fix", "verdict"), [row[1:] for row in STATES], ids=[row[0] for row in STATES]
)
def test_each_state(
    machine: Machine, make: Callable[[Machine], None], state: str, text: str, fix: str, verdict: str
) -> None:
    make(machine)
    proof = guard_proof.look(machine.places)
    assert (proof.state, proof.text[: len(text)], proof.fix[: len(fix)]) == (state, text, fix), proof
    assert bool(proof.fix) is bool(fix)
    check = gateway_check.loaded(doctor.look(machine.places))
    assert guard_verdict.draw([check]).words.startswith(verdict), check
    assert guard_verdict.draw([check]).guarded != "yes" or state in ("guarded", "observing", "disabled")
    shown = status.run(machine.places)
    (line,) = [each for each in shown.lines if f": {proof.text}" in each.text]
    assert ("GUARDED: " in line.text and " (engine started " in line.text) is (state == "guarded")
    assert shown.data["guard"]["state"] == state


def test_the_newest_engine_counts(machine: Machine) -> None:
    machine.has_loaded(version="0.0.1", pid=72, started=NOW - 60)
    machine.processes |= {72: EngineProcess((GATEWAY,), NOW - 60)}
    assert guard_proof.look(machine.places).state == "old-version"
    machine.has_loaded()
    machine.processes |= {72: EngineProcess((GATEWAY,), NOW - 60)}
    assert guard_proof.look(machine.places).guards


def test_the_worst_gateway_counts(machine: Machine) -> None:
    machine.has_loaded()
    machine.running.append(GatewayProcess(80, NOW - 90, "127.0.0.1:2", machine.places.state_dir))
    proof = guard_proof.look(machine.places)
    assert (proof.state, proof.gateway, proof.text) == ("not-loaded", 80, ANSWERS.replace(":1", ":2"))


def test_the_state_directory_is_the_same_by_another_name(machine: Machine, tmp_path: Path) -> None:
    machine.has_loaded()
    (tmp_path / "link").symlink_to(machine.places.state_dir)
    machine.running = [GatewayProcess(GATEWAY, NOW, "127.0.0.1:1", tmp_path / "link")]
    assert guard_proof.look(machine.places).guards


@pytest.mark.parametrize(
    ("host", "started", "waits"),
    [
        ({}, NOW - 100, True),
        ({"gateway__reload__mode": "off"}, NOW - 100, False),
        ({"gateway__reload__mode": "off"}, NOW, True),
    ],
    ids=["reload on", "reload off", "reload off, just started"],
)
def test_what_install_reports(
    machine: Machine,
    monkeypatch: pytest.MonkeyPatch,
    host: dict[str, Any],
    started: float,
    waits: bool,  # noqa: FBT001
) -> None:
    """It waits only for what may happen by itself."""
    machine.configure(**host)
    machine.runs(started=started)
    monkeypatch.setattr(guard_proof, "SETTLE_SECONDS", 1_000)
    monkeypatch.setattr(time, "sleep", lambda _: machine.has_loaded())
    done = texts(guard_lines.after(put_in(machine.places), machine.places))
    if waits:
        assert done[1:] == [f"GUARDED: {LOADED} (engine started {guard_lines.moment(NOW - 50)})", "toolguard doctor"]
    else:
        assert done[1:] == [f"NOT guarded: {ANSWERS}", f"{RESTART}, then: toolguard doctor"]


def with_path(tmp_path: Path, *programs: str) -> dict[str, str]:
    """A PATH on which there are only these programs, which do nothing."""
    for name in programs:
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    return {"PATH": str(tmp_path)}


def test_install_where_there_is_no_openclaw(places: Places, tmp_path: Path) -> None:
    folder = tmp_path / "programs"
    folder.mkdir()
    done = toolguard("install", "--state-dir", places.state_dir, **with_path(folder))
    assert done.returncode == 0
    assert done.stdout.splitlines()[-3:] == [
        "warn  openclaw is not on PATH: toolguard is a plugin of the OpenClaw gateway, and guards nothing without it",
        "      INSTALLED: no gateway is running; it loads toolguard when it starts",
        f"next  {openclaw_check.MISSING}; then {SET_UP}, start the gateway (openclaw gateway run)",
    ]


SET_UP = "set the gateway up (openclaw onboard, or: toolguard config set gateway.mode local)"


@pytest.mark.parametrize("has_mode", [True, False])
def test_install_without_a_gateway(places: Places, tmp_path: Path, *, has_mode: bool) -> None:
    """A config that `install` has made has no mode, without which the gateway does not start."""
    folder = tmp_path / "programs"
    folder.mkdir()
    if has_mode:
        places.config.write_text('{"gateway": {"mode": "local"}}')
    done = toolguard("install", "--state-dir", places.state_dir, **with_path(folder, "openclaw"))
    assert done.stdout.splitlines()[-2:] == [
        "      INSTALLED: no gateway is running; it loads toolguard when it starts",
        f"next  {'' if has_mode else f'{SET_UP}, '}start the gateway (openclaw gateway run), then: toolguard doctor",
    ]


class _Health(BaseHTTPRequestHandler):
    answer = b'{"ok":true,"status":"live"}'

    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(self.answer)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def server() -> Iterator[HTTPServer]:
    with HTTPServer(("127.0.0.1", 0), _Health) as running:
        threading.Thread(target=running.serve_forever, daemon=True).start()
        yield running
        running.shutdown()


@pytest.mark.parametrize(
    ("answer", "found"),
    [
        (_Health.answer, "gateway"),
        (b"<html>", "other"),
        (b'["ok"]', "other"),
        (b'{"ok":true}', "other"),
        (b"[" * 9_999, "other"),
    ],
)
def test_what_answers_on_a_port(server: HTTPServer, monkeypatch: pytest.MonkeyPatch, answer: bytes, found: str) -> None:
    monkeypatch.setattr(_Health, "answer", answer)
    assert ThisMachine().answer(server.server_port, tls=False) == found


def test_what_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("toolguard_cli.system.gateway_processes.LIMIT_SECONDS", 0.1)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        assert [ThisMachine().answer(port, tls=tls) for tls in (False, True)] == ["other", "other"]
    assert ThisMachine().answer(port, tls=False) == "nothing"


SERVES = """
import http.server, pathlib, socket, sys
class Health(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"ok":true,"status":"live"}')
database = [path.open() for path in map(pathlib.Path, sys.argv[1:])]
with socket.create_server(("127.0.0.1", 0)) as other, http.server.HTTPServer(("127.0.0.1", 0), Health) as server:
    print(server.server_port, other.getsockname()[1], flush=True)
    server.serve_forever()
"""


@pytest.mark.parametrize("title", ["openclaw-gateway", "openclaw"])
@pytest.mark.parametrize("has_database", [True, False])
def test_a_gateway_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, title: str, has_database: bool) -> None:  # noqa: FBT001
    """By its title, its addresses, and state directory: the one that it has open, else the one of its environment."""
    monkeypatch.setenv("OPENCLAW_STATE_DIR", str(tmp_path / "named"))
    database = tmp_path / "own" / "state" / "openclaw.sqlite"
    database.parent.mkdir(parents=True)
    database.touch()
    command = [title, "-I", "-S", "-c", SERVES, *([str(database)] if has_database else [])]
    with subprocess.Popen(command, executable=sys.executable, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        port, other = map(int, process.stdout.readline().split())
        # What else it serves is no HTTP; of a process with the short title only a port with a gateway is one.
        (found,) = [each for each in ThisMachine().gateways() if each.pid == process.pid]
        process.kill()
    assert found.state_dir == tmp_path / ("own" if has_database else "named")
    assert found.address == f"127.0.0.1:{min(port, other)}"
    for each in (port, other):
        assert found.on_port(each).address == f"127.0.0.1:{each}"
    assert found.on_port(1) == found


def test_the_port_of_the_config_counts(machine: Machine) -> None:
    """A gateway also serves agents and browsers, on ports that may be lower than its own."""
    machine.has_loaded()
    port = guard_proof.wanted(machine.places).port
    (running,) = machine.running
    machine.running = [replace(running, address="127.0.0.1:7", others=(f"127.0.0.1:{port}",))]
    assert f" on 127.0.0.1:{port} " in guard_proof.look(machine.places).text


def test_a_process_that_is_no_engine(places: Places) -> None:
    """This one runs, and its file says that it is one."""
    found = ThisMachine().engine(os.getpid())
    assert found is not None
    assert (found.works, found.parents[0]) == (False, os.getppid())
    assert ThisMachine().engine(2**31 - 1) is None
    assert os.getpid() not in [each.pid for each in ThisMachine().gateways()]
    del places


@pytest.mark.parametrize(
    "makes", [lambda m: has_just_changed(m, engine_gone), lambda m: m.runs(started=NOW - 20), engine_gone]
)
@pytest.mark.parametrize("request_", ["on", "off"])
def test_the_kill_switch_knows_a_gateway_whose_engine_is_away(
    machine: Machine, monkeypatch: pytest.MonkeyPatch, makes: Callable[[Machine], None], request_: KillSwitchRequest
) -> None:
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    if request_ == "off":
        set_kill_switch.throw(machine.places, "on", "", "cli")
    makes(machine)
    told = [line.text for line in set_kill_switch.throw(machine.places, request_, "", "cli")[1]]
    assert f"it applies as soon as the engine of that gateway runs: {guard_proof.look(machine.places).text}" in told


def test_the_kill_switch_waits_for_a_gateway_that_has_no_plugin(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda _seconds: None)
    machine.runs()
    told = [line.text for line in set_kill_switch.throw(machine.places, "on", "", "cli")[1]]
    assert "no gateway with the plugin is running here; it applies as soon as one is" in told
