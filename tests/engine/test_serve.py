"""An engine and its files, on a clock moved by hand: it answers whatever is said, and only the end of its input ends it."""

from __future__ import annotations

import itertools
import json
import os
import random
import time
from pathlib import Path
from typing import Any

import pytest

from chat_confirmation import confirmed
from engine_talk import Talk
from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.stores.files.audit_log_file import AuditLog, Verification
from toolguard_engine.stores.files.nonces import FileNonces
from toolguard_engine.stores.system_calls import namespaces

RUNS = itertools.count()
CORPUS = Path(__file__).resolve().parents[3] / "shared" / "corpora" / "malformed_calls.jsonl"


def test_it_answers(talk: Talk, state: Path) -> None:
    ready = talk.hello(state)
    assert ready == {
        "type": "ready",
        "id": 0,
        "v": 1,
        "pid": os.getpid(),
        "version": "0.1.0",
        "configError": "",
        "shell": "",
    }
    assert talk.failed() == {
        "type": "corrected",
        "id": 1,
        "text": "[TOOL ERROR] read() requires 'path'. Correct usage: read({ path: \"path/to/file\" }). "
        "You sent: read({}). Fix your call and retry.",
        "watch": True,
    }
    assert talk.end() == []


def test_files_after_the_end(talk: Talk, state: Path) -> None:
    talk.hello(state)
    talk.failed(agent="main", session="s", call="call_1", model="m")
    talk.send(type="seams", seams={"inPlace": "works"}, notes=["n"])
    talk.assert_alive()
    assert talk.end() == []
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
    reported = json.loads(last.read_text())
    assert reported.pop("published") >= reported.pop("started")
    assert reported.pop("settings") == {}
    assert reported.pop("unrehearsed") == ""
    assert bool(reported.pop("uncontained")) is bool(reported.pop("wayOut")) is not reported.pop("contained")
    assert reported == {
        "pid": os.getpid(),
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
        "namespaces": namespaces(),
        "replaced": "",
    }
    assert [path.stat().st_mode & 0o777 for path in (log, last)] == [0o600, 0o600]
    assert list((state / "toolguard" / "engines").iterdir()) == []


BAD_LINES: list[tuple[str, bytes, int | None, str]] = [
    ("utf-8", b'{"id":7,"type":"judge","tool":"\xff\xfe"}', 7, "UTF-8"),
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
    assert reason.lower() in answer["error"].lower()  # msgspec 0.22 writes utf-8
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
    assert talk.end() == []


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
    assert talk.end() == []
    assert reason in json.loads((state / "toolguard/last-engine.json").read_text())["logError"]


def test_a_home_of_nobody_does_not_end_it(talk: Talk, state: Path) -> None:
    assert talk.hello(state, {"logPath": "~nosuchuser/a.log"})["type"] == "ready"
    talk.failed()
    assert talk.end() == []
    assert (state / "~nosuchuser" / "a.log").exists()


@pytest.mark.parametrize("kind", ["file", "nul"])
def test_an_unusable_state_folder_is_told(talk: Talk, tmp_path: Path, kind: str) -> None:
    (tmp_path / "file").write_text("")
    place = tmp_path / ("file" if kind == "file" else "a\0b")
    assert talk.hello(place, {"logPath": str(tmp_path / "a.log")})["type"] == "ready"
    for words in ("cannot find out whether settings became weaker: ", "cannot write to "):
        said = talk.read()
        assert (said["type"], said["level"], said["text"][: len(words)]) == ("log", "warn", words)
    talk.assert_alive()
    assert talk.end() == []


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
    """Somebody else decides."""
    getattr(FileNonces(state), action)(nonce, Decision("anna", "cli"), time.time(), 30)


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
        "text": f"TOOLGUARD_ESCALATE|{nonce}|The settings require a person's approval for every call to this tool "
        f'(alwaysBlock). Call: exec({{ command: "make all" }})\n{how} Tell the user this, and why you need it. '
        "Do not repeat the call until they have approved it.",
    }
    yes = {"id": 2, "type": "decide", "action": "approve", "where": "chat", "nonce": nonce, "by": "anna"}
    reported = confirmed(lambda why: talk.ask(**yes, why=why), text=lambda reply: reply["text"])
    assert set(reported.pop("waking")) == {"woken", "busy", "later"}
    assert reported == {
        "type": "told",
        "id": 2,
        "ok": True,
        "text": f"approved {nonce}: agent main may run exec once within 30 s of idle time (10 min at most)",
        "nonce": nonce,
    }
    used = talk.ask(id=3, type="judge", **EXEC)
    while used["type"] == "wake":
        used = talk.read()
    assert used == {
        "type": "verdict",
        "id": 3,
        "decision": "allow",
        "code": "approval.consumed",
        "approved": True,
        "pin": True,
        "outcome": "tell",
    }
    again = talk.ask(id=4, type="judge", **EXEC)
    assert nonce_of(again) != nonce
    assert talk.end() == []
    assert [event for event, _, _ in audited(state)] == ["hold", "approve", "consume", "hold"]


def test_an_approval_elsewhere_wakes_unasked(talk: Talk, state: Path) -> None:
    talk.hello(state, HELD)
    nonce = nonce_of(talk.ask(id=1, type="judge", **EXEC))
    elsewhere(state, "approve", nonce)
    talk.later(1)
    woken = talk.read()
    text = woken.pop("text")
    assert woken == {"type": "wake", "nonce": nonce, "agent": "main", "session": "s"}
    assert text.startswith(
        f'[TOOLGUARD] The user approved the call that waited under {nonce}: exec({{ command: "make all" }})\n'
    )
    assert talk.end() == []


def test_a_denial_elsewhere_wakes_nobody(talk: Talk, state: Path) -> None:
    talk.hello(state, HELD)
    elsewhere(state, "deny", nonce_of(talk.ask(id=1, type="judge", **EXEC)))
    talk.later(10)
    assert talk.said() == []
    answer = talk.ask(id=2, type="judge", **EXEC)
    assert (answer["decision"], answer["code"]) == ("block", "approval.denied")


def test_the_audit_log_after_the_answers(talk: Talk, state: Path) -> None:
    talk.hello(state, HELD)
    talk.ask(id=1, type="judge", **EXEC)
    talk.ask(id=2, type="judge", **EXEC)
    talk.ask(id=3, type="judge", **{**EXEC, "run": "q", "params": {"command": "toolguard approve abcd"}})
    stopped = talk.ask(id=4, type="ran", **{**EXEC, "run": "p", "others": "evil (priority 0)"})
    assert stopped["stop"].startswith("TOOLGUARD_BLOCK|")
    reason = (
        "this ran instead of the call that was judged, and would not have been allowed (approval.always-block); "
        "it may have been changed by: evil (priority 0)"
    )
    assert talk.read() == {"type": "log", "level": "error", "text": f"SECURITY: exec {reason}"}
    talk.send(type="warned", text="x runs after the guard")
    talk.assert_alive()
    assert talk.end() == []
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
    assert set(files_but_standings(state)) == {f"toolguard/engines/{os.getpid()}.json"}
    assert talk.end() == []
    assert set(files_but_standings(state)) == {"toolguard/last-engine.json"}


def files_but_standings(state: Path) -> list[str]:
    found = [str(path.relative_to(state)) for path in state.rglob("*") if path.is_file()]
    kept = ("toolguard/standings.db", "toolguard/accepted-settings.json", "toolguard/key")
    return [name for name in found if not name.startswith(kept)]


def test_trouble_with_the_store_is_told_in_the_gateways_log(talk: Talk, state: Path) -> None:
    (state / "toolguard").mkdir(parents=True)
    (state / "toolguard" / "nonces.json").write_text("{")
    talk.hello(state, HELD)
    reported, said = [], []
    for number in (1, 2):
        talk.send(id=number, type="judge", **EXEC)
        while (answer := talk.read())["type"] == "log":
            said.append(answer["text"])
        reported.append((answer["decision"], answer["code"]))
    assert reported == [("block", "store.damaged")] * 2
    said += [log["text"] for log in talk.end()]
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


def test_the_kill_switch_counts_from_the_next_call_on(talk: Talk, tmp_path: Path) -> None:
    talk.hello(tmp_path)
    for turn, code in enumerate(["kill-switch.on", "allow"] * 5):
        nonce = "on" if code != "allow" else "off"
        assert talk.ask(id=1, type="decide", action="kill-switch", nonce=nonce, by="ann", where="chat")["ok"]
        assert talk.ask(id=2, type="judge", tool="read", params={"path": "a"}, run=f"r{turn}")["code"] == code
