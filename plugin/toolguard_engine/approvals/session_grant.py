"""A person's answer for the rest of a session: a held call is approved, and the next ones like it need not be asked about.

It ends with the session, and after `LASTS` at the latest. A later call is covered (in doubt it is not) if

- the same agent makes it in the same session, with the same tool, and in the same folder unless all of it names places;
- whatever its rules say was said of the approved call as well: the same rule, the same kind of effect, about the same path,
  address or program (see `rules.alike`), with no flag that the approved call did not have;
- paths lead where they led when the person was asked, and every file that it names or runs was named then and has the same
  content. That goes for a file that is sent as well: one that an agent wrote may hold a copy of one of the person's.

So is a change, with any tool, of another file of the same service or of the same unit (`shared_area`).

Nothing else is covered that is never allowed beforehand: rights, secrets, the gateway, what runs later
(`repeatable_calls`), nor what acts on a system that settings choose: other settings, and the same words delete something
else.
Pure.
"""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
from msgspec import structs

from toolguard_engine.approvals import repeatable_calls, replies, shared_area
from toolguard_engine.approvals.call_meaning import Meaning, MeantEffect, is_comparable
from toolguard_engine.approvals.ledger import Decision, HeldCall
from toolguard_engine.approvals.session_grant_record import LASTS, SessionGrant, is_over
from toolguard_engine.host.tool_search import short_name, tool_name
from toolguard_engine.model.call_world import NAMES
from toolguard_engine.model.held_details import BY_SETTINGS, HeldAlike, HeldDetails
from toolguard_engine.wording.printable import cut, plain

PERIOD = replies.SESSION
"""The word for it where a period is asked for."""

IN_WORDS = "for the rest of this session, 8 hours at most"
MAX_SHOWN = 4
MAX_SCOPE = 600

_SAME_ANYWAY = frozenset({"tls", "file", "payload", "small", "unchanged", "agent-made", "filtered"})
"""Flags that a later call may have in addition."""

_UNKNOWN_FLAGS = frozenset({"unknown", "variable", "fetched", "decoded"})
_REMOTE_PACKS = ("cloud.", "containers.", "databases.")
"""Beginnings of the ids of rules about clients of other systems."""


class SessionOffer(msgspec.Struct, frozen=True):
    """The grant for calls like a held one, without an id and a date, and what it covers in words; or why there is none."""

    grant: SessionGrant | None
    why_not: str = ""
    scope: str = ""


def offer(entry: HeldCall) -> SessionOffer:
    if why_not := _why_not(entry):
        return SessionOffer(None, why_not)
    details, meaning = entry.details, entry.meaning
    assert details is not None and meaning is not None  # noqa: S101, PT018 - `_why_not` has seen them
    tool = short_name(entry.tool)
    grant = SessionGrant("", entry.nonce, tool, entry.agent, entry.session, details.alike, meaning)
    return SessionOffer(grant, scope=scope(grant))


def draft(given: SessionGrant, decision: Decision, now: float) -> SessionGrant:
    """The grant with its time, still without an id."""
    created, why = float(int(now)), decision.why or f"allowed with {given.nonce}"
    return structs.replace(
        given, created=created, expires=created + LASTS, by=decision.by, where=decision.where, reason=cut(why, 400)
    )


def scope(grant: SessionGrant) -> str:
    """What it covers, in words, without the time."""
    agent = f"agent {grant.agent}" if grant.agent else "the agent"
    return cut(plain(f"calls of {grant.tool} by {agent} in this session that {_listed(grant.alike)}"), MAX_SCOPE)


def describe_briefly(grant: SessionGrant) -> str:
    """The same where it is listed beside others."""
    who = f"agent {grant.agent}" if grant.agent else "the agent"
    return cut(
        plain(f"{who} may, in session {grant.session}, make calls of {grant.tool} that {_listed(grant.alike)}"), MAX_SCOPE
    )


def covered(grant: SessionGrant) -> str:
    """Only what such a call does."""
    return cut(plain(_listed(grant.alike)), MAX_SCOPE)


def _listed(alike: tuple[HeldAlike, ...]) -> str:
    if all(key.exact for key in alike):
        return "say the same, word for word"
    described = [_described(key) for key in alike if not key.exact]
    texts = [*dict.fromkeys(described), *(["are otherwise the same call"] if len(described) < len(alike) else [])]
    if area := shared_area.describe(alike):
        return f"{texts[0]}; also, with any tool: {area}"
    more = len(texts) - MAX_SHOWN
    return "; ".join([*texts[:MAX_SHOWN], *([f"and {more} more of what this call does"] if more > 0 else [])])


def _described(key: HeldAlike) -> str:
    what = f"{key.kind} {key.about}" if key.kind else f"run {key.about}"
    return what if key.kind or key.about else f"are about {key.rule}"


def covering(entry: HeldCall, grants: Iterable[SessionGrant], now: float) -> SessionGrant | None:
    """The first grant that covers a call; `entry`: as which it would be held."""
    return next((grant for grant in grants if covers(grant, entry, now)), None)


def covers(grant: SessionGrant, entry: HeldCall, now: float) -> bool:
    details, meaning = entry.details, entry.meaning
    if details is None or meaning is None or is_over(grant, now) or _why_not(entry):
        return False
    if (grant.agent, grant.session) != (entry.agent, entry.session):
        return False
    if shared_area.covers(grant.alike, details.alike, meaning):
        return True
    is_same = tool_name(grant.tool) == tool_name(entry.tool)
    return is_same and _says_no_more(grant.alike, details) and _means_no_more(grant, meaning)


def _says_no_more(before: tuple[HeldAlike, ...], details: HeldDetails) -> bool:
    flags: dict[tuple[str, str, str, bool], set[str]] = {}
    for key in before:
        for rule in (key.rule, ""):
            flags.setdefault((rule, key.kind, key.about, key.exact), set()).update(key.flags)
    return bool(details.alike) and all(_is_known(key, flags) for key in details.alike)


def _is_known(key: HeldAlike, flags: dict[tuple[str, str, str, bool], set[str]]) -> bool:
    known = flags.get((key.rule, key.kind, key.about, key.exact))
    return known is not None and known | _SAME_ANYWAY >= set(key.flags)


def _means_no_more(grant: SessionGrant, now: Meaning) -> bool:
    before = grant.meaning
    if not _is_whole(now) or (any(map(_is_of_words, grant.alike)) and now.folder != before.folder):
        return False
    kinds = {key.kind for key in grant.alike if key.kind}
    files = {(file.path, file.real, file.digest, file.code) for file in before.files}
    if any((file.path, file.real, file.digest, file.code) not in files for file in now.files):
        return False
    return all(_is_same_place(effect, before) for effect in now.effects if effect.path and effect.kind in {*kinds, NAMES})


def _is_of_words(key: HeldAlike) -> bool:
    """Whether it may mean something else in another folder."""
    return key.exact or key.place in ("", "unknown", "remote")


def _is_same_place(effect: MeantEffect, before: Meaning) -> bool:
    """Whether it reaches what one of the effects before did, and nothing else."""
    effects = [was for was in before.effects if (was.kind, was.path, was.key) == (effect.kind, effect.path, effect.key)]
    return any(
        set(effect.beyond) <= set(was.beyond)
        and effect.listing == was.listing
        and effect.wild == was.wild
        and set(effect.dangers) - set(was.dangers) <= _SAME_ANYWAY
        for was in effects
    )


def _is_whole(meaning: Meaning) -> bool:
    return not meaning.gap and is_comparable(meaning)


def _why_not(entry: HeldCall) -> str:
    if not entry.whole:
        return "not all of it can be shown"
    if not repeatable_calls.is_by_rules(entry.code):
        return f"it was held because of the guard or of earlier calls ({entry.code}), which is decided each time"
    details, meaning = entry.details, entry.meaning
    if details is None or not details.alike or meaning is None or not _is_whole(meaning):
        return "what makes the next call like it cannot be said"
    if not entry.session:
        return "its session is not known"
    return next((why for key in details.alike if (why := _never(key))), "")


def _never(key: HeldAlike) -> str:
    if key.area:
        return ""
    flags = frozenset(key.flags)
    if about := repeatable_calls.never_beforehand(key.rule):
        return f"it concerns {about} ({key.rule}), which is decided each time"
    if key.kind in ("elevate", "owner") or flags & repeatable_calls.RIGHTS_FLAGS:
        return "it changes permissions, which is decided each time"
    if BY_SETTINGS in flags or (key.rule.startswith(_REMOTE_PACKS) and key.place in ("", "unknown")):
        return "which system it acts on depends on settings outside of its words, so each call is decided"
    if flags & _UNKNOWN_FLAGS:
        return "what it does depends on more than its words"
    if key.kind in repeatable_calls.LOCAL:
        return "" if key.exact and not key.place else repeatable_calls.not_there(key.place)
    if key.kind in repeatable_calls.SECRET_KINDS or flags & repeatable_calls.SECRET_FLAGS:
        return "secrets or personal data may be read or leave, which is decided each time"
    return ""
