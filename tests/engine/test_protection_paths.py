"""Paths as the kernel sees them: whatever a word is made of, the file that would be opened decides."""

from __future__ import annotations

from typing import Any

import pytest

from tables import each_row
from toolguard_engine.config.settings import Config
from toolguard_engine.guard import Guard
from toolguard_engine.layers import self_protection
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.files import NoFiles
from toolguard_engine.rules import packs

HOST = Host("/home/u", "/home/u/.openclaw", "/home/u/.openclaw/openclaw.json", ("/opt/tg/plugin",))
GUARD = Guard(Config(), {}, HOST, packs.load())
WORKSPACE = "/home/u/.openclaw/workspace"
RANK = {"allow": 0, "hold": 1, "block": 2}


def weighed(command: str) -> str:
    return GUARD.weigh(Call("exec", {"command": command}, cwd=WORKSPACE)).decision


def protects(command: str) -> str:
    verdict = self_protection.judge(Call("exec", {"command": command}, cwd=WORKSPACE), HOST)
    return verdict.decision if verdict else "allow"


SECRET = ".openclaw/toolguard/key"
HOMES = [
    # a variable inside a word
    "/.$HOME", '/."$HOME"', "/.${HOME}", "/tmp/..$HOME", "/tmp/..${HOME}/.", "/./$HOME", "//$HOME", "${HOME%/}",
    "/${HOME#/}", "${HOME:0}", "/.${HOME:-x}", "${HOME:0:1}home/u", "${HOME%/*}/u", "$HOME/../u", "/home/$(basename ~)/../u",
    # other words for a folder
    "~", "~u", "$(echo ~)", "`echo $HOME`", "/.$(echo ~)", "$PWD/../..", "/.$PWD/../..", "$(pwd)/../..", "/..$(pwd)/../..",
    "~+/../..", ".$HOME/../../../../../../home/u",
    # braces, quotes, detours, doubled slashes, capitals
    "/{.,}$HOME", "/{home,}/u", "/ho'me'/\"u\"", "/home//u", "/home/./u", "/home/x/../u", "/../home/u", "/h\\ome/u",
    # links of processes, and the second name of the disk on macOS
    "/proc/self/root$HOME", "/proc/self/root/home/u", "/proc/1/task/1/root/home/u", "/proc/self/root/proc/self/root/home/u",
    "/proc/self/cwd/../..", "/proc/thread-self/root/home/u", "/System/Volumes/Data/home/u", "/System/Volumes/Data$HOME",
]  # fmt: skip
AHEAD = [  # (what the command does first, what is then the home folder)
    ("H=$HOME", "/.$H"),
    ("H=~", "/tmp/..$H"),
    ("H=/..$HOME", "/tmp$H"),
    ("H=home/u", "/$H"),
    ("export H=$HOME", "/.$H"),
    ("declare H=$HOME", "/.$H"),
    ("HOME=/home", "~/u"),
    ("HOME=/", "~/home/u"),
    ("HOME=/home", "$HOME/u"),
    ("cd /", ".$HOME"),
    ("cd /", "home/u"),
    ("cd ~", "."),
    ("cd ~", "$PWD"),
    ("cd ~", "/.$PWD"),
    ("cd ~; cd /", "$OLDPWD"),
    ("cd ~; cd /", "~-"),
    ("cd ~; cd /; cd -", "."),
    ("P=$PWD; cd /", ".$P/../.."),
    ("P=$(pwd); cd /tmp", "$P/../.."),
    ("HOME=/home; cd", "u"),
]


@each_row("home", HOMES)
def test_spellings_of_the_home_folder(home: str) -> None:
    assert protects(f"cat {home}/{SECRET}") == "block"
    assert protects(f"rm {home}/.openclaw/openclaw.json") == "block"
    assert protects(f"cat new.json > {home}/.openclaw/openclaw.json") != "allow"
    assert weighed(f"rm -rf {home}") == "block"


@each_row(("first", "home"), AHEAD)
def test_spellings_that_the_command_makes_itself(first: str, home: str) -> None:
    assert protects(f"{first}; cat {home}/{SECRET}") == "block"
    assert protects(f"{first}; rm {home}/.openclaw/openclaw.json") == "block"
    assert protects(f"{first}; cat x > {home}/.openclaw/openclaw.json") == "hold"
    assert weighed(f"{first}; rm -rf {home}") == "block"


def test_capitals_make_no_difference_where_they_make_none_to_the_disk() -> None:
    host = Host("/Users/u", "/Users/u/.openclaw")
    assert protects("cat /HOME/U/.OpenClaw/toolguard/KEY") == "block"
    guard = Guard(Config(), {}, host, packs.load())
    for home in ("/users/U", "/USERS/u", "/System/Volumes/Data/USERS/u"):
        assert (
            guard.weigh(Call("exec", {"command": f"rm -rf {home}"}, cwd=f"{host.state_dir}/workspace")).decision == "block"
        )


@each_row(
    "command",
    [
        "ln -s ~ x; cat x/.openclaw/toolguard/key",
        "ln -s / x; cat x/home/u/.openclaw/toolguard/key",
        "ln -sfn ~/.openclaw x; cat x/toolguard/key",
        "ln -s /proc/self/root x; ln -s ~/.openclaw/toolguard y; cat y/key",
        "cp -rs ~ x; cat x/.openclaw/toolguard/key",
        "mkdir a; mount --bind ~ a; cat a/.openclaw/toolguard/key",
        "exec 3< ~/.openclaw/toolguard; cat /proc/self/fd/3/key",
        "exec 3< ~/.openclaw; cat /dev/fd/3/toolguard/key",
        "exec 7< ~; cat /proc/$$/fd/7/.openclaw/toolguard/key",
        "cat ~/.o*/t*/k*",
        "cat /h*/u/.openclaw/toolguard/ke?",
        "cat /.$HOME/.o*/t*/k*",
        "cat /home/$USER/.openclaw/toolguard/key",
        "cat /home/$(whoami)/.openclaw/toolguard/key",
        "cat $x/.openclaw/toolguard/key",
        "cat ~/.openclaw/toolguard/\u212aey",
        "cat ~/.openclaw/toolguard/k\u200dey",
        "rm ~/.openclaw/openclaw.j\u017fon",
        "sh -c \"cat /.$HOME/.openclaw/toolguard/key\"",
        "sh -c 'cat /.$HOME/.openclaw/toolguard/key'",
        "python3 -c \"print(open('/.$HOME/.openclaw/toolguard/key','rb').read())\"",
        "rm /.$OPENCLAW_STATE_DIR/openclaw.json",
        "cat /.$OPENCLAW_STATE_DIR/toolguard/key",
        "rm /.$OPENCLAW_CONFIG_PATH",
    ],
)  # fmt: skip
def test_other_ways_to_a_file(command: str) -> None:
    assert protects(command) == "block"


@each_row(
    "command",
    [
        "cat $D/toolguard/key",
        "cat $A$B/toolguard/key",
        "cat ~/.openclaw/$x/key",
        "cat ~/.openclaw/toolguard/$x",
        "cat ~/$x/toolguard/key",
        "rm ~/.openclaw/$x",
        "echo x > $D/openclaw.json",
        "cp x ${DIR}/openclaw.json",
        "cat < /proc/self/fd/3/toolguard/key",
        "cat /dev/fd/9/toolguard/key",
    ],
)
def test_what_is_only_possible_is_held(command: str) -> None:
    assert protects(command) == "hold"


@each_row(
    "command",
    [
        "tar -czf x.tgz .[^.]* ..?* *",
        "rm -f ../?.log",
        "cp ../?*.txt .",
        "ls ..?*",
        "cat $f",
        'cat "$dir/$name"',
        "cat ~/$x",
        "cat ~/$x/$y/key",
        "cat ../$x/a.txt",
        'find "$DIR" -type f | xargs cat',
        'rm -rf "$BUILD/"*',
        'tar -czf "$OUT/x.tgz" -C "$DIR" .',
        'for f in src/*; do cat "$f"; done',
        "rm -rf /tmp/..foo",
        "rm -rf /tmp/$USER/x",
        "cp -r $HOME/projects/a $HOME/projects/b",
        "cd $PWD/sub && ls",
        "export PATH=$HOME/.local/bin:$PATH",
        "docker run -v $PWD:/app -w /app node npm test",
        "gcc -I$HOME/include -L${HOME}/lib a.c",
        "mkdir -p build$PWD",
        "cd /tmp && cd - && ls",
        "rm -rf $PWD/build ${PWD}/dist",
        "cat ~/.openclaw/logs/$day.log",
        "rm -rf ~/.openclaw/workspace/$name",
        "cat $LOGS/openclaw.log",
        "echo 'the path /.$HOME/.openclaw/openclaw.json is odd'",
        "HOME=/tmp/h npm ci",
        "HOME=$(mktemp -d) git config --global user.name x",
    ],
)
def test_honest_neighbours(command: str) -> None:
    assert protects(command) == "allow"


@each_row(
    ("tool", "params", "decision"),
    [
        ("read", {"path": "/.$HOME/.openclaw/toolguard/key"}, "block"),
        ("read", {"path": "~/.openclaw/toolguard/key"}, "block"),
        ("read", {"path": "@~/.openclaw/toolguard/key"}, "block"),
        ("read", {"path": "file:///home/u/.openclaw/toolguard/%6bey"}, "block"),
        ("read", {"path": "/proc/self/root/home/u/.openclaw/toolguard/key"}, "block"),
        ("read", {"path": "/proc/self/cwd/../toolguard/key"}, "block"),
        ("read", {"path": "/System/Volumes/Data/home/u/.openclaw/toolguard/key"}, "block"),
        ("read", {"path": "/home/u/.openclaw/toolguard/\u212aey"}, "block"),
        ("read", {"path": "/proc/self/fd/3/toolguard/key"}, "hold"),
        ("write", {"path": "/proc/self/root/home/u/.openclaw/openclaw.json", "content": "{}"}, "block"),
        ("edit", {"path": "../openclaw.json", "edits": []}, "hold"),
        ("write", {"path": "/dev/fd/3/.openclaw/openclaw.json", "content": "{}"}, "hold"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Update File: ../openclaw.json\n*** End Patch"}, "hold"),
        ("read", {"path": "src/a?b.txt"}, "allow"),
        ("read", {"path": "/proc/self/fd/3"}, "allow"),
        ("write", {"path": "notes/toolguard.md", "content": "x"}, "allow"),
    ],
)  # fmt: skip
def test_other_tools(tool: str, params: dict[str, Any], decision: str) -> None:
    verdict = self_protection.judge(Call(tool, params, cwd=WORKSPACE), HOST)
    assert (verdict.decision if verdict else "allow") == decision


@each_row(
    ("path", "least"),
    [
        ("$(dirname $PWD)/toolguard/key", "block"),
        ("$(dirname $(pwd))/*/key", "block"),
        ('"$(dirname "$PWD/x")/../toolguard/key"', "block"),
        ("$(dirname $OPENCLAW_STATE_DIR)/.openclaw/toolguard/key", "block"),
        ("$(dirname $x)/toolguard/key", "hold"),
        ("${PWD%workspace}toolguard/key", "block"),
        ("${PWD%/workspace}/toolguard/key", "block"),
        ("${PWD%.openclaw/workspace}.openclaw/toolguard/key", "block"),
        ("${PWD%/.openclaw/workspace}/.openclaw/toolguard/key", "block"),
        ("${PWD/workspace/toolguard}/key", "block"),
        ("${PWD//workspace/toolguard}/key", "block"),
        ("${PWD/%workspace/toolguard}/key", "block"),
    ],
)
def test_the_folder_above_one_whose_name_is_not_known(path: str, least: str) -> None:
    assert protects(f"cat {path}") == least
    assert protects(f"cp {path} x") == least
    assert protects(f"p={path}; cat $p") == least


@pytest.mark.parametrize(
    "command",
    [
        'echo {} > "$(dirname "$PWD")/openclaw.json"',
        'cd "$(dirname "$PWD")/toolguard"; cat key',
        "cd ${PWD%workspace}toolguard; cat key",
    ],
)
def test_the_folder_above_is_gone_to_or_written_in(command: str) -> None:
    assert protects(command) == "block"


@each_row(
    "command",
    [
        'cd "$(dirname "$0")" && npm test',
        'cd "$(dirname "${BASH_SOURCE[0]}")" && rm -rf build',
        'mkdir -p "$(dirname "$f")" && touch "$f"',
        "for f in *.txt; do mkdir -p out/$(dirname $f); cp $f out/$f; done",
        "cp a.txt $(dirname $f)/b.txt",
        "ls $(dirname $PWD)",
        "cd ${PWD%/src} && npm test",
        "echo ${PWD/src/dist}",
    ],
)
def test_folders_of_scripts_and_projects_are_free(command: str) -> None:
    assert weighed(command) == "allow"


class Linked(NoFiles):
    """Links on disk, by path, and what they lead to."""

    def __init__(self, links: dict[str, str]) -> None:
        self.links = links

    def resolve(self, path: str) -> str:
        for link, target in self.links.items():
            if path == link or path.startswith(f"{link}/"):
                return target + path[len(link) :]
        return path


@each_row(
    ("tool", "params", "decision"),
    [
        ("read", {"path": "notes.md"}, "block"),
        ("read", {"path": "own/key"}, "block"),
        ("image", {"path": "/home/u/work/notes.md"}, "block"),
        ("message", {"action": "send", "target": "u", "media": "notes.md"}, "block"),
        ("write", {"path": "own/off", "content": ""}, "block"),
        ("write", {"path": "settings", "content": "{}"}, "block"),
        ("edit", {"path": "settings", "edits": [{"oldText": "a", "newText": "b"}]}, "hold"),
        ("apply_patch", {"input": "*** Begin Patch\n*** Add File: own/off\n+x\n*** End Patch"}, "block"),
        ("read", {"path": "cloud"}, "hold"),
        ("write", {"path": "rc", "content": "x"}, "hold"),
        ("read", {"path": "photos/a.jpg"}, "allow"),
        ("read", {"path": "README.md"}, "allow"),
    ],
)
def test_file_tools_are_followed_through_links_that_lie_on_the_disk(
    tool: str, params: dict[str, object], decision: str
) -> None:
    state = "/home/u/.openclaw"
    links = {
        "notes.md": f"{state}/toolguard/key", "own": f"{state}/toolguard", "settings": f"{state}/openclaw.json",
        "cloud": "/home/u/.aws/credentials", "rc": "/home/u/.bashrc", "photos": "/home/u/Pictures",
    }  # fmt: skip
    files = Linked({f"/home/u/work/{name}": target for name, target in links.items()})
    guard = Guard(Config(), {}, Host("/home/u", state, f"{state}/openclaw.json"), packs.load(), files=files)
    assert guard.weigh(Call(tool, params, cwd="/home/u/work")).decision == decision


@each_row(
    ("number", "last", "decision"),
    [
        (self_protection.MAX_FOLLOWED, "own/key", "block"),
        (self_protection.MAX_FOLLOWED, "src/key", "allow"),
        (self_protection.MAX_FOLLOWED + 1, "own/key", "hold"),
        (self_protection.MAX_FOLLOWED + 1, "/home/u/.openclaw/toolguard/key", "block"),
    ],
)
def test_a_call_with_more_paths_than_are_followed_is_held(number: int, last: str, decision: str) -> None:
    paths = [*(f"src/f{each}.txt" for each in range(number - 1)), last]
    files = Linked({"/home/u/work/own": "/home/u/.openclaw/toolguard"})
    guard = Guard(Config(), {}, Host("/home/u", "/home/u/.openclaw"), packs.load(), files=files)
    found = guard.weigh(Call("read_multiple_files", {"paths": paths}, cwd="/home/u/work"))
    assert found.decision == decision
    assert ("more paths than can be followed" in found.reason) == (decision == "hold")


@each_row("others", [{"a": ["x"] * 10_100}, {"files": [""] * 10_100}, {f"a{number}": 1 for number in range(10_100)}])
def test_no_number_of_other_values_hides_a_path(others: dict[str, object]) -> None:
    guard = Guard(Config(), {}, Host("/home/u", "/home/u/.openclaw"), packs.load())
    found = guard.weigh(Call("write", {**others, "path": "/home/u/.openclaw/toolguard/off", "content": ""}))
    assert found.decision == "block"
