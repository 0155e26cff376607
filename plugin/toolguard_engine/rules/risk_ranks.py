"""The names of the risk levels, and their ranks."""

from __future__ import annotations

from typing import get_args

from toolguard_engine.config.settings import RiskLevel

LEVELS: tuple[RiskLevel, ...] = get_args(RiskLevel)
"""In ascending order; a level's place in it is its rank."""

RANKS = {name: rank for rank, name in enumerate(LEVELS)}
SAFE, LOW, HIGH, CRITICAL = (RANKS[name] for name in ("SAFE", "LOW", "HIGH", "CRITICAL"))
