"""A call that its own tool would refuse is corrected before a person is asked about it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from toolguard_engine.layers import known_inputs
from toolguard_engine.layers.known_inputs import KnownInputs
from toolguard_engine.model.call import Call, Failure, ParameterProblem
from toolguard_engine.rules import packs
from toolguard_engine.server import tool_hints
from toolguard_engine.server.held_call_decisions import Approvals
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.stores import open as stores
from toolguard_engine.wire import messages

TOOL = "concert_booking_book_ticket"
SCHEMA = {
    "type": "object",
    "properties": {
        "artist": {"type": "string"},
        "num_tickets": {"type": "integer"},
        "city": {"type": "string", "enum": ["Lyon", "Paris"]},
        "seats": {"type": "array"},
        "front": {"type": "boolean"},
        "options": {"type": "object"},
        "row": {"type": "integer", "enum": [1, 2]},
        "note": {"anyOf": [{"type": "string"}, {"type": "null"}]},
    },
    "required": ["artist", "num_tickets"],
    "additionalProperties": False,
}
FINE = {"artist": "x", "num_tickets": 2, "city": "Lyon"}
CLOSES = "tickets_delete_account"


def described(schema: Any = SCHEMA, name: str = TOOL, id_: str = f"mcp:concerts:{TOOL}") -> str:
    return json.dumps({"id": id_, "name": name, "parameters": schema})


def known(*texts: str) -> KnownInputs:
    inputs = KnownInputs()
    for text in texts:
        inputs.described(text)
    return inputs


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({}, "must have required properties artist, num_tickets"),
    ({"artist": "x", "num_tickets": 2, "city_value": "Lyon"}, "city_value: must not be sent"),
    ({**FINE, "city": "Rome"}, "city: must be one of Lyon, Paris"),
    ({**FINE, "artist": ["x"]}, "artist: must be string"),
    ({**FINE, "seats": "1"}, "seats: must be array"),
    ({**FINE, "num_tickets": [2]}, "num_tickets: must be integer"),
    ({**FINE, "seats": "[" * 9_000}, "seats: must be array"),
    ({**FINE, "seats": {}}, "seats: must be array"),
    ({**FINE, "options": "[]"}, "options: must be object"),
    ({**FINE, "front": []}, "front: must be boolean"),
]
TAKEN: list[dict[str, Any]] = [
    FINE, {**FINE, "num_tickets": "2"}, {**FINE, "num_tickets": 2.0}, {**FINE, "front": "true"}, {**FINE, "note": None},
    {**FINE, "artist": 7}, {**FINE, "artist": True}, {**FINE, "artist": None}, {**FINE, "num_tickets": True},
    {**FINE, "num_tickets": None}, {**FINE, "seats": "[1]"}, {**FINE, "seats": None}, {**FINE, "options": "{}"},
    {**FINE, "front": 1}, {**FINE, "row": "1"},
]  # fmt: skip


@pytest.mark.parametrize(("params", "text"), REFUSED)
def test_what_the_tool_would_refuse(params: dict[str, Any], text: str) -> None:
    assert text in known(described()).complaint(Call(TOOL, params))
    assert KnownInputs().complaint(Call(TOOL, params)) == ""


@pytest.mark.parametrize("params", TAKEN)
def test_what_the_tool_takes(params: dict[str, Any]) -> None:
    assert known(described()).complaint(Call(TOOL, params)) == ""


UNCERTAIN: list[Any] = [
    None, [], "x", {}, {"type": "string"}, {**SCHEMA, "anyOf": [{}]}, {**SCHEMA, "oneOf": [{}]}, {**SCHEMA, "$ref": "#/x"},
    {"type": "object", "properties": 7, "required": "artist"}, {"type": "object", "required": [1, None, {}]},
]  # fmt: skip


@pytest.mark.parametrize("schema", UNCERTAIN)
def test_a_schema_that_leaves_a_choice_says_nothing(schema: Any) -> None:
    assert known(described(schema)).complaint(Call(TOOL, {"other": 1})) == ""


ODD = ["", "{", "[]", "7", '{"name": 7}', '{"name": "x", "parameters": {"type": "object"}}', "[" * 9_000]


@pytest.mark.parametrize("text", ODD)
def test_an_odd_description_says_nothing(text: str) -> None:
    assert known(text).complaint(Call("x", {})) == ""


def test_two_tools_of_one_name_are_both_unknown() -> None:
    inputs = known(described(), described(id_=f"mcp:other:{TOOL}"))
    assert inputs.complaint(Call(TOOL, {})) == ""


def test_properties_by_a_pattern_are_taken() -> None:
    assert known(described({**SCHEMA, "patternProperties": {"^x-": {}}})).complaint(Call(TOOL, {**FINE, "x-y": 1})) == ""


LACKS = Failure("validation", (ParameterProblem("artist", missing=True, detail="is required"),))
SAYS = f'Validation failed for tool "{TOOL}":\n  - artist: must have required properties artist'


def test_a_refusal_says_what_is_required_until_a_call_runs_without_it() -> None:
    inputs, call = KnownInputs(), Call(TOOL, {"num_tickets": 2}, session="s")
    inputs.refused(call, LACKS, SAYS)
    assert "must have required properties artist" in inputs.complaint(call)
    assert inputs.complaint(replace(call, session="other")) == ""
    inputs.ran(call)
    assert inputs.complaint(call) == ""


@pytest.mark.parametrize("more", [
    "action: must be equal to constant", "root: must match a schema in anyOf",
    "root: must match exactly one schema in oneOf",
    "action: must be equal to one of the allowed values", 'root: must match "then" schema', "invalid_union",
])  # fmt: skip
def test_a_refusal_of_one_form_of_a_call_says_nothing_of_others(more: str) -> None:
    inputs, call = KnownInputs(), Call(TOOL, {"action": "create"}, session="s")
    inputs.refused(call, LACKS, f"{SAYS}\n  - {more}")
    assert inputs.complaint(call) == ""


def test_a_session_is_corrected_once_until_a_call_of_the_tool_runs() -> None:
    inputs, call = known(described()), Call(TOOL, {}, session="s")
    inputs.corrected(call)
    assert inputs.complaint(call) == ""
    assert inputs.complaint(replace(call, session="other"))
    inputs.ran(replace(call, params=FINE))
    assert inputs.complaint(replace(call, params={"artist": []}))


def test_it_is_bounded() -> None:
    inputs = known(*(described(name=f"t{number}", id_=str(number)) for number in range(known_inputs.MAX_TOOLS + 1)))
    assert (inputs.complaint(Call("t0", {})), bool(inputs.complaint(Call("t1", {})))) == ("", True)
    names = [f"p{number}" for number in range(999)]
    many = {"type": "object", "properties": {name: {} for name in names}, "required": names}
    assert known(described(many)).complaint(Call(TOOL, {})) == ""


Ask = Callable[[messages.Incoming], Any]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    (tmp_path / "toolguard").mkdir()

    def opened(_hello: messages.Hello, _config: Any) -> Approvals:
        clock = lambda: datetime.now(UTC).timestamp()  # noqa: E731
        return Approvals(stores.held_calls(tmp_path, None, "gw"), stores.grants(tmp_path), clock)

    clock = lambda: datetime.now(UTC)  # noqa: E731
    session = Session(Setup(tool_hints.load(), clock, 1, packs.load(), home=str(tmp_path), open_approvals=opened))

    def send(message: messages.Incoming) -> Any:
        answer = session.answer(message)
        session.setup.queue.settle()
        return answer or next((each for _, each in session.take_answers()), None)

    send(messages.Hello(1, messages.VERSION, str(tmp_path), config={}))
    return send


def judged(ask: Ask, params: dict[str, Any], number: int = 2) -> messages.VerdictAnswer:
    answer = ask(messages.Judge(id=number, tool=CLOSES, params=params, agent="main", session="s", run="r"))
    assert isinstance(answer, messages.VerdictAnswer)
    return answer


def describe(ask: Ask, **more: Any) -> None:
    schema = {"type": "object", "properties": {"account": {"type": "string"}}, "required": ["account"], **more}
    ask(messages.ToolText(tool="tool_describe", text=described(schema, CLOSES, "x"), run="r", session="s"))


def test_instead_of_a_person_the_model_is_asked(ask: Ask) -> None:
    wrong, right = {"acount": "a"}, {"account": "a"}
    assert judged(ask, wrong).code == "approval.pending"
    describe(ask, additionalProperties=False)
    answer = judged(ask, wrong, 3)
    assert (answer.decision, answer.code) == ("block", known_inputs.CODE)
    assert answer.text.startswith("[TOOL ERROR] ")
    assert "account" in answer.text
    assert judged(ask, right, 4).code == "approval.pending"


def test_the_same_wrong_call_again_waits_for_a_person(ask: Ask) -> None:
    describe(ask)
    answers = [judged(ask, {}, number) for number in range(2, 4)]
    assert [(each.code, each.stop) for each in answers] == [(known_inputs.CODE, ""), ("approval.pending", "")]


def test_a_valid_call_is_not_refused_because_another_form_of_it_was(ask: Ask) -> None:
    text = (
        f'Validation failed for tool "{CLOSES}":\n  - name: must have required properties name\n'
        "  - action: must be equal to constant\n  - root: must match a schema in anyOf"
    )
    ask(
        messages.Failed(
            id=2, tool=CLOSES, params={"action": "x"}, text=text, judged=False, agent="main", session="s", run="q"
        )
    )
    assert judged(ask, {"action": "delete_account", "id": "x"}, 3).code == "approval.pending"
