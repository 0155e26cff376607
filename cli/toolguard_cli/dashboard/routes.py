"""Every path of the API, in one table: the app serves it, and the OpenAPI document says it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from toolguard_cli.dashboard import prometheus, token
from toolguard_cli.dashboard.api import change, metrics, pending, reported, state, words
from toolguard_cli.dashboard.shapes import Change, Done, Pending, Reported, State, Word
from toolguard_cli.dashboard.visit import Endpoint, Query, Visit
from toolguard_engine import __version__
from toolguard_engine.metrics import shapes
from toolguard_engine.metrics.shapes import Shape

DECIDES = (404, 409)


class Greeting(Query, frozen=True):
    """`nonce`: whatever the one who asks has made up."""

    nonce: Annotated[str, Meta(pattern="^[0-9a-f]{16,64}$")] = ""


class Hello(Shape, frozen=True):
    """Who answers here, at which port. `proof`: of knowing the token, for this nonce; empty without one (`token.proof`)."""

    name: str
    version: str
    proof: str
    port: int


def hello(visit: Visit, asked: Greeting) -> Hello:
    door = visit.site.door
    own = door.secret()
    proof = token.proof(own, door.port, asked.nonce) if own and asked.nonce else ""
    return Hello("toolguard", __version__, proof, visit.site.door.port)


ENDPOINTS = (
    Endpoint("GET", "/api/hello", hello, Greeting, Hello, "Who answers here; needs no token."),
    Endpoint(
        "GET", "/api/overview", metrics.overview, metrics.Ranged, shapes.Overview, "Sums of a time, and of the one before."
    ),
    Endpoint("GET", "/api/timeseries", metrics.timeseries, metrics.Drawn, shapes.Timeseries, "Tokens and cost over time."),
    Endpoint("GET", "/api/gateways", metrics.gateways, metrics.Ranged, shapes.Gateways, "What each gateway used."),
    Endpoint(
        "GET", "/api/gateway/{id}", metrics.gateway, metrics.One, shapes.Gateway, "One gateway in detail.", refusals=(404,)
    ),
    Endpoint(
        "GET",
        "/api/gateway",
        metrics.gateway,
        metrics.One,
        shapes.Gateway,
        "The same, also of one whose name cannot stand in a path.",
        refusals=(404,),
    ),
    Endpoint("GET", "/api/models", metrics.models, metrics.Ranged, shapes.Models, "What each model used."),
    Endpoint("GET", "/api/live", metrics.live, metrics.Newest, shapes.Live, "The newest model calls."),
    Endpoint("GET", "/api/decisions", metrics.decisions, metrics.Feed, shapes.Decisions, "What the guard decided."),
    Endpoint("GET", "/api/guard", metrics.guard, metrics.Of, shapes.Guard, "What the guard decided, over time."),
    Endpoint("GET", "/api/state", state.state, Query, State, "How the gateways stand now."),
    Endpoint("GET", "/api/pending", pending.pending, Query, Pending, "The calls that wait for a person."),
    Endpoint("POST", "/api/approve", words.approve, Word, Done, "Lets a held call run once.", refusals=DECIDES),
    Endpoint("POST", "/api/deny", words.deny, Word, Done, "Refuses a held call.", refusals=DECIDES),
    Endpoint(
        "POST",
        "/api/state",
        change.change,
        Change,
        State,
        "Changes the mode, switches the kill switch, gives a checkpoint, or accepts weaker settings: one of them.",
        one_of=change.WISHES,
        refusals=DECIDES,
    ),
    Endpoint(
        "POST",
        "/api/decision",
        reported.report,
        Reported,
        Done,
        "Takes note of a decision that something else made.",
        refusals=DECIDES,
    ),
    Endpoint("GET", "/metrics", prometheus.scrape, Query, str, "The same for Prometheus.", kind="text/plain"),
)
