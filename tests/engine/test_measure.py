"""What the engine itself tells the metrics: rows from what it kept aside."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from toolguard_engine.metrics import measure
from toolguard_engine.metrics.measure import Measure
from toolguard_engine.model.call import Call, Correction, ErrorClass, Failure, MalformedCall, ParameterProblem
from toolguard_engine.wording.visible_text import is_visible

REFUSAL = MalformedCall(Call("read", {}), Failure("validation"), Correction("corrected", "text"))


def test_rows_that_nobody_takes_are_forgotten(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "MAX_UNMADE", 2)
    made = Measure()
    for number in (1, 2, 3):
        made.allowed(Call("read", None, at=number), "allow")
        made.malformed(REFUSAL, number)
    assert [(row.kind, row.at) for row in made.take_verdicts()] == [
        ("allow", 2000), ("allow", 3000), ("malformed", 2000), ("malformed", 3000),
    ]  # fmt: skip


@pytest.mark.parametrize("error", ["not-executed", "held", "blocked"])
def test_a_call_with_which_nothing_was_wrong_is_not_malformed(error: ErrorClass) -> None:
    made = Measure()
    made.malformed(replace(REFUSAL, failure=Failure(error)), 1.0)
    assert made.take_verdicts() == []


@given(st.text(max_size=500), st.text(max_size=500))
def test_texts_are_bounded_and_printable(text: str, detail: str) -> None:
    call = Call(text, {text: detail}, agent=text, session=text, run=text, at=1.0)
    problem = ParameterProblem(text, missing=False, detail=detail)
    made = Measure()
    made.allowed(call, "allow")
    made.malformed(MalformedCall(call, Failure("validation", (problem,) * 9), Correction("corrected", text)), 1.0)
    for row in made.take_verdicts():
        for reported in (value for value in row if isinstance(value, str)):
            assert len(reported) < 3_000
            assert is_visible(reported)


def test_secrets_of_a_malformed_call_are_not_shown() -> None:
    made = Measure()
    secret = "sk-ant-api03-" + "a1B2" * 12
    made.malformed(MalformedCall(Call("exec", {"command": secret}), Failure("validation"), Correction("corrected", "")), 1.0)
    (row,) = made.take_verdicts()
    assert row.shown
    assert secret not in repr(row)
