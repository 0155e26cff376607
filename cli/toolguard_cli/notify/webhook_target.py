"""A target that gets each event as JSON, by POST.

`X-Toolguard-Signature: t=TIME,v1=HEX`: HEX is the HMAC-SHA256 of `TIME.BODY` under the secret, TIME is seconds since 1970.
`Idempotency-Key` is the same whenever a message is sent again.
"""

from __future__ import annotations

import hmac
import json
import time
from http.client import HTTPException

from toolguard_cli.notify import http_post
from toolguard_cli.notify.delivery import Delivery, OutgoingMessage, describe, failed
from toolguard_cli.system import secret_setting
from toolguard_engine.config.settings import NotifyTarget

SIGNATURE, KEY = "X-Toolguard-Signature", "Idempotency-Key"


class WebhookTarget:
    def __init__(self, target: NotifyTarget) -> None:
        self._target = target

    def send(self, message: OutgoingMessage) -> Delivery:
        address, body, headers = str(self._target.webhook), json.dumps(message.data).encode(), {KEY: message.key}
        try:
            if secret := secret_setting.read(self._target.secret, self._target.secret_file):
                headers[SIGNATURE] = signature(secret, int(time.time()), body)
            return http_post.send(address, headers, body)
        except (OSError, HTTPException, ValueError) as error:
            return failed(describe(error), address, str(self._target.secret))


def signature(secret: str, at: int, body: bytes) -> str:
    digest = hmac.new(secret.encode(), b"%d.%b" % (at, body), "sha256").hexdigest()
    return f"t={at},v1={digest}"
