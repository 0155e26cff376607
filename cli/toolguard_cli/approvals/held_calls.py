"""Held calls as the commands show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from toolguard_cli.approvals import git_facts, rule_facts
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import tables
from toolguard_cli.terminal.result import MARK, dated
from toolguard_engine.approvals import held_text, replies
from toolguard_engine.approvals.held_view import HeldView
from toolguard_engine.approvals.ledger import HeldCall, RefusedError
from toolguard_engine.server import call_preview
from toolguard_engine.stores.undo import undo_notes
from toolguard_engine.wording import printable

HEAD, INDENT = 6, 2
"""Lines around a call, and columns before it."""

SECRET = ("mac", "binding", "signatures", "meaning")
"""What proves an entry and what it is bound to, which are never shown."""


def never_been(places: Places) -> bool:
    """Whether toolguard has never run in this state directory, which is then probably the wrong one."""
    try:
        places.own.lstat()
    except FileNotFoundError:
        return True
    except OSError:
        return False  # the store reports the error
    return False


def nowhere(places: Places) -> str:
    return f"toolguard has never run in {printable.plain(str(places.state_dir))} (--state-dir, TOOLGUARD_STATE_DIR)"


def refuse_nowhere(places: Places) -> None:
    if never_been(places):
        raise UserError(nowhere(places), "give the state directory of your gateway; toolguard doctor checks it")


@contextmanager
def looked_up(places: Places) -> Iterator[None]:
    """Surrounds a decision on a nonce: if the nonce is unknown, the `UserError` names the state directory that was
    searched."""
    refuse_nowhere(places)
    try:
        yield
    except RefusedError as refused:
        if refused.cause == "used" and refused.entry is not None:
            answer = replies.explain(refused, undo_notes.offer(places.state_dir, refused.entry.nonce))
            raise UserError(answer.text, answer.fix) from refused
        if refused.cause != "unknown":
            raise
        answer = replies.explain(refused)
        raise UserError(f"{answer.text} in {printable.plain(str(places.state_dir))}", answer.fix) from refused


def find(entries: list[HeldCall], prefix: str, now: float, *statuses: str) -> HeldCall:
    """The entry with this nonce prefix, in one of these states. Raises `RefusedError`."""
    entry = replies.now_known(entries, now).find(prefix)
    if entry.status not in statuses:
        raise RefusedError(entry.status, entry)
    return entry


def public(entry: HeldCall, now: float) -> dict[str, Any]:
    """Returns for scripts all fields but the secret ones, and the seconds `left`."""
    fields = {name: value for name, value in msgspec.to_builtins(entry).items() if name not in SECRET}
    fields = dated(fields, "created", "expires", "decided", "latest")
    return {**fields, "left": round(max(0.0, entry.expires - now), 1) if entry.status in ("pending", "approved") else 0}


@dataclass(frozen=True)
class CallToRead:
    """What the user reads before approving. `whole`: the same with all lines of the call, empty where `lines` has them;
    `needed`: something may matter of what `lines` leaves out."""

    lines: list[str]
    whole: list[str]
    needed: bool

    @property
    def all(self) -> list[str]:
        return self.whole or self.lines


def shown(entry: HeldCall, now: float, *further: str) -> CallToRead:
    """A call with what is on disk and in git now. `further`: lines about what else would be allowed."""
    return laid_out(_head(entry, now), looked_at([entry], now)[0], *further)


def laid_out(head: list[str], view: HeldView, *further: str) -> CallToRead:
    """A call below its first lines."""
    short, all_of_it = lines(view, HEAD + len(further)), lines(view, HEAD, whole=True)
    texts = [[head[0], *(f"  {line}" for line in [*head[1:], *rows, *further])] for rows in (short, all_of_it)]
    is_all = held_text.squeezed(short) == held_text.squeezed(all_of_it)
    return CallToRead(texts[0], [] if is_all else texts[1], not (is_all or view.read))


def details(entry: HeldCall, now: float) -> list[str]:
    """All of a call that can be shown."""
    return shown(entry, now).all


def _head(entry: HeldCall, now: float) -> list[str]:
    state = replies.state(entry, now)
    now_is = replies.became(entry) if state == "expired" else f"is waiting for approval, {state}"
    return [f"{entry.nonce} {now_is}", where(entry)]


def lines(view: HeldView, others: int, *, whole: bool = False) -> list[str]:
    """A call as a terminal shows it beside so many other lines."""
    return held_text.lines(view, tables.width() - MARK - INDENT, held_text.HEIGHT - others, whole=whole)


def where(entry: HeldCall) -> str:
    """Who made the call, with what, where."""
    agent = f"agent {entry.agent}" if entry.agent else "an agent without a name"
    session = f", session {entry.session}" if entry.session else ""
    return printable.plain(f"{entry.tool} by {agent}, in {entry.cwd or 'the folder of the agent'}{session}")


def looked_at(entries: Sequence[HeldCall], now: float, git_seconds: float = git_facts.MOST_SECONDS) -> list[HeldView]:
    """The calls with what is on disk, in git and in databases now. `git_seconds`: how long git may take for all of them."""
    git = git_facts.GitFacts(git_seconds)
    return call_preview.views(entries, now, git.describe, lambda entry: rule_facts.of_rules(entry.details, git))
