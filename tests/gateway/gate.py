"""Which cases of a table are in the gate; the others run with `scripts/test --all`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Any

import pytest
from _pytest.mark.structures import ParameterSet


def sampled(names: Iterable[str], gate: Collection[str]) -> list[ParameterSet]:
    """All these cases for `pytest.mark.parametrize`; those that are not in `gate` are marked `thorough`."""
    cases = list(names)
    missing = set(gate) - set(cases)
    assert not missing, f"not in the table: {missing}"
    return [pytest.param(name, id=name, marks=[] if name in gate else [pytest.mark.thorough]) for name in cases]


def thoroughly(*cases: Callable[..., Any]) -> list[ParameterSet]:
    """These functions for `pytest.mark.parametrize`, in `scripts/test --all` only."""
    return [pytest.param(case, id=case.__name__, marks=pytest.mark.thorough) for case in cases]
