"""Sockets of programs that do outside of a room what they are asked, and the door behind which each lies."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_engine.containment import room_tables
from toolguard_engine.containment.room_places import RoomPlaces

DOCKER, PODMAN, TMUX, BUS, SSH_AGENT, GPG = "docker", "podman", "tmux", "bus", "ssh-agent", "gpg"
MACHINES, TASKS = "machines", "tasks"
VARIABLES = ("SSH_AUTH_SOCK", "TMUX_TMPDIR", "DOCKER_HOST", "CONTAINER_HOST")
"""Of the gateway, by which programs find their sockets."""


def sockets(places: RoomPlaces) -> Iterator[tuple[str, str]]:
    """(door, path)."""
    known = _beginnings(places)
    for door, paths in room_tables.load().sockets.items():
        for path in paths:
            first, slash, rest = path.partition("/")
            file = known.get(first, first) + slash + rest.replace("$UID", str(places.uid)).replace("$USER", places.user)
            if file.startswith("/"):
                yield door, file


def _beginnings(places: RoomPlaces) -> dict[str, str]:
    """What a path of the table may begin with."""
    variables = places.environment
    return {
        "~": places.host.home,
        "$RUN": places.runtime or f"/run/user/{places.uid}",
        "$TMUX": variables.get("TMUX_TMPDIR") or "/tmp",  # noqa: S108 - tmux's own default
        **{f"${name}": variables.get(name, "").removeprefix("unix://") for name in VARIABLES},
    }
