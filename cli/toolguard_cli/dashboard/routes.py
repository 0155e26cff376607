"""All paths of the API, for the app and the OpenAPI document."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from toolguard_cli.dashboard import prometheus, token
from toolguard_cli.dashboard.api import (
    decisions,
    gateway_changes,
    gateway_state,
    link_answers,
    recorded,
    reported,
    settled_calls,
    timeline_pages,
    used_limits,
    waiting_calls,
)
from toolguard_cli.dashboard.request_context import Endpoint, Query, RequestContext
from toolguard_engine import __version__
from toolguard_engine.metrics.result_types import Shape

DECIDES = (404, 409)
LINKED = (*DECIDES, 429)


class Greeting(Query, frozen=True):
    """`nonce`: chosen by the client."""

    nonce: Annotated[str, Meta(pattern="^[0-9a-f]{16,64}$")] = ""


class ServerHello(Shape, frozen=True):
    """Identifies the server. `proof`: that it knows the token, for this nonce; empty without a nonce (`token.proof`)."""

    name: str
    version: str
    proof: str
    port: int


def hello(visit: RequestContext, asked: Greeting) -> ServerHello:
    door = visit.site.door
    own = door.secret()
    proof = token.proof(own, door.port, asked.nonce) if own and asked.nonce else ""
    return ServerHello("toolguard", __version__, proof, visit.site.door.port)


ENDPOINTS = (
    Endpoint("GET", "/api/hello", hello, "Identifies the server; needs no token."),
    Endpoint("GET", "/api/overview", recorded.overview, "Totals for a period and for the one before it."),
    Endpoint("GET", "/api/timeseries", recorded.timeseries, "Tokens and cost over time."),
    Endpoint("GET", "/api/gateways", recorded.gateways, "The usage of each gateway."),
    Endpoint("GET", "/api/gateway/{id}", recorded.gateway, "One gateway in detail.", refusals=(404,)),
    Endpoint(
        "GET",
        "/api/gateway",
        recorded.gateway,
        "One gateway in detail, for names that cannot be part of a path.",
        refusals=(404,),
    ),
    Endpoint("GET", "/api/models", recorded.models, "The usage of each model."),
    Endpoint("GET", "/api/decisions", recorded.decisions, "The decisions of the guard."),
    Endpoint(
        "GET", "/api/timeline", timeline_pages.timeline, "What agents did: model calls and decisions, the newest first."
    ),
    Endpoint("GET", "/api/guard", recorded.guard, "The decisions of the guard, over time."),
    Endpoint("GET", "/api/spending", used_limits.used, "Forecasts, limits and savings."),
    Endpoint("GET", "/api/state", gateway_state.state, "The current state of the gateways."),
    Endpoint("GET", "/api/pending", waiting_calls.pending, "The held calls."),
    Endpoint("GET", "/api/settled", settled_calls.settled, "The held calls that are closed."),
    Endpoint("POST", "/api/approve", decisions.approve, "Lets a held call run once.", refusals=DECIDES),
    Endpoint(
        "POST", "/api/allow", decisions.allow, "Approves a held call and allows the same call for a while.", refusals=DECIDES
    ),
    Endpoint("POST", "/api/revive", settled_calls.revive, "Asks the agent to make a missed call again.", refusals=DECIDES),
    Endpoint("POST", "/api/deny", decisions.deny, "Denies a held call.", refusals=DECIDES),
    Endpoint(
        "POST",
        "/api/state",
        gateway_changes.change,
        "Changes the mode or the kill switch, runs a checkpoint, or accepts weaker settings: exactly one of them.",
        one_of=gateway_changes.CHANGES,
        refusals=DECIDES,
    ),
    Endpoint(
        "POST",
        "/api/link",
        link_answers.show,
        "Shows the call that an answer link is for.",
        refusals=LINKED,
        linked=True,
    ),
    Endpoint(
        "POST",
        "/api/link/answer",
        link_answers.answer,
        "Approves or denies the call that an answer link is for.",
        refusals=LINKED,
        linked=True,
    ),
    Endpoint("POST", "/api/decision", reported.report, "Records an external decision.", refusals=DECIDES),
    Endpoint("GET", "/metrics", prometheus.scrape, "Metrics for Prometheus.", kind="text/plain"),
)
