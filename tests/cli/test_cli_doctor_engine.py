"""The checks that start programs: the engine with its interpreter, and Node."""

from __future__ import annotations

import fcntl
import subprocess
import sys
import time
import venv
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import msgspec
import pytest
from cli_stage import put_in
from doctor_stage import Host, host

from tables import each_row
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.doctor.check_types import Check, DoctorSubject
from toolguard_cli.doctor.checks import engine_check, node_check
from toolguard_cli.system import subprocesses
from toolguard_cli.system.paths import Places

UNSET = "toolguard config unset python, or correct the setting"


@pytest.fixture
def subject(places: Places) -> DoctorSubject:
    put_in(places)
    return doctor.look(places)


def program(tmp_path: Path, text: str) -> str:
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


def with_python(subject: DoctorSubject, python: str) -> DoctorSubject:
    return replace(subject, settings=msgspec.structs.replace(subject.settings, python=python))


def test_the_engine_check_starts_one_process_and_waits_for_nothing_else(
    subject: DoctorSubject, monkeypatch: pytest.MonkeyPatch
) -> None:
    started: list[list[str]] = []
    ask = subprocesses.ask

    def counted(command: list[str], limit: float, *given: bytes, **options: Any) -> subprocesses.Completed:
        started.append(command)
        assert limit == engine_check.LIMIT_SECONDS
        return ask(command, limit, *given, **options)

    monkeypatch.setattr(subprocesses, "ask", counted)
    check = engine_check.answers(subject)
    assert (check.status, check.fix) == ("ok", "")
    assert check.detail.startswith("it answered after ")
    assert started == [[sys.executable, "-P", "-E", "-m", "toolguard_engine"]]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        pytest.param("exit 3", "it exited with code 3 and no output", id="ends at once"),
        pytest.param("echo one; echo two >&2; exit 1", "two", id="complains"),
        pytest.param('echo \'{"type":"ready"}\'', '{"type":"ready"}', id="does not judge"),
    ],
)
def test_an_engine_that_does_not_answer(subject: DoctorSubject, tmp_path: Path, script: str, problem: str) -> None:
    python = program(tmp_path, script)
    check = engine_check.answers(with_python(subject, python))
    assert (check.status, check.detail, check.fix) == ("error", f"{python}: {problem}", UNSET)


def test_an_engine_that_hangs(subject: DoctorSubject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python = program(tmp_path, "exec sleep 1000")
    monkeypatch.setattr(engine_check, "LIMIT_SECONDS", 0.2)
    check = engine_check.answers(with_python(subject, python))
    assert (check.status, check.detail) == ("error", f"{python}: no answer within 0.2 s")


def test_a_python_without_toolguard(subject: DoctorSubject, tmp_path: Path) -> None:
    venv.create(tmp_path / "bare", with_pip=False, symlinks=True)
    python = str(tmp_path / "bare" / "bin" / "python")
    check = engine_check.answers(with_python(subject, python))
    assert (check.status, check.detail) == ("error", f"{python}: {python}: No module named toolguard_engine")
    assert engine_check.python(with_python(subject, python)).status == "ok"


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
    subject: DoctorSubject, monkeypatch: pytest.MonkeyPatch, setting: str, variable: str, recorded: str, found: str
) -> None:
    monkeypatch.setenv("TOOLGUARD_PYTHON", variable)
    assert subject.record is not None
    known = msgspec.structs.replace(subject.record, python=recorded) if recorded else None
    own = subject.settings if not setting else msgspec.structs.replace(subject.settings, python=setting)
    assert engine_check.interpreter(replace(subject, record=known, settings=own))[0] == found


@pytest.mark.parametrize(
    ("says", "status", "expected"),
    [
        pytest.param("3.11.0", "ok", "Python 3.11.0 (PROGRAM)", id="just new enough"),
        pytest.param("3.14.2", "ok", "Python 3.14.2 (PROGRAM)", id="new"),
        pytest.param("3.10.13", "error", "PROGRAM is Python 3.10.13; the engine needs 3.11 or later", id="old"),
        pytest.param("2.7.18", "error", "PROGRAM is Python 2.7.18; the engine needs 3.11 or later", id="very old"),
        pytest.param("hello", "error", "PROGRAM is not a working Python", id="something else"),
    ],
)
def test_version_of_python(subject: DoctorSubject, tmp_path: Path, says: str, status: str, expected: str) -> None:
    python = program(tmp_path, f"echo {says}")
    check = engine_check.python(with_python(subject, python))
    assert (check.status, check.detail) == (status, expected.replace("PROGRAM", python))
    assert check.fix == ("" if status == "ok" else UNSET)


@pytest.mark.parametrize(
    "look", [engine_check.python, engine_check.answers, engine_check.latency], ids=lambda look: look.__name__
)
def test_what_a_wrapper_leaves_behind_is_neither_waited_for_nor_left(
    subject: DoctorSubject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, look: Callable[[DoctorSubject], Check]
) -> None:
    """A shell that does not put the interpreter in its own place; the child holds the pipes, and a lock to tell it by."""
    alive = tmp_path / "alive"
    python = program(tmp_path, f"exec 9> {alive}; flock 9; sleep 1000 & wait")
    monkeypatch.setattr(engine_check, "LIMIT_SECONDS", 0.5)
    assert look(with_python(subject, python)).status != "ok"
    with alive.open("a") as file:
        assert soon_free(file)


def soon_free(file: IO[str]) -> bool:
    """Whether the lock is given up: a killed process may take a moment to be gone."""
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)
        else:
            return True
    return False


# How fast. Nothing here asserts a time: only that both sides were asked, and what becomes of the two figures.


def test_latency_is_measured_beside_a_bare_pipe(subject: DoctorSubject) -> None:
    check = engine_check.latency(subject)
    assert check.data["verdictMs"] > 0
    assert check.data["bareMs"] > 0
    assert check.detail.endswith(" times as long as an echo through a pipe")


@pytest.mark.parametrize(("verdict", "status"), [(4.9, "ok"), (5.1, "warn")], ids=["usual", "far too slow"])
def test_only_many_times_the_bare_pipe_is_a_warning(
    subject: DoctorSubject, monkeypatch: pytest.MonkeyPatch, verdict: float, status: str
) -> None:
    monkeypatch.setattr(engine_check, "_measured", lambda _python, _scratch: (verdict, 0.1))
    assert engine_check.latency(subject).status == status


@pytest.mark.parametrize("script", ["exit 1", "exec sleep 1000", "cat > /dev/null"], ids=["ends", "hangs", "says nothing"])
def test_latency_of_an_engine_that_does_not_answer(
    subject: DoctorSubject, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(engine_check, "LIMIT_SECONDS", 0.2)
    check = engine_check.latency(with_python(subject, program(tmp_path, script)))
    assert (check.status, check.fix) == ("warn", "fix `engine` first")


def test_no_process_is_left(subject: DoctorSubject, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def kept(*arguments: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*arguments, **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", kept)
    engine_check.latency(subject)
    assert [process.poll() is not None for process in started] == [True, True]


# Node.


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    made = host(tmp_path / "host")
    monkeypatch.setenv("PATH", str(made.root / "bin"))
    return made


@pytest.mark.parametrize(
    ("release", "version", "status"),
    [
        pytest.param("2026.9.6", "24.16.0", "ok", id="2026.9: just new enough"),
        pytest.param("2026.9.6", "24.15.9", "warn", id="2026.9: too old"),
        pytest.param("2026.9.6", "25.0.0", "warn", id="2026.9: an odd release"),
        pytest.param("2026.9.6", "26.1.0", "ok", id="2026.9: the next"),
        pytest.param("2026.8.2", "22.22.3", "ok", id="2026.8: the older line"),
        pytest.param("2026.8.2", "23.1.0", "warn", id="2026.8: an odd release"),
        pytest.param("2026.8.2", "24.14.9", "warn", id="2026.8: too old"),
        pytest.param("2026.6.11", "22.19.0", "ok", id="2026.6: just new enough"),
        pytest.param("2026.6.11", "22.18.9", "warn", id="2026.6: too old"),
        pytest.param("", "22.19.0", "ok", id="an unknown release is taken for an old one"),
        pytest.param("2026.9.6", "what", "warn", id="no number"),
    ],
)
def test_node_of_each_release(subject: DoctorSubject, there: Host, release: str, version: str, status: str) -> None:
    """By the releases that are known, where the package does not say."""
    (there.package / "package.json").write_text(f'{{"name": "openclaw", "version": "{release}"}}')
    there.has_node(f"v{version}")
    assert node_check.recent(replace(subject, openclaw=there.openclaw)).status == status


def test_without_openclaw_node_has_to_fit_the_newest(subject: DoctorSubject, there: Host) -> None:
    there.has_node("v22.19.0")
    found = node_check.recent(replace(subject, openclaw=()))
    assert (found.status, "requires >=24.16.0" in found.detail) == ("warn", True)


def test_the_package_knows_better(subject: DoctorSubject, there: Host) -> None:
    there.is_release("2027.1.0", ">=30")
    check = node_check.recent(replace(subject, openclaw=there.openclaw))
    assert (check.status, check.detail) == (
        "warn",
        "Node 24.19.0 is not supported by OpenClaw 2027.1.0, which requires >=30",
    )


def test_the_node_that_runs_openclaw_is_asked(subject: DoctorSubject, there: Host) -> None:
    own = there.root / "node-30"
    own.write_text("#!/bin/sh\necho v30.1.0\n")
    own.chmod(0o755)
    check = node_check.recent(replace(subject, openclaw=(str(own), str(there.package / "openclaw.mjs"))))
    assert check.detail == f"Node 30.1.0 ({own})"


@each_row(
    ("version", "wanted", "held"),
    [
        ("24.16.0", ">=24.16.0 <25 || >=26.1.0", True),
        ("26.0.9", ">=24.16.0 <25 || >=26.1.0", False),
        ("24.1.0", "24", True),
        ("25.1.0", "24", False),
        ("24.1.0", "24.1", True),
        ("24.2.0", "24.1", False),
        ("24.1.0", ">24.1", False),
        ("24.1.1", "> 24.1.0 <= 24.1.1", True),
        ("24.1.1", "=24.1.1", True),
        ("v", ">=1", False),
        ("", ">=1", False),
    ],
)
def test_ranges(version: str, wanted: str, held: bool) -> None:  # noqa: FBT001 - of a table
    assert node_check.fits(version, wanted) is held
