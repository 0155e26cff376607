"""What each file of the stores survives. All survive the end of a process; this is about power, and about old copies.

`docs/architecture.md` has the same table; a test compares both with what the stores do.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from toolguard_engine.stores import state_files as names

Synced = Literal["always", "sometimes", "never"]
Kind = Literal["decided", "happened", "here"]
"""`decided`: by a person; an archive of the state brings it back. `happened`: it is never turned back on a machine that
knows of later events. `here`: it belongs to this machine and this moment, so it is in no archive."""


class DurableFile(msgspec.Struct, frozen=True):
    """`synced`: whether what was written is on the disk before anybody is told. `restored`: what an old copy does."""

    name: str
    synced: Synced
    power: str
    restored: str
    kind: Kind = "here"


NOTHING = "nothing is lost"
CACHE = "what is lost is found out again"
CHECKED = "what was added since is gone"
FILES = (
    DurableFile(names.KEY, "always", NOTHING, "with another key, nothing that was signed since counts", "decided"),
    DurableFile(names.HELD_CALLS, "always", NOTHING, "approvals that were used since may be used again until they expire"),
    DurableFile(names.HELD_CALLS_JOURNAL, "always", NOTHING, "as nonces.json; one that does not fit it is refused"),
    DurableFile(
        names.AUDIT_LOG, "always", NOTHING, "lines are missing, which the head and the fleet's database show", "happened"
    ),
    DurableFile(names.AUDIT_HEAD, "always", NOTHING, "the log is reported as longer than its head", "happened"),
    DurableFile(names.POLICY, "always", NOTHING, "rules and grants of then, if they are signed", "decided"),
    DurableFile(
        names.EXPIRED_GRANTS,
        "always",
        NOTHING,
        "a grant that expired since may count again if the clock is behind",
        "happened",
    ),
    DurableFile(names.GRANT_SIGNATURES, "always", NOTHING, "grants that were signed since do not count", "decided"),
    DurableFile(names.GRANT_MEANINGS, "always", NOTHING, "grants that were given since do not count", "decided"),
    DurableFile(names.SESSION_GRANTS, "always", NOTHING, "answers for sessions of then, until they end"),
    DurableFile(names.TOOL_ANSWERS, "always", NOTHING, "answers about tools of then", "happened"),
    DurableFile(names.LAST_GOOD, "always", NOTHING, CACHE),
    DurableFile(names.KILL_SWITCH, "always", NOTHING, "a kill switch of then", "happened"),
    DurableFile(
        names.ACCEPTED_SETTINGS, "always", NOTHING, "settings that were accepted since are reported again", "decided"
    ),
    DurableFile(
        names.STANDINGS,
        "sometimes",
        "nothing where budgets hold calls; else the last seconds",
        "budgets of then",
        "happened",
    ),
    DurableFile(names.NOTIFICATIONS, "sometimes", "a notification may be sent twice", "as after a power failure"),
    DurableFile(names.FLEET_IDENTITY, "always", NOTHING, "the fleet sees a copy, and puts the gateway into quarantine"),
    DurableFile(names.FLEET_STATE, "sometimes", "never a change of the kill switch", "asked for again"),
    DurableFile(names.FLEET_USED, "always", NOTHING, "an approval may be used again if the database is an old copy, too"),
    DurableFile(names.FLEET_POLICY, "always", NOTHING, "the policy of then, until the database is reached"),
    DurableFile(names.FLEET_NEWS, "never", CACHE, "nothing: it is only a signal"),
    DurableFile(names.COUNTERS, "never", "counts of malformed and repeated calls", "counts of then"),
    DurableFile(names.MADE_FILES, "never", "which files agents made: their code is read again", CHECKED, "happened"),
    DurableFile(names.MADE_FILES_JOURNAL, "never", "as made-files.json", CHECKED, "happened"),
    DurableFile(names.LAST_ENGINE, "never", "what the last engine reported", "nothing"),
    DurableFile(names.FORWARDED, "never", "lines are sent again", "lines are sent again"),
    DurableFile(names.EXPORTS, "always", NOTHING, "nothing"),
    DurableFile(names.UNDO, "never", "the last entries", "what calls changed since cannot be undone"),
)
"""`standings.db-wal` and `-shm` belong to `standings.db`."""
