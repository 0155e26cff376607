"""What the engine says about settings that guard less than what a person accepted: in the gateway's log and in chat.

The rest is in the audit log and in the store (`stores.accepted_settings`), which status, doctor and the dashboard read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hmac import compare_digest
from pathlib import Path

from toolguard_engine.approvals.ledger import Decision
from toolguard_engine.config.strictness import EffectiveSettings
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.accepted_settings import Log, Notice, mark
from toolguard_engine.wording import printable

ACCEPT = "toolguard config accept"
MAX_SHOWN = 10
MAX_IN_CHAT = 100
"""Who accepts in a chat has seen all of it there."""
NOTHING = "no setting is weaker than what was accepted"
NO_MARK = "Nothing was accepted: the command needs the code that is shown with the list."
OTHER_MARK = "Nothing was accepted: this code does not match what is weaker now."


class Weakenings:
    """The weakened settings of one gateway under one config. All methods raise `StoreError`."""

    def __init__(self, state_dir: Path, config_path: str, clock: Callable[[], float], log: Log) -> None:
        self._store = stores.accepted_settings(state_dir)
        self._config_path = config_path
        self._clock = clock
        self._log = log

    def begin(self, settings: EffectiveSettings) -> list[str]:
        """The gateway runs with these settings from here on. Lines for its log."""
        state = self._store.ran(self._config_path, settings, self._clock(), self._log, patient=False)
        fresh = {notice.key for notice in state.fresh}
        known = [notice for notice in state.pending if notice.key not in fresh]
        lost = [notice for notice in state.fresh if notice.change is None]
        weaker = [notice for notice in state.fresh if notice.change]
        return [
            *(f"{printable.plain(notice.text)}. If this is intended, run: {ACCEPT}" for notice in lost),
            *_lines("the guard is WEAKER than before", weaker),
            *_lines("still weaker than the accepted settings", known),
        ]

    def end(self, why: str) -> list[str]:
        """The gateway no longer loads the plugin. Lines for its log."""
        return _lines("the guard stopped", self._store.ended(self._config_path, why, self._clock(), self._log).fresh)

    def pending(self) -> list[str]:
        """Tells a person in a chat all that is weaker, with the mark that accepts it; empty where nothing is weaker."""
        notices = self._store.pending()
        return [_shown_in_chat(notices)] if notices else []

    def accept(self, decision: Decision, seen: str) -> str:
        """A person accepts what has the mark `seen`: what that was. Where something else is weaker by now, or no mark is
        given, nothing is accepted, and all of it is shown with its mark."""
        notices = self._store.pending()
        if not notices:
            return NOTHING
        if len(notices) > MAX_IN_CHAT or not compare_digest(mark(notices).encode(), seen.encode(errors="replace")):
            return f"{OTHER_MARK if seen else NO_MARK} {_shown_in_chat(notices)}"
        return f"accepted: {_listed(self._store.accept(notices, self._config_path, decision, self._clock(), self._log))}"


def _shown_in_chat(notices: list[Notice]) -> str:
    weaker = f"The guard is weaker than what was accepted: {_listed(notices, MAX_IN_CHAT)}."
    if len(notices) > MAX_IN_CHAT:
        return f"{weaker} That is too much to show in a chat. If this is intended, run in a terminal: {ACCEPT}"
    return f"{weaker} If this is intended, send: /toolguard accept {mark(notices)}"


def _lines(what: str, notices: tuple[Notice, ...] | list[Notice]) -> list[str]:
    return [f"{what}: {_listed(notices)}. If this is intended, run: {ACCEPT}"] if notices else []


def _listed(notices: Sequence[Notice], limit: int = MAX_SHOWN) -> str:
    """Lists them in one line."""
    more = f"; and {len(notices) - limit} more" if len(notices) > limit else ""
    return printable.plain("; ".join(notice.text for notice in notices[:limit]) + more)
