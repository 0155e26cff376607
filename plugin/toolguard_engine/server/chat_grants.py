"""Grants that a person gives in chat together with an approval: stored, and in the audit log before they count."""

from __future__ import annotations

import secrets
from collections.abc import Callable

import msgspec

from toolguard_engine.approvals import repeatable_calls
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.stores import audit_log
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import AuditLogStore, GrantStore
from toolguard_engine.wording import printable


class ChatGrants:
    """`clock`: seconds since 1970."""

    def __init__(self, grants: GrantStore, audit: AuditLogStore, clock: Callable[[], float]) -> None:
        self._grants = grants
        self._audit = audit
        self._clock = clock

    def add(self, narrow: Grant, period: str, approved: HeldCall, decision: Decision) -> Grant:
        """The grant with its id. Raises `StoreError`; then there is none."""
        reason = decision.why or f"allowed with {approved.nonce}"
        draft = repeatable_calls.draft(narrow, period, decision.by, reason, self._clock())
        try:
            return self._grants.add(
                msgspec.structs.replace(draft, id=""), lambda named: self._log(named, approved, decision)
            )
        except ImportError as error:  # the packages were replaced under this engine; it writes a policy nowhere else
            raise StoreError("toolguard was changed since this gateway started; restart the gateway") from error

    def _log(self, grant: Grant, approved: HeldCall, decision: Decision) -> None:
        now = self._clock()
        line = audit_log.AuditEvent(
            id=secrets.token_hex(8),
            time=audit_log.when(now),
            event="grant",
            nonce=approved.nonce,
            tool=printable.plain(grant.tool),
            agent=printable.plain(grant.agent),
            by=decision.by,
            where=decision.where,
            why=grant.reason,
            reason=f"{grant.id}, until {audit_log.when(grant.expires)}",
            shown=repeatable_calls.describe(grant),
        )
        self._audit.append([line])
