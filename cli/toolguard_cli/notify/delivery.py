"""What a target did with one message."""

from __future__ import annotations

import socket
import ssl
from dataclasses import dataclass
from http.client import HTTPException
from typing import Any, Protocol

from toolguard_engine.wording import printable, redact

MAX_ERROR = 160


@dataclass(frozen=True)
class OutgoingMessage:
    """`key`: the same for each attempt to send it. `data`: for programs."""

    key: str
    title: str
    text: str
    data: dict[str, Any]


@dataclass(frozen=True)
class Delivery:
    """`error`: empty if it was delivered. `again`: a later attempt may work; `after`: not before so many seconds."""

    error: str = ""
    again: bool = True
    after: float = 0.0


class Sender(Protocol):
    def send(self, message: OutgoingMessage) -> Delivery:
        """One attempt. Never raises."""


def describe(error: Exception) -> str:
    """An error without names of Python."""
    match error:
        case ConnectionRefusedError():
            return "connection refused"
        case TimeoutError():
            return "no answer in time"
        case socket.gaierror():
            return "the host is unknown, or there is no network"
        case ssl.SSLCertVerificationError():
            return f"the certificate is not valid: {error.verify_message}"
        case HTTPException():
            return "the answer is not HTTP, or it ended early"
        case OSError():
            return f"{(error.strerror or str(error) or 'it failed').lower()}"
    return str(error)


def failed(error: object, *secrets: str, again: bool = True, after: float = 0.0) -> Delivery:
    """An error as it may be shown: one line, without the parts of an address."""
    text = str(error)
    for secret in sorted(filter(None, secrets), key=len, reverse=True):
        text = text.replace(secret, "***")
    return Delivery(printable.cut(redact.redact_text(text), MAX_ERROR) or "it failed", again, after)
