"""The settings under `plugins.entries.toolguard.config`: the only source of their names, ranges and defaults.

`scripts/build_manifest` derives the plugin's JSON schema from these types. Old entries stay valid: `enabled`,
`maxIdenticalFailures`, `maxFailuresPerTurn`, `logPath`, `logLevel`, `escalationThreshold`, `pendingTimeoutMs`,
`approvalWindowMs`, `storePath`, `alwaysBlock`, `neverBlock` and `metrics` have the names and defaults of the plugins that
toolguard replaces, `loopDetection` those of the gateway. `conflicts` checks settings against each other.
"""

from __future__ import annotations

from functools import cached_property
from hashlib import sha256
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec
from msgspec import Meta

from toolguard_engine.config.audit_settings import AuditConfig
from toolguard_engine.config.containment_settings import ContainmentConfig
from toolguard_engine.config.fleet_settings import FleetConfig
from toolguard_engine.config.run_limit_settings import RunLimits
from toolguard_engine.config.tool_settings import ToolTrustConfig
from toolguard_engine.config.undo_settings import UndoConfig

Mode = Literal["enforce", "soft", "shadow", "disabled"]
LENIENT_FIRST: tuple[Mode, ...] = ("disabled", "shadow", "soft", "enforce")
FailMode = Literal["closed", "open"]
LogLevel = Literal["debug", "info", "warn", "error"]
PinParams = Literal["approved", "always"]
ApprovalMode = Literal["nonce", "native"]
RiskLevel = Literal["SAFE", "LOW", "MEDIUM", "HIGH", "CRITICAL"]
Threshold = Annotated[int, Meta(ge=1, le=100)]
CallCount = Annotated[int, Meta(ge=1, le=10_000)]
CountOrOff = Annotated[int, Meta(ge=0, le=10_000)]
"""0 disables it."""

StepsOrOff = Annotated[int, Meta(ge=0, le=4)]
HistorySize = Annotated[int, Meta(ge=1, le=1000)]
WindowSize = Annotated[int, Meta(ge=1, le=100)]
Port = Annotated[int, Meta(ge=1, le=65_535)]
Days = Annotated[int, Meta(ge=1, le=3650)]
DaysOfHours = Annotated[int, Meta(ge=8, le=3650)]
"""Weekly totals are computed from them, starting on a full hour."""

BudgetSize = Annotated[float, Meta(ge=0.1, le=100)]
Trust = Annotated[float, Meta(ge=0, le=1)]
Cost = Annotated[float, Meta(ge=0, le=100)]
Price = Annotated[float, Meta(ge=0, le=1_000_000)]
ToolName = Annotated[str, Meta(min_length=1, max_length=200)]
ToolNames = Annotated[list[ToolName], Meta(max_length=500)]
RuleName = Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9.-]{0,79}$")]
RuleNames = Annotated[list[RuleName], Meta(max_length=500)]
FilePath = Annotated[str, Meta(min_length=1, max_length=4096)]
SignersFile = Annotated[str, Meta(max_length=4096, pattern=r"^(/[^\x00-\x1f\x7f]*)?$")]
"""An absolute path, which no other program reads in another way; empty: none."""

PendingTimeout = Annotated[int, Meta(ge=60_000, le=86_400_000)]
ApprovalWindow = Annotated[int, Meta(ge=10_000, le=120_000)]
Prefix = Annotated[str, Meta(pattern="^[A-Z][A-Z0-9_]{0,39}$")]
BindAddress = Annotated[str, Meta(min_length=1, max_length=255)]
LimitPeriod = Literal["session", "day", "month"]
LimitUsd = Annotated[float, Meta(ge=0.01, le=1_000_000)]
LimitTokens = Annotated[int, Meta(ge=1, le=1_000_000_000_000)]
LimitName = Annotated[str, Meta(max_length=200)]
PublicHost = Annotated[str, Meta(pattern=r"^(https?://)?[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?(:[0-9]{1,5})?$")]
"""`name`, `name:port`, or with `http://` in front if there is no TLS."""

PublicHosts = Annotated[list[PublicHost], Meta(max_length=20)]
AnswerLinkTime = Annotated[int, Meta(ge=60_000, le=3_600_000)]
NotifyEvent = Literal[
    "held", "expiring", "expired", "lapsed", "blocked", "loop", "budget", "engineAway", "weakened", "guardEnded", "digest"
]
NotifyEvents = Annotated[list[NotifyEvent], Meta(max_length=11)]
URGENT: list[NotifyEvent] = ["held", "expiring", "engineAway", "weakened", "guardEnded"]
REPORTED: list[NotifyEvent] = [*URGENT, "expired", "lapsed", "loop", "budget"]
TargetAddress = Annotated[str, Meta(min_length=1, max_length=4096)]
CommandWords = Annotated[list[Annotated[str, Meta(max_length=4096)]], Meta(max_length=50)]
TIME_PATTERN = "^([01][0-9]|2[0-3]):[0-5][0-9]$"
TimeOfDay = Annotated[str, Meta(pattern=TIME_PATTERN)]
LeadSeconds = Annotated[int, Meta(ge=10, le=3600)]
PerHour = Annotated[int, Meta(ge=1, le=600)]

HOME_STATE = "~/.openclaw/"
"""How settings spell the state folder."""

DEFAULT_LOG_PATH = "~/.openclaw/tool-guard.log"
DEFAULT_METRICS_PATH = "~/.openclaw/metrics.db"


class ApprovalConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How calls are approved. `mode`: by nonce, or in the gateway's own prompt if it can show one. `signers`: a file in the
    format of OpenSSH's `allowed_signers`; `revoked_signers`: a revocation list (KRL), or a list of keys."""

    mode: ApprovalMode = "nonce"
    prefix: Prefix = "TOOLGUARD"
    wake: bool = True
    agent_tool: bool = False
    answer_links: bool = False
    answer_link_ms: AnswerLinkTime = 900_000
    signers: SignersFile = ""
    revoked_signers: SignersFile = ""

    @property
    def is_signed(self) -> bool:
        """Whether an approval counts only with the signature of an allowed signer."""
        return bool(self.signers)


class Detectors(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    generic_repeat: bool = True
    known_poll_no_progress: bool = True
    ping_pong: bool = True


class CompactionGuard(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    window_size: WindowSize = 3


class IdenticalErrors(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The same failure of the same call, if a retry cannot fix it: a note, then the end of the run. 0 disables either."""

    warn: CountOrOff = 3
    stop: CountOrOff = 6


class LoopDetection(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Repetition without progress. `enabled`: true for all checks, absent for only the compaction guard,
    `identicalErrors`, and calls and sequences of calls that demonstrably make no progress, false for none."""

    enabled: bool | msgspec.UnsetType = msgspec.UNSET
    history_size: HistorySize = 30
    warning_threshold: CallCount = 10
    critical_threshold: CallCount = 20
    unknown_tool_threshold: CallCount = 10
    global_circuit_breaker_threshold: CallCount = 30
    sequence_threshold: CountOrOff = 300
    identical_errors: IdenticalErrors = IdenticalErrors()
    detectors: Detectors = Detectors()
    post_compaction_guard: CompactionGuard = CompactionGuard()


class DashboardConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    enabled: bool = False
    port: Port = 8080
    bind: BindAddress = "127.0.0.1"
    hosts: PublicHosts = msgspec.field(default_factory=list)


class Retention(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How many days single calls and hourly and daily totals are kept."""

    raw_days: Days = 30
    hourly_days: DaysOfHours = 90
    daily_days: Days = 365


class ModelPrice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """USD per million tokens. Cache tokens cost as much as other input unless set."""

    input: Price
    output: Price
    cache_read: Price | msgspec.UnsetType = msgspec.UNSET
    cache_write: Price | msgspec.UnsetType = msgspec.UNSET


ModelPrices = dict[str, ModelPrice]
"""By `provider/model`; `*` matches anything."""


class MetricsConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    enabled: bool = False
    db_path: FilePath = DEFAULT_METRICS_PATH
    dashboard: DashboardConfig = DashboardConfig()
    retention: Retention = Retention()
    prices: ModelPrices = msgspec.field(default_factory=dict)


class SpendingLimit(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """The most that model calls may use in a period (UTC), in USD or tokens, or both. `agent`, `model`: only what these
    use; empty: all. `model` is `provider/model` or a model's name; `*` matches anything."""

    per: LimitPeriod
    usd: LimitUsd | msgspec.UnsetType = msgspec.UNSET
    tokens: LimitTokens | msgspec.UnsetType = msgspec.UNSET
    agent: LimitName = ""
    model: LimitName = ""


SpendingLimits = Annotated[list[SpendingLimit], Meta(max_length=50)]


class RiskCosts(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="upper"):
    safe: Cost = 0.0
    low: Cost = 0.05
    medium: Cost = 0.15
    high: Cost = 0.4
    critical: Cost = 1.0


class DriftConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Thresholds for drift since a person's last message or checkpoint; 0 disables one."""

    escalating_access: StepsOrOff = 3
    outward_calls: CountOrOff = 10
    calls_per_minute: CountOrOff = 60
    same_resource: CountOrOff = 20
    warnings: CountOrOff = 5
    minutes_alone: CountOrOff = 120


class BudgetConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """How much risk an agent may take before it needs approval; `risk_costs` is what a call of each level costs."""

    mode: Mode = "shadow"
    size: BudgetSize = 1.0
    initial_trust: Trust = 0.7
    risk_costs: RiskCosts = RiskCosts()
    tool_risk_map: dict[str, RiskLevel] = msgspec.field(default_factory=dict)
    drift: DriftConfig = DriftConfig()


class NotifyTarget(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """Where notifications go: exactly one of `url`, `url_file` (of ntfy or apprise), `webhook`, `command` and `channel`.
    `events`: only these, of those that are enabled."""

    url: TargetAddress | msgspec.UnsetType = msgspec.UNSET
    url_file: FilePath | msgspec.UnsetType = msgspec.UNSET
    webhook: TargetAddress | msgspec.UnsetType = msgspec.UNSET
    secret: TargetAddress | msgspec.UnsetType = msgspec.UNSET
    secret_file: FilePath | msgspec.UnsetType = msgspec.UNSET
    command: CommandWords | msgspec.UnsetType = msgspec.UNSET
    channel: Annotated[str, Meta(pattern="^[a-z0-9][a-z0-9_-]{0,59}$")] | msgspec.UnsetType = msgspec.UNSET
    to: TargetAddress | msgspec.UnsetType = msgspec.UNSET
    account: Annotated[str, Meta(min_length=1, max_length=200)] | msgspec.UnsetType = msgspec.UNSET
    events: NotifyEvents | msgspec.UnsetType = msgspec.UNSET


class QuietHours(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Hours in local time, also over midnight; none if both times are equal. `urgent` events are sent even then."""

    begin: TimeOfDay = "00:00"
    end: TimeOfDay = "00:00"
    urgent: NotifyEvents = msgspec.field(default_factory=URGENT.copy)


class NotifyConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """Who learns of a held call, and of what else. Times are local."""

    targets: dict[str, NotifyTarget] = msgspec.field(default_factory=dict)
    events: NotifyEvents = msgspec.field(default_factory=REPORTED.copy)
    quiet_hours: QuietHours = QuietHours()
    expiring_seconds: LeadSeconds = 60
    digest_at: TimeOfDay = "08:00"
    most_per_hour: PerHour = 60


def _of_agent(general: type[msgspec.Struct], *names: str) -> Any:
    """The settings that an agent may override (default: all), without defaults."""
    inner = {field.name: field.type for field in msgspec.structs.fields(general) if field.name in names or not names}
    kinds = {name: _of_agent(kind) if isinstance(kind, type(msgspec.Struct)) else kind for name, kind in inner.items()}
    fields = [(name, kind | msgspec.UnsetType, msgspec.UNSET) for name, kind in kinds.items()]
    return msgspec.defstruct(
        f"Agent{general.__name__}", fields, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True
    )


if TYPE_CHECKING:
    AgentLoopDetection = LoopDetection
    AgentBudget = BudgetConfig
    AgentContainment = ContainmentConfig
    AgentRunLimits = RunLimits
else:
    AgentLoopDetection = _of_agent(LoopDetection)
    AgentBudget = _of_agent(BudgetConfig, "mode")
    AgentContainment = _of_agent(ContainmentConfig)
    AgentRunLimits = _of_agent(RunLimits)


class AgentConfig(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", omit_defaults=True):
    """Settings of one agent; an absent key falls back to the general setting."""

    mode: Mode | msgspec.UnsetType = msgspec.UNSET
    max_identical_failures: Threshold | msgspec.UnsetType = msgspec.UNSET
    max_failures_per_turn: Threshold | msgspec.UnsetType = msgspec.UNSET
    escalation_threshold: Threshold | msgspec.UnsetType = msgspec.UNSET
    always_block: ToolNames | msgspec.UnsetType = msgspec.UNSET
    loop_detection: AgentLoopDetection | msgspec.UnsetType = msgspec.UNSET
    budget: AgentBudget | msgspec.UnsetType = msgspec.UNSET
    containment: AgentContainment | msgspec.UnsetType = msgspec.UNSET
    run_limits: AgentRunLimits | msgspec.UnsetType = msgspec.UNSET


class Config(msgspec.Struct, frozen=True, forbid_unknown_fields=True, rename="camel", dict=True):
    """All settings. Paths are as the user wrote them; `~/.openclaw/` stands for the gateway's state directory."""

    enabled: bool = True
    mode: Mode = "enforce"
    max_identical_failures: Threshold = 2
    max_failures_per_turn: Threshold = 5
    escalation_threshold: Threshold = 36
    rules_off: RuleNames = msgspec.field(default_factory=list)
    always_block: ToolNames = msgspec.field(default_factory=list)
    never_block: ToolNames = msgspec.field(default_factory=lambda: ["memory_search", "memory_get"])
    pending_timeout_ms: PendingTimeout = 300_000
    approval_window_ms: ApprovalWindow = 30_000
    store_path: FilePath | msgspec.UnsetType = msgspec.UNSET
    pin_params: PinParams = "approved"
    redact_secrets: bool = True
    containment: ContainmentConfig = ContainmentConfig()
    undo: UndoConfig = UndoConfig()
    audit: AuditConfig = AuditConfig()
    tool_trust: ToolTrustConfig = ToolTrustConfig()
    approval: ApprovalConfig = ApprovalConfig()
    loop_detection: LoopDetection = LoopDetection()
    metrics: MetricsConfig = MetricsConfig()
    notify: NotifyConfig = NotifyConfig()
    budget: BudgetConfig = BudgetConfig()
    limits: SpendingLimits = msgspec.field(default_factory=list)
    run_limits: RunLimits = RunLimits()
    fleet: FleetConfig = FleetConfig()
    log_path: FilePath = DEFAULT_LOG_PATH
    log_level: LogLevel = "info"
    fail_mode: FailMode = "closed"
    python: FilePath | msgspec.UnsetType = msgspec.UNSET
    agents: dict[str, AgentConfig] = msgspec.field(default_factory=dict)

    def for_agent(self, agent: str) -> Config:
        """The settings, overridden by this agent's own."""
        own = self.agents.get(agent)
        merged: Config = self if own is None else _overridden(self, own)
        return merged

    @cached_property
    def active_mode(self) -> Mode:
        return self.mode if self.enabled else "disabled"

    @property
    def signs_approvals(self) -> bool:
        """Whether a person approves with a signature, which chat cannot make: because of its signers, or in a fleet."""
        return self.approval.is_signed or self.fleet.enabled

    @property
    def is_measured(self) -> bool:
        """Whether model calls are recorded: limits need that."""
        return self.metrics.enabled or bool(self.limits)

    @cached_property
    def active_budget_mode(self) -> Mode:
        """The more lenient of `mode` and `budget.mode`."""
        both = (self.active_mode, self.budget.mode)
        return next(mode for mode in LENIENT_FIRST if mode in both)


def _overridden(general: Any, own: msgspec.Struct) -> Any:
    """`general`, a settings struct, with the set fields of `own`, in nested settings too."""
    changes: dict[str, Any] = {}
    for name in own.__struct_fields__:
        value = getattr(own, name)
        if value is not msgspec.UNSET:
            changes[name] = _overridden(getattr(general, name), value) if isinstance(value, msgspec.Struct) else value
    return msgspec.structs.replace(general, **changes)


class _Dashboard(msgspec.Struct, frozen=True, rename="camel"):
    enabled: bool = False
    port: Port = DashboardConfig().port
    bind: BindAddress = DashboardConfig().bind
    hosts: PublicHosts = msgspec.field(default_factory=list)


class _Metrics(msgspec.Struct, frozen=True, rename="camel"):
    db_path: FilePath = DEFAULT_METRICS_PATH
    dashboard: _Dashboard = _Dashboard()


class _Settings(msgspec.Struct, frozen=True):
    metrics: _Metrics = _Metrics()


def metrics_of(raw: object) -> MetricsConfig:
    """The metrics file and dashboard settings, even if other settings are invalid: as the plugin starts the dashboard
    (`dashboardCommand`). The defaults if these cannot be read either, because then no dashboard starts."""
    try:
        metrics = msgspec.convert({} if raw is None else raw, _Settings).metrics
    except (msgspec.ValidationError, RecursionError):
        return MetricsConfig()
    page = metrics.dashboard
    return MetricsConfig(db_path=metrics.db_path, dashboard=DashboardConfig(page.enabled, page.port, page.bind, page.hosts))


def parse(raw: object) -> Config:
    """Reads decoded JSON. Raises `msgspec.ValidationError`, whose text names the key (`at `$.mode``)."""
    return msgspec.convert({} if raw is None else raw, Config)


def digests(config: Config) -> dict[str, str]:
    """A digest of each setting that is not at its default, to compare what two processes have read."""
    usual, own = (_comparable(msgspec.to_builtins(settings)) for settings in (Config(), config))
    texts = {name: msgspec.json.encode(own[name], order="deterministic") for name in own if usual.get(name) != own[name]}
    return {name: sha256(text).hexdigest()[:16] for name, text in texts.items()}


def _comparable(value: Any, name: str = "") -> Any:
    """Paths without their folder, because the gateway replaces `~` in them, perhaps by a home other than ours."""
    if isinstance(value, dict):
        return {key: _comparable(member, key) for key, member in value.items()}
    return value.rpartition("/")[2] if isinstance(value, str) and name.lower().endswith("path") else value
