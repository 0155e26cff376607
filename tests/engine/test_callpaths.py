"""The paths that constraints see in a call: parameters of any tool, programs that read folders whole, code."""

from __future__ import annotations

from typing import Any

import pytest

from toolguard_engine import callpaths, rulepacks
from toolguard_engine.config import Config
from toolguard_engine.constraintform import constraint_from
from toolguard_engine.layers import constraints, rubric
from toolguard_engine.model import Call, Host

HOST = Host("/home/ada", "/home/ada/.openclaw")
BOOK = rulepacks.load()


def speaks(tool: str, params: dict[str, Any], path: str = "/srv/prod/**", severity: str = "mandatory") -> bool:
    call = Call(tool, params, agent="main", cwd="/home/ada/work")
    found = rubric.judge(call, Config(), HOST, BOOK)
    about = constraint_from({"id": "c", "severity": severity, "reason": "No.", "path": [path]})
    judged = constraints.judge(call, found, (about,), HOST)
    return judged.code == "constraint.c" or bool(judged.note)


def run(command: str, path: str = "/srv/prod/**") -> bool:
    return speaks("exec", {"command": command}, path)


@pytest.mark.parametrize(
    "command",
    [
        "grep -rl x /srv",
        "grep --recursive x /",
        "rg x /srv",
        "ls -lR /srv",
        "find /srv -type f | xargs cat",
        "find /srv -type f -exec cat {} +",
        "fd . /srv",
        "tree /srv",
        "du -a /",
        "cd /srv && rg x",
        "cd /srv && find -type f",
        "ln -s /srv /tmp/p",
        "mount --bind /srv /mnt",
        "docker run -v /srv:/x alpine cat /x/prod/a",
        "docker run --volume=/srv:/x alpine cat /x/prod/a",
    ],
)
def test_a_program_that_goes_through_all_below(command: str) -> None:
    assert run(command)


@pytest.mark.parametrize(
    "command",
    ["ls /srv", "ls -la /srv", "rg x /srv/test", "find . -name x", "grep x /srv/a.txt", "docker ps", "find /home/ada/work"],
)
def test_a_program_that_does_not(command: str) -> None:
    assert not run(command)


def test_what_is_looked_through_from_where_it_runs() -> None:
    assert run("rg x", "/home/ada/work/secret/**")
    assert not run("rg x ./src", "/home/ada/work/secret/**")
    assert not run("ls", "/home/ada/work/secret/**")


@pytest.mark.parametrize(
    "command",
    [
        """python3 -c "print(open('/srv/prod/a').read())" """,
        """python3 -c "import os; print(open(os.path.join('/srv', 'prod', 'a')).read())" """,
        """python3 -c "from pathlib import Path; print((Path('/srv') / 'prod' / 'a').read_text())" """,
        """python3 -c "print(open('/srv' + '/prod/a').read())" """,
        """python3 -c "import os; [print(open(r + '/' + x).read()) for r, d, f in os.walk('/srv') for x in f]" """,
        "python3 <<'E'\nprint(open('/srv/prod/a').read())\nE",
        """node -e 'console.log(require("fs").readFileSync("/srv/prod/a"))'""",
        """perl -e 'open F, "</srv/prod/a"; print <F>'""",
    ],
)
def test_code_that_names_it(command: str) -> None:
    assert run(command)


def test_code_that_names_another() -> None:
    assert not run("""python3 -c "print(open('/srv/test/a').read())" """)
    assert run("""python3 -c "open('/srv/x', 'r')" """, "/srv/x")


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("image", {"image": "/srv/prod/a"}),
        ("image", {"images": ["/srv/prod/a"]}),
        ("pdf", {"pdf": "/srv/prod/a"}),
        ("glob", {"pattern": "/srv/prod/*"}),
        ("sessions_spawn", {"task": "x", "cwd": "/srv/prod"}),
        ("mcp__fs__read", {"args": ["/srv/prod/a"]}),
        ("mcp__fs__read", {"x": {"y": {"z": "/srv/prod/a"}}}),
        ("mcp__fs__read", {"file_list": ["/srv/prod/a"]}),
        ("mcp__fs__read", {"names": "/tmp/a, /srv/prod/a"}),
        ("mcp__fs__read", {"names": "/tmp/a\n/srv/prod/a"}),
        ("mcp__fs__read", {"q": "file:///srv/prod/a"}),
        ("mcp__fs__read", {"/srv/prod/a": True}),
    ],
)
def test_parameters(tool: str, params: dict[str, Any]) -> None:
    assert speaks(tool, params)


@pytest.mark.parametrize(
    ("tool", "params"),
    [
        ("message", {"action": "send", "target": "ada", "message": "/srv/prod/a"}),
        ("write", {"path": "a", "content": "/srv/prod/a"}),
        ("mcp__web__get", {"q": "what is in /srv/prod/a"}),
        ("mcp__fs__read", {"args": ["/srv/test/a", 3, None]}),
    ],
)
def test_texts_that_are_none(tool: str, params: dict[str, Any]) -> None:
    assert not speaks(tool, params)


def test_more_parameters_than_are_looked_at() -> None:
    params = {"args": ["/tmp/x"] * (callpaths.MAX_VALUES + 1)}
    assert speaks("mcp__fs__read", params)
    assert not speaks("mcp__fs__read", params, severity="advisory")
