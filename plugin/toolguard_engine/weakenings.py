"""What the engine says about settings that guard less than what a person accepted: in the gateway's log and in chat.

The rest is in the audit log and in the store (`stores.accepted`), which status, doctor and the dashboard read.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from toolguard_engine import answers
from toolguard_engine.ledger import Decision
from toolguard_engine.stores.accepted import AcceptedSettings, Log, Notice
from toolguard_engine.strictness import Settings

ACCEPT = "toolguard config accept"
MAX_SHOWN = 10
NOTHING = "no setting is weaker than what was accepted"


class Weakenings:
    """Of one gateway under one config. All methods raise `StoreError`."""

    def __init__(self, state_dir: Path, config_path: str, clock: Callable[[], float], log: Log) -> None:
        self._store = AcceptedSettings(state_dir)
        self._config_path = config_path
        self._clock = clock
        self._log = log

    def begin(self, settings: Settings) -> list[str]:
        """The gateway runs with these settings from here on. Lines for its log."""
        found = self._store.ran(self._config_path, settings, self._clock(), self._log, patient=False)
        fresh = {notice.key for notice in found.fresh}
        known = [notice for notice in found.pending if notice.key not in fresh]
        return [*_lines("the guard is WEAKER than before", found.fresh), *_lines("still weaker than accepted", known)]

    def end(self, why: str) -> list[str]:
        """The gateway does not load the plugin any more. Lines for its log."""
        return _lines("the guard ended", self._store.ended(self._config_path, why, self._clock(), self._log).fresh)

    def pending(self) -> list[str]:
        """For a person in a chat; empty where nothing is weaker."""
        found = self._store.pending()
        if not found:
            return []
        return [f"The guard is weaker than what was accepted (/toolguard accept, if you meant it): {told(found)}"]

    def accept(self, decision: Decision) -> str:
        """A person accepts all of it. What that was."""
        taken = self._store.accept(self._store.pending(), self._config_path, decision, self._clock(), self._log)
        return f"accepted: {told(taken)}" if taken else NOTHING


def _lines(what: str, notices: tuple[Notice, ...] | list[Notice]) -> list[str]:
    return [f"{what}: {told(notices)}. If you meant it: {ACCEPT}"] if notices else []


def told(notices: tuple[Notice, ...] | list[Notice]) -> str:
    """In one line."""
    more = f"; and {len(notices) - MAX_SHOWN} more" if len(notices) > MAX_SHOWN else ""
    return answers.plain("; ".join(notice.text for notice in notices[:MAX_SHOWN]) + more)
