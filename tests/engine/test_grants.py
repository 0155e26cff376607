"""What a grant covers, and above all what it does not."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.approvals import grant_matching
from toolguard_engine.approvals.grant_matching import covering
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.model.call import Call
from toolguard_engine.rules.text_globs import Kind, matches

NOW = 1_000.0
META = set(";&|<>$`(){}[]\n\r\\#\"'!~?*^=\t\0")


def grant(pattern: str, tool: str = "exec", **more: Any) -> Grant:
    return Grant("g-1", tool, pattern, **more)


def call(params: Any, tool: str = "exec", **more: Any) -> Call:
    return Call(tool, params, **more)


def covers(made: Grant, asked: Call, now: float = NOW) -> bool:
    return covering(asked, [made], now) is made


PUSH = "git push origin *"


@each_row(
    ("pattern", "command"),
    [
        (PUSH, "git push origin main"),
        (PUSH, "git push origin main v1.2"),
        (PUSH, "git push origin HEAD:refs/heads/feature/x-1"),
        ("git * origin main", "git push origin main"),
        ("make", "make"),
        ("make -C build/* all", "make -C build/x86_64/debug all"),
        ("npm run *", "npm run test:unit"),
        ("npm install @types/*", "npm install @types/node"),
        ("pytest -*", "pytest -q"),
        ("make PREFIX=*", "make PREFIX=/usr/local"),
        ('git commit -m "*"', 'git commit -m "fix"'),
        ("git log *", "git log main..dev"),
        ("echo a && echo b", "echo a && echo b"),
        ("ls *.txt *.md", "ls a.txt b.md"),
        ("cat ../x *", "cat ../x y"),
        ("*", "reboot now"),
    ],
)
def test_covered_commands(pattern: str, command: str) -> None:
    assert covers(grant(pattern), call({"command": command}))


ATTACKS = [
    "git push origin x; rm -rf ~",
    "git push origin x;reboot",
    "git push origin x && reboot",
    "git push origin x || reboot",
    "git push origin x | sh",
    "git push origin x & reboot",
    "git push origin x\nreboot",
    "git push origin x\rreboot",
    "git push origin x\x0breboot",
    "git push origin x\x00",
    "git push origin x\u2028reboot",
    "git push origin $(reboot)",
    "git push origin `reboot`",
    "git push origin ${IFS}x",
    "git push origin $HOME",
    "git push origin x > ~/.bashrc",
    "git push origin x >> /etc/passwd",
    "git push origin x < /etc/passwd",
    "git push origin <(reboot)",
    "git push origin {a,b}",
    "git push origin *",
    "git push origin ?",
    "git push origin [a]",
    "git push origin ~/x",
    "git push origin x # y",
    "git push origin !!",
    "git push origin x^y",
    "git push origin 'x'",
    'git push origin "x"',
    "git push origin x\\;y",
    "git push origin --receive-pack=reboot",
    "git push origin --receive-pack reboot main",
    "git push origin main --force",
    "git push origin -f main",
    "git push origin main -f",
    "git push origin +main",
    "git push origin main +dev",
    "git push origin :main",
    "git push origin @file",
    "git push origin =x",
    "git push origin x=y",
    "git push origin ../../other",
    "git push origin a/../../other",
    "git push origin",
    "git push origin ",
    "git push origin main ",
    " git push origin main",
    "git  push origin main",
    "git push originmain",
    "sudo git push origin main",
    "GIT_SSH_COMMAND=reboot git push origin main",
    "git -c core.sshCommand=reboot push origin main",
    "GIT push origin main",
    "git push origin m\u0430in",
    "git push origin \uff1b reboot",
    "git push origin " + "a" * 20_000,
    "",
]


@pytest.mark.parametrize("pattern", [PUSH, "git push origin * *", "git push origin r*"])
def test_attacks(pattern: str) -> None:
    assert [command for command in ATTACKS if covers(grant(pattern), call({"command": command}))] == []


@each_row(
    ("pattern", "command"),
    [
        ("cat /srv/site/*", "cat /srv/site/a /etc/shadow"),
        ("cat /srv/site/*", "cat /srv/site/../../etc/shadow"),
        ("cat /srv/site/*", "cat /srv/site/.env"),
        ("cat /srv/site/*", "cat /srv/site/a/.ssh/id"),
        ("rm build/*", "rm build/x /home/me"),
        ("rm build/*", "rm build/.. "),
        ('git commit -m "*"', 'git commit -m "--amend"'),
        ('git commit -m "*"', 'git commit -m "x" --no-verify "y"'),
        ('git commit -m "*"', 'git commit -m "$(reboot)"'),
        ("git commit -m '*'", "git commit -m '-x'"),
        ("* --version", "rm -rf x --version"),
        ("* --version", "A=1 ls --version"),
        ("*sh", "-sh"),
        ("make *", "make SHELL=/tmp/x"),
        ("echo a && echo *", "echo a && echo b && reboot"),
    ],
)
def test_attacks_on_other_patterns(pattern: str, command: str) -> None:
    assert not covers(grant(pattern), call({"command": command}))


@each_row(
    "params",
    [
        pytest.param({"command": "git push origin x", "env": {"GIT_SSH_COMMAND": "reboot"}}, id="env"),
        pytest.param({"command": "git push origin x", "elevated": True}, id="elevated"),
        pytest.param({"command": "git push origin x", "elevated": False}, id="elevated, even if not"),
        pytest.param({"command": "git push origin x", "host": "gateway"}, id="host"),
        pytest.param({"command": "git push origin x", "node": "n"}, id="node"),
        pytest.param({"command": "git push origin x", "security": "full"}, id="security"),
        pytest.param({"command": "git push origin x", "ask": "off"}, id="ask"),
        pytest.param({"command": "git push origin x", "pty": True}, id="pty"),
        pytest.param({"command": "git push origin x", "workdir": ["/"]}, id="type of workdir"),
        pytest.param({"command": "git push origin x", "timeout": "1"}, id="type of timeout"),
        pytest.param({"command": "git push origin x", "background": {"a": 1}}, id="type of background"),
        pytest.param({"command": "git push origin x", "COMMAND": "reboot"}, id="another case"),
        pytest.param({"command": "git push origin x", "": ""}, id="empty name"),
        pytest.param({"command": ["git push origin x"]}, id="list"),
        pytest.param({"command": None}, id="null"),
        pytest.param({"cmd": "git push origin x"}, id="another name"),
        pytest.param({}, id="nothing"),
        pytest.param(["git push origin x"], id="no object"),
        pytest.param("git push origin x", id="text"),
        pytest.param(None, id="no params"),
    ],
)
def test_other_params_are_not_covered(params: Any) -> None:
    assert not covers(grant(PUSH), call(params))


def test_params_that_change_nothing() -> None:
    free = {"workdir": "/x", "timeout": 3, "timeoutSeconds": 0.5, "background": True, "yieldMs": 1, "title": "Push"}
    assert covers(grant(PUSH), call({"command": "git push origin x", **free}))


@each_row(
    ("globs", "params", "covered"),
    [
        ({"host": "sandbox"}, {"host": "sandbox"}, True),
        ({"host": "sandbox"}, {"host": "gateway"}, False),
        ({"host": "sandbox"}, {}, False),
        ({"host": "*"}, {"host": "gateway"}, True),
        ({"elevated": "false"}, {"elevated": False}, True),
        ({"elevated": "false"}, {"elevated": True}, False),
        ({"env": '{"CI":"*"}'}, {"env": {"CI": "yes"}}, True),
        ({"env": '{"CI":"*"}'}, {"env": {"CI": "yes", "LD_PRELOAD": "/x"}}, False),
        ({"env": '{"CI":"*"}'}, {"env": {"CI": 'x","LD_PRELOAD":"/x'}}, False),
        ({"env": "*"}, {"env": {"LD_PRELOAD": "/x"}}, True),
        ({"workdir": "/srv/*"}, {"workdir": "/srv/a"}, True),
        ({"workdir": "/srv/*"}, {"workdir": "/srv/../etc"}, False),
        ({"workdir": "/srv/*"}, {"workdir": "/srv/a/b"}, False),
        ({"workdir": "/srv/*"}, {}, False),
        ({"host": "sandbox"}, {"host": "sandbox", "node": "n"}, False),
    ],
)
def test_globs_of_params(globs: dict[str, str], params: dict[str, Any], *, covered: bool) -> None:
    assert covers(grant("make", params=globs), call({"command": "make", **params})) is covered


@each_row(
    ("pattern", "path", "covered"),
    [
        ("/srv/site/*", "/srv/site/a.html", True),
        ("/srv/site/*", "/srv/site/a b.html", True),
        ("/srv/site/*", "/srv/site/a/b.html", False),
        ("/srv/site/**", "/srv/site/a/b.html", True),
        ("/srv/**/index.html", "/srv/a/b/index.html", True),
        ("/srv/site/**", "/srv/site/../../etc/passwd", False),
        ("/srv/site/../**", "/srv/site/../x", False),
        ("/srv/site/..", "/srv/site/..", False),
        ("**", "a/..", False),
        ("/srv/site/**", "/srv/site/.git/hooks/pre-commit", False),
        ("/srv/site/**", "/srv/site/a/.env", False),
        ("/srv/site/.*", "/srv/site/.env", True),
        ("*", ".env", False),
        ("/srv/site/**", "/srv/site/a\nb", False),
        ("/srv/site/**", "/srv/site/..\\..\\x", False),
        ("/srv/site/**", "/srv/site/a\\..\\b", False),
        ("/srv/site/**", "/srv/site/a\u202eb", False),
        ("/srv/site/**", "/srv/sites/a", False),
        ("~/notes/*", "~/notes/a", True),
        ("~/notes/*", "/home/me/notes/a", False),
        ("/srv/a", "/srv/a", True),
    ],
)
@each_row("tool", ["read", "write", "edit"])
def test_paths(tool: str, pattern: str, path: str, *, covered: bool) -> None:
    assert covers(grant(pattern, tool), call({"path": path}, tool)) is covered


def test_content_of_a_file_is_free() -> None:
    assert covers(grant("/srv/*", "write"), call({"path": "/srv/a", "content": "x; y"}, "write"))
    assert covers(grant("/srv/*", "edit"), call({"path": "/srv/a", "edits": [{"oldText": "a", "newText": "b"}]}, "edit"))
    assert not covers(grant("/srv/*", "write"), call({"path": "/srv/a", "file_path": "/etc/passwd"}, "write"))


DOCS = "https://docs.example.com/**"


@each_row(
    ("pattern", "url", "covered"),
    [
        (DOCS, "https://docs.example.com/a/b?c=d#e", True),
        (DOCS, "https://docs.example.com/", True),
        (DOCS, "http://docs.example.com/a", False),
        (DOCS, "https://docs.example.com.evil.test/a", False),
        (DOCS, "https://docs.example.com@evil.test/a", False),
        (DOCS, "https://evil.test/https://docs.example.com/a", False),
        (DOCS, "https://docs.example.com:8080/a", False),
        (DOCS, "https://docs.example.com\\@evil.test/a", False),
        (DOCS, "https://docs.example.com/a/../b", False),
        (DOCS, "https://docs.example.com/a/%2E%2e/b", False),
        (DOCS, "https://docs.example.com/a\nb", False),
        (DOCS, "https://docs.example.com/a b", False),
        ("https://docs.example.com/*", "https://docs.example.com/a", True),
        ("https://docs.example.com/*", "https://docs.example.com/a/b", False),
        ("https://docs.example.com/*", "https://docs.example.com/a?b", False),
        ("https://*.example.com/**", "https://a.example.com/x", True),
        ("https://*.example.com/**", "https://a.b.example.com/x", False),
        ("https://**.example.com/**", "https://a.b.example.com/x", True),
        ("https://*.example.com/**", "https://evil.test/x.example.com/", False),
        ("https://*.example.com/**", "https://evil.test#.example.com/", False),
        ("https://*.example.com/**", "https://u:p@a.example.com/", False),
        ("https://example.com*", "https://example.com.evil.test/", False),
        ("https://example.com*", "https://example.com/", False),
        ("*", "https://example.com:8080/a", True),
        ("*", "file:///etc/passwd", False),
        ("https://example.com/a?b=c", "https://example.com/a?b=c", True),
    ],
)
def test_addresses(pattern: str, url: str, *, covered: bool) -> None:
    assert covers(grant(pattern, "web_fetch"), call({"url": url}, "web_fetch")) is covered


@each_row(
    ("pattern", "params", "covered"),
    [
        ("telegram 42 send", {"channel": "telegram", "target": "42", "action": "send", "message": "x; y\nz"}, True),
        ("telegram * send", {"channel": "telegram", "target": "@ana", "action": "send"}, True),
        ("telegram * send", {"channel": "telegram", "target": "42", "action": "delete"}, False),
        ("telegram * *", {"channel": "telegram", "target": "42 send", "action": "delete"}, False),
        ("telegram * send", {"channel": "slack", "target": "42", "action": "send"}, False),
        ("- 42 send", {"target": "42", "action": "send"}, True),
        ("telegram 42 send", {"channel": "telegram", "to": "42", "action": "send"}, False),
        ("telegram 42 send", {"channel": "telegram", "target": 42, "action": "send"}, False),
        ("telegram 42 send", {"channel": "telegram", "target": "42", "action": "send", "media": "/etc/passwd"}, False),
        ("*", {"channel": "telegram", "target": "42", "action": "send"}, True),
    ],
)
def test_messages(pattern: str, params: dict[str, Any], *, covered: bool) -> None:
    assert covers(grant(pattern, "message"), call(params, "message")) is covered


@each_row(
    ("pattern", "params", "covered"),
    [
        ('{"action":"list"}', {"action": "list"}, True),
        ('{"action":"list","id":"*"}', {"id": "x y; z", "action": "list"}, True),
        ('{"action":"list","id":"*"}', {"id": 'x","force":"y', "action": "list"}, False),
        ('{"action":"list","id":"*"}', {"id": "x", "action": "list", "force": True}, False),
        ('{"action":"list*', {"action": "list", "force": True}, False),
        ("*", {"anything": ["a", {"b": 'c"'}]}, True),
        ("*", {}, True),
        ("{}", {}, True),
        ("*", {"n": float("nan")}, False),
        ("*", {"n": 2**60}, False),
    ],
)
def test_any_other_tool(pattern: str, params: dict[str, Any], *, covered: bool) -> None:
    assert covers(grant(pattern, "cron"), call(params, "cron")) is covered


def test_deep_params_are_not_covered() -> None:
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]
    assert not covers(grant("*", "cron"), call({"a": deep}, "cron"))


@each_row(
    ("made", "asked", "covered"),
    [
        (grant("ls"), call({"command": "ls"}, "openclaw:core:Exec"), True),
        (grant("ls", "Core:EXEC"), call({"command": "ls"}), True),
        (grant("ls"), call({"command": "ls"}, "bash"), False),
        (grant("ls", "bash"), call({"command": "ls"}, "bash"), True),
        (grant("ls", agent="main"), call({"command": "ls"}, agent="main"), True),
        (grant("ls", agent="main"), call({"command": "ls"}, agent="Main"), False),
        (grant("ls", agent="main"), call({"command": "ls"}), False),
        (grant("ls", expires=NOW), call({"command": "ls"}), False),
        (grant("ls", expires=NOW + 1), call({"command": "ls"}), True),
        (grant("ls", expires=-1.0), call({"command": "ls"}), False),
        (grant("ls", expires=float("nan")), call({"command": "ls"}), False),
        (grant("ls", cwd="/srv"), call({"command": "ls"}, cwd="/srv"), True),
        (grant("ls", cwd="/srv/"), call({"command": "ls", "workdir": "/srv/"}), True),
        (grant("ls", cwd="/srv"), call({"command": "ls"}), False),
        (grant("ls", cwd="/srv"), call({"command": "ls"}, cwd="/srv/sub"), False),
        (grant("ls", cwd="/srv"), call({"command": "ls", "workdir": "/"}, cwd="/srv"), False),
        (grant("ls", cwd="/srv"), call({"command": "ls", "workdir": "sub"}, cwd="/srv"), False),
        (grant("ls", cwd="/srv"), call({"command": "ls", "workdir": "/x/../srv"}), False),
        (grant("ls", cwd="/"), call({"command": "ls"}, cwd="/srv"), False),
        (grant("ls", cwd="/"), call({"command": "ls"}, cwd="/"), True),
    ],
)
def test_tool_agent_time_and_folder(made: Grant, asked: Call, *, covered: bool) -> None:
    assert covers(made, asked) is covered


def test_the_proof_is_not_looked_at_here() -> None:
    assert covers(grant("ls", mac="x"), call({"command": "ls"}))


def test_the_first_that_covers() -> None:
    found = [grant("a"), Grant("g-2", "exec", "b*"), Grant("g-3", "exec", "b")]
    assert covering(call({"command": "b"}), found, NOW) is found[1]


@each_row(
    ("tool", "pattern", "broad", "useless"),
    [
        ("exec", "*", True, False),
        ("exec", "* *", True, False),
        ("exec", "* --version", True, False),
        ("exec", PUSH, False, False),
        ("read", "/**", True, False),
        ("web_fetch", "*", True, False),
        ("web_fetch", "https://example.com*", False, True),
        ("web_fetch", DOCS, False, False),
        ("write", "/srv/../**", False, True),
        ("message", "telegram *", False, True),
        ("message", "telegram * send", False, False),
        ("cron", "*", True, False),
    ],
)
def test_patterns_to_think_about(tool: str, pattern: str, *, broad: bool, useless: bool) -> None:
    made = grant(pattern, tool, expires=NOW)
    assert (bool(grant_matching.too_broad(made)), bool(grant_matching.useless(made))) == (broad, useless)


@each_row(
    "pattern",
    [
        "sudo *", "/usr/bin/sudo *", "sudo -u bob *", "sudo --user bob *", "sudo -nu bob *", "bash *", "bash -c *",
        "sudo bash *", "env *", "env A=1 *", "A=1 sh *", "xargs *", "timeout 5 *", "nice -n 5 *", "eval *", "source *",
        "ssh *", "ssh host *", "ssh -p 22 host *", "ssh host sudo *", "su *", "docker exec *", "docker exec web *",
        "docker exec -it web *", "docker exec web bash *", "docker exec -u 0 web *", "docker *", "kubectl exec pod -- *",
        "python *", "python3.12 *", "python -m *", "python -c *", "node *", "perl -e *", "npx *", "npm *", "uv run *",
        "uv tool *", "sudo apt* install", "busybox sh *", "watch *", "kubectl exec pod *", "ssh * uptime", "awk *",
        "docker compose exec web *", "find . -exec * ;", "systemd-run *", "nix *",
    ],
)  # fmt: skip
def test_programs_that_run_others(pattern: str) -> None:
    assert "can run" in grant_matching.too_broad(grant(pattern, expires=NOW))


@each_row(
    "pattern",
    [
        "sudo", "bash deploy.sh", "sudo systemctl restart *", "bash deploy.sh *", "python -m pytest *",
        "python x.py *", "ssh host uptime *",
        "docker exec -it web ls *", "docker ps *", "kubectl exec pod -- ls *", "npm run *", "npx tsc *",
        "timeout 5 make *", "env A=1 make *", "make *", "echo bash *", "xargs rm *", "kubectl exec pod ls *",
        "npm exec tsc *", "sudo -E make *",
    ],
)  # fmt: skip
def test_what_they_run_is_named(pattern: str) -> None:
    assert grant_matching.too_broad(grant(pattern, expires=NOW)) == ""


def test_a_star_that_never_ends() -> None:
    assert grant_matching.too_broad(grant("make *")) == "the pattern make * contains a * and the grant never ends"
    assert grant_matching.too_broad(grant("make")) == ""


PIECES = st.sampled_from(
    [
        "*",
        "**",
        " ",
        "git",
        "push",
        "-",
        "--x=",
        "a",
        "/",
        ".",
        "..",
        ";",
        "|",
        "$(",
        ")",
        "'",
        '"',
        "&&",
        "=",
        "\n",
        "~",
        "#",
        "?",
    ]
)
TEXTS = st.lists(PIECES, max_size=10).map("".join)


@given(TEXTS, TEXTS)
def test_no_wildcard_stands_for_a_metacharacter(pattern: str, command: str) -> None:
    if matches("words", pattern, command):
        for sign in META - {"*"}:
            assert command.count(sign) == pattern.count(sign), sign
        assert "*" not in command


@given(st.lists(st.sampled_from(["git", "-f", "a", "--x", "+b", ":c", "d/e"]), min_size=1, max_size=6))
def test_no_wildcard_stands_for_an_option(words: list[str]) -> None:
    covered = matches("words", "git *", " ".join(words))
    assert covered == (words[0] == "git" and len(words) > 1 and all(word[0] in "gad" for word in words[1:]))


@given(st.sampled_from(["path", "url", "json", "address", "words"]), TEXTS)
def test_a_text_without_wildcards_is_only_itself(kind: Kind, text: str) -> None:
    plain = text.replace("*", "")
    assert not matches(kind, plain, plain + "x")
    assert matches(kind, plain, plain) or ".." in plain


@each_row("kind", ["path", "url", "json", "address", "words"])
@each_row("piece", ["a", "a ", "a/", "a.", "aab", " a"])
def test_hostile_texts_are_compared_to_their_end(kind: Kind, piece: str) -> None:
    """What tried every way would take hours."""
    pattern = "https://*.a/" + "*a" * 15 + "* a*a *x"
    assert matches(kind, pattern, "https://a.a/" + piece * (15_000 // len(piece))) is False
