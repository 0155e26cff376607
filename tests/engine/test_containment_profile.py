"""The rules of each profile, as tables."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import msgspec
import pytest

from toolguard_engine.config.containment_settings import ContainmentConfig, Profile
from toolguard_engine.containment import credential_doors
from toolguard_engine.containment.profile import profile
from toolguard_engine.containment.room_places import RoomPlaces
from toolguard_engine.containment.rules import RoomRule, behind
from toolguard_engine.model.call import Host

HOME, STATE = "/home/u", "/home/u/.openclaw"
HOST = Host(
    home=HOME, state_dir=STATE, config_path=f"{STATE}/openclaw.json", metrics=f"{STATE}/metrics.db",
    guarded=(f"{STATE}/extensions/toolguard", "/opt/toolguard"), code=("/usr/lib/node_modules/openclaw",),
    secrets=(f"{HOME}/push-token",),
)  # fmt: skip
PLACES = RoomPlaces(
    HOST, (f"{STATE}/workspace", f"{STATE}/workspace-two", f"{HOME}/work"), ("main",), 1000, "u", "/run/user/1000",
    {"SSH_AUTH_SOCK": "/tmp/ssh-x/agent.1"}, interpreters=(f"{HOME}/python/lib/python3.12", f"{HOME}/.nvm/node"),
    packages=(f"{HOME}/python/lib/python3.12/site-packages",),
)  # fmt: skip
PROFILES: tuple[Profile, ...] = ("protect", "secrets", "workspace", "offline")


def rules(name: Profile = "protect", places: RoomPlaces = PLACES, **settings: list[str]) -> set[tuple[str, str, str]]:
    found = profile(ContainmentConfig(profile=name, **settings), places, "main")
    return {(rule.kind, str(rule.path), rule.door) for rule in found}


@pytest.mark.parametrize(
    "rule",
    [
        ("hide", STATE, ""),
        ("hide", f"{HOME}/.clawdbot", ""),
        ("show", f"{STATE}/workspace", ""),
        ("show", f"{STATE}/workspace-two", ""),
        ("show", f"{STATE}/skills", ""),
        ("show", f"{STATE}/media", ""),
        ("read-only", f"{STATE}/cache/shell-snapshots", ""),
        ("read-only", f"{STATE}/extensions", ""),
        ("read-only", f"{STATE}/agents/main/sessions", ""),
        ("read-only", "/opt/toolguard", ""),
        ("read-only", f"{HOME}/python/lib/python3.12", ""),
        ("read-only", f"{HOME}/.nvm/node", ""),
        ("show", f"{HOME}/python/lib/python3.12/site-packages", ""),
        ("read-only", "/usr/lib/node_modules/openclaw", ""),
        ("hide", f"{HOME}/push-token", ""),
        ("read-only", f"{HOME}/.bashrc", "startup"),
        ("read-only", f"{HOME}/.ssh/authorized_keys", "startup"),
        ("read-only", f"{HOME}/.config/autostart", "startup"),
        ("read-only", f"{HOME}/.config/systemd/user", "startup"),
        ("own", "/etc/ssh/ssh_config.d", ""),
        ("hide", "/run/docker.sock", "docker"),
        ("hide", "/run/user/1000/podman", "podman"),
        ("hide", "/tmp/tmux-1000", "tmux"),
        ("hide", "/run/screen/S-u", "tmux"),
        ("hide", "/run/user/1000/zellij", "tmux"),
        ("hide", "/run/user/1000/i3", "bus"),
        ("hide", "/tmp/emacs1000", "bus"),
        ("read-only", f"{HOME}/work/.openclaw/extensions", ""),
        ("hide", "/run/user/1000/bus", "bus"),
        ("hide", "/run/user/1000/systemd", "bus"),
        ("hide", "/tmp/ssh-x/agent.1", "ssh-agent"),
        ("hide", "/run/user/1000/gnupg", "gpg"),
    ],
)
def test_protect(rule: tuple[str, str, str]) -> None:
    for name in PROFILES:
        assert rule in rules(name)


def test_nothing_of_the_state_is_shown_but_what_agents_work_on() -> None:
    shown = {path for kind, path, _ in rules() if kind in ("show", "read-only") and path.startswith(f"{STATE}/")}
    for name in (
        "toolguard",
        "openclaw.json",
        "credentials",
        "agents",
        "agents/main/agent",
        "identity",
        "metrics.db",
        "cache",
    ):
        assert f"{STATE}/{name}" not in shown


def test_a_workspace_in_the_guards_own_folder_is_not_shown() -> None:
    places = msgspec.structs.replace(PLACES, workspaces=(f"{STATE}/toolguard/w", f"{STATE}/toolguard", f"{STATE}/w"))
    shown = {path for kind, path, _ in rules(places=places) if kind == "show"}
    assert f"{STATE}/w" in shown
    assert not {path for path in shown if path.startswith(f"{STATE}/toolguard")}


def test_people_work_on_these() -> None:
    for name in (".gitconfig", ".config/git/config", ".vimrc", "work", ".config", ".cache"):
        assert not {rule for rule in rules() if rule[1] == f"{HOME}/{name}"}


def test_what_lies_elsewhere_is_kept_there() -> None:
    host = Host(
        home=HOME, state_dir="/srv/state", config_path="/etc/gateway.json", metrics="/srv/metrics.db",
        guarded=("/etc/included.json",),
    )  # fmt: skip
    found = rules(places=msgspec.structs.replace(PLACES, host=host))
    assert {("hide", "/srv/state", ""), ("hide", "/etc/gateway.json", ""), ("hide", "/srv/metrics.db.token", "")} <= found
    assert {("read-only", "/srv/metrics.db", ""), ("read-only", "/etc/included.json", "")} <= found
    assert ("hide", STATE, "") in found


def test_secrets() -> None:
    more = rules("secrets") - rules()
    assert ("hide", f"{HOME}/.ssh", "keys:.ssh") in more
    assert ("show", f"{HOME}/.ssh/known_hosts", "keys:.ssh") in more
    assert ("hide", f"{HOME}/.aws/credentials", "keys:.aws") in more
    assert ("hide", f"{HOME}/.local/share/keyrings", "keys:.local") in more
    assert all(door for _, _, door in more)


def test_each_profile_keeps_what_the_one_before_keeps() -> None:
    for less, more in pairwise(PROFILES):
        assert rules(less) < rules(more)


def test_workspace() -> None:
    more = rules("workspace", write=["~/data", "/srv/out"]) - rules("secrets")
    assert ("read-only", "/", "") in more
    for path in (f"{STATE}/workspace", f"{HOME}/work", "/tmp", f"{HOME}/.cache", f"{HOME}/data", "/srv/out", "/dev"):
        assert ("write", path, "") in more
    assert HOME not in {path for _, path, _ in more}


def test_offline() -> None:
    assert ("offline", "/", "") in rules("offline") - rules("workspace")


def test_off() -> None:
    assert rules("off") == set()


def test_an_open_door_takes_its_rules_away_and_no_other() -> None:
    found = profile(ContainmentConfig(profile="secrets"), PLACES)
    opened = behind(found, frozenset({"docker", "keys:.ssh"}))
    gone = set(found) - set(opened)
    assert {rule.door for rule in gone} == {"docker", "keys:.ssh"}
    assert RoomRule("hide", Path(STATE)) in opened


def test_each_credential_has_a_door_that_its_programs_open() -> None:
    doors = {door for door, _ in credential_doors.places(HOME)}
    opened = {door for program in credential_doors.owners() for door in credential_doors.opened_by(program)}
    assert opened <= doors
