"""Held calls as the commands show them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import msgspec

from toolguard_cli.approvals import git_facts
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import dated
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.ledger import HeldCall, RefusedError
from toolguard_engine.server import call_preview
from toolguard_engine.wording import printable

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


def details(entry: HeldCall, now: float) -> list[str]:
    """What the user reads before approving."""
    rows = [
        ("tool", entry.tool),
        ("agent", entry.agent),
        ("session", entry.session),
        ("call", entry.shown),
        ("folder", entry.cwd or "the agent's own"),
        ("held", f"{entry.reason} ({entry.code})" if entry.code else entry.reason),
        *_each("new", list(entry.changes)),
        *_each("would", would_do(entry, now) or [replies.UNNAMED]),
        *_each("rules", further_rules(entry)),
    ]
    state = replies.state(entry, now)
    now_is = replies.became(entry) if state == "expired" else f"is waiting for approval, {state}"
    return [f"{entry.nonce} {now_is}", *(f"  {name:<8} {printable.plain(value) or '-'}" for name, value in rows)]


def further_rules(entry: HeldCall) -> list[str]:
    """All rules that the call matched, if there are more than the one that the reason names."""
    rules = call_preview.rules(entry.details)
    return rules if len(rules) > 1 else []


@dataclass(frozen=True)
class Dangers:
    """All that is known of what a held call would do: one line for each effect, and for each rule with its severity."""

    effects: list[str]
    rules: list[str]


def dangers(entry: HeldCall) -> Dangers:
    """Pure, for notifications: without what is on disk now. Printable, redacted and bounded."""
    effects = [*(f"new: {line}" for line in entry.changes), *call_preview.effects(entry.details)]
    return Dangers(effects, call_preview.rules(entry.details) or [printable.plain(entry.reason)])


def would_do(entry: HeldCall, now: float, git_seconds: float = git_facts.MOST_SECONDS) -> list[str]:
    """Its effects, with what is on disk and in git now. `git_seconds`: how long git may take."""
    return would_do_all([entry], now, git_seconds)[0]


def would_do_all(entries: Sequence[HeldCall], now: float, git_seconds: float = git_facts.MOST_SECONDS) -> list[list[str]]:
    """The same for several calls, within the time for one."""
    git = git_facts.GitFacts(git_seconds)
    rows = call_preview.lines_of([entry.details for entry in entries], now, git.describe)
    return [_with_dropped(entry, lines, git) for entry, lines in zip(entries, rows, strict=True)]


def _with_dropped(entry: HeldCall, lines: list[str], git: git_facts.GitFacts) -> list[str]:
    pushes = any(rule.rule in git_facts.FORCED for rule in entry.details.rules) if entry.details else False
    dropped = git.forced_push(entry.cwd) if pushes else ""
    return [*lines, *([dropped] if dropped else [])]


def _each(name: str, lines: list[str]) -> list[tuple[str, str]]:
    return [(name if at == 0 else "", line) for at, line in enumerate(lines)]
