"""Pages that were opened with an answer link, and the limit of invalid links."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from threading import Lock

from toolguard_cli.dashboard.invalid_attempts import InvalidAttempts

MOST_PAGES = 500
PAGE_BYTES = 16


class LinkPages:
    """Each page gets a secret that is valid for one answer. A restart forgets them: the page then opens its link again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._lock = Lock()
        self._links: dict[str, str] = {}
        self._invalid = InvalidAttempts(clock)

    def begin(self, link: str) -> str:
        """The secret of a new page."""
        page = secrets.token_hex(PAGE_BYTES)
        with self._lock:
            while len(self._links) >= MOST_PAGES:
                self._links.pop(next(iter(self._links)))
            self._links[page] = link
        return page

    def take(self, page: str, link: str) -> bool:
        """Whether this page was opened with this link, and has not answered yet."""
        with self._lock:
            return self._links.pop(page, None) == link

    def note_invalid(self) -> None:
        self._invalid.note()

    def is_limited(self) -> bool:
        return self._invalid.is_limited()
