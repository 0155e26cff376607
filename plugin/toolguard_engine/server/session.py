"""One conversation with one gateway: messages in, answers out. No I/O: the clock and the stores are handed in.

The caller sends what `answers` holds, and writes what `outbox`, `take_touched` and `seams` hold after the answer has left.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path

import msgspec

from toolguard_engine import __version__
from toolguard_engine.config import spending_limits
from toolguard_engine.config.settings import Config, metrics_of, parse
from toolguard_engine.effects.calls.outcomes import Outcome, outcome
from toolguard_engine.guard import Guard, inner_call
from toolguard_engine.host.tool_search import tool_name
from toolguard_engine.layers import known_inputs, run_limits, seen_tools
from toolguard_engine.layers.malformed_loops import BLOCKED, HELD
from toolguard_engine.layers.spending_totals import SpendingTotals
from toolguard_engine.metrics.measure import Measure
from toolguard_engine.model.call import Call, Host, MalformedCall, Run, Stop, Verdict
from toolguard_engine.rules.rulebook import Rule, Rulebook
from toolguard_engine.server.file_watch import FileWatch
from toolguard_engine.server.install_paths import measured, notification_secrets, notifying, public_names
from toolguard_engine.server.outbox import Outbox, fault
from toolguard_engine.server.person import PersonDecisions
from toolguard_engine.server.session_state import SessionState
from toolguard_engine.server.standings_sync import StandingsSync
from toolguard_engine.server.verdicts import CODE_ERROR, CODE_UNREADABLE, NO_STOP, Verdicts
from toolguard_engine.stores import audit_log
from toolguard_engine.stores.call_log import resolve
from toolguard_engine.wire import leading_members, messages
from toolguard_engine.wording import approval as approval_texts
from toolguard_engine.wording import correction as texts

CODE_REWRITTEN = "security.rewritten"
CODE_REDACTED = "secret.redacted"
SHELL_SEAM = "commandShell"
"""Whether commands enter their rooms, see `plugin/gateway/seams.mjs`."""


class Session(SessionState):
    """Answers one gateway."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._own_rules: tuple[Rule, ...] = ()
        self.outbox = Outbox(self.setup.clock)
        self._sync = StandingsSync(self, self.outbox)
        self.files = FileWatch(
            self.outbox, self.setup.files, lambda: self.guard.files, lambda: self.guard.living, self._is_from_outside,
            self.setup.timer,
        )  # fmt: skip
        self._verdicts = Verdicts(self, self.outbox, self._sync, self.files)
        self._person = PersonDecisions(self, self.outbox, self._sync, self._verdicts)

    def answer(self, message: messages.Incoming) -> messages.Wire | None:
        """The answer to one message; None for a note, and where the answer follows in `answers`."""
        match message:
            case messages.Judge():
                return self._judge(message)
            case messages.ToolResult():
                return self._on_result(message)
            case messages.Failed():
                return self._failed(message)
            case messages.Message():
                return self._message(message)
            case messages.ParamsChanged():
                return self._ran(message)
            case messages.PersonDecision():
                return self._person.decide(message)
            case messages.Resolved():
                return self._person.resolved(message)
            case messages.Unjudged():
                return self._unjudged(message)
            case messages.AskSecrets() | messages.Redacted():
                return self._about_secrets(message)
            case messages.Hello():
                return self._hello(message)
            case messages.Ping():
                return messages.Pong(message.id)
            case _:
                self._note(message)
        return None

    def _note(self, note: messages.Note) -> None:
        match note:
            case messages.ToolText():
                self._read_text(note)
            case messages.UserMessage():
                self.guard.new_turn(note.session)
                self.guard.contexts.message(note.session, note.text, owner=note.owner)
                if note.person:
                    self.guard.autonomy.person(note.agent, note.session, self.now(), self.guard.config_for(note.agent))
            case messages.Compacted():
                if armed := self.guard.compacted(note.run, note.agent):
                    self.outbox.log(f"post-compaction guard armed for {armed} attempts (run {texts.name(note.run)})")
            case messages.Warned():
                self.outbox.event("security", Call("", None), Verdict("allow", "security.hook-order", reason=note.text))
            case messages.RunEnd():
                self._verdicts.run_ended(note.run)
                self.guard.ended(note.run)
                self.outbox.measured(lambda measure: measure.run_ended(note.run))
            case messages.SessionEnd():
                self.guard.contexts.session_ended(note.session)  # `HeldCalls.follow` ends what was allowed in it
            case messages.Leaving():
                self.leaving = note.reason
            case messages.Seams():
                self.seams.update(note.seams)
                self._look_at_shell()
            case messages.ModelEnded() | messages.ModelAnswer():
                self.outbox.measured(lambda measure: measure.note(note, self.now()))
                if self.guard.spending:
                    self.outbox.count_calls()

    def _read_text(self, note: messages.ToolText) -> None:
        """What a tool has answered: how other tools are called, or a text that may come from outside."""
        name = tool_name(note.tool)
        if name in seen_tools.SHOWN_BY:
            if self.guard.tools:
                self.guard.tools.described(note.agent, note.text)
            if name == known_inputs.DESCRIBES:
                self.inputs.described(note.text)
            return
        self.guard.contexts.result(note.run, tool_name(note.tool), note.params, note.text)
        self.guard.contexts.secrets.result(note.session or note.run, note.params, note.text)

    def _hello(self, message: messages.Hello) -> messages.Wire:
        if message.v != messages.VERSION:
            reason = f"the gateway part speaks protocol {message.v}, but this engine speaks {messages.VERSION}"
            return messages.Error(message.id, f"{reason}; run `toolguard install` and restart the gateway")
        try:
            self.config, self.config_error = parse(message.config), ""
        except msgspec.ValidationError as error:
            self.config, self.config_error = Config(), f"plugins.entries.toolguard.config: {error}"
        self.hello = message
        self.outbox.gateway = message.gateway
        self.outbox.measure = Measure() if self.config.is_measured else None
        before = self.guard
        host = self._host(message)
        self.guard = Guard(self.config, self.setup.hints, host, self._book(), self.setup.timer, self.setup.files)
        self.guard.processes, self.guard.files, self.guard.living = before.processes, before.files, before.living
        if limits := spending_limits.caps(self.config.limits):
            self.guard.spending = SpendingTotals(limits, audit_log.plain)
        if self.setup.open_approvals:
            self.approvals = self.setup.open_approvals(message, self.config)
        if self.setup.undo is not None:
            self.setup.undo.begin(Path(message.state_dir), self.config.undo, self.setup.home)
        shell = self._contain(message, host)
        return messages.Ready(message.id, messages.VERSION, self.setup.pid, __version__, self.config_error, shell)

    def _look_at_shell(self) -> None:
        if self.setup.rooms is not None:
            self.setup.rooms.is_entered = self.seams.get(SHELL_SEAM) == "works"
            if self.seams.get(SHELL_SEAM) == "fails":
                self.setup.rooms.shell_unused()
                self._verdicts.report_rooms()

    def _contain(self, hello: messages.Hello, host: Host) -> str:
        """Makes the rooms that commands run in. What the gateway runs commands with, empty for its own shell."""
        rooms = self.setup.rooms
        if rooms is None:
            return ""
        rooms.begin(hello, self.config, host)
        self.guard.kept_from = self._verdicts.kept_from
        self._verdicts.report_rooms()
        return rooms.program

    def _book(self) -> Rulebook:
        return (self.setup.book or Rulebook(())).without(self.config.rules_off).plus(self._own_rules)

    def use_rules(self, rules: tuple[Rule, ...]) -> None:
        """The person's own rules, from here on."""
        self._own_rules = rules
        self.guard.use(self._book())

    def ended(self, code: str, reason: str) -> None:
        """Puts aside a line about the end of the guard."""
        self.outbox.event("ended", Call("", None), Verdict("allow", code, reason=reason))

    def use_includes(self) -> None:
        """The files that the gateway's config takes in, as they are now."""
        if self.hello is not None:
            self.guard.use_host(self._host(self.hello))

    @property
    def unknown_rules(self) -> list[str]:
        """Names under `rulesOff` that no rule and no pack has."""
        rules = self.setup.book.rules if self.setup.book else ()
        known = {name for rule in (*rules, *self._own_rules) for name in (rule.id, rule.pack)}
        return [name for name in self.config.rules_off if name not in known]

    def _host(self, hello: messages.Hello) -> Host:
        state = Path(hello.state_dir)
        own = [str(resolve(path, state)) for path in (self.config.store_path,) if isinstance(path, str)]
        own += notifying(self.config.notify, self.setup.home)
        guarded = tuple(
            place for place in (hello.root, *self.setup.guarded, *own, *self.setup.included(hello.config_path)) if place
        )
        pids = frozenset(pid for pid in (self.setup.pid, hello.gateway_pid) if pid > 0)
        metrics = metrics_of(hello.config)
        return Host(
            self.setup.home, hello.state_dir, hello.config_path, guarded, pids, *measured(metrics),
            links=self.setup.links(self.setup.home, hello.state_dir), code=self.setup.package(hello.entry),
            release=hello.host, dashboard_names=public_names(metrics),
            secrets=notification_secrets(self.config.notify, self.setup.home),
        )  # fmt: skip

    def unreadable(self, leading: leading_members.Leading, reason: str) -> messages.Wire:
        """The answer to a line that is no message, by what its first members say it was."""
        if leading.id is None or self.hello is None:
            return messages.Error(leading.id, reason)
        call = Call(leading.tool, None, agent=leading.agent, session=leading.session, run=leading.run, at=self.now())
        cause = f"the guard could not read the request: {reason}"
        if leading.type == "judge":
            self.tally.judged += 1
            return self._verdicts.blocked_unjudged(leading.id, call, CODE_UNREADABLE, cause)
        self.outbox.event("error", call, Verdict("block", CODE_UNREADABLE, reason=f"{cause} ({leading.type})"))
        return messages.Error(leading.id, reason)

    def failed(self, message: messages.Incoming, error: Exception) -> messages.Wire:
        """The answer to a message that brought a bug to light, other than while a call was judged."""
        question = getattr(message, "id", None)
        reason = f"the guard failed: {fault(error)}"
        place = message if isinstance(message, messages.Place) else messages.Place()
        call = Call(getattr(message, "tool", ""), None, agent=place.agent, session=place.session, run=place.run)
        if isinstance(message, messages.Judge):
            return self._verdicts.blocked_unjudged(message.id, call, CODE_ERROR, reason)
        self.outbox.event("error", call, Verdict("block", CODE_ERROR, reason=reason))
        return messages.Error(question, fault(error))

    def _unjudged(self, message: messages.Unjudged) -> messages.Wire:
        """What the gateway part decided on its own."""
        if message.summed:
            self.outbox.event("error", Call("", None), Verdict("allow", message.code, reason=message.reason))
            return messages.Pong(message.id)
        self.tally.blocked += 1
        call = Call(message.tool, None, agent=message.agent, session=message.session, run=message.run)
        verdict = Verdict("block", message.code, reason=message.reason)
        self.outbox.refused_by_gateway(call, verdict, message.shown)
        return messages.Pong(message.id)

    def _about_secrets(self, message: messages.AskSecrets | messages.Redacted) -> messages.Wire:
        """What is to be replaced, or a line for the audit log about what was. Names of unknown secrets are left out."""
        if isinstance(message, messages.AskSecrets):
            return messages.Secrets(message.id, self.hidden)
        known = {secret.name for secret in self.hidden}
        names = ", ".join(dict.fromkeys(name for name in message.names if name in known))
        where = "the result" if message.tool else "a text for the model"
        became = "not replaced, because the guard only watches this agent" if message.kept else "replaced"
        call = Call(message.tool, None, agent=message.agent, session=message.session, run=message.run)
        reason = f"{where} contained secrets ({names}), {became}"
        if names:
            self.outbox.event("note", call, Verdict("allow", CODE_REDACTED, reason=reason))
        return messages.Pong(message.id)

    def remember(self, runs: dict[str, Run]) -> None:
        """What an engine before this one knew of runs that may still be under way. That they were ended it has told."""
        self.guard.remember(runs)
        for name, run in runs.items():
            if run.stop:
                self.outbox.is_reported(name, run.stop.code)

    def _on_result(self, message: messages.ToolResult) -> messages.Wire | None:
        result_call = _call(message, message, self.now())
        call = self.guard.processes.joined(result_call)
        self.guard.contexts.secrets.result(call.session or call.run, call.params, message.text)
        self.files.ended(result_call, message.process, message.status, has_run=not message.vetoed)
        outcome_of = None if message.vetoed else _outcome(call, message)
        reaction = self.guard.on_result(call, outcome_of, asked=message.id is not None)
        if not (message.failed or message.vetoed):
            self.inputs.ran(inner_call(call))
        self.guard.processes.started(message.process, result_call)
        refused = message.vetoed or message.status == "failed"
        self.guard.processes.completed(result_call, failed=message.failed, refused=refused)
        shadow = self.is_shadowed(call.agent)
        self.tally.repeated += reaction.code not in ("", run_limits.NEAR)
        if reaction.stop and shadow:
            self._verdicts.would_end_run(call, reaction.stop, reaction.reason)
        elif reaction.stop:
            self._verdicts.end_run(call, reaction.stop, reaction.reason)
        elif reaction.code:
            self.outbox.event("note", call, Verdict("allow", reaction.code, reason=reaction.reason))
        self._verdicts.report_signals()
        if message.id is None:
            return None
        if shadow:
            return messages.Noted(message.id)
        notes = (reaction.note, self.setup.rooms.note(call.agent, message.text) if self.setup.rooms else "")
        return messages.Noted(message.id, "\n\n".join(filter(None, notes)), reaction.stop.text if reaction.stop else "")

    def _is_from_outside(self, call: Call, text: str) -> bool:
        context = self.guard.contexts.get(call.run, call.session)
        return context is not None and context.is_tainted and context.outside_wrote(text)

    def _ran(self, message: messages.ParamsChanged) -> messages.Wire:
        """Something else ran than what was judged: it is judged now, and the run ends where it would not have run."""
        call = _call(message, message, self.now())
        config = self.guard.config_for(call.agent)
        verdict = self.guard.would_refuse(call)
        if verdict is None:
            return messages.Stopped(message.id)
        reason = (
            f"this ran instead of the call that was judged, and would not have been allowed ({verdict.code}); "
            f"it may have been changed by: {message.others or 'unknown'}"
        )
        self.outbox.event("security", call, Verdict("block", CODE_REWRITTEN, reason=reason))
        if self.is_shadowed(call.agent):
            return messages.Stopped(message.id)
        text = approval_texts.rewritten(config.approval.prefix, call.tool)
        self.guard.stop(call.run, stop := Stop(CODE_REWRITTEN, text))
        self._verdicts.end_run(call, stop)
        return messages.Stopped(message.id, text)

    def _failed(self, message: messages.Failed) -> messages.Wire:
        refusal = self.guard.failed(
            _call(message, message, self.now()), message.text, judged=message.judged, missed=message.missed
        )
        if refusal is None:
            return messages.Corrected(message.id)
        self.inputs.refused(refusal.call, refusal.failure, message.text)
        self.outbox.refusal(refusal, message.provider, message.model, shadow=self.is_shadowed(refusal.call.agent))
        if self.is_shadowed(message.agent):
            return messages.Corrected(message.id)
        correction = refusal.correction
        self.outbox.measured(lambda measure: measure.malformed(refusal, self.now()))
        if correction.stop:
            self._verdicts.end_run(refusal.call, correction.stop)
        self.tally.corrected += 1
        self.tally.loops += correction.action == "loop-detected"
        stop = correction.stop or NO_STOP
        return messages.Corrected(message.id, correction.text, watch=True, stop=stop.text, waiting=stop.waiting)

    def _message(self, message: messages.Message) -> messages.Wire:
        if not message.calls:
            return self._verdicts.begins(message)
        calls = (self.guard.processes.joined(_call(message, item)) for item in message.calls)
        decided = self.approvals.is_decided if self.approvals else lambda nonce: False  # noqa: ARG005
        refusals = self.guard.message(message.run, message.agent, calls, decided)
        if not refusals:
            return messages.Stopped(message.id)
        shadow = self.is_shadowed(message.agent)
        for refusal in refusals:
            if shadow and self.outbox.is_reported(message.run, _code(refusal)):
                continue  # a run that would have been stopped goes on: that is said once
            if refusal.failure not in (HELD, BLOCKED):  # with those nothing was wrong with how they were called
                self.outbox.refusal(refusal, message.provider, message.model, shadow=self.is_shadowed(refusal.call.agent))
        if shadow:
            return messages.Stopped(message.id)
        for refusal in refusals:
            self.outbox.measured(partial(Measure.malformed, refusal=refusal, now=self.now()))
        first = refusals[0]
        if first.correction.stop:
            self._verdicts.end_run(first.call, first.correction.stop)
        stop = first.correction.stop or NO_STOP
        return messages.Stopped(message.id, first.correction.text, stop.waiting)

    def take_touched(self) -> dict[str, Run | None]:
        """The counts that changed, for the store behind this session."""
        return self.guard.take_touched()

    def _judge(self, message: messages.Judge) -> messages.Wire | None:
        return self._verdicts.judge(message, _call(message, message, self.now()))

    def settle(self) -> None:
        """Does what an answer did not wait for; to be called when it has left, before the next message."""
        self.guard.autonomy.settle()
        self.files.settle()
        self._verdicts.report_signals()

    def save_standings(self) -> None:
        """Saves what the agents spent; to be called before an answer that depends on it leaves."""
        self._sync.save()

    def restore(self, *, patient: bool = False) -> None:
        """Loads how the agents stood before."""
        self._sync.restore(patient=patient)


def _call(
    place: messages.Place,
    item: messages.Judge | messages.ParamsChanged | messages.Failed | messages.ToolResult | messages.MessageCall,
    at: float = 0.0,
) -> Call:
    return Call(
        tool=item.tool,
        params=item.params,
        agent=place.agent,
        session=place.session,
        run=place.run,
        call_id=item.call,
        request=place.request,
        cwd=getattr(item, "cwd", ""),
        channel=getattr(item, "channel", ""),
        requester=getattr(item, "requester", ""),
        at=at,
    )


def _outcome(call: Call, result_call: messages.ToolResult) -> Outcome:
    inner = inner_call(call)
    return outcome(
        inner.tool,
        inner.params,
        result_call.text,
        result_call.size,
        result_call.status,
        result_call.exit_code,
        failed=result_call.failed,
        rest=result_call.rest,
    )


def _code(refusal: MalformedCall) -> str:
    return refusal.correction.stop.code if refusal.correction.stop else ""
