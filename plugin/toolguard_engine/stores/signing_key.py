"""Signatures with the key that toolguard signs its state with."""

from __future__ import annotations

import hmac

from toolguard_engine.stores.locked import StoreError


class SigningKeyError(StoreError):
    """The key is missing or cannot be trusted."""

    code = "store.key"


def sign(key: bytes, data: bytes) -> str:
    return hmac.digest(key, data, "sha256").hex()


def fits(key: bytes, data: bytes, mac: str) -> bool:
    return hmac.compare_digest(sign(key, data).encode(), mac.encode(errors="replace"))
