"""The OpenAPI 3.1 document, generated from the routes and the types of requests and answers."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from toolguard_cli.dashboard.api_types import ErrorBody
from toolguard_cli.dashboard.request_context import JSON, Endpoint
from toolguard_engine import __version__

_REF = "#/components/schemas/{name}"
_IN_PATH = re.compile(r"\{(\w+)\}")
_ALWAYS = {
    401: "The token is missing or wrong.",
    403: "The Host or Origin header is not that of this dashboard.",
    422: "A value is not valid.",
    500: "An internal error.",
    503: "A store cannot be read.",
}
_STATUS = {
    **_ALWAYS,
    400: "The body is not JSON.",
    404: "No such gateway.",
    409: "Not possible in the current state.",
    413: "The body is too large.",
    415: "The body is not application/json.",
    429: "Too many invalid links.",
}
_OF_BODY = (400, 413, 415)


def document(endpoints: Iterable[Endpoint]) -> dict[str, Any]:
    known = list(endpoints)
    types = list({id(struct): struct for one in known for struct in (one.asks, one.answers)}.values())
    schemas, components = msgspec.json.schema_components([*types, ErrorBody], ref_template=_REF)
    named = dict(zip(map(id, types), schemas, strict=False))
    paths: dict[str, dict[str, Any]] = {}
    for endpoint in known:
        asks = components[endpoint.asks.__name__]
        operation = _operation(endpoint, asks, named[id(endpoint.asks)], named[id(endpoint.answers)])
        paths.setdefault(endpoint.path, {})[endpoint.method.lower()] = operation
    asked = {route.asks.__name__ for route in known if route.method == "GET"}
    return {
        "openapi": "3.1.0",
        "info": {"title": "toolguard dashboard", "version": __version__},
        "paths": paths,
        "components": {
            "schemas": {name: schema for name, schema in components.items() if name not in asked},
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _operation(endpoint: Endpoint, asks: dict[str, Any], body: dict[str, Any], answer: dict[str, Any]) -> dict[str, Any]:
    refusals = {*_ALWAYS, *endpoint.refusals, *(_OF_BODY if endpoint.method == "POST" else ())}
    operation: dict[str, Any] = {
        "summary": endpoint.summary,
        "security": [{"token": []}] if endpoint.method == "POST" and not endpoint.linked else [{}, {"token": []}],
        "responses": {
            "200": {"description": "Success.", "content": {endpoint.kind: {"schema": answer}}},
            **{str(status): _refusal(status) for status in sorted(refusals)},
        },
    }
    if endpoint.method == "GET":
        operation["parameters"] = [_parameter(endpoint, asks, name) for name in asks["properties"]]
    else:
        only = {"oneOf": [_only(name, endpoint.one_of) for name in endpoint.one_of]} if endpoint.one_of else {}
        operation["requestBody"] = {"required": True, "content": {JSON: {"schema": {**body, **only}}}}
    return operation


def _only(name: str, names: Iterable[str]) -> dict[str, Any]:
    """Requires this member and none of the others."""
    others = {other: {"type": "null"} for other in names if other != name}
    return {"required": [name], "properties": {name: {"not": {"type": "null"}}, **others}}


def _parameter(endpoint: Endpoint, asks: dict[str, Any], name: str) -> dict[str, Any]:
    place = "path" if name in _IN_PATH.findall(endpoint.path) else "query"
    return {"name": name, "in": place, "required": name in asks.get("required", ()), "schema": asks["properties"][name]}


def _refusal(status: int) -> dict[str, Any]:
    return {"description": _STATUS[status], "content": {JSON: {"schema": {"$ref": _REF.format(name=ErrorBody.__name__)}}}}
