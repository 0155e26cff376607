"""What an approval is bound to: nothing that is not the call may matter, and everything that is must."""

from __future__ import annotations

import copy
import json
import random
from dataclasses import replace
from hashlib import sha256
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tables import each_row
from toolguard_engine.approvals.binding import bind
from toolguard_engine.approvals.canonical_json import EXACT
from toolguard_engine.model.call import Call

CALL = Call("exec", {"command": "git push", "env": {"A": "1"}}, agent="main", session="agent:main:main", cwd="/w")

numbers = st.integers(-EXACT, EXACT) | st.floats(allow_nan=False, allow_infinity=False)
leaves = st.none() | st.booleans() | numbers | st.text(max_size=8)
names = st.text(max_size=4)
params = st.dictionaries(
    names,
    st.recursive(leaves, lambda deep: st.lists(deep, max_size=4) | st.dictionaries(names, deep, max_size=4), max_leaves=12),
    max_size=4,
)


def bound(value: Any) -> str:
    return bind(replace(CALL, params=value))


def shuffled(value: Any, order: random.Random) -> Any:
    if isinstance(value, list):
        return [shuffled(item, order) for item in value]
    if not isinstance(value, dict):
        return value
    names = list(value)
    order.shuffle(names)
    return {name: shuffled(value[name], order) for name in names}


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a value, the containers too."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(place for name, item in inner for place in places(item, (*path, name)))]


def at(value: Any, path: tuple[Any, ...]) -> Any:
    for name in path:
        value = value[name]
    return value


def same(one: Any, other: Any) -> bool:
    """Equal in JavaScript, where 1 and 1.0 are one number, and true is none."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(same(*pair) for pair in zip(one, other, strict=True))
    return bool(one == other)


def test_a_known_value() -> None:
    canonical = '{"agent":"main","cwd":"/w","params":{"a":[true,null,"é"],"b":1},"session":"s","tool":"exec"}'
    call = Call("exec", {"b": 1, "a": [True, None, "é"]}, agent="main", session="s", cwd="/w")
    assert bind(call) == sha256(canonical.encode()).hexdigest()


def test_the_gateway_matters() -> None:
    canonical = '{"agent":"","cwd":"","gateway":"gw-1","params":{},"session":"s","tool":"exec","v":2}'
    assert bind(Call("exec", {}, session="s"), gateway="gw-1") == sha256(canonical.encode()).hexdigest()
    assert len({bind(CALL), bind(CALL, gateway="gw-1"), bind(CALL, gateway="gw-2")}) == 3


@each_row(
    "other",
    [
        replace(CALL, tool="Exec"),
        replace(CALL, agent="other"),
        replace(CALL, session="agent:main:other"),
        replace(CALL, cwd="/w/"),
        replace(CALL, agent="main:agent", session=""),
        replace(CALL, params={"command": "git push", "env": {"A": "2"}}),
        replace(CALL, params={"command": "git push", "env": {"A": 1}}),
        replace(CALL, params={"command": "git push", "env": {}}),
        replace(CALL, params={"command": "git push"}),
        replace(CALL, params={"command": "git push ", "env": {"A": "1"}}),
        replace(CALL, params=json.dumps(CALL.params)),
        replace(CALL, params=[CALL.params]),
        replace(CALL, params=None),
    ],
)
def test_what_matters(other: Call) -> None:
    assert bind(other) != bind(CALL)


@each_row(
    "other",
    [
        replace(CALL, searched=True),
        replace(CALL, run="another"),
        replace(CALL, call_id="call_2"),
        replace(CALL, request=77),
        replace(CALL, params={"env": {"A": "1"}, "command": "git push"}),
    ],
)
def test_what_does_not_matter(other: Call) -> None:
    assert bind(other) == bind(CALL)


@settings(deadline=None)
@given(value=params, seed=st.integers())
def test_the_order_of_members_does_not_matter(value: dict[str, Any], seed: int) -> None:
    assert bound(shuffled(value, random.Random(seed))) == bound(value)  # noqa: S311


@settings(deadline=None)
@given(value=params, data=st.data())
def test_every_nested_difference_matters(value: dict[str, Any], data: st.DataObject) -> None:
    inner = [place for place in places(value) if place]
    if not inner:
        assert bound(value) != bound({"a": None})
        return
    path = data.draw(st.sampled_from(inner))
    before = at(value, path)
    after: Any = data.draw((leaves | st.just([]) | st.just({})).filter(lambda new: not same(before, new)))
    changed = copy.deepcopy(value)
    at(changed, path[:-1])[path[-1]] = after
    assert bound(changed) != bound(value)


@settings(deadline=None)
@given(value=params, name=names, extra=leaves)
def test_a_member_more_matters(value: dict[str, Any], name: str, extra: Any) -> None:
    for path in places(value):
        changed = copy.deepcopy(value)
        place = at(changed, path)
        if isinstance(place, dict) and name not in place:
            place[name] = extra
        elif isinstance(place, list):
            place.append(extra)
        else:
            continue
        assert bound(changed) != bound(value)


@each_row(
    ("one", "other", "equal"),
    [
        (1, 1.0, True),  # JavaScript writes both as 1
        (0, -0.0, True),
        (1, True, False),
        (0, False, False),
        (0, None, False),
        (1, "1", False),
        (0.1, 0.1 + 1e-18, True),
        (0.1, 0.2, False),
        (EXACT, EXACT - 1, False),
        (EXACT, float(EXACT), True),
        (EXACT + 1, float(EXACT + 1), True),
        (2**53 + 1, 2**53, True),  # the gateway itself cannot tell them apart
        (2**60, 2**61, False),
        (-(2**60), 2**60, False),
        (10**30, 1e30, True),
        ("\ufffd", "?", False),  # half a surrogate pair, as the engine reads it
        ("e\u0301", "\u00e9", False),  # look alike, run differently
        ([], {}, False),
        ([1, 2], [2, 1], False),
        ([[1], 2], [1, [2]], False),
        ([], [[]], False),
        ("", None, False),
    ],
)
def test_numbers_and_other_borders(one: Any, other: Any, equal: bool) -> None:  # noqa: FBT001
    for nest in (lambda value: {"a": value}, lambda value: {"a": [{"b": value}]}):
        assert (bound(nest(one)) == bound(nest(other))) is equal


def test_no_two_texts_are_taken_for_one() -> None:
    assert bind(replace(CALL, agent='a","cwd":"x')) != bind(replace(CALL, agent="a", cwd="x"))
    assert bound({"a": '1","b":"2'}) != bound({"a": "1", "b": "2"})


@each_row("box", [lambda value: [value], lambda value: {"a": value}], ids=["list", "object"])
@each_row("depth", [2_000, 100_000])
def test_nested_too_deeply(box: Any, depth: int) -> None:
    value: Any = 1
    for _ in range(depth):
        value = box(value)
    with pytest.raises(ValueError, match="without a canonical form: RecursionError"):
        bound(value)
    while isinstance(value, list | dict):  # taken apart here, or freeing it could overflow the stack
        value = value[0] if isinstance(value, list) else value["a"]


@each_row("value", [float("nan"), float("inf"), 10**400, -(10**400), "\ud800", {"\udc80": 1}])
def test_what_has_no_canonical_form(value: Any) -> None:
    with pytest.raises(ValueError, match="without a canonical form"):
        bound({"a": [value]})
