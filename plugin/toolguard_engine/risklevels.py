"""How much is at stake with a call, as one of five levels. The mapping is data (`toolguard_manifests/levels.toml`)."""

from __future__ import annotations

from toolguard_engine.config import Config, RiskLevel
from toolguard_engine.judgement import Judgement
from toolguard_engine.model import Call


def level(call: Call, found: Judgement, config: Config) -> RiskLevel:
    raise NotImplementedError
