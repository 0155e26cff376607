"""Which sessions have a run in progress, as far as the gateway part says."""

from __future__ import annotations

MAX_RUNS = 1_000


class SessionRuns:
    def __init__(self) -> None:
        self._sessions: dict[str, str] = {}
        """By run."""

    def begin(self, run: str, session: str) -> None:
        if not (run and session):
            return
        self._sessions[run] = session
        while len(self._sessions) > MAX_RUNS:
            self._sessions.pop(next(iter(self._sessions)))

    def end(self, run: str) -> None:
        self._sessions.pop(run, None)

    def is_busy(self, session: str) -> bool:
        return session in self._sessions.values()
