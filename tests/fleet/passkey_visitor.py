"""A person at the fleet dashboard with a passkey that needs no device."""

from __future__ import annotations

import base64
from typing import Any

from fleet_database import Connection
from fleet_page import Answer, FleetPage, PageVisitor, new_token
from software_passkey import SoftwarePasskey, base64url
from ssh_signers import SshRoom


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


class PasskeyVisitor:
    """Opens the page as `http://localhost:PORT`."""

    def __init__(self, page: FleetPage, owner: Connection, person: str) -> None:
        self.person = person
        self.key = SoftwarePasskey("localhost")
        self.place = f"localhost:{page.host.rpartition(':')[2]}"
        self.visitor: PageVisitor = page.log_in(new_token(owner, person))

    @property
    def origin(self) -> str:
        return f"http://{self.place}"

    def ask(self, path: str, body: object = None, **changed: str) -> Answer:
        return self.visitor.ask(path, body, **{"host": self.place, "origin": self.origin, **changed})

    def add(self, **changed: Any) -> Answer:
        body = {"id": base64url(self.key.id), "publicKey": base64url(self.key.spki), "name": "a phone"}
        return self.ask("/api/passkeys/add", {**body, **changed})

    def lines(self) -> list[str]:
        return [each["line"] for each in self.ask("/api/passkeys").json["passkeys"]]

    def trusted(self, room: SshRoom) -> None:
        """The passkey is added, and its line is put into the trust root."""
        assert self.add().status == 200
        with room.allowed.open("a") as file:
            file.write(f"{self.lines()[-1]}\n")

    def begin(self, gateway: str, nonce: str) -> Answer:
        return self.ask("/api/approve/begin", {"gateway": gateway, "nonce": nonce})

    def answer(self, gateway: str, nonce: str, asked: dict[str, Any], **changed: Any) -> dict[str, Any]:
        """What the page sends after the authenticator has signed. `changed`: as in `SoftwarePasskey.assertion`."""
        made = self.key.assertion(decoded(asked["challenge"]), **{"origin": self.origin, **changed})
        return {
            "gateway": gateway, "nonce": nonce, "body": asked["body"], "id": base64url(self.key.id),
            "authenticatorData": base64url(made.authenticator_data), "clientData": base64url(made.client_data),
            "signature": base64url(made.der),
        }  # fmt: skip

    def approve(self, gateway: str, nonce: str, **changed: Any) -> Answer:
        asked = self.begin(gateway, nonce)
        assert asked.status == 200, asked.data
        return self.ask("/api/approve", self.answer(gateway, nonce, asked.json, **changed))
