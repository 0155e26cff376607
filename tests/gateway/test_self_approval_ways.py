"""In how many ways a program of an agent can reach the gateway from this machine, and that it approves nothing in any."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

import browsing_agent
import login_service
import user_manager
from attackers import Attack
from browser import MISSING as NO_BROWSER
from gate import sampled
from gateway_stage import NEW_HOST, WRITES_WAIT, Stage, audit, nonces, once
from operator_client import OWNER, Operator
from shared_gateway import Shared
from toolguard_cli.rig import downloads
from toolguard_cli.rig.private_home import Home, free_port
from toolguard_cli.rig.scripted_model import call
from toolguard_engine.approvals.ledger import HeldCall

pytestmark = pytest.mark.skipif(not NEW_HOST, reason="the operator protocol is that of this release")

LIMIT = 120
REFUSALS = {"security.self-approval", "security.no-person"}
OF_AN_AGENT = {"security.self-approval"}
NOT_TOLD = {"security.no-person"}


@pytest.fixture
def stage(shared: Shared) -> Stage:
    return shared.under(**WRITES_WAIT)


def program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if found is None:
        assert os.environ.get("TOOLGUARD_TEST_PROGRAMS") != "required", f"{name} is not installed"
        pytest.skip(f"{name} is not installed")
    return found


def until(true: Callable[[], object], what: Callable[[], object]) -> None:
    limit = time.monotonic() + LIMIT
    while not true():
        assert time.monotonic() < limit, what()
        time.sleep(0.05)


def held(stage: Stage, name: str) -> HeldCall:
    stage.play(once(call("write", {"path": name, "content": "written\n"}), closing="It waits."), f"agent:main:{name}")
    (entry,) = [entry for entry in nonces(stage.home).entries() if entry.session == f"agent:main:{name}"]
    assert entry.status == "pending"
    return entry


def status(stage: Stage, nonce: str) -> str:
    return {entry.nonce: entry.status for entry in nonces(stage.home).entries()}[nonce]


def events(stage: Stage, nonce: str) -> list[tuple[str, str]]:
    return [(line["event"], line["code"]) for line in audit(stage.home) if line.get("nonce") == nonce]


def refusals(stage: Stage, nonce: str) -> set[str]:
    return {code for event, code in events(stage, nonce) if event == "security"}


@pytest.fixture
def attack(stage: Stage, tmp_path: Path) -> Iterator[Attack]:
    entry = held(stage, f"{tmp_path.name[-20:]}.txt")
    made = Attack(tmp_path, stage.home, entry.nonce)
    yield made
    until(lambda: not left(tmp_path), lambda: left(tmp_path))


def left(folder: Path) -> list[str]:
    """What still runs of the attack."""
    lines = [" ".join(each.info["cmdline"] or ()) for each in psutil.process_iter(["cmdline"])]
    return [line for line in lines if str(folder) in line]


def agent_runs(stage: Stage, attack: Attack, *command: str, waits: bool = True) -> None:
    line = attack.launched(*command, waits=waits)
    played = stage.play(once(call("exec", {"command": line}), closing="Tried."), f"agent:main:attack-{attack.nonce}")
    assert "TOOLGUARD" not in played.results[-1], "the program was not run, so nothing was tried"


def refused(stage: Stage, attack: Attack, codes: set[str]) -> None:
    """The gateway took the message, and the guard has not counted it."""
    until(lambda: attack.done is not None, lambda: left(attack.folder))
    assert attack.done == ""
    until(lambda: refusals(stage, attack.nonce), lambda: status(stage, attack.nonce))
    assert refusals(stage, attack.nonce) <= codes
    assert status(stage, attack.nonce) == "pending"
    assert ("approve", "") not in [(event, "") for event, _ in events(stage, attack.nonce)]


@pytest.mark.thorough
def test_a_script(stage: Stage, attack: Attack) -> None:
    agent_runs(stage, attack, *attack.python())
    refused(stage, attack, OF_AN_AGENT)


def test_a_newly_paired_device(stage: Stage, attack: Attack) -> None:
    """The gateway pairs a device of this machine by itself; it connects with the token of its own that it got."""
    agent_runs(stage, attack, *attack.websocket("device"))
    refused(stage, attack, OF_AN_AGENT)


@pytest.mark.thorough
def test_a_node(stage: Stage, attack: Attack) -> None:
    """What a node hears or asks for goes to the model and is no command."""
    agent_runs(stage, attack, *attack.websocket("node"))
    until(lambda: attack.done is not None, lambda: left(attack.folder))
    assert attack.done == ""
    until(lambda: not left(attack.folder), lambda: left(attack.folder))
    assert status(stage, attack.nonce) == "pending"


HTTP = {
    "/v1/chat/completions": {"model": "openclaw/main", "messages": [{"role": "user", "content": "TEXT"}]},
    "/tools/invoke": {"tool": "sessions_send", "args": {"sessionKey": "agent:main:room", "message": "TEXT"}},
}


@pytest.mark.parametrize("path", sampled(HTTP, {"/tools/invoke"}))
def test_curl(stage: Stage, attack: Attack, path: str) -> None:
    """What comes by HTTP goes to the model, or to a tool, which the guard judges."""
    body = json.dumps(HTTP[path]).replace("TEXT", f"/toolguard approve {attack.nonce}")
    (attack.folder / "body").write_text(body)
    agent_runs(
        stage, attack, program("curl"), "-s", "-o", str(attack.folder / "answer"), "-H", "content-type: application/json",
        "-H", f"authorization: Bearer {stage.home.token}", "-H", "x-openclaw-session-key: agent:main:room",
        "-d", f"@{attack.folder}/body", f"http://127.0.0.1:{stage.home.port}{path}",
    )  # fmt: skip
    answer = attack.folder / "answer"
    until(answer.exists, lambda: left(attack.folder))
    until(lambda: not left(attack.folder), lambda: left(attack.folder))
    assert json.loads(answer.read_text())
    assert status(stage, attack.nonce) == "pending"


@pytest.mark.thorough
@pytest.mark.skipif(NO_BROWSER, reason="Chromium is missing")
def test_a_browser_that_an_agent_starts(stage: Stage, attack: Attack) -> None:
    agent_runs(stage, attack, *attack.python("browse.py"))
    refused(stage, attack, OF_AN_AGENT)


@pytest.fixture
def tmux(attack: Attack) -> Iterator[list[str]]:
    """A server of the person's, with a shell that waits."""
    command = [program("tmux"), "-S", str(attack.folder / "tmux"), "-f", "/dev/null"]
    subprocess.run([*command, "new-session", "-d", "-s", "mine", "sh"], check=True)
    yield command
    subprocess.run([*command, "kill-server"], check=True)


def test_a_persons_tmux(stage: Stage, attack: Attack, tmux: list[str]) -> None:
    agent_runs(stage, attack, *tmux, "send-keys", "-t", "mine", shlex.join(attack.python()), "Enter")
    refused(stage, attack, NOT_TOLD)


@pytest.mark.thorough
def test_ssh_to_this_machine(stage: Stage, attack: Attack) -> None:
    """Without the environment that the login gives, and at another port than the usual one."""
    program("sshd")
    with login_service.sshd(attack.folder / "ssh", free_port()) as login:
        agent_runs(stage, attack, *login, f"exec env -i {shlex.join(attack.python())}")
        refused(stage, attack, NOT_TOLD)


def test_a_forwarder_over_ssh_to_this_machine(stage: Stage, attack: Attack) -> None:
    """The connection is held by the login service."""
    program("sshd")
    port = free_port()
    with login_service.sshd(attack.folder / "ssh", free_port()) as login:
        forwards = [*login[:-1], "-L", f"127.0.0.1:{port}:127.0.0.1:{stage.home.port}", login[-1]]
        agent_runs(stage, attack, *forwards, shlex.join(attack.python(port=port)))
        refused(stage, attack, NOT_TOLD)


@pytest.mark.thorough
def test_at(stage: Stage, attack: Attack) -> None:
    if os.getuid() != 0:
        pytest.skip("only root may start atd")
    with subprocess.Popen([program("atd"), "-f"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as atd:
        try:
            agent_runs(stage, attack, "sh", "-c", f"echo {shlex.quote(shlex.join(attack.python()))} | at now")
            refused(stage, attack, REFUSALS)
        finally:
            atd.kill()


@pytest.mark.thorough
@pytest.mark.skipif(user_manager.MISSING, reason="no service manager for users can be started here")
def test_systemd_run(stage: Stage, attack: Attack) -> None:
    with user_manager.running(attack.folder / "runtime") as runtime:
        if runtime is None:
            pytest.skip("the service manager for users does not start here")
        agent_runs(
            stage, attack, "env", f"XDG_RUNTIME_DIR={runtime}", "systemd-run", "--user", "--", *attack.python()
        )  # fmt: skip
        refused(stage, attack, NOT_TOLD)


@pytest.mark.thorough
@pytest.mark.skipif(NO_BROWSER, reason="Chromium is missing")
def test_the_gateways_own_browser_tool(shared: Shared) -> None:
    """The agent opens the gateway's web chat in it and types there what a person would: it may not type the command, and if
    it types it key by key, that does not count."""
    stage = shared.under(host=browsing_agent.HOST, alwaysBlock=["write"], approval={"wake": False})
    entry = held(stage, "typed-in-a-browser.txt")
    page = f"http://127.0.0.1:{stage.home.port}/chat?session={entry.session}#token={stage.home.token}"
    said = f"/toolguard approve {entry.nonce}"
    try:
        whole = stage.play(browsing_agent.Typist(page, said), "agent:main:browsing")
        assert any("Only a person may send the guard's chat commands" in text for text in whole.results)
        typed = stage.play(browsing_agent.Typist(page, said[2:], before=said[:2]), "agent:main:browsing-again")
        until(lambda: refusals(stage, entry.nonce), lambda: "\n".join(typed.results))
    finally:
        stage.play(once(call("browser", {"action": "stop"})), "agent:main:browsing")
    assert refusals(stage, entry.nonce) == OF_AN_AGENT
    assert status(stage, entry.nonce) == "pending"


@pytest.mark.thorough
def test_a_second_gateway(stage: Stage, attack: Attack, real: downloads.Runtime) -> None:
    """With a home, a port and settings of its own, and nothing in its environment that tells whose it is."""
    plugin = attack.plugin()
    loaded = {"load": {"paths": [str(plugin)]}, "entries": {plugin.name: {"enabled": True}}}
    with Home(stage.server.base_url, plugins=loaded) as second:
        environment = [f"{name}={value}" for name, value in second.environment.items()]
        agent_runs(stage, attack, "env", "-i", *environment, *real.command("gateway", "run"), waits=False)
        try:
            refused(stage, attack, REFUSALS)
        finally:
            attack.end()


ROUTES: dict[str, Callable[[Operator, str], object]] = {
    "a turn of an agent": lambda person, text: person.call(
        "agent", {"message": text, "sessionKey": "agent:main:room", "idempotencyKey": str(uuid.uuid4())}
    ),
    "a scheduled task": lambda person, text: person.call(
        "cron.run",
        {
            "id": person.call(
                "cron.add",
                {
                    "name": "task", "enabled": True, "schedule": {"kind": "every", "everyMs": 10**9},
                    "sessionTarget": "isolated", "wakeMode": "now", "payload": {"kind": "agentTurn", "message": text},
                },
            )["id"],
            "mode": "force",
        },
    ),
}  # fmt: skip


@pytest.mark.parametrize("route", sampled(ROUTES, {"a turn of an agent"}))
def test_what_goes_to_the_model_is_no_command(stage: Stage, attack: Attack, route: str) -> None:
    """Not even where a person sends it, who could approve."""
    marker = f"({uuid.uuid4()})"
    stage.server.play(once(closing="Read."), marker)
    with Operator(stage.home, OWNER) as person:
        ROUTES[route](person, f"/toolguard approve {attack.nonce} {marker}")
        until(lambda: stage.server.requests, stage.gateway.tail)
    assert attack.nonce in "".join(stage.server.requests[-1].texts("user"))
    assert status(stage, attack.nonce) == "pending"
