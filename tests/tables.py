"""Long tables of cases as one test: a test of its own for each row costs more milliseconds than most rows take."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import pytest

SHOWN_CHARS = 300
PARAM: Any = type(pytest.param())

Test = Callable[..., None]
Ids = Iterable[str] | Callable[[Any], Any] | None


def each_row(names: str | tuple[str, ...], rows: Iterable[Any], *, ids: Ids = None) -> Callable[[Test], Test]:
    """As `pytest.mark.parametrize`, but one test tries all rows, to the end, and names those that fail.

    All rows get the same fixtures. Where rows are skipped and none fails, the test is reported as skipped.
    """
    parameters = (names,) if isinstance(names, str) else names
    table = list(rows)
    assert table, "a table without rows"
    values = [_values(row, len(parameters)) for row in table]

    def decorate(function: Test) -> Test:
        signature = inspect.signature(function)

        @functools.wraps(function)
        def test(*args: Any, **fixtures: Any) -> None:
            failed: list[BaseException] = []
            for number, row in enumerate(values):
                try:
                    function(*args, **fixtures, **dict(zip(parameters, row, strict=True)))
                except (Exception, pytest.fail.Exception, pytest.skip.Exception) as error:  # noqa: BLE001
                    error.add_note(f"Row {number}: {_name(table[number], row, ids, number)}")
                    failed.append(error)
            if failed:
                raise BaseExceptionGroup(f"{len(failed)} of {len(table)} rows fail", failed)

        left = [parameter for name, parameter in signature.parameters.items() if name not in parameters]
        test.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return test

    return decorate


def _values(row: Any, width: int) -> tuple[Any, ...]:
    if isinstance(row, PARAM):
        assert not row.marks, "marks are for rows of pytest.mark.parametrize"
        row = row.values
    elif width == 1:
        row = (row,)
    assert len(row) == width, f"{row!r} has {len(row)} values instead of {width}"
    return tuple(row)


def _name(row: Any, values: tuple[Any, ...], ids: Ids, number: int) -> str:
    """Its own id, what `ids` makes of it, or its values."""
    if isinstance(row, PARAM) and row.id:
        return str(row.id)
    if ids is None:
        return ", ".join(map(repr, values))[:SHOWN_CHARS]
    return "-".join(str(ids(value)) for value in values) if callable(ids) else list(ids)[number]
