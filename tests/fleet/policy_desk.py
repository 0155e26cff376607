"""Policies that are signed with real keys, and pushed."""

from __future__ import annotations

from pathlib import Path

from fleet_database import Connection
from ssh_signers import SshRoom, sign

NAMESPACE = "toolguard-policy"
OPTIONS = f'namespaces="{NAMESPACE}"'
RULE = """
[[rule]]
id = "no-deploy"
run = ["make deploy"]
verdict = "block"
reason = "It publishes the site."
"""


def policy_text(version: int, more: str = RULE, team: str = "ops") -> str:
    return f'version = {version}\nteam = "{team}"\n{more}'


class PolicyAdmin:
    """An admin with a login, and a key that gateways trust for policies only."""

    def __init__(self, connection: Connection, room: SshRoom, name: str = "root") -> None:
        self.connection = connection
        self.key = room.key(name)
        room.allow(f"{name}@example.com", self.key, OPTIONS)

    def sign(self, text: str, namespace: str = NAMESPACE) -> str:
        return sign(text.encode(), self.key, namespace)

    def push(self, version: int, more: str = RULE, team: str = "ops", *, key: Path | None = None) -> str:
        text = policy_text(version, more, team)
        signature = sign(text.encode(), key or self.key, NAMESPACE)
        self.write(team, version, text, signature)
        return text

    def write(self, team: str, version: int, text: str, signature: str) -> None:
        values = (team, version, text.encode(), signature.encode())
        self.connection.execute("SELECT fleet.push_policy(%s, %s, %s, %s)", values)
