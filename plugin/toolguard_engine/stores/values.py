"""What stores take and return, and the errors of `policy.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec

from toolguard_engine.approvals.ledger import HeldCall, Status
from toolguard_engine.rules.rule_form import Rule
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.toml_file import At
from toolguard_engine.wording.visible_text import visible

RULE_TABLE = "rule"
FORMER_TABLE = "constraint"
"""What a rule with a severity was called; read like `[[rule]]`."""


KILL_SWITCH_SECONDS = 0.1
"""How long after a change of the kill switch an engine may still use the state before it."""


class KillSwitchState(msgspec.Struct):
    """Who switched it on, why, and when (seconds since 1970)."""

    by: str = ""
    why: str = ""
    at: float = 0.0


class Presented(msgspec.Struct, frozen=True):
    """The result for a call that needs approval. `outcome`: `used` (it may run, once), `pending` or `denied`; `expired`: its
    approval does not count, and `refusal` says why."""

    outcome: Status
    entry: HeldCall
    fresh: bool = False
    refusal: str = ""


class NeedsSignatureError(StoreError):
    """Only a person's own login, with a signature, can do this."""

    code = "approval.unsigned"


class PolicyError(StoreError):
    """The file cannot be understood; until it is fixed no grant counts. The text names file, line and fix."""

    code = "policy.bad"


class InvalidRulesError(StoreError):
    """A table cannot be understood; the text names file, line, column, the error and the fix."""

    code = "policy.bad-rule"

    def __init__(self, path: Path, at: At, message: str, fix: str) -> None:
        where = f", line {at.line}" if at.line else ""
        where += f", column {at.column}" if at.line and at.column else ""
        super().__init__(visible(f"{path}{where}: {message}; {fix}"))
        self.path, self.at, self.message, self.fix = path, at, message, fix


class Placed(msgspec.Struct, frozen=True):
    """A rule, its position, and its table as written."""

    rule: Rule
    at: At
    table: Mapping[str, Any]


class Found(msgspec.Struct, frozen=True):
    """What a file contains. `good`: the valid rules, in file order; `fault`: the first error; `former`: the number of tables
    that are still called `[[constraint]]`."""

    good: tuple[Placed, ...] = ()
    fault: StoreError | None = None
    former: int = 0
