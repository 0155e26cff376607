"""What the signature of a security key or of a passkey says besides being valid. Pure; `stores.ssh_keygen` asks it after the
signature was verified.

`ssh-keygen -Y verify` also accepts signatures for which nobody was present, and of what a browser signs
(`clientDataJSON`) it reads the beginning only: type, challenge and origin, the last as the signature itself states it. So
the rest is checked here. What cannot be read does not count.
"""

from __future__ import annotations

import base64
import binascii
import re

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.model.ssh_wire import WireReader

MAGIC = b"SSHSIG"
PASSKEY_KEY = b"sk-ecdsa-sha2-nistp256@openssh.com"
PASSKEY_SIGNATURE = b"webauthn-sk-ecdsa-sha2-nistp256@openssh.com"
PRESENT, VERIFIED = 0x01, 0x04
"""Flags of the authenticator: the key was touched; it has also asked for a PIN, a fingerprint or a face."""

HOST = lazy_re.compile(r"(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*")
LOCAL = "localhost"

_ARMOR = lazy_re.compile(r"-----BEGIN SSH SIGNATURE-----([A-Za-z0-9+/=\s]+)\n-----END SSH SIGNATURE-----", re.ASCII)
_SECURITY_KEY = b"sk-"
_SSH = b"ssh:"
_FIELDS_BEFORE_APPLICATION = {b"sk-ssh-ed25519": 1, b"sk-ecdsa-sha2-nistp256": 2}

UNREADABLE = "the format of the signature is unknown"
ABSENT = "nobody touched the security key"
UNVERIFIED = "the passkey did not ask for a PIN, a fingerprint or a face"
OTHER_PAGE = "the passkey signed on the page of another address"
NO_PAGE = "the key is a passkey, and did not sign in a browser"


class ClientData(msgspec.Struct, frozen=True):
    """What a browser adds to a signature (WebAuthn, `CollectedClientData`)."""

    type: str
    challenge: str
    origin: str
    cross_origin: bool = msgspec.field(name="crossOrigin", default=False)
    top_origin: str | None = msgspec.field(name="topOrigin", default=None)


def shortcoming(signature: str) -> str:
    """Why this signature, which is valid, does not count; empty where it does, as for keys in files and agents."""
    try:
        key, made = _parts(signature)
        kind = made.string()
        application = _application(key)
        if application is None:
            return "" if not _is_of_device(kind) else UNREADABLE
        return _of_passkey(application, made) if kind == PASSKEY_SIGNATURE else _of_security_key(application, made)
    except (ValueError, UnicodeDecodeError, RecursionError, msgspec.DecodeError):
        return UNREADABLE


def is_origin_of(origin: str, host: str) -> bool:
    """Whether a page of this origin is of this very host. Its port does not matter, as for the browser's own rule."""
    scheme = "https?" if host == LOCAL else "https"
    return re.fullmatch(rf"{scheme}://{re.escape(host)}(:[0-9]{{1,5}})?", origin, re.ASCII) is not None


def _parts(signature: str) -> tuple[bytes, WireReader]:
    """The public key, and the signature itself."""
    match = _ARMOR.match(signature)
    if not match:
        raise ValueError("no signature")
    try:
        data = base64.b64decode("".join(match[1].split()), validate=True)
    except binascii.Error as error:
        raise ValueError("no base64") from error
    whole = WireReader(data)
    if whole.take(len(MAGIC)) != MAGIC or whole.number() != 1:
        raise ValueError("another version")
    key = whole.string()
    for _ in ("namespace", "reserved", "hash"):
        whole.string()
    made = WireReader(whole.string())
    whole.end()
    return key, made


def _is_of_device(kind: bytes) -> bool:
    return kind.startswith(_SECURITY_KEY) or kind == PASSKEY_SIGNATURE


def _application(key: bytes) -> str | None:
    """What the key was made for: `ssh:`, or the host of a page. None for a key that is not on a device."""
    reader = WireReader(key)
    kind = reader.string()
    if not _is_of_device(kind):
        return None
    name = kind.partition(b"@")[0]
    if name.endswith(b"-cert-v01"):
        name = name.removesuffix(b"-cert-v01")
        reader.string()  # the certificate's nonce
    for _ in range(_FIELDS_BEFORE_APPLICATION.get(name, 100)):
        reader.string()
    return reader.string().decode("ascii")


def _of_security_key(application: str, made: WireReader) -> str:
    if not application.startswith(_SSH.decode()):
        return NO_PAGE
    made.string()
    flags = made.take(1)[0]
    made.number()
    made.end()
    return "" if flags & PRESENT else ABSENT


def _of_passkey(application: str, made: WireReader) -> str:
    made.string()
    flags = made.take(1)[0]
    made.number()
    origin, given = made.string().decode("ascii"), made.string()
    made.string()
    made.end()
    client = msgspec.json.decode(given, type=ClientData)
    if not flags & PRESENT:
        return ABSENT
    if not flags & VERIFIED:
        return UNVERIFIED
    is_ours = client.origin == origin and HOST.fullmatch(application) is not None and is_origin_of(origin, application)
    return OTHER_PAGE if not is_ours or client.cross_origin or client.top_origin is not None else ""
