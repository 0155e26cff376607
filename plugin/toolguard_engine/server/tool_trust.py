"""Who may use a tool, as the store knows it, and what an approved call adds to that. Beside the loop.

Where the settings name signers, an answer counts only with the signature of one of them. An approval of a call then counts
for its tool while this engine runs, since nothing could prove it later. It is stored like the others, so that it is listed
and can be taken back; only this engine knows its id.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from functools import partial

from msgspec import structs

from toolguard_engine.approvals import tool_answer
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.approvals.tool_answer import ToolAnswer, ToolAnswers, ToolStanding
from toolguard_engine.layers import first_use
from toolguard_engine.model.call import Verdict
from toolguard_engine.model.tool_use import ToolUse
from toolguard_engine.stores import audit_log
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import AuditLogStore, ToolAnswerStore
from toolguard_engine.wording import approval as approval_texts
from toolguard_engine.wording import printable

MAX_UNSIGNED = 4_000
CODE = "tool.answer"


class ToolTrust:
    """`clock`: seconds since 1970. `allows`: whether a signer has signed it; None where answers need no signature."""

    def __init__(
        self,
        store: ToolAnswerStore,
        audit: AuditLogStore,
        clock: Callable[[], float],
        allows: Callable[[Grant], bool] | None = None,
    ) -> None:
        self._store = store
        self._audit = audit
        self._clock = clock
        self._allows = allows
        self._unsigned: dict[str, None] = {}
        """The ids of answers that count without a signature, the oldest first."""

    def standing(self, use: ToolUse) -> ToolStanding:
        """Raises `StoreError`."""
        return self._counted(self._store.known()).standing(use)

    def _counted(self, known: Iterable[ToolAnswer]) -> ToolAnswers:
        return ToolAnswers(filter(self._counts, known))

    def _counts(self, answer: ToolAnswer) -> bool:
        if self._allows is None or answer.answer == "refuse" or answer.id in self._unsigned:
            return True
        return self._allows(tool_answer.as_grant(answer))

    def verdict(self, asked: Verdict, use: ToolUse, prefix: str) -> Verdict | None:
        """What is said of the tool, whatever the call does with it; None where a person is to be asked, as where the answers
        cannot be read."""
        try:
            standing = self.standing(use)
        except StoreError:
            return None
        if standing == "refused":
            reason = first_use.refusal(use)
            return Verdict("block", first_use.REFUSED, approval_texts.blocked(prefix, reason), reason)
        if standing == "trusted" and asked.code == first_use.CODE:
            return Verdict("allow", first_use.TRUSTED, reason="its tool is trusted")
        return None

    def follow(self, settled: Verdict, entry: HeldCall | None, use: ToolUse | None = None) -> str:
        """A person was asked about a call of a tool, and it runs: its tool is not asked about again. What keeps that from
        being stored; it is asked about again then."""
        if entry is None or settled.decision != "allow":
            return ""
        try:
            self._approved(entry, use)
        except StoreError as error:
            return str(error)
        return ""

    def _approved(self, entry: HeldCall, use: ToolUse | None) -> None:
        """`use`: None where only the entry of its call is known. Raises `StoreError`."""
        undescribed = structs.replace(use, words="", schema="") if use else None  # an earlier version asked
        shown = entry.use or undescribed
        if shown is None or shown.reads or self.standing(shown) == "trusted":
            return
        now = self._clock()
        answer = structs.replace(
            tool_answer.trusting(shown), created=float(int(now)), by=entry.by, where=entry.where, nonce=entry.nonce
        )
        put = self._store.add(
            partial(self._unless_decided, shown, answer), lambda put: self._audit.append([line(put, "grant", now)])
        )
        if put is not None and self._allows is not None:
            self._unsigned[put.id] = None
            if len(self._unsigned) > MAX_UNSIGNED:
                del self._unsigned[next(iter(self._unsigned))]

    def _unless_decided(self, use: ToolUse, answer: ToolAnswer, known: tuple[ToolAnswer, ...]) -> ToolAnswer | None:
        """The answer, unless somebody has refused or trusted the tool meanwhile."""
        return answer if self._counted(known).standing(use) in ("new", "changed") else None

    def note(self, use: ToolUse) -> None:
        """The tool has described itself for the first time since it is trusted, or differently. Raises `StoreError`."""
        while self._store.add(lambda known: ToolAnswers(known).noted(use), lambda _: None) is not None:
            pass


def line(answer: ToolAnswer, event: str, now: float, why: str = "") -> audit_log.AuditEvent:
    """A line for the audit log."""
    return audit_log.AuditEvent(
        id=secrets.token_hex(8),
        time=audit_log.when(now),
        event=event,
        code=CODE,
        nonce=answer.nonce,
        tool=printable.plain(answer.tool),
        agent=printable.plain(answer.agent),
        by=answer.by,
        where=answer.where,
        why=why or answer.reason,
        reason=f"{answer.id}: {answer.answer} {printable.plain(tool_answer.named(answer))}",
    )
