"""Which held calls may also be allowed for a while: for the engine, which is asked in chat, and the command line. Pure.

Only where the grant is narrow: the call that was shown, word for word, of one agent in one folder, and nothing that could do
something else the next time. What is not known to be harmless in this sense is refused, with the reason.
"""

from __future__ import annotations

import msgspec

from toolguard_engine import lazy_re
from toolguard_engine.approvals import grant_matching, granted_meaning
from toolguard_engine.approvals.exact_grant import NEW
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.host.tool_search import short_name, tool_name
from toolguard_engine.model.held_details import HeldDetails, HeldEffect
from toolguard_engine.wording import printable

PERIODS = {"1h": 3_600, "8h": 8 * 3_600, "1d": 86_400, "7d": 7 * 86_400, "1w": 7 * 86_400}
IN_WORDS = {"1h": "an hour", "8h": "8 hours", "1d": "a day", "7d": "7 days", "1w": "a week"}
OFFERED = "1h|8h|1d|7d"
MAX_REASON = 400

_COVERED = {
    "read": "reading just this file",
    "write": "any content of this file",
    "edit": "any change of this file",
    "message": "any text to this address",
}
_BY_KIND = {
    "words": "just this command",
    "path": "just this path",
    "url": "just this address",
    "address": "just this address",
    "json": "just these arguments",
}

_BY_RULES = ("rule.", "constraint.", "approval.always-block")
"""Beginnings of the codes of calls that were held for what they are, not for what happened before."""

_NOT_BY_RULES = ("rule.self-protection", "rule.too-")
LOCAL = frozenset({"delete", "empty", "write", "move", "link", "pack", "permissions"})
_REPEATABLE = LOCAL | {
    "fetch", "http", "copy-in", "connect", "listen", "code", "sql", "nosql", "mcp-read",
    "mcp-write", "act",
}  # fmt: skip
"""Kinds of effects that are the same each time, given the same words. What is sent depends on what a file holds by then."""

_PLACES = frozenset({"in-home", "in-workspace", "workspace", "artefact", "temp", "null", "remote"})
_PLACE_WORDS = {
    "root": "the root folder", "device": "a device", "system": "the system", "home": "the whole home folder",
    "credentials": "credentials", "startup": "what runs at login", "repository": "git's own data",
}  # fmt: skip
SECRET_KINDS = frozenset({"leak", "exfiltrate", "stage", "secret-store", "search", "read"})
SECRET_FLAGS = frozenset({"credentials", "secret", "secrets", "personal", "personal-file", "reveals", "key", "remembered"})
RIGHTS_FLAGS = frozenset({"setuid", "to-root", "world-writable", "everyone", "forwards"})
_VARYING_FLAGS = frozenset({"unknown", "variable", "fetched", "decoded", "glob", "runs", "agent-made", "through-link"})
_NEVER = {
    "users.": "rights", "databases.rights": "rights", "databases.users": "rights", "cloud.access": "rights",
    "tools.let-in": "rights", "packages.registry-rights": "rights", "credentials.": "secrets", "secrets.": "secrets",
    "cloud.secrets": "secrets", "cloud.passwords": "secrets", "tools.send-secret": "secrets",
    "network.exfiltrate": "secrets", "openclaw.": "the gateway", "services.openclaw": "the gateway",
    "agents.": "other agents", "persistence.": "what runs later automatically", "fetched.": "code that was fetched",
    "disks.": "whole disks",
    "provenance.": "what external text asked for",
}  # fmt: skip
"""What rules are about that no call is always allowed for, by the beginnings of their ids."""

_ANY_CONTENT = frozenset({"write", "edit", "message"})
"""Tools whose grants name a target, and cover any content."""

_EXPANDED = lazy_re.compile(r"[*?$`\[{]|[<>]\(")


class NarrowGrant(msgspec.Struct, frozen=True):
    """The grant for exactly a held call, without an id and a date; or why there is none, in one sentence."""

    grant: Grant | None
    why_not: str = ""
    scope: str = ""
    """What it allows, in words, without the time."""


def narrow_grant(entry: HeldCall) -> NarrowGrant:
    """Pure: for lists that are shown often."""
    if why_not := _why_not(entry):
        return NarrowGrant(None, why_not)
    exact = entry.exact
    fields = {
        "id": NEW,
        "tool": short_name(entry.tool),
        "agent": entry.agent,
        **(msgspec.to_builtins(exact) if exact else {}),
    }
    try:
        grant = msgspec.convert(fields, Grant)
    except msgspec.ValidationError:
        return NarrowGrant(None, "this call has no exact form that could be granted")
    grant = msgspec.structs.replace(grant, bound=granted_meaning.as_bound(entry.meaning))
    return NarrowGrant(grant, scope=covered(grant))


def draft(narrow: Grant, period: str, by: str, reason: str, now: float) -> Grant:
    """The narrow grant for `period` (a key of `PERIODS`), still without an id."""
    created = float(int(now))
    return msgspec.structs.replace(
        narrow, created=created, expires=created + PERIODS[period], by=by, reason=reason[:MAX_REASON]
    )


def not_a_period(text: str) -> str:
    """Why this is not a period; empty where it is one."""
    return "" if text in PERIODS else f"{printable.cut(printable.plain(text), 20)!r} is not one of {', '.join(PERIODS)}"


def covered(grant: Grant) -> str:
    """What an exact grant allows, in words."""
    kind = grant_matching.kind_of(grant.tool)
    parts = [_COVERED.get(tool_name(grant.tool)) or _BY_KIND[kind]]
    if grant.cwd:
        parts.append(f"in {grant.cwd}")
    elif kind == "words" or (kind == "path" and not grant.pattern.startswith(("/", "~"))):
        parts.append("in every folder")
    parts.append(f"by agent {grant.agent}" if grant.agent else "by every agent")
    return printable.plain(", ".join(parts))


def describe(grant: Grant) -> str:
    who = f"agent {grant.agent}" if grant.agent else "any agent"
    where = f" in {grant.cwd}" if grant.cwd else ""
    limits = ", ".join(f"{name} like {glob}" for name, glob in grant.params.items())
    more = f" with {limits}" if limits else ""
    return printable.cut(f"{who} may call {grant.tool} like `{grant.pattern}`{where}{more}, without asking", 600)


def never_beforehand(rule: str) -> str:
    """What a rule is about that no call is allowed for beforehand, in words; empty where it is not."""
    return next((about for start, about in _NEVER.items() if rule.startswith(start)), "")


def not_there(place: str) -> str:
    """Why nothing that changes a place of this kind is allowed beforehand; empty where it may be."""
    return "" if place in _PLACES else f"it changes {_PLACE_WORDS.get(place, 'a place that is not known')}"


def is_by_rules(code: str) -> bool:
    """Whether a call was held for what it is, and not for what happened before or for the guard's sake."""
    return code.startswith(_BY_RULES) and not code.startswith(_NOT_BY_RULES)


def _why_not(entry: HeldCall) -> str:
    if not entry.whole:
        return "not all of it can be shown"
    if not is_by_rules(entry.code):
        return f"it was held because of the guard or of earlier calls ({entry.code}), which is decided each time"
    if entry.details is None or entry.exact is None:
        return "it has no exact form that could be granted (too long, or it contains a secret or a wildcard)"
    return _of_words(entry) or _of_details(entry.details)


def _of_words(entry: HeldCall) -> str:
    exact = entry.exact
    texts = [exact.pattern, *exact.params.values()] if exact else []
    kind = grant_matching.kind_of(entry.tool)
    if tool_name(entry.tool) in _ANY_CONTENT:
        return "a grant would cover any content, not only this one"
    if any("*" in text for text in texts) or (kind == "words" and any(map(_EXPANDED.search, texts))):
        return "it contains a wildcard or a variable, which may stand for something else the next time"
    relative = kind == "words" or (kind == "path" and not texts[0].startswith(("/", "~")))
    if relative and not (exact and exact.cwd):
        return "the folder in which it runs is not known"
    return ""


def _of_details(details: HeldDetails) -> str:
    if details.more:
        return "it does too many things to be checked one by one"
    if details.files:
        return "it runs a file whose content may change"
    for rule in details.rules:
        if about := never_beforehand(rule.rule):
            return f"it concerns {about} ({rule.rule}), which is decided each time"
    if any(_VARYING_FLAGS.intersection(effect.flags) for effect in details.effects):
        return "what it does depends on more than its words"
    return next((why for effect in details.effects if (why := _of_effect(effect))), "")


def _of_effect(effect: HeldEffect) -> str:
    flags = frozenset(effect.flags)
    if effect.kind in ("elevate", "owner") or flags & RIGHTS_FLAGS:
        return "it changes permissions, which is decided each time"
    if effect.kind in LOCAL:
        return not_there(effect.place)
    if effect.kind in SECRET_KINDS or flags & SECRET_FLAGS:
        return "secrets or personal data may be read or leave, which is decided each time"
    if effect.kind not in _REPEATABLE:
        return f"an effect of this kind ({effect.kind}) is decided each time"
    return ""
