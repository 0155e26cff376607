"""The settings under `plugins.entries.toolguard.config`: the one source of their names, ranges and defaults.

`scripts/build_manifest` derives the plugin's JSON schema from these types; a test holds both in step. Names and
defaults of `enabled`, `maxIdenticalFailures`, `maxFailuresPerTurn`, `logPath`, `logLevel`, `escalationThreshold`,
`pendingTimeoutMs`, `approvalWindowMs`, `storePath`, `alwaysBlock` and `neverBlock` are those of the plugins that toolguard
replaces, so that an old entry stays valid.
"""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Mode = Literal["enforce", "soft", "shadow", "disabled"]
FailMode = Literal["closed", "open"]
LogLevel = Literal["debug", "info", "warn", "error"]
PinParams = Literal["approved", "always"]
ApprovalMode = Literal["nonce", "native"]
Threshold = Annotated[int, Meta(ge=1, le=100)]
ToolName = Annotated[str, Meta(min_length=1, max_length=200)]
ToolNames = Annotated[list[ToolName], Meta(max_length=500)]
RuleName = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9.-]{0,79}$")]
RuleNames = Annotated[list[RuleName], Meta(max_length=500)]
FilePath = Annotated[str, Meta(min_length=1, max_length=4096)]
PendingTimeout = Annotated[int, Meta(ge=60_000, le=600_000)]
ApprovalWindow = Annotated[int, Meta(ge=10_000, le=120_000)]
Prefix = Annotated[str, Meta(pattern="^[A-Z][A-Z0-9_]{0,39}$")]

DEFAULT_LOG_PATH = "~/.openclaw/tool-guard.log"


class AgentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """What one agent may have of its own; an absent key falls back to the general setting."""

    mode: Mode | msgspec.UnsetType = msgspec.UNSET
    max_identical_failures: Threshold | msgspec.UnsetType = msgspec.UNSET
    max_failures_per_turn: Threshold | msgspec.UnsetType = msgspec.UNSET
    escalation_threshold: Threshold | msgspec.UnsetType = msgspec.UNSET
    always_block: ToolNames | msgspec.UnsetType = msgspec.UNSET


class ApprovalConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How a person says yes. `mode`: by nonce, or in the gateway's own prompt where it has one to show."""

    mode: ApprovalMode = "nonce"
    prefix: Prefix = "TOOLGUARD"
    wake: bool = True
    agent_tool: bool = False


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """All settings. Paths are as the user wrote them; `~/.openclaw/` stands for the gateway's state directory."""

    enabled: bool = True
    mode: Mode = "enforce"
    max_identical_failures: Threshold = 2
    max_failures_per_turn: Threshold = 5
    escalation_threshold: Threshold = 36
    rules_off: RuleNames = msgspec.field(default_factory=list)
    always_block: ToolNames = msgspec.field(default_factory=list)
    never_block: ToolNames = msgspec.field(default_factory=lambda: ["memory_search", "memory_get", "session_status"])
    pending_timeout_ms: PendingTimeout = 300_000
    approval_window_ms: ApprovalWindow = 30_000
    store_path: FilePath | msgspec.UnsetType = msgspec.UNSET
    pin_params: PinParams = "approved"
    approval: ApprovalConfig = ApprovalConfig()
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
