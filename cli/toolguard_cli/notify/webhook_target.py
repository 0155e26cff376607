"""A target that gets each event as JSON, by POST.

`X-Toolguard-Signature: t=TIME,v1=HEX`: HEX is the HMAC-SHA256 of `TIME.BODY` under the secret, TIME is seconds since 1970.
`Idempotency-Key` is the same whenever a message is sent again. Redirects are not followed.
"""

from __future__ import annotations

import hmac
import json
import ssl
import time
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection

from toolguard_cli.notify import secret_setting
from toolguard_cli.notify.delivery import Delivery, OutgoingMessage, describe, failed
from toolguard_engine import __version__
from toolguard_engine.config import notify_targets
from toolguard_engine.config.settings import NotifyTarget

CONNECT_SECONDS = 5.0
ANSWER_SECONDS = 45.0
SIGNATURE, KEY = "X-Toolguard-Signature", "Idempotency-Key"
MAX_AFTER = 3_600.0
_OK = range(200, 300)
_LATER = (408, 409, 423, 425, 429)
_SERVER_ERROR = 500


class WebhookTarget:
    def __init__(self, target: NotifyTarget) -> None:
        self._target = target

    def send(self, message: OutgoingMessage) -> Delivery:
        address = str(self._target.webhook)
        try:
            secret = secret_setting.read(self._target.secret, self._target.secret_file)
            status, after = _post(address, _headers(message.key), json.dumps(message.data).encode(), secret)
        except (OSError, HTTPException, ValueError) as error:
            return failed(describe(error), address, str(self._target.secret))
        if status in _OK:
            return Delivery()
        again = status >= _SERVER_ERROR or status in _LATER
        return failed(f"the server answered {status}", again=again, after=after)


def signature(secret: str, at: int, body: bytes) -> str:
    digest = hmac.new(secret.encode(), b"%d.%b" % (at, body), "sha256").hexdigest()
    return f"t={at},v1={digest}"


def _headers(key: str) -> dict[str, str]:
    return {"Content-Type": "application/json", "User-Agent": f"toolguard/{__version__}", KEY: key}


def _post(address: str, headers: dict[str, str], body: bytes, secret: str) -> tuple[int, float]:
    """The status, and after how many seconds the server wants another attempt."""
    url = notify_targets.split(address)
    if url is None or not url.hostname:
        raise ValueError("the address is not a URL")
    if secret:
        headers = {**headers, SIGNATURE: signature(secret, int(time.time()), body)}
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
