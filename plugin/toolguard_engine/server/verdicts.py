"""The answers about calls that ask whether they may run."""

from __future__ import annotations

from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial

from msgspec import structs

from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls import named_places
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.calls.replaced_content import may_replace, replaced_content
from toolguard_engine.guard import inner_call
from toolguard_engine.layers import first_use, harm_in_room, known_inputs, unknown_code_gate
from toolguard_engine.layers.autonomy import budget
from toolguard_engine.layers.autonomy.agent_standings import ASKS
from toolguard_engine.layers.provenance import gate
from toolguard_engine.model.call import ALLOW, NOTHING_KEPT, Call, Kept, Stop, Verdict
from toolguard_engine.model.lazy import FAILURES
from toolguard_engine.model.rehearsals import NoRehearsals
from toolguard_engine.model.tool_use import ToolUse
from toolguard_engine.model.work_limit import TooIntricate
from toolguard_engine.server.command_rooms import CommandRoom, CommandRooms
from toolguard_engine.server.file_watch import FileWatch
from toolguard_engine.server.outbox import Outbox, fault
from toolguard_engine.server.parked_calls import ParkedCalls
from toolguard_engine.server.session_state import SessionState
from toolguard_engine.server.standings_sync import StandingsSync
from toolguard_engine.server.undo_saver import NOTHING_SAVED, Saved
from toolguard_engine.stores.undo import undo_notes
from toolguard_engine.wire import messages
from toolguard_engine.wording import approval as approval_texts
from toolguard_engine.wording import room_notes

OUT_OF_ORDER = "approval.no-store"
CODE_ERROR = "guard.error"
CODE_UNREADABLE = "guard.unreadable"
APPROVED = ("approval.", "grant.")
ASKED = (*APPROVED, "shadow.")
"""Of what a person is asked about, or would be."""

"""Beginnings of the codes of calls that run because they were approved."""
CHECKPOINT = "budget.checkpoint"
NO_STOP = Stop("", "")
NO_CALL = Call("", None)
NOWHERE = CommandRoom(0)
NO_DOORS = frozenset[str]()
NO_REHEARSALS = NoRehearsals()
ROOM_LOST = "security.uncontained"
ROOM_GONE = "containment.gone"
ROOM_BACK = "security.contained-again"
MAX_ASKED = 100
"""Calls in the gateway's own prompt whose old state is kept."""
ELSEWHERE = ("node", "sandbox")
"""Values of `host` with which a command does not run beside the gateway."""


class Verdicts:
    def __init__(self, state: SessionState, outbox: Outbox, sync: StandingsSync, files: FileWatch) -> None:
        self._state = state
        self._files = files
        self._read: CallReading | None = None
        self._outbox = outbox
        self._sync = sync
        self._lost = ""
        self._asked: dict[str, Saved] = {}
        """By nonce, what was saved before the gateway's own prompt: it is told when the call has run."""
        self._parked = ParkedCalls(state, outbox, self)
        self.run_ended = self._parked.run_ended

    def judge(self, message: messages.Judge, call: Call) -> messages.Wire | None:
        """The answer about one call; None where it follows in `SessionState.answers`."""
        self._state.tally.judged += 1
        try:
            return self._judged(message, call)
        except Exception as error:  # noqa: BLE001 - a bug must not become a yes, nor end the engine for all sessions
            return self.undecided(message, call, error)

    def undecided(self, message: messages.Judge, call: Call, error: Exception) -> messages.Wire:
        """A bug is not silence: the call is blocked whatever the fail mode, also in shadow mode."""
        return self.blocked_unjudged(message.id, call, CODE_ERROR, f"the guard could not decide: {fault(error)}")

    def blocked_unjudged(self, question: int, call: Call, code: str, reason: str) -> messages.Wire:
        """The verdict on a call that could not be judged. The kill switch counts; only the mode `disabled` lets it pass."""
        bare = replace(call, params=None)  # nothing may look at them again
        config = self._state.guard.config_for(call.agent)
        if self._state.guard.killed:
            verdict = self._state.guard.kill_verdict(config.approval.prefix)
        elif config.active_mode == "disabled":
            verdict = Verdict("allow", code, reason=reason)
        else:
            verdict = Verdict("block", code, approval_texts.undecided(config.approval.prefix, code), reason)
        self._outbox.event("error", bare, replace(verdict, code=code, reason=reason))
        stop = self._counted(bare, verdict) if verdict.decision == "block" else None
        return _refusal(question, verdict, stop)

    def _counted(self, call: Call, verdict: Verdict) -> Stop | None:
        """The end of the run where the same comes again and again. A bug in counting changes no verdict."""
        self._state.tally.blocked += 1
        try:
            _, stop = self._state.guard.refused(call, verdict)
        except Exception as error:  # noqa: BLE001 - the call is blocked all the same
            self._outbox.warn_once(f"a blocked call could not be counted: {fault(error)}; please report this")
            return None
        if stop is not None:
            self.end_run(call, stop, verdict.reason)
        return stop

    def _judged(self, message: messages.Judge, call: Call) -> messages.Wire | None:
        call = self._state.guard.processes.joined(call)
        return self._answered(message, call, self._first(call))

    def judged_again(self, message: messages.Judge, call: Call, use: ToolUse | None) -> messages.Wire | None:
        """The answer about a call that was only held for its tool, which a store says is trusted: what else there is to ask
        or to charge comes now."""
        tools = self._state.guard.tools
        with tools.vouched(use) if tools else nullcontext():
            verdict = self._first(call)
        if verdict.code == ALLOW.code:
            verdict = replace(verdict, code=first_use.TRUSTED)
        return self._answered(message, call, verdict)

    def _answered(self, message: messages.Judge, call: Call, verdict: Verdict) -> messages.Wire | None:
        if self._state.guard.autonomy.has_spent:  # before the answer: who ends the engine behind it gets nothing back
            self._sync.save()
        self.report_signals()
        if verdict.decision == "allow":
            return self._allowed(message.id, call, verdict)
        if verdict.decision == "hold":
            return self._held(message, call, verdict)
        return self.refuse(message.id, call, verdict)

    def _allowed(self, question: int, call: Call, verdict: Verdict) -> messages.Wire:
        code, note = verdict.code, verdict.note
        if self._state.guard.spending and (warning := self._state.guard.spending.take_note(call.agent, call.session)):
            note = f"{note}\n\n{warning}" if note else warning
        if news := self._state.setup.take_note(call.session):
            note = f"{note}\n\n{news}" if note else news
        of_run = code.startswith(
            ("shadow.loop.", "shadow.limit.")
        )  # a run that would have been stopped goes on: that is said once
        if code.startswith("shadow.") and not (of_run and self._outbox.is_reported(call.run, code)):
            self._outbox.event("would-refuse", call, verdict)
        if verdict.note:
            self._outbox.event("note", call, replace(verdict, reason=verdict.note))
        self._outbox.measured(lambda measure: measure.allowed(call, code))
        if not note and self._state.config.pin_params != "always":
            return self.let_run(question, call, code)
        acts = self._reading(call).config.active_mode in ("enforce", "soft")
        return self.let_run(
            question, call, code, note=note if acts else "", pin=acts and self._state.config.pin_params == "always"
        )

    def _first(self, call: Call) -> Verdict:
        """What the guard says, with what others made of how the agent stands: a person's checkpoint, other engines."""
        self._sync.catch_up(call)
        self._files.settle()
        reading = self._read = self._state.guard.read(call)
        self._look_at_rooms(reading)
        verdict = self._state.guard.judge_reading(reading)
        if verdict.code != budget.NO_STORE:
            return verdict
        self._sync.save()
        return verdict if self._state.guard.lost else self._state.guard.judge_reading(reading)

    def _reading(self, call: Call) -> CallReading:
        """The call as it was read to be judged."""
        return self._read if self._read is not None and self._read.call is call else self._state.guard.read(call)

    def let_run(
        self, question: int, call: Call, code: str, *, note: str = "", pin: bool = False, nonce: str = ""
    ) -> messages.Wire:
        """`nonce`: of the approval that lets it run."""
        read = self._reading(call)
        typed = self._state.guard.typed(read) if read.tool == "process" else ()
        self._state.guard.processes.sent(call, keep=not code.startswith(APPROVED))
        limited = self._state.guard.timer.limited
        missing = frozenset[str]()
        try:  # `suppress` takes several times as long
            was_asked = code.startswith(ASKED)
            missing = limited(read.work, partial(self._files.begins, read, was_asked=was_asked))
            for command in typed:
                process = str(read.params.get("sessionId", ""))
                limited(read.work, partial(self._files.begins, command, process, was_asked=was_asked))
        except FAILURES:
            pass
        self._asked.pop(nonce, None)
        self._tell_saved(call, self._save_for_undo(read, nonce, missing), nonce)
        wanted, room = self._state.guard.wanted(call, read.config), self._room(read, code)
        only_there = code == harm_in_room.CODE
        if only_there and room.pid <= 0:
            return self.refuse(question, call, self._without_room(call))
        return messages.VerdictAnswer(
            question, "allow", code, pin=pin or only_there, note=note, outcome=wanted, room=room.pid, room_name=room.name,
            only_there=only_there, approved=bool(nonce),
        )  # fmt: skip

    def _save_for_undo(self, reading: CallReading, nonce: str, missing: frozenset[str] = frozenset()) -> Saved:
        """Keeps what the call is about to change, unless the agent made it in this session. `missing`: paths at which there
        is nothing."""
        undo = self._state.setup.undo
        if undo is None or not undo.is_on or reading.config.active_mode == "disabled":
            return NOTHING_SAVED
        if not may_replace(reading):
            return NOTHING_SAVED
        call = reading.call
        try:
            if reading.params.get("host") in ELSEWHERE:
                return NOTHING_SAVED
            changes = self._state.guard.timer.limited(reading.work, partial(replaced_content, reading))
            mine = tuple(
                change
                for change in changes
                if not (change.way == "replaced" and change.path in missing)
                and not self._files.is_made_in_session(change.path, call.session)
            )
            return undo.before(call, partial(approval_texts.shown, call), mine, nonce)
        except FAILURES:
            return NOTHING_SAVED
        except Exception as error:  # noqa: BLE001 - what cannot be saved changes no verdict
            return Saved(why=f"it could not be saved: {fault(error)}")

    def _tell_saved(self, call: Call, saved: Saved, nonce: str, shown: str = "") -> None:
        """A line that says whether a call can be undone, where it may have to be."""
        if saved.name or saved.why:
            code, reason = undo_notes.recorded(saved.name, saved.why)
            event = undo_notes.EVENT if code == undo_notes.KEPT else "note"
            self._outbox.event(event, call, Verdict("allow", code, reason=reason), nonce, shown)

    def _without_room(self, call: Call) -> Verdict:
        """The room in which nothing would have come of a call is gone since it was judged."""
        prefix = self._state.guard.config_for(call.agent).approval.prefix
        return Verdict("block", ROOM_GONE, room_notes.gone(prefix), room_notes.GONE)

    def _room(self, reading: CallReading, code: str) -> CommandRoom:
        """The room that a command enters; without a process if it enters none."""
        rooms = self._state.setup.rooms
        call = reading.call
        if rooms is None or not reading.executes or call.searched or reading.params.get("host") in ELSEWHERE:
            return NOWHERE
        if code == harm_in_room.CODE:
            room = rooms.sure_entrance(reading)
            self.report_rooms(call)
            return rooms.rehearsal(reading, room, approved=False) if room.pid > 0 else NOWHERE
        doors = self._doors(reading, rooms, code) if rooms.has_rooms else NO_DOORS
        if code.startswith(APPROVED) and rooms.waits(call):
            doors = frozenset()  # what was approved is what it did without any
        room = rooms.entrance(call, doors)
        self.report_rooms(call)
        return rooms.rehearsal(reading, room, approved=code.startswith(APPROVED)) if room.pid > 0 else NOWHERE

    def _doors(self, reading: CallReading, rooms: CommandRooms, code: str) -> frozenset[str]:
        """What a command needs of its room; what cannot be found out opens no door."""
        with suppress(TooIntricate, MemoryError, RecursionError):
            granted = partial(self._is_granted_outside, reading)
            find = partial(rooms.doors, reading, approved=code.startswith(APPROVED), granted=granted)
            return self._state.guard.timer.limited(reading.work, find)
        return NO_DOORS

    def kept_from(self, reading: CallReading) -> Kept:
        """What is kept from a command in the room that it is sure to enter; nothing if a person lets it run outside."""
        rooms = self._state.setup.rooms
        kept = rooms.kept_from(reading) if rooms is not None else NOTHING_KEPT
        return NOTHING_KEPT if kept and self._is_granted_outside(reading) else kept

    def _is_granted_outside(self, reading: CallReading) -> bool:
        approvals = self._state.approvals
        return approvals is not None and approvals.runs_outside(
            reading.call, partial(named_places.places_to_look_at, reading)
        )

    def _look_at_rooms(self, reading: CallReading) -> None:
        """Whether the commands of this agent are to be held because they cannot be contained."""
        rooms, agent = self._state.setup.rooms, reading.call.agent
        is_held = rooms is not None and reading.config.containment.when_unavailable == "hold"
        self._state.guard.uncontained = rooms.why_not(agent) if rooms is not None and is_held else ""
        self._state.guard.rehearsals = rooms.rehearsals if rooms is not None and rooms.rehearsals else NO_REHEARSALS

    def report_rooms(self, call: Call = NO_CALL) -> None:
        """A line for the audit log when commands are not contained any more, or again."""
        news = self._state.setup.rooms.take_news() if self._state.setup.rooms else None
        if news is None:
            return
        code = ROOM_LOST if news.why else ROOM_BACK
        reason = f"commands are not contained: {news.why}" if news.why else "commands are contained again"
        self._outbox.event("security", call, Verdict("allow", code, reason=reason))
        if news.why:
            self._outbox.warn_once(reason)

    def report_signals(self) -> None:
        """What did not hold its call: a held call has a line of its own."""
        for notice in self._state.guard.autonomy.take_signals():
            if not notice.held:
                code = notice.signal.code
                self._outbox.event(code.partition(".")[0], notice.call, Verdict("allow", code, reason=notice.signal.reason))

    def _held(self, message: messages.Judge, call: Call, asked: Verdict) -> messages.Wire | None:
        if complaint := self._state.inputs.complaint(inner_call(call)):
            return self._corrected(message, inner_call(call), complaint)
        if self._state.approvals is not None:
            self._parked.park(message, self._reading(call), self._with_record(call, asked), self._state.approvals)
            return None
        text = approval_texts.out_of_order(self._reading(call).config.approval.prefix, OUT_OF_ORDER)
        return self.refuse(message.id, call, Verdict("block", OUT_OF_ORDER, text, "no store of approvals"))

    def _corrected(self, message: messages.Judge, call: Call, complaint: str) -> messages.Wire:
        """The answer about a call that its own tool would refuse: nobody is asked whether it may run."""
        self._state.inputs.corrected(call)
        refusal = self._state.guard.failed(call, complaint, judged=False)
        if refusal is None:
            return self.refuse(message.id, call, Verdict("block", known_inputs.CODE, complaint, complaint))
        self._outbox.refusal(refusal, "", "", shadow=False)
        self._outbox.measured(lambda measure: measure.malformed(refusal, self._state.now()))
        correction = refusal.correction
        self._state.tally.corrected += 1
        self._state.tally.loops += correction.action == "loop-detected"
        if correction.stop:
            self.end_run(call, correction.stop)
        return _refusal(message.id, Verdict("block", known_inputs.CODE, correction.text), correction.stop)

    def _with_record(self, call: Call, asked: Verdict) -> Verdict:
        """An approval of what a rehearsal did is of that only: of the file that lists it."""
        record = self._state.guard.rehearsals.rehearse(call).record if asked.code == unknown_code_gate.REHEARSED else ""
        if not record or asked.named is None:
            return asked
        return replace(asked, named=structs.replace(asked.named, unread=(*asked.named.unread, record)))

    def ran_from_prompt(self, call: Call, entry: HeldCall) -> None:
        """A person has answered in the gateway's own prompt, and the call runs."""
        self.approved(call, entry, self._state.guard.config_for(entry.agent))
        self._tell_saved(call, self._asked.pop(entry.nonce, NOTHING_SAVED), entry.nonce, entry.shown)

    def approved(self, call: Call, entry: HeldCall, config: Config) -> None:
        self._state.guard.autonomy.approved(call, entry.code, config)
        if entry.details is not None:
            self._state.guard.contexts.confirm(call.session, gate.destinations(entry.details), call.at)
        if entry.code.startswith(ASKS) and config.active_budget_mode != "disabled":
            reason = f"the approval of {entry.nonce} was a checkpoint: budget and drift were reset"
            self._outbox.event("checkpoint", call, Verdict("allow", CHECKPOINT, reason=reason), entry.nonce)

    def refuse(
        self, question: int, call: Call, verdict: Verdict, nonce: str = "", prompt: messages.Prompt | None = None
    ) -> messages.Wire:
        held = verdict.decision == "hold"
        if prompt is not None:  # a person is asked at once, so nothing is refused yet
            self._state.guard.processes.sent(call, keep=False)
            read = self._state.guard.read(call)
            wanted = self._state.guard.wanted(call, read.config)
            with suppress(TooIntricate, MemoryError, RecursionError):
                self._state.guard.timer.limited(read.work, partial(self._files.may_begin, read))
            self._asked[nonce] = self._save_for_undo(read, nonce)
            if len(self._asked) > MAX_ASKED:
                del self._asked[next(iter(self._asked))]
            room = self._room(read, APPROVED[0])
            return messages.VerdictAnswer(
                question,
                "hold",
                verdict.code,
                verdict.text,
                prompt=prompt,
                outcome=wanted,
                room=room.pid,
                room_name=room.name,
            )
        verdict, stop = self._state.guard.refused(call, verdict, nonce if held else "")
        self._sync.save()
        self._state.tally.held += held
        self._state.tally.blocked += not held
        if not held:
            self._outbox.event("block", call, verdict, nonce=nonce)
        if stop is not None:
            self.end_run(call, stop, verdict.reason)
        return _refusal(question, verdict, stop)

    def begins(self, message: messages.Message) -> messages.Wire:
        """Whether a run may begin. One that may not has no call that could be blocked, so the audit log says it here."""
        model = (message.provider, message.model) if message.model else None
        verdict = self._state.guard.may_begin(message.agent, message.session, model)
        if verdict is None:
            return messages.Stopped(message.id)
        call = Call("", None, agent=message.agent, session=message.session, run=message.run)
        self._state.tally.stopped += 1
        self._outbox.event("stop", call, replace(verdict, text=""))
        return messages.Stopped(message.id, verdict.reason)

    def end_run(self, call: Call, stop: Stop, reason: str = "") -> None:
        """An answer ends the run of this call. Later answers may say so again: it is told and counted once."""
        if call.run and not self._outbox.is_reported(call.run, stop.code):
            self._state.tally.stopped += 1
            self._outbox.event("stop", call, Verdict("block", stop.code, reason=reason))

    def would_end_run(self, call: Call, stop: Stop, reason: str) -> None:
        """Notes, in shadow mode, that the run would end."""
        code = f"shadow.{stop.code}"
        if not self._outbox.is_reported(call.run, code):
            self._outbox.event("would-refuse", call, Verdict("allow", code, reason=reason))


def _refusal(question: int, verdict: Verdict, stop: Stop | None) -> messages.VerdictAnswer:
    """The answer on a call that does not run. `stop`: the end of its run."""
    end = stop or NO_STOP
    return messages.VerdictAnswer(question, verdict.decision, verdict.code, verdict.text, stop=end.text, waiting=end.waiting)
