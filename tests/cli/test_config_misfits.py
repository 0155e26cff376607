"""The schema of our settings as `validate` reads it, against another reading of it."""

from __future__ import annotations

from typing import Any

import jsonschema
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tables import each_row
from toolguard_cli.hostconfig import schema_check
from toolguard_engine.config import plugin_manifest
from toolguard_engine.config import settings as config

SCHEMA = plugin_manifest.config_schema()
JUDGE = jsonschema.Draft202012Validator(SCHEMA)
AGENT = SCHEMA["properties"]["agents"]["additionalProperties"]["properties"]
MODES = "one of enforce, soft, shadow, disabled"


def messages(value: Any) -> list[str]:
    return [f"{'/'.join(map(str, each.steps))}: {each.text}" for each in schema_check.misfits(value, SCHEMA)]


SCORE = "escalationThreshold: must be a whole number from 1 to 100, not"
PATTERN = "approval/prefix: must be a string that matches ^[A-Z][A-Z0-9_]{0,39}$, not"
NAMES = "alwaysBlock: must be a list [ ... ] of at most 500, not"
NAME = "must be a string of 1 to 200 characters, not"
LINKS = "answerLinks, answerLinkMs"
UNKNOWN = "unknown setting; valid names:"


@each_row(
    ("value", "found"),
    [
        pytest.param({}, [], id="empty"),
        pytest.param(msgspec.to_builtins(config.Config()), [], id="defaults"),
        pytest.param([], [": must be an object { ... }, not []"], id="no object"),
        pytest.param({"mode": "loud"}, [f'mode: must be {MODES}, not "loud"'], id="enum"),
        pytest.param({"mode": 1}, [f"mode: must be {MODES}, not 1"], id="enum of another type"),
        pytest.param({"mode": None}, [f"mode: must be {MODES}, not null"], id="null"),
        pytest.param({"escalationThreshold": 0}, [f"{SCORE} 0"], id="too small"),
        pytest.param({"escalationThreshold": 36.5}, [f"{SCORE} 36.5"], id="a fraction"),
        pytest.param({"escalationThreshold": True}, [f"{SCORE} true"], id="a truth value"),
        pytest.param(
            {"budget": {"size": float("inf")}},
            ["budget/size: must be a number from 0.1 to 100, not Infinity"],
            id="infinity",
        ),
        pytest.param({"enabled": "yes"}, ['enabled: must be true or false, not "yes"'], id="no truth value"),
        pytest.param({"logPath": ""}, ['logPath: must be a string of 1 to 4096 characters, not ""'], id="too short"),
        pytest.param({"approval": {"prefix": "123"}}, [f'{PATTERN} "123"'], id="pattern"),
        pytest.param(
            {"notify": {"digestAt": "25:00"}}, ['notify/digestAt: must be a time such as 22:00, not "25:00"'], id="time"
        ),
        pytest.param({"approval": {"prefix": "A\n"}}, [f'{PATTERN} "A\\n"'], id="pattern and a line break"),
        pytest.param(
            {"alwaysBlock": ["a", 1, ""]}, [f"alwaysBlock/1: {NAME} 1", f'alwaysBlock/2: {NAME} ""'], id="in a list"
        ),
        pytest.param({"alwaysBlock": ["a"] * 501}, [f"{NAMES} one of 501"], id="many"),
        pytest.param({"alwaysBlock": "gateway"}, [f'{NAMES} "gateway"'], id="no list"),
        pytest.param(
            {"escalationTreshold": 1},
            ["escalationTreshold: unknown setting; did you mean escalationThreshold?"],
            id="slip",
        ),
        pytest.param(
            {"approval": {"colour": 1}},
            [f"approval/colour: {UNKNOWN} mode, prefix, wake, agentTool, {LINKS}, signers, revokedSigners"],
            id="unknown",
        ),
        pytest.param(
            {"agents": {"main": {"mode": "x", "logPath": "y"}, "b.c": 1}},
            [
                f'agents/main/mode: must be {MODES}, not "x"',
                f"agents/main/logPath: {UNKNOWN} {', '.join(AGENT)}",
                "agents/b.c: must be an object { ... }, not 1",
            ],
            id="agents",
        ),
        pytest.param(
            {"mode": "loud", "enabled": 1, "approval": {"wake": "x"}},
            [
                f'mode: must be {MODES}, not "loud"',
                "enabled: must be true or false, not 1",
                'approval/wake: must be true or false, not "x"',
            ],
            id="all at once",
        ),
    ],
)
def test_misfits(value: Any, found: list[str]) -> None:
    assert messages(value) == found


def test_no_keyword_of_the_schema_is_passed_over() -> None:
    assert set(_keywords(SCHEMA)) <= schema_check.KEYWORDS


def _keywords(node: dict[str, Any]) -> set[str]:
    found = set(node)
    inner = [*node.get("properties", {}).values(), node.get("items"), node.get("additionalProperties")]
    return found.union(*(_keywords(each) for each in inner if isinstance(each, dict)))


SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-5, 700_000)
    | st.floats(allow_nan=False)
    | st.text(st.characters(exclude_characters="\n"), max_size=6)
)
ODD = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
)


def _like(node: dict[str, Any]) -> st.SearchStrategy[Any]:
    """Values that nearly fit this schema."""
    if node.get("type") == "object":
        known = {key: _like(inner) for key, inner in node.get("properties", {}).items()}
        more = node.get("additionalProperties")
        extra = st.dictionaries(st.sampled_from(["x", "main"]), _like(more) if isinstance(more, dict) else ODD, max_size=1)
        return ODD | st.builds(lambda a, b: {**a, **b}, st.fixed_dictionaries({}, optional=known), extra)
    if node.get("type") == "array":
        return ODD | st.lists(_like(node["items"]), max_size=3)
    return st.sampled_from([*node.get("enum", ["A", "a", 1, 50, 65_000, 0.5]), "~/x"]) | ODD


@pytest.mark.thorough
@settings(max_examples=150, deadline=None)
@given(_like(SCHEMA))
def test_the_same_paths_as_another_reading(value: Any) -> None:
    ours = {each.steps for each in schema_check.misfits(value, SCHEMA)}
    theirs = set()
    for error in JUDGE.iter_errors(value):
        path = tuple(error.absolute_path)
        if error.validator == "additionalProperties":
            theirs |= {(*path, key) for key in error.instance if key not in error.schema["properties"]}
        else:
            theirs.add(path)
    assert ours == theirs


@settings(max_examples=100, deadline=None)
@pytest.mark.thorough
@given(_like(SCHEMA))
def test_what_fits_is_read_by_the_engine(value: Any) -> None:
    if not list(schema_check.misfits(value, SCHEMA)):
        config.parse(value)
