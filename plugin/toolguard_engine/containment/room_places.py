"""What a profile is made from: where this machine has the guard, the gateway, the workspaces and the user's sockets."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from toolguard_engine.model.call import Host


class RoomPlaces(msgspec.Struct, frozen=True):
    """Paths are absolute. `workspaces`: of all agents; `agents`: their ids; `runtime`: the folder of the user's sockets;
    `environment`: the gateway's variables; `runs_elsewhere`: whether the gateway's config may have commands run
    in a sandbox or on a node, where there is no room; `interpreters`: programs and libraries in the home folder that run the
    gateway and the guard; `packages`: what lies in them and is not theirs."""

    host: Host
    workspaces: tuple[str, ...] = ()
    agents: tuple[str, ...] = ()
    uid: int = 0
    user: str = ""
    runtime: str = ""
    environment: Mapping[str, str] = {}
    runs_elsewhere: bool = False
    interpreters: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()
