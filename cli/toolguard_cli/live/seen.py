"""What the canary saw: facts, without a judgement."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Told:
    """One message to the agent. `results`: the newest tool result in each request of the model after the first.

    `answer`: what the person sees; `ok`: and the gateway does not call it a failure.
    """

    requests: int
    results: tuple[str, ...]
    answer: str
    ok: bool
    seconds: float

    @property
    def first(self) -> str:
        """What the model was told right after its first call; empty where it was not asked again."""
        return self.results[0] if self.results else ""


@dataclass(frozen=True)
class Started:
    """The gateway takes messages. `engine`: and an engine of the plugin runs.

    `own`: the last that the plugin wrote into the gateway's log; `about`: the last that the gateway wrote about the plugin.
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
    """A call that nobody minds. `word` is in the file that it reads; `hooks`: the engine's evidence; `judged`: its count."""

    told: Told
    word: str
    hooks: str
    judged: int


@dataclass(frozen=True)
class Forbidden:
    """A call that no approval lifts. `reason`: of the verdict in the audit log, empty where there is none; `ran`: it did."""

    told: Told
    reason: str
    ran: bool


@dataclass(frozen=True)
class Loop:
    """A malformed call, repeated for as long as the model was asked; then a message to the same session, with `word`."""

    told: Told
    closing: str
    after: Told
    word: str


@dataclass(frozen=True)
class Held:
    """A call that waits under `nonce`, empty where it does not; `unasked`: how often it ran before the yes.

    `again`: the same call twice after the yes, where there was something to say yes to; `ran`: how often it ran in all.
    """

    told: Told
    nonce: str
    unasked: int
    again: Told | None = None
    ran: int = 0
