"""`toolguard doctor` as a whole: a healthy installation, what a person and a script see, and how repairs are made."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from cli_stage import LIMIT, SOURCE, envelope, picture, put_in, texts, toolguard
from doctor_stage import IDS, LIVING, Host, by_id, examined, faulty, healthy, host, ran, runs
from held_stage import hold

from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.doctor import check_list
from toolguard_cli.doctor.check_types import Check
from toolguard_cli.doctor.checks import engine_check, hook_order_check
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.stores.files import engine_files as engines
from toolguard_engine.stores.files.audit_log_file import AuditLog


@pytest.fixture
def there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    """An OpenClaw and a Node on PATH."""
    made = host(tmp_path / "host")
    monkeypatch.setenv("PATH", f"{made.root / 'bin'}{os.pathsep}{os.environ['PATH']}")
    return made


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """The engine is not started."""
    monkeypatch.setattr(engine_check, "_ask", lambda _python, _scratch: "")
    monkeypatch.setattr(engine_check, "_measured", lambda _python, _scratch: (0.2, 0.1))


@pytest.mark.parametrize("link", [False, True], ids=["copied", "linked"])
def test_a_healthy_installation_has_no_faults(
    there: Host,
    places: Places,
    monkeypatch: pytest.MonkeyPatch,
    link: bool,  # noqa: FBT001 - of a table
) -> None:
    monkeypatch.setattr(engine_check, "MANY_TIMES", float("inf"))  # a busy machine is no fault
    healthy(places, link=link)
    before = picture(places.state_dir)
    result = doctor.run(places)
    found = by_id(result)
    assert faulty(found) == {}
    assert picture(places.state_dir) == before
    assert texts(result)[-2] == f"all {len(IDS)} checks passed"
    assert found["plugin"]["detail"] == str(SOURCE if link else places.extension)
    assert found["openclaw"]["detail"] == "OpenClaw 2026.9.6"
    assert found["node"]["detail"] == f"Node 24.19.0 ({there.root / 'bin' / 'node'})"
    assert found["hooks"]["detail"] == "proved on OpenClaw 2026.9.6: hooks, inPlaceText"
    assert found["hook-order"]["detail"] == "the guard runs last: other (0), then toolguard (-9007199254740991)"
    assert found["hook-order"]["data"]["hooks"] == [
        {"plugin": "other", "priority": 0},
        {"plugin": "toolguard", "priority": -9007199254740991},
    ]


@pytest.mark.usefixtures("quick", "there")
def test_calls_that_wait_and_a_log_are_no_faults(places: Places) -> None:
    healthy(places)
    hold(places)
    before = picture(places.state_dir)
    found = examined(places)
    assert faulty(found) == {}
    assert found["stores"]["detail"] == "1 calls waiting for approval"
    assert picture(places.state_dir) == before


@pytest.mark.usefixtures("quick", "there")
def test_a_running_engine(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy(places)
    runs(places)
    monkeypatch.setattr(engines, "alive", lambda pid: pid == LIVING)
    found = examined(places)
    assert found["running"]["detail"] == f"engine {LIVING} of gateway 7"
    assert [each["pid"] for each in found["running"]["data"]["engines"]] == [LIVING]


@pytest.mark.usefixtures("quick", "there")
def test_nothing_installed(tmp_path: Path) -> None:
    found = examined(Places(tmp_path / "s", tmp_path / "s" / "openclaw.json"))
    errors = [name for name, check in found.items() if check["status"] == "error"]
    assert errors == ["plugin", "enabled", "config", "state-dir"]
    assert not (tmp_path / "s").exists()


@pytest.mark.usefixtures("quick")
def test_without_openclaw(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy(places)
    monkeypatch.setenv("PATH", "/nowhere")
    assert faulty(examined(places)) == {"node": "warn", "hook-order": "warn"}


def test_without_openclaw_and_before_the_first_run(places: Places, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    put_in(places)
    monkeypatch.setenv("PATH", "/nowhere")
    found = examined(places)["openclaw"]
    assert found["detail"].startswith("openclaw is not on PATH, and no gateway has run")
    assert found["fix"].startswith("install OpenClaw (npm install -g openclaw, which needs Node 24.16 or later), or ")


def test_the_ids_are_those_of_the_table(places: Places) -> None:
    subject = doctor.look(places)
    assert [row.id for row in check_list.TABLE] == IDS
    assert [row.checked(subject).id for row in check_list.TABLE if row.id not in ("engine", "latency")] == [
        name for name in IDS if name not in ("engine", "latency")
    ]


# For a person.


@pytest.mark.usefixtures("quick", "there")
def test_all_types_are_read_before_there_are_threads(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two threads that decode into a type for the first time can end the process with signal 11."""
    order = []
    row = check_list.ListedCheck("plugin", "one", lambda _: order.append("check") or Check("one", "ok", ""))  # type: ignore[func-returns-value]
    monkeypatch.setattr(doctor, "TABLE", (row,))
    monkeypatch.setattr(doctor.decode_first, "read", lambda: order.append("types"))
    doctor.examine(doctor.look(places))
    assert order == ["types", "check"]


@pytest.mark.usefixtures("quick", "there")
def test_a_fault_is_shown_with_its_command(places: Places) -> None:
    healthy(places)
    (places.extension / "index.mjs").write_text("old")
    lines = doctor.run(places).lines
    at = next(number for number, line in enumerate(lines) if "plugin-copy" in line.text)
    assert [(line.kind, line.text) for line in lines[at : at + 2]] == [
        ("warn", f"          plugin-copy   {places.extension} is not the copy of this toolguard"),
        ("info", "                        -> toolguard install"),
    ]
    assert [(line.kind, line.text) for line in lines[-3:-1]] == [
        ("info", f"{len(IDS)} checks: 0 errors, 1 warning, {len(IDS) - 1} passed"),
        ("next", "toolguard doctor --fix (shows what it would do; can repair 1 of them)"),
    ]


@pytest.mark.usefixtures("quick", "there")
def test_every_group_is_named_once(places: Places) -> None:
    healthy(places)
    words = [line.text.split()[0] for line in doctor.run(places).lines if line.text[:1].strip()]
    assert words == ["gateway", "plugin", "config", "engine", "state", "approvals", "all", "INSTALLED:"]


@pytest.mark.usefixtures("quick", "there")
def test_passed_checks_are_shown_on_request(places: Places) -> None:
    healthy(places)
    (places.extension / "index.mjs").write_text("old")
    short, whole = (doctor.run(places, everything=everything) for everything in (False, True))
    assert [line.kind for line in short.lines] == ["warn", "info", "info", "next", "ok"]
    assert f"{len(IDS)} checks: 0 errors, 1 warning, {len(IDS) - 1} passed (-v shows them)" in texts(short)
    assert len(whole.lines) - len(short.lines) == len(IDS) - 1
    assert len(short.data["checks"]) == len(IDS)


@pytest.mark.usefixtures("quick", "there")
def test_commands_name_the_places_that_were_given(places: Places) -> None:
    given = Places(places.state_dir, places.config, ("--state-dir", str(places.state_dir)))
    healthy(given)
    (places.extension / "index.mjs").write_text("old")
    assert examined(given)["plugin-copy"]["fix"] == f"toolguard install --state-dir {places.state_dir}"
    assert texts(doctor.run(given))[-2].startswith(f"toolguard doctor --fix --state-dir {places.state_dir} (")


@pytest.mark.usefixtures("quick", "there")
def test_a_check_that_cannot_look_is_an_error_of_its_own(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    healthy(places)

    def refused(_path: Path) -> os.statvfs_result:
        raise PermissionError(13, "Permission denied", "somewhere")

    monkeypatch.setattr(os, "statvfs", refused)
    found = examined(places)
    assert faulty(found) == {"disk": "error"}
    assert found["disk"]["detail"] == "the check failed: [Errno 13] Permission denied: 'somewhere'"


# For a script.


@pytest.mark.usefixtures("there")
@pytest.mark.parametrize("installed", [True, False], ids=["healthy", "not installed"])
def test_exit_code_and_envelope(places: Places, installed: bool) -> None:  # noqa: FBT001 - of a table
    if installed:
        healthy(places)
    done = toolguard("doctor", "--state-dir", places.state_dir, "--json")
    reported = envelope(done)
    assert done.returncode == (0 if installed else 1), reported
    assert done.stderr == ""
    assert list(reported) == ["schema", "command", "ok", "data", "messages", "errors"]
    assert (reported["schema"], reported["command"], reported["ok"]) == (1, "doctor", installed)
    assert [check["id"] for check in reported["data"]["checks"]] == IDS
    assert list(reported["data"]) == ["checks", "verdict"]
    assert bool(reported["errors"]) is not installed


@pytest.mark.parametrize("option", ["--yes", "--dry-run"])
def test_options_of_fix_stand_with_it(places: Places, option: str) -> None:
    done = toolguard("doctor", option, "--state-dir", places.state_dir)
    assert done.returncode == 2
    assert "only has an effect with --fix" in done.stderr


# Repairs.


@pytest.fixture
def two_faults(places: Places, quick: None, there: Host) -> Places:
    healthy(places)
    (places.extension / "index.mjs").write_text("old")
    (places.own / "install.json").chmod(0o644)
    return places


def words(places: Places) -> list[str]:
    return [
        f"install again: copy the plugin to {places.extension}",
        f"chmod 600 {places.own / 'install.json'} (now 644)",
    ]


def test_dry_run_only_shows(two_faults: Places) -> None:
    before = picture(two_faults.state_dir)
    result = doctor.run(two_faults, fix=True, dry_run=True)
    assert picture(two_faults.state_dir) == before
    assert result.data["planned"] == words(two_faults)
    assert [text for text in texts(result) if text.startswith("would")] == [f"would repair: {w}" for w in words(two_faults)]
    assert texts(result)[-2] == "nothing was changed"


def test_nothing_to_repair(places: Places, there: Host, quick: None) -> None:
    healthy(places)
    there.is_release("2026.5.28")
    assert texts(doctor.run(places, fix=True, yes=True))[-2].startswith("--fix cannot repair any of these")


def test_fix_repairs_and_looks_again(two_faults: Places) -> None:
    result = doctor.run(two_faults, fix=True, yes=True)
    assert faulty(by_id(result)) == {}
    assert [(line.kind, line.text) for line in result.lines[:3]] == [
        ("ok", f"repaired: {words(two_faults)[0]}"),
        ("info", "-> openclaw gateway restart"),
        ("ok", f"repaired: {words(two_faults)[1]}"),
    ]
    assert result.data["repairs"][0] == {
        "words": words(two_faults)[0],
        "note": "openclaw gateway restart",
        "problem": "",
    }
    again = doctor.run(two_faults, fix=True, yes=True)
    assert (again.data["repairs"], texts(again)[-2]) == ([], f"all {len(IDS)} checks passed")


def test_what_fails_is_told_and_the_rest_goes_on(two_faults: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(*_: object) -> None:
        raise UserError("the disk is full")

    monkeypatch.setattr("toolguard_cli.setup.plugin_folder.copy", refused)
    result = doctor.run(two_faults, fix=True, yes=True)
    assert result.lines[0].text == f"not repaired: {words(two_faults)[0]}: the disk is full"
    assert faulty(by_id(result)) == {"plugin-copy": "warn"}


def test_nobody_to_ask(two_faults: Places) -> None:
    before = picture(two_faults.state_dir)
    done = toolguard("doctor", "--fix", "--state-dir", two_faults.state_dir)
    assert done.returncode == 1
    assert "review the repairs above; if you agree, add --yes and try again" in done.stderr
    assert words(two_faults)[0] in done.stderr
    assert picture(two_faults.state_dir) == before


@pytest.mark.parametrize(("said", "mended"), [("y", True), ("n", False)], ids=["yes", "no"])
def test_a_person_is_asked(two_faults: Places, said: str, mended: bool) -> None:  # noqa: FBT001 - of a table
    done = toolguard("doctor", "--fix", "--state-dir", two_faults.state_dir, typed=f"{said}\n")
    assert "install again: copy the plugin to" in done.stdout.partition("make these repairs? [y/N]")[0]
    assert done.returncode == 0
    assert (faulty(examined(two_faults)) == {}) is mended


def test_repairs_leave_a_trace_where_approvals_are_touched(places: Places, there: Host, quick: None) -> None:
    healthy(places)
    for _ in range(2):
        hold(places)
    (places.own / "key").chmod(0o644)
    assert faulty(by_id(doctor.run(places, fix=True, yes=True))) == {}
    events = [(event["event"], event.get("code")) for event in AuditLog(places.state_dir).events()]
    assert events == [*[("hold", "hold.always")] * 2, ("head-lost", None), ("security", "doctor.key-renewed")]
    assert (places.own / "damaged" / "nonces.json").exists()


def test_a_head_that_was_lost_otherwise_stays_a_warning(places: Places, there: Host, quick: None) -> None:
    healthy(places)
    for _ in range(2):
        hold(places)
    (places.own / "audit.head").unlink()
    hold(places)
    found = examined(places)
    assert faulty(found) == {"audit": "warn"}
    assert found["audit"]["fix"] == "toolguard audit show --event head-lost"


def test_openclaw_is_asked_beside_the_other_checks(
    places: Places,
    there: Host,
    quick: None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The slow question is asked first, and answered only when all others are done."""
    healthy(places)
    done: list[str] = []
    others = [row.id for row in check_list.TABLE if row.id != "hook-order"]
    looked = check_list.ListedCheck.checked

    def checked(row: check_list.ListedCheck, subject: doctor.DoctorSubject) -> object:
        found = looked(row, subject)
        done.append(row.id)
        return found

    def patient(_subject: object) -> object:
        while len(done) < len(others):
            os.sched_yield()
        return json.loads((there.root / "answer").read_text().partition("\n")[2])

    monkeypatch.setattr(check_list.ListedCheck, "checked", checked)
    monkeypatch.setattr(hook_order_check, "_ask", patient)
    assert faulty(examined(places)) == {}
    assert done[-1] == "hook-order"


def test_not_installed_is_never_installed_by_fix(places: Places, there: Host, quick: None) -> None:
    places.config.write_text("{}\n")
    before = picture(places.state_dir)
    result = doctor.run(places, fix=True, yes=True)
    assert (result.data["repairs"], picture(places.state_dir)) == ([], before)
    assert by_id(result)["toolguard"]["fix"] == "toolguard install"


def test_ran_before_and_installed_anew(places: Places, there: Host, quick: None) -> None:
    put_in(places)
    ran(places, host="2026.9.6", seams={})
    assert examined(places)["hooks"]["detail"] == "unproven yet; send the agent a message, or run `toolguard doctor --live`"


DOCTOR = """
import signal
import sys
from pathlib import Path
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.system.paths import Places

signal.signal(signal.SIGHUP, signal.SIG_DFL)  # a suite that runs under nohup ignores it, and so would its children
doctor.run(Places(Path(sys.argv[1]), Path(sys.argv[1]) / "openclaw.json"))
"""


def test_interrupted_while_openclaw_takes_its_time(there: Host, places: Places) -> None:
    healthy(places)
    alive, asked = there.root / "alive", there.root / "asked"
    there.hangs(f'exec 9> "{alive}"; flock 9; : > "{asked}"; sleep 1000')
    process = subprocess.Popen([sys.executable, "-c", DOCTOR, str(places.state_dir)], stderr=subprocess.DEVNULL)
    try:
        limit = time.monotonic() + LIMIT
        while not asked.exists():
            assert time.monotonic() < limit
            time.sleep(0.02)
        process.send_signal(signal.SIGHUP)
        assert process.wait(LIMIT) != 0
    finally:
        process.kill()
        process.wait()
    with alive.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
