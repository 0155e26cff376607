"""The person of the demo: a login of the temporary database, and a fresh SSH key that the demo's gateways trust."""

from __future__ import annotations

import secrets
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from toolguard_cli.fleet.fleet_session import user_errors
from toolguard_cli.system import ssh_signing
from toolguard_cli.system.errors import UserError
from toolguard_engine.approvals import signed_decision
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.approvals.signed_decision import DECISION_NAMESPACE, Issuer
from toolguard_engine.stores import ssh_keygen

if TYPE_CHECKING:
    from toolguard_fleet.person_access import PersonSession
    from toolguard_fleet.registry_rows import FleetCall

NAME = "anna"
KEY_SECONDS = 60


@dataclass(frozen=True)
class DemoPerson:
    """`key`: the file with the private key. `dsn`: with the person's login; its password is in a file."""

    key: Path
    dsn: str

    @contextmanager
    def session(self) -> Iterator[PersonSession]:
        """Raises `UserError`."""
        with user_errors():
            from toolguard_fleet import person_access  # noqa: PLC0415 - needs the extra

            with person_access.open_session(self.dsn) as session:
                yield session

    def approve(self, gateway: str, nonce: str) -> None:
        """Raises `UserError`."""
        with self.session() as session:
            row = next((call for call in session.waiting() if (call.gateway, call.nonce) == (gateway, nonce)), None)
            if row is None:
                raise UserError(f"{nonce} is no longer waiting", "start the demo again")
            body = _body(row)
            signature = ssh_signing.sign(body, DECISION_NAMESPACE, ssh_signing.SshKey(NAME, path=str(self.key)))
            session.decide(gateway, nonce, "approved", body, signature.encode(), "the demo")


def _body(row: FleetCall) -> bytes:
    entry = msgspec.json.decode(row.entry or b"", type=HeldCall)
    until = row.created + row.age + row.window + ssh_signing.SECONDS
    return signed_decision.decision_body(entry, Issuer(row.gateway, row.team), until, verdict="approved", need=row.need)


def make_key(trust: Path) -> Path:
    """A new key, which the list of signers in this folder allows. Raises `UserError`."""
    key = trust / NAME
    try:
        command = [ssh_keygen.program(), "-q", "-t", "ed25519", "-N", "", "-C", NAME, "-f", str(key)]
        subprocess.run(command, check=True, capture_output=True, timeout=KEY_SECONDS, stdin=subprocess.DEVNULL)
    except (ssh_keygen.VerifierError, OSError, subprocess.SubprocessError) as error:
        raise UserError(f"cannot create an SSH key: {error}", "install the OpenSSH client") from error
    public = key.with_name(f"{NAME}.pub").read_text()
    (trust / "allowed_signers").write_text(f"{NAME} {public}")
    return key


def register(owner: str, team: str, passfile: Path) -> str:
    """The person's login, made by the owner of the database; its password goes into the file."""
    password = secrets.token_urlsafe(24)
    with user_errors():
        from toolguard_fleet import person_access  # noqa: PLC0415 - needs the extra

        with person_access.open_session(owner) as session:
            session.add_approver(NAME, NAME, "admin", [team], session.verifier(NAME, password))
    add_password(passfile, NAME, password)
    return NAME


def add_password(passfile: Path, login: str, password: str) -> None:
    passfile.touch(mode=0o600)
    with passfile.open("a") as file:
        file.write(f"*:*:*:{login}:{password}\n")
