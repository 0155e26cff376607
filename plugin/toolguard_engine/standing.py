"""How an agent stands in one session: what it has risked, how far it is trusted, what it did since a person last looked.

Pure; `stores.standings` keeps it. The law: a checkpoint (an approval that the budget asked for, or a person's command)
gives the whole budget back and forgets what drift was counted; trust only ever moves by `EARNED` and `LOST`.
"""

from __future__ import annotations

import msgspec


class Signal(msgspec.Struct, frozen=True):
    """Why a person should look: `code` is stable (`budget.exhausted`, `budget.trust`, `drift.speed`), `reason` one sentence."""

    code: str
    reason: str


class Standing(msgspec.Struct):
    """Of one agent in one session. Times are seconds since 1970."""

    agent: str
    session: str
    trust: float = 0.7
    spent: float = 0.0
    epoch: int = 0
    touched: float = 0.0
    told: list[str] = []


class Standings:
    """All of them, the idle ones forgotten."""

    def __init__(self) -> None:
        raise NotImplementedError
