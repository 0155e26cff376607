"""Repetition on one resource: the same path, host or recipient again and again.

What is kept are digests, of the `MAX_KNOWN` used last: it is hammering that counts, not coming back after a long while.
"""

from __future__ import annotations

from posixpath import normpath
from zlib import crc32

from toolguard_engine.approvals.standing import Seen
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.layers.autonomy.drift.step import DriftStep
from toolguard_engine.wording import correction

CODE = "drift.resource"
MAX_KNOWN = 32
MAX_OF_CALL = 8
MAX_NAME = 1_000
_PATHS = frozenset(
    [
        "read", "write", "delete", "empty", "moved-away", "move", "link", "permissions", "owner", "encrypt", "pack",
        "device-write", "format", "mcp-read", "mcp-write",
    ]
)  # fmt: skip
_HOSTS = frozenset(["fetch", "send", "http", "copy-out", "copy-in", "transfer", "connect", "tunnel", "remote-shell", "scan"])


def resources(effects: tuple[Effect, ...]) -> tuple[tuple[int, str], ...]:
    """Digest and name of what these effects are about, each once; of the first `MAX_OF_CALL` effects."""
    names = [name for effect in effects[:MAX_OF_CALL] if (name := _name(effect))]
    hashes = [(crc32(name.encode("utf-8", "surrogatepass")), name) for name in names]
    return tuple(dict.fromkeys(hashes)) if len(hashes) > 1 else tuple(hashes)


def _name(effect: Effect) -> str:
    kind, target = effect.kind, effect.target[:MAX_NAME]
    if kind in _PATHS:
        return normpath(target) if target and ("./" in target or "//" in target) else target
    if kind in _HOSTS:
        return "" if "search" in effect.flags else _host(target)
    return target if kind == "message" else ""


def _host(address: str) -> str:
    """The host of an address, also one behind a method (`DELETE https://...`); the text itself where it is none."""
    rest = address.rpartition(" ")[2].partition("://")[2] or address
    host = rest.partition("/")[0].partition("?")[0].partition("#")[0]
    return host.rpartition("@")[2].lower()


def judge(seen: Seen, step: DriftStep, most: int, who: str) -> str:
    if not most:
        return ""
    for digest, name in step.resources:
        if (times := seen.resources.get(digest, 0)) >= most:
            return (
                f"{who} has used {correction.name(name)} {times + 1} times since a person last checked; {most} are allowed."
            )
    return ""


def count(seen: Seen, step: DriftStep) -> None:
    known = seen.resources
    for digest, _ in step.resources:
        known[digest] = known.pop(digest, 0) + 1
        if len(known) > MAX_KNOWN:
            del known[next(iter(known))]
