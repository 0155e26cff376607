"""Answers about tools: for the commands under `toolguard tools`, and for `install`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import msgspec

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.policy import used_tools
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line
from toolguard_engine.approvals import tool_answer
from toolguard_engine.approvals.tool_answer import ToolAnswer, ToolAnswers
from toolguard_engine.server.tool_trust import line
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.wording import printable

if TYPE_CHECKING:
    from toolguard_cli.operations.sign_approval import Signing


def given(answer: ToolAnswer, reason: str) -> ToolAnswer:
    """The answer as one of the current user."""
    return msgspec.structs.replace(
        answer, by=gateway_stores.who(), where="cli", reason=reason, created=float(int(time.time()))
    )


def put(places: Places, answers: list[ToolAnswer], signing: Signing | None) -> list[ToolAnswer]:
    """Stores them; each is in the audit log, and signed where the settings name signers, before it counts. Raises
    `StoreError` and `UserError`."""
    store, done = stores.tool_answers(places.state_dir), []
    for answer in answers:
        if signing and answer.answer == "trust":
            signing.signers.keep_grant(grant := tool_answer.as_grant(answer), signing.grant(grant))
        done.append(store.put(answer, _log(places, "grant" if answer.answer == "trust" else "revoke")))
    return done


def forget(places: Places, means: Callable[[ToolAnswer], bool]) -> list[ToolAnswer]:
    """Raises `StoreError`."""
    return stores.tool_answers(places.state_dir).remove(
        means, _log(places, "revoke", f"forgotten by {gateway_stores.who()}")
    )


def _log(places: Places, event: str, why: str = "") -> Callable[[ToolAnswer], None]:
    audit = stores.audit_log(places.state_dir)
    return lambda answer: audit.append([line(answer, event, time.time(), why)])


def unanswered(places: Places) -> list[ToolAnswer]:
    """Trust in what agents have used so far and nobody has said anything about. Raises `StoreError`."""
    known = ToolAnswers(stores.tool_answers(places.state_dir).known())
    used = used_tools.count(places.state_dir)
    return [tool_answer.trusting(use) for use in used if known.standing(use) == "new"]


def begin(places: Places) -> list[Line]:
    """Trusts what agents have used so far, if nobody has been asked about tools yet; what is to be said about that."""
    try:
        store = stores.tool_answers(places.state_dir)
        if store.path.exists():
            return []
        now = float(int(time.time()))
        before = [
            msgspec.structs.replace(answer, where=tool_answer.USED_BEFORE, created=now, reason="it was in use before")
            for answer in unanswered(places)
        ]
        done, config = store.begin(before, lambda _: None), gateway_stores.settings(places)
    except (StoreError, UserError, OSError) as error:
        return [Line("warn", printable.plain(f"what agents used so far is not known, and will be asked about: {error}"))]
    if not done:
        return []
    tools = len({answer.tool for answer in done})
    text = f"{tools} tool{'' if tools == 1 else 's'} of servers and plugins that agents used before"
    if config.approval.is_signed or config.fleet.enabled:
        return [
            Line("next", f"{text} will be asked about until a signer trusts them: run toolguard tools review to sign them")
        ]
    text = f"{text} will not be asked about"
    return [Line("info", f"{text}; toolguard tools review lists them")]
