"""A target on an ntfy server, which takes each message as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable
from http.client import HTTPException
from typing import Any

from toolguard_cli.notify import http_post
from toolguard_cli.notify.delivery import Delivery, OutgoingMessage, describe, failed
from toolguard_cli.system.ntfy_address import NtfyAddress

MAX_BYTES = 4_000
"""A server shows a longer text as a file."""

_LEFT_OUT = "\n...\n"

BAD_LOGIN = "the token or password in its address has a character that cannot be sent"
MAX_REMEMBERED = 10
"""Messages that some topics took: more than can be under way at once."""


class NtfyTarget:
    """`secrets`: parts of the address that no error may show."""

    def __init__(self, address: NtfyAddress, secrets: Iterable[str] = ()) -> None:
        self._address = address
        self._secrets = tuple(secrets)
        self._settled: dict[str, dict[str, Delivery]] = {}
        """What each topic said to a message, by its key, unless another attempt may change that."""

    def send(self, message: OutgoingMessage) -> Delivery:
        """A topic that has taken the message, or refused it for good, is not sent it again."""
        if not self._address.is_sendable:
            return Delivery(BAD_LOGIN, again=False)
        settled = self._settled.pop(message.key, {})
        done = {topic: settled.get(topic) or self._sent(topic, message) for topic in self._address.topics}
        errors = [delivery for delivery in done.values() if delivery.error]
        open_ones = [delivery for delivery in errors if delivery.again]
        if open_ones:
            self._settled[message.key] = {topic: delivery for topic, delivery in done.items() if delivery not in open_ones}
            for key in list(self._settled)[:-MAX_REMEMBERED]:
                del self._settled[key]
            return max(open_ones, key=lambda delivery: delivery.after)
        return errors[0] if errors else Delivery()

    def _sent(self, topic: str, message: OutgoingMessage) -> Delivery:
        body: dict[str, Any] = {"topic": topic, "title": message.title, "message": _bounded(message.text)}
        if self._address.priority:
            body["priority"] = self._address.priority
        headers = {"Authorization": self._address.authorization} if self._address.authorization else {}
        try:
            return http_post.send(self._address.server, headers, json.dumps(body).encode())
        except (OSError, HTTPException, ValueError) as error:
            return failed(describe(error), *self._secrets)


def _bounded(text: str) -> str:
    """Both ends of a longer text: the last lines say how to answer."""
    whole = text.encode()
    if len(whole) <= MAX_BYTES:
        return text
    half = (MAX_BYTES - len(_LEFT_OUT)) // 2
    return whole[:half].decode(errors="ignore") + _LEFT_OUT + whole[-half:].decode(errors="ignore")
