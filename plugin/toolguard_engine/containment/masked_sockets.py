"""Sockets of programs that do outside of a room what they are asked, and the door behind which each lies."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.containment.room_places import RoomPlaces

DOCKER, PODMAN, TMUX, BUS, SSH_AGENT, GPG = "docker", "podman", "tmux", "bus", "ssh-agent", "gpg"


def sockets(places: RoomPlaces) -> Iterator[tuple[str, str]]:
    """(door, path)."""
    home, run, variables = places.host.home, places.runtime or f"/run/user/{places.uid}", places.environment
    temporary = variables.get("TMUX_TMPDIR") or "/tmp"  # noqa: S108 - tmux's own default
    yield DOCKER, "/run/docker.sock"
    yield DOCKER, f"{run}/docker.sock"
    yield DOCKER, f"{home}/.docker/run"
    yield PODMAN, "/run/podman"
    yield PODMAN, f"{run}/podman"
    yield TMUX, f"{temporary}/tmux-{places.uid}"
    yield TMUX, f"/run/screen/S-{places.user}"
    yield TMUX, f"{home}/.screen"
    yield BUS, f"{run}/bus"
    yield BUS, f"{run}/systemd"
    yield from ((SSH_AGENT, f"{run}/{name}") for name in ("keyring", "gcr", "ssh-agent.socket", "openssh_agent"))
    if (agent := variables.get("SSH_AUTH_SOCK", "")).startswith("/"):
        yield SSH_AGENT, agent
    yield GPG, f"{run}/gnupg"
    yield from ((GPG, f"{home}/.gnupg/{name}") for name in ("S.gpg-agent", "S.gpg-agent.extra", "S.gpg-agent.ssh"))
