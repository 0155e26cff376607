"""The paths that rules see in a call: parameters of any tool, programs that read whole folders, code."""

from __future__ import annotations

from typing import Any

from tables import each_row
from toolguard_engine.effects.calls import call_paths
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.layers import constraints, rubric
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.model.call import Call, Host
from toolguard_engine.rules import packs
from toolguard_engine.rules.rulebook import rule_from

HOST = Host("/home/ada", "/home/ada/.openclaw")
BOOK = packs.load()


def speaks(tool: str, params: dict[str, Any], path: str = "/srv/prod/**", severity: str = "mandatory") -> bool:
    call = Call(tool, params, agent="main", cwd="/home/ada/work")
    about = rule_from({"id": "constraint.c", "severity": severity, "reason": "No.", "path": [path]}, "constraint")
    given = LayerInput(CallReading(call, HOST), BOOK.plus((about,)))
    found = rubric.weighed(given.reading, given.config, given.rules)
    judged = constraints.judge(given, found) or found
    return judged.code == "constraint.c" or bool(judged.note)


def run(command: str, path: str = "/srv/prod/**") -> bool:
    return speaks("exec", {"command": command}, path)


@each_row(
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
def test_programs_that_descend_into_folders(command: str) -> None:
    assert run(command)


@each_row(
    "command",
    ["ls /srv", "ls -la /srv", "rg x /srv/test", "find . -name x", "grep x /srv/a.txt", "docker ps", "find /home/ada/work"],
)
def test_programs_that_do_not_descend(command: str) -> None:
    assert not run(command)


def test_programs_that_search_their_working_directory() -> None:
    assert run("rg x", "/home/ada/work/secret/**")
    assert not run("rg x ./src", "/home/ada/work/secret/**")
    assert not run("ls", "/home/ada/work/secret/**")


@each_row(
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
def test_code_that_names_the_path(command: str) -> None:
    assert run(command)


def test_code_that_names_another_path() -> None:
    assert not run("""python3 -c "print(open('/srv/test/a').read())" """)
    assert run("""python3 -c "open('/srv/x', 'r')" """, "/srv/x")


@each_row(
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


@each_row(
    ("tool", "params"),
    [
        ("message", {"action": "send", "target": "ada", "message": "/srv/prod/a"}),
        ("write", {"path": "a", "content": "/srv/prod/a"}),
        ("mcp__web__get", {"q": "what is in /srv/prod/a"}),
        ("mcp__fs__read", {"args": ["/srv/test/a", 3, None]}),
    ],
)
def test_texts_that_are_not_paths(tool: str, params: dict[str, Any]) -> None:
    assert not speaks(tool, params)


def test_more_parameters_than_the_limit() -> None:
    params = {"args": ["/tmp/x"] * (call_paths.MAX_VALUES + 1)}
    assert speaks("mcp__fs__read", params)
    assert not speaks("mcp__fs__read", params, severity="advisory")
