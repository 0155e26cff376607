"""What this gateway can run without a tool call that a hook could judge."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from toolguard_cli.doctor.check_types import FIX_CONFIG, UNREAD, Check, DoctorSubject
from toolguard_cli.doctor.checks import host_check
from toolguard_cli.hostconfig import gateway_files
from toolguard_engine.wording import printable

ID = "entry-points"
SHOWN = 3


@dataclass(frozen=True)
class Way:
    """`kind`: its name for scripts; `names`: its instances on this gateway."""

    kind: str
    text: str
    fix: str
    names: tuple[str, ...] = ()


def open_ways(subject: DoctorSubject) -> Check:
    """A warning even for what users set up on purpose, so that nobody takes it for guarded."""
    if subject.config is None:
        return Check(ID, "warn", UNREAD, FIX_CONFIG)
    try:
        ways = [*_acp(subject), *_embedded(subject), *_automations(subject), *_nodes(subject)]
    except ValueError as error:
        return Check(ID, "warn", f"the gateway's store cannot be read: {printable.plain(str(error))}", "openclaw doctor")
    data = {"ways": [{"kind": way.kind, "names": list(way.names)} for way in ways]}
    if not ways:
        return Check(ID, "ok", "the config and the gateway's store show nothing that bypasses the guard", data=data)
    return Check(ID, "warn", "\n".join(way.text for way in ways), "; ".join(way.fix for way in ways), data)


def _acp(subject: DoctorSubject) -> Iterator[Way]:
    plugin = subject.get("plugins", "entries", "acpx")
    installed = isinstance(plugin, dict) and plugin.get("enabled") is not False
    if installed and subject.get("acp", "enabled") is not False and subject.get("acp", "dispatch", "enabled") is not False:
        text = "ACP agents can be started (/acp spawn): OpenClaw calls no hooks for their own tools"
        yield Way("acp", text, "if nobody needs them: openclaw config set acp.enabled false")


def _embedded(subject: DoctorSubject) -> Iterator[Way]:
    if host_check.numbers(host_check.known_version(subject))[:2] == (2026, 8):
        text = "this release calls no hooks in embedded runs: openclaw agent --local is not guarded"
        yield Way("embedded", text, "send messages through the gateway, or update OpenClaw")


def _automations(subject: DoctorSubject) -> Iterator[Way]:
    names = gateway_files.commands(subject.places.state_dir)
    if names:
        yield Way(
            "automations",
            f"automations that run a command, without a tool call: {_shown(names)}",
            "check that they are yours: openclaw automations list",
            tuple(names),
        )


def _nodes(subject: DoctorSubject) -> Iterator[Way]:
    names = gateway_files.nodes(subject.places.state_dir)
    if names:
        yield Way(
            "nodes",
            f"paired nodes on which operators can run commands directly (system.run): {_shown(names)}",
            "check that they are yours: openclaw nodes status",
            tuple(names),
        )


def _shown(names: list[str]) -> str:
    text = ", ".join(printable.plain(printable.cut(name, 60)) for name in names[:SHOWN])
    return f"{text} and {len(names) - SHOWN} more" if len(names) > SHOWN else text
