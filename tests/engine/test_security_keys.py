"""Signatures of security keys and passkeys, verified by the real ssh-keygen as a gateway does it."""

from __future__ import annotations

import base64
import dataclasses
from pathlib import Path
from typing import Any

import pytest

from software_passkey import NAMESPACE, PRESENT, VERIFIED, SoftwarePasskey, to_sign
from ssh_signers import SshRoom, keygen, sign
from toolguard_engine.approvals import security_keys
from toolguard_engine.model.signed_body import SignedBody
from toolguard_engine.stores import ssh_keygen
from toolguard_engine.stores.ssh_keygen import InvalidSignatureError, SignerFiles

BODY = b'{"nonce":"3f9a51c2d07b"}'
BOTH = PRESENT | VERIFIED
BACKED_UP = 0x18
HOST = "fleet.example"


class PasskeyRoom:
    """A trust root with one passkey, of anna."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.allowed = folder / "allowed_signers"
        self.revoked: Path | None = None

    def allow(self, key: SoftwarePasskey, options: str = f'namespaces="{NAMESPACE}"') -> None:
        self.allowed.write_text(key.line("anna", options))

    def revoke(self, key: SoftwarePasskey) -> None:
        public = self.folder / "key.pub"
        public.write_text(key.line("", "").lstrip())
        self.revoked = self.folder / "krl"
        keygen("-q", "-k", "-f", str(self.revoked), str(public))

    def verify(self, signature: str, body: bytes = BODY) -> str:
        files = SignerFiles(self.allowed, self.revoked)
        return ssh_keygen.verify(SignedBody(body.decode(), signature), NAMESPACE, files, 60.0)


@pytest.fixture
def room(tmp_path: Path) -> PasskeyRoom:
    return PasskeyRoom(tmp_path)


@pytest.fixture
def passkey(room: PasskeyRoom) -> SoftwarePasskey:
    made = SoftwarePasskey(HOST)
    room.allow(made)
    return made


@pytest.mark.parametrize(
    "changed",
    [
        {},
        {"flags": BOTH | BACKED_UP, "counter": 2**32 - 1},
        {"origin": f"https://{HOST}:8443"},
        {"flags": BOTH | 0x80, "extensions": b"\xa0"},
        {"note": "do not compare clientDataJSON against a template"},
    ],
    ids=["plain", "synced", "port", "extensions", "more members"],
)
def test_a_passkey_counts(room: PasskeyRoom, passkey: SoftwarePasskey, changed: dict[str, Any]) -> None:
    assert room.verify(passkey.ssh_signature(BODY, **changed)) == "anna"


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"flags": VERIFIED}, security_keys.ABSENT),
        ({"flags": 0}, security_keys.ABSENT),
        ({"flags": PRESENT}, security_keys.UNVERIFIED),
        ({"origin": "https://evil.example"}, security_keys.OTHER_PAGE),
        ({"origin": f"https://sub.{HOST}"}, security_keys.OTHER_PAGE),
        ({"origin": f"https://{HOST}.evil.example"}, security_keys.OTHER_PAGE),
        ({"origin": f"https://{HOST}@evil.example"}, security_keys.OTHER_PAGE),
        ({"origin": f"https://{HOST}:1/"}, security_keys.OTHER_PAGE),
        ({"origin": f"http://{HOST}"}, security_keys.OTHER_PAGE),
        ({"origin": "https://fleetXexample"}, security_keys.OTHER_PAGE),
        ({"crossOrigin": True}, security_keys.OTHER_PAGE),
        ({"topOrigin": "https://evil.example"}, security_keys.OTHER_PAGE),
        ({"crossOrigin": "no"}, security_keys.UNREADABLE),
    ],
)
def test_what_ssh_keygen_accepts_and_a_gateway_does_not(
    room: PasskeyRoom, passkey: SoftwarePasskey, changed: dict[str, Any], why: str
) -> None:
    signature = passkey.ssh_signature(BODY, **changed)
    (room.folder / "signature").write_text(signature)
    keygen(
        "-Y",
        "verify",
        "-n",
        NAMESPACE,
        "-I",
        "anna",
        "-f",
        str(room.allowed),
        "-s",
        str(room.folder / "signature"),
        given=BODY,
    )
    with pytest.raises(InvalidSignatureError) as raised:
        room.verify(signature)
    assert str(raised.value) == why


@pytest.mark.parametrize(
    "changed",
    [
        {"kind": "webauthn.create"},
        {"challenge": b"x" * 32},
        {"challenge": b""},
        {"challenge": to_sign(b"another call")},
        {"challenge": to_sign(BODY, "toolguard-policy")},
        {"challenge": to_sign(BODY) + b"x"},
        {"namespace": "toolguard-policy"},
        {"rp": "evil.example"},
        {"flags": VERIFIED, "stated": bytes([BOTH])},
        {"flags": BOTH | 0x40},
    ],
    ids=lambda changed: str(changed)[:40],
)
def test_what_ssh_keygen_refuses(room: PasskeyRoom, passkey: SoftwarePasskey, changed: dict[str, Any]) -> None:
    with pytest.raises(InvalidSignatureError):
        room.verify(passkey.ssh_signature(BODY, **changed))


def test_another_key_and_a_revoked_one(room: PasskeyRoom, passkey: SoftwarePasskey) -> None:
    own = passkey.ssh_signature(BODY)
    with pytest.raises(InvalidSignatureError):
        room.verify(SoftwarePasskey(HOST).ssh_signature(BODY))
    with pytest.raises(InvalidSignatureError):
        room.verify(dataclasses.replace(passkey, rp="other.example").ssh_signature(BODY))
    with pytest.raises(InvalidSignatureError):
        room.verify(own, b"{}")
    assert room.verify(own) == "anna"
    room.revoke(passkey)
    with pytest.raises(InvalidSignatureError):
        room.verify(own)


@pytest.mark.parametrize("flags", [0, PRESENT, BOTH])
def test_a_passkey_that_signs_without_a_browser_does_not_count(
    room: PasskeyRoom, passkey: SoftwarePasskey, flags: int
) -> None:
    """A program with access to the authenticator needs no page, and no person's PIN."""
    with pytest.raises(InvalidSignatureError, match=security_keys.NO_PAGE):
        room.verify(passkey.device_signature(BODY, flags))


def test_a_key_of_ssh_keygen_counts_when_it_was_touched(room: PasskeyRoom) -> None:
    key = SoftwarePasskey("ssh:")
    room.allow(key)
    assert room.verify(key.device_signature(BODY)) == "anna"
    with pytest.raises(InvalidSignatureError, match=security_keys.ABSENT):
        room.verify(key.device_signature(BODY, VERIFIED))
    with pytest.raises(InvalidSignatureError, match=security_keys.OTHER_PAGE):
        room.verify(key.ssh_signature(BODY, origin="https://ssh"))


def test_certificates_of_such_keys_are_read_too(room: PasskeyRoom, tmp_path: Path) -> None:
    keys = SshRoom(tmp_path / "authority")
    authority = keys.key("authority")

    def certified(key: SoftwarePasskey) -> SoftwarePasskey:
        (keys.folder / "device.pub").write_text(key.line("", "").lstrip())
        text = keys.certify(authority, keys.folder / "device", "anna").read_text()
        return dataclasses.replace(key, certificate=base64.b64decode(text.split()[1]))

    public = (keys.folder / "authority.pub").read_text()
    room.allowed.write_text(f'anna cert-authority,namespaces="{NAMESPACE}" {public}')
    passkey, device = certified(SoftwarePasskey(HOST)), certified(SoftwarePasskey("ssh:"))
    assert room.verify(passkey.ssh_signature(BODY)) == "anna"
    assert room.verify(device.device_signature(BODY)) == "anna"
    for signature, why in (
        (passkey.ssh_signature(BODY, flags=PRESENT), security_keys.UNVERIFIED),
        (passkey.device_signature(BODY), security_keys.NO_PAGE),
        (device.device_signature(BODY, 0), security_keys.ABSENT),
    ):
        with pytest.raises(InvalidSignatureError, match=why.partition("(")[0]):
            room.verify(signature)


def test_a_key_of_localhost_may_sign_without_tls(room: PasskeyRoom) -> None:
    key = SoftwarePasskey("localhost")
    room.allow(key)
    assert room.verify(key.ssh_signature(BODY, origin="http://localhost:8090")) == "anna"
    with pytest.raises(InvalidSignatureError, match=security_keys.OTHER_PAGE):
        room.verify(key.ssh_signature(BODY, origin="http://localhost.evil.example"))


def test_keys_in_files_are_not_asked_for_a_touch(tmp_path: Path) -> None:
    keys = SshRoom(tmp_path / "keys")
    for kind in ("ed25519", "ecdsa", "rsa"):
        keygen("-q", "-t", kind, "-N", "", "-f", str(keys.folder / kind))
        assert security_keys.shortcoming(sign(BODY, keys.folder / kind)) == ""


def test_a_damaged_signature_is_never_a_fault(passkey: SoftwarePasskey) -> None:
    """Whatever is cut or changed: a verdict, not an exception."""
    head, *lines, tail = passkey.ssh_signature(BODY).splitlines()
    data = base64.b64decode("".join(lines))

    def judged(changed: bytes) -> str:
        return security_keys.shortcoming(f"{head}\n{base64.b64encode(changed).decode()}\n{tail}\n")

    assert judged(data) == ""
    assert judged(data + b"x") == security_keys.UNREADABLE
    for at in range(len(data)):
        assert judged(data[:at]) == security_keys.UNREADABLE, at
        assert isinstance(judged(data[:at] + b"\xff" + data[at + 1 :]), str)
        assert isinstance(judged(data[:at] + b"\xff\xff\xff\xff" + data[at:]), str)
