"""Calls that surely change nothing, and those of which that cannot be said."""

from __future__ import annotations

from typing import Any

import pytest

from toolguard_engine.looks import MAX_COMMAND, only_looks

LOOKS = [
    "ls -la /srv", "cat a b | head -3", "grep -rn foo src 2>/dev/null | wc -l", "rg foo -g '*.py'",
    "find . -name '*.md' -type f", "git status", "git --no-pager log --oneline -5", "git -C /srv diff HEAD~1",
    "git branch -a", "git branch --list 'x*'", "git remote -v", "git stash list", "git config --get user.name",
    "git show HEAD:a.txt", "cd /srv && ls", "test -f x && echo yes || echo no", "[ -d x ]", "[[ -f x ]]",
    "for f in a b; do cat $f; done", "x=$(git status); echo $x", "if [ -f x ]; then cat x; fi", "timeout 5 cat x",
    "nice -n 3 ls", "env LANG=C ls", "env", "LC_ALL=C sort -u x", "date +%s", "date -Iseconds", "sed -n '10,20p' f",
    "sed 's/a/b/g' f", "jq .a f.json", "ps aux | grep node", "df -h", "du -sh .", "id", "uname -a", "/bin/ls",
    "/usr/bin/git status", "cat < f", "cat <<'E'\nhi\nE", "ls > /dev/null 2>&1", "echo $(ls)",
    "find . -name x | xargs grep foo", "which node", "command -v node", "tail -n 3 log", "uniq -c x", "printf '%s' x",
    "pwd", "true", "cat x >&2", "tree -L 2", "stat -c %s f", "sort -k2 -n f",
]  # fmt: skip
MAY_CHANGE = [
    "", "   ", "rm x", "ls > f", "ls >> f", "echo x >| f", "ls &> f", "ls | tee f", "sleep 5", "ls; sleep 1", "wait",
    "find . -delete", "find . -exec cat {} \\;", "find . -fprint f", "find . | xargs rm", "xargs", "sudo cat x",
    "ssh host ls", "docker exec c ls", "sh -c 'rm x'", "python x.py", "./ls", "~/bin/ls", "/opt/ls", "$x", "$(cat x)",
    "git commit -m x", "git branch foo", "git branch -v foo", "git branch -D foo", "git -c core.pager=x log",
    "git log --output=f", "git remote add x y", "git stash", "git remote -v update", "git fetch", "git config a b",
    "git tag v1", "git grep -Ovi x", "sort -o f x", "sort x -of", "uniq a b", "date -s 2020-01-01", "date 010100002026",
    "hostname new", "sed -i s/a/b/ f", "sed -n 'w f' x", "sed 's/a/b/e' f", "sed p f -i", "sed -f s f", "echo `rm x`",
    "cat <(rm x)", "f(){ rm x; }; f", "alias ls=rm; ls", "trap 'rm x' EXIT; ls", "PATH=/x ls", "LD_PRELOAD=x ls",
    "env GIT_EXTERNAL_DIFF=x git diff", "env -i ls", "env -S 'rm x'", "export A=1", "curl x", "exec 3>f; ls",
    "rg --pre x y", "fd -x rm", "time -o f ls; /usr/bin/time -o f ls", "tail -f log", "timeout 5 rm x", "ls (",
    "cat < /dev/tcp/a/80", "ss -K", "file -C x", "tree -o f", "nohup ls", "npm test", "kill 1", "mkdir x",
    "eval ls x; eval rm y", "while ! test -f x; do sleep 1; done", "cat <> f", "ls > >(tee f)", "ls " + "x" * MAX_COMMAND,
]  # fmt: skip


@pytest.mark.parametrize("command", LOOKS)
def test_a_command_that_only_looks(command: str) -> None:
    assert only_looks("exec", {"command": command})


@pytest.mark.parametrize("command", MAY_CHANGE)
def test_a_command_that_may_change_something(command: str) -> None:
    assert not only_looks("exec", {"command": command})


@pytest.mark.parametrize(
    ("tool", "params", "looks"),
    [
        ("read", {"path": "x"}, True),
        ("openclaw:core:Read", {}, True),
        ("memory_search", {"query": "x"}, True),
        ("web_fetch", {"url": "https://example.org"}, True),
        ("process", {"action": "poll", "sessionId": "x"}, True),
        ("process", {"action": "list"}, True),
        ("process", {"action": "kill"}, False),
        ("process", {"action": ["poll"]}, False),
        ("process", None, False),
        ("bash", {"command": "ls"}, True),
        ("exec", {"command": "ls", "workdir": "/srv"}, True),
        ("exec", {"command": "ls", "env": {"PATH": "/x"}}, False),
        ("exec", {"command": "ls", "elevated": True}, False),
        ("exec", {"command": 3}, False),
        ("exec", None, False),
        ("write", {"path": "x", "content": ""}, False),
        ("edit", {}, False),
        ("message", {"action": "read"}, False),
        ("sessions_send", {}, False),
        ("get_weather", {}, False),
        ("", {}, False),
    ],
)
def test_tools(tool: str, params: Any, looks: bool) -> None:  # noqa: FBT001 - a column of the table
    assert only_looks(tool, params) is looks
