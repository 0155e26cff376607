"""A passkey without a device: what a browser and an authenticator make of a challenge, also what honest ones never would."""

from __future__ import annotations

import base64
import json
import secrets
import struct
from dataclasses import dataclass, field
from hashlib import sha256, sha512
from typing import Any

P = 2**256 - 2**224 + 2**192 + 2**96 - 1
N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
NAMESPACE = "toolguard-decision"
PRESENT, VERIFIED = 1, 4
KEY, SK, WEBAUTHN = (
    b"sk-ecdsa-sha2-nistp256@openssh.com",
    b"sk-ecdsa-sha2-nistp256@openssh.com",
    b"webauthn-sk-ecdsa-sha2-nistp256@openssh.com",
)

Point = tuple[int, int] | None


def add(one: Point, other: Point) -> Point:
    """On the curve P-256."""
    if one is None or other is None:
        return one or other
    (x, y), (u, v) = one, other
    if x == u and (y + v) % P == 0:
        return None
    slope = (3 * x * x - 3) * pow(2 * y, -1, P) if one == other else (v - y) * pow(u - x, -1, P)
    w = (slope * slope - x - u) % P
    return w, (slope * (x - w) - y) % P


def times(number: int, point: Point) -> Point:
    total: Point = None
    while number:
        if number & 1:
            total = add(total, point)
        point, number = add(point, point), number >> 1
    return total


def string(data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + data


def integer(value: int) -> bytes:
    return value.to_bytes(value.bit_length() // 8 + 1, "big")


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def to_sign(body: bytes, namespace: str = NAMESPACE) -> bytes:
    """What `ssh-keygen -Y sign` signs (PROTOCOL.sshsig)."""
    return b"SSHSIG" + b"".join(map(string, (namespace.encode(), b"", b"sha512", sha512(body).digest())))


@dataclass(frozen=True)
class MadeAssertion:
    authenticator_data: bytes
    client_data: bytes
    r: int
    s: int

    @property
    def der(self) -> bytes:
        numbers = b"".join(b"\x02" + bytes([len(data)]) + data for data in map(integer, (self.r, self.s)))
        return b"\x30" + bytes([len(numbers)]) + numbers


@dataclass(frozen=True)
class SoftwarePasskey:
    """`rp`: the host of its page, or `ssh:` for a key of `ssh-keygen`. `certificate`: used in place of the key."""

    rp: str = "fleet.example"
    secret: int = field(default_factory=lambda: secrets.randbelow(N - 1) + 1)
    id: bytes = field(default_factory=lambda: secrets.token_bytes(32))
    certificate: bytes = b""

    @property
    def point(self) -> bytes:
        found = times(self.secret, G)
        assert found
        return b"\x04" + found[0].to_bytes(32, "big") + found[1].to_bytes(32, "big")

    @property
    def spki(self) -> bytes:
        """As a browser returns it."""
        return bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200") + self.point

    @property
    def key(self) -> bytes:
        return b"".join(map(string, (KEY, b"nistp256", self.point, self.rp.encode())))

    def line(self, principal: str, options: str = f'namespaces="{NAMESPACE}"') -> str:
        return f"{principal} {options} {KEY.decode()} {base64.b64encode(self.key).decode()}\n"

    def sign(self, data: bytes) -> tuple[int, int]:
        digest = int.from_bytes(sha256(data).digest(), "big")
        once = secrets.randbelow(N - 1) + 1
        point = times(once, G)
        assert point
        r = point[0] % N
        return r, pow(once, -1, N) * (digest + r * self.secret) % N

    def assertion(
        self, challenge: bytes, *, flags: int = PRESENT | VERIFIED, counter: int = 0, origin: str = "", rp: str = "",
        kind: str = "webauthn.get", extensions: bytes = b"", **more: Any,
    ) -> MadeAssertion:  # fmt: skip
        """`more`: members of the client data."""
        members = {"type": kind, "challenge": base64url(challenge), "origin": origin or f"https://{self.rp}"}
        client = json.dumps({**members, "crossOrigin": False, **more}, separators=(",", ":")).encode()
        data = sha256((rp or self.rp).encode()).digest() + bytes([flags]) + struct.pack(">I", counter) + extensions
        return MadeAssertion(data, client, *self.sign(data + sha256(client).digest()))

    def ssh_signature(
        self, body: bytes, *, challenge: bytes | None = None, namespace: str = NAMESPACE, stated: bytes | None = None,
        **changed: Any,
    ) -> str:  # fmt: skip
        """As a gateway gets it. `stated`: flags that the signature claims, instead of those that were signed."""
        made = self.assertion(to_sign(body, namespace) if challenge is None else challenge, **changed)
        origin = json.loads(made.client_data)["origin"].encode()
        data = made.authenticator_data
        about = (stated or data[32:33]) + data[33:37]
        rest = string(origin) + string(made.client_data) + string(data[37:])
        numbers = string(integer(made.r)) + string(integer(made.s))
        return self._armored(string(WEBAUTHN) + string(numbers) + about + rest, namespace)

    def device_signature(self, body: bytes, flags: int = PRESENT, namespace: str = NAMESPACE) -> str:
        """Of a security key that no browser was asked for."""
        about = bytes([flags]) + struct.pack(">I", 0)
        r, s = self.sign(sha256(self.rp.encode()).digest() + about + sha256(to_sign(body, namespace)).digest())
        return self._armored(string(SK) + string(string(integer(r)) + string(integer(s))) + about, namespace)

    def _armored(self, signature: bytes, namespace: str) -> str:
        parts = (self.certificate or self.key, namespace.encode(), b"", b"sha512", signature)
        text = base64.b64encode(b"SSHSIG" + struct.pack(">I", 1) + b"".join(map(string, parts))).decode()
        lines = "\n".join(text[at : at + 70] for at in range(0, len(text), 70))
        return f"-----BEGIN SSH SIGNATURE-----\n{lines}\n-----END SSH SIGNATURE-----\n"
