"""The values of `metrics.dashboard.hosts`: names under which a proxy or a tunnel serves the dashboard."""

from __future__ import annotations

from urllib.parse import urlsplit

_USUAL_PORT = {"https": 443, "http": 80}
_LOOPBACK = ("localhost", "127.0.0.1")


def origin(host: str) -> str:
    """The origin that browsers send: lower case, with its scheme, without the scheme's usual port."""
    scheme, _, rest = host.lower().rpartition("://")
    scheme = scheme or "https"
    given, _, port = rest.partition(":")
    return f"{scheme}://{given}" + (f":{int(port)}" if port and int(port) != _USUAL_PORT[scheme] else "")


def name(host: str) -> str:
    """The name, without scheme and port."""
    return urlsplit(origin(host)).hostname or ""


def is_private(host: str) -> bool:
    """Whether nobody between the browser and this machine can read what it sends."""
    return origin(host).startswith("https:") or name(host) in _LOOPBACK
