"""The OpenAPI document, and that the server keeps to it whatever it is sent."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import schemathesis
from dashboard_stage import NAMES, OWN, Served
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode

from effort import ALL, some
from tables import each_row
from toolguard_cli.dashboard.openapi import document
from toolguard_cli.dashboard.routes import ENDPOINTS

EXAMPLES = 20 if ALL else 2
OPERATIONS = [(each.method, each.path) for each in ENDPOINTS]
GOOD, BAD = GenerationMode.POSITIVE, GenerationMode.NEGATIVE
SENT = [
    *((*operation, GOOD) for operation in OPERATIONS),
    *((each.method, each.path, BAD) for each in ENDPOINTS if each.asks.__struct_fields__),
]
"""What takes no parameters cannot be asked wrongly."""


def aimed() -> dict[str, Any]:
    """The document with gateways that are there, so that requests get past their names."""
    said = document(ENDPOINTS)
    for schema in said["components"]["schemas"].values():
        if schema.get("additionalProperties") is False and "gateway" in schema["properties"]:
            schema["properties"]["gateway"] = {"enum": [*NAMES, OWN, "nobody"]}
    return said


@each_row(("method", "path", "mode"), some(SENT))
def test_requests_made_from_the_document(shared: Served, method: str, path: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_dict(aimed())
    operation = schema[path][method]

    @given(case=operation.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    def run(case: schemathesis.Case) -> None:
        case.call_and_validate(
            base_url=f"http://127.0.0.1:{shared.port}",
            headers={"Authorization": f"Bearer {shared.token}"},
        )

    run()


def test_the_document_is_served(shared: Served) -> None:
    said = shared.get("/api/openapi.json")
    assert said == json.loads(json.dumps(document(ENDPOINTS)))
    jsonschema.Draft202012Validator.check_schema({"$defs": said["components"]["schemas"]})
    assert {(method.upper(), path) for path, known in said["paths"].items() for method in known} == set(OPERATIONS)
    for known in said["paths"].values():
        for operation in known.values():
            assert {"200", "401", "403", "422", "500", "503"} <= set(operation["responses"])


def test_refusals_are_as_it_says(shared: Served) -> None:
    said = document(ENDPOINTS)["components"]["schemas"]
    refusal = {"$defs": said, **said["ErrorBody"]}
    whole = json.loads(json.dumps(refusal).replace("#/components/schemas/", "#/$defs/"))
    for answer in (shared.ask("/nix"), shared.ask("/api/state", host="evil"), shared.post("/api/state", b"{")):
        jsonschema.validate(answer.value, whole)
