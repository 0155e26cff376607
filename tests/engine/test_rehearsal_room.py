"""What a command cannot do while it is rehearsed, and what is seen of what it tried."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import room_stage
from room_stage import RoomStage
from toolguard_engine.server import mounted_folders, rehearsal_room
from toolguard_engine.server.rehearsal_room import RehearsalError

RUN = """
import json, os, sys
from toolguard_engine.server import mounted_folders, overlay_changes, rehearsal_room
from toolguard_engine.server.rehearsal_room import RehearsalRoom
asked = json.loads(sys.argv[1])
roots = mounted_folders.roots([asked["home"], "/tmp"])
rules = [tuple(rule[:2]) for rule in asked["rules"]]
room = RehearsalRoom(roots, ["/dev/shm"], rules, asked["holder"], asked["watched"])
try:
    with rehearsal_room.rehearsed(room, ["/bin/bash", "-c", asked["text"]], asked["cwd"]) as ended:
        pairs = zip(roots, ended.uppers)
        changed = [each.path for root, upper in pairs for each in overlay_changes.changes(root, upper)]
        seen = {"code": ended.code, "network": ended.network, "left": ended.left, "opened": ended.opened}
    print(json.dumps({**seen, "changed": changed}))
except rehearsal_room.RehearsalError as error:
    print(json.dumps({"error": str(error)}))
"""


@pytest.fixture(scope="module")
def stage() -> Iterator[RoomStage]:
    room_stage.needed()
    made = RoomStage()
    yield made
    made.close()


def _rehearsed(stage: RoomStage, text: str, *watched: str) -> tuple[str, dict[str, Any]]:
    """What it printed, and what was seen of it."""
    asked = {
        "home": str(stage.home), "rules": stage.rules(), "holder": str(stage.state / "toolguard"), "text": text,
        "watched": [str(stage.home / name) for name in watched], "cwd": str(stage.workspace),
    }  # fmt: skip
    done = stage.run(sys.executable, "-c", RUN, json.dumps(asked))
    assert done.code == 0, done.err
    *printed, seen = done.out.splitlines()
    return "\n".join([*printed, done.err]), json.loads(seen)


def test_the_key_and_the_changes_are_out_of_reach(stage: RoomStage) -> None:
    text = """
        cat ~/.openclaw/toolguard/key; ls ~/.openclaw
        for each in /proc/1/root /proc/1/cwd /proc/1/fd/*; do ls $each/ && echo REACHED; done
        kill -9 1; echo alive; umount ~ && echo REACHED; umount ~/.openclaw && echo REACHED
        unshare -Urm sh -c 'umount ~/.openclaw' && echo REACHED
        ls /proc | grep -c '^[0-9]'"""
    printed, seen = _rehearsed(stage, text)
    assert room_stage.SECRET not in printed
    assert "REACHED" not in printed, printed
    assert "alive" in printed
    assert seen["changed"] == []


def test_nothing_outside_of_the_copy_can_be_changed(stage: RoomStage) -> None:
    other = stage.top / "other"
    other.mkdir(exist_ok=True)
    text = "echo x > /var/lib/x; echo x > /etc/x; echo x > /dev/shm/toolguard-test; echo x > ~/mine; ls /dev/shm; exit 0"
    printed, seen = _rehearsed(stage, text)
    assert "toolguard-test" in printed
    assert not Path("/dev/shm/toolguard-test").exists()
    assert seen["changed"] == [str(stage.home / "mine")]
    assert not (stage.home / "mine").exists()


def test_processes_outside_are_not_seen(stage: RoomStage) -> None:
    waiting = ["/bin/sh", "-c", "echo up; exec sleep 600"]
    outside = stage.ask("start", room=0, argv=waiting, cwd=str(stage.workspace))["pid"]
    try:
        printed, _ = _rehearsed(stage, f"kill -9 {outside}; kill -9 -1; echo no")
        assert Path(f"/proc/{outside}").exists()
        assert "no" in printed or "Killed" in printed
    finally:
        stage.ask("end", pid=outside, kill=True)


def test_what_is_seen(stage: RoomStage) -> None:
    """The network, a server of this machine, what goes on, and credentials."""
    assert _rehearsed(stage, "true")[1] == {"code": 0, "network": False, "left": False, "opened": [], "changed": []}
    assert _rehearsed(stage, "exec 5<>/dev/tcp/127.0.0.1/9")[1]["network"]
    assert _rehearsed(stage, "sleep 100 & exit 3")[1]["left"]
    seen = _rehearsed(stage, "cat ~/.ssh/id_ed25519; ls ~/.aws; kill -TERM $$", ".ssh", ".aws")[1]
    assert seen["opened"] == [str(stage.home / ".ssh/id_ed25519")]
    assert seen["code"] == -15
    stage.shell("mkdir -p ~/.aws/sso/cache; echo x > ~/.aws/sso/cache/token")
    assert _rehearsed(stage, "cat ~/.aws/sso/cache/token", ".aws")[1]["opened"] == [str(stage.home / ".aws/sso/cache/token")]


def test_no_server_of_this_machine_is_reached(stage: RoomStage) -> None:
    """By a path outside of the overlays: `/tmp` has one."""
    if os.geteuid() != 0:
        pytest.skip("only root has such a folder")
    folder = Path(tempfile.mkdtemp(prefix="toolguard-", dir="/var/lib"))
    folder.chmod(0o755)
    try:
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(folder / "s"))
            (folder / "s").chmod(0o777)
            server.listen()
            text = f"python3 -c 'import socket; socket.socket(socket.AF_UNIX).connect(\"{folder}/s\")' && echo REACHED"
            assert "REACHED" in stage.shell(text).out
            printed, _ = _rehearsed(stage, f"{text}; find /run -type s -o -type f; true")
            assert "REACHED" not in printed
            assert "ConnectionRefusedError" in printed
            assert "\n/run/" not in printed
    finally:
        shutil.rmtree(folder)


def test_what_cannot_be_watched_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal_room, "MAX_WATCHED", 3)
    few, many = tmp_path / "few", tmp_path / "many"
    few.mkdir()
    (many / "a/b").mkdir(parents=True)
    handle, watched, missed = rehearsal_room._watch([str(few), str(tmp_path / "absent"), str(many)])
    os.close(handle)
    assert (list(watched.values()), missed) == ([str(few), str(many), str(many / "a")], [str(many)])


def test_where_the_kernel_does_not_let_it(stage: RoomStage) -> None:
    other = RoomStage()
    try:
        other.ask("forbid", what="limit")
        assert "No space left" in _rehearsed(other, "echo x > ~/mine")[1]["error"]
        assert not (other.home / "mine").exists()
    finally:
        other.close()


def test_which_folders_get_an_overlay(tmp_path: Path) -> None:
    home, inner = tmp_path / "home", tmp_path / "home/mounted"
    odd, other = tmp_path / "a,b", tmp_path / "other"
    for folder in (inner, odd, other):
        folder.mkdir(parents=True)
    assert mounted_folders.roots([str(home), str(inner), str(home / "absent")], mounts=[]) == [str(home)]
    assert mounted_folders.roots([str(home)], mounts=[str(inner), "/proc"]) == [str(home), str(inner)]
    assert mounted_folders.roots([str(home)], str(other), []) == [str(home), str(other)]
    for chosen in (str(odd), "/", str(inner)):  # by a model, which gains nothing by it
        assert mounted_folders.roots([str(home)], chosen, []) == [str(home)]
    with pytest.raises(RehearsalError, match="a,b"):
        mounted_folders.roots([str(odd)], mounts=[])
    with pytest.raises(RehearsalError, match="too many"):
        mounted_folders.roots([str(home)], mounts=_many(home))


def _many(home: Path) -> list[str]:
    made = [home / str(number) for number in range(20)]
    for folder in made:
        folder.mkdir()
    return [str(folder) for folder in made]
