"""What was observed in the live proof: facts without judgement."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class AgentNotice:
    """One message to the agent. `results`: the newest tool result in each request to the model after the first.

    `answer`: the text for the user. `ok`: whether the gateway reports success.
    """

    requests: int
    results: tuple[str, ...]
    answer: str
    ok: bool
    seconds: float

    @property
    def first(self) -> str:
        """The result that the model received for its first call; empty if there was no further request."""
        return self.results[0] if self.results else ""


@dataclass(frozen=True)
class Started:
    """The gateway accepts messages. `engine`: whether an engine of the plugin runs.

    `own`: the last line of the plugin in the gateway's log; `about`: the gateway's last line about the plugin.
    """

    version: str
    folder: str
    python: str
    engine: bool
    own: str
    about: str
    seconds: float


@dataclass(frozen=True)
class Valid:
    """A harmless call. `word`: in the file that it reads; `hooks`: the engine's evidence; `judged`: its count of calls."""

    notice: AgentNotice
    word: str
    hooks: str
    judged: int


@dataclass(frozen=True)
class Forbidden:
    """A call that cannot be approved. `reason`: of the verdict in the audit log, empty if none; `ran`: whether it ran."""

    notice: AgentNotice
    reason: str
    ran: bool


@dataclass(frozen=True)
class Loop:
    """A malformed call, repeated on every request; then a message to the same session that reads a file with `word`."""

    notice: AgentNotice
    closing: str
    after: AgentNotice
    word: str


@dataclass(frozen=True)
class HeldObservation:
    """A call held under `nonce`, empty if it was not held. `unasked`: how often it ran before the approval.

    `again`: the same call twice after the approval, None if nothing could be approved; `ran`: how often it ran in total.
    """

    notice: AgentNotice
    nonce: str
    unasked: int
    again: AgentNotice | None = None
    ran: int = 0
