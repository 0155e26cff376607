"""`toolguard doctor`: one seeded fault, and the check that finds it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import venv
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import msgspec
import pytest
from cli_stage import SOURCE, envelope, picture, put_in, toolguard

from toolguard_cli.checks import config as config_checks
from toolguard_cli.checks import engine as engine_checks
from toolguard_cli.checks import host, order
from toolguard_cli.commands import doctor
from toolguard_cli.paths import Places
from toolguard_engine import __version__
from toolguard_engine.stores import engines

IDS = [
    "config",
    "settings",
    "plugin",
    "plugin-files",
    "plugin-copy",
    "enabled",
    "allowed",
    "engine",
    "running",
    "log",
    "stores",
    "key",
    "policy",
    "rules",
    "audit",
    "self-approval",
    "openclaw",
    "node",
    "hooks",
    "hook-order",
]
UNREAD = "cannot be told: the config cannot be read"
LIVING = 4_000_001
LOWEST = -(2**53 - 1)


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """No program of this machine decides; the engine is started only by the tests that are about it."""
    monkeypatch.setattr(
        host.shutil, "which", lambda name: name if Path(name).is_absolute() and Path(name).exists() else None
    )
    monkeypatch.setattr(engine_checks, "_ask", lambda _python, _scratch: "")
    monkeypatch.setattr(doctor, "_found", lambda: ("openclaw",))
    monkeypatch.setattr(order, "_ask", lambda _subject: listing(("other", None), ("toolguard", LOWEST)))
    alive = engines.alive
    monkeypatch.setattr(engines, "alive", lambda pid: pid == LIVING or alive(pid))


def listing(*hooks: tuple[str, int | None]) -> list[dict[str, Any]]:
    """What OpenClaw prints: a hook whose priority was not set has none."""
    return [
        {
            "plugin": {"id": plugin},
            "typedHooks": [{"name": "before_tool_call"} | ({} if priority is None else {"priority": priority})],
        }
        for plugin, priority in hooks
    ]


def checks(places: Places) -> dict[str, dict[str, str]]:
    result = doctor.run(places)
    found: list[dict[str, str]] = result.data["checks"]
    assert [check["id"] for check in found] == IDS
    assert result.exit_code == int(any(check["status"] == "error" for check in found))
    for check in found:
        assert bool(check["fix"]) is (check["status"] != "ok"), check
    return {check["id"]: check for check in found}


def info(**changes: Any) -> engines.EngineInfo:
    usual: dict[str, Any] = {
        "pid": LIVING,
        "gateway_pid": 7,
        "gateway": "openclaw",
        "host": "2026.9.6",
        "version": __version__,
        "plugin": __version__,
        "started": 0.0,
        "mode": "enforce",
        "log_path": "/log",
    }
    return engines.EngineInfo(**usual | changes)


def runs(places: Places, **changes: Any) -> None:
    engines.publish(places.state_dir, info(**changes))


def ran(places: Places, **changes: Any) -> None:
    gone = info(**changes)
    engines.publish(places.state_dir, gone)
    engines.retire(places.state_dir, gone.pid)


def edit(places: Places, old: str, new: str) -> None:
    text = places.config.read_text()
    assert old in text
    places.config.write_text(text.replace(old, new, 1))


def plugins(**members: Any) -> Callable[[Places], None]:
    """The config holds these members in `plugins`, beside ours."""

    def make(places: Places) -> None:
        value = json.loads(places.config.read_text())
        value["plugins"] |= members
        places.config.write_text(json.dumps(value))

    return make


def settings(**own: Any) -> Callable[[Places], None]:
    return plugins(entries={"toolguard": {"enabled": True, "config": own}})


def damage(places: Places, name: str, mode: int = 0o600) -> None:
    """A file among the guard's own that it would not have left like that."""
    path = places.own / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"x" * 32)
    path.chmod(mode)


@dataclass(frozen=True)
class Fault:
    """What is done to a healthy copied installation, and what one check says then. S: state dir, C: config, X: the copy."""

    id: str
    make: Callable[[Places], object]
    check: str
    status: str
    detail: str
    fix: str


def _hard_link(places: Places) -> None:
    (places.state_dir / "other").hardlink_to(places.extension / "index.mjs")


def _linked_twice(places: Places) -> None:
    put_in(places, link=True)
    copied = places.extension
    copied.mkdir(parents=True)
    (copied / ".toolguard.json").write_text("{}")
    (copied / "openclaw.plugin.json").write_text("{}")


ENTRY = "plugins.entries.toolguard"
FAULTS = [
    Fault(
        "missing config",
        lambda places: places.config.unlink(),
        "config",
        "error",
        "no config at C",
        "toolguard install, or name it with --config",
    ),
    Fault(
        "broken config",
        lambda places: places.config.write_text("{ a: 1 b: 2 }"),
        "config",
        "error",
        "C is not valid JSON5: line 1, column 8: expected ',' or '}' after a member, found 'b'\n{ a: 1 b: 2 }\n       ^",
        "mend the file; toolguard has not touched it",
    ),
    *(
        Fault(f"{check} with a broken config", lambda places: places.config.write_text("{"), check, "warn", UNREAD, fix)
        for check, fix in dict.fromkeys(("settings", "enabled", "allowed"), "mend the config first").items()
    ),
    Fault(
        "value of the wrong kind",
        settings(maxIdenticalFailures="two"),
        "settings",
        "error",
        f"{ENTRY}.config.maxIdenticalFailures: Expected `int`, got `str`",
        f"mend {ENTRY}.config.maxIdenticalFailures in C",
    ),
    Fault(
        "value of an agent out of range",
        settings(agents={"main": {"maxFailuresPerTurn": 0}}),
        "settings",
        "error",
        f"{ENTRY}.config.agents[...].maxFailuresPerTurn: Expected `int` >= 1",
        f"mend {ENTRY}.config.agents[...].maxFailuresPerTurn in C",
    ),
    Fault(
        "unknown setting",
        settings(maxIdentical=3),
        "settings",
        "error",
        f"{ENTRY}.config.maxIdentical: Object contains unknown field `maxIdentical`",
        f"mend {ENTRY}.config.maxIdentical in C",
    ),
    Fault(
        "settings that are no object",
        plugins(entries={"toolguard": {"enabled": True, "config": []}}),
        "settings",
        "error",
        f"{ENTRY}.config: Expected `object`, got `array`",
        f"mend {ENTRY}.config in C",
    ),
    Fault(
        "plugin missing",
        lambda places: places.extension.rename(places.state_dir / "moved"),
        "plugin",
        "error",
        "the plugin is not where the gateway looks",
        "toolguard install",
    ),
    Fault(
        "a link beside the copy",
        plugins(load={"paths": ["/nowhere", 7, str(SOURCE)]}),
        "plugin",
        "warn",
        f"two copies: {SOURCE} and X",
        f"take {SOURCE} out of plugins.load.paths in C",
    ),
    Fault(
        "a copy beside the link",
        _linked_twice,
        "plugin",
        "warn",
        f"two copies: {SOURCE} and X",
        "toolguard install --link (it removes the copy)",
    ),
    Fault(
        "writable by others",
        lambda places: (places.extension / "hooks.mjs").chmod(0o666),
        "plugin-files",
        "error",
        "OpenClaw refuses it: X/hooks.mjs may be written by everybody (mode 666)",
        "toolguard install (it copies the files anew)",
    ),
    Fault(
        "hard link",
        _hard_link,
        "plugin-files",
        "error",
        "OpenClaw refuses it: X/index.mjs is a hard link (2 names)",
        "toolguard install (it copies the files anew)",
    ),
    Fault(
        "stale copy",
        lambda places: (places.extension / "index.mjs").write_text("old"),
        "plugin-copy",
        "warn",
        "X is not the copy of this toolguard",
        "toolguard install",
    ),
    Fault(
        "all plugins off",
        plugins(enabled=False),
        "enabled",
        "error",
        "plugins.enabled is false: the gateway loads no plugin",
        "set plugins.enabled to true",
    ),
    Fault(
        "entry off",
        lambda places: edit(places, "true", "false"),
        "enabled",
        "error",
        f"{ENTRY}.enabled is not true",
        "toolguard install",
    ),
    *(
        Fault(
            f"switched off by {own}",
            settings(**own),
            "enabled",
            "warn",
            "its settings switch it off",
            'set enabled to true and mode to "enforce" in its config',
        )
        for own in ({"enabled": False}, {"mode": "disabled"})
    ),
    Fault(
        "a damaged store",
        lambda places: damage(places, "nonces.json.corrupt-20260906T120000-7"),
        "stores",
        "error",
        "a store was damaged, nothing is approved: nonces.json.corrupt-20260906T120000-7",
        "toolguard doctor --fix",
    ),
    Fault(
        "a key for everybody",
        lambda places: damage(places, "key", mode=0o644),
        "key",
        "error",
        "S/toolguard/key can be read by others, so it proves nothing; delete it",
        "toolguard doctor --fix (what waits must be asked for again)",
    ),
    Fault(
        "an audit log that was changed",
        lambda places: damage(places, "audit.jsonl"),
        "audit",
        "error",
        "audit.jsonl line 1: the last line is cut off",
        "toolguard audit verify",
    ),
    Fault(
        "the agent may approve itself",
        settings(approval={"agentTool": True}),
        "self-approval",
        "warn",
        "approval.agentTool is on: the agent can approve its own calls",
        "set approval.agentTool to false; approve with `toolguard approve` or /toolguard approve",
    ),
    Fault(
        "not allowed",
        plugins(allow=["other"]),
        "allowed",
        "error",
        "plugins.allow does not name toolguard",
        "toolguard install",
    ),
    Fault(
        "denied",
        plugins(allow=["toolguard"], deny=["toolguard"]),
        "allowed",
        "error",
        "plugins.deny names toolguard",
        'remove "toolguard" from plugins.deny',
    ),
    Fault(
        "python of the settings is gone",
        settings(python="/nowhere/python"),
        "engine",
        "error",
        "/nowhere/python is not there",
        f"mend {ENTRY}.config.python, or remove it there",
    ),
    Fault(
        "recorded python is gone",
        lambda places: places.record.write_text(places.record.read_text().replace(sys.executable, "/nowhere/python")),
        "engine",
        "error",
        "/nowhere/python is not there",
        "toolguard install (it records the Python that runs it)",
    ),
    Fault(
        "log is a folder",
        lambda places: (places.state_dir / "tool-guard.log").mkdir(),
        "log",
        "error",
        "S/tool-guard.log cannot be written",
        "change logPath, or the owner or mode of that place",
    ),
    Fault(
        "log below a file",
        settings(logPath="/dev/null/tool-guard.log"),
        "log",
        "error",
        "/dev/null/tool-guard.log cannot be written",
        "change logPath, or the owner or mode of that place",
    ),
    Fault(
        "engine with a bad config",
        lambda places: runs(places, config_error="config: Expected `int`, got `str` - at `$.maxIdenticalFailures`"),
        "running",
        "error",
        "config: Expected `int`, got `str` - at `$.maxIdenticalFailures`",
        "mend it, then restart the gateway",
    ),
    Fault(
        "engine that cannot log",
        lambda places: runs(places, log_error="cannot write /log: No space left on device"),
        "running",
        "error",
        "cannot write /log: No space left on device",
        "mend it, then restart the gateway",
    ),
    Fault(
        "older engine",
        lambda places: runs(places, version="0.0.1"),
        "running",
        "warn",
        f"engine {LIVING} is toolguard 0.0.1, its plugin {__version__}; this is {__version__}",
        "restart the gateway",
    ),
    Fault(
        "older plugin",
        lambda places: runs(places, plugin="0.0.1"),
        "running",
        "warn",
        f"engine {LIVING} is toolguard {__version__}, its plugin 0.0.1; this is {__version__}",
        "restart the gateway",
    ),
    Fault(
        "hooks fail",
        lambda places: runs(places, host="2026.8.2", seams={"hooks": "fails", "textTransform": "works"}),
        "hooks",
        "error",
        "NOT FULLY GUARDED: OpenClaw 2026.8.2 loads the plugin but did not call its hooks in the last run",
        "use a gateway run instead of `agent --local`, or a newer OpenClaw",
    ),
    Fault(
        "hooks failed in a run that is over",
        lambda places: ran(places, host="2026.8.2", seams={"hooks": "fails"}),
        "hooks",
        "error",
        "NOT FULLY GUARDED: OpenClaw 2026.8.2 loads the plugin but did not call its hooks in the last run",
        "use a gateway run instead of `agent --local`, or a newer OpenClaw",
    ),
    Fault(
        "no way to correct a result",
        lambda places: ran(places, seams={"hooks": "works", "inPlaceText": "fails", "textTransform": "fails"}),
        "hooks",
        "error",
        "no way to correct a tool result works on OpenClaw 2026.9.6",
        "update OpenClaw",
    ),
    Fault(
        "one way fails",
        lambda places: ran(places, seams={"hooks": "works", "inPlaceText": "fails", "textTransform": "works"}),
        "hooks",
        "warn",
        "on OpenClaw 2026.9.6 these ways do not work: inPlaceText",
        "update OpenClaw",
    ),
    Fault(
        "old OpenClaw",
        lambda places: ran(places, host="2026.5.28"),
        "openclaw",
        "error",
        "OpenClaw 2026.5.28 is too old",
        "update OpenClaw to 2026.6.11 or later",
    ),
    Fault(
        "no OpenClaw",
        lambda _: None,
        "openclaw",
        "warn",
        "no openclaw on PATH, and no gateway has run with the plugin yet",
        "start the gateway",
    ),
    Fault(
        "own rule",
        lambda places: (places.own / "policy.toml").write_text('[[rule]]\nid = "a"\nrun = ["x"]\nstakes = 1\n'),
        "rules",
        "error",
        "S/toolguard/policy.toml, line 1, column 1: the rule a: it has no reason that a person is told",
        'add a reason, a sentence that says what is risky: reason = "It publishes the site."',
    ),
    Fault(
        "own rule with the name of another",
        lambda places: (places.own / "policy.toml").write_text(
            '[[rule]]\nid = "vcs.push-force"\nrun = ["x"]\nstakes = 1\nreason = "r"\n'
        ),
        "rules",
        "error",
        "S/toolguard/policy.toml, line 1: vcs.push-force is the name of a rule of toolguard's own",
        "choose another id",
    ),
    Fault(
        "rulesOff",
        settings(rulesOff=["databases", "vcs.push-forc"]),
        "rules",
        "error",
        "C, line 1: plugins.entries.toolguard.config.rulesOff names vcs.push-forc: no such rule and no such pack; "
        "did you mean vcs.push-force?",
        "mend rulesOff; toolguard check --list names all rules and packs",
    ),
    Fault("no Node", lambda _: None, "node", "warn", "no node on PATH", "nothing, if the gateway brings its own Node"),
]


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.id)
def test_faults(places: Places, fault: Fault) -> None:
    put_in(places)
    fault.make(places)

    def real(text: str) -> str:
        named = {"C": str(places.config), "X": str(places.extension), "S": str(places.state_dir)}
        words = [
            f"{named.get(w[:1], w[:1])}{w[1:]}" if w.rstrip(",") in named or w[1:2] == "/" else w for w in text.split(" ")
        ]
        return " ".join(words)

    before = picture(places.state_dir)
    assert checks(places)[fault.check] == {
        "id": fault.check,
        "status": fault.status,
        "detail": real(fault.detail),
        "fix": real(fault.fix),
    }
    assert picture(places.state_dir) == before


@pytest.mark.parametrize("link", [False, True], ids=["copied", "linked"])
def test_healthy(places: Places, link: bool) -> None:  # noqa: FBT001 - of a table
    put_in(places, link=link)
    ran(places, seams={"hooks": "works", "inPlaceText": "works", "textTransform": "unknown"})
    found = checks(places)
    assert {name: check["status"] for name, check in found.items()} == {**dict.fromkeys(IDS, "ok"), "node": "warn"}
    assert found["plugin"]["detail"] == str(SOURCE if link else places.extension)
    assert found["openclaw"]["detail"] == "OpenClaw 2026.9.6"
    assert found["hooks"]["detail"] == "proved on OpenClaw 2026.9.6: hooks, inPlaceText"
    assert doctor.run(places).lines[-1].text == "no errors, 1 warning"


def test_a_running_engine(places: Places) -> None:
    put_in(places)
    runs(places)
    assert checks(places)["running"]["detail"] == f"engine {LIVING} of gateway 7"


def test_nothing_installed(tmp_path: Path) -> None:
    found = checks(Places(tmp_path / "s", tmp_path / "s" / "openclaw.json"))
    assert [name for name, check in found.items() if check["status"] == "error"] == ["config", "plugin", "enabled", "engine"]
    assert not (tmp_path / "s").exists()


def test_the_first_thing_to_mend_is_named(places: Places) -> None:
    put_in(places)
    places.config.unlink()
    last = doctor.run(places).lines[-1]
    assert (last.kind, last.text) == ("info", "2 of 20 checks failed: mend the first one, then run this again")


# The engine check itself.


@pytest.fixture
def subject(places: Places, monkeypatch: pytest.MonkeyPatch) -> doctor.Subject:
    monkeypatch.undo()
    put_in(places)
    return doctor.look(places)


def test_the_engine_check_starts_one_process_and_waits_for_nothing_else(
    subject: doctor.Subject, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    run = subprocess.run

    def counted(command: list[str], **options: Any) -> subprocess.CompletedProcess[bytes]:
        started.append(command)
        assert options["timeout"] == engine_checks.LIMIT_SECONDS
        return run(command, **options)

    monkeypatch.setattr(subprocess, "run", counted)
    check = engine_checks.answers(subject)
    assert (check.status, check.fix) == ("ok", "")
    assert check.detail.startswith(f"{sys.executable} answered after ")
    assert started == [[sys.executable, "-P", "-E", "-m", "toolguard_engine"]]


def _program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def _with_python(subject: doctor.Subject, python: str) -> doctor.Subject:
    own = msgspec.structs.replace(subject.settings, python=python)
    return doctor.Subject(subject.places, subject.config, subject.record, settings=own)


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param("exit 3", "it ended with code 3 and said nothing", id="ends at once"),
        pytest.param("echo one; echo two >&2; exit 1", "two", id="complains"),
        pytest.param('echo \'{"type":"ready"}\'', '{"type":"ready"}', id="does not judge"),
    ],
)
def test_an_engine_that_does_not_answer(subject: doctor.Subject, tmp_path: Path, script: str, problem: str) -> None:
    python = _program(tmp_path, script)
    assert asdict(engine_checks.answers(_with_python(subject, python))) == {
        "id": "engine",
        "status": "error",
        "detail": f"{python}: {problem}",
        "fix": "mend plugins.entries.toolguard.config.python, or remove it there",
    }


def test_an_engine_that_hangs(subject: doctor.Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = _program(tmp_path, "exec sleep 1000")
    monkeypatch.setattr(engine_checks, "LIMIT_SECONDS", 0.2)
    check = engine_checks.answers(_with_python(subject, python))
    assert (check.status, check.detail) == ("error", f"{python}: no answer within 0.2 s")


def test_a_python_without_toolguard(subject: doctor.Subject, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    check = engine_checks.answers(_with_python(subject, python))
    assert (check.status, check.detail) == ("error", f"{python}: {python}: No module named toolguard_engine")


@pytest.mark.parametrize(
    ("setting", "variable", "recorded", "found"),
    [
        pytest.param("/of/settings", "/of/env", "/of/record", "/of/settings", id="settings"),
        pytest.param("", "/of/env", "/of/record", "/of/record", id="no variable of the environment"),
        pytest.param("", "", "/of/record", "/of/record", id="record"),
        pytest.param("", "", "", "python3", id="PATH"),
    ],
)
def test_interpreter(
    subject: doctor.Subject, monkeypatch: pytest.MonkeyPatch, setting: str, variable: str, recorded: str, found: str
) -> None:
    monkeypatch.setenv("TOOLGUARD_PYTHON", variable)
    assert subject.record is not None
    known = msgspec.structs.replace(subject.record, python=recorded) if recorded else None
    own = subject.settings if not setting else msgspec.structs.replace(subject.settings, python=setting)
    asked = doctor.Subject(subject.places, subject.config, known, settings=own)
    assert engine_checks.interpreter(asked)[0] == found


# Node and OpenClaw on PATH.


@pytest.mark.parametrize(
    ("version", "status", "detail"),
    [
        pytest.param("v24.19.0", "ok", "Node 24.19.0 (PROGRAM)", id="new"),
        pytest.param("v22.19.1", "ok", "Node 22.19.1 (PROGRAM)", id="just new enough"),
        pytest.param("v22.18.9", "warn", "Node 22.18.9 on PATH is too old for OpenClaw", id="old"),
        pytest.param("what", "warn", "Node what on PATH is too old for OpenClaw", id="no number"),
    ],
)
def test_node(
    subject: doctor.Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, status: str, detail: str
) -> None:
    program = _program(tmp_path, f"echo {version}")
    monkeypatch.setattr(host.shutil, "which", lambda _name: program)
    check = host.node(subject)
    assert (check.status, check.detail) == (status, detail.replace("PROGRAM", os.path.realpath(program)))


def test_openclaw_on_path(subject: doctor.Subject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "node_modules" / "openclaw"
    (package / "bin").mkdir(parents=True)
    (package / "bin" / "package.json").write_text("[]")
    (package / "package.json").write_text('{"name": "openclaw", "version": "2026.7.1"}')
    (package / "bin" / "openclaw.mjs").touch()
    link = tmp_path / "openclaw"
    link.symlink_to(package / "bin" / "openclaw.mjs")
    monkeypatch.setattr(host.shutil, "which", lambda _name: str(link))
    assert host.openclaw(subject).detail == "OpenClaw 2026.7.1"


def test_every_setting_that_is_named_is_a_path_of_the_config() -> None:
    error = msgspec.ValidationError("Object contains unknown field `x` - at `$.agents[...]`")
    assert config_checks.key(error) == f"{ENTRY}.config.agents[...].x"


# The console script.


@pytest.mark.parametrize("healthy", [True, False], ids=["healthy", "not installed"])
def test_exit_code_and_envelope(places: Places, healthy: bool) -> None:  # noqa: FBT001 - of a table
    if healthy:
        put_in(places)
    done = toolguard("doctor", "--state-dir", places.state_dir, "--json")
    told = envelope(done)
    assert done.returncode == (0 if healthy else 1), told
    assert done.stderr == ""
    assert list(told) == ["schema", "command", "ok", "data", "messages", "errors"]
    assert (told["schema"], told["command"], told["ok"]) == (1, "doctor", healthy)
    assert [check["id"] for check in told["data"]["checks"]] == IDS
    assert {frozenset(check) for check in told["data"]["checks"]} == {frozenset({"id", "status", "detail", "fix"})}
    assert bool(told["errors"]) is not healthy


def test_fix_mends_what_it_can(places: Places) -> None:
    put_in(places)
    damage(places, "nonces.json.corrupt-20260906T120000-7")
    damage(places, "key", mode=0o644)
    assert [checks(places)[name]["status"] for name in ("stores", "key")] == ["error", "error"]
    result = doctor.run(places, fix=True)
    assert [line.text.partition(" ")[0] for line in result.lines[:2]] == ["mended:", "mended:"]
    assert [checks(places)[name]["status"] for name in ("stores", "key")] == ["ok", "ok"]
    kept = places.own / "damaged" / "nonces.json.corrupt-20260906T120000-7"
    assert kept.read_bytes() == b"x" * 32
    assert not (places.own / "key").exists()
    assert doctor.run(places, fix=True).lines[0].text.startswith("config")


ORDERS = [
    (
        listing(("other", 5), ("toolguard", LOWEST)),
        "ok",
        "the guard runs last: other (5), then toolguard (-9007199254740991)",
    ),
    (
        listing(("toolguard", LOWEST), ("late", LOWEST), ("early", None)),
        "error",
        "late runs after the guard and can change what was judged: "  # noqa: ISC004
        f"early (0), then toolguard ({LOWEST}), then late ({LOWEST})",
    ),
    (listing(("other", None)), "error", "toolguard is not among the hooks: other (0)"),
    ([], "error", "toolguard is not among the hooks: there are none"),
]


@pytest.mark.parametrize(("listed", "status", "detail"), ORDERS, ids=[order[1] + str(i) for i, order in enumerate(ORDERS)])
def test_hook_order(
    places: Places, monkeypatch: pytest.MonkeyPatch, listed: list[dict[str, Any]], status: str, detail: str
) -> None:
    put_in(places)
    monkeypatch.setattr(order, "_ask", lambda _subject: listed)
    check = checks(places)["hook-order"]
    assert (check["status"], check["detail"]) == (status, detail)
