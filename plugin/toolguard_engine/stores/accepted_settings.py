"""Settings that guard less than what was accepted, as values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import sha256

import msgspec

from toolguard_engine.config.strictness import PLUGIN, StrictnessChange
from toolguard_engine.stores.audit_log import AuditEvent
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

MAX_LINE = 280
NOT_KNOWN = (
    "the record of the accepted settings was missing, so the current settings were taken as accepted: "
    "whether they had become weaker is unknown"
)
Log = Callable[[list[AuditEvent]], None]
"""Gets lines for the audit log before the change that they record is stored."""


class Notice(msgspec.Struct, frozen=True):
    """A setting that guards less than the accepted one. `change`: None if the record itself was lost. `since`: seconds since
    1970. `why`: more detail; for a lost record, the settings that guard less than the defaults."""

    since: float
    change: StrictnessChange | None = None
    why: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return (self.change.agent, self.change.name) if self.change else ("", "")

    @property
    def setting(self) -> str:
        return self.change.setting if self.change else ""

    @property
    def text(self) -> str:
        """One line, printable."""
        if self.change is None:
            return f"{NOT_KNOWN}; {self.why}" if self.why else NOT_KNOWN
        if self.change.name == PLUGIN:
            why = f" ({printable.cut(self.why, MAX_LINE)})" if self.why else ""
            return f"the gateway no longer loads toolguard{why}: nothing is guarded"
        return self.change.text


class ChangedMeanwhile(StoreError):  # noqa: N818 - an answer
    """Something else became weaker than what the user saw."""

    code = "settings.changed"


class AcceptedState(msgspec.Struct, frozen=True):
    """The result of a start with some settings. `fresh`: reported for the first time; `over`: no longer weaker."""

    fresh: tuple[Notice, ...] = ()
    over: tuple[Notice, ...] = ()
    pending: tuple[Notice, ...] = ()


def mark(notices: Sequence[Notice]) -> str:
    """Identifies what is weaker, so that a user accepts exactly what was shown."""
    weaker_now = [(notice.key, new_value(notice)) for notice in notices]
    return sha256(repr(sorted(weaker_now)).encode()).hexdigest()[:16]


def new_value(notice: Notice) -> str:
    """The setting's value now, as text; empty for a lost record."""
    return repr(notice.change.new) if notice.change else ""
