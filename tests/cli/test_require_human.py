"""The commands that decide refuse to run inside an agent's tool call, and say so in the audit log."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path

import pytest
from cli_stage import put_in, toolguard, toolguard_process
from held_stage import hold, status_of

from toolguard_cli.approvals.watch_screen import ScreenView, WatchAction
from toolguard_cli.commands import grant, watch
from toolguard_cli.operations import refill_budgets, set_kill_switch
from toolguard_cli.operations import set_setting as config_set
from toolguard_cli.operations.change_setting import ChangeOptions
from toolguard_cli.person import origin, question, require_human, terminals
from toolguard_cli.person.linux import Linux
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals.standing import Standing
from toolguard_engine.stores.files import engine_files as engines
from toolguard_engine.stores.files.audit_log_file import AuditLog
from toolguard_engine.stores.files.kill_switch_file import KillSwitchFile
from toolguard_engine.stores.files.nonces import FileNonces
from toolguard_engine.stores.sqlite.standings import FileStandings

COMMANDS = [
    ["approve", "NONCE", "--yes"],
    ["approve", "NONCE", "--yes", "--json"],
    ["deny", "NONCE"],
    ["revive", "NONCE"],
    ["revive", "NONCE", "--approve", "--yes"],
    ["grant", "git push", "--tool", "exec"],
    ["revoke", "g-0000"],
    ["watch"],
    ["dashboard"],
    ["dashboard", "--json"],
    ["checkpoint"],
    ["checkpoint", "--dry-run"],
    ["kill-switch", "on"],
    ["kill-switch", "off"],
    ["doctor", "--fix"],
    ["uninstall"],
    ["install"],
    ["grant", "--accept", "g-all", "--yes"],
    ["migrate", "--yes"],
    ["migrate", "--undo"],
    ["migrate", "--dry-run"],
    ["config", "accept", "--yes"],
    ["config", "set", "mode", "disabled"],
    ["rules", "add", "office-hours"],
]
LOOSENING = [
    ["approve", "NONCE", "--yes"],
    ["approve", "NONCE", "--for", "1d", "--yes"],
    ["revive", "NONCE", "--approve", "--yes"],
    ["config", "set", "mode", "disabled"],
    ["kill-switch", "off"],
    ["grant", "make", "--tool", "exec"],
    ["checkpoint"],
    ["dashboard"],
    ["uninstall"],
    ["install"],
    ["doctor", "--fix", "--yes"],
    ["migrate", "--yes"],
    ["rules", "add", "office-hours"],
    ["constraints", "add", "office-hours"],
]
TIGHTENING = [
    ["kill-switch", "on"],
    ["config", "set", "mode", "shadow", "--dry-run"],
    ["config", "accept", "--dry-run"],
    ["deny", "NONCE"],
]


def run(places: Places, *words: str, **env: str) -> subprocess.CompletedProcess[str]:
    return toolguard(*words, "--state-dir", places.state_dir, **env)


def settled(places: Places) -> list[str]:
    """What decides: the config and the policy."""
    return [path.read_text() for path in (places.config, places.own / "policy.toml")]


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_marked_by_the_gateway(places: Places, words: list[str]) -> None:
    places.config.write_text('{ plugins: { entries: { "tool-guard": { enabled: true } } } }')
    (places.own / "policy.toml").parent.mkdir(exist_ok=True)
    (places.own / "policy.toml").write_text('[[grant]]\nid = "g-all"\ntool = "exec"\npattern = "*"\n')
    entry = hold(places)
    before = settled(places)
    done = run(places, *(entry.nonce if word == "NONCE" else word for word in words), OPENCLAW_SHELL="exec")
    assert done.returncode == 1
    said = done.stdout + done.stderr
    assert f"`toolguard {words[0]}" in said
    assert "` was started by an agent's exec; only a person may do that" in said
    assert before == settled(places)
    assert [known.status for known in FileNonces(places.state_dir).entries()] == ["pending"]
    last = list(AuditLog(places.state_dir).events())[-1]
    assert (last["event"], last["code"]) == ("security", "security.self-approval")


@pytest.fixture
def in_doubt(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can tell who started the command, and there is no terminal to ask in."""
    found = origin.Origin("unknown", "by something that has ended")
    monkeypatch.setattr(origin, "trace", lambda *_: found)
    monkeypatch.setattr(terminals, "refusal", lambda *_: "there is no terminal")


@pytest.mark.usefixtures("in_doubt")
@pytest.mark.parametrize("words", LOOSENING, ids=" ".join)
def test_every_command_asks_who_started_it(places: Places, words: list[str]) -> None:
    entry = hold(places)
    done = run(places, *(entry.nonce if word == "NONCE" else word for word in words))
    reported = done.stdout + done.stderr
    assert (done.returncode, "was started by something that has ended, and there is no terminal" in reported) == (1, True), (
        reported
    )
    assert status_of(places, entry.nonce) == "pending"
    assert list(AuditLog(places.state_dir).events())[-1]["code"] == "security.no-person"


@pytest.mark.usefixtures("in_doubt")
@pytest.mark.parametrize("words", TIGHTENING, ids=" ".join)
def test_what_allows_nothing_more_needs_no_person(places: Places, words: list[str]) -> None:
    entry = hold(places)
    done = run(places, *(entry.nonce if word == "NONCE" else word for word in words))
    assert "was started" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    "words", [["pending"], ["status"], ["kill-switch", "status"], ["audit", "verify"], ["grants"]], ids=" ".join
)
def test_what_only_shows_may_run_anywhere(places: Places, words: list[str]) -> None:
    hold(places)
    assert run(places, *words, OPENCLAW_SHELL="exec").returncode == 0


def test_a_persons_shell_in_the_gateways_terminal_interface(places: Places) -> None:
    assert run(places, "approve", hold(places).nonce, "--yes", OPENCLAW_SHELL="tui-local").returncode == 0


@pytest.fixture
def below_a_gateway(places: Places) -> Iterator[None]:
    """An engine that was told that this very process is its gateway."""
    hello = {"id": 0, "type": "hello", "v": 1, "stateDir": str(places.state_dir), "gatewayPid": os.getpid()}
    command = [sys.executable, "-m", "toolguard_engine"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as engine:
        assert engine.stdin is not None
        engine.stdin.write(json.dumps(hello).encode() + b"\n")
        engine.stdin.flush()
        limit = time.monotonic() + 120
        while not engines.running(places.state_dir):
            assert time.monotonic() < limit
            time.sleep(0.02)
        yield
        engine.stdin.close()


def test_another_state_directory_does_not_hide_the_gateway(places: Places, tmp_path: Path, below_a_gateway: None) -> None:
    """Whose config is changed counts as well."""
    places.config.write_text("{}")
    other = tmp_path / "other"
    other.mkdir()
    words = ("config", "set", "mode", "disabled", "--config", str(places.config))
    done = run(Places(other, places.config), *words)
    assert (done.returncode, "was started by the gateway" in done.stdout + done.stderr) == (1, True)
    assert places.config.read_text() == "{}"


def test_a_number_that_a_gateway_has_left_is_not_the_gateway(places: Places, below_a_gateway: None) -> None:
    """The process that has it now may be a person's shell."""
    (info,) = engines.running(places.state_dir)
    info.gateway_pid = os.getppid()
    engines.publish(places.state_dir, info)
    hold(places)
    agents = require_human.agents_of(places, Linux())
    assert (agents.gateways, agents.engines) == (frozenset({os.getppid()}), frozenset({info.pid}))
    info.gateway_pid = info.pid
    engines.publish(places.state_dir, info)
    assert require_human.agents_of(places, Linux()).gateways == frozenset()


def test_watch_in_doubt_approves_nothing(places: Places) -> None:
    """Where any program can type, a key is no proof. A no is taken."""
    entry = hold(places)
    watched = watch.WatchedCalls(places, "in tmux or screen")
    view = watch._done(watched, ScreenView(), WatchAction("approve", entry.nonce))
    assert view.message == f"watch was started in tmux or screen; run toolguard approve {entry.nonce}"
    assert [known.status for known in FileNonces(places.state_dir).entries()] == ["pending"]
    watch._done(watched, ScreenView(), WatchAction("deny", entry.nonce))
    assert [known.status for known in FileNonces(places.state_dir).entries()] == ["denied"]


@pytest.mark.thorough
def test_below_the_gateway(places: Places, below_a_gateway: None) -> None:
    entry = hold(places)
    done = toolguard_process("approve", entry.nonce, "--yes", "--state-dir", places.state_dir)
    assert (done.returncode, "was started by the gateway" in done.stdout + done.stderr) == (1, True)
    through_a_shell = f"exec {sys.executable} -m toolguard_cli approve {entry.nonce} --yes --state-dir {places.state_dir}"
    done = subprocess.run(["sh", "-c", f"true; {through_a_shell}"], capture_output=True, text=True, check=False)  # noqa: S607
    assert (done.returncode, "was started by the gateway" in done.stdout + done.stderr) == (1, True)
    assert [known.status for known in FileNonces(places.state_dir).entries()] == ["pending"]


class Asked:
    """A person of whom nobody knows whether it is one: what they were shown, and what they answer."""

    def __init__(self, *, answer: bool = True) -> None:
        self.answer = answer
        self.lines: list[str] = []

    def __call__(self, lines: Sequence[str]) -> bool:
        self.lines = list(lines)
        return self.answer


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Asked:
    person = Asked()
    monkeypatch.setattr(
        require_human, "caller", lambda places, command, **_: require_human.Caller(places, command, "by nobody knows what")
    )
    monkeypatch.setattr(question, "asked", person)
    return person


def test_a_change_of_a_setting_is_shown_before_the_code_is_asked_for(places: Places, asked: Asked) -> None:
    put_in(places)
    reported = config_set.run(places, "mode", "soft", ChangeOptions(offline=True))
    assert asked.lines[1:-1] == [
        'plugins.entries.toolguard.config.mode: not set -> "soft"',
        "this weakens the guard: mode changed from enforce to soft",
    ]
    assert reported.data["changed"]


def test_without_the_code_no_setting_is_changed(places: Places, asked: Asked) -> None:
    put_in(places)
    before, asked.answer = places.config.read_text(), False
    with pytest.raises(UserError, match="was not confirmed"):
        config_set.run(places, "mode", "soft", ChangeOptions(offline=True))
    assert places.config.read_text() == before


def test_what_is_changed_while_the_code_is_typed_is_not_written(
    places: Places, asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_in(places)
    config_set.run(places, "mode", "soft", ChangeOptions(offline=True))
    before = places.config.read_text()

    def typed(_: Sequence[str]) -> bool:
        places.config.write_text(before.replace("soft", "disabled"))
        return True

    monkeypatch.setattr(question, "asked", typed)
    with pytest.raises(UserError, match="was changed in the meantime"):
        config_set.run(places, "mode", "enforce", ChangeOptions(offline=True))
    assert places.config.read_text() == before.replace("soft", "disabled")


def test_secrets_do_not_stand_in_the_question(places: Places, asked: Asked) -> None:
    put_in(places)
    config_set.run(places, "gateway.auth.token", '"hunter2-hunter2-hunter2"', ChangeOptions(root=True, offline=True))
    assert "hunter2" not in "".join(asked.lines[1:])


def test_the_question_is_bounded_and_printable(places: Places, asked: Asked) -> None:
    require_human.caller(places, "grant").require([f"\x1b[2J{'x' * 2_000}"] * 50)
    shown = asked.lines[1:-1]
    assert (len(shown), max(map(len, shown)) <= require_human.MAX_SHOWN, "\x1b" in "".join(shown)) == (9, True, False)
    assert shown[-1] == "and 42 more"


def test_a_grant_is_shown_before_the_code_is_asked_for(places: Places, asked: Asked) -> None:
    hold(places)
    granting = grant.run(places, grant.GrantRequest("git push origin *", "exec", "1h"), yes=False, dry_run=False)
    assert "git push origin *" in asked.lines[1]
    assert asked.lines[1].removeprefix("would grant ") in granting.lines[0].text


def test_what_the_kill_switch_stops_is_shown_before_it_is_switched_off(places: Places, asked: Asked) -> None:
    hold(places)
    KillSwitchFile(places.state_dir).set(on=True, by="ann", why="strange mails")
    set_kill_switch.run(places, "off")
    assert asked.lines[1].startswith("the kill switch is on: strange mails (by ann)")
    assert KillSwitchFile(places.state_dir).thrown() is None


def test_a_checkpoint_shows_the_budgets_that_it_refills(places: Places, asked: Asked) -> None:
    hold(places)
    with closing(FileStandings(places.state_dir, patient=True)) as store:
        used = Standing("main", "agent:main:main", trust=0.7, spent=0.5, touched=time.time())
        store.save({used.key: used})
    refill_budgets.run(places, refill_budgets.Chosen(), dry_run=False)
    assert asked.lines[1].startswith("would refill the budget of ")
