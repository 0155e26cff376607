"""The real process over real pipes: whatever comes in, it answers, and it ends when its input ends."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import random
import select
import subprocess
import sys
import time
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.stores import engines
from toolguard_engine.stores.accepted import AcceptedSettings
from toolguard_engine.stores.accepted import mark as accepted_mark
from toolguard_engine.stores.audit import AuditLog, Verification
from toolguard_engine.stores.lastgood import LastGood

PATIENCE = 120
"""Seconds until a process that should have ended is killed and the test fails. No test waits for it to pass."""
RUNS = itertools.count()
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "malformed_calls.jsonl"


class Talk:
    """One engine process and its two pipes."""

    def __init__(self, home: Path) -> None:
        environment = {**os.environ, "HOME": str(home), "PYTHONDEVMODE": "0"}
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-m", "toolguard_engine"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        )
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.into, self.out = self.process.stdin, self.process.stdout

    def raw(self, data: bytes) -> None:
        self.into.write(data)
        self.into.flush()

    def send(self, **message: Any) -> None:
        self.raw(json.dumps(message).encode() + b"\n")

    def read(self) -> Any:
        line = self.out.readline()
        assert line.endswith(b"\n"), self.process.stderr.read() if self.process.stderr else b""
        return json.loads(line)

    def ask(self, **message: Any) -> Any:
        self.send(**message)
        return self.read()

    def hello(self, state: Path, config: Any = None) -> Any:
        return self.ask(
            id=0, type="hello", v=1, stateDir=str(state), config=config, gateway="gw", gatewayPid=5, host="2026.9.6"
        )

    def failed(self, question: int = 1, **more: Any) -> Any:
        text = 'Validation failed for tool "read":\n  - path: must have required properties path\n\nReceived arguments:\n{}'
        return self.ask(**{"id": question, "type": "failed", "tool": "read", "params": {}, "text": text, "run": "r", **more})

    def assert_alive(self) -> None:
        assert self.ask(id=99, type="ping") == {"type": "pong", "id": 99}

    def end(self) -> tuple[int, list[Any], str]:
        """Closes the input. The exit code, what was still said, and what it complained about."""
        with contextlib.suppress(BrokenPipeError):
            self.into.close()
        self.process.stdin = None
        out, err = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, [json.loads(line) for line in out.splitlines()], err.decode()


@pytest.fixture
def talk(tmp_path: Path) -> Iterator[Talk]:
    home = tmp_path / "home"
    home.mkdir()
    engine = Talk(home)
    try:
        yield engine
        assert engine.process.returncode is not None or engine.end() == (0, [], "")
    finally:
        if engine.process.poll() is None:
            engine.process.kill()
            engine.process.communicate()


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


def test_it_answers_and_ends_with_its_input(talk: Talk, state: Path) -> None:
    ready = talk.hello(state)
    assert ready == {"type": "ready", "id": 0, "v": 1, "pid": talk.process.pid, "version": "0.1.0", "configError": ""}
    assert talk.failed() == {
        "type": "corrected",
        "id": 1,
        "text": "[TOOL ERROR] read() requires 'path'. Correct usage: read({ path: \"path/to/file\" }). "
        "You sent: read({}). Fix your call and retry.",
        "watch": True,
    }
    assert talk.end() == (0, [], "")


def test_it_ends_where_nothing_was_said(talk: Talk) -> None:
    assert talk.end() == (0, [], "")


def test_it_ends_in_the_middle_of_a_line(talk: Talk) -> None:
    talk.raw(b'{"id":1,"type":"pi')
    assert talk.end() == (0, [], "")


def test_it_ends_where_nobody_reads(talk: Talk, state: Path) -> None:
    talk.hello(state)
    talk.out.close()
    talk.send(id=1, type="ping")
    talk.into.close()
    assert talk.process.wait(PATIENCE) == 0
    assert talk.process.stderr is not None
    assert talk.process.stderr.read() == b""
    talk.process.stderr.close()


def test_files_after_the_end(talk: Talk, state: Path) -> None:
    talk.hello(state)
    talk.failed(agent="main", session="s", call="call_1", model="m")
    talk.send(type="seams", seams={"inPlace": "works"}, notes=["n"])
    talk.assert_alive()
    assert talk.end() == (0, [], "")
    log, last = state / "tool-guard.log", state / "toolguard" / "last-engine.json"
    line = json.loads(log.read_text())
    assert line.pop("time").endswith("Z")
    assert line == {
        "gateway": "gw",
        "agent": "main",
        "session": "s",
        "run": "r",
        "provider": "openai-compatible",
        "model": "m",
        "tool": "read",
        "callId": "call_1",
        "arguments": {},
        "error": "validation",
        "problems": ["path: is missing"],
        "action": "corrected",
    }
    told = json.loads(last.read_text())
    assert isinstance(told.pop("started"), float)
    assert told == {
        "pid": talk.process.pid,
        "gatewayPid": 5,
        "gateway": "gw",
        "host": "2026.9.6",
        "version": "0.1.0",
        "plugin": "",
        "mode": "enforce",
        "logPath": str(log),
        "configError": "",
        "logError": "",
        "judged": 0,
        "corrected": 1,
        "loops": 0,
        "stopped": 0,
        "held": 0,
        "blocked": 0,
        "approved": 0,
        "repeated": 0,
        "seams": {"inPlace": "works"},
        "namespaces": engines.namespaces(),
    }
    assert [path.stat().st_mode & 0o777 for path in (log, last)] == [0o600, 0o600]
    assert list((state / "toolguard" / "engines").iterdir()) == []


BAD_LINES: list[tuple[str, bytes, int | None, str]] = [
    ("utf-8", b'{"id":7,"type":"judge","tool":"\xff\xfe"}', 7, "can't decode"),
    ("bytes", b"\xff\xfe\xfd", None, "malformed"),
    ("nul", b'{"id":7,"type":"judge","tool":"a\0b"}', 7, "malformed"),
    ("nuls", b"\0\0\0", None, "malformed"),
    ("unknown-type", b'{"id":7,"type":"dance"}', 7, "Invalid value 'dance'"),
    ("no-type", b'{"id":7}', 7, "missing required field `type`"),
    ("wrong-type", b'{"id":7,"type":"judge","tool":5}', 7, "Expected `str`, got `int` - at `$.tool`"),
    ("wrong-params", b'{"id":7,"type":"message","calls":{}}', 7, "Expected `array`, got `object` - at `$.calls`"),
    ("list", b"[1,2]", None, "Expected `object`, got `array`"),
    ("brackets", b'{"id":7,"type":"judge","tool":"x","params":' + b"[" * 100_000 + b"]" * 100_000 + b"}", 7, "recursion"),
    ("bare-brackets", b"[" * 100_000, None, "Expected `object`"),
    (
        "10-megabytes",
        b'{"id":7,"type":"judge","tool":"x","params":"' + b"a" * 10_000_000 + b'"}',
        7,
        "more than 8388608 bytes",
    ),
    ("10-megabytes-no-id", b"a" * 10_000_000, None, "more than 8388608 bytes"),
    ("long-number", b'{"id":7,"type":"judge","tool":"x","params":' + b"9" * 10_000 + b"}", 7, "out of range"),
]


@pytest.mark.parametrize(("line", "question", "reason"), [row[1:] for row in BAD_LINES], ids=[row[0] for row in BAD_LINES])
def test_a_bad_line_is_answered_with_an_error(talk: Talk, line: bytes, question: int | None, reason: str) -> None:
    talk.raw(line + b"\n")
    answer = talk.read()
    assert (answer["type"], answer["id"]) == ("error", question)
    assert reason in answer["error"]
    assert len(answer["error"]) <= 300
    talk.assert_alive()


def test_half_lines_and_empty_lines(talk: Talk) -> None:
    for part in (b"\n \n", b'{"id":1,', b'"type":', b'"ping"}\n{"id":2,"type":"ping"}\n{"id"', b':3,"type":"ping"}\n'):
        talk.raw(part)
    assert [talk.read() for _ in range(3)] == [{"type": "pong", "id": number} for number in (1, 2, 3)]


def test_half_an_emoji_is_judged(talk: Talk) -> None:
    talk.raw(b'{"id":1,"type":"judge","tool":"write","params":{"content":"\\ud83d"}}\n')
    assert talk.read() == {"type": "verdict", "id": 1, "decision": "allow", "code": "allow", "outcome": "tell"}


def test_200_lines_of_garbage(talk: Talk) -> None:
    chance = random.Random(20260906)  # noqa: S311 - repeatable, not secret
    alphabet = b'{}[]":,\\ 0123456789eE+-.truefalsnidyp\x00\xff\xc3\xed'
    heads = [b"", b'{"id":1,"type":"judge",', b'{"id":2,"type":"failed","tool":"read","text":', b'{"type":"seams","seams":{']
    for _ in range(200):
        body = bytes(chance.choice(alphabet) for _ in range(chance.randrange(200)))
        talk.raw(chance.choice(heads) + body + b"\n")
    talk.send(id=99, type="ping")
    answers: list[Any] = []
    while not answers or answers[-1] != {"type": "pong", "id": 99}:
        answers.append(talk.read())
    assert {answer["type"] for answer in answers[:-1]} == {"error"}
    assert talk.end() == (0, [], "")


def test_deep_params_are_answered_at_every_depth(talk: Talk) -> None:
    """Near the limit of recursion a call may be read and not written: that too is an answer."""
    for depth in range(900, 1_010, 3):
        text = 'Validation failed for tool "read":\\n  - path: must be string'
        talk.raw(
            b'{"id":1,"type":"failed","tool":"read","text":"%s","run":"r%d","params":%s%s}\n'
            % (text.encode(), depth, b"[" * depth, b"]" * depth)
        )
        answer = talk.read()
        while answer["type"] == "log":
            answer = talk.read()
        assert answer["id"] == 1
    talk.assert_alive()


@pytest.mark.parametrize(
    ("log_path", "reason"),
    [("{blocked}/a.log", "File exists"), ("a\0b", "null byte")],
    ids=["below-a-file", "nul"],
)
def test_an_unwritable_log_is_told_once(talk: Talk, state: Path, log_path: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    talk.hello(state, {"logPath": log_path.replace("{blocked}", str(tmp_path / "file"))})
    assert talk.failed(1)["type"] == "corrected"
    log = talk.read()
    assert (log["type"], log["level"]) == ("log", "warn")
    assert reason in log["text"]
    assert log["text"].endswith("; malformed calls are not logged")
    assert talk.failed(2)["type"] == "corrected"
    talk.assert_alive()
    assert talk.end() == (0, [], "")
    assert reason in json.loads((state / "toolguard/last-engine.json").read_text())["logError"]


def test_a_home_of_nobody_does_not_end_it(talk: Talk, state: Path) -> None:
    assert talk.hello(state, {"logPath": "~nosuchuser/a.log"})["type"] == "ready"
    talk.failed()
    assert talk.end() == (0, [], "")
    assert (state / "~nosuchuser" / "a.log").exists()


@pytest.mark.parametrize("kind", ["file", "nul"])
def test_an_unusable_state_folder_is_told(talk: Talk, tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / ("file" if kind == "file" else "a\0b")
    assert talk.hello(place, {"logPath": str(tmp_path / "a.log")})["type"] == "ready"
    for words in ("whether settings became weaker is not known: ", "cannot write below "):
        said = talk.read()
        assert (said["type"], said["level"], said["text"][: len(words)]) == ("log", "warn", words)
    talk.assert_alive()
    assert talk.end() == (0, [], "")


def test_a_bad_config_is_named(talk: Talk, state: Path) -> None:
    ready = talk.hello(state, {"maxIdenticalFailures": 0})
    assert ready["configError"] == "plugins.entries.toolguard.config: Expected `int` >= 1 - at `$.maxIdenticalFailures`"
    assert talk.failed()["text"].startswith("[TOOL ERROR]")


def test_a_second_hello_takes_the_new_config(talk: Talk, state: Path) -> None:
    talk.hello(state, {"mode": "disabled"})
    assert talk.failed() == {"type": "corrected", "id": 1}
    talk.hello(state, {})
    assert talk.failed()["watch"] is True


def test_killed_engines_leave_a_last_word(talk: Talk, state: Path) -> None:
    place = state / "toolguard" / "engines"
    place.mkdir(parents=True)
    dead = place / f"{2**22 + 1}.json"
    dead.write_text("{}")
    talk.hello(state)
    talk.assert_alive()
    talk.end()
    assert list(place.iterdir()) == []


# --- calls that wait for a person ---------------------------------------------------------------------------------------

EXEC = {"tool": "exec", "params": {"command": "make all"}, "agent": "main", "session": "s", "run": "r"}
HELD = {"alwaysBlock": ["exec"]}


def audited(state: Path) -> list[tuple[str, str, str]]:
    """The audit log as event, code, run."""
    path = state / "toolguard" / "audit.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    return [(line["event"], line.get("code", ""), line.get("run", "")) for line in lines]


def nonce_of(answer: Any) -> str:
    assert answer["text"].startswith("TOOLGUARD_ESCALATE|"), answer
    return str(answer["text"].split("|")[1])


def elsewhere(state: Path, action: str, nonce: str) -> None:
    """Another process decides."""
    code = (
        "import sys, time; from pathlib import Path\n"
        "from toolguard_engine.ledger import Decision; from toolguard_engine.stores.nonces import FileNonces\n"
        "state, action, nonce = sys.argv[1:]\n"
        "getattr(FileNonces(Path(state)), action)(nonce, Decision('anna', 'cli'), time.time(), 30)\n"
    )
    subprocess.run([sys.executable, "-c", code, str(state), action, nonce], check=True, timeout=PATIENCE)


def test_a_held_call(talk: Talk, state: Path) -> None:
    talk.hello(state, HELD)
    first = talk.ask(id=1, type="judge", **EXEC)
    nonce = nonce_of(first)
    how = f"Approve with `toolguard approve {nonce}` in a terminal or `/toolguard approve {nonce}` in chat."
    assert first == {
        "type": "verdict",
        "id": 1,
        "decision": "hold",
        "code": "approval.pending",
        "text": f"TOOLGUARD_ESCALATE|{nonce}|The settings ask for a person's approval of every call of this tool "
        f'(alwaysBlock). Call: exec({{ command: "make all" }})\n{how} Tell the user so, and why you need it. '
        "Do not repeat the call before they have approved it.",
    }
    told = talk.ask(id=2, type="decide", action="approve", where="chat", nonce=nonce, by="anna")
    assert told == {
        "type": "told",
        "id": 2,
        "ok": True,
        "text": f"approved {nonce}: agent main may run exec once within 30 s",
    }
    used = talk.ask(id=3, type="judge", **EXEC)
    while used["type"] == "wake":
        used = talk.read()
    assert used == {
        "type": "verdict",
        "id": 3,
        "decision": "allow",
        "code": "approval.consumed",
        "pin": True,
        "outcome": "tell",
    }
    again = talk.ask(id=4, type="judge", **EXEC)
    assert nonce_of(again) != nonce
    assert talk.end() == (0, [], "")
    assert [event for event, _, _ in audited(state)] == ["hold", "approve", "consume", "hold"]


def test_an_approval_by_another_process_wakes_unasked(talk: Talk, state: Path) -> None:
    talk.hello(state, HELD)
    nonce = nonce_of(talk.ask(id=1, type="judge", **EXEC))
    elsewhere(state, "approve", nonce)
    assert select.select([talk.out], [], [], PATIENCE)[0], "nothing was said"
    woken = talk.read()
    text = woken.pop("text")
    assert woken == {"type": "wake", "nonce": nonce, "agent": "main", "session": "s"}
    assert text.startswith(
        f'[TOOLGUARD] The user approved the call that waited under {nonce}: exec({{ command: "make all" }})\n'
    )
    assert talk.end() == (0, [], "")


def test_a_denial_by_another_process_wakes_nobody(talk: Talk, state: Path) -> None:
    talk.hello(state, HELD)
    elsewhere(state, "deny", nonce_of(talk.ask(id=1, type="judge", **EXEC)))
    assert not select.select([talk.out], [], [], 0.6)[0]
    answer = talk.ask(id=2, type="judge", **EXEC)
    assert (answer["decision"], answer["code"]) == ("block", "approval.denied")


def test_the_audit_log_after_the_answers(talk: Talk, state: Path) -> None:
    talk.hello(state, HELD)
    talk.ask(id=1, type="judge", **EXEC)
    talk.ask(id=2, type="judge", **EXEC)
    talk.ask(id=3, type="judge", **{**EXEC, "run": "q", "params": {"command": "toolguard approve abcd"}})
    stopped = talk.ask(id=4, type="ran", **{**EXEC, "run": "p", "others": "evil (priority 0)"})
    assert stopped["stop"].startswith("TOOLGUARD_BLOCK|")
    reason = "ran instead of what was judged; approval.always-block; may have changed it: evil (priority 0)"
    assert talk.read() == {"type": "log", "level": "error", "text": f"SECURITY: exec {reason}"}
    talk.send(type="warned", text="x runs after the guard")
    talk.assert_alive()
    assert talk.end() == (0, [], "")
    assert audited(state) == [
        ("hold", "approval.always-block", "r"),
        ("hold-again", "approval.pending", "r"),
        ("block", "rule.self-protection", "q"),
        ("security", "security.rewritten", "p"),
        ("stop", "security.rewritten", "p"),
        ("security", "security.hook-order", ""),
    ]
    assert AuditLog(state).verify() == Verification(6)
    last = json.loads((state / "toolguard" / "last-engine.json").read_text())
    assert {name: last[name] for name in ("judged", "held", "blocked", "approved")} == {
        "judged": 3, "held": 2, "blocked": 1, "approved": 0,
    }  # fmt: skip


def test_ordinary_calls_leave_the_state_folder_alone(talk: Talk, state: Path) -> None:
    """There is what the engine says of itself, its key, the settings it began with, and how the agent stands. More calls in
    a minute would be drift."""
    talk.hello(state, HELD)
    for number in range(50):
        question = {"tool": "read", "params": {"path": f"{number}"}, "run": "r", "session": "s"}
        answer = talk.ask(id=number, type="judge", **question)
        assert answer == {"type": "verdict", "id": number, "decision": "allow", "code": "allow", "outcome": "tell"}
        talk.send(type="came", text="some text", **question)
    talk.assert_alive()
    assert set(files_but_standings(state)) == {f"toolguard/engines/{talk.process.pid}.json"}
    assert talk.end() == (0, [], "")
    assert set(files_but_standings(state)) == {"toolguard/last-engine.json"}


def files_but_standings(state: Path) -> list[str]:
    found = [str(path.relative_to(state)) for path in state.rglob("*") if path.is_file()]
    kept = ("toolguard/standings.db", "toolguard/accepted-settings.json", "toolguard/key")
    return [name for name in found if not name.startswith(kept)]


def test_trouble_with_the_store_is_told_in_the_gateways_log(talk: Talk, state: Path) -> None:
    (state / "toolguard").mkdir(parents=True)
    (state / "toolguard" / "nonces.json").write_text("{")
    talk.hello(state, HELD)
    told, said = [], []
    for number in (1, 2):
        talk.send(id=number, type="judge", **EXEC)
        while (answer := talk.read())["type"] == "log":
            said.append(answer["text"])
        told.append((answer["decision"], answer["code"]))
    assert told == [("block", "store.damaged")] * 2
    code, rest, complaints = talk.end()
    said += [log["text"] for log in rest]
    assert (code, complaints) == (0, "")
    assert len(said) == len(set(said))  # each once
    assert any("was damaged and is kept as nonces.json.corrupt-" in text for text in said)


# --- the corpus ---------------------------------------------------------------------------------------------------------

MATCHES: dict[str, Any] = {
    "string": lambda v: isinstance(v, str),
    "integer": lambda v: isinstance(v, int) and not isinstance(v, bool),
    "number": lambda v: isinstance(v, int | float) and not isinstance(v, bool),
    "boolean": lambda v: isinstance(v, bool),
    "array": lambda v: isinstance(v, list),
    "object": lambda v: isinstance(v, dict),
}


def host_lines(schema: dict[str, Any], params: dict[str, Any]) -> list[str]:
    """What the gateway would say of these params: the missing ones in one line, then one line for each wrong type."""
    lacking = [name for name in schema.get("required", []) if name not in params]
    lines = [f"{lacking[0]}: must have required properties {', '.join(lacking)}"] if lacking else []
    for name, value in params.items():
        kind = schema.get("properties", {}).get(name, {}).get("type")
        if isinstance(kind, str) and kind in MATCHES and not MATCHES[kind](value):
            lines.append(f"{name}: must be {kind}")
    return lines


def test_the_corrective_text_names_the_damaged_parameter(talk: Talk, state: Path) -> None:
    if not CORPUS.exists():
        pytest.skip(f"no corpus at {CORPUS}")
    rows = [json.loads(line) for line in CORPUS.read_text("utf-8").splitlines()]
    damaged = [row for row in rows if row["label"] != "valid" and isinstance(row["params"], dict) and row["field"]]
    assert damaged
    talk.hello(state)
    unnamed, silent = [], []
    for number, row in enumerate(damaged):
        lines = host_lines(row["schema"], row["params"])
        if not lines:
            silent.append(row["source"])
            continue
        listed = "\n".join(f"  - {line}" for line in lines)
        received = json.dumps(row["params"], indent=2)
        text = f'Validation failed for tool "{row["toolName"]}":\n{listed}\n\nReceived arguments:\n{received}'
        answer = talk.failed(number, tool=row["toolName"], params=row["params"], text=text, run=f"r{number}")
        complaint = answer.get("text", "").partition(" You sent: ")[0]
        if f"'{row['field']}'" not in complaint:
            unnamed.append((row["source"], row["kind"], complaint))
    assert (unnamed, silent) == ([], [])


def verdict(talk: Talk, command: str, logs: list[str]) -> Any:
    """The verdict on a command, in a run of its own; what the engine says meanwhile goes to `logs`."""
    run = f"r{next(RUNS)}"
    talk.send(id=7, type="judge", tool="exec", params={"command": command}, run=run, session="s")
    while (said := talk.read())["type"] == "log":
        logs.append(said["text"])
    return said


def test_own_rules_count_soon_after_they_are_written(talk: Talk, state: Path) -> None:
    logs: list[str] = []
    talk.hello(state, {})
    policy = state / "toolguard" / "policy.toml"
    assert verdict(talk, "deploy --now", logs)["decision"] == "allow"
    policy.write_text('[[rule]]\nid = "no-deploy"\nrun = ["deploy"]\nverdict = "block"\nreason = "Not on my watch."\n')
    limit = time.monotonic() + PATIENCE
    while (found := verdict(talk, "deploy --now", logs))["decision"] == "allow":
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert "Not on my watch." in found["text"]
    policy.write_text('[[rule]]\nid = "no-deploy"\nrun = ["deploy"\n')
    while not any("policy.toml, line 4" in text for text in logs):
        assert time.monotonic() < limit
        time.sleep(0.05)
        assert verdict(talk, "deploy --now", logs)["decision"] == "block"


def test_constraints_count_soon_after_they_are_written_whatever_is_wrong_with_a_rule(talk: Talk, state: Path) -> None:
    logs: list[str] = []
    talk.hello(state, {})
    policy = state / "toolguard" / "policy.toml"
    assert verdict(talk, "ls prod", logs)["decision"] == "allow"
    said = 'id = "no-prod"\nseverity = "mandatory"\nreason = "Not there."\nparams = { command = "prod" }\n'
    policy.write_text(f'[[rule]]\nid = "broken"\n[[constraint]]\n{said}')
    limit = time.monotonic() + PATIENCE
    while (found := verdict(talk, "ls prod", logs))["decision"] == "allow":
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert found["code"] == "constraint.no-prod"
    assert any("your own rules in policy.toml" in text for text in logs)
    policy.write_text(f'[[constraint]]\n{said}hour = "1"\n')
    while not any("your constraints in policy.toml" in text and "did you mean hours?" in text for text in logs):
        assert time.monotonic() < limit
        time.sleep(0.05)
        assert verdict(talk, "ls prod", logs)["decision"] == "block"


def test_an_engine_that_starts_with_a_faulty_policy_goes_by_the_last_good_one(talk: Talk, state: Path) -> None:
    logs: list[str] = []
    rule = '[[rule]]\nid = "no-deploy"\nrun = ["deploy"]\nverdict = "block"\nreason = "Not on my watch."\n'
    policy = state / "toolguard" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text(rule)
    LastGood(state).keep({"rule": tomllib.loads(rule)["rule"], "constraint": []})
    policy.write_text('[[rule]]\nid = "no-deploy"\nrun = ["deploy"\n')
    talk.hello(state, {})
    assert verdict(talk, "deploy --now", logs)["code"] == "rule.user.no-deploy"
    assert verdict(talk, "touch notes.txt", logs)["decision"] == "allow"
    assert len([text for text in logs if "the last good ones count" in text]) == 2


def test_where_no_good_policy_is_known_what_is_not_safe_is_held_until_it_is_mended(talk: Talk, state: Path) -> None:
    logs: list[str] = []
    policy = state / "toolguard" / "policy.toml"
    policy.parent.mkdir(parents=True)
    policy.write_text('[[rule]]\nid = "no-deploy"\nrun = 1\n')
    talk.hello(state, {})
    held = verdict(talk, "touch notes.txt", logs)
    assert (held["decision"], "Your own rules in policy.toml cannot be read" in held["text"]) == ("hold", True)
    entry = json.loads((state / "toolguard" / "nonces.json").read_text())["entries"][0]
    assert entry["code"] == "policy.unread"
    assert verdict(talk, "ls", logs)["decision"] == "allow"
    assert any("NONE of your own rules count" in text for text in logs)
    policy.write_text('[[rule]]\nid = "no-deploy"\nrun = ["deploy"]\nverdict = "block"\nreason = "Not on my watch."\n')
    limit = time.monotonic() + PATIENCE
    while verdict(talk, "deploy --now", logs)["code"] != "rule.user.no-deploy":
        assert time.monotonic() < limit
        time.sleep(0.05)
    assert verdict(talk, "touch notes.txt", logs)["decision"] == "allow"
    assert "no-deploy" in (state / "toolguard" / "policy.last-good.toml").read_text()


def test_rules_may_be_switched_off(talk: Talk, state: Path) -> None:
    logs: list[str] = []
    talk.hello(state, {"rulesOff": ["users", "nosuchrule"]})
    assert verdict(talk, "useradd -m guest", logs)["decision"] == "allow"
    assert verdict(talk, "rm -rf ~/x", logs)["decision"] == "hold"
    assert ["nosuchrule" in text for text in logs] == [True]


def test_the_kill_switch_counts_from_the_next_call_on(talk: Talk, tmp_path: Path) -> None:
    talk.hello(tmp_path)
    for turn, code in enumerate(["kill-switch.on", "allow"] * 5):
        nonce = "on" if code != "allow" else "off"
        assert talk.ask(id=1, type="decide", action="kill-switch", nonce=nonce, by="ann", where="chat")["ok"]
        assert talk.ask(id=2, type="judge", tool="read", params={"path": "a"}, run=f"r{turn}")["code"] == code


class Engines:
    """One engine after the other on the same state directory, as a gateway starts them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.state = folder / "state"
        self.state.mkdir()
        self.config = self.state / "openclaw.json"
        self.write("{plugins: {entries: {toolguard: {enabled: true}}}} // by hand")

    def write(self, text: str) -> None:
        self.config.write_text(text)

    def run(self, config: Any, *messages: dict[str, Any], **more: Any) -> list[Any]:
        """What an engine says from its first answer to its end."""
        talk = Talk(self.folder)
        hello = {"id": 0, "type": "hello", "v": 1, "stateDir": str(self.state), "configPath": str(self.config), **more}
        talk.send(**hello, config=config, gateway="gw")
        for message in messages:
            talk.send(**message)
        code, said, errors = talk.end()
        assert (code, errors) == (0, "")
        return said

    def warned(self, config: Any, *messages: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
        return [(each["level"], each["text"]) for each in self.run(config, *messages, **more) if each["type"] == "log"]

    @property
    def lines(self) -> list[tuple[str, str]]:
        return [(each["code"], each["reason"]) for each in AuditLog(self.state).events()]


ACCEPT = "If you meant it: toolguard config accept"
LEAVING = {"type": "leaving", "reason": "gateway stopping"}


@pytest.fixture
def engines_of(tmp_path: Path) -> Engines:
    return Engines(tmp_path)


def test_weaker_settings_are_said_at_each_start_until_they_are_accepted(engines_of: Engines) -> None:
    assert engines_of.warned({}) == []
    assert engines_of.warned({"escalationThreshold": 30}) == []
    told = "mode changed from enforce to soft"
    settings = {"mode": "soft", "escalationThreshold": 30}
    assert engines_of.warned(settings) == [("warn", f"the guard is WEAKER than before: {told}. {ACCEPT}")]
    assert engines_of.warned(settings) == [("warn", f"still weaker than accepted: {told}. {ACCEPT}")]
    pending = {"id": 1, "type": "decide", "action": "pending", "where": "chat", "by": "ann"}
    mark = accepted_mark(AcceptedSettings(engines_of.state).pending())
    accept = {**pending, "action": "accept", "nonce": mark}
    asked = [pending, {**accept, "id": 2}, {**accept, "id": 3}, {**pending, "id": 4}]
    answers = {each["id"]: each for each in engines_of.run(settings, *asked) if each["type"] == "told"}
    assert told in answers[1]["text"]
    assert f"/toolguard accept {mark}" in answers[1]["text"]
    assert (answers[2]["ok"], answers[2]["text"]) == (True, f"accepted: {told}")
    assert answers[3]["text"] == "no setting is weaker than what was accepted"
    assert answers[4]["text"] == "no call is waiting"
    assert engines_of.warned(settings) == []
    assert engines_of.lines == [("settings.weakened", told), ("settings.accepted", told)]
    (accepted,) = [each for each in AuditLog(engines_of.state).events() if each["event"] == "accepted"]
    assert (accepted["by"], accepted["where"], accepted["gateway"]) == ("ann", "chat", "gw")


def test_a_level_that_keeps_warnings_back_does_not_keep_this_one_back(engines_of: Engines) -> None:
    engines_of.run({})
    ((level, text),) = engines_of.warned({"logLevel": "error"})
    assert (level, "logLevel changed from info to error" in text) == ("error", True)


def test_an_agent_accepts_nothing(engines_of: Engines) -> None:
    engines_of.run({})
    settings = {"mode": "soft", "approval": {"agentTool": True}}
    word = {"id": 1, "type": "decide", "action": "accept", "where": "tool", "by": "agent"}
    (told,) = [each for each in engines_of.run(settings, word) if each["type"] == "told"]
    assert told["ok"] is False
    assert len(engines_of.warned(settings)) == 1


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ("{plugins: {entries: {toolguard: {enabled: false}}}} // by hand", "plugins.entries.toolguard.enabled is false"),
        ('{"plugins": {"enabled": false}}', "plugins.enabled is false"),
        ("{plugins: {deny: ['toolguard',]}}", "plugins.deny names toolguard"),
    ],
)
def test_an_end_that_the_gateway_outlives(engines_of: Engines, config: str, why: str) -> None:
    engines_of.run({})
    engines_of.write(config)
    told = f"the gateway does not load toolguard any more ({why}): nothing is guarded"
    assert engines_of.warned({}) == [("warn", f"the guard ended: {told}. {ACCEPT}")]
    ended = ("guard.unloaded", f"the gateway stopped the guard: {why}")
    assert sorted(engines_of.lines) == sorted([("settings.weakened", told), ended])
    engines_of.write("{}")
    assert engines_of.warned({}) == []
    assert engines_of.lines[-1] == ("settings.restored", "as strict as before: plugins.entries.toolguard.enabled")


def test_the_folder_of_the_plugin_is_gone(engines_of: Engines) -> None:
    ((_, text),) = engines_of.warned({}, root=str(engines_of.folder / "gone"))
    assert "its folder is gone" in text


def test_a_folder_that_the_config_no_longer_names(engines_of: Engines) -> None:
    plugin = engines_of.folder / "plugins" / "toolguard"
    plugin.mkdir(parents=True)
    engines_of.write(json.dumps({"plugins": {"load": {"paths": [str(plugin.parent)]}}}))
    talk = Talk(engines_of.folder)
    hello = {"id": 0, "type": "hello", "v": 1, "stateDir": str(engines_of.state), "configPath": str(engines_of.config)}
    assert talk.ask(**hello, config={}, root=str(plugin))["type"] == "ready"
    talk.assert_alive()
    engines_of.write('{"plugins": {"load": {"paths": []}}}')
    _, said, _ = talk.end()
    assert "plugins.load.paths does not name its folder" in said[0]["text"]


@pytest.mark.parametrize("paths", [[], ["${TG}/plugins"], ["./plugins"]])
def test_a_folder_that_was_found_in_another_way_is_not_missed(engines_of: Engines, paths: list[str]) -> None:
    """The gateway looks into its workspace as well, and knows variables that the engine does not know."""
    plugin = engines_of.folder / "workspace" / ".openclaw" / "extensions" / "toolguard"
    plugin.mkdir(parents=True)
    engines_of.write(json.dumps({"plugins": {"load": {"paths": paths}}}))
    assert engines_of.warned({}, root=str(plugin)) == []
    assert engines_of.lines == []


def test_an_end_that_a_file_of_the_config_orders(engines_of: Engines) -> None:
    engines_of.write('{"$include": "./plugins.json"}')
    engines_of.config.with_name("plugins.json").write_text('{"plugins": {"enabled": false}}')
    engines_of.run({}, {"type": "leaving", "reason": "gateway restarting"})
    assert ("guard.unloaded", "the gateway stopped the guard: plugins.enabled is false") in engines_of.lines


UNREADABLE = ["{ broken", '{"$include": "./more.json"}', '{"plugins": {"$include": "./x"}}']


@pytest.mark.parametrize("config", ["{}", *UNREADABLE])
def test_an_end_with_the_gateway(engines_of: Engines, config: str) -> None:
    engines_of.write(config)
    assert engines_of.warned({}, LEAVING) == []
    assert engines_of.lines == [("guard.gateway-stopped", "the guard ended with its gateway, which was told to stop")]


@pytest.mark.parametrize("reason", ["", "gateway restarting"])
def test_an_end_whose_reason_is_not_known_leaves_a_line(engines_of: Engines, reason: str) -> None:
    for config in UNREADABLE:
        engines_of.write(config)
        engines_of.run({}, *([{"type": "leaving", "reason": reason}] if reason else []))
    assert [code for code, _ in engines_of.lines] == ["guard.ended"] * len(UNREADABLE)


def test_a_reload_leaves_nothing(engines_of: Engines) -> None:
    assert engines_of.warned({}) == []
    assert engines_of.lines == []


def test_a_weaker_setting_is_in_the_audit_log_before_it_is_in_the_record(engines_of: Engines) -> None:
    """Who ends the engine in between loses nothing: the next one reports it as new."""
    import filelock  # noqa: PLC0415

    engines_of.run({})
    log = AuditLog(engines_of.state).path
    hello = {"id": 0, "type": "hello", "v": 1, "stateDir": str(engines_of.state), "configPath": str(engines_of.config)}
    talk = Talk(engines_of.folder)
    with filelock.FileLock(log.with_name(f"{log.name}.lock")):
        assert talk.ask(**hello, config={"mode": "soft"})["type"] == "ready"
        talk.assert_alive()
        assert AcceptedSettings(engines_of.state).pending() == []
        talk.process.kill()
        talk.process.communicate()
    told = "mode changed from enforce to soft"
    assert engines_of.warned({"mode": "soft"}) == [("warn", f"the guard is WEAKER than before: {told}. {ACCEPT}")]
    assert ("settings.weakened", told) in engines_of.lines


def test_where_the_audit_log_cannot_be_written_the_change_is_said_at_each_start(engines_of: Engines) -> None:
    engines_of.run({})
    log = AuditLog(engines_of.state).path
    log.unlink(missing_ok=True)
    log.mkdir()
    for _ in range(2):
        assert any("mode changed from enforce to soft" in text for _, text in engines_of.warned({"mode": "soft"}))
        assert AcceptedSettings(engines_of.state).pending() == []
    log.rmdir()
    engines_of.run({"mode": "soft"})
    assert ("settings.weakened", "mode changed from enforce to soft") in engines_of.lines


def test_calls_are_answered_where_the_record_is_damaged(engines_of: Engines) -> None:
    engines_of.run({})
    (engines_of.state / "toolguard" / "accepted-settings.json").write_text("{")
    judge = {"id": 1, "type": "judge", "tool": "read", "params": {"path": "a"}, "run": "r"}
    accept = {"id": 2, "type": "decide", "action": "accept", "where": "chat", "by": "ann"}
    said = engines_of.run({"mode": "soft"}, judge, accept)
    assert [each["decision"] for each in said if each["type"] == "verdict"] == ["allow"]
    assert [each["ok"] for each in said if each["type"] == "told"] == [False]
    assert any("whether settings became weaker is not known" in each["text"] for each in said if each["type"] == "log")


def test_whoever_holds_the_record_is_waited_for(engines_of: Engines) -> None:
    """The engine goes on answering, and compares as soon as it can."""
    import filelock  # noqa: PLC0415

    engines_of.run({})
    talk = Talk(engines_of.folder)
    with filelock.FileLock(engines_of.state / "toolguard" / "accepted-settings.json.lock"):
        hello = {"id": 0, "type": "hello", "v": 1, "stateDir": str(engines_of.state), "configPath": str(engines_of.config)}
        assert talk.ask(**hello, config={"mode": "soft"})["type"] == "ready"
        talk.assert_alive()
    assert "the guard is WEAKER than before" in talk.read()["text"]
    assert talk.end() == (0, [], "")


def test_a_file_that_the_config_takes_in_later_is_guarded_too(talk: Talk, state: Path, tmp_path: Path) -> None:
    config, elsewhere = tmp_path / "openclaw.json", tmp_path / "elsewhere" / "part.json5"
    config.write_text("{}")
    talk.ask(
        id=0,
        type="hello",
        v=1,
        stateDir=str(state),
        configPath=str(config),
        config=None,
        gateway="gw",
        gatewayPid=5,
        host="2026.9.6",
    )
    writing = {"type": "judge", "tool": "write", "params": {"path": str(elsewhere), "content": "{}"}, "run": "r"}
    assert talk.ask(id=1, **writing)["decision"] == "allow"
    config.write_text('{ "plugins": { "$include": "./elsewhere/part.json5" } }')
    limit = time.monotonic() + PATIENCE
    while (said := talk.ask(id=2, **writing))["decision"] == "allow" and time.monotonic() < limit:
        time.sleep(0.05)
    assert (said["decision"], said["code"]) == ("block", "rule.self-protection")
