"""What runs on this gateway, or through it, without a tool call that a hook could see."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from toolguard_cli import gatewaystore
from toolguard_cli.checks import host
from toolguard_cli.checks.check import MEND_CONFIG, UNREAD, Check, Subject
from toolguard_engine import answers

ID = "ways-in"
SHOWN = 3


@dataclass(frozen=True)
class Way:
    """`kind`: its name for scripts; `names`: what it is made of here."""

    kind: str
    told: str
    fix: str
    names: tuple[str, ...] = ()


def open_ways(subject: Subject) -> Check:
    """Most of them are what a person set up on purpose: named, so that nobody takes them for guarded."""
    if subject.config is None:
        return Check(ID, "warn", UNREAD, MEND_CONFIG)
    try:
        found = [*_acp(subject), *_embedded(subject), *_automations(subject), *_nodes(subject)]
    except ValueError as error:
        return Check(ID, "warn", f"the gateway's store cannot be read: {answers.plain(str(error))}", "openclaw doctor")
    data = {"ways": [{"kind": way.kind, "names": list(way.names)} for way in found]}
    if not found:
        return Check(ID, "ok", "nothing runs past the guard, as far as the config and the gateway's store tell", data=data)
    return Check(ID, "warn", "\n".join(way.told for way in found), "; ".join(way.fix for way in found), data)


def _acp(subject: Subject) -> Iterator[Way]:
    plugin = subject.get("plugins", "entries", "acpx")
    installed = isinstance(plugin, dict) and plugin.get("enabled") is not False
    if installed and subject.get("acp", "enabled") is not False and subject.get("acp", "dispatch", "enabled") is not False:
        told = "ACP agents can be started (/acp spawn): OpenClaw calls no hook for their own tools"
        yield Way("acp", told, "if nobody needs them: openclaw config set acp.enabled false")


def _embedded(subject: Subject) -> Iterator[Way]:
    if host.numbers(host.known_version(subject))[:2] == (2026, 8):
        told = "this release calls no hooks in embedded runs: openclaw agent --local is not guarded"
        yield Way("embedded", told, "send messages through the gateway, or update OpenClaw")


def _automations(subject: Subject) -> Iterator[Way]:
    names = gatewaystore.commands(subject.places.state_dir)
    if names:
        yield Way(
            "automations",
            f"automations that run a command, without a tool call: {_shown(names)}",
            "see that they are yours: openclaw automations list",
            tuple(names),
        )


def _nodes(subject: Subject) -> Iterator[Way]:
    names = gatewaystore.nodes(subject.places.state_dir)
    if names:
        yield Way(
            "nodes",
            f"paired nodes on which operators can run commands directly (system.run): {_shown(names)}",
            "see that they are yours: openclaw nodes status",
            tuple(names),
        )


def _shown(names: list[str]) -> str:
    told = ", ".join(answers.plain(answers.cut(name, 60)) for name in names[:SHOWN])
    return f"{told} and {len(names) - SHOWN} more" if len(names) > SHOWN else told
