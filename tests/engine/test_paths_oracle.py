"""The paths that a real shell and the kernel open, against what the guard thinks of the same words.

Words are put together at random over private folders; bash expands them, `realpath` follows all links. Where that is a
protected file, the call must not be allowed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from effort import ALL
from toolguard_engine.layers import self_protection
from toolguard_engine.model.call import Call, Host
from toolguard_engine.server import install_paths

BASH = shutil.which("bash")
TAIL = ".openclaw/toolguard/key"
MOST = 200
"""Words for one bash process."""

pytestmark = pytest.mark.skipif(BASH is None, reason="there is no bash here")


@dataclass(frozen=True)
class Den:
    """A home folder with a state folder, and a link to each."""

    home: Path

    @property
    def state(self) -> Path:
        return self.home / ".openclaw"

    @property
    def workspace(self) -> Path:
        return self.state / "workspace"

    @property
    def host(self) -> Host:
        return Host(str(self.home), str(self.state), links=install_paths.links_to(str(self.home), str(self.state)))


@pytest.fixture(scope="module")
def den(tmp_path_factory: pytest.TempPathFactory) -> Den:
    top = tmp_path_factory.mktemp("den")
    found = Den(top / "u")
    (found.state / "toolguard").mkdir(parents=True)
    (found.state / "toolguard" / "key").write_text("k")
    (found.state / "openclaw.json").write_text("{}")
    (found.workspace / "src").mkdir(parents=True)
    (found.home / "notes").mkdir()
    (found.home / "notes" / "a.txt").write_text("a")
    (top / "v").symlink_to(found.home)
    (found.home / "oc").symlink_to(found.state)
    return found


FIRST = [
    "",
    "H=$HOME; ",
    "H=~; ",
    "H=/..$HOME; ",
    "cd /; ",
    "cd ~; ",
    "cd ~/notes; ",
    "cd src; ",
    "P=$PWD; cd /tmp; ",
    "cd ~; cd /; ",
    "HOME=${HOME%/*}; ",
    "D=toolguard; ",
    "K=key; D=.openclaw; ",
]
BEGIN = [
    "$HOME",
    "~",
    "${HOME}",
    "/.$HOME",
    "/tmp/..$HOME",
    '"$HOME"',
    "${HOME%/}",
    "/${HOME#/}",
    "${HOME:0}",
    "$PWD/../..",
    "..",
    ".",
    "/.$PWD/..",
    "$H",
    "/.$H",
    "/tmp$H",
    ".$HOME",
    "$P/..",
    "$OLDPWD",
    "~-",
    "~+",
    "/proc/self/root$HOME",
    "/proc/self/cwd/../..",
    "$(echo ~)",
    "`pwd`/..",
    "/{.,}$HOME",
    "${HOME%/*}/u",
    "~/u",
    "../..",
    "../../../v",
    "$HOME/oc",
    "$HOME/../v",
    "$x$HOME",
]
MIDDLE = [
    "/.openclaw",
    "/./.openclaw/.",
    "//.openclaw",
    "/notes/../.openclaw",
    "/.open'claw'",
    "/.o*",
    "/.openc[l]aw",
    "/{.openclaw,x}",
    "/$D",
    "",
    "/oc",
    "/.openclaw/workspace/..",
    "/.openclaw/workspace/src/../..",
    "/notes",
    "/.??enclaw",
]
END = [
    "/toolguard/key",
    "/toolguard/k*",
    "/t*/key",
    '/tool"guard"/key',
    "/$D/key",
    "/toolguard/$K",
    "/openclaw.json",
    "/toolguard/../openclaw.json",
    "/{toolguard,x}/key",
    "/toolguard//key",
    "/toolguard/./key",
    "/a.txt",
    "",
    "/workspace/src",
    "/../.openclaw/toolguard/key",
]

command = st.tuples(*map(st.sampled_from, (FIRST, BEGIN, MIDDLE, END)))


def opened(den: Den, pairs: list[tuple[str, str]]) -> list[set[str]]:
    """What the words of each command expand to in bash, resolved by the kernel. Only `printf` runs."""
    script = "".join(
        f"( {first} printf '%s\\0' {word} | xargs -0 realpath -zqe -- ) 2>/dev/null; printf '\\1\\0'\n"
        for first, word in pairs
    )
    env = {"PATH": os.environ["PATH"], "HOME": str(den.home), "LC_ALL": "C"}
    done = subprocess.run([str(BASH), "-c", script], cwd=den.workspace, env=env, capture_output=True, text=True, check=False)
    return [set(part.split("\0")) - {""} for part in done.stdout.split("\1\0")[: len(pairs)]]


def verdict(den: Den, text: str) -> str:
    found = self_protection.judge(Call("exec", {"command": text}, cwd=str(den.workspace)), den.host)
    return found.decision if found else "allow"


@settings(max_examples=10 if ALL else 1, phases=[Phase.generate], suppress_health_check=list(HealthCheck))
@given(st.lists(command, min_size=MOST, max_size=MOST))
def test_what_bash_opens_is_what_the_guard_sees(den: Den, parts: list[tuple[str, str, str, str]]) -> None:
    pairs = [(first, f"{begin}{middle}{end}") for first, begin, middle, end in parts]
    results = opened(den, pairs)
    assert len(results) == len(pairs)
    key, config = (os.path.realpath(den.state / name) for name in ("toolguard/key", "openclaw.json"))
    for (first, word), paths in zip(pairs, results, strict=True):
        if key in paths:
            assert verdict(den, f"{first}cat {word}") != "allow", (first, word)
        if key in paths or config in paths:
            assert verdict(den, f"{first}tee {word} < new.json") != "allow", (first, word)


def test_the_oracle_finds_the_key(den: Den) -> None:
    (paths, none) = opened(den, [("", f"$HOME/{TAIL}"), ("", "$HOME/nothing")])
    assert paths == {os.path.realpath(den.home / TAIL)}
    assert none == set()
