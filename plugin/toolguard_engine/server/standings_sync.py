"""The standings of the agents, kept in step with their store: other engines and users change it too."""

from __future__ import annotations

from toolguard_engine.approvals.standing import place_of
from toolguard_engine.layers.autonomy.agent_standings import Autonomy
from toolguard_engine.model.call import Call
from toolguard_engine.server.outbox import Outbox
from toolguard_engine.server.session_state import SessionState
from toolguard_engine.stores.locked import StoreError

UNSAVED_SECONDS = 1.0
CANNOT_SAVE = "the agents' standings cannot be saved"


class StandingsSync:
    """Never raises: what goes wrong is logged, and the guard holds calls (`store_unavailable`) until it is over."""

    def __init__(self, state: SessionState, outbox: Outbox) -> None:
        self._state = state
        self._outbox = outbox
        self._unsaved = 0.0

    def save(self) -> None:
        """Saves before an answer leaves that restricts, or that lets through what is paid for.

        What cannot be saved is tried again; after `UNSAVED_SECONDS` the guard asks a person until it can.
        """
        if self._state.guard.lost and not self._unsaved:
            self.restore()
            if self._state.guard.lost:
                return  # what is there would be written over by one who does not know it
        durable = self._state.guard.autonomy.has_spent
        changed = self._state.guard.autonomy.take_changed()
        if not changed or self._state.standings is None:
            return
        try:
            other = self._state.standings.save(changed, durable=durable)
        except StoreError as error:
            self._state.guard.autonomy.keep_changed(changed, has_spent=durable)
            self._unsaved = self._unsaved or self._state.now()
            self._outbox.warn_once(f"{CANNOT_SAVE}: {error}")
            return
        if self._unsaved:
            self._unsaved, self._state.guard.lost = 0.0, ""
        self._state.guard.autonomy.take_over(other)

    def restore(self, *, patient: bool = False) -> None:
        """How the agents stood before. Where that cannot be read the guard asks a person, and it is tried again.

        What was counted in between was counted without knowing, and goes.
        """
        if self._state.standings is None:
            return
        try:
            standings = self._state.standings.load(patient=patient)
        except StoreError as error:
            self._state.guard.lost = str(error)
            self._outbox.warn_once(f"the agents' earlier standings are unknown: {error}")
            return
        if self._state.guard.lost:
            self._state.guard.lost, self._state.guard.autonomy = "", Autonomy()
        self._state.guard.autonomy.remember(standings)

    def catch_up(self, call: Call) -> None:
        """Takes over what others changed, if the budget can hold calls. What is spent elsewhere meanwhile is seen later."""
        if self._unsaved and self._state.now() - self._unsaved >= UNSAVED_SECONDS:
            self._state.guard.lost = CANNOT_SAVE
        if self._state.standings is None or self._state.guard.lost:
            return
        if self._state.guard.config_for(call.agent).active_budget_mode not in ("enforce", "soft"):
            return
        try:
            other = self._state.standings.other((call.agent, place_of(call)), self._state.guard.autonomy.known(call))
        except StoreError as error:
            self._outbox.warn_once(f"the agents' standings cannot be read: {error}")
            return
        if other is not None:
            self._state.guard.autonomy.take_over([other])
