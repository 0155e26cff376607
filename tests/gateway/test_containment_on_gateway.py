"""Commands of a real gateway run in the room of the kernel's, as a user without privileges."""

from __future__ import annotations

import json
import os
import secrets
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import unprivileged
from effort import examples
from gateway_stage import NEW_HOST, Played, Stage, audit, configure, counting, nonces, once, put_in, waiting
from shared_gateway import QUIET
from toolguard_cli.rig import downloads, scripted_model
from toolguard_cli.rig.private_home import Home, over
from toolguard_cli.rig.real_gateway import Gateway, local_turn
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.stores import open as stores

MISSING = unprivileged.missing()
pytestmark = [
    pytest.mark.skipif(not NEW_HOST, reason="older releases have no way in"),
    pytest.mark.skipif(bool(MISSING), reason=f"no gateway can be contained here: {MISSING}"),
]

THIEF = """\
import pathlib
lines = bytes(each ^ 21 for each in pathlib.Path("notes.dat").read_bytes()).decode().splitlines()
for line in lines:
    what, _, name = line.partition(" ")
    try:
        path = pathlib.Path.home() / name
        print("DONE", what, len(path.read_bytes()) if what == "r" else path.write_text("x"))
    except OSError as error:
        print("REFUSED", what, error.errno)
"""
"""What it reads and writes is found out only by running it."""

CAREFUL = "careful"
"""The agent whose unknown commands are rehearsed."""
REPORT = "a report"
JOB = """\
import os, time
lines = bytes(each ^ 21 for each in open({data!r}, "rb").read()).decode().splitlines()
for line in lines:
    verb, *words = line.split(" ")
    print("doing", verb, flush=True)
    getattr(time if verb == "sleep" else os, verb)(*[float(each) if verb == "sleep" else each for each in words])
"""

CALLER = """\
import json, pathlib, urllib.error, urllib.request
port, name = bytes(each ^ 21 for each in pathlib.Path("chat.dat").read_bytes()).decode().split("|")
try:
    token = json.loads((pathlib.Path.home() / name).read_text())["gateway"]["auth"]["token"]
except OSError as error:
    token = ""
    print("NO TOKEN", error.errno)
request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/models", headers={"authorization": f"Bearer {token}"})
try:
    print("ANSWER", urllib.request.urlopen(request, timeout=60).status)
except urllib.error.HTTPError as error:
    print("ANSWER", error.code)
"""
"""Speaks to the gateway as its owner does, who approves calls in chat."""

WANTED = (
    "r .openclaw/toolguard/key\nr .openclaw/openclaw.json\nw .openclaw/toolguard/kill-switch\nw .openclaw/openclaw.json\n"
)


def three_agents(home: Home) -> None:
    """They work in one folder."""
    workspace = {"workspace": str(home.workspace_dir)}
    main = {"default": True, "subagents": {"allowAgents": ["main", "tight"]}, **workspace}
    entries = {"main": main, "tight": workspace, CAREFUL: workspace}
    config = over(json.loads(home.config_path.read_text()), {"agents": {"entries": entries}})
    home.config_path.write_text(json.dumps(config))


class OfPerson(Home):
    """The home of a person whose shell is bash."""

    @property
    def environment(self) -> dict[str, str]:
        return {**super().environment, "SHELL": "/bin/bash"}


@pytest.fixture(scope="module")
def contained(real: downloads.Runtime, server: scripted_model.ScriptedModel) -> Iterator[Stage]:
    with OfPerson(server.base_url, extra=QUIET) as home:
        put_in(home)
        three_agents(home)
        agents = {"tight": {"containment": {"profile": "workspace"}}, CAREFUL: {"containment": {"unknown": "rehearse"}}}
        configure(home, agents=agents, approval={"wake": False})
        steal(home)
        (home.root / "Documents").mkdir()
        (home.root / "Documents/report.txt").write_text(REPORT)
        runtime = unprivileged.Unprivileged(real, home)
        runtime.own()
        with Gateway(runtime, home) as gateway:
            yield Stage(gateway, server)
        runtime.tidy()


def steal(home: Home) -> None:
    (home.workspace_dir / "thief.py").write_text(THIEF)
    (home.workspace_dir / "notes.dat").write_bytes(bytes(each ^ 21 for each in WANTED.encode()))


def run(stage: Stage, command: str, **more: Any) -> str:
    """The result of one command, as the model sees it."""
    return played(stage, scripted_model.call("exec", {"command": command, **more})).results[-1]


def job(stage: Stage, name: str, *lines: str) -> str:
    """The command that runs a script which finds what it does in data."""
    folder = stage.home.workspace_dir
    data = folder / f"{name}.dat"
    data.write_bytes(bytes(each ^ 21 for each in "\n".join(lines).encode()))
    (folder / f"{name}.py").write_text(JOB.format(data=data.name))
    return f"cd {folder} && python3 {name}.py"


def careful(stage: Stage, session: str, *calls: scripted_model.Reply) -> list[str]:
    return stage.play(once(*calls), f"agent:{CAREFUL}:{session}").results[-len(calls) :]


def played(stage: Stage, *replies: scripted_model.Reply) -> Played:
    done = stage.play(once(*replies))
    assert done.results, done.turn.output
    return done


def room(stage: Stage) -> str:
    """The user namespace of the gateway, which no command may be in."""
    return namespace(engine(stage).pid)


def engine(stage: Stage) -> Any:
    (info,) = stores.engines(stage.home.state_dir).running()
    return info


Wait = Callable[[Callable[[], bool]], None]
WHERE = "readlink /proc/self/ns/user"
HOW = f"""{WHERE}; awk '$5 == "/" {{ print substr($6, 1, 2) }}' /proc/self/mountinfo"""
"""Which room this is, and whether all of the machine is read-only in it."""


def test_an_opaque_program_neither_reads_the_key_nor_writes_the_kill_switch(contained: Stage) -> None:
    run(contained, "true")
    assert (contained.home.state_dir / "toolguard" / "key").read_bytes()
    result = run(contained, "python3 thief.py")
    assert result.count("REFUSED") == 4, result
    assert not (contained.home.state_dir / "toolguard" / "kill-switch").exists()


def test_a_command_is_what_it_would_be_outside(contained: Stage) -> None:
    text = 'echo "shell=$0 $SHELL"; env | grep -ci room; pwd; umask; echo "a b" \'c\' | tr a-c x; exit 3'
    result = run(contained, text)
    workspace = contained.home.workspace_dir
    assert result.splitlines()[:1] == ["shell=/bin/bash /bin/bash"], result
    assert result.splitlines()[1:3] == ["0", str(workspace)], result
    assert "exited with code 3" in result
    assert [call.arguments["command"] for call in calls_of(contained)] == [text]


def calls_of(stage: Stage) -> list[scripted_model.ToolCall]:
    """Of the last conversation, as its history has them."""
    return [call for message in stage.server.requests[-1].messages for call in made(message)]


def made(message: dict[str, Any]) -> list[scripted_model.ToolCall]:
    calls = [each["function"] for each in message.get("tool_calls") or ()]
    return [scripted_model.ToolCall(each["name"], json.loads(each["arguments"])) for each in calls]


@pytest.mark.parametrize(
    "named",
    [{"TOOLGUARD_ROOM": ""}, {"TOOLGUARD_ROOM": "x", " TOOLGUARD_ROOM": "", "TOOLGUARD_ROOMS ": ",main=1,", "A": "b"}],
)
def test_a_model_names_no_room(contained: Stage, named: dict[str, str]) -> None:
    result = run(contained, f"{WHERE}; echo A=$A", env=named)
    assert result.startswith("user:["), result
    assert room(contained) not in result
    assert f"A={named.get('A', '')}" in result


def test_ways_to_run_a_command(contained: Stage) -> None:
    """In the background, in a terminal, in parallel; ended by a time limit, by a signal, and by `process`."""
    results = played(
        contained,
        scripted_model.Reply(calls=tuple(
            scripted_model.ToolCall("exec", {"command": f"{WHERE}; sleep 0.2; echo {number}"}) for number in (1, 2, 3)
        )),
        scripted_model.call("exec", {"command": f"tty && stty size && {WHERE}", "pty": True}),
        scripted_model.call("exec", {"command": f"{WHERE}; sleep 100", "timeoutSeconds": 2}),
        scripted_model.call("exec", {"command": f"{WHERE}; kill -TERM $$"}),
        scripted_model.call("exec", {"command": f"{WHERE}; sleep 0.5; exit 7", "background": True}),
    ).results  # fmt: skip
    *parallel, terminal, limited, ended, background = results
    assert [text.split()[-1] for text in parallel] == ["1", "2", "3"]
    assert "/dev/pts/" in terminal
    assert "timed out" in limited.lower() or "timeout" in limited.lower(), limited
    assert "SIGTERM" in ended or "signal" in ended, ended
    assert "exec" in background or "running" in background.lower(), background
    inside = {line for text in (*parallel, terminal, limited, ended) for line in text.split() if line.startswith("user:[")}
    assert len(inside) == 1, inside
    assert inside != {room(contained)}


def test_agents_have_rooms_of_their_profiles(contained: Stage) -> None:
    loose, tight = (
        contained.play(once(scripted_model.call("exec", {"command": HOW})), agent=agent).results[-1].split()
        for agent in ("main", "tight")
    )
    assert (loose[1:], tight[1:]) == (["rw"], ["ro"])
    assert len({room(contained), loose[0], tight[0]}) == 3


@pytest.mark.parametrize(("agent", "mode"), [pytest.param("main", "rw", marks=pytest.mark.thorough), ("tight", "ro")])
def test_subagents_are_in_the_room_of_their_agent(contained: Stage, wait: Wait, agent: str, mode: str) -> None:
    task, marker = f"work for {secrets.token_hex(4)}", secrets.token_hex(8)
    spawn = {"id": "sessions_spawn", "args": {"task": f"{task} {marker}", "agentId": agent}}
    found: list[str] = []

    def script(request: scripted_model.Request) -> scripted_model.Reply:
        if not any(text.count(task) and "begin" not in text for text in request.texts("user")[:1]):
            first = request.tools and not request.texts("tool")
            return scripted_model.call("tool_call", spawn) if first else scripted_model.Reply("Done.")
        found.extend(request.texts("tool"))
        return scripted_model.Reply("Done.") if found else scripted_model.call("exec", {"command": HOW})

    contained.server.play(script, marker)
    contained.gateway.turn(f"begin {marker}", f"agent:main:spawn-{task[-8:]}")
    started = [text for request in contained.server.requests for text in request.texts("tool") if "sessions_spawn" in text]
    assert "accepted" in started[0]
    wait(lambda: bool(found))
    where, root = found[0].split()
    assert (where != room(contained), root) == (True, mode)
    children = [event for event in audit(contained.home) if f"agent:{agent}:subagent:" in event.get("session", "")]
    assert not [event for event in children if event["event"] in ("block", "hold")]


def test_a_program_cannot_speak_to_the_gateway_as_its_owner(contained: Stage) -> None:
    """Where the guard does not see that an approval comes from a program, it has no token to send one with."""
    workspace, config = contained.home.workspace_dir, contained.home.config_path.relative_to(contained.home.root)
    (workspace / "caller.py").write_text(CALLER)
    (workspace / "chat.dat").write_bytes(bytes(each ^ 21 for each in f"{contained.home.port}|{config}".encode()))
    outside = subprocess.run(
        [sys.executable, "caller.py"], cwd=workspace, env={"HOME": str(contained.home.root)}, capture_output=True, text=True,
        check=False,
    )  # fmt: skip
    assert outside.stdout == "ANSWER 200\n", outside.stderr
    assert run(contained, "python3 caller.py").splitlines()[:2] == ["NO TOKEN 2", "ANSWER 401"]


def test_other_ways_to_call_exec(contained: Stage) -> None:
    """By Tool Search, and asking for more rights than the agent has."""
    searched = scripted_model.call("tool_call", {"id": "exec", "args": {"command": WHERE}})
    elevated = scripted_model.call("exec", {"command": WHERE, "elevated": True})
    results = played(contained, searched, elevated).results
    assert "user:[" in results[0], results
    assert room(contained) not in "".join(results), results


def test_nothing_runs_outside_when_something_is_killed(contained: Stage, wait) -> None:
    """At each request, its keeper or the engine: each command is in its room with all that it hides, or does not run."""
    seen = contained.home.workspace_dir / "seen"
    text = f"{{ {WHERE}; python3 thief.py; }} >> seen"
    contained.server.on_request = lambda request: kill_soon(contained, request.index)
    try:
        contained.play(
            counting(lambda number: scripted_model.call("exec", {"command": f": {number}; {text}"}), most=examples(100))
        )
    finally:
        contained.server.on_request = None
    wait(lambda: len(stores.engines(contained.home.state_dir).running()) == 1)
    assert run(contained, WHERE).startswith("user:[")
    lines = seen.read_text().splitlines()
    seen.unlink()
    assert lines
    assert room(contained) not in lines
    assert not [line for line in lines if line.startswith("DONE")]


def kill_soon(stage: Stage, number: int) -> None:
    """Kills the keepers, or the engine, some milliseconds after a request, while its command enters."""
    running = [info.pid for info in stores.engines(stage.home.state_dir).running()]
    victims = running if number % 2 else [pid for each in running for pid in children_of(each)]

    def kill() -> None:
        for pid in victims:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    threading.Timer(number % 20 / 400, kill).start()


def test_a_room_that_is_gone_is_made_again(contained: Stage) -> None:
    keeper = keeper_of(contained, run(contained, WHERE).strip())
    os.kill(keeper, signal.SIGKILL)
    again = run(contained, WHERE).strip()
    assert again != room(contained)
    assert keeper_of(contained, again) != keeper


def keeper_of(stage: Stage, where: str) -> int:
    """The child of the engine that holds this namespace."""
    (found,) = [pid for pid in children(stage) if namespace(pid) == where]
    return found


def children(stage: Stage) -> list[int]:
    """Of the engine."""
    return children_of(engine(stage).pid)


def children_of(pid: int) -> list[int]:
    try:
        return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def namespace(pid: int) -> str:
    """Empty if the process has ended."""
    try:
        return str(Path(f"/proc/{pid}/ns/user").readlink())
    except OSError:
        return ""


def test_the_guard_says_that_commands_are_contained(contained: Stage) -> None:
    assert engine(contained).contained
    assert engine(contained).seams["commandShell"] == "works"
    assert "security.uncontained" not in {event["code"] for event in audit(contained.home)}


def test_what_the_room_keeps_from_a_command_runs_there_without_a_question(contained: Stage) -> None:
    """By its text each of these is blocked or held: it reads, finds or writes what the guard keeps."""
    run(contained, "true")
    key = contained.home.state_dir / "toolguard" / "key"
    secret, before = key.read_text(errors="replace"), {event["id"] for event in audit(contained.home)}
    commands = (f"cat {key}; echo ran", "find ~ -name key -exec cat {} +; echo ran", f"echo x > {key}; echo ran")
    results = [run(contained, command) for command in commands]
    assert all("ran" in each and "[TOOLGUARD NOTE] This ran where" in each for each in results), results
    assert not any(secret.strip() in result for result in results)
    assert all("No such file" in results[at] for at in (0, 2)), results
    assert key.read_text(errors="replace") == secret
    codes = [event["code"] for event in audit(contained.home) if event["id"] not in before and event["event"] == "note"]
    assert codes == ["containment.kept"] * 3
    assert [call.arguments for call in calls_of(contained)] == [{"command": commands[-1]}]


def test_a_rehearsed_command_is_held_shown_approved_and_done_once(contained: Stage) -> None:
    report = contained.home.root / "Documents/report.txt"
    command = job(contained, "tidy", f"remove {report}", "mkdir made-by-tidy")
    call, session = scripted_model.call("exec", {"command": command}), "tidy"
    (first,) = careful(contained, session, call)
    assert "doing remove" in first, first
    assert "deletes ~/Documents/report.txt" in first, first
    assert "exited with code 125" in first, first
    (again,) = careful(contained, session, call)
    (entry,) = [each for each in waiting(contained.home) if each.agent == CAREFUL]
    assert entry.nonce in again
    assert entry.code == "containment.rehearsed"
    assert "deletes ~/Documents/report.txt" in entry.reason
    assert report.read_text() == REPORT
    nonces(contained.home).approve(entry.nonce, Decision("ann", "cli"), time.time(), 3_600)
    (done,) = careful(contained, session, call)
    assert "approved changes" in done, done
    assert not report.exists()
    assert (contained.home.workspace_dir / "made-by-tidy").is_dir()
    events = [each["event"] for each in audit(contained.home) if each.get("nonce") == entry.nonce]
    assert [each for each in events if each in ("hold", "consume")] == ["hold", "consume"]
    report.write_text(REPORT)
    (contained.home.workspace_dir / "made-by-tidy").rmdir()
    (anew,) = careful(contained, session, call)
    assert "nothing has changed yet" in anew, anew
    assert report.exists()


def test_ways_to_rehearse_a_command(contained: Stage, wait: Wait) -> None:
    """What is harmless is done without a question: in the background, in a terminal; and nothing of what is ended early."""
    workspace = contained.home.workspace_dir
    results = careful(
        contained, "ways",
        scripted_model.call("exec", {"command": job(contained, "plain", "mkdir a-plain")}),
        scripted_model.call("exec", {"command": job(contained, "pty", "mkdir a-pty") + " && tty", "pty": True}),
        scripted_model.call("exec", {"command": job(contained, "late", "mkdir a-late", "sleep 60"), "timeoutSeconds": 4}),
        scripted_model.call("exec", {"command": job(contained, "back", "sleep 0.1", "mkdir a-back"), "background": True}),
    )  # fmt: skip
    plain, terminal, late, _ = results
    assert "doing mkdir" in plain, plain
    assert "/dev/pts/" in terminal, terminal
    assert "timed out" in late.lower() or "timeout" in late.lower(), late
    wait((workspace / "a-back").is_dir)
    assert (workspace / "a-plain").is_dir()
    assert (workspace / "a-pty").is_dir()
    assert not (workspace / "a-late").exists()


@pytest.mark.thorough
def test_embedded_runs(real: downloads.Runtime, server: scripted_model.ScriptedModel) -> None:
    with OfPerson(server.base_url, extra=QUIET) as home:
        put_in(home)
        steal(home)
        runtime = unprivileged.Unprivileged(real, home)
        runtime.own()
        replies = [scripted_model.call("exec", {"command": each}) for each in (WHERE, "python3 thief.py")]
        # The gateway of the tests before may still ask the same model about a command in the background.
        marker = secrets.token_hex(8)
        server.play(once(*replies), marker)
        turn = local_turn(runtime, home, f"go {marker}")
        runtime.tidy()
        where, stolen = server.requests[-1].texts("tool")
        assert where.startswith("user:["), turn.output
        assert namespace(os.getpid()) not in where
        assert stolen.count("REFUSED") == 4, stolen
