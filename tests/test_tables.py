"""A table of cases as one test: no row is left out, and a row that fails is named."""

from __future__ import annotations

import pytest

from tables import each_row


def test_all_rows_are_tried_and_those_that_fail_are_named() -> None:
    tried = []

    @each_row(("left", "right"), [(1, 2), pytest.param(2, 2, id="the same"), (3, 4)])
    def comparison(left: int, right: int) -> None:
        tried.append(left)
        assert left != 1, "one"
        assert left == right or pytest.fail("different")

    with pytest.raises(BaseExceptionGroup, match="2 of 3 rows fail") as failed:
        comparison()
    assert tried == [1, 2, 3]
    assert [error.__notes__ for error in failed.value.exceptions] == [["Row 0: 1, 2"], ["Row 2: 3, 4"]]


@pytest.fixture
def given() -> str:
    return "given"


class TestInAClass:
    @each_row("letter", "ab")
    @each_row("number", [1, 2], ids=str)
    def test_tables_can_be_crossed_and_fixtures_are_passed(self, number: int, given: str, letter: str) -> None:
        assert (number in (1, 2), given, letter in "ab") == (True, "given", True)


def test_what_is_skipped_is_not_taken_for_passed() -> None:
    """pytest reports a group in which all is skipped as skipped, and any other group as failed."""

    @each_row("number", [1, 2, 3])
    def skipping(number: int) -> None:
        if number > 1:
            pytest.skip("not here")

    with pytest.raises(BaseExceptionGroup) as skipped:
        skipping()
    assert [type(error) for error in skipped.value.exceptions] == [pytest.skip.Exception] * 2


@pytest.mark.parametrize("rows", [[], [(1, 2, 3)], [pytest.param(1, 2, marks=pytest.mark.thorough)]])
def test_what_is_no_table(rows: list[object]) -> None:
    with pytest.raises(AssertionError):
        each_row(("left", "right"), rows)
