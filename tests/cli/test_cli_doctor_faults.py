"""Faults that are really made on a healthy installation: `doctor` names each, and `--fix` mends those that it says it can.

Reading is all that doctor does without `--fix`, and all that `--fix --dry-run` does.
"""

from __future__ import annotations

import json
import os
import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet
from cli_stage import SOURCE, picture, put_in
from doctor_stage import LIVING, LOWEST, Host, by_id, examined, faulty, healthy, host, ran, runs
from held_stage import hold

from effort import some
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.doctor.checks import disk_check, engine_check, key_check
from toolguard_cli.rig.private_home import free_port
from toolguard_cli.system.paths import Places
from toolguard_engine import __version__
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.files import engine_files as engines
from toolguard_engine.stores.files import signing_key_file

ENTRY = "plugins.entries.toolguard"
OTHER = 54_321
"""A user that no machine has."""
DAY = 86_400
FIX = "toolguard doctor --fix"
AGAIN = "toolguard install (it copies the files again)"


@dataclass(frozen=True)
class Stage:
    """A healthy installation, the programs beside it, and the means to spoil what is no file. `kept` lasts as long."""

    places: Places
    host: Host
    patch: pytest.MonkeyPatch
    kept: ExitStack

    @property
    def state(self) -> Path:
        return self.places.state_dir

    @property
    def own(self) -> Path:
        return self.places.own

    @property
    def copy(self) -> Path:
        return self.places.extension


@pytest.fixture
def stage(places: Places, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stage]:
    made = host(tmp_path / "host")
    monkeypatch.setenv("PATH", f"{made.root / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr(engine_check, "_ask", lambda _python, _scratch: "")
    monkeypatch.setattr(engine_check, "_measured", lambda _python, _scratch: (0.2, 0.1))
    alive = engines.alive
    monkeypatch.setattr(engines, "alive", lambda pid: pid == LIVING or alive(pid))
    healthy(places)
    with ExitStack() as kept:
        yield Stage(places, made, monkeypatch, kept)


@dataclass(frozen=True)
class Fault:
    """`summary` and `fix`: the beginnings of what the check says. S: state dir, C: config, X: the plugin's copy, R: a folder
    with programs. `also`: what else is not ok because of it. `left`: what is not ok after `--fix`; None where all stays.
    """

    id: str
    make: Callable[[Stage], object]
    check: str
    status: str
    summary: str
    fix: str
    also: dict[str, str] = field(default_factory=dict)
    left: dict[str, str] | None = None


def edit(path: Path, change: Callable[[Any], None]) -> None:
    value = json.loads(path.read_text())
    change(value)
    path.write_text(json.dumps(value))


def plugins(**members: Any) -> Callable[[Stage], None]:
    """The config holds these members in `plugins`, beside ours."""
    return lambda stage: edit(stage.places.config, lambda value: value["plugins"].update(members))


def settings(**own: Any) -> Callable[[Stage], None]:
    return plugins(entries={"toolguard": {"enabled": True, "config": own}})


def config(**members: Any) -> Callable[[Stage], None]:
    return lambda stage: edit(stage.places.config, lambda value: value.update(members))


def written(path: Callable[[Stage], Path], text: str, mode: int = 0o600) -> Callable[[Stage], None]:
    def make(stage: Stage) -> None:
        path(stage).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        path(stage).write_text(text)
        path(stage).chmod(mode)

    return make


def both(*makes: Callable[[Stage], object]) -> Callable[[Stage], None]:
    def make(stage: Stage) -> None:
        for each in makes:
            each(stage)

    return make


def held(stage: Stage) -> None:
    hold(stage.places)
    hold(stage.places)


def from_tomorrow(stage: Stage) -> None:
    hold(stage.places, now=time.time() + DAY)


def from_yesterday(stage: Stage) -> None:
    hold(stage.places, now=time.time() - DAY)


def forged(stage: Stage) -> None:
    held(stage)
    edit(stage.own / "nonces.json", lambda value: value["entries"][0].update(shown="ls", mac="0" * 64))


def line_changed(stage: Stage) -> None:
    held(stage)
    log = stage.own / "audit.jsonl"
    log.write_text(log.read_text().replace("make release", "make nothing", 1))


def cut_off(stage: Stage) -> None:
    held(stage)
    log = stage.own / "audit.jsonl"
    log.write_bytes(log.read_bytes()[:-7])


def half_a_line(stage: Stage) -> None:
    held(stage)
    with (stage.own / "audit.jsonl").open("ab") as log:
        log.write(b'{"seq":3,"prev":"')


def gone(*names: str) -> Callable[[Stage], None]:
    def make(stage: Stage) -> None:
        for name in names:
            (stage.own / name).unlink()

    return make


def in_its_place(name: str, put: Callable[[Path, int], object]) -> Callable[[Stage], None]:
    """What is no file where one of ours belongs."""

    def make(stage: Stage) -> None:
        (stage.own / name).unlink(missing_ok=True)
        put(stage.own / name, 0o600)

    return make


def second_copy(stage: Stage, *, marked: bool) -> None:
    other = stage.state / "extensions" / "an-older-one"
    other.mkdir()
    for path in stage.copy.iterdir():
        (other / path.name).write_bytes(path.read_bytes())
    if not marked:
        (other / ".toolguard.json").unlink()


def copy_beside_link(stage: Stage) -> None:
    kept = {path.name: path.read_bytes() for path in stage.copy.iterdir()}
    put_in(stage.places, link=True)
    stage.copy.mkdir()
    for name, data in kept.items():
        (stage.copy / name).write_bytes(data)


def linked_elsewhere(stage: Stage) -> None:
    real = stage.state / "real"
    stage.copy.rename(real)
    stage.copy.symlink_to(real)


def of_release(version: str) -> Callable[[Stage], None]:
    def make(stage: Stage) -> None:
        edit(stage.copy / ".toolguard.json", lambda value: value.update(version=version))
        (stage.copy / "index.mjs").write_text("// older")

    return make


def port_taken(stage: Stage) -> None:
    """By this process, until the test is over."""
    listener = stage.kept.enter_context(socket.socket())
    listener.bind(("127.0.0.1", 0))
    listener.listen()
    dashboard = {"enabled": True, "port": listener.getsockname()[1]}
    settings(metrics={"enabled": True, "dashboard": dashboard})(stage)


def measured(*makes: Callable[[Stage], object], **dashboard: Any) -> Callable[[Stage], None]:
    """Metrics are recorded in `m.db` of the state directory."""

    def make(stage: Stage) -> None:
        both(*makes)(stage)
        recorded = {"enabled": True, "dbPath": str(stage.state / "m.db"), "dashboard": dashboard}
        edit(
            stage.places.config, lambda value: value["plugins"]["entries"]["toolguard"].update(config={"metrics": recorded})
        )

    return make


def other_tables(stage: Stage) -> None:
    with closing(sqlite3.connect(stage.state / "m.db")) as connection:
        connection.execute("CREATE TABLE notes (text TEXT)")
    (stage.state / "m.db").chmod(0o600)


def gateway_runs(stage: Stage) -> None:
    runs(stage.places)


def space(**free: int) -> Callable[[Stage], None]:
    """What the disk says of itself."""
    summary = SimpleNamespace(f_frsize=4096, f_bavail=10**9, f_files=10**6, f_favail=10**6)

    def make(stage: Stage) -> None:
        stage.patch.setattr(disk_check.os, "statvfs", lambda _path: SimpleNamespace(**{**vars(summary), **free}))

    return make


def not_writable(place: Callable[[Stage], Path]) -> Callable[[Stage], None]:
    """What the system says of this folder; it lets root write everywhere."""
    access = os.access

    def make(stage: Stage) -> None:
        closed = place(stage)
        stage.patch.setattr(os, "access", lambda path, mode: path != closed and access(path, mode))

    return make


def clock_shows(moment: float) -> Callable[[Stage], None]:
    look = doctor.look

    def make(stage: Stage) -> None:
        stage.patch.setattr(doctor, "look", lambda places: doctor.replace(look(places), now=moment))

    return make


def sparse(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.truncate(size)


def given_to(*paths: Callable[[Stage], Path]) -> Callable[[Stage], None]:
    def make(stage: Stage) -> None:
        for path in paths:
            for each in [path(stage), *(path(stage).rglob("*") if path(stage).is_dir() else ())]:
                os.chown(each, OTHER, OTHER)

    return make


def being(user: int) -> Callable[[Stage], None]:
    """Who runs doctor, as far as it asks; the system still lets it read everything."""
    return lambda stage: stage.patch.setattr(os, "geteuid", lambda: user)


CONFIG = [
    Fault(
        "config missing", lambda s: s.places.config.unlink(), "config", "error", "no config at C",
        "toolguard install, or pass --config",
        also={"enabled": "error", "hook-order": "warn", "whole-config": "warn"}, left={},
    ),
    Fault(
        "config is no JSON5", lambda s: s.places.config.write_text("{ a: 1 b: 2 }"), "config", "error",
        "C is not valid JSON5: line 1, column 8: expected ',' or '}' after a member, found 'b'", "fix the file;",
        also=dict.fromkeys(
            ("hook-order", "loops", "agents", "entry-points", "enabled", "allowed", "settings", "whole-config",
             "old-plugins", "notify"),
            "warn",
        ),
    ),
    Fault(
        "include missing", config(**{"$include": "./more.json5"}), "config", "error",
        "the gateway does not start: C, line 1", "fix the path, or create the file",
    ),
    Fault(
        "setting of the wrong kind", settings(maxIdenticalFailures="two"), "settings", "error",
        f"{ENTRY}.config.maxIdenticalFailures: ", "toolguard config unset maxIdenticalFailures",
    ),
    Fault(
        "setting out of range", settings(agents={"main": {"maxFailuresPerTurn": 0}}), "settings", "error",
        f"{ENTRY}.config.agents.main.maxFailuresPerTurn: ", "toolguard config unset agents.main.maxFailuresPerTurn",
    ),
    Fault(
        "unknown setting", settings(colour="red"), "settings", "error", f"{ENTRY}.config.colour: ",
        f"toolguard config unset {ENTRY}.config.colour",
    ),
    Fault(
        "thresholds contradict each other", settings(maxIdenticalFailures=9), "settings", "error",
        f"{ENTRY}.config.maxIdenticalFailures: maxIdenticalFailures (9) must be at most maxFailuresPerTurn (5)",
        "change one of the two: toolguard config set maxIdenticalFailures VALUE",
    ),
    Fault(
        "a variable that nobody set", settings(logPath="${NOBODY_SET_THIS}/a.log"), "settings", "warn",
        f"{ENTRY}.config.logPath: ${{NOBODY_SET_THIS}} is not set here", "set it in the environment of the gateway",
    ),
    Fault(
        "load path gone", plugins(load={"paths": ["/nowhere/plugin"]}), "whole-config", "warn",
        "plugins.load.paths[0]: /nowhere/plugin does not exist", "remove it, or put the plugin there",
    ),
    Fault(
        "OpenClaw does not take it",
        lambda s: s.host.validates('{"valid": false, "issues": [{"path": "gateway.port", "message": "expected number"}]}'),
        "whole-config", "error", "gateway.port: OpenClaw says: expected number", "fix it (C",
    ),
    Fault(
        "an old plugin is on", plugins(entries={"toolguard": {"enabled": True}, "tool-guard": {"enabled": True}}),
        "old-plugins", "warn", "not migrated yet: tool-guard", "toolguard migrate",
    ),
    Fault(
        "old fields of the gateway's loop detection",
        config(tools={"loopDetection": {"enabled": True, "warningThreshold": 10}}),
        "old-plugins", "warn", "not migrated yet: tools.loopDetection", "toolguard migrate",
    ),
    Fault(
        "two names for two places", lambda s: [
            s.patch.setenv("TOOLGUARD_STATE_DIR", "/of/toolguard"), s.patch.setenv("OPENCLAW_STATE_DIR", "/of/openclaw"),
        ],
        "environment", "warn", "toolguard and openclaw use different gateways here: TOOLGUARD_STATE_DIR=/of/toolguard",
        "unset TOOLGUARD_STATE_DIR",
    ),
]  # fmt: skip

PLUGIN = [
    Fault(
        "plugin gone", lambda s: s.copy.rename(s.state / "moved"), "plugin", "error",
        "the gateway cannot find the plugin", "toolguard install", left={},
    ),
    Fault(
        "linked plugin gone", lambda s: [
            put_in(s.places, link=True),
            s.places.config.write_text(s.places.config.read_text().replace(str(SOURCE), "/nowhere/gateway")),
            s.places.record.write_text(s.places.record.read_text().replace(str(SOURCE), "/nowhere/gateway")),
        ],
        "plugin", "error", "the gateway cannot find the plugin", "toolguard install",
        also={"whole-config": "warn"}, left={},
    ),
    Fault(
        "a link beside the copy", plugins(load={"paths": [str(SOURCE)]}), "plugin", "warn", f"two copies: {SOURCE} and X",
        f"remove {SOURCE} from plugins.load.paths in C",
    ),
    Fault(
        "a copy beside the link", copy_beside_link, "plugin", "warn", f"two copies: {SOURCE} and X",
        "toolguard install --link (it removes the copy)", left={},
    ),
    Fault(
        "a second copy of ours", lambda s: second_copy(s, marked=True), "plugin", "warn",
        "two copies: X and S/extensions/an-older-one", "rm -r S/extensions/an-older-one", left={},
    ),
    Fault(
        "a second copy of somebody's", lambda s: second_copy(s, marked=False), "plugin", "warn",
        "two copies: X and S/extensions/an-older-one", "mv S/extensions/an-older-one S/an-older-one.aside",
    ),
    Fault(
        "a file that everybody may write", lambda s: (s.copy / "hooks.mjs").chmod(0o666), "plugin-files", "error",
        "OpenClaw refuses to load it: X/hooks.mjs is writable by everyone (mode 666)", AGAIN,
        also={"plugin-copy": "warn"}, left={},
    ),
    Fault(
        "the folder that everybody may write", lambda s: s.copy.chmod(0o777), "plugin-files", "error",
        "OpenClaw refuses to load it: X is writable by everyone (mode 777)", AGAIN, left={},
    ),
    Fault(
        "a hard link", lambda s: (s.state / "name").hardlink_to(s.copy / "index.mjs"), "plugin-files", "error",
        "OpenClaw refuses to load it: X/index.mjs is a hard link (2 names)", AGAIN, also={"plugin-copy": "warn"}, left={},
    ),
    Fault(
        "a symlinked folder", linked_elsewhere, "plugin-files", "error", "OpenClaw refuses to load it: X is a symbolic link",
        "rm X, then toolguard install", also={"plugin-copy": "warn"},
    ),
    Fault(
        "another id", lambda s: edit(s.copy / "openclaw.plugin.json", lambda v: v.update(id="guard")), "manifest", "error",
        "X/openclaw.plugin.json does not name toolguard", AGAIN, also={"plugin-copy": "warn"}, left={},
    ),
    Fault(
        "nothing to run", lambda s: (s.copy / "index.mjs").unlink(), "manifest", "error",
        "X has no ./index.mjs, which package.json names", AGAIN, also={"plugin-copy": "warn"}, left={},
    ),
    Fault(
        "copy of another version", of_release("0.0.9"), "plugin-copy", "warn",
        f"X is the copy of toolguard 0.0.9; this is {__version__}", "toolguard install", left={},
    ),
    Fault(
        "copy that was changed", of_release(__version__), "plugin-copy", "warn", "X is not the copy of this toolguard",
        "toolguard install", left={},
    ),
    Fault(
        "installed by another version", lambda s: edit(s.places.record, lambda v: v.update(version="0.0.9")), "toolguard",
        "warn", f"toolguard {__version__}, but version 0.0.9", "toolguard install", left={},
    ),
    Fault(
        "a damaged record of the installation", lambda s: s.places.record.write_text("{"), "toolguard", "error",
        "S/toolguard/install.json cannot be read: ", "move it away, then run `toolguard install` again",
    ),
    Fault(
        "all plugins off", plugins(enabled=False), "enabled", "error",
        "plugins.enabled is false: the gateway loads no plugins", "toolguard config set plugins.enabled true",
    ),
    Fault(
        "entry off", plugins(entries={"toolguard": {"enabled": False}}), "enabled", "error",
        f"{ENTRY}.enabled is not true", "toolguard install", left={},
    ),
    Fault(
        "switched off", settings(enabled=False), "enabled", "warn", "switched off by its setting `enabled`",
        "toolguard config set enabled true",
    ),
    Fault(
        "mode disabled", settings(mode="disabled"), "enabled", "warn", "switched off by its setting `mode`",
        "toolguard config set mode enforce",
    ),
    Fault(
        "only shadows", settings(mode="shadow"), "enforced", "warn",
        "mode is shadow: calls are judged and logged, but none is held or blocked",
        "toolguard config set mode enforce",
    ),
    Fault(
        "an agent that is not held", settings(agents={"main": {"mode": "disabled"}}), "enforced", "warn",
        "the mode of agent main is disabled: its calls are not judged", "toolguard config unset agents.main.mode",
    ),
    Fault(
        "an agent that is held less", settings(agents={"main": {"mode": "soft"}}), "enforced", "warn",
        "the mode of agent main is soft: calls are held for their score only if their stakes are 8 or more",
        "toolguard config unset agents.main.mode",
    ),
    Fault(
        "commands are exempt", settings(neverBlock=["memory_get", "OpenClaw:core:Exec"]), "enforced", "warn",
        "neverBlock exempts exec: their calls are not judged", "toolguard config unset neverBlock",
    ),
    Fault(
        "fails open", settings(failMode="open"), "enforced", "warn",
        "failMode is open: calls run unjudged while the engine does not answer", "toolguard config set failMode closed",
    ),
    Fault(
        "not allowed", plugins(allow=["other"]), "allowed", "error", "plugins.allow does not name toolguard",
        "toolguard install", left={},
    ),
    Fault(
        "denied", plugins(deny=["toolguard"]), "allowed", "error", "plugins.deny names toolguard",
        'remove "toolguard" from plugins.deny in C',
    ),
]  # fmt: skip

GATEWAY = [
    Fault(
        "old OpenClaw", lambda s: s.host.is_release("2026.5.28"), "openclaw", "error", "OpenClaw 2026.5.28 is too old",
        "npm install -g openclaw@latest (2026.6.11 or later)",
    ),
    Fault(
        "the gateway runs another OpenClaw", lambda s: runs(s.places, host="2026.8.2"), "openclaw", "warn",
        "the gateway runs OpenClaw 2026.8.2, but 2026.9.6", "openclaw gateway restart",
    ),
    Fault(
        "old Node", lambda s: s.host.has_node("v22.19.0"), "node", "warn",
        "Node 22.19.0 is not supported by OpenClaw 2026.9.6, which requires >=24.16.0 <25 || >=26.1.0", "install Node 24",
    ),
    Fault(
        "hooks fail", lambda s: runs(s.places, seams={"hooks": "fails", "textTransform": "works"}), "hooks", "error",
        "NOT FULLY GUARDED: OpenClaw 2026.9.6 loaded the plugin", "use a gateway run instead of `agent --local`",
    ),
    Fault(
        "hooks failed in a run that is over", lambda s: ran(s.places, seams={"hooks": "fails"}), "hooks", "error",
        "NOT FULLY GUARDED: OpenClaw 2026.9.6 loaded the plugin", "use a gateway run instead of `agent --local`",
    ),
    Fault(
        "no way to correct a result",
        lambda s: ran(s.places, seams={"hooks": "works", "inPlaceText": "fails", "textTransform": "fails"}),
        "hooks", "error", "tool results cannot be corrected on OpenClaw 2026.9.6", "npm install -g openclaw@latest",
    ),
    Fault(
        "one way fails", lambda s: ran(s.places, seams={"hooks": "works", "inPlaceText": "fails", "textTransform": "works"}),
        "hooks", "warn", "on OpenClaw 2026.9.6, these integration points do not work: inPlaceText",
        "npm install -g openclaw@latest",
    ),
    Fault(
        "a plugin that runs after the guard",
        lambda s: s.host.lists(("toolguard", LOWEST), ("late", LOWEST), ("early", None)), "hook-order", "warn",
        f"late runs after the guard and can change calls that were judged: early (0), then toolguard ({LOWEST}), then late ",
        "remove late, or raise the priority of its hook",
    ),
    Fault(
        "not among the hooks", lambda s: s.host.lists(("other", 5)), "hook-order", "error",
        "toolguard is not among the hooks: other (5)", "toolguard install",
    ),
    Fault(
        "OpenClaw fails", lambda s: s.host.answers("Error: no plugins today", 1), "hook-order", "warn",
        "OpenClaw failed to list its hooks: Error: no plugins today", "openclaw plugins inspect --all --runtime",
    ),
    Fault(
        "OpenClaw says something else", lambda s: s.host.answers('[\n{"plugin": '), "hook-order", "warn",
        "OpenClaw failed to list its hooks: Expecting value", "openclaw plugins inspect --all --runtime",
    ),
]  # fmt: skip

ENGINE = [
    Fault(
        "python of the settings is gone", settings(python="/nowhere/python"), "python", "error",
        "/nowhere/python no longer exists, so no call is judged", "toolguard config unset python",
        also={"engine": "error", "latency": "warn"},
    ),
    Fault(
        "recorded python is gone", lambda s: edit(s.places.record, lambda v: v.update(python="/nowhere/python")), "python",
        "error", "/nowhere/python no longer exists, so no call is judged",
        "toolguard install (it records the Python that runs it)",
        also={"engine": "error", "latency": "warn"}, left={},
    ),
    Fault(
        "engine with a bad config", lambda s: runs(s.places, config_error="config: Expected `int`"), "running", "error",
        "config: Expected `int`", "fix it, then openclaw gateway restart",
    ),
    Fault(
        "engine that cannot log", lambda s: runs(s.places, log_error="cannot write /log: No space left"), "running", "error",
        "cannot write /log: No space left", "fix it, then openclaw gateway restart",
    ),
    Fault(
        "engine slower than it may be", lambda s: s.patch.setattr(engine_check, "_measured", lambda _p, _s: (51.0, 1.0)),
        "latency", "warn", "51.00 ms per call, 51.0 times as long as an echo through a pipe", "find out what slows ",
    ),
]  # fmt: skip

STATE = [
    Fault(
        "state dir that everybody may write", lambda s: s.state.chmod(0o777), "state-dir", "error",
        "S is writable by everyone", "chmod go-w S", left={},
    ),
    Fault(
        "own folder for others", lambda s: s.own.chmod(0o777), "state-files", "error",
        "S/toolguard is writable by others (mode 777)", FIX, left={},
    ),
    Fault(
        "a store for all eyes", both(held, lambda s: (s.own / "nonces.json").chmod(0o644)), "state-files", "warn",
        "S/toolguard/nonces.json is readable by others (mode 644)", FIX, left={},
    ),
    Fault(
        "rules that others may change", written(lambda s: s.own / "policy.toml", "# none\n", 0o666), "state-files", "error",
        "S/toolguard/policy.toml is writable by others (mode 666)", FIX, left={},
    ),
    Fault(
        "damaged nonces", both(held, written(lambda s: s.own / "nonces.json", '{"entries": [')), "stores", "error",
        "a store is damaged, so nothing can be approved: nonces.json", FIX, left={},
    ),
    Fault(
        "damaged counters", written(lambda s: s.own / "counters.json", "x"), "stores", "error",
        "the counters of the runs are damaged, so failures are counted from zero: counters.json", FIX, left={},
    ),
    Fault(
        "a store that was damaged", written(lambda s: s.own / "nonces.json.corrupt-20260906T120000-7", "x"),
        "stores", "error", "a store is damaged, so nothing can be approved: nonces.json.corrupt-20260906T120000-7",
        FIX, left={},
    ),
    Fault(
        "the store in the gateway's config", settings(storePath="~/.openclaw/openclaw.json"), "settings", "error",
        "plugins.entries.toolguard.config.storePath: storePath names a file that holds", "change one of the two",
    ),
    Fault(
        "the store in the rules", both(
            written(lambda s: s.own / "policy.toml", "# none\n"), settings(storePath="toolguard/policy.toml"),
        ),
        "settings", "error",
        "plugins.entries.toolguard.config.storePath: storePath names a file that holds", "change one of the two",
    ),
    Fault(
        "the store in somebody's file", both(written(lambda s: s.state / "notes", "mine"), settings(storePath="notes")),
        "stores", "error", "S/notes (storePath) is not a store of held calls", "toolguard config unset storePath",
    ),
    Fault(
        "a damaged store elsewhere", both(
            written(lambda s: s.state / "held.json", '{"v":1,"entries":[{'), settings(storePath="held.json"),
        ),
        "stores", "error", "a store is damaged, so nothing can be approved: held.json", FIX, left={},
    ),
    Fault("a forged call", forged, "stores", "error", "1 held calls are not signed by toolguard", FIX, left={}),
    Fault(
        "a key for everybody", both(held, lambda s: (s.own / "key").chmod(0o644)), "key", "error",
        "S/toolguard/key can be read by others, so it proves nothing",
        f"{FIX} (held calls must be requested again)", also={"stores": "warn", "audit": "warn"}, left={},
    ),
    Fault(
        "half a key", both(held, written(lambda s: s.own / "key", "short")), "key", "error",
        "S/toolguard/key is not a key of 32 bytes", FIX, also={"stores": "warn", "audit": "warn"}, left={},
    ),
    Fault(
        "key gone", both(held, lambda s: (s.own / "key").unlink()), "key", "error",
        "S/toolguard/key is missing, though it has signed 2 calls", FIX, also={"stores": "warn", "audit": "warn"}, left={},
    ),
    Fault(
        "audit line changed", line_changed, "audit", "error", "audit.jsonl line 1: its content does not match its hash",
        "inspect it, then move it away to begin a new one: mkdir S/toolguard/audit-broken && mv ",
    ),
    Fault(
        "audit line cut off", cut_off, "audit", "error", "audit.jsonl line 2: the end is missing: there were 2 lines",
        "inspect it, then move it away",
    ),
    Fault(
        "an audit log that was put away before", both(line_changed, lambda s: (s.own / "audit-broken").mkdir(mode=0o700)),
        "audit", "error", "audit.jsonl line 1: its content does not match its hash",
        "inspect it, then move it away to begin a new one: mkdir S/toolguard/audit-broken.1 && mv "
        "S/toolguard/audit.*jsonl S/toolguard/audit.head S/toolguard/audit-broken.1",
    ),
    Fault(
        "half an audit line of a killed engine", half_a_line, "audit", "warn",
        "audit.jsonl line 3: the last line is cut off, as happens when an engine is killed", FIX, left={},
    ),
    Fault(
        "the log gone, and its key", both(held, gone("key", "audit.jsonl", "nonces.json")), "key", "error",
        "S/toolguard/key is missing, although it signed the end of the audit log", FIX, also={"audit": "warn"},
        left={"audit": "error"},
    ),
    Fault(
        "a log of unknown length", both(held, gone("key", "audit.head", "nonces.json")), "key", "error",
        "S/toolguard/key is missing, although it signed the end of the audit log", FIX, also={"audit": "warn"}, left={},
    ),
    Fault(
        "head of the audit log gone", both(held, gone("audit.head")), "audit", "error",
        "audit.head is missing: it is unknown whether the end was cut off", "inspect it, then move it away",
    ),
    Fault(
        "a folder as the head of the audit log", both(held, in_its_place("audit.head", Path.mkdir)), "audit", "error",
        "S/toolguard/audit.head is not a file", FIX, left={"audit": "error"},
    ),
    Fault(
        "a pipe as audit log", in_its_place("audit.jsonl", os.mkfifo), "audit", "error",
        "S/toolguard/audit.jsonl is not a file", FIX, left={},
    ),
    Fault(
        "a folder as key, and as audit log", both(
            held, in_its_place("key", Path.mkdir), in_its_place("audit.jsonl", Path.mkdir), gone("audit.head"),
        ),
        "key", "error", "S/toolguard/key is not a regular file", FIX, also={"stores": "warn", "audit": "error"}, left={},
    ),
    Fault(
        "a key that nobody may read", both(held, lambda s: (s.own / "key").chmod(0o200)), "key", "error",
        "S/toolguard/key cannot be read by its owner", FIX, left={},
    ),
    Fault(
        "log is a folder", lambda s: (s.state / "tool-guard.log").mkdir(), "log", "error", "S/tool-guard.log is a folder",
        "toolguard config set logPath S/tool-guard.log/tool-guard.log",
    ),
    Fault(
        "log below a file", settings(logPath="/dev/null/a.log"), "log", "error", "/dev/null/a.log is not writable",
        "check its owner and mode: ls -ld /dev/null",
    ),
    Fault(
        "log that is no path", settings(logPath="a\0b"), "log", "error", "logPath is not a path",
        "toolguard config unset logPath",
    ),
    Fault(
        "a huge log", lambda s: sparse(s.state / "tool-guard.log", 200 * disk_check.MEGA), "log", "warn",
        "S/tool-guard.log is 200 MB", "mv S/tool-guard.log S/tool-guard.log.old",
    ),
    Fault(
        "own folder that is not writable", not_writable(lambda s: s.own), "disk", "error",
        "S/toolguard is not writable: ", "check its owner, mode and mount: ls -ld S/toolguard",
    ),
    Fault(
        "a folder of the store that is not writable", both(
            lambda s: (s.state / "held").mkdir(), settings(storePath="held/nonces.json"),
            not_writable(lambda s: s.state / "held"),
        ),
        "disk", "error", "S/held is not writable: ", "check its owner, mode and mount: ls -ld S/held",
        also={"settings": "error"},
    ),
    Fault(
        "a config that everybody may change", lambda s: s.places.config.chmod(0o666), "state-files", "error",
        "C is writable by everyone (mode 666)", FIX, left={},
    ),
    Fault(
        "a log that everybody may change", written(lambda s: s.state / "tool-guard.log", "", 0o666), "state-files", "error",
        "S/tool-guard.log is writable by everyone (mode 666)", FIX, left={},
    ),
    Fault(
        "a store in a folder that everybody may change", both(
            lambda s: [(s.state / "held").mkdir(), (s.state / "held").chmod(0o777)], settings(storePath="held/nonces.json"),
        ),
        "state-files", "error", "S/held is writable by everyone (mode 777)", "chmod go-w S/held",
    ),
    Fault("a full disk", space(f_bavail=100), "disk", "error", "0 MB free at S/toolguard: ", "free some space: df -h S"),
    Fault("no room for another file", space(f_favail=0), "disk", "error", "0 MB free at ", "free some space: "),
    Fault("a disk that is nearly full", space(f_bavail=10_000), "disk", "warn", "39 MB free at S/toolguard", "free some "),
    Fault("entries of the future", from_tomorrow, "clock", "warn", "it shows ", "timedatectl set-ntp true"),
    Fault(
        "a clock that was never set", clock_shows(1_000.0), "clock", "error", "it shows 1970-01-01",
        "timedatectl set-ntp true",
    ),
    Fault(
        "a port that somebody has", port_taken, "dashboard", "error", "127.0.0.1:",
        "toolguard config set metrics.dashboard.port ",
    ),
    Fault(
        "an address of somebody else",
        settings(metrics={"enabled": True, "dashboard": {"enabled": True, "bind": "203.0.113.7"}}), "dashboard", "error",
        "203.0.113.7:8080: Cannot assign requested address", "toolguard config set metrics.dashboard.bind 127.0.0.1",
    ),
    Fault(
        "a dashboard that the gateway has not started", measured(gateway_runs, enabled=True, port=free_port()), "dashboard",
        "warn", "127.0.0.1:", "openclaw gateway restart", also={"metrics": "warn"},
    ),
    Fault(
        "a token that others may read", measured(written(lambda s: s.state / "m.db.token", "0" * 64, 0o644)), "dashboard",
        "error", "other users can read S/m.db.token (mode 0644), so it is no longer secret", "rm ", left={},
    ),
    Fault(
        "a token that is none", measured(written(lambda s: s.state / "m.db.token", "secret")), "dashboard",
        "error", "S/m.db.token does not contain a token", "rm ",
    ),
    Fault(
        "a metrics file that is none", measured(written(lambda s: s.state / "m.db", "x" * 5000)), "metrics", "error",
        "'S/m.db' is not a SQLite database", "fix it, or toolguard config set metrics.dbPath PATH",
    ),
    Fault(
        "a metrics file of another program", measured(other_tables), "metrics", "error",
        "'S/m.db' holds the tables of another program", "fix it, or toolguard config set metrics.dbPath PATH",
    ),
    Fault(
        "a gateway that records nothing", measured(gateway_runs), "metrics", "warn",
        "S/m.db is missing although a gateway is running", "openclaw gateway restart",
    ),
]  # fmt: skip

APPROVALS = [
    Fault(
        "calls that are over and open", from_yesterday, "stale", "warn", "held calls that expired but are still open: ", FIX,
        left={},
    ),
    Fault(
        "a grant that nobody signed",
        written(lambda s: s.own / "policy.toml", '[[grant]]\nid = "g-mine"\ntool = "exec"\npattern = "ls *"\nexpires = 0\n'),
        "policy", "warn", "not signed, so not in force: g-mine", "toolguard grant --accept g-mine",
    ),
    Fault(
        "a policy that is no TOML", written(lambda s: s.own / "policy.toml", "[[grant]]\nid = \n"), "policy", "error",
        "S/toolguard/policy.toml, line 2", "", also={"rules": "error"},
    ),
    Fault(
        "an own rule without a reason",
        written(lambda s: s.own / "policy.toml", '[[rule]]\nid = "a"\nrun = ["x"]\nstakes = 1\n'),
        "rules", "error", "S/toolguard/policy.toml, line 1, column 1: the rule a: it has no reason", "add a reason",
    ),
    Fault(
        "a rule switched off that is none", settings(rulesOff=["vcs.push-forc"]), "rules", "error",
        f"C, line 1: {ENTRY}.config.rulesOff names vcs.push-forc", "fix rulesOff; toolguard check --list",
    ),
    Fault(
        "the agent may approve itself", settings(approval={"agentTool": True}), "self-approval", "warn",
        "approval.agentTool is on: the agent can approve its own calls", "toolguard config set approval.agentTool false",
    ),
]  # fmt: skip

OWNERS = [
    Fault(
        "plugin of another user", given_to(lambda s: s.copy / "index.mjs"), "plugin-files", "error",
        f"OpenClaw refuses to load it: X/index.mjs belongs to user {OTHER}", AGAIN, left={},
    ),
    Fault(
        "store of another user", both(held, given_to(lambda s: s.own / "nonces.json")), "state-files", "error",
        f"S/toolguard/nonces.json belongs to {OTHER}, not to root", FIX, left={},
    ),
    Fault(
        "somebody else's state", both(held, given_to(lambda s: s.own / "nonces.json"), being(OTHER + 1)), "user", "error",
        f"you are {OTHER + 1}, and S belongs to root", "sudo -u root toolguard doctor",
        also={"state-files": "error", "hook-order": "warn"},
    ),
    Fault(
        "root in another user's state", given_to(lambda s: s.state), "user", "warn",
        f"you are root, and S belongs to {OTHER}", f"sudo -u '#{OTHER}' toolguard doctor",
        also={"hook-order": "warn"},
    ),
]  # fmt: skip

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")


def cases() -> Iterator[ParameterSet]:
    """The first fault of each check is in the gate; the others run with `scripts/test --all`."""
    seen: set[str] = set()
    for fault in [*CONFIG, *PLUGIN, *GATEWAY, *ENGINE, *STATE, *APPROVALS, *OWNERS]:
        marks = [pytest.mark.thorough] if fault.check in seen else []
        seen.add(fault.check)
        yield pytest.param(fault, id=fault.id, marks=[*marks, as_root] if fault in OWNERS else marks)


@pytest.mark.parametrize("fault", some(list(cases())))
def test_a_fault_is_named_and_mended(stage: Stage, fault: Fault) -> None:
    fault.make(stage)
    before = picture(stage.state)
    found = examined(stage.places)
    seen = found[fault.check]
    assert seen["status"] == fault.status, seen
    assert seen["detail"].startswith(real(stage, fault.summary)), seen
    assert seen["fix"].startswith(real(stage, fault.fix)), seen
    assert faulty(found) == {fault.check: fault.status, **fault.also}, found
    planned = doctor.run(stage.places, fix=True, dry_run=True).data["planned"]
    assert picture(stage.state) == before
    assert bool(planned) is (fault.left is not None), planned
    assert seen["fixable"] or fault.left is None
    mended = doctor.run(stage.places, fix=True, yes=True)
    assert [repair["problem"] for repair in mended.data["repairs"]] == [""] * len(planned)
    expected = faulty(found) if fault.left is None else fault.left
    assert faulty(by_id(mended)) == expected, mended.lines
    assert faulty(examined(stage.places)) == expected
    if fault.left is None:
        assert picture(stage.state) == before


def real(stage: Stage, text: str) -> str:
    named = {"C": stage.places.config, "X": stage.copy, "S": stage.state}
    return re.sub(r"(?<![\w.])[CXS](?=[ /,:]|$)", lambda found: str(named[found[0]]), text)


def test_several_faults_at_once_are_mended_at_once(stage: Stage) -> None:
    for fault in PLUGIN[6], PLUGIN[-2], STATE[1], STATE[5]:
        fault.make(stage)
    from_yesterday(stage)
    assert set(faulty(examined(stage.places))) == {
        "plugin-files", "plugin-copy", "allowed", "state-files", "stores", "stale",
    }  # fmt: skip
    assert faulty(by_id(doctor.run(stage.places, fix=True, yes=True))) == {}
    assert list(stores.audit_log(stage.state).events())[-1]["event"] == "expire"


def test_damaged_stores_are_kept(stage: Stage) -> None:
    for content in ("first", "second"):
        (stage.own / "nonces.json").write_text(content)
        (stage.own / "nonces.json").chmod(0o600)
        doctor.run(stage.places, fix=True, yes=True)
    kept = stage.own / "damaged"
    assert {path.name: path.read_text() for path in kept.iterdir()} == {"nonces.json": "first", "nonces.json.1": "second"}


def test_a_new_key_explains_no_later_loss(stage: Stage) -> None:
    held(stage)
    (stage.own / "key").unlink()
    doctor.run(stage.places, fix=True, yes=True)
    held(stage)
    assert faulty(examined(stage.places)) == {}
    (stage.own / "audit.head").unlink()
    hold(stage.places)
    assert faulty(examined(stage.places)) == {"audit": "warn"}


def test_a_key_that_was_mended_meanwhile_is_kept(stage: Stage) -> None:
    held(stage)
    own = stage.own / "key"
    good = own.read_bytes()
    own.chmod(0o644)
    (step,) = key_check.fix(doctor.look(stage.places))
    own.chmod(0o600)
    assert step.perform() == "it was already fixed by another process"
    assert own.read_bytes() == good


def test_a_key_out_of_reach_is_kept(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    held(stage)

    def refused(_info: os.stat_result, place: Path) -> None:
        raise PermissionError(13, "Permission denied", str(place))

    monkeypatch.setattr(signing_key_file, "_check", refused)
    seen = examined(stage.places)["key"]
    place = stage.own / "key"
    assert (seen["status"], seen["detail"], seen["fixable"]) == ("error", f"{place}: Permission denied", False)
    assert seen["fix"] == f"check its owner and mode: ls -ld {stage.own} {place}"


def test_what_undo_keeps_of_other_files_stays_as_it_is(stage: Stage) -> None:
    """A kept file may be a hard link: its mode is that of the file that its owner still uses."""
    live = stage.state.parent / "index.html"
    live.write_text("<p>a page</p>")
    live.chmod(0o664)
    entry = stage.own / "undo" / "3c52aa"
    entry.mkdir(parents=True)
    for folder in (entry, entry.parent):
        folder.chmod(0o700)
    os.link(live, entry / "1")
    (entry / "entry.json").write_text("{}")
    (entry / "entry.json").chmod(0o600)
    assert faulty(examined(stage.places)) == {}
    (entry / "entry.json").chmod(0o644)
    entry.chmod(0o755)
    assert examined(stage.places)["state-files"]["data"]["files"] == [str(entry), str(entry / "entry.json")]
    doctor.run(stage.places, fix=True, yes=True)
    assert [path.stat().st_mode & 0o777 for path in (entry, entry / "entry.json", live)] == [0o700, 0o600, 0o664]


def test_the_place_of_a_link_is_not_followed(stage: Stage) -> None:
    outside = stage.state.parent / "outside"
    outside.write_text("x")
    outside.chmod(0o644)
    (stage.own / "link").symlink_to(outside)
    assert faulty(examined(stage.places)) == {}
    assert outside.stat().st_mode & 0o777 == 0o644
