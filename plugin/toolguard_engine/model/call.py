"""The inner vocabulary of the guard. Values; only `Run` changes, and only the guard changes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from msgspec import Struct

from toolguard_engine.model.call_world import Named
from toolguard_engine.model.held_details import HeldDetails
from toolguard_engine.model.history import Past
from toolguard_engine.model.run_counters import CounterSet

Decision = Literal["allow", "hold", "block"]
ErrorClass = Literal[
    "validation", "missing-parameter", "invalid-arguments", "unknown-tool", "not-executed", "held", "blocked"
]
"""`not-executed`: nothing was wrong with the call itself; the run was over. `held`, `blocked`: the guard did that."""

Action = Literal["corrected", "loop-detected", "limit", "stopped"]
"""What the guard did about a malformed call; in shadow mode, what it would have done."""


@dataclass(slots=True)
class Call:
    """One tool call, already looked through Tool Search: `tool` is what really runs, `searched` that it came that way.

    `requester`: who asked for it, `owner` or the sender's id; `at`: when, in seconds since 1970. Empty or 0 where not known.
    Nothing changes it. It is not declared frozen because one is made for every question, and that takes a microsecond more.
    """

    tool: str
    params: Any
    searched: bool = False
    agent: str = ""
    session: str = ""
    run: str = ""
    call_id: str = ""
    request: int = 0
    cwd: str = ""
    channel: str = ""
    requester: str = ""
    at: float = 0.0


@dataclass(frozen=True, slots=True)
class Host:
    """What the engine knows of the gateway it guards. Paths are absolute; `guarded` are folders of toolguard itself.

    `pids`: the engine and its gateway. `metrics`: the metrics file. `dashboard`: `address:port` where it is switched on,
    `dashboard_names`: host names under which a proxy serves it. `secrets`: files of `guarded` that agents may not read.
    `links`: folders that are symbolic links, or lie below one, and where they lead, as far as that is near a guarded place.
    `code`: the folder of the gateway's package, `release`: its version; empty where they are not known.
    """

    home: str = ""
    state_dir: str = ""
    config_path: str = ""
    guarded: tuple[str, ...] = ()
    pids: frozenset[int] = frozenset()
    metrics: str = ""
    dashboard: str = ""
    links: tuple[tuple[str, str], ...] = ()
    code: tuple[str, ...] = ()
    release: str = ""
    dashboard_names: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()

    def __hash__(self) -> int:
        """Hash what tells gateways apart: what is derived from a host is looked up several times for every call."""
        return hash((self.home, self.state_dir, self.config_path))


class ParameterProblem(Struct, frozen=True):
    """What is wrong with one parameter. `path` may be nested (`edits.0.newText`); `missing` means it was not sent."""

    path: str
    missing: bool
    detail: str


class Failure(Struct, frozen=True):
    """Why the gateway refused a call that a retry cannot fix. `expected` is the tool's input as the host words it."""

    error: ErrorClass
    problems: tuple[ParameterProblem, ...] = ()
    expected: str = ""

    @property
    def signature(self) -> tuple[str, ...]:
        """Equal for two failures that have the same cause."""
        return (self.error, *(f"{p.path}: {p.detail}" for p in self.problems))


@dataclass(frozen=True, slots=True)
class Verdict:
    """What becomes of a call. `code` is stable and names the layer; `text` is for the model, `reason` for people.

    A layer that holds or blocks by a rule gives the reason; the text is made from it where all is known (`texts`).
    `note` is put behind the result of a call that runs. `details`, `named`: of a hold.
    """

    decision: Decision
    code: str
    text: str = ""
    reason: str = ""
    note: str = ""
    details: HeldDetails | None = None
    named: Named | None = None


ALLOW = Verdict("allow", "allow")

Keeping = Literal["secrets", "credentials", "files"]
"""What the kernel keeps from a command, whatever it runs: reading the guard's secrets, reading credentials in the home
folder, changing the guard's files."""

Kept = frozenset[Keeping]
NOTHING_KEPT: Kept = frozenset()


class Stop(Struct, frozen=True):
    """The run ends now; `text` takes the place of the model's message. `waiting`: what the run's answer must name: the
    nonces of held calls, or a command."""

    code: str
    text: str
    waiting: tuple[str, ...] = ()


class Correction(Struct, frozen=True):
    """The text the model sees in place of the gateway's, what it is (`action`), and the end of the run, if it is due."""

    action: Action
    text: str
    stop: Stop | None = None


@dataclass(slots=True)
class Identical:
    """How often one call failed for one cause; under which `nonce` it waits, if it does."""

    failure: Failure
    count: int
    request: int = 0
    searched: bool = False
    nonce: str = ""


@dataclass(slots=True)
class Run:
    """What the guard remembers of one turn of one agent, until it ends. `used`: when it was last heard of; `session`: where
    its calls came from."""

    failures: int = 0
    first_request: int = 0
    identical: dict[bytes, Identical] = field(default_factory=dict)
    stop: Stop | None = None
    past: Past = field(default_factory=Past)
    used: float = 0.0
    session: str = ""
    counters: CounterSet = field(default_factory=CounterSet)

    @property
    def repeats(self) -> bool:
        """Whether an engine after this one should know of its calls: if all was new, there is nothing to go on from."""
        return bool(self.past.stale) or self.counters.matters


@dataclass(frozen=True, slots=True)
class MalformedCall:
    """A malformed call, why it was refused, and what the model is told. In shadow mode the telling is left out."""

    call: Call
    failure: Failure
    correction: Correction
