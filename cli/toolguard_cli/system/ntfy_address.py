"""Addresses of ntfy, which needs no package: `ntfys://host/topic`, or `ntfys://topic` for the public server.

Apprise reads the same addresses, with more options (`?delay=1h`). An address with such an option is left to it.
"""

from __future__ import annotations

import base64
import re
from dataclasses import dataclass
from urllib.parse import SplitResult, parse_qsl, unquote

from toolguard_engine.config import notify_targets

SCHEMES = {"ntfy": "http", "ntfys": "https"}
PUBLIC = "ntfy.sh"
TOKEN = "tk_"  # noqa: S105 - how every token begins
PRIORITIES = ("min", "low", "default", "high", "max")
"""The first is 1."""

_TOPIC = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class NtfyAddress:
    """`server`: the URL that takes messages. `authorization`: empty if none is needed. `priority`: 0 if it is not set."""

    server: str
    topics: tuple[str, ...]
    authorization: str = ""
    priority: int = 0

    @property
    def is_sendable(self) -> bool:
        """Whether the login can stand in a header, where line ends would begin another one."""
        return self.authorization.isascii() and self.authorization.isprintable()


def parse(address: str) -> NtfyAddress | None:
    """None for the address of another service, and for one with options that only apprise knows."""
    url = notify_targets.split(address)
    if url is None or url.scheme not in SCHEMES or not url.hostname or url.fragment:
        return None
    priority = _priority(url)
    place = url.netloc.rpartition("@")[2]
    topics = tuple(unquote(part) for part in url.path.split("/") if part)
    server = f"{SCHEMES[url.scheme]}://{place}"
    if place.lower() == PUBLIC or not topics:
        topics, server = topics or (place,), f"https://{PUBLIC}"
    authorization = _authorization(url)
    if priority is None or not all(_TOPIC.fullmatch(topic) for topic in topics):
        return None
    return NtfyAddress(server, topics, authorization, priority)


def _priority(url: SplitResult) -> int | None:
    """None if there are other options, or it is no priority."""
    options = dict(parse_qsl(url.query, keep_blank_values=True))
    named = options.pop("priority", "").lower()
    if options:
        return None
    if named in ("1", "2", "3", "4", "5"):
        return int(named)
    return PRIORITIES.index(named) + 1 if named in PRIORITIES else None if named else 0


def _authorization(url: SplitResult) -> str:
    user, password = unquote(url.username or ""), unquote(url.password or "")
    if not user and not password:
        return ""
    if user.startswith(TOKEN) and not password:
        return f"Bearer {user}"
    return f"Basic {base64.b64encode(f'{user}:{password}'.encode()).decode()}"
