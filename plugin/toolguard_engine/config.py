"""The settings under `plugins.entries.toolguard.config`: the one source of their names, ranges and defaults.

`scripts/build_manifest` derives the plugin's JSON schema from these types; a test holds both in step. Names and
defaults of `enabled`, `maxIdenticalFailures`, `maxFailuresPerTurn`, `logPath`, `logLevel` and `neverBlock` are those of
the plugins that toolguard replaces, so that an old entry stays valid.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Mode = Literal["enforce", "soft", "shadow", "disabled"]
FailMode = Literal["closed", "open"]
LogLevel = Literal["debug", "info", "warn", "error"]
Threshold = Annotated[int, Meta(ge=1, le=100)]
ToolName = Annotated[str, Meta(min_length=1, max_length=200)]
FilePath = Annotated[str, Meta(min_length=1, max_length=4096)]

DEFAULT_LOG_PATH = "~/.openclaw/tool-guard.log"


class AgentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """What one agent may have of its own; an absent key falls back to the general setting."""

    mode: Mode | msgspec.UnsetType = msgspec.UNSET
    max_identical_failures: Threshold | msgspec.UnsetType = msgspec.UNSET
    max_failures_per_turn: Threshold | msgspec.UnsetType = msgspec.UNSET


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """All settings. Paths are as the user wrote them; `~/.openclaw/` stands for the gateway's state directory."""

    enabled: bool = True
    mode: Mode = "enforce"
    max_identical_failures: Threshold = 2
    max_failures_per_turn: Threshold = 5
    never_block: Annotated[list[ToolName], Meta(max_length=500)] = msgspec.field(
        default_factory=lambda: ["memory_search", "memory_get", "session_status"]
    )
    log_path: FilePath = DEFAULT_LOG_PATH
    log_level: LogLevel = "info"
    fail_mode: FailMode = "closed"
    python: FilePath | msgspec.UnsetType = msgspec.UNSET
    agents: dict[str, AgentConfig] = msgspec.field(default_factory=dict)

    def for_agent(self, agent: str) -> Config:
        """The settings with this agent's own laid over them."""
        own = self.agents.get(agent)
        if own is None:
            return self
        changes = {name: value for name in own.__struct_fields__ if (value := getattr(own, name)) is not msgspec.UNSET}
        return msgspec.structs.replace(self, **changes)

    @property
    def active_mode(self) -> Mode:
        return self.mode if self.enabled else "disabled"


def parse(raw: object) -> Config:
    """From decoded JSON. Raises `msgspec.ValidationError`, whose text names the key (`at `$.mode``)."""
    return msgspec.convert({} if raw is None else raw, Config)
