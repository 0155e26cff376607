"""Canonical JSON is what the reference implementation of RFC 8785 writes, be it written by another encoder."""

from __future__ import annotations

from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine.approvals import canonical_json
from toolguard_engine.approvals.canonical_json import EXACT

TEXT = st.text(st.characters(codec=None, categories=None), max_size=6)
SCALAR = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-EXACT - 2, EXACT + 2),
    st.floats(),
    TEXT,
    st.sampled_from(["\x7f", "\u2028", "\x1f"]),
)
VALUE = st.recursive(
    SCALAR, lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(TEXT, inner, max_size=5)), max_leaves=20
)


def written(encode: Any, value: Any) -> bytes | type[Exception]:
    try:
        return bytes(encode(value))
    except (ValueError, RecursionError) as error:
        return type(error)


@given(VALUE)
def test_it_is_what_the_reference_writes(value: Any) -> None:
    assert written(canonical_json.dumps, value) == written(rfc8785.dumps, value)


@pytest.mark.parametrize(
    "value",
    [
        {"\ue000": 1, "\U00010000": 2}, {"b": 1, "a": [True, None, -0.0, 1e21, 0.1]}, {"": {}, "x": []}, "\ud800",
        {"a": float("nan")}, {1: 2}, [EXACT, -EXACT], [EXACT + 1], {"a": "\"\\/\b\f\n\r\t\x00\x1f\x7f\x80\u2028"},
        {"A": 1, "a": 2, "_": 3, "10": 4, "9": 5}, (1, 2), {"a": (1,)}, b"x",
    ],
)  # fmt: skip
def test_what_encoders_disagree_about(value: Any) -> None:
    assert written(canonical_json.dumps, value) == written(rfc8785.dumps, value)


def test_what_is_nested_too_deeply_for_the_reference_is_not_written() -> None:
    value: Any = "x"
    for _ in range(2_000):
        value = [value]
    assert written(canonical_json.dumps, value) is written(rfc8785.dumps, value) is RecursionError
