"""A target on an ntfy server, which takes each message as JSON."""

from __future__ import annotations

import json
from http.client import HTTPException
from typing import Any

from toolguard_cli.notify import http_post
from toolguard_cli.notify.delivery import Delivery, OutgoingMessage, describe, failed
from toolguard_cli.system.ntfy_address import NtfyAddress

MAX_BYTES = 4_000
"""A server shows a longer text as a file."""

_LEFT_OUT = "\n...\n"


class NtfyTarget:
    def __init__(self, address: NtfyAddress) -> None:
        self._address = address

    def send(self, message: OutgoingMessage) -> Delivery:
        deliveries = [self._sent(topic, message) for topic in self._address.topics]
        return next((done for done in deliveries if done.error), Delivery())

    def _sent(self, topic: str, message: OutgoingMessage) -> Delivery:
        body: dict[str, Any] = {"topic": topic, "title": message.title, "message": _bounded(message.text)}
        if self._address.priority:
            body["priority"] = self._address.priority
        headers = {"Authorization": self._address.authorization} if self._address.authorization else {}
        try:
            return http_post.send(self._address.server, headers, json.dumps(body).encode())
        except (OSError, HTTPException, ValueError) as error:
            return failed(describe(error), self._address.server, topic)


def _bounded(text: str) -> str:
    """Both ends of a longer text: the last lines say how to answer."""
    whole = text.encode()
    if len(whole) <= MAX_BYTES:
        return text
    half = (MAX_BYTES - len(_LEFT_OUT)) // 2
    return whole[:half].decode(errors="ignore") + _LEFT_OUT + whole[-half:].decode(errors="ignore")
