"""One message by POST. Redirects are not followed."""

from __future__ import annotations

import ssl
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection

from toolguard_cli.notify.delivery import Delivery, failed
from toolguard_engine import __version__
from toolguard_engine.config import notify_targets

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 45.0
"""Longer than usual: a message that a slow server takes after all must not be sent again."""

MAX_AFTER = 3_600.0
HEADERS = {"Content-Type": "application/json", "User-Agent": f"toolguard/{__version__}"}
_OK = range(200, 300)
_LATER = (408, 409, 423, 425, 429)
_SERVER_ERROR = 500


def send(address: str, headers: dict[str, str], body: bytes) -> Delivery:
    """What the server says. Raises `OSError`, `HTTPException` or `ValueError` if it says nothing."""
    status, after = _post(address, {**HEADERS, **headers}, body)
    if status in _OK:
        return Delivery()
    again = status >= _SERVER_ERROR or status in _LATER
    return failed(f"the server answered {status}", again=again, after=after)


def _post(address: str, headers: dict[str, str], body: bytes) -> tuple[int, float]:
    """The status, and after how many seconds the server wants another attempt."""
    url = notify_targets.split(address)
    if url is None or not url.hostname:
        raise ValueError("the address is not a URL")
    if url.scheme == "https":
        context = ssl.create_default_context()
        connection: HTTPConnection = HTTPSConnection(url.hostname, url.port, timeout=CONNECT_SECONDS, context=context)
    else:
        connection = HTTPConnection(url.hostname, url.port, timeout=CONNECT_SECONDS)
    try:
        connection.connect()
        connection.sock.settimeout(ANSWER_SECONDS)
        connection.request("POST", (url.path or "/") + (f"?{url.query}" if url.query else ""), body, headers)
        answer = connection.getresponse()
        return answer.status, _after(answer)
    finally:
        connection.close()


def _after(answer: HTTPResponse) -> float:
    text = answer.headers.get("Retry-After", "")
    return min(float(text), MAX_AFTER) if text.isascii() and text.isdecimal() else 0.0
