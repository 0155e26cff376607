"""No request answers for the person, or changes a setting, at the guard's own dashboard.

Only an address that stands there as a whole is seen. What keeps all others out is the token, which no call can read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from ipaddress import IPv4Address, IPv6Address
from posixpath import normpath
from socket import inet_aton
from urllib.parse import unquote

from toolguard_engine.layers.protection.scene import Finding, Scene, is_textual, texts
from toolguard_engine.model import Host
from toolguard_engine.shell.model import Run

REASON = "This command would answer for the person at the guard's own dashboard."
CALL = "This call would answer for the person at the guard's own dashboard."
_ADDRESS = re.compile(
    r"(?<![\w.\]-])(?:(\[[0-9a-f:.%]{2,60}\]|[\w.-]{1,255}+)(?::(\d{1,10}))?|:(\d{1,10}))(?=[/\\])", re.IGNORECASE
)
_PATH = re.compile(r"[^\s'\"`?#<>|;]{0,500}")
_ANSWER = re.compile(r"/api/(?:approve|deny|state)\b")
_WEB = "80"
"""The port that an address need not name."""

_MAX_ADDRESS = 2_000


def findings(scene: Scene) -> Iterator[Finding]:
    """For commands."""
    listens = scene.host.dashboard
    if listens and any(_answers(text, listens) for run in scene.runs for text in _given(run)):
        yield Finding(REASON)


def visits(text: str, host: Host) -> bool:
    """Whether a parameter of any tool is such an address, and nothing but that."""
    if not host.dashboard or len(text) > _MAX_ADDRESS or " " in text.strip() or "\n" in text.strip():
        return False
    return "://" in text and _answers(text, host.dashboard)


def signs(host: Host) -> tuple[str, ...]:
    """What a text has in it that names such an address."""
    port = host.dashboard.rpartition(":")[2]
    return ("/api",) if port == _WEB else (port,) if port else ()


def _given(run: Run) -> Iterator[str]:
    if not is_textual(run) or run.name in {"curl", "wget"}:
        yield from run.argv
        yield from texts(run)


def _answers(text: str, listens: str) -> bool:
    """Whether an address in a text is one at which the dashboard, at address and port `listens`, takes a person's word."""
    bind, _, port = listens.rpartition(":")
    if port not in text and port != _WEB:
        return False
    text = unquote(text) if "%" in text else text
    return any(
        (found[2] or found[3] or _WEB).lstrip("0") == port
        and _ANSWER.match(_path(_PATH.match(text, found.end())))
        and _is_here(found[1] or "", bind)
        for found in _ADDRESS.finditer(text)
    )


def _path(found: re.Match[str] | None) -> str:
    """A path without detours, in small letters."""
    return "/" + normpath(found[0].replace("\\", "/")).lstrip("/").lower() if found else ""


def _is_here(name: str, bind: str) -> bool:
    """Whether a host, none perhaps, is this machine itself or what the dashboard is bound to, however it is written."""
    name = name.lower().rstrip(".")
    if name in ("", "localhost", bind) or name.endswith(".localhost"):
        return True
    address = _number(name)
    return address is not None and (address.is_loopback or address.is_unspecified or address == _number(bind))


def _number(name: str) -> IPv4Address | IPv6Address | None:
    """The address that digits mean. IPv4 has many spellings: `127.1`, `2130706433`, `0x7f.1`, `0177.0.0.1`."""
    try:
        if ":" not in name:
            return IPv4Address(inet_aton(name))
        address = IPv6Address(name.strip("[]"))
    except (OSError, ValueError):
        return None
    return address.ipv4_mapped or address
