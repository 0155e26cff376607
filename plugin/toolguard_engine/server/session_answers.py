"""Grants for the rest of a session, as the engine uses them: given in chat, used for later calls, ended with the session."""

from __future__ import annotations

import secrets
from collections.abc import Callable

from toolguard_engine.approvals import session_grant, session_grant_record
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.approvals.session_grant_record import SessionGrant
from toolguard_engine.host import session_names
from toolguard_engine.stores import audit_log
from toolguard_engine.stores.ports import AuditLogStore, SessionGrantStore
from toolguard_engine.wording import printable

ENDED = "the session ended"


class SessionAnswers:
    """`clock`: seconds since 1970."""

    def __init__(self, grants: SessionGrantStore, audit: AuditLogStore, clock: Callable[[], float]) -> None:
        self._grants = grants
        self._audit = audit
        self._clock = clock

    def are_any(self) -> bool:
        """Raises `StoreError`."""
        return bool(self._grants.active(self._clock()))

    def covering(self, entry: HeldCall) -> SessionGrant | None:
        """The grant that covers a call; `entry`: as which it would be held. Raises `StoreError`."""
        now = self._clock()
        return session_grant.covering(entry, self._grants.active(now), now)

    def add(self, given: SessionGrant, decision: Decision) -> SessionGrant:
        """The grant with its id; it is in the audit log before it counts. Raises `StoreError`; then there is none."""
        now = self._clock()
        draft = session_grant.draft(given, decision, now)
        return self._grants.add(draft, now, lambda named: self._audit.append([grant_line(named, "grant", now)]))

    def end(self, session: str) -> None:
        """Raises `StoreError`."""
        self._grants.end(session_names.lasting(session), self._log_end)

    def _log_end(self, grant: SessionGrant) -> None:
        now = self._clock()
        if not session_grant_record.is_over(grant, now):
            self._audit.append([grant_line(grant, "revoke", now, ENDED)])


def grant_line(
    grant: SessionGrant, event: str, now: float, why: str = "", by: str = "", where: str = ""
) -> audit_log.AuditEvent:
    """A line for the audit log. `why`, `by`, `where`: of a grant that is taken back."""
    is_given = event == "grant"
    return audit_log.AuditEvent(
        id=secrets.token_hex(8),
        time=audit_log.when(now),
        event=event,
        nonce=grant.nonce,
        tool=printable.plain(grant.tool),
        agent=printable.plain(grant.agent),
        session=printable.plain(grant.session),
        by=grant.by if is_given else by,
        where=grant.where if is_given else where,
        why=grant.reason if is_given else why,
        reason=f"{grant.id}, until {audit_log.when(grant.expires)}",
        shown=session_grant.describe_briefly(grant),
    )
