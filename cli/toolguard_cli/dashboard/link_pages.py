"""Pages that were opened with an answer link, and the limit of invalid links."""

from __future__ import annotations

import secrets
import time
from collections import deque
from collections.abc import Callable
from threading import Lock

MOST_PAGES = 500
MOST_INVALID = 20
WITHIN_SECONDS = 60.0
"""Of more than `MOST_INVALID` invalid links in this time, from anywhere, no more is said. Valid ones go on: nobody can guess
one, and whoever sends invalid ones could keep the person from answering."""

PAGE_BYTES = 16


class LinkPages:
    """Each page gets a secret that is valid for one answer. A restart forgets them: the page then opens its link again."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lock = Lock()
        self._links: dict[str, str] = {}
        self._invalid: deque[float] = deque(maxlen=MOST_INVALID)

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
        with self._lock:
            self._invalid.append(self._clock())

    def is_limited(self) -> bool:
        with self._lock:
            return len(self._invalid) == MOST_INVALID and self._clock() - self._invalid[0] < WITHIN_SECONDS
