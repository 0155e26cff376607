"""Plays a run through the engine's own session, without a gateway: what the gateway part asks, in its order.

It mirrors `plugin/gateway/hooks.mjs`; the bench shows that both come to the same number of requests. A call that would be
held for a person is taken to be approved: a recorded one was made, and waiting is not what is measured here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import Any

from loopkinds import Act, Kind, with_process

from toolguard_engine import hints, protocol, rulepacks
from toolguard_engine.approvals import Approvals, Settled
from toolguard_engine.config import Config
from toolguard_engine.failures import classify
from toolguard_engine.model import Call, Verdict
from toolguard_engine.session import Session, Setup

SECONDS_A_CALL = 5
END = 4_096
"""Characters that the gateway part tells of each end of a long text."""


class Approved(Approvals):
    """Says yes to every call that asks."""

    def __init__(self) -> None:
        self.trouble = ""

    def settle(self, verdict: Verdict, call: Call, config: Config) -> Settled:  # noqa: ARG002
        return Settled(Verdict("allow", "grant.bench"))

    def is_decided(self, nonce: str) -> bool:  # noqa: ARG002
        return True


class Clock:
    """Time that passes by calls."""

    def __init__(self) -> None:
        self.now = datetime(2026, 11, 22, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=SECONDS_A_CALL)
        return self.now


def session(settings: dict[str, Any], clock: Callable[[], datetime] | None = None) -> Session:
    """An engine's session with these settings and all rules, for a gateway that is not there."""
    setup = Setup(hints.load(), clock or Clock(), 0, rulepacks.load(), open_approvals=lambda *_: Approved())
    made = Session(setup)
    made.answer(protocol.Hello(1, protocol.VERSION, "/home/u/.openclaw", settings))
    assert not made.config_error, made.config_error
    return made


@dataclass
class Played:
    """What became of a run. `requests` in all, closing answer included; `code`: what ended it, empty where nothing did.

    `warned`: the request whose call got the first word from the guard, 0 where none did.
    """

    requests: int = 0
    code: str = ""
    warned: int = 0
    said: list[str] = field(default_factory=list)

    def as_json(self) -> dict[str, Any]:
        return {"requests": self.requests, "warned": self.warned, "code": self.code}


@dataclass
class Run:
    """The gateway part of one run."""

    engine: Session
    place: dict[str, Any]
    played: Played = field(default_factory=Played)
    stop: str = ""
    stopped_at: int = 0
    watch: bool = False

    def goes_on(self, acts: Sequence[Act]) -> bool:
        """The model answers with these calls; False where the run ends with that."""
        self.played.requests += 1
        unseen = acts and all(is_of_unknown_tool(act) for act in acts)
        if not unseen:
            self._message(acts)
            if self.stop:
                self.played.requests += 1  # the closing answer
                return False
        judged = [(act, self._judged(act)) for act in acts]  # all of them, before anything comes of one
        for act, verdict in judged:
            self._came(act, verdict)
        return not (unseen and self.stop and self.played.requests > self.stopped_at)

    def _message(self, acts: Sequence[Act]) -> None:
        if not self.stop and self.watch and acts:
            wanted = [protocol.MessageCall(act.tool, act.params) for act in acts]
            self._end(self._ask(protocol.Message, calls=wanted).stop)

    def _end(self, stop: str) -> None:
        if stop and not self.stop:
            self.stop, self.stopped_at = stop, self.played.requests

    def _judged(self, act: Act) -> Any:
        """The verdict; None where the gateway did not even ask."""
        return None if is_refused(act) else self._ask(protocol.Judge, **_of(act))

    def _came(self, act: Act, verdict: Any) -> None:
        if verdict and verdict.decision != "allow":
            self._take(verdict)
            self.watch = True
            return
        if verdict:
            self._ran(act, verdict)
        if act.result and (act.result.failed or act.result.status == "error"):
            self._take(self._ask(protocol.Failed, **_of(act), text=act.result.text, judged=verdict is not None))

    def _ran(self, act: Act, verdict: Any) -> None:
        self._say(verdict.note)
        if verdict.outcome and act.result and act.result.status != "blocked":
            text = act.result.text
            told = text if len(text) <= 2 * END else f"{text[:END]}\n{text[-END:]}"
            came = self._ask(
                protocol.Came, **_of(act), text=told, size=len(text), failed=act.result.failed, rest=rest_of(text),
                status=act.result.status, exit_code=act.result.exit_code, asks=verdict.outcome == "ask",
            )  # fmt: skip
            self._take(came)

    def _take(self, answer: Any) -> None:
        """Whatever the engine says to a call."""
        if answer is None:
            return
        self._say(getattr(answer, "note", "") or getattr(answer, "text", ""))
        self._end(answer.stop)
        self.watch = self.watch or getattr(answer, "watch", False) or bool(answer.stop)

    def _say(self, text: str) -> None:
        if text:
            self.played.warned = self.played.warned or self.played.requests
            self.played.said.append(text)

    def _ask(self, kind: Any, *, asks: bool = True, **fields: Any) -> Any:
        return self.engine.answer(kind(**self.place, request=self.played.requests, **({"id": 2} if asks else {}), **fields))


def rest_of(text: str) -> str:
    """A digest of what is cut out of a long text."""
    return sha256(text[END:-END].encode("utf-8", "replace")).hexdigest()[:32] if len(text) > 2 * END else ""


def _of(act: Act) -> dict[str, Any]:
    return {"tool": act.tool, "params": act.params}


def is_refused(act: Act) -> bool:
    """Whether the gateway did not even ask about this call, as far as its answer tells."""
    if act.result is None or not act.result.failed or act.result.refused:
        return bool(act.result and act.result.refused)
    as_refusal = [classify(act.tool, act.params, act.result.text, judged=judged) for judged in (False, True)]
    return as_refusal[0] is not None and as_refusal[1] is None


def is_of_unknown_tool(act: Act) -> bool:
    """The gateway shows the message with such a call to no hook, and keeps it in no transcript."""
    if act.result is None or not act.result.failed:
        return False
    failure = classify(act.tool, act.params, act.result.text, judged=False)
    return failure is not None and failure.error == "unknown-tool"


def play(engine: Session, requests: Iterable[Sequence[Act]], name: str, agent: str = "main") -> Played:
    """A run of that name: its requests to the model, each with the calls that the answer makes. The last one has none."""
    place = {"agent": agent, "session": f"agent:{agent}:{name}", "run": name}
    run = Run(engine, place)
    for acts in requests:
        if not run.goes_on(acts):
            stopped = engine.guard._runs[name].stop  # noqa: SLF001 - the wire does not tell the code
            run.played.code = stopped.code if stopped else "?"
            break
    engine.answer(protocol.RunEnd(name, place["session"]))
    return run.played


def play_kind(engine: Session, kind: Kind) -> Played:
    """A made-up run. The name of a command in the background is known from its result on."""
    requests = [[Act(act.tool, with_process(act.params, _begun(kind)), act.result)] for act in kind.acts]
    return play(engine, [*requests, []], kind.name)


def _begun(kind: Kind) -> str:
    first = kind.act(0).result
    return first.text if first else ""
