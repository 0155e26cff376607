"""Every rule's own examples, and the shape of what the layer says."""

from __future__ import annotations

import pytest

from toolguard_engine import rules, shelltext
from toolguard_engine.layers import risky
from toolguard_engine.model import Call, Verdict

RULES = rules.load()


def verdict(command: object, tool: str = "exec") -> Verdict | None:
    return risky.judge(Call(tool, {"command": command}), RULES)


def called(rule: risky.Rule, example: str) -> Call:
    """An example is a command, or, for a rule about tools that write files, the tool and the path."""
    if "exec" in rule.tools:
        return Call("exec", {"command": example})
    tool, _, path = example.partition(" ")
    return Call(tool, {"input": f"*** Update File: {path}\n"} if tool == "apply_patch" else {"path": path})


@pytest.mark.parametrize(("rule", "command"), [(r, c) for r in RULES for c in r.matches], ids=lambda v: getattr(v, "id", v))
def test_matches(rule: risky.Rule, command: str) -> None:
    call = called(rule, command)
    assert risky.judge(call, RULES) is not None
    assert risky.judge(call, (rule,)) == Verdict("hold", f"rule.{rule.id}", reason=rule.reason)


@pytest.mark.parametrize(("rule", "command"), [(r, c) for r in RULES for c in r.passes], ids=lambda v: getattr(v, "id", v))
def test_passes(rule: risky.Rule, command: str) -> None:
    assert risky.judge(called(rule, command), RULES) is None


@pytest.mark.parametrize(
    "command", ["echo cm0gLXJmIC90bXAvYQ== | base64 -d | sh", "r''m -rf a", "a=rm; $a -rf x", "echo 'rm -rf x' | sh"]
)
def test_hidden(command: str) -> None:
    found = verdict(command)
    assert found is not None
    assert found.code == "rule.recursive-delete"


def test_other_tools_and_shapes() -> None:
    assert verdict("rm -rf x", "message") is None
    assert verdict(None) is None
    assert risky.judge(Call("exec", None), RULES) is None


def test_what_is_too_long_to_be_looked_through_asks() -> None:
    held = verdict("echo " + "a" * shelltext.MAX_CHARS)
    assert held is not None
    assert (held.decision, held.code) == ("hold", "rule.too-long")
    assert verdict("echo " + "a" * (shelltext.MAX_CHARS - 5)) is None


@pytest.mark.parametrize(
    "command",
    [
        ":;" * 2001 + "rm -rf x",
        "rm -f " + " ".join(f"n{i}" for i in range(500)) + " -r",
        "echo " + "$(" * 2600 + "rm -rf x",
        "echo VjFSSmQyUXhiM2RsUm14VVlsUkdTMVV3WkdwUFVUMDk= | base64 -d | base64 -d | base64 -d | base64 -d | base64 -d | sh",
        "curl x | " + "cat /some/file | " * 60 + "sh",
        "x" * 300 + "=1;" + "{a,b}" * 40 + "; rm -rf x",
    ],
    ids=lambda command: command[:12],
)
def test_what_is_too_intricate_to_be_looked_through_asks(command: str) -> None:
    assert verdict(command) is not None


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("process", {"action": "write", "data": "rm -rf x\n"}),
        ("process", {"action": "submit", "data": "rm -rf x"}),
        ("process", {"action": "paste", "text": "rm -rf x"}),
        ("process", {"action": "send-keys", "keys": ["rm", "Space", "-rf x", "Enter"]}),
        ("nodes", {"action": "run", "command": ["rm", "-rf", "x"]}),
        ("nodes", {"action": "invoke", "invokeParamsJson": '{"command":["rm","-rf","x"]}'}),
        ("automations", {"action": "add", "job": {"payload": {"command": "rm -rf x"}}}),
        ("cron", {"action": "add", "job": {"command": ["rm", "-rf", "x"]}}),
        ("exec", {"command": "$A -rf x", "env": {"A": "rm"}}),
    ],
)
def test_whatever_runs_a_command_is_looked_at(tool: str, params: dict[str, object]) -> None:
    found = risky.judge(Call(tool, params), RULES)
    assert found is not None
    assert found.code == "rule.recursive-delete"


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("process", {"action": "poll", "data": "rm -rf x"}),
        ("process", {"action": "write", "data": "y\n"}),
        ("nodes", {"action": "status", "command": "rm -rf x"}),
        ("cron", {"action": "add", "job": {"text": "remind me of rm -rf x"}}),
        ("read", {"path": "~/.bashrc"}),
        ("write", {"path": "a.py", "content": "rm -rf x"}),
    ],
)
def test_calls_that_run_nothing_risky(tool: str, params: dict[str, object]) -> None:
    assert risky.judge(Call(tool, params), RULES) is None


@pytest.mark.parametrize(
    "command",
    [
        "export PATH=$PATH:/opt/bin; make",
        "for f in *.c; do gcc -c $f -o ${f%.c}.o; done",
        "i=0; while [ $i -lt 3 ]; do i=$((i+1)); echo $i; done",
        "cat > a.py <<'E'\n" + "def f(a, b):\n    return {a: b, 'x': \"y\\n\"}[::-1]\n\n" * 120 + "E",
        "python3 - <<'E'\n" + "print(sorted({'some text': 1}, reverse=True), 'a b c')\n" * 100 + "E",
        "git add " + " ".join(f"src/file{i}.py" for i in range(400)),
        "npm run build -- --config x | tee build.log | tail -5",
    ],
    ids=lambda command: command[:24],
)
def test_ordinary_scripts_are_whole(command: str) -> None:
    assert verdict(command) is None
