"""One conversation with one gateway: messages in, answers out, and the records to write after the answer has left.

No I/O but the clock that is passed in and `Approvals`, which touches the disk for calls that ask for a person only.
`serve` performs what this returns.
"""

from __future__ import annotations

import math
import secrets
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import msgspec

from toolguard_engine import __version__, approval_texts, protocol, texts
from toolguard_engine.approvals import Approvals, Settled, prompt_for
from toolguard_engine.autonomy import ASKS, Autonomy, means
from toolguard_engine.config import Config, metrics_of, parse
from toolguard_engine.guard import Guard, Refusal, inner_call
from toolguard_engine.layers import killswitch, nostore
from toolguard_engine.layers.constraints import Constraint
from toolguard_engine.layers.loops import BLOCKED, HELD
from toolguard_engine.ledger import Decision, Entry
from toolguard_engine.metrics import record as rows
from toolguard_engine.metrics.measure import Measure
from toolguard_engine.model import Call, Host, Run, Stop, Verdict
from toolguard_engine.outcomes import Outcome, outcome
from toolguard_engine.ownplaces import measured
from toolguard_engine.rulebook import Rule, Rulebook
from toolguard_engine.standing import Key, Standing, place_of
from toolguard_engine.stores import audit
from toolguard_engine.stores.calllog import record, resolve
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.texts import Hints
from toolguard_engine.toolsearch import tool_name

Clock = Callable[[], datetime]
MAX_TOLD = 100
OUT_OF_ORDER = "approval.no-store"
CODE_ERROR = "guard.error"
CODE_UNREADABLE = "guard.unreadable"
APPROVED = ("approval.", "grant.")
"""Beginnings of the codes of calls that run because a person said so."""
CHECKPOINT = "budget.checkpoint"
NATIVE_EVENTS = {"used": "consume", "denied": "deny"}
CODE_REWRITTEN = "security.rewritten"
MAX_TOLD_OF_RUNS = 1_000
UNSAVED_SECONDS = 1.0
CANNOT_SAVE = "how the agents stand cannot be saved"
EVERYWHERE = "all"
NO_SESSION = "The gateway does not say which chat this is; refill the budgets of all chats with /toolguard checkpoint all."
NOT_THE_AGENT = "The agent may not approve its own calls (approval.agentTool is off)."


class Standings(Protocol):
    """What outlives the engine of how agents stand. Raises `StoreError`; see `stores.standings`."""

    def load(self, *, patient: bool = False) -> list[Standing]: ...

    def other(self, key: Key, ours: Standing | None) -> Standing | None: ...

    def save(self, changed: dict[tuple[str, str], Standing]) -> list[Standing]: ...


class KillSwitch(Protocol):
    """Raises `StoreError`."""

    def set(self, *, on: bool, by: str, why: str) -> None: ...


class Weakenings(Protocol):
    """Settings that guard less than what a person accepted, see `weakenings`. Raises `StoreError`."""

    def pending(self) -> list[str]: ...

    def accept(self, decision: Decision, seen: str) -> str: ...


@dataclass
class Tally:
    """What happened since the engine started."""

    judged: int = 0
    corrected: int = 0
    loops: int = 0
    stopped: int = 0
    held: int = 0
    blocked: int = 0
    approved: int = 0
    repeated: int = 0


@dataclass(frozen=True)
class Setup:
    """What the shell gives a session besides the gateway's words. `home`, `guarded`: see `model.Host`; `included`: the
    files that the config at this path takes in; `links`: the links that lead to a home folder and a state folder; `package`:
    the folders of the package that a script belongs to.

    `open_approvals` is called once the gateway has said where its state is.
    """

    hints: Hints
    clock: Clock
    pid: int
    book: Rulebook | None = None
    home: str = ""
    guarded: tuple[str, ...] = ()
    included: Callable[[str], tuple[str, ...]] = lambda _: ()
    links: Callable[[str, str], tuple[tuple[str, str], ...]] = lambda _home, _state: ()
    package: Callable[[str], tuple[str, ...]] = lambda _: ()
    open_approvals: Callable[[protocol.Hello, Config], Approvals] | None = None


@dataclass
class Session:
    """Answers one gateway. What `take_records`, `take_events` and `seams` hold is written by the caller."""

    setup: Setup
    hello: protocol.Hello | None = None
    config: Config = field(default_factory=Config)
    config_error: str = ""
    tally: Tally = field(default_factory=Tally)
    seams: dict[str, str] = field(default_factory=dict)
    approvals: Approvals | None = None
    standings: Standings | None = None
    kill_switch: KillSwitch | None = None
    weakenings: Weakenings | None = None
    leaving: str = ""
    """Why the gateway is about to stop the plugin, where it said so."""

    def __post_init__(self) -> None:
        self.guard = Guard(self.config, self.setup.hints)
        self._own_rules: tuple[Rule, ...] = ()
        self._constraints: tuple[Constraint, ...] = ()
        self._told_of_runs: dict[tuple[str, str], None] = {}
        self._told: list[protocol.Log] = []
        self._told_once: set[str] = set()
        self._unsaved = 0.0
        self._unmade: list[Callable[[], dict[str, Any]]] = []
        self._records: list[dict[str, Any]] = []
        self._events: list[Callable[[], audit.Event]] = []
        self._measure: Measure | None = None

    @property
    def records(self) -> list[dict[str, Any]]:
        """The lines for the log. They are made here, not while a hook waits for its answer."""
        self._records += [make() for make in self._unmade]
        self._unmade.clear()
        return self._records

    def take_records(self) -> list[dict[str, Any]]:
        """The lines for the log, each once."""
        taken, self._records = self.records, []
        return taken

    def take_events(self) -> list[audit.Event]:
        """The lines for the audit log that no store writes itself, each once."""
        taken, self._events = self._events, []
        return [event for make in taken if (event := self._made(make)) is not None]

    def _made(self, make: Callable[[], audit.Event]) -> audit.Event | None:
        """A line that cannot be made does not take the others with it."""
        try:
            return make()
        except Exception as error:  # noqa: BLE001 - the guard goes on
            self._tell_once(f"a line of the audit log could not be made: {fault(error)}; please report this")
            return None

    def take_calls(self, *, last: bool = False) -> list[rows.Call]:
        """Model calls that are over, for the metrics, each once. `last`: nothing more will be told of any."""
        return self._measure.take_calls(math.inf if last else self._now()) if self._measure else []

    def take_verdicts(self) -> list[rows.Verdict]:
        """What was let through or corrected, for the metrics, each once; the rest is in the audit log."""
        return self._measure.take_verdicts() if self._measure else []

    def measure_nothing(self) -> None:
        """Nobody takes it."""
        self._measure = None

    def _measured(self, note: Callable[[Measure], None]) -> None:
        """For the metrics. A fault there changes no answer, and is told once."""
        if self._measure is None:
            return
        try:
            note(self._measure)
        except Exception as error:  # noqa: BLE001 - the guard goes on
            self._tell_once(f"metrics: {fault(error)}; please report this")

    def answer(self, message: protocol.Incoming) -> protocol.Wire | None:
        """The answer to one message; None for a note."""
        match message:
            case protocol.Judge():
                return self._judge(message)
            case protocol.Came():
                return self._came(message)
            case protocol.Failed():
                return self._failed(message)
            case protocol.Message():
                return self._message(message)
            case protocol.Ran():
                return self._ran(message)
            case protocol.Decide():
                return self._decide(message)
            case protocol.Resolved():
                return self._resolved(message)
            case protocol.Unjudged():
                return self._unjudged(message)
            case protocol.Hello():
                return self._hello(message)
            case protocol.Ping():
                return protocol.Pong(message.id)
            case _:
                self._note(message)
        return None

    def _note(self, note: protocol.Note) -> None:
        match note:
            case protocol.Heard():
                self.guard.heard.result(note.run, tool_name(note.tool), note.params, note.text)
            case protocol.Said():
                self.guard.said(note.session)
                self.guard.heard.message(note.session, note.text, owner=note.owner)
                if note.person:
                    self.guard.autonomy.person(note.agent, note.session, self._now(), self.guard.config_for(note.agent))
            case protocol.Compacted():
                if armed := self.guard.compacted(note.run, note.agent):
                    told = f"post-compaction guard armed for {armed} attempts (run {texts.name(note.run)})"
                    self._told.append(protocol.Log("info", told))
            case protocol.Warned():
                self._event("security", Call("", None), Verdict("allow", "security.hook-order", reason=note.text))
            case protocol.RunEnd():
                self.guard.ended(note.run)
                self._measured(lambda measure: measure.run_ended(note.run))
            case protocol.Leaving():
                self.leaving = note.reason
            case protocol.Seams():
                self.seams.update(note.seams)
            case protocol.ModelEnded() | protocol.Answered():
                self._measured(lambda measure: measure.note(note, self._now()))

    def _hello(self, message: protocol.Hello) -> protocol.Wire:
        if message.v != protocol.VERSION:
            reason = f"the gateway part speaks protocol {message.v}, this engine {protocol.VERSION}"
            return protocol.Error(message.id, f"{reason}; run `toolguard install` and restart the gateway")
        try:
            self.config, self.config_error = parse(message.config), ""
        except msgspec.ValidationError as error:
            self.config, self.config_error = Config(), f"plugins.entries.toolguard.config: {error}"
        self.hello = message
        self._measure = Measure() if self.config.metrics.enabled else None
        processes = self.guard.processes
        self.guard = Guard(self.config, self.setup.hints, self._host(message), self._book())
        self.guard.processes = processes
        self.guard.constrain(self._constraints)
        if self.setup.open_approvals:
            self.approvals = self.setup.open_approvals(message, self.config)
        return protocol.Ready(message.id, protocol.VERSION, self.setup.pid, __version__, self.config_error)

    def _book(self) -> Rulebook | None:
        book = self.setup.book
        return book.without(self.config.rules_off).plus(self._own_rules) if book else None

    def use_rules(self, rules: tuple[Rule, ...]) -> None:
        """The person's own rules, from here on."""
        self._own_rules = rules
        if book := self._book():
            self.guard.use(book)

    def use_constraints(self, found: tuple[Constraint, ...]) -> None:
        """The person's own constraints, from here on."""
        self._constraints = found
        self.guard.constrain(found)

    def ended(self, code: str, reason: str) -> None:
        """Puts aside a line about the end of the guard."""
        self._event("ended", Call("", None), Verdict("allow", code, reason=reason))

    def use_includes(self) -> None:
        """The files that the gateway's config takes in, as they are now."""
        if self.hello is not None:
            self.guard.use_host(self._host(self.hello))

    def take_told(self) -> list[protocol.Log]:
        """Lines for the gateway's log, each once."""
        taken, self._told = self._told, []
        return taken

    @property
    def unknown_rules(self) -> list[str]:
        """Names under `rulesOff` that no rule and no pack has."""
        rules = self.setup.book.rules if self.setup.book else ()
        known = {name for rule in (*rules, *self._own_rules) for name in (rule.id, rule.pack)}
        return [name for name in self.config.rules_off if name not in known]

    def _host(self, hello: protocol.Hello) -> Host:
        state = Path(hello.state_dir)
        own = [str(resolve(path, state)) for path in (self.config.store_path,) if isinstance(path, str)]
        guarded = tuple(
            place for place in (hello.root, *self.setup.guarded, *own, *self.setup.included(hello.config_path)) if place
        )
        pids = frozenset(pid for pid in (self.setup.pid, hello.gateway_pid) if pid > 0)
        return Host(
            self.setup.home, hello.state_dir, hello.config_path, guarded, pids, *measured(metrics_of(hello.config)),
            links=self.setup.links(self.setup.home, hello.state_dir), code=self.setup.package(hello.entry),
            release=hello.host,
        )  # fmt: skip

    def _judge(self, message: protocol.Judge) -> protocol.Wire:
        self.tally.judged += 1
        call = _call(message, message, self._now())
        try:
            return self._judged(message, call)
        except Exception as error:  # noqa: BLE001 - a bug must not become a yes, nor end the engine for all sessions
            return self._undecided(message, call, error)

    def _undecided(self, message: protocol.Judge, call: Call, error: Exception) -> protocol.Wire:
        """A bug is not silence: the call is blocked whatever the fail mode, also in shadow mode."""
        return self._blocked_unjudged(message.id, call, CODE_ERROR, f"the guard could not decide: {fault(error)}")

    def _blocked_unjudged(self, question: int, call: Call, code: str, reason: str) -> protocol.Wire:
        """The verdict on a call that could not be judged. The kill switch counts; only the mode `disabled` lets it pass."""
        bare = replace(call, params=None)  # nothing may look at them again
        config = self.guard.config_for(call.agent)
        if self.guard.killed:
            verdict = killswitch.verdict(self.guard.killed, config.approval.prefix)
        elif config.active_mode == "disabled":
            verdict = Verdict("allow", code, reason=reason)
        else:
            verdict = Verdict("block", code, approval_texts.undecided(config.approval.prefix, code), reason)
        self._event("error", bare, replace(verdict, code=code, reason=reason))
        stop = self._counted(bare, verdict) if verdict.decision == "block" else None
        return protocol.VerdictAnswer(question, verdict.decision, verdict.code, verdict.text, stop=stop.text if stop else "")

    def _counted(self, call: Call, verdict: Verdict) -> Stop | None:
        """The end of the run where the same comes again and again. A bug in counting changes no verdict."""
        self.tally.blocked += 1
        try:
            _, stop = self.guard.refused(call, verdict)
        except Exception as error:  # noqa: BLE001 - the call is blocked all the same
            self._tell_once(f"a blocked call could not be counted: {fault(error)}; please report this")
            return None
        if stop is not None:
            self._ended(call, stop, verdict.reason)
        return stop

    def unreadable(self, leading: protocol.Leading, reason: str) -> protocol.Wire:
        """The answer to a line that is no message, by what its first members say it was."""
        if leading.id is None or self.hello is None:
            return protocol.Error(leading.id, reason)
        call = Call(leading.tool, None, agent=leading.agent, session=leading.session, run=leading.run, at=self._now())
        cause = f"the guard could not read the question: {reason}"
        if leading.type == "judge":
            self.tally.judged += 1
            return self._blocked_unjudged(leading.id, call, CODE_UNREADABLE, cause)
        self._event("error", call, Verdict("block", CODE_UNREADABLE, reason=f"{cause} ({leading.type})"))
        return protocol.Error(leading.id, reason)

    def failed(self, message: protocol.Incoming, error: Exception) -> protocol.Wire:
        """The answer to a message that brought a bug to light, other than while a call was judged."""
        question = getattr(message, "id", None)
        reason = f"the guard failed: {fault(error)}"
        place = message if isinstance(message, protocol.Place) else protocol.Place()
        call = Call(getattr(message, "tool", ""), None, agent=place.agent, session=place.session, run=place.run)
        if isinstance(message, protocol.Judge):
            return self._blocked_unjudged(message.id, call, CODE_ERROR, reason)
        self._event("error", call, Verdict("block", CODE_ERROR, reason=reason))
        return protocol.Error(question, fault(error))

    def _unjudged(self, message: protocol.Unjudged) -> protocol.Wire:
        """What the gateway part decided on its own."""
        if message.summed:
            self._event("error", Call("", None), Verdict("allow", message.code, reason=message.reason))
            return protocol.Pong(message.id)
        self.tally.blocked += 1
        gateway = self.hello.gateway if self.hello else ""
        call = Call(message.tool, None, agent=message.agent, session=message.session, run=message.run)
        verdict = Verdict("block", message.code, reason=message.reason)
        now = self._now()
        name = secrets.token_hex(8)
        self._events.append(
            lambda: msgspec.structs.replace(
                _audit_event(name, now, "block", call, verdict, "", gateway), shown=audit.plain(message.shown)
            )
        )
        return protocol.Pong(message.id)

    def _judged(self, message: protocol.Judge, call: Call) -> protocol.Wire:
        call = self.guard.processes.joined(call)
        verdict = self._first(call)
        if self.guard.autonomy.has_spent:  # before the answer: who ends the engine behind it gets nothing back
            self.save_standings()
        self._tell_signals()
        if verdict.decision == "allow":
            of_run = verdict.code.startswith("shadow.loop.")  # a run that would have been stopped goes on: that is said once
            if verdict.code.startswith("shadow.") and not (of_run and self._was_told(call.run, verdict.code)):
                self._event("would-refuse", call, verdict)
            acts = self.guard.config_for(call.agent).active_mode in ("enforce", "soft")
            pin = acts and self.config.pin_params == "always"
            if verdict.note:
                self._event("note", call, replace(verdict, reason=verdict.note))
            self._measured(lambda measure: measure.allowed(call, verdict.code))
            return self._let_run(message.id, call, verdict.code, note=verdict.note if acts else "", pin=pin)
        if verdict.decision == "hold":
            return self._held(message, call, verdict)
        return self._refuse(message.id, call, verdict)

    def remember(self, runs: dict[str, Run]) -> None:
        """What an engine before this one knew of runs that may still be under way. That they were ended it has told."""
        self.guard.remember(runs)
        for name, run in runs.items():
            if run.stop:
                self._was_told(name, run.stop.code)

    def _was_told(self, run: str, code: str) -> bool:
        """Whether it was said of this run before; from here on it was."""
        if (run, code) in self._told_of_runs:
            return True
        self._told_of_runs[run, code] = None
        if len(self._told_of_runs) > MAX_TOLD_OF_RUNS:
            del self._told_of_runs[next(iter(self._told_of_runs))]
        return False

    def _first(self, call: Call) -> Verdict:
        """What the guard says, with what others made of how the agent stands: a person's checkpoint, other engines."""
        if self._unsaved and self._now() - self._unsaved >= UNSAVED_SECONDS:
            self.guard.lost = CANNOT_SAVE
        self._catch_up(call)
        verdict = self.guard.judge(call)
        if verdict.code != nostore.CODE:
            return verdict
        self.save_standings()
        return verdict if self.guard.lost else self.guard.judge(call)

    def _catch_up(self, call: Call) -> None:
        """Where the budget can hold calls. What another engine lets through in this very moment is seen at the next call."""
        if self.standings is None or self.guard.lost:
            return
        if self.guard.config_for(call.agent).active_budget_mode not in ("enforce", "soft"):
            return
        try:
            other = self.standings.other((call.agent, place_of(call)), self.guard.autonomy.known(call))
        except StoreError as error:
            self._tell_once(f"how the agents stand cannot be read: {error}")
            return
        if other is not None:
            self.guard.autonomy.take_over([other])

    def _let_run(self, question: int, call: Call, code: str, *, note: str = "", pin: bool = False) -> protocol.Wire:
        self.guard.processes.sent(call, keep=not code.startswith(APPROVED))
        return protocol.VerdictAnswer(question, "allow", code, pin=pin, note=note, outcome=self.guard.wanted(call))

    def _tell_signals(self) -> None:
        """What did not hold its call: a held call has a line of its own."""
        for told in self.guard.autonomy.take_signals():
            if not told.held:
                code = told.signal.code
                self._event(code.partition(".")[0], told.call, Verdict("allow", code, reason=told.signal.reason))

    def _held(self, message: protocol.Judge, call: Call, asked: Verdict) -> protocol.Wire:
        config = self.guard.config_for(call.agent)
        settled = self._settle(asked, call, config)
        verdict, entry = settled.verdict, settled.entry
        if verdict.decision == "allow":
            self.tally.approved += 1
            self.guard.succeeded(call)  # it waits no more, whatever becomes of it
            if entry is None:
                self._event("grant-used", call, verdict)
            else:
                self._approved(call, entry, config)
            return self._let_run(message.id, call, verdict.code, pin=True)
        if verdict.decision == "hold" and entry and not settled.fresh:
            self._event("hold-again", call, verdict, nonce=entry.nonce)
        prompt = (
            prompt_for(entry, self.setup.clock().timestamp())
            if verdict.decision == "hold" and entry and entry.whole and message.native
            else None
        )
        return self._refuse(message.id, call, verdict, entry.nonce if entry else "", prompt)

    def _approved(self, call: Call, entry: Entry, config: Config) -> None:
        self.guard.autonomy.approved(call, entry.code, config)
        if entry.code.startswith(ASKS) and config.active_budget_mode != "disabled":
            reason = f"the approval of {entry.nonce} was a checkpoint: the counting begins anew"
            self._event("checkpoint", call, Verdict("allow", CHECKPOINT, reason=reason), entry.nonce)

    def _settle(self, asked: Verdict, call: Call, config: Config) -> Settled:
        if self.approvals is None:
            text = approval_texts.out_of_order(config.approval.prefix, OUT_OF_ORDER)
            return Settled(Verdict("block", OUT_OF_ORDER, text, "no store of approvals"))
        return self.approvals.settle(asked, call, config)

    def _refuse(
        self, question: int, call: Call, verdict: Verdict, nonce: str = "", prompt: protocol.Prompt | None = None
    ) -> protocol.Wire:
        held = verdict.decision == "hold"
        if prompt is not None:  # a person is asked at once, so nothing is refused yet
            wanted = self.guard.wanted(call)
            self.guard.processes.sent(call, keep=False)
            return protocol.VerdictAnswer(question, "hold", verdict.code, verdict.text, prompt=prompt, outcome=wanted)
        verdict, stop = self.guard.refused(call, verdict, nonce if held else "")
        self.save_standings()
        self.tally.held += held
        self.tally.blocked += not held
        if not held:
            self._event("block", call, verdict, nonce=nonce)
        if stop is not None:
            self._ended(call, stop, verdict.reason)
        return protocol.VerdictAnswer(question, verdict.decision, verdict.code, verdict.text, stop=stop.text if stop else "")

    def _came(self, message: protocol.Came) -> protocol.Wire | None:
        came = _call(message, message, self._now())
        call = self.guard.processes.joined(came)
        outcome_of = None if message.vetoed else _outcome(call, message)
        reaction = self.guard.came(call, outcome_of, asked=message.id is not None)
        self.guard.processes.started(message.process, came)
        refused = message.vetoed or message.status == "failed"
        self.guard.processes.came(came, failed=message.failed, refused=refused)
        shadow = self._shadowed(call.agent)
        self.tally.repeated += bool(reaction.code)
        if reaction.stop and shadow:
            self._would_end(call, reaction.stop, reaction.reason)
        elif reaction.stop:
            self._ended(call, reaction.stop, reaction.reason)
        elif reaction.code:
            self._event("note", call, Verdict("allow", reaction.code, reason=reaction.reason))
        self._tell_signals()
        if message.id is None:
            return None
        if shadow:
            return protocol.Noted(message.id)
        return protocol.Noted(message.id, reaction.note, reaction.stop.text if reaction.stop else "")

    def _ran(self, message: protocol.Ran) -> protocol.Wire:
        """Something else ran than what was judged: it is judged now, and the run ends where it would not have run."""
        call = _call(message, message, self._now())
        config = self.guard.config_for(call.agent)
        verdict = self.guard.would_refuse(call)
        if verdict is None:
            return protocol.Stopped(message.id)
        reason = f"ran instead of what was judged; {verdict.code}; may have changed it: {message.others or 'unknown'}"
        self._event("security", call, Verdict("block", CODE_REWRITTEN, reason=reason))
        if self._shadowed(call.agent):
            return protocol.Stopped(message.id)
        text = approval_texts.rewritten(config.approval.prefix, call.tool)
        self.guard.stop(call.run, stop := Stop(CODE_REWRITTEN, text))
        self._ended(call, stop)
        return protocol.Stopped(message.id, text)

    def _decide(self, message: protocol.Decide) -> protocol.Wire:
        if message.where == "tool" and not (self.config.approval.agent_tool and message.action == "approve"):
            return protocol.Told(message.id, ok=False, text=NOT_THE_AGENT)
        if message.action == "checkpoint":
            return self._checkpoint(message)
        if message.action == "kill-switch":
            return self._kill_switch(message)
        if message.action == "accept":
            return self._accept(message)
        if self.approvals is None:
            return protocol.Told(message.id, ok=False, text="Approvals are out of order; run `toolguard doctor`.")
        answer = self.approvals.decide(message, self.config)
        return self._with_weaker(answer) if message.action == "pending" else answer

    def _accept(self, message: protocol.Decide) -> protocol.Wire:
        """A person accepts the settings that became weaker."""
        decision = Decision(audit.plain(message.by), message.where, audit.plain(message.why))
        try:
            told = (
                self.weakenings.accept(decision, message.nonce)
                if self.weakenings
                else "the gateway has not said yet where it is"
            )
        except StoreError as error:
            return protocol.Told(message.id, ok=False, text=f"{error}\nRun `toolguard doctor` in a terminal.")
        return protocol.Told(message.id, ok=self.weakenings is not None, text=told)

    def _with_weaker(self, answer: protocol.Told) -> protocol.Told:
        """What waits for a person beside held calls."""
        try:
            found = self.weakenings.pending() if self.weakenings else []
        except StoreError as error:
            found = [f"Whether settings became weaker is not known: {error}"]
        return msgspec.structs.replace(answer, text="\n".join([answer.text, *found])) if found else answer

    def _checkpoint(self, message: protocol.Decide) -> protocol.Wire:
        """A person looked: the budget of this session and of its agent's subagents, or of all, is full again."""
        everywhere = message.nonce == EVERYWHERE
        if not everywhere and not message.session:
            return protocol.Told(message.id, ok=False, text=NO_SESSION)
        changed = self.guard.autonomy.checkpoint("" if everywhere else message.session, self._now(), self.config)
        if not changed:
            return protocol.Told(message.id, ok=True, text=f"nothing was spent {'yet' if everywhere else 'in this chat'}")
        self.save_standings()
        done = f"checkpoint: {len(changed)} budget{'' if len(changed) == 1 else 's'} full again"
        self._said("checkpoint", message, CHECKPOINT, done)
        if self.approvals is None:
            return protocol.Told(message.id, ok=True, text=done)
        decision = Decision(audit.plain(message.by), message.where)
        closed = self.approvals.lapse(means(each.key for each in changed), decision)
        return protocol.Told(message.id, ok=True, text=f"{done}{closed and f'; {closed}'}")

    def _kill_switch(self, message: protocol.Decide) -> protocol.Wire:
        if message.nonce not in ("on", "off") or self.kill_switch is None:
            return protocol.Told(message.id, ok=False, text="Say on or off: /toolguard kill-switch on")
        try:
            self.kill_switch.set(on=message.nonce == "on", by=audit.plain(message.by), why=audit.plain(message.why))
        except StoreError as error:
            return protocol.Told(message.id, ok=False, text=str(error))
        told = "no tool call runs until it is switched off" if message.nonce == "on" else "calls are judged as usual again"
        self._said("kill-switch", message, f"kill-switch.{message.nonce}", told)
        return protocol.Told(message.id, ok=True, text=f"kill switch {message.nonce}: {told}")

    def save_standings(self) -> None:
        """Before an answer leaves that restricts, or that lets through what is paid for.

        What cannot be saved is tried again; after `UNSAVED_SECONDS` the guard asks a person until it can.
        """
        if self.guard.lost and not self._unsaved:
            self.restore()
            if self.guard.lost:
                return  # what is there would be written over by one who does not know it
        changed = self.guard.autonomy.take_changed()
        if not changed or self.standings is None:
            return
        try:
            other = self.standings.save(changed)
        except StoreError as error:
            self.guard.autonomy.keep_changed(changed)
            self._unsaved = self._unsaved or self._now()
            self._tell_once(f"{CANNOT_SAVE}: {error}")
            return
        if self._unsaved:
            self._unsaved, self.guard.lost = 0.0, ""
        self.guard.autonomy.take_over(other)

    def restore(self, *, patient: bool = False) -> None:
        """How the agents stood before. Where that cannot be read the guard asks a person, and it is tried again.

        What was counted in between was counted without knowing, and goes.
        """
        if self.standings is None:
            return
        try:
            found = self.standings.load(patient=patient)
        except StoreError as error:
            self.guard.lost = str(error)
            self._tell_once(f"how the agents stood before is not known: {error}")
            return
        if self.guard.lost:
            self.guard.lost, self.guard.autonomy = "", Autonomy()
        self.guard.autonomy.remember(found)

    def _tell_once(self, text: str) -> None:
        """Into the gateway's log."""
        if text not in self._told_once and len(self._told_once) < MAX_TOLD:
            self._told_once.add(text)
            self._told.append(protocol.Log("warn", text))

    def _now(self) -> float:
        return self.setup.clock().timestamp()

    def _resolved(self, message: protocol.Resolved) -> protocol.Wire:
        entry = self.approvals.resolved(message) if self.approvals else None
        if entry and message.outcome == "used":
            call = Call(entry.tool, None, agent=entry.agent, session=entry.session, run=entry.run, at=self._now())
            self._approved(call, entry, self.guard.config_for(entry.agent))
            self.save_standings()
        if entry is None and (event := NATIVE_EVENTS.get(message.outcome)):
            told = "answered in the gateway's own prompt after it was closed here"
            self._event(event, Call("", None), Verdict("allow", "approval.native", reason=told), message.nonce)
        return protocol.Pong(message.id)

    def _failed(self, message: protocol.Failed) -> protocol.Wire:
        refusal = self.guard.failed(
            _call(message, message, self._now()), message.text, judged=message.judged, missed=message.missed
        )
        if refusal is None:
            return protocol.Corrected(message.id)
        self._record(refusal, message.provider, message.model)
        if self._shadowed(message.agent):
            return protocol.Corrected(message.id)
        correction = refusal.correction
        self._measured(lambda measure: measure.malformed(refusal, self._now()))
        if correction.stop:
            self._ended(refusal.call, correction.stop)
        self.tally.corrected += 1
        self.tally.loops += correction.action == "loop-detected"
        return protocol.Corrected(
            message.id, correction.text, watch=True, stop=correction.stop.text if correction.stop else ""
        )

    def _message(self, message: protocol.Message) -> protocol.Wire:
        calls = [self.guard.processes.joined(_call(message, item)) for item in message.calls]
        decided = self.approvals.is_decided if self.approvals else lambda nonce: False  # noqa: ARG005
        refusals = self.guard.message(message.run, message.agent, calls, decided)
        if not refusals:
            return protocol.Stopped(message.id)
        shadow = self._shadowed(message.agent)
        for refusal in refusals:
            if shadow and self._was_told(message.run, _code(refusal)):
                continue  # a run that would have been stopped goes on: that is said once
            if refusal.failure not in (HELD, BLOCKED):  # with those nothing was wrong with how they were called
                self._record(refusal, message.provider, message.model)
        if shadow:
            return protocol.Stopped(message.id)
        for refusal in refusals:
            self._measured(partial(Measure.malformed, refusal=refusal, now=self._now()))
        first = refusals[0]
        if first.correction.stop:
            self._ended(first.call, first.correction.stop)
        return protocol.Stopped(message.id, first.correction.text)

    def _ended(self, call: Call, stop: Stop, reason: str = "") -> None:
        """An answer ends the run of this call. Later answers may say so again: it is told and counted once."""
        if call.run and not self._was_told(call.run, stop.code):
            self.tally.stopped += 1
            self._event("stop", call, Verdict("block", stop.code, reason=reason))

    def _would_end(self, call: Call, stop: Stop, reason: str) -> None:
        """In shadow mode."""
        code = f"shadow.{stop.code}"
        if not self._was_told(call.run, code):
            self._event("would-refuse", call, Verdict("allow", code, reason=reason))

    def _shadowed(self, agent: str) -> bool:
        """Whether the guard only watches this agent."""
        return self.guard.config_for(agent).active_mode == "shadow"

    def _record(self, refusal: Refusal, provider: str, model: str) -> None:
        """Puts one line aside for the log."""
        shadow = self._shadowed(refusal.call.agent)
        gateway = self.hello.gateway if self.hello else ""
        self._unmade.append(partial(record, refusal, self.setup.clock(), gateway, provider, model, shadow=shadow))

    def _event(self, event: str, call: Call, verdict: Verdict, nonce: str = "") -> None:
        """Puts one line aside for the audit log."""
        gateway = self.hello.gateway if self.hello else ""
        now = self.setup.clock().timestamp()
        self._events.append(partial(_audit_event, secrets.token_hex(8), now, event, call, verdict, nonce, gateway))

    def _said(self, event: str, message: protocol.Decide, code: str, reason: str) -> None:
        """Puts aside a line about what a person decided in chat."""
        line = audit.Event(
            id=secrets.token_hex(8),
            time=audit.when(self._now()),
            event=event,
            code=code,
            session=audit.plain(message.session),
            by=audit.plain(message.by),
            where=message.where,
            why=audit.plain(message.why),
            reason=reason,
            gateway=self.hello.gateway if self.hello else "",
        )
        self._events.append(lambda: line)

    def take_touched(self) -> dict[str, Run | None]:
        """The counts that changed, for the store behind this session."""
        return self.guard.take_touched()


def _call(
    place: protocol.Place,
    item: protocol.Judge | protocol.Ran | protocol.Failed | protocol.Came | protocol.MessageCall,
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


def _outcome(call: Call, came: protocol.Came) -> Outcome:
    inner = inner_call(call)
    return outcome(
        inner.tool, inner.params, came.text, came.size, came.status, came.exit_code, failed=came.failed, rest=came.rest
    )


def _code(refusal: Refusal) -> str:
    return refusal.correction.stop.code if refusal.correction.stop else ""


def _audit_event(name: str, now: float, event: str, call: Call, verdict: Verdict, nonce: str, gateway: str) -> audit.Event:
    return audit.Event(
        id=name,
        time=audit.when(now),
        event=event,
        code=verdict.code,
        nonce=nonce,
        tool=texts.name(call.tool),
        agent=texts.name(call.agent),
        session=audit.plain(call.session),
        run=texts.name(call.run),
        reason=audit.plain(verdict.reason),
        shown=_shown(call),
        gateway=gateway,
    )


def _shown(call: Call) -> str:
    """The call for the audit log. Its line is there also where it cannot be shown."""
    if not call.tool:
        return ""
    try:
        return approval_texts.shown(call)
    except Exception as error:  # noqa: BLE001 - a bug there, or arguments that are nested too deeply
        return f"{texts.name(call.tool)}(cannot be shown: {type(error).__name__})"


def fault(error: Exception) -> str:
    """What a bug is called; its own words may quote what nobody should see."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{type(error).__name__} in {Path(frame.filename).name}:{frame.lineno}"
