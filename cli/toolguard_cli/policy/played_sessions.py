"""Plays recorded sessions to an engine of its own, as the gateway would have asked it: with what the agent had read, which
files it had made, what it had spent, and what a person had approved.

The engine has the gateway's settings, rules and grants, and a throw-away ledger. A call that ran in the recording counts as
approved if the engine would have asked, because what came later depends on it. Nothing runs, and nothing of the gateway is
changed.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.policy import offline_guard, recorded_results
from toolguard_cli.policy.offline_guard import Judging
from toolguard_cli.policy.recorded_files import RecordedFiles
from toolguard_cli.policy.transcript_steps import Returned, Step, WantedCall
from toolguard_cli.policy.transcripts import KeptCall
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import replies
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.ledger import Decision, HeldCall, RefusedError
from toolguard_engine.effects.calls import made_files, made_folders
from toolguard_engine.guard import inner_call
from toolguard_engine.host import refusals
from toolguard_engine.host.tool_search import is_envelope, unwrap
from toolguard_engine.layers import known_inputs
from toolguard_engine.model.call import Call
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.server import tool_hints
from toolguard_engine.server.held_call_decisions import Approvals
from toolguard_engine.server.install_paths import included, links_to, own_places
from toolguard_engine.server.session import Session
from toolguard_engine.server.session_state import Setup
from toolguard_engine.server.world_reader import WorldReader
from toolguard_engine.stores import open as stores
from toolguard_engine.wire import messages

SECONDS_APART = 5.0
"""Between two steps of a recording without times."""
WINDOW = 600.0
REPLAYED = Decision("replay", "replay", "it ran in the recording")
LEFT_OUT = frozenset({"limits", "metrics", "notify", "fleet", "containment"})
"""Settings that would have this engine look at, or start, what belongs to the gateway."""


@dataclass(frozen=True, slots=True)
class PlayedCall:
    """One call of a recording with what the engine says. `decision`: `allow`, `hold`, `block`, or `corrected` where the call
    never reached the guard; `cause`: the rule or layer; `entry`: of a hold. `is_question`: a person is asked, for the first
    time about this call. `ran`: it did in the recording."""

    call: Call
    line: int
    decision: str
    cause: str
    reason: str = ""
    entry: HeldCall | None = None
    is_question: bool = False
    ran: bool = False
    session: str = ""
    whole: bool = True


class _Given:
    """Grants that are only read."""

    def __init__(self, grants: Sequence[Grant]) -> None:
        self._grants = grants

    def active(self, now: float) -> Sequence[Grant]:
        del now
        return self._grants

    def note_expired(self) -> None:
        pass


class Player:
    """An engine for one or more recordings, in the order in which they are played. To be closed."""

    def __init__(self, places: Places, judged: Judging) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="toolguard-replay-")
        self._now = datetime.now(UTC).timestamp()
        self._ids = 0
        self._run = self._last_run = ""
        self._asked: set[str] = set()
        self._background: set[str] = set()
        self._ledger = stores.held_calls(Path(self._folder.name), None, "replay")
        self._files = RecordedFiles()
        self._prefix = judged.config.approval.prefix
        self._judged_alone = judged
        grants = _Given(judged.grants)
        world = WorldReader()
        setup = Setup(
            hints=tool_hints.load(),
            clock=lambda: datetime.fromtimestamp(self._now, UTC),
            pid=os.getpid(),
            book=judged.book,
            home=str(Path.home()),
            guarded=own_places(),
            included=included,
            links=links_to,
            open_approvals=lambda _hello, _config: Approvals(self._ledger, grants, lambda: self._now, world=world),
            files=self._files,
        )
        self._session = Session(setup)
        config = _enforcing(gateway_stores.entry(places))
        state, path = str(places.state_dir), str(places.config)
        self._ask(messages.Hello(self._id(), messages.VERSION, state, config=config, gateway="replay", config_path=path))

    def close(self) -> None:
        self._folder.cleanup()

    def play(self, step: Step) -> Iterator[PlayedCall]:
        """What the engine says to the calls of one step."""
        self._now = step.at or self._now + SECONDS_APART
        if step.spoken is not None:
            self._end_run(step)
            spoken = step.spoken
            self._tell(
                messages.UserMessage(
                    text=spoken.text, owner=spoken.owner, person=spoken.person, agent=step.agent, session=step.session
                )
            )
        if step.wanted:
            self._begin_run(step)
            for wanted in step.wanted:
                yield replace(self._played(step, wanted), session=step.session)
        for kept in step.logged:
            yield self._logged(kept, step)

    def _logged(self, kept: KeptCall, step: Step) -> PlayedCall:
        """A call of a log, judged by itself."""
        judgement, call = self._judged_alone.weigh(kept.call), kept.call
        entry = self._judged_alone.as_held(call) if judgement.decision == "hold" else None
        return PlayedCall(
            call, kept.line, judgement.decision, offline_guard.cause(judgement), judgement.reason, entry,
            is_question=judgement.decision == "hold", session=call.session or step.session, whole=kept.whole,
        )  # fmt: skip

    def weigh(self, call: Call) -> Judgement:
        """The judgement on a call that its agent would make now, in the run that was played last. Changes nothing."""
        return self._session.guard.weigh(inner_call(call), in_run=True)

    @property
    def run(self) -> str:
        return self._run

    def _played(self, step: Step, wanted: WantedCall) -> PlayedCall:
        call = inner_call(Call(wanted.tool, wanted.params, agent=step.agent, session=step.session, cwd=step.cwd))
        returned = wanted.returned
        text = returned.text if returned else ""
        never_judged = refusals.classify(wanted.tool, wanted.params, text, judged=False) if returned else None
        if never_judged is not None and not call.searched:
            self._failed(step, wanted, judged=False)
            return PlayedCall(call, step.line, "corrected", never_judged.error, recorded_results.first_line(text))
        if recorded_results.is_correction(text):
            return PlayedCall(call, step.line, "corrected", "malformed", recorded_results.first_line(text))
        ran = returned is not None and not recorded_results.was_refused(text, self._prefix)
        return self._judged(step, wanted, call, ran=ran)

    def _judged(self, step: Step, wanted: WantedCall, call: Call, *, ran: bool) -> PlayedCall:
        answer = self._judge(step, wanted)
        entry = self._held(answer)
        is_question = entry is not None and entry.nonce not in self._asked
        if entry is not None:
            self._asked.add(entry.nonce)
            if ran:
                answer = self._approved(step, wanted, entry) or answer
        if answer.decision == "allow" and wanted.returned is not None and ran:
            self._returned(step, wanted, wanted.returned, answer.outcome)
        if answer.code == known_inputs.CODE:
            return PlayedCall(call, step.line, "corrected", "malformed", recorded_results.first_line(answer.text), ran=ran)
        if entry is not None and is_question:
            return PlayedCall(call, step.line, "hold", _cause(entry), entry.reason, entry, is_question=True, ran=ran)
        decision = "hold" if answer.decision == "hold" else answer.decision
        reason = recorded_results.first_line(answer.text).partition("|")[2]
        cause = _cause(entry) if entry is not None and decision == "hold" else answer.code
        return PlayedCall(call, step.line, decision, cause, reason, entry, ran=ran)

    def _judge(self, step: Step, wanted: WantedCall) -> messages.VerdictAnswer:
        real = _in_envelope(wanted)
        answer = self._ask(
            messages.Judge(
                id=self._id(), tool=real.tool, params=real.params, cwd=step.cwd, call=real.id, **self._place(step)
            )
        )
        assert isinstance(answer, messages.VerdictAnswer)  # noqa: S101 - what the engine answers a question about a call
        return answer

    def _held(self, answer: messages.VerdictAnswer) -> HeldCall | None:
        """The entry under which a call waits."""
        parts = answer.text.split("|", 2)
        if answer.decision != "hold" or len(parts) < 3:  # noqa: PLR2004 - prefix, nonce, reason
            return None
        with suppress(RefusedError):
            return replies.now_known(self._ledger.entries(), self._now).find(parts[1])
        return None

    def _approved(self, step: Step, wanted: WantedCall, entry: HeldCall) -> messages.VerdictAnswer | None:
        with suppress(RefusedError):
            self._ledger.approve(entry.nonce, REPLAYED, self._now, WINDOW, unseen=True)
            return self._judge(step, wanted)
        return None

    def _returned(self, step: Step, wanted: WantedCall, returned: Returned, outcome: str) -> None:
        if not returned.failed:
            call = inner_call(Call(wanted.tool, wanted.params, agent=step.agent, session=step.session, cwd=step.cwd))
            reading = self._session.guard.read(call)
            changes, folders = made_files.changes(reading), made_folders.folders(reading)
            self._files.ran(wanted.tool, wanted.params, step.cwd, changes, folders)
            self._files.shown(recorded_results.named(wanted.params))
        self._files.shown(returned.text)
        if outcome:
            of_result = recorded_results.outcome(returned)
            real = _in_envelope(wanted)
            of_result |= {**self._place(step), "call": real.id, "id": self._id() if outcome == "ask" else None}
            self._ask(messages.ToolResult(tool=real.tool, params=real.params, **of_result))
        if described := recorded_results.description(wanted.tool, returned):
            self._tell(messages.ToolText(tool=wanted.tool, text=described, **self._place(step)))
        outside = recorded_results.outside_text(wanted.tool, wanted.params, returned, self._background)
        if outside:
            params = recorded_results.short_params(wanted.params)
            self._tell(messages.ToolText(tool=wanted.tool, text=outside, params=params, **self._place(step)))
        if returned.failed:
            self._failed(step, wanted, judged=True)

    def _failed(self, step: Step, wanted: WantedCall, *, judged: bool) -> None:
        text = wanted.returned.text if wanted.returned else ""
        self._ask(
            messages.Failed(
                id=self._id(), tool=wanted.tool, text=text, params=wanted.params, judged=judged, **self._place(step)
            )
        )

    def _begin_run(self, step: Step) -> None:
        name = step.run or self._run or f"{step.session}#{step.line}"
        if name != self._run:
            self._end_run(step)
            self._run = name
            self._tell(messages.RunStart(**self._place(step)))

    def _end_run(self, step: Step) -> None:
        if self._run:
            self._tell(messages.RunEnd(self._run, step.session))
        self._run = ""

    def _place(self, step: Step) -> dict[str, Any]:
        return {"agent": step.agent, "session": step.session, "run": self._run}

    def _id(self) -> int:
        self._ids += 1
        return self._ids

    def _tell(self, note: messages.Incoming) -> None:
        self._ask(note)

    def _ask(self, message: messages.Incoming) -> messages.Wire | None:
        session = self._session
        answer = session.answer(message)
        session.setup.queue.settle()
        later = session.take_answers()
        session.settle()
        session.outbox.take_events()
        return answer or next((wire for _, wire in later if wire is not None), None)


def _in_envelope(wanted: WantedCall) -> WantedCall:
    """The call that Tool Search makes of `tool_call`. The gateway asks about both; the recording has the outer one only."""
    if not is_envelope(wanted.tool, wanted.params):
        return wanted
    tool, params = unwrap(wanted.tool, wanted.params)
    return replace(wanted, tool=tool, params=params, id=f"tool_search_code:{wanted.id}:{tool}:1")


def _cause(entry: HeldCall) -> str:
    """The rule under which a hold is counted."""
    rules = entry.details.rules if entry.details else ()
    return entry.code if entry.code.startswith("rule.") or not rules else f"rule.{rules[0].rule}"


def _enforcing(entry: Any) -> dict[str, Any]:
    """The settings of a guard that acts, whether or not it only watches now."""
    given = {name: value for name, value in entry.items() if name not in LEFT_OUT} if isinstance(entry, dict) else {}
    agents = given.get("agents")
    if isinstance(agents, dict):
        given["agents"] = {name: _acting(value) if isinstance(value, dict) else value for name, value in agents.items()}
    return _acting(given)


def _acting(settings: dict[str, Any]) -> dict[str, Any]:
    return {**settings, "mode": "enforce"} if settings.get("mode") == "shadow" else settings
