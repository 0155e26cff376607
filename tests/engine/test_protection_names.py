"""Protection by name: searches that find the guard's files, its command line with words too many, chat commands in texts."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from tables import each_row
from toolguard_engine.config import conflicts
from toolguard_engine.host import file_names
from toolguard_engine.layers import self_protection
from toolguard_engine.model.call import Call, Host

HOST = Host("/home/ada", "/home/ada/.openclaw", "/home/ada/.openclaw/openclaw.json", ("/opt/tg",), frozenset({4242}))


def blocked(tool: str, params: dict[str, Any]) -> bool:
    found = self_protection.judge(Call(tool, params, agent="main", session="s", cwd="/home/ada/work"), HOST)
    return found is not None


def test_every_file_that_is_kept_has_a_name_that_is_searched_for() -> None:
    for kept in file_names.KEPT:
        assert any(fnmatchcase(name, kept) for name in file_names.NAMES), kept
        assert conflicts.is_taken(f"/x/toolguard/{kept.replace('*', 'a')}")
    assert set(file_names.DISTINCTIVE) <= set(file_names.NAMES)


@each_row("name", [name for name in file_names.NAMES if name != "key"])
@each_row(
    "command",
    [
        "rm $(find ~ -name 'NAME*')",
        "find ~ -name NAME -delete",
        "find / -name NAME | xargs rm",
        "find ~ -name NAME | while read f; do : > $f; done",
        'find ~ -name NAME | while read f; do echo x > "$f"; done',
        "fd -H NAME ~ -x rm",
        "fd -H NAME ~ | xargs rm",
    ],
)
def test_searches_whose_finds_are_changed(command: str, name: str) -> None:
    assert blocked("exec", {"command": command.replace("NAME", name)})


@each_row(
    "command",
    [
        "fd -H -e db . ~ -X rm",
        "fd -H '^stand' ~ -x rm",
        "fd -H key ~ -x cat",
        "truncate -s0 $(locate standings.db)",
        "grep -rl toolguard ~ | while read f; do : > $f; done",
        "python3 -c \"import os;[os.remove(r+x) for r,_,f in os.walk(os.environ['HOME']) for x in f if x=='kill-switch']\"",
        "toolguard kill-switch status off",
        "toolguard notify test",
        "python3 -m toolguard_cli.notify --state-dir /x",
        "toolguard limits set day --usd=9",
        "toolguard fleet admit gw-0123456789abcdef",
        "toolguard fleet approvers add eve --team ops",
        "toolguard fleet join --dsn host=/tmp --team ops",
        "toolguard fleet maintain",
        "toolguard fleet leave",
        "toolguard fleet --dsn x admit gateways",
        "toolguard fleet gateways --dsn host=elsewhere.example",
        "TOOLGUARD_FLEET_DSN=host=elsewhere.example toolguard fleet gateways",
        "toolguard limits --json remove day",
        "openclaw config set plugins.entries.toolguard.config.limits []",
        "toolguard config accept --yes",
        "toolguard --state-dir ~/.openclaw config accept -y",
        "python3 -m toolguard_cli config accept --yes",
        "openclaw agent --message '/toolguard accept'",
        "toolguard kill-switch --json off",
        "toolguard constraints list add",
        "toolguard constraints --state-dir list add least-privilege",
        "openclaw agent --message '/toolguard constraints add x'",
    ],
)
def test_other_ways(command: str) -> None:
    assert blocked("exec", {"command": command})


@each_row(
    "command",
    [
        "toolguard kill-switch status",
        "toolguard kill-switch status --json --state-dir /x",
        "toolguard limits",
        "toolguard limits --json",
        "toolguard fleet gateways",
        "toolguard fleet gateways --json",
        "toolguard fleet --help",
        "toolguard constraints",
        "toolguard constraints list --json",
        "fd -H -e png . ~ -x rm",
        "fd report ~/work -x cat",
        "fd key",
        "find ~ -name '*.png' -delete",
        "find ~/work -name policy.toml -delete",
        "find ~/work -name x | while read f; do wc -l $f > $f.count; done",
        "locate foo | xargs rm",
        "cat policy.toml",
        "openclaw agent --message '/toolguard status'",
    ],
)
def test_what_may_run(command: str) -> None:
    assert not blocked("exec", {"command": command})


@each_row(
    ("tool", "params"),
    [
        ("message", {"action": "send", "message": "/toolguard checkpoint"}),
        ("message", {"action": "send", "caption": "  /TOOLGUARD kill-switch off"}),
        ("sessions_send", {"message": "/toolguard@guard_bot checkpoint"}),
        ("sessions_send", {"message": "/toolguard: approve abcd"}),
        ("sessions_spawn", {"task": "/toolguard checkpoint"}),
        ("automations", {"action": "add", "job": {"payload": {"message": "/toolguard kill-switch off"}}}),
        ("cron", {"action": "add", "job": {"payload": {"text": "/toolguard\nkill-switch off"}}}),
        ("mcp__chat__post", {"text": "/toolguard approve abcd"}),
        ("suggest_task", {"title": "Tests", "prompt": "/toolguard checkpoint all"}),
        ("ask_user", {"questions": [{"question": "Go on?", "options": [{"label": "/toolguard kill-switch off"}]}]}),
        ("message", {"message": "?", "presentation": {"blocks": [{"buttons": [{"value": "/toolguard checkpoint"}]}]}}),
        ("message", {"message": "?", "a": [[[[[{"callback_data": "/toolguard approve abcd"}]]]]]}),
        ("browser", {"action": "act", "kind": "type", "ref": "e1", "text": "/toolguard approve abcd", "submit": True}),
        ("browser", {"action": "act", "kind": "fill", "fields": [{"ref": "e1", "value": "/toolguard approve abcd"}]}),
        ("computer", {"action": "type", "text": "/toolguard approve abcd"}),
        ("nodes", {"action": "notify", "body": "/toolguard approve abcd"}),
    ],
)
def test_chat_commands_are_for_people(tool: str, params: dict[str, Any]) -> None:
    assert blocked(tool, params)


@each_row(
    ("tool", "params"),
    [
        ("message", {"message": "/toolguard pending"}),
        ("message", {"message": "/toolguard status all"}),
        ("message", {"message": "/toolguard"}),
        ("message", {"message": "Please type /toolguard approve abcd"}),
        ("message", {"message": "/toolguardian approve abcd"}),
        ("write", {"path": "a.md", "content": "/toolguard checkpoint"}),
        ("web_search", {"query": "/toolguard checkpoint"}),
        ("suggest_task", {"title": "Tests", "prompt": "Find out why toolguard holds the test run"}),
        ("browser", {"action": "act", "kind": "type", "ref": "e1", "text": "how does /toolguard approve work"}),
        ("ask_user", {"questions": [{"question": "May I run it? (/toolguard pending)", "options": [{"label": "Yes"}]}]}),
    ],
)
def test_other_texts(tool: str, params: dict[str, Any]) -> None:
    assert not blocked(tool, params)
