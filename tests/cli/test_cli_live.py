"""`doctor --live` without a gateway: what facts mean, what is taken from the user, and what is left when it goes wrong."""

from __future__ import annotations

import fcntl
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from cli_stage import LIMIT, SOURCE, picture

from tables import each_row
from toolguard_cli.commands import run_doctor as doctor
from toolguard_cli.doctor import live
from toolguard_cli.doctor.check_types import Check
from toolguard_cli.doctor.live import canary, installed_guard, proofs, scenes, stage
from toolguard_cli.doctor.live.observations import AgentNotice, Forbidden, HeldObservation, Loop, Started, Valid
from toolguard_cli.rig.private_home import Home
from toolguard_cli.setup import install_record, plugin_folder
from toolguard_cli.setup.install_record import Record
from toolguard_cli.system import paths
from toolguard_cli.system.paths import Places
from toolguard_engine import __version__
from toolguard_engine.config.settings import Config

FAKE = Path(__file__).with_name("fake_openclaw.py")


# What facts mean.

WORD = "0123456789abcdef"
CLOSING = "I could not read it."
CORRECTION = "[TOOL ERROR] read() requires 'path'. Fix your call and retry."
REASON = "This call would change the files of the guard itself."
BLOCK = f"TOOLGUARD_BLOCK|{REASON}\nThis cannot be approved."
ESCALATION = "TOOLGUARD_ESCALATE|1a2b3c4d|It runs a command.\nApprove with `toolguard approve 1a2b3c4d`."


def notice_of(
    *results: str, requests: int = 2, answer: str = "Done.", ok: bool = True, seconds: float = 1.25
) -> AgentNotice:
    return AgentNotice(requests, results, answer, ok, seconds)


def ok(name: str, detail: str) -> Check:
    return Check(f"live-{name}", "ok", detail)


def failed(name: str, detail: str, fix: str = proofs.RELEASE) -> Check:
    return Check(f"live-{name}", "error", detail, fix)


def in_one_line(text: str) -> str:
    return " ".join(text.split())


STARTED = Started("2026.9.6", "/s/extensions/toolguard", "/usr/bin/python3", engine=True, own="", about="", seconds=8.04)
WITH = "OpenClaw 2026.9.6 with the plugin from /s/extensions/toolguard"
REFUSAL = "blocked plugin candidate: world-writable path"
NOT_LOADED = f"{WITH}: the gateway runs, but did not load the plugin: "
ENDED = replace(STARTED, engine=False, own="the engine exited (ENOENT)\x1b[2J", about="loaded toolguard")
NO_ENGINE = f'{WITH}: the engine does not run with /usr/bin/python3: "the engine exited (ENOENT)<U+001B>[2J"'

VALID = Valid(notice_of(f"{WORD}\n"), WORD, "works", 1)
NO_HOOKS = "the gateway loads the plugin but does not call its hooks: it "

FORBIDDEN = Forbidden(notice_of(BLOCK), REASON, ran=False)
NO_VERDICT = "the verdict does not reach the model: the model received "
CUT = BLOCK.replace("itself.", "its...")

LOOP = Loop(
    notice_of(CORRECTION, "[LOOP DETECTED]", "[TOOL ERROR LIMIT]", requests=4, answer=CLOSING),
    CLOSING,
    notice_of(WORD),
    WORD,
)
ENDLESS, GOES_ON = "an endless read({}) ended after", "; the session can continue, 2.5 s"
UNUSABLE = "the session is unusable after a loop was ended: "
NO_ANSWER = "the loop ended without an answer: after 4 requests the user got "

HELD = HeldObservation(notice_of(ESCALATION), "1a2b3c4d", 0, notice_of("ran", ESCALATION), 1)
NO_NONCE = "the nonce does not reach the model: the model received "
OTHER_NONCE = ESCALATION.replace("1a2b3c4d", "99999999")


def corrected(*results: str) -> Check:
    return proofs.correction(replace(LOOP, notice=replace(LOOP.notice, results=results)))


def stopped(**notice: Any) -> Check:
    return proofs.stop(replace(LOOP, notice=replace(LOOP.notice, **notice)))


def stopped_with(answer: str) -> Check:
    return proofs.stop(replace(LOOP, notice=notice_of(CORRECTION, requests=3, answer=answer)))


PROOFS = {
    "gateway: ready": (
        proofs.gateway(STARTED, "fix it"),
        ok("gateway", f"{WITH} and /usr/bin/python3: ready after 8.0 s"),
    ),
    "gateway: no engine": (proofs.gateway(ENDED, "fix it"), failed("gateway", NO_ENGINE, "fix it")),
    "gateway: refused": (
        proofs.gateway(replace(STARTED, engine=False, about=REFUSAL), ""),
        failed("gateway", f'{NOT_LOADED}"{REFUSAL}"', proofs.NOT_LOADED),
    ),
    "gateway: not loaded": (
        proofs.gateway(replace(STARTED, engine=False), ""),
        failed("gateway", f"{NOT_LOADED}its log does not mention it", proofs.NOT_LOADED),
    ),
    "hooks: work": (proofs.hooks(VALID), ok("hooks", "a call was judged before it ran, 1.2 s")),
    "hooks: none": (
        proofs.hooks(replace(VALID, hooks="unknown", judged=0)),
        failed("hooks", f"{NO_HOOKS}received no message"),
    ),
    "hooks: fail": (proofs.hooks(replace(VALID, hooks="fails")), failed("hooks", f"{NO_HOOKS}received no message")),
    "hooks: no call judged": (proofs.hooks(replace(VALID, judged=0)), failed("hooks", f"{NO_HOOKS}judged no call")),
    "hooks: disturbed": (
        proofs.hooks(replace(VALID, notice=notice_of(BLOCK))),
        failed("hooks", f'a harmless call failed: the model received "{in_one_line(BLOCK)}"'),
    ),
    "block: verbatim": (
        proofs.block(FORBIDDEN),
        ok("block", "a forbidden call did not run, and the model received the reason, 1.2 s"),
    ),
    "block: it ran": (
        proofs.block(replace(FORBIDDEN, ran=True)),
        failed("block", "a call that changes the guard's own files ran: nothing is guarded", proofs.REINSTALL),
    ),
    "block: wrapped": (
        proofs.block(replace(FORBIDDEN, notice=notice_of(f'{{"error": "{BLOCK}"}}'))),
        failed("block", f'{NO_VERDICT}"{{"error": "{in_one_line(BLOCK)}"}}"'),
    ),
    "block: cut": (
        proofs.block(replace(FORBIDDEN, notice=notice_of(CUT))),
        failed("block", f'{NO_VERDICT}"{in_one_line(CUT)}"'),
    ),
    "block: refused by somebody else": (
        proofs.block(replace(FORBIDDEN, notice=notice_of("Permission denied"), reason="")),
        failed("block", 'there was no verdict: the model received "Permission denied"'),
    ),
    "block: not asked again": (
        proofs.block(replace(FORBIDDEN, notice=notice_of(requests=1, answer="Something went wrong"))),
        failed("block", 'no request to the model after a blocked call: after 1 request the user got "Something went wrong"'),
    ),
    "correction: given": (
        corrected(CORRECTION),
        ok("correct", "the request after read({}) says what was wrong, and how to correct it"),
    ),
    "correction: one request later": (
        corrected("Validation failed for tool read", CORRECTION),
        failed("correct", 'for read({}), the model received "Validation failed for tool read"'),
    ),
    "correction: no help": (
        corrected("[TOOL ERROR] it failed"),
        failed("correct", 'for read({}), the model received "[TOOL ERROR] it failed"'),
    ),
    "correction: not asked again": (
        corrected(),
        failed("correct", f'no request to the model after read({{}}): after 4 requests the user got "{CLOSING}"'),
    ),
    "stop: final answer": (
        proofs.stop(LOOP),
        ok("stop", f"{ENDLESS} 4 requests with the model's own final answer{GOES_ON}"),
    ),
    "stop: as 2026.6.11 does": (
        stopped_with("[TOOL ERROR LIMIT] 3 calls failed."),
        ok("stop", f"{ENDLESS} 3 requests with the guard's text as the answer{GOES_ON}"),
    ),
    "stop: as 2026.8.2 does": (
        stopped_with("Read blocked"),
        ok("stop", f'{ENDLESS} 3 requests with a notice of this release: "Read blocked"{GOES_ON}'),
    ),
    "stop: one request too many": (
        stopped(requests=5),
        failed("stop", "an endless read({}) was still running after 5 requests"),
    ),
    "stop: no answer": (stopped(answer=" \n"), failed("stop", f"{NO_ANSWER}no answer")),
    "stop: failure": (stopped(ok=False, answer="internal error"), failed("stop", f'{NO_ANSWER}"internal error"')),
    "stop: broken session": (
        proofs.stop(replace(LOOP, after=notice_of(requests=0, answer="session is broken", ok=False))),
        failed("stop", f'{UNUSABLE}after 0 requests the user got "session is broken"'),
    ),
    "stop: session without tools": (
        proofs.stop(replace(LOOP, after=notice_of(BLOCK, answer="It is blocked."))),
        failed("stop", f'{UNUSABLE}after 2 requests the user got "It is blocked."'),
    ),
    "approval: once": (
        proofs.approval(HELD),
        ok("approval", "a held call was approved from outside and ran exactly once, 2.5 s"),
    ),
    "approval: unasked": (
        proofs.approval(HeldObservation(notice_of("ran"), "", 1)),
        failed("approval", "a call that needs an approval ran without one", proofs.REINSTALL),
    ),
    "approval: refused by somebody else": (
        proofs.approval(HeldObservation(notice_of("exec is not available"), "", 0)),
        failed("approval", 'the call was not held: the model received "exec is not available"'),
    ),
    "approval: wrapped": (
        proofs.approval(replace(HELD, notice=notice_of(f"Error: {ESCALATION}"))),
        failed("approval", f'{NO_NONCE}"Error: {in_one_line(ESCALATION)}"'),
    ),
    "approval: another nonce": (
        proofs.approval(replace(HELD, notice=notice_of(OTHER_NONCE))),
        failed("approval", f'{NO_NONCE}"{in_one_line(OTHER_NONCE)}"'),
    ),
    "approval: not asked again": (
        proofs.approval(replace(HELD, notice=notice_of(requests=1))),
        failed("approval", f"{NO_NONCE}nothing"),
    ),
    "approval: never": (
        proofs.approval(replace(HELD, ran=0, again=notice_of(ESCALATION, ESCALATION))),
        failed("approval", f'approved once, the call did not run; the model received "{in_one_line(ESCALATION)}"'),
    ),
    "approval: twice": (
        proofs.approval(replace(HELD, ran=2, again=notice_of("ran", "ran"))),
        failed("approval", 'approved once, the call ran 2 times; the model received "ran"'),
    ),
}


@each_row(("found", "expected"), PROOFS.values(), ids=PROOFS)
def test_what_facts_mean(found: Check, expected: Check) -> None:
    assert found == expected


@each_row(
    ("log", "found"),
    [
        ([], ("", "")),
        (["[gateway] log file: /toolguard/openclaw.log", "[plugins] loaded github"], ("", "")),
        (
            ["12:00 [gateway] [plugins] blocked plugin candidate (plugin=toolguard)", "12:01 [gateway] ready"],
            ("", "blocked plugin candidate (plugin=toolguard)"),
        ),
        (["[plugins] [toolguard] starting", "12:01 [plugins] [toolguard] the engine ended"], ("the engine ended",) * 2),
    ],
    ids=["empty", "of others", "refused", "its own words"],
)
def test_what_the_log_says_of_the_plugin(log: list[str], found: tuple[str, str]) -> None:
    assert scenes.last_lines(log) == found


def test_quoted_words_are_bounded() -> None:
    assert proofs.quoted(" one\n\ttwo ") == '"one two"'
    assert len(proofs.quoted("x" * 5000)) == proofs.SHOWN + 2
    assert proofs.quoted(" \n") == ""


@each_row(
    ("text", "found"),
    [
        ("2026.9.6", (2026, 9, 6)),
        ("2026.10.1-beta.2", (2026, 10, 1)),
        ("2026.9", ()),
        ("OpenClaw", ()),
        ("v2026.9.6", ()),
        ("", ()),
    ],
)
def test_numbers_of_a_release(text: str, found: tuple[int, ...]) -> None:
    assert stage.numbers(text) == found


# What is taken from the user.


def put_in(places: Places, python: str = "/of/the/record/python") -> None:
    plugin_folder.copy(SOURCE, places.extension, __version__)
    install_record.save(
        places.record, Record(__version__, python, "copy", str(places.extension), str(places.config), "", [])
    )


ENTRY = {"enabled": True, "config": installed_guard.SETTINGS}


def test_the_guard_of_an_installation(places: Places) -> None:
    put_in(places)
    found = installed_guard.find(places, Config())
    assert (found.folder, found.named, found.recorded, found.python) == (
        places.extension,
        "",
        "/of/the/record/python",
        "/of/the/record/python",
    )
    assert found.plugins == {"load": {"paths": [str(places.extension)]}, "entries": {"toolguard": ENTRY}}
    with Home("u", plugins=found.plugins) as home:
        assert found.put_into(home) == places.extension
        known = install_record.load(installed_guard.places_of(home).record)
        assert known is not None
        assert (known.python, known.edits) == ("/of/the/record/python", [])
        assert not installed_guard.places_of(home).extension.exists()


def test_a_python_that_the_settings_name(places: Places) -> None:
    put_in(places)
    found = installed_guard.find(places, Config(python="/named/python"))
    assert (found.named, found.python) == ("/named/python", "/named/python")
    assert found.plugins["entries"] == {
        "toolguard": {"enabled": True, "config": {**installed_guard.SETTINGS, "python": "/named/python"}}
    }


def test_a_linked_plugin(places: Places) -> None:
    places.config.write_text(json.dumps({"plugins": {"load": {"paths": ["/elsewhere", str(SOURCE)]}}}))
    assert installed_guard.find(places, Config()).folder == SOURCE


def test_where_nothing_is_installed(places: Places) -> None:
    found = installed_guard.find(places, Config())
    assert (found.folder, found.recorded) == (None, sys.executable)
    assert found.plugins == {"entries": {"toolguard": ENTRY}}
    with Home("u", plugins=found.plugins) as home:
        extension = installed_guard.places_of(home).extension
        assert found.put_into(home) == extension
        assert plugin_folder.same(paths.plugin_source(), extension)


@pytest.mark.parametrize("damaged", ["config", "record"])
def test_damaged_files_of_the_user_count_as_missing(places: Places, damaged: str) -> None:
    put_in(places)
    file = {"config": places.config, "record": places.record}[damaged]
    file.write_text("{ not JSON")
    found = installed_guard.find(places, Config())
    assert found.folder == places.extension
    assert found.python == ("python3" if damaged == "record" else "/of/the/record/python")


# What is left when it goes wrong.


@pytest.fixture
def scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where all temporary files of this process go."""
    made = tmp_path / "scratch"
    made.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(made))
    return made


@pytest.fixture
def noted(tmp_path: Path) -> Path:
    """What the fake OpenClaw writes down."""
    made = tmp_path / "noted"
    made.mkdir()
    return made


def fake(kind: str, noted: Path) -> list[str]:
    return [sys.executable, str(FAKE), kind, str(noted)]


def assert_all_ended(noted: Path) -> None:
    """Their lock is given up: a killed process may take a moment to be gone."""
    limit = time.monotonic() + LIMIT
    with (noted / "alive").open("a") as alive:
        while True:
            try:
                return fcntl.flock(alive, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                assert time.monotonic() < limit, "one of its processes still runs"
                time.sleep(0.02)


def test_without_openclaw(places: Places, scratch: Path) -> None:
    assert live.prove([], places, Config()) == [
        Check(
            "live-gateway",
            "error",
            "there is no openclaw on PATH to test",
            "put the openclaw that runs your gateway on PATH, then try again",
            {"guards": "unknown"},
        )
    ]


def test_an_openclaw_that_is_not_there(places: Places, scratch: Path) -> None:
    assert live.prove(["/no/such/openclaw"], places, Config()) == [
        Check("live-gateway", "error", "/no/such/openclaw cannot be run: No such file or directory", canary.BROKEN)
    ]
    assert list(scratch.iterdir()) == []


def test_an_openclaw_without_a_version(places: Places, scratch: Path, noted: Path) -> None:
    (check,) = live.prove(fake("dumb", noted), places, Config())
    assert (check.status, check.detail) == ("error", f"{noted} does not print its version: no idea")


def test_a_gateway_that_does_not_start(places: Places, scratch: Path, noted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")
    monkeypatch.setenv("OPENCLAW_CONFIG_PATH", str(places.config))
    put_in(places)
    places.config.write_text('{ plugins: { entries: { toolguard: { enabled: true } } }, secret: "sesame" }\n')
    before = picture(places.state_dir)
    said: list[str] = []
    assert live.prove(fake("ends", noted), places, Config(), said.append) == [
        Check(
            "live-gateway",
            "error",
            'the gateway does not start: it ended with exit code 78 "reading the config Config invalid: port is taken"',
            canary.BROKEN,
        )
    ]
    assert said == ["starting OpenClaw 2026.9.6 with the guard in a temporary home"]
    assert picture(places.state_dir) == before
    assert list(scratch.iterdir()) == []
    assert_all_ended(noted)
    for name in ("version", "gateway"):
        environment = json.loads((noted / f"{name}.json").read_text())
        assert "sesame" not in environment.values()
        inside = {name for name, value in environment.items() if value.startswith(str(scratch))}
        assert {"HOME", "OPENCLAW_STATE_DIR", "OPENCLAW_CONFIG_PATH", "TMPDIR"} <= inside
        assert environment["OPENCLAW_NO_AUTO_UPDATE"] == environment["OPENCLAW_DISABLE_BONJOUR"] == "1"


def test_a_gateway_that_hangs(places: Places, scratch: Path, noted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "START_SECONDS", 1)
    monkeypatch.setattr(stage, "PATIENCE_SECONDS", 0.1)
    assert live.prove(fake("hangs", noted), places, Config()) == [
        Check("live-gateway", "error", "the gateway does not start: no answer within 1 s", canary.BROKEN)
    ]
    assert list(scratch.iterdir()) == []
    assert_all_ended(noted)


def test_a_gateway_without_the_plugin(places: Places, scratch: Path, noted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stage, "ENGINE_SECONDS", 0)
    monkeypatch.setattr("toolguard_cli.doctor.live.scenes.ENGINE_SECONDS", 0)
    (check,) = live.prove(fake("bare", noted), places, Config())
    assert check.detail.endswith(": the gateway runs, but did not load the plugin: its log does not mention it")
    assert list(scratch.iterdir()) == []
    assert_all_ended(noted)


def test_a_gateway_that_hangs_up(places: Places, scratch: Path, noted: Path) -> None:
    said: list[str] = []
    started, first = live.prove(fake("mute", noted), places, Config(), said.append)
    assert (started.id, started.status) == ("live-gateway", "ok")
    assert first == Check(
        "live-hooks",
        "error",
        'the gateway did not answer ("Remote end closed connection without response"); the remaining checks were not tried',
        canary.BROKEN,
    )
    assert said[1:] == ["a harmless call"]
    assert list(scratch.iterdir()) == []
    assert_all_ended(noted)


INTERRUPTED = """
import sys
from pathlib import Path
from toolguard_cli.doctor import live
from toolguard_cli.doctor.live import stage
from toolguard_cli.system.paths import Places
from toolguard_engine.config.settings import Config

stage.PATIENCE_SECONDS = 0.1
live.prove(sys.argv[2:], Places(Path(sys.argv[1]), Path(sys.argv[1]) / "openclaw.json"), Config())
"""


@pytest.mark.parametrize(("kind", "how"), [("hangs", signal.SIGINT), ("slow", signal.SIGTERM)], ids=["hangs", "slow"])
def test_interrupted(places: Places, scratch: Path, noted: Path, how: signal.Signals, kind: str) -> None:
    command = [sys.executable, "-c", INTERRUPTED, str(places.state_dir), *fake(kind, noted)]
    environment: dict[str, Any] = {**os.environ, "TMPDIR": str(scratch)}
    process = subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL)
    try:
        limit = time.monotonic() + LIMIT
        while not (noted / "child").exists():
            assert time.monotonic() < limit
            time.sleep(0.02)
        process.send_signal(how)
        assert process.wait(LIMIT) != 0
    finally:
        process.kill()
        process.wait()
    assert list(scratch.iterdir()) == []
    assert_all_ended(noted)


def test_killed(places: Places, scratch: Path, noted: Path) -> None:
    """Nobody of its own is left to clean up."""
    command = [sys.executable, "-c", INTERRUPTED, str(places.state_dir), *fake("hangs", noted)]
    process = subprocess.Popen(command, env={**os.environ, "TMPDIR": str(scratch)}, stderr=subprocess.DEVNULL)
    limit = time.monotonic() + LIMIT
    try:
        while not (noted / "child").exists():
            assert time.monotonic() < limit
            time.sleep(0.02)
    finally:
        process.kill()
        process.wait()
    while list(scratch.iterdir()):
        assert time.monotonic() < limit
        time.sleep(0.02)
    assert_all_ended(noted)


def test_doctor_lists_the_proof(places: Places, capsys: pytest.CaptureFixture[str], scratch: Path) -> None:
    without = doctor.run(places, openclaw=())
    proved = doctor.run(places, openclaw=(), live=True)
    added = {"group": "live", "id": "live-gateway", "status": "error", "detail": canary.NO_OPENCLAW, "fix": canary.INSTALL}
    assert [check["id"] for check in proved.data["checks"][:-1]] == [check["id"] for check in without.data["checks"]]
    assert proved.data["checks"][-1] == {**added, "data": {"guards": "unknown"}, "fixable": False}
    assert proved.exit_code == 1
    assert proved.data["verdict"] == without.data["verdict"] | {"why": [*without.data["verdict"]["why"], "live-gateway"]}
    assert f"live      live-gateway  {canary.NO_OPENCLAW}" in [line.text for line in proved.lines]


@pytest.mark.thorough
@pytest.mark.parametrize("as_json", [True, False])
def test_steps_are_told_to_persons(
    places: Places, capsys: pytest.CaptureFixture[str], scratch: Path, noted: Path, *, as_json: bool
) -> None:
    doctor.run(places, openclaw=tuple(fake("ends", noted)), live=True, as_json=as_json)
    notice_of = capsys.readouterr().err
    assert ("starting OpenClaw 2026.9.6 with the guard in a temporary home\n" in notice_of) == (not as_json)
    assert notice_of.startswith("running the other checks first; ") == (not as_json)


def test_no_room(places: Places, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "nowhere"))
    (check,) = live.prove([sys.executable], places, Config())
    assert (check.id, check.status, check.fix) == ("live-gateway", "error", canary.ROOM)
