"""Blocks requests to the guard's own dashboard that approve a call or change a setting.

Only complete addresses are recognized. The dashboard's token, which no call can read, rejects all other requests.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from posixpath import normpath
from socket import inet_aton
from urllib.parse import unquote

from toolguard_engine import lazy_re
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.layers.self_protection.scene import CommandScene, ProtectionFinding, is_textual, texts
from toolguard_engine.model.call import Host

REASON = "This command would approve, deny or change something on the guard's dashboard in place of the user."
CALL = "This call would approve, deny or change something on the guard's dashboard in place of the user."
_ADDRESS = lazy_re.compile(
    r"(?<![\w.\]-])(?:(\[[0-9a-f:.%]{2,60}\]|[\w.-]{1,255}+)(?::(\d{1,10}))?|:(\d{1,10}))(?=[/\\])", re.IGNORECASE
)
_PATH = lazy_re.compile(r"[^\s'\"`?#<>|;]{0,500}")
_ANSWER = lazy_re.compile(r"/(?:api/(?:allow|approve|deny|revive|state|link)|answer)\b")
_WEB = "80"
"""The port of an address that names none."""

_WEB_CLIENTS = program_catalogue.programs("curl", "wget")
_MAX_ADDRESS = 2_000


def findings(scene: CommandScene) -> Iterator[ProtectionFinding]:
    """Yields the findings for commands."""
    host = scene.host
    if host.dashboard and any(_answers(text, host) for run in scene.runs for text in _given(run)):
        yield ProtectionFinding(REASON)


def visits(text: str, host: Host) -> bool:
    """Whether a whole tool parameter is such an address."""
    if not host.dashboard or len(text) > _MAX_ADDRESS or " " in text.strip() or "\n" in text.strip():
        return False
    return "://" in text and _answers(text, host)


def signs(host: Host) -> tuple[str, ...]:
    """Every text with such an address contains one of these."""
    port = host.dashboard.rpartition(":")[2]
    return (*(("/api", "/answer") if port == _WEB else (port,) if port else ()), *host.dashboard_names)


def _given(run: ProgramRun) -> Iterator[str]:
    if not is_textual(run) or run.name in _WEB_CLIENTS:
        yield from run.argv
        yield from texts(run)


def _answers(text: str, host: Host) -> bool:
    """Whether a text contains an address where the dashboard accepts approvals."""
    bind, _, port = host.dashboard.rpartition(":")
    if port not in text and port != _WEB and not host.dashboard_names:
        return False
    text = unquote(text) if "%" in text else text
    return any(
        (
            ((match[2] or match[3] or _WEB).lstrip("0") == port and _is_here(match[1] or "", bind))
            or (match[1] or "").lower().rstrip(".") in host.dashboard_names
        )
        and _ANSWER.match(_path(_PATH.match(text, match.end())))
        for match in _ADDRESS.finditer(text)
    )


def _path(match: re.Match[str] | None) -> str:
    """A normalized path in lower case."""
    return "/" + normpath(match[0].replace("\\", "/")).lstrip("/").lower() if match else ""


def _is_here(name: str, bind: str) -> bool:
    """Whether a host name (may be empty) is this machine or the address that the dashboard is bound to, in any spelling."""
    name = name.lower().rstrip(".")
    if name in ("", "localhost", bind) or name.endswith(".localhost"):
        return True
    address = _number(name)
    return address is not None and (address.is_loopback or address.is_unspecified or address == _number(bind))


def _number(name: str) -> IPv4Address | IPv6Address | None:
    """The address that a text spells. IPv4 has many spellings: `127.1`, `2130706433`, `0x7f.1`, `0177.0.0.1`."""
    try:
        if ":" not in name:
            return IPv4Address(inet_aton(name))
        address = IPv6Address(name.strip("[]"))
    except (OSError, ValueError):
        return None
    return address.ipv4_mapped or address
