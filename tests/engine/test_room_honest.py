"""Honest work is the same in a room as without: exit code, output, and the files that it leaves."""

from __future__ import annotations

import hashlib
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import programs
import room_stage
from effort import some
from room_stage import Done, RoomStage

GIT = "git -c user.name=a -c user.email=a@example.org -c init.defaultBranch=main"
SERVER = """python3 -m http.server --bind 127.0.0.1 PORT 2> /dev/null &
for i in $(seq 200); do curl -sf http://127.0.0.1:PORT/ > /dev/null && break; sleep 0.05; done; kill $! && echo ended"""
ENCRYPTED = """mkdir -m 700 g; export GNUPGHOME=$PWD/g
gpg --batch -q --passphrase '' --quick-gen-key a 2> /dev/null
echo x | gpg --batch -q -e -r a --trust-model always | gpg -q -d 2> /dev/null; gpgconf --kill all; rm -r g"""
COMMANDS: tuple[tuple[str, str], ...] = (
    ("git", f"{GIT} init -q a && cd a && echo x > f && git add f && {GIT} commit -qm one && git log --format=%s"),
    ("git", f"{GIT} init -q a && {GIT} -C a commit -q --allow-empty -m one && git clone -q a b && git -C b log --format=%s"),
    ("git", f"{GIT} init -q a && cd a && {GIT} commit -q --allow-empty -m one && git worktree add -q ../w && ls -A ../w"),
    ("git", "git config --global user.name b && git config --global user.name && rm ~/.gitconfig"),
    ("npm", "npm --version"),
    ("npm", "npm init -y > /dev/null && npm pkg get version && ls ~/.npm | wc -l"),
    ("node", "node -e 'console.log(require(\"os\").homedir() === process.env.HOME, process.getuid())'"),
    ("python3", "python3 -m venv --without-pip v && v/bin/python -c 'import sys; print(sys.prefix.endswith(\"/v\"))'"),
    ("python3", "python3 -c 'import sqlite3; d = sqlite3.connect(\"a.db\"); d.execute(\"create table t(a)\")'; ls"),
    ("python3", "python3 -c 'import tempfile, os; f = tempfile.NamedTemporaryFile(); print(os.path.exists(f.name))'"),
    ("python3", "python3 -c 'import multiprocessing as m; print(m.Pool(2).map(abs, [-1, -2]))'"),
    ("gcc", "echo 'int main(){return 7;}' > x.c && gcc -o x x.c && ./x; echo $?"),
    ("make", "printf 'all: a b\\na b:\\n\\techo $@ > $@\\n' > Makefile && make -j2 -s && cat a b"),
    ("tar", "mkdir d && echo x > d/f && ln -s f d/l && tar cf a.tar d && rm -r d && tar xf a.tar && ls -l d | wc -l"),
    ("script", "script -qec 'tty | cut -c1-9; stty size' /dev/null < /dev/null"),
    ("curl", SERVER),
    ("sed", "echo a > f && sed -i s/a/b/ f && cat f && chmod 600 f && stat -c %a f"),
    ("ln", "echo x > f && ln f g && ln -s f h && stat -c %h f && readlink h && mkfifo p && stat -c %F p"),
    ("find", "mkdir -p ~/.cache/tool ~/p && echo x > ~/.cache/tool/f && mv ~/.cache/tool/f ~/p/ && cat ~/p/f"),
    ("find", "find ~/Documents -name '*.txt' -exec cat {} +"),
    ("cp", "cp -a ~/Documents . && cat Documents/report.txt && mv Documents ~/Copies && ls ~/Copies && rm -r ~/Copies"),
    ("flock", "flock lock echo locked; (trap 'echo trapped; exit 3' TERM; kill -TERM $BASHPID; sleep 1); echo $?"),
    ("nohup", "nohup sh -c 'echo late' > out 2>&1 & wait; cat out"),
    ("setsid", "setsid -w sh -c 'ps -o sid= -p $$ | wc -l'"),
    ("ulimit", "ulimit -n; umask; nice -n 5 nice"),
    ("ssh", "ssh -G host.example | grep -E '^(port|hostname) '"),
    ("ssh-keygen", "ssh-keygen -q -t ed25519 -N '' -f k && ssh-keygen -y -f k | cut -d' ' -f1"),
    ("gpg", ENCRYPTED),
    ("unshare", "unshare -U -r id -u; unshare -U -r -m sh -c 'mount -t tmpfs x . && pwd' | wc -l"),
    ("timeout", "timeout 0.2 sleep 60; echo $?"),
    ("cat", "cat ~/.bashrc .. 2>&1 | head -3; ls ~/.ssh; . ~/.openclaw/cache/shell-snapshots/a.sh && echo sourced"),
    ("cat", "cat ~/.openclaw/agents/main/sessions/s.jsonl"),
    ("ls", "ls ~/.openclaw/extensions/toolguard && ls ~/.openclaw/workspace > /dev/null"),
)  # fmt: skip


@pytest.fixture(scope="module")
def stage() -> Iterator[RoomStage]:
    room_stage.needed()
    made = RoomStage()
    yield made
    made.close()


@pytest.mark.parametrize(("program", "text"), some(COMMANDS))
def test_the_same_in_a_room(stage: RoomStage, program: str, text: str, free_port: int) -> None:
    if program not in ("ulimit", "nohup"):
        programs.need(program)
    text = text.replace("PORT", str(free_port))
    plain, held = _worked(stage, text, 0), _worked(stage, text, stage.room())
    assert held == plain
    assert plain[0].code == 0


def _worked(stage: RoomStage, text: str, room: int) -> tuple[Done, dict[str, str]]:
    """What the command says, and what lies in its folder afterwards."""
    folder = stage.workspace / "run"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    stage.furnish()
    done = stage.shell(text, room, cwd=folder)
    return done, {str(path.relative_to(folder)): _content(path) for path in sorted(folder.rglob("*")) if _counts(path)}


def _counts(path: Path) -> bool:
    """Keys and what Git makes differ from time to time."""
    return ".git" not in path.parts and path.name not in ("k", "k.pub", "x", "a.tar", ".git")


def _content(path: Path) -> str:
    mode = f"{path.lstat().st_mode:o} {path.lstat().st_uid}"
    return f"{mode} {hashlib.sha256(path.read_bytes()).hexdigest()}" if path.is_file() else mode


@pytest.fixture
def free_port() -> int:
    with socket.socket() as any_socket:
        any_socket.bind(("127.0.0.1", 0))
        port: int = any_socket.getsockname()[1]
        return port


def test_a_later_call_finds_and_ends_a_server(stage: RoomStage, free_port: int) -> None:
    """As agents do it: start, look who listens, end."""
    programs.need("lsof", "fuser", "curl")
    room = stage.room()
    server = f"echo up; exec python3 -m http.server --bind 127.0.0.1 {free_port} 2> /dev/null"
    pid = stage.ask("start", room=room, argv=["/bin/bash", "-c", server], cwd=str(stage.workspace))["pid"]
    up = f"for i in $(seq 200); do curl -sf http://127.0.0.1:{free_port}/ > /dev/null && break; sleep 0.05; done"
    try:
        found = stage.shell(f"{up}; lsof -ti:{free_port}; fuser {free_port}/tcp 2> /dev/null", room)
        outside = stage.shell(f"lsof -ti:{free_port}", 0)
        stage.shell(f"kill $(lsof -ti:{free_port})", room)
    finally:
        code = stage.ask("end", pid=pid)["code"]
    assert found.out.split() == [str(pid), str(pid)]
    assert outside.out.split() == [str(pid)]
    assert code == -15
