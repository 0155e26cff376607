"""Refuses changes that a program of an agent sends, even with the token: it may have read that.

A browser on this machine cannot be told from one that an agent had started by the desktop. So only requests are refused
that certainly come from an agent.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from toolguard_cli.dashboard import known_gateways
from toolguard_cli.dashboard.problems import ApiError
from toolguard_cli.dashboard.request_context import RequestContext
from toolguard_cli.person import peers, require_human
from toolguard_cli.system.paths import Places

Asked = TypeVar("Asked")
Answer = TypeVar("Answer")
_FIX = "answer in a browser that you started yourself, or with `toolguard approve` in a terminal of your own"


def refused(work: Callable[[RequestContext, Asked], Answer]) -> Callable[[RequestContext, Asked], Answer]:
    """The same endpoint for everybody but agents."""

    @wraps(work)
    def checked(visit: RequestContext, asked: Any) -> Answer:
        if visit.client:
            refuse(known_gateways.named(visit, asked.gateway).places, visit.client)
        return work(visit, asked)

    return checked


def refuse(places: Places, client: peers.Connection) -> None:
    """Raises `ApiError` if an agent holds this connection."""
    system = require_human.this_system()
    (peer,) = peers.judged([client], system, require_human.agents_of(places, system), gateway=0)
    if peer.kind == "agent":
        require_human.log_self_approval(places, f"a request to the dashboard was sent {peer.why}")
        raise ApiError(403, "agent", f"the request was sent {peer.why}; only a person may do that", _FIX)
