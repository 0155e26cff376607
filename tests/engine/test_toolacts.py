"""Effects of tools that are not shells, and the verdicts of the bundled rules on them."""

from __future__ import annotations

from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from effort import examples
from tables import each_row
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.effects.languages.language_catalogue import COMMANDS
from toolguard_engine.effects.tools.tools import DESCRIBED, commands, effects
from toolguard_engine.host import tool_names
from toolguard_engine.host.tool_names import split
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.layers import rule_examples
from toolguard_engine.rules import packs as rulepacks
from toolguard_engine.rules import scores
from toolguard_engine.rules.rulebook import Rulebook

HOME = "/home/u"
WORKSPACE = f"{HOME}/.openclaw/workspace"
WHERE = Where(HOME, WORKSPACE, WORKSPACE, f"{HOME}/.openclaw")
PACKS = ("messages", "openclaw", "provenance", "tools")
THRESHOLD = 36

ALL = rulepacks.packs()
BOOK = Rulebook(rule for rules in ALL.values() for rule in rules)
OWN = [rule for pack in PACKS for rule in ALL[pack]]

CASES: dict[str, tuple[str, dict[str, Any], list[tuple[str, str, str, str]]]] = {
    "write": ("write", {"path": "src/a.py", "content": "x"}, [("write", "src/a.py", "in-workspace", "")]),
    "nested paths": (
        "fs__write_many",
        {"items": [{"filePath": "~/.ssh/authorized_keys"}, {"destination_path": "a.md"}]},
        [("mcp-write", "~/.ssh/authorized_keys", "startup", ""), ("mcp-write", "a.md", "in-workspace", "")],
    ),
    "write to keys": ("write", {"path": "~/.ssh/authorized_keys"}, [("write", "~/.ssh/authorized_keys", "startup", "")]),
    "edit with a list": (
        "multiedit",
        {"edits": [{"path": "a.md"}, {"path": "b.md"}]},
        [("write", "a.md", "in-workspace", ""), ("write", "b.md", "in-workspace", "")],
    ),
    "patch": (
        "apply_patch",
        {"input": "*** Begin Patch\n*** Update File: a.md\n*** Move to: /etc/x\n*** Delete File: ~/b.md\n*** End Patch"},
        [
            ("write", "a.md", "in-workspace", ""),
            ("write", "/etc/x", "system", ""),
            ("write", "~/b.md", "in-home", "deletes personal-file"),
        ],
    ),
    "read": ("read", {"path": "@docs/a.md"}, [("read", "docs/a.md", "in-workspace", "")]),
    "list": ("ls", {"path": "~/.ssh"}, [("read", "~/.ssh", "credentials", "names")]),
    "an image from the web": (
        "view_image",
        {"path": "https://a.example/x.png"},
        [("fetch", "https://a.example/x.png", "remote", "")],
    ),
    "fetch": ("web_fetch", {"url": "https://a.example/x"}, [("fetch", "https://a.example/x", "remote", "")]),
    "fetch from this machine": (
        "web_fetch",
        {"url": "http://localhost:3000"},
        [("fetch", "http://localhost:3000", "remote", "local")],
    ),
    "fetch of a file": ("web_fetch", {"url": "file:///etc/shadow"}, [("read", "file:///etc/shadow", "credentials", "")]),
    "search": ("web_search", {"query": "a"}, [("fetch", "a", "remote", "search")]),
    "click": ("browser", {"action": "act", "request": {"kind": "click"}}, [("act", "click", "remote", "")]),
    "batch": (
        "browser",
        {"action": "act", "kind": "batch", "actions": [{"kind": "fill"}, {"kind": "evaluate"}]},
        [("act", "fill", "remote", "typed"), ("act", "evaluate", "remote", "evaluate")],
    ),
    "navigate": (
        "browser",
        {"action": "navigate", "targetUrl": "https://a.example"},
        [("fetch", "https://a.example", "remote", "")],
    ),
    "look at a page": ("browser", {"action": "snapshot"}, []),
    "answer": ("message", {"action": "send", "message": "hi"}, [("message", "", "remote", "")]),
    "send": ("message", {"action": "send", "target": "bob", "message": "hi"}, [("message", "bob", "remote", "addressed")]),
    "read messages": ("message", {"action": "read", "target": "#a"}, []),
    "another session": (
        "sessions_send",
        {"sessionKey": "agent:main:main", "message": "x"},
        [("message", "agent:main:main", "remote", "addressed")],
    ),
    "config": (
        "gateway",
        {"action": "config.patch", "raw": '{"gateway": {"bind": "lan"}}'},
        [("gateway", "gateway config.patch gateway.bind", "", "access config")],
    ),
    "camera": ("nodes", {"action": "camera_clip"}, [("device", "camera_clip", "remote", "camera records")]),
    "reminder": (
        "automations",
        {"action": "add", "job": {"payload": {"kind": "agentTurn", "message": "x"}}},
        [("schedule", "add", "", "add")],
    ),
    "memory": ("memory_search", {"query": "x"}, []),
    "typing on a desktop": ("computer", {"action": "type", "text": "x"}, [("act", "type", "", "type typed")]),
    "a tool nobody knows": ("weather", {"city": "Lyon"}, []),
    "a file of a repository elsewhere": (
        "github__delete_file",
        {"owner": "a", "repo": "b", "path": "c.md"},
        [("mcp", "github__delete_file", "", "destroy")],
    ),
    "a file of this machine": (
        "fs__moveFile",
        {"source": "a.md", "destination": "~/b.md"},
        [("mcp-write", "a.md", "in-workspace", ""), ("mcp-write", "~/b.md", "in-home", "personal-file")],
    ),
    "a statement": (
        "db__execute_sql",
        {"sql": "TRUNCATE visits"},
        [("mcp", "db__execute_sql", "", "destroys query statement")],
    ),
}


@each_row("case", CASES, ids=str)
def test_effects(case: str) -> None:
    tool, params, expected = CASES[case]
    assert [(e.kind, e.target, e.place, " ".join(sorted(e.flags))) for e in effects(tool, params, WHERE)] == expected


@each_row(
    ("tool", "params", "expected"),
    [
        ("ssh__run", {"command": "uptime"}, ("uptime",)),
        ("desktop__start_process", {"cmd": "git", "args": ["status", "-s"]}, ("git status -s",)),
        ("run_commands", {"commands": ["cd x", "make"]}, ("cd x\nmake",)),
        ("python_exec", {"code": "print(1)"}, ("python3 -c 'print(1)'",)),
        ("run_code", {"code": "print(1)"}, ("python3 -c 'print(1)'",)),
        ("run_code", {"code": "ls", "language": "Bash"}, ("ls",)),
        ("run_code", {"code": "f()", "language": "javascript"}, ("node -e 'f()'",)),
        ("jupyter", {"source": "!ls"}, ("python3 -c '!ls'",)),
        ("jupyter__execute_cell", {"source": "1"}, ("python3 -c 1",)),
        ("notebook__edit", {"code": "print(1)"}, ()),
        ("search_code", {"code": "print(1)"}, ()),
        ("run_code", {"code": "x", "language": "cobol"}, ()),
        ("shell__run_script", {"script": "ls"}, ("ls",)),
        ("exec", {"command": "ls"}, ()),
        ("x", None, ()),
        ("x", {"command": [1, None, {"a": 1}]}, ("1",)),
    ],
)
def test_commands_of_undescribed_tools(tool: str, params: Any, expected: tuple[str, ...]) -> None:
    assert commands(tool, params, COMMANDS) == expected


@each_row(
    ("action", "tools"),
    [
        (
            "destroy",
            "delete_repository drop_table github__delete_file todo_list_delete file_delete deleteAllMail purge-queue",
        ),
        ("destroy", "reset_database empty_trash factory_reset prune_images"),
        ("let-in", "grant_access create_access_key attach_user_policy unlock_door"),
        ("take-away", "disable_user removeLabel revoke_token transfer_ownership ban_user"),
        ("pay", "transfer_funds createPayment sign_transaction buy_stock"),
        ("send", "send_email slack_post_message reply_to_thread"),
        ("query", "execute_sql db.query run_sql_query"),
        (
            "look",
            "list_issues get_file list_deleted_files search_code read_query get_transfer_status check_payment notion-fetch",
        ),
        ("change", "kill_shell create_issue merge_pull_request transfer_file create_payment_link"),
        ("", "weather x browser_click _ é 42"),
    ],
    ids=str,
)
def test_names(action: str, tools: str) -> None:
    assert {tool: tool_names.named(tool).action for tool in tools.split()} == dict.fromkeys(tools.split(), action)


def score(example: dict[str, Any], book: Rulebook = BOOK) -> tuple[str, list[str]]:
    """The verdict of the rules on a call that is not a command, and the rules that matched."""
    tool, params = example["tool"], example["params"]
    found = book.for_call(tool_name(tool), params, effects(tool, params, WHERE))
    clarity, stakes = scores.base(tool_name(tool), params)
    total = min(10, clarity + max((m.clarity for m in found), default=0)) * min(
        10, stakes + max((m.stakes for m in found), default=0)
    )
    verdict = "block" if any(m.blocks for m in found) else "hold" if total >= THRESHOLD else "allow"
    return verdict, [m.rule for m in found]


EXAMPLES = [(rule, example) for rule in OWN for example in rule.matches if not isinstance(example, str)]
PASSES = [example for rule in OWN for example in rule.passes]


def test_examples_match() -> None:
    for rule, example in EXAMPLES:
        verdict, spoke = score(example)
        assert rule_examples.speaks(rule, example), example
        assert rule.id.startswith("provenance.") or rule.id in spoke, example  # the layer of that name adds its effects
        assert verdict == "block" if rule.verdict else True, example


def test_examples_pass() -> None:
    assert [example for example in PASSES if not isinstance(example, str) and score(example)[0] != "allow"] == []


DEEP: list[Any] = []
for _ in range(900):
    DEEP = [DEEP]


@each_row(
    "value",
    [
        None,
        7,
        "\ud800",
        "\0" * 9,
        DEEP,
        {"a": DEEP},
        [{"path": 1}],
        "/*" * 50_000,
        "'" * 99_999,
        "eyJ-" * 20_000,
        "update " * 20_000,
        "@" * 99_999,
    ],
    ids=lambda value: repr(value)[:12] if not isinstance(value, list | dict) else "nested",
)
def test_odd_values_raise_no_error(value: Any) -> None:
    names = split(
        "action kind path paths edits input url query sql target targets message attachments media raw job "
        "command cmd args commands script invokeCommand request actions to cc files"
    )
    for tool in (*DESCRIBED, "x", "run_sql", "send_email", "delete_file", "python"):
        for params in [value, {}, *({name: value} for name in names), dict.fromkeys(names, value)]:
            effects(tool, params, WHERE)
            commands(tool, params, COMMANDS)
            scores.base(tool, params)


@each_row("text", ["/*" * 10_000, "eyJ-" * 5_000, "'a' " * 5_000, "update x set " * 2_000, "drop " * 4_000, "a=" * 9_000])
def test_hostile_texts_are_read_to_their_end(text: str) -> None:
    """A search with backtracking would take hours."""
    for tool, name in [("db__query", "sql"), ("message", "message"), ("web_fetch", "url")]:
        assert isinstance(effects(tool, {name: text}, WHERE), tuple)


@given(
    st.text(max_size=60),
    st.dictionaries(
        st.text(max_size=12), st.recursive(st.none() | st.booleans() | st.integers() | st.text(), st.lists), max_size=6
    ),
)
@settings(max_examples=examples(300))
def test_any_call_has_effects_or_none(tool: str, params: dict[str, Any]) -> None:
    assert isinstance(effects(tool, params, WHERE), tuple)
    assert isinstance(commands(tool, params, COMMANDS), tuple)
