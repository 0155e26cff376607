"""A passkey as an SSH key, and what it signs in a browser (WebAuthn) as an SSH signature. Pure.

OpenSSH has a form of signature for this (`webauthn-sk-ecdsa-sha2-nistp256@openssh.com`, PROTOCOL.u2f): the browser's
challenge is just the data that `ssh-keygen -Y sign` signs. So a gateway verifies it with its list of signers, like others.

Everything that comes from the browser is bounded and read strictly. Nothing here proves a signature.
"""

from __future__ import annotations

import base64
from dataclasses import dataclass
from hashlib import sha256, sha512

import msgspec

from toolguard_engine.approvals.security_keys import HOST, MAGIC, PASSKEY_KEY, PASSKEY_SIGNATURE, ClientData
from toolguard_engine.approvals.signed_decision import DECISION_NAMESPACE
from toolguard_engine.model.ssh_wire import WireReader, mpint, number, string

CURVE = b"nistp256"
HASH = b"sha512"
SPKI_HEAD = bytes.fromhex("3059301306072a8648ce3d020106082a8648ce3d030107034200")
"""Before the point in the public key of an EC key on P-256 (RFC 5480)."""

POINT_SIZE = 65
UNCOMPRESSED = 4
NUMBER_SIZE = 32
MAX_CLIENT_DATA = 2_048
MAX_EXTENSIONS = 512
LINE = 70
_INTEGER, _SEQUENCE = 0x02, 0x30


class PasskeyError(ValueError):
    """The text is one line for a person."""


@dataclass(frozen=True)
class Passkey:
    """`rp`: the host of the pages where it signs; `point`: its public key on P-256, uncompressed."""

    rp: str
    point: bytes

    @property
    def key(self) -> bytes:
        """The key in the form of OpenSSH."""
        return b"".join(map(string, (PASSKEY_KEY, CURVE, self.point, self.rp.encode())))

    def line(self, person: str) -> str:
        """The line of `allowed_signers`: the key signs decisions and nothing else."""
        key = base64.b64encode(self.key).decode()
        return f'{person} namespaces="{DECISION_NAMESPACE}" {PASSKEY_KEY.decode()} {key}'


@dataclass(frozen=True)
class Assertion:
    """What the browser returns (`AuthenticatorAssertionResponse`)."""

    authenticator_data: bytes
    client_data: bytes
    signature: bytes


def passkey(rp: str, public_key: bytes) -> Passkey:
    """`public_key`: as the browser returns it (SubjectPublicKeyInfo). Raises `PasskeyError`."""
    point = public_key[len(SPKI_HEAD) :]
    if not public_key.startswith(SPKI_HEAD) or len(point) != POINT_SIZE or point[0] != UNCOMPRESSED:
        raise PasskeyError("this authenticator did not create an ES256 key")
    if not is_host(rp):
        raise PasskeyError("passkeys need a host name: open the page by its name, or as http://localhost:PORT")
    return Passkey(rp, point)


def is_host(name: str) -> bool:
    """Whether a browser makes passkeys for it: no IP address."""
    return HOST.fullmatch(name) is not None and not name.rpartition(".")[2].isdecimal()


def challenge(body: bytes) -> bytes:
    """What the browser has to sign for this text."""
    digest = sha512(body).digest()
    return MAGIC + b"".join(map(string, (DECISION_NAMESPACE.encode(), b"", HASH, digest)))


def ssh_signature(key: Passkey, body: bytes, made: Assertion) -> str:
    """Returns what `ssh-keygen -Y sign` would print. Raises `PasskeyError`."""
    origin = _origin(made.client_data, challenge(body))
    flags, counter, extensions = _authenticator(made.authenticator_data, key.rp)
    numbers = b"".join(map(mpint, _numbers(made.signature)))
    signature = b"".join(
        (string(PASSKEY_SIGNATURE), string(numbers), flags, number(counter),
         string(origin), string(made.client_data), string(extensions))
    )  # fmt: skip
    parts = (key.key, DECISION_NAMESPACE.encode(), b"", HASH, signature)
    text = base64.b64encode(MAGIC + number(1) + b"".join(map(string, parts))).decode()
    lines = (text[at : at + LINE] for at in range(0, len(text), LINE))
    return "\n".join(("-----BEGIN SSH SIGNATURE-----", *lines, "-----END SSH SIGNATURE-----", ""))


def _origin(client_data: bytes, asked: bytes) -> bytes:
    if len(client_data) > MAX_CLIENT_DATA:
        raise PasskeyError("the browser's answer is too large")
    try:
        client = msgspec.json.decode(client_data, type=ClientData)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise PasskeyError("the browser's answer cannot be read") from error
    if client.type != "webauthn.get" or client.challenge != base64.urlsafe_b64encode(asked).rstrip(b"=").decode():
        raise PasskeyError("the passkey signed something else")
    return client.origin.encode()


def _authenticator(data: bytes, rp: str) -> tuple[bytes, int, bytes]:
    """The flags, the counter and the extensions."""
    reader = WireReader(data)
    try:
        host, flags, counter = reader.take(32), reader.take(1), reader.number()
    except ValueError as error:
        raise PasskeyError("the authenticator's answer cannot be read") from error
    extensions = data[37:]
    if len(extensions) > MAX_EXTENSIONS:
        raise PasskeyError("the authenticator's answer is too large")
    if host != sha256(rp.encode()).digest():
        raise PasskeyError("the passkey signed for another host")
    return flags, counter, extensions


def _numbers(der: bytes) -> tuple[int, int]:
    """The two numbers of an ECDSA signature (RFC 3279), in their only form (DER)."""
    try:
        return _sequence(der)
    except ValueError as error:
        raise PasskeyError("the signature cannot be read") from error


def _sequence(der: bytes) -> tuple[int, int]:
    reader = WireReader(der)
    if reader.take(1)[0] != _SEQUENCE or reader.take(1)[0] != len(der) - 2:
        raise ValueError("no sequence")
    pair = (_integer(reader), _integer(reader))
    reader.end()
    return pair


def _integer(reader: WireReader) -> int:
    """Reads a number above 0, and below 2**256."""
    if reader.take(1)[0] != _INTEGER:
        raise ValueError("no number")
    data = reader.take(reader.take(1)[0])
    value = int.from_bytes(data, "big", signed=True)
    if value <= 0 or value.bit_length() > 8 * NUMBER_SIZE or len(data) != value.bit_length() // 8 + 1:
        raise ValueError("not the shortest form of a number of this size")
    return value
