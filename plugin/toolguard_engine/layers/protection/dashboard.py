"""No request answers for the person, or changes a setting, at the guard's own dashboard.

Only an address that stands there as a whole is seen. What keeps all others out is the token, which no call can read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache
from urllib.parse import unquote

from toolguard_engine.layers.protection.scene import Scene, is_textual, texts
from toolguard_engine.model import Host
from toolguard_engine.shell.model import Run

REASON = "This command would answer for the person at the guard's own dashboard."
CALL = "This call would answer for the person at the guard's own dashboard."
_LOOPBACK = r"localhost\.?|127(?:\.\d{1,3}){1,3}|0\.0\.0\.0|\[::1?\]"
_WEB = "80"
"""The port that an address need not name."""

_MAX_ADDRESS = 2_000


def reason(scene: Scene) -> str:
    """For commands."""
    wanted = _address(scene.host.dashboard)
    if wanted is None:
        return ""
    return REASON if any(wanted.search(_plain(text)) for run in scene.runs for text in _given(run)) else ""


def visits(text: str, host: Host) -> bool:
    """Whether a parameter of any tool is such an address, and nothing but that."""
    wanted = _address(host.dashboard)
    if wanted is None or len(text) > _MAX_ADDRESS or " " in text.strip() or "\n" in text.strip():
        return False
    return "://" in text and wanted.search(_plain(text)) is not None


def signs(host: Host) -> tuple[str, ...]:
    """What a text has in it that names such an address."""
    port = host.dashboard.rpartition(":")[2]
    return ("/api",) if port == _WEB else (f":{port}",) if port else ()


def _given(run: Run) -> Iterator[str]:
    if not is_textual(run) or run.name in {"curl", "wget"}:
        yield from run.argv
        yield from texts(run)


def _plain(text: str) -> str:
    return unquote(text) if "%" in text else text


@lru_cache(maxsize=8)
def _address(dashboard: str) -> re.Pattern[str] | None:
    """`dashboard`: address and port where it listens, as in `model.Host`."""
    bind, _, port = dashboard.rpartition(":")
    if not port:
        return None
    hosts = f"(?:{_LOOPBACK}|{re.escape(bind)})"
    where = f"(?:{hosts}(?::{port})?|:{port})" if port == _WEB else f"{hosts}?:{port}"
    return re.compile(rf"(?<![\w.\]-]){where}[/\\]+api[/\\]+(?:approve|deny|state)\b", re.IGNORECASE)
