from __future__ import annotations

from typing import Any

from tables import each_row
from toolguard_cli.hostconfig import env_vars

ENV = {"A": "one", "EMPTY": "", "B_2": "${A}"}


@each_row(
    ("value", "filled", "unset"),
    [
        ("plain", "plain", []),
        ("${A}/x", "one/x", []),
        ("${A}${A}", "oneone", []),
        ("$${A}", "${A}", []),
        ("${NOT_SET} ${EMPTY}", "${NOT_SET} ${EMPTY}", ["NOT_SET", "EMPTY"]),
        ("${lower} $A ${A", "${lower} $A ${A", []),
        ("${B_2}", "${A}", []),
        ([1, True, None, {"${A}": ["${A}"]}], [1, True, None, {"${A}": ["one"]}], []),
    ],
)
def test_variables(value: Any, filled: Any, unset: list[str]) -> None:
    assert env_vars.filled(value, ENV) == filled
    assert list(env_vars.unset(value, ENV)) == unset
