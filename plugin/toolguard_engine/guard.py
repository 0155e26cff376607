"""The guard: events of a gateway in, verdicts and corrections out. No clock, no file, no process in here.

A call is read once and goes through `LAYERS`. A `hold` is a question: the session settles it with the stores (`approvals`)
and reports the result to the guard (`refused`). It remembers at most `MAX_RUNS` runs; the least recently used goes first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property, partial
from itertools import islice
from typing import Literal

from msgspec import structs

from toolguard_engine.config.settings import Config
from toolguard_engine.effects.calls import named_places
from toolguard_engine.effects.calls.outcomes import Outcome
from toolguard_engine.effects.calls.reading import CallReading
from toolguard_engine.effects.terminal_input.running_programs import Processes
from toolguard_engine.host.refusals import classify
from toolguard_engine.host.tool_search import is_envelope, short_name, unwrap
from toolguard_engine.layers import (
    engaged_kill_switch,
    exemptions,
    harm_in_room,
    layer_order,
    malformed_loops,
    reached_limits,
    repetition,
    run_limits,
    typed_input,
)
from toolguard_engine.layers.autonomy.agent_standings import Autonomy
from toolguard_engine.layers.layer_input import LayerInput
from toolguard_engine.layers.layer_order import TOO_DEEP, TOO_INTRICATE
from toolguard_engine.layers.provenance.context import RunContexts
from toolguard_engine.layers.repetition import Reaction
from toolguard_engine.layers.seen_tools import SeenTools
from toolguard_engine.layers.spending_totals import SpendingTotals
from toolguard_engine.model.call import Call, Correction, Host, Kept, MalformedCall, Run, Stop, Verdict
from toolguard_engine.model.call_world import Named
from toolguard_engine.model.file_memory import FileMemory
from toolguard_engine.model.files import FileSource, NoFiles
from toolguard_engine.model.lazy import FAILURES
from toolguard_engine.model.living_programs import LivingPrograms
from toolguard_engine.model.rehearsals import NoRehearsals, Rehearsals
from toolguard_engine.model.work_allowance import WorkAllowance
from toolguard_engine.model.work_limit import MOST, TooIntricate, WorkLimit
from toolguard_engine.model.work_timer import WorkTimer
from toolguard_engine.rules import hold_details, judgement
from toolguard_engine.rules.judgement import Judgement
from toolguard_engine.rules.rulebook import Rulebook
from toolguard_engine.wording import approval as approval_texts
from toolguard_engine.wording import correction as texts

MAX_RUNS = 2_000
MAX_STEPS = 100_000
"""Steps of all runs together: with a long `historySize` fewer runs are remembered."""

IDLE_SECONDS = 6 * 3600.0
"""A run that nobody heard of for so long is forgotten."""

_NEW = Run()
"""What is known of a run before anything came of its calls. Only read."""

VIOLATIONS = ("rule.", "constraint.", "approval.denied")
"""Beginnings of the codes of blocks that are the agent's own doing: they cost it trust."""

MAX_CONFIGS = 1_000
MAX_REPORTED = 100
"""Calls of one message that are reported and counted where its run ends before they run; it may have thousands."""

Outcomes = Literal["", "tell", "ask"]
TOO_MANY = "It is complex, and so were many calls in this session just before it."
IN_SHADOW_TOO = (*engaged_kill_switch.CODES, TOO_DEEP.code)
"""Codes of blocks that shadow mode does not lift."""


class Guard:
    """Owns the state of all runs of one gateway."""

    def __init__(
        self,
        config: Config,
        hints: texts.Hints,
        host: Host | None = None,
        book: Rulebook | None = None,
        timer: WorkTimer | None = None,
        files: FileSource | None = None,
    ) -> None:
        """`timer`: stops readings that take too long; `files`: the files of this machine."""
        self._config = config
        self.timer = timer or WorkTimer()
        self._files = files or NoFiles()
        self._configs: dict[str, Config] = {}
        self._hints = hints
        self._host = host or Host()
        self._book = book or Rulebook(())
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._touched: dict[str, Run | None] = {}
        self.killed = ""
        """Why the kill switch is on; empty while it is off."""
        self.kill_code = engaged_kill_switch.CODE
        self.lost = ""
        """Why it is not known how the agents stood before this engine, or not kept what they spend; else empty."""
        self.unread = ""
        """What of the person's own rules cannot be read and is not known from before, in words; empty where all is."""
        self.contexts = RunContexts()
        """The texts that the runs have read, for `layers.provenance`."""
        self.autonomy = Autonomy()
        """How the agents stand: budget, trust, drift."""
        self.processes = Processes()
        """The programs that agents type into."""
        self.files = FileMemory()
        """The files that agents made."""
        self.living = LivingPrograms()
        """The programs of earlier calls that may still run."""
        self.allowance = WorkAllowance()
        """What judging may still cost each session."""
        self.uncontained = ""
        """Why the next command cannot be contained, where it is to be held for that."""
        self.rehearsals: Rehearsals = NoRehearsals()
        self.kept_from: Callable[[CallReading], Kept] | None = None  # see `LayerInput`
        self.tools: SeenTools | None = None
        """The tools of plugins and servers; None where nobody is asked about them."""
        self.spending: SpendingTotals | None = None
        """What is used of the limits; None without limits."""

    def use(self, book: Rulebook) -> None:
        """Other rules from here on."""
        self._book = book

    def prepared(self) -> Iterator[None]:
        """Does what is otherwise done when a rule is first asked about, a part at each step."""
        return self._book.compiled()

    def use_host(self, host: Host) -> None:
        """Another view of the gateway's files from here on."""
        self._host = host

    def config_for(self, agent: str) -> Config:
        """The settings of an agent. They are laid over the general ones once: a third of a verdict's time otherwise."""
        known = self._configs.get(agent)
        if known is None:
            if len(self._configs) >= MAX_CONFIGS:
                self._configs.clear()
            known = self._configs[agent] = self._config.for_agent(agent)
        return known

    def read(self, call: Call) -> CallReading:
        """The call as all layers see it."""
        work = WorkLimit(self.allowance.most(call))
        return CallReading(call, self._host, work, self._files, self.files, self.config_for(call.agent))

    def judge(self, call: Call) -> Verdict:
        """Whether this call may run. In shadow mode it may, under the code that would have stopped it."""
        return self.judge_reading(self.read(call))

    def judge_reading(self, reading: CallReading) -> Verdict:
        """The same for a call that was read already."""
        call = reading.call
        if call.run and reading.config.run_limits.are_set:
            run_limits.on_call(call, self._run(call.run, call.at))
        run = self._runs.get(_place_of(call))
        if run is not None:
            self._freed(run)
        given = self._input(reading, run)
        judged = self._layered(given)
        if run is not None:
            self._leave_session(call, run)
        if not judged.free and (judged.decision == "allow" or given.config.active_mode == "shadow"):
            self.autonomy.let_through(reading, judged, given.config)
            if judged.note and judged.code != harm_in_room.CODE:
                self.autonomy.warned(call, given.config)
        is_stopped = judged.verdict.code == TOO_INTRICATE.code and reading.work.most < MOST
        self.allowance.used(call, reading.spent, stopped=is_stopped)
        verdict = self._final(judged.verdict, given.config)
        if verdict.decision == "hold":
            verdict = self._described(verdict, judged, reading)
            if is_stopped:
                verdict = replace(verdict, reason=TOO_MANY)
        return verdict

    def _described(self, verdict: Verdict, judged: Judgement, reading: CallReading) -> Verdict:
        """A hold with what a person is shown, and what has to be looked at: as far as the call was read."""

        def described() -> Verdict:
            details = hold_details.collect(judged, reading, self._book.waits)
            return replace(verdict, details=details, named=named_places.places_to_look_at(reading))

        try:
            return self.timer.limited(reading.work, described)
        except FAILURES:
            return replace(verdict, named=Named(gap=named_places.INTRICATE))

    @staticmethod
    def _final(verdict: Verdict, config: Config) -> Verdict:
        """The verdict in this mode, with the text for the model."""
        if verdict.decision == "allow":
            return verdict
        if config.active_mode == "shadow" and verdict.code not in IN_SHADOW_TOO:
            return replace(verdict, decision="allow", code=f"shadow.{verdict.code}", text="")
        if verdict.decision == "block" and not verdict.text:
            return replace(verdict, text=approval_texts.blocked(config.approval.prefix, verdict.reason))
        return verdict

    def _input(self, reading: CallReading, run: Run | None) -> LayerInput:
        return LayerInput(
            reading, self._book, self.contexts, self.processes, run,
            self.autonomy, self.killed, self.unread, self.lost, self._judge_typed, spending=self.spending,
            kill_code=self.kill_code, living=self.living, uncontained=self.uncontained, rehearsals=self.rehearsals,
            kept_from=self.kept_from, tools=self.tools,
        )  # fmt: skip

    def _stateless(self, reading: CallReading, processes: Processes | None = None, *, is_typed: bool = False) -> LayerInput:
        """The input of the layers without what happened before in the run and what is spent."""
        return LayerInput(
            reading, self._book, self.contexts, processes, is_typed=is_typed, judge_command=self._judge_typed,
        )  # fmt: skip

    def _layered(self, given: LayerInput) -> Judgement:
        """The call, with what it types into programs, judged by all layers within the limit of processor time."""
        work = given.reading.work
        try:
            found = self.timer.limited(work, partial(layer_order.judged, given))
        except TooIntricate:  # between two layers
            return judgement.wrap(TOO_INTRICATE)
        if work.is_stopped and found.decision == "allow":
            return harm_in_room.stopped(given, found, TOO_INTRICATE)
        return found

    def _judge_typed(self, reading: CallReading) -> Judgement:
        """A command that is typed into a running program."""
        return structs.replace(self._layered(self._stateless(reading, is_typed=True)), ends=False)

    def _leave_session(self, call: Call, run: Run) -> None:
        """If the run of a call is not known its end is not either: nothing may stay stopped for good."""
        if run.stop and not call.run:
            self._runs.pop(_place_of(call), None)

    def new_turn(self, session: str) -> None:
        """A message was written in this session: what its calls of no known run did before belongs to another turn."""
        self._runs.pop(f"session:{session}", None)
        for run in self._runs.values():
            if session and run.session == session:
                repetition.on_user_message(run)

    def weigh(self, call: Call, *, in_run: bool = False) -> Judgement:
        """The judgement on a call: with what happened before in its run, or without that. Changes nothing."""
        reading = self.read(call)
        run = self._runs.get(_place_of(call))
        return self._layered(self._input(reading, run)) if in_run else self.weigh_reading(reading)

    def weigh_reading(self, reading: CallReading) -> Judgement:
        """The same for a call that was read already."""
        return self._layered(structs.replace(self._stateless(reading), kept_from=self.kept_from))

    def typed(self, reading: CallReading) -> list[CallReading]:
        """The commands that a call types into a running program."""
        entries = self.processes.entries(reading.call) or ()
        return [
            typed_input.reading_of(reading, process, command) for process, entry in entries for command in entry.commands
        ]

    def refused(self, call: Call, verdict: Verdict, nonce: str = "") -> tuple[Verdict, Stop | None]:
        """The guard held this call (under `nonce`) or blocked it: what the model is told, and the end of the run, if due."""
        run = self._run(call.run, call.at)
        config = self.config_for(call.agent)
        if verdict.code in engaged_kill_switch.CODES:
            run.stop = (
                run.stop if run.stop and run.stop.code not in engaged_kill_switch.CODES else Stop(verdict.code, verdict.text)
            )
        elif verdict.code in (reached_limits.CODE, reached_limits.UNKNOWN, run_limits.CODE) and run.stop is None:
            run.stop = reached_limits.stop(verdict)
        if run.stop is not None:
            return verdict, run.stop
        if verdict.decision == "block" and verdict.code.startswith(VIOLATIONS):
            self.autonomy.violated(call, config)
        count = malformed_loops.on_refused(call, run, config, nonce)
        if nonce and count > 1:
            verdict = replace(
                verdict, text=approval_texts.still_held(config.approval.prefix, nonce, signed=config.signs_approvals)
            )
        return verdict, run.stop

    def may_begin(self, agent: str, session: str, model: tuple[str, str] | None = None) -> Verdict | None:
        """The block of a run that is about to begin; None where it may. `model`: the provider and model that it will use;
        by default the session's last one."""
        config = self.config_for(agent)
        if self.spending is None or config.active_mode == "shadow":
            return None
        return reached_limits.verdict(self.spending, agent, session, config, model)

    def would_refuse(self, call: Call) -> Verdict | None:
        """The verdict on something that ran without being judged; None where it would have been let through."""
        judged = self._layered(self._stateless(self.read(call), self.processes))
        return None if judged.decision == "allow" else judged.verdict

    def kill_verdict(self, prefix: str) -> Verdict:
        """The block of every call while a kill switch is on."""
        return engaged_kill_switch.verdict(self.killed, prefix, self.kill_code)

    def _freed(self, run: Run) -> None:
        """A run that only the kill switch stopped goes on when that is off."""
        if not self.killed and run.stop and run.stop.code in engaged_kill_switch.CODES:
            run.stop = None

    def stop(self, run_id: str, stop: Stop) -> None:
        """Ends a run for a reason of its own."""
        self._run(run_id).stop = stop

    def wanted(self, call: Call, config: Config) -> Outcomes:
        """What the guard wants to hear of a call that may run, when it has run."""
        if config.active_mode == "disabled" or is_envelope(call.tool, call.params):
            return ""
        run = self._runs.get(_place_of(call), _NEW)
        return "ask" if run_limits.may_be_due(call, run, config) else repetition.wanted(call, run, config)

    def on_result(self, call: Call, outcome: Outcome | None, *, asked: bool = True) -> Reaction:
        """A call was executed, with or without an error; None: the gateway's own loop detection did not let it run. In
        shadow mode what it leads to is only told. `asked`: whether what it leads to gets to the gateway."""
        config = self.config_for(call.agent)
        run = self._run(_place_of(call), touch=False)
        run.session = call.session
        mattered = run.identical or run.repeats
        if outcome is None:
            call = inner_call(call)
            reaction = repetition.on_veto(call, run, config)
        else:
            reaction = repetition.on_outcome(call, outcome, run, config, asked=asked)
        is_warned = bool(reaction.code)
        if outcome is not None:
            reaction = run_limits.on_result(call, run, config, reaction, asked=asked)
        run.used = max(run.used, call.at)
        if call.run and (mattered or run.repeats or run.stop):
            self._touched[call.run] = run
        if run.stop and not call.run:
            self._leave_session(call, run)
            reaction = structs.replace(reaction, stop=None)
        if is_warned:
            self.autonomy.warned(call, config)
        if outcome and not outcome.failed:
            malformed_loops.on_success(call, run)
            # what nobody judges earns nothing, nor does what runs nothing
            if not exemptions.exempt(call, config) and not self.processes.enters_nothing(call):
                self.autonomy.clean(call, config)
        return reaction

    def compacted(self, run_id: str, agent: str) -> int:
        """The history of a run was made shorter and the run goes on; for how many calls it is watched."""
        return repetition.on_compaction(self._run(run_id), self.config_for(agent))

    def failed(self, call: Call, text: str, *, judged: bool, missed: int = 0) -> MalformedCall | None:
        """A call came back with an error. None where it was executed, or is nobody's business (mode `disabled`)."""
        config = self.config_for(call.agent)
        if config.active_mode == "disabled":
            return None
        failure = classify(call.tool, call.params, text, judged=judged)
        if failure is None:
            return None
        inner, run = inner_call(call), self._run(call.run, call.at)
        correction = malformed_loops.on_failure(inner, failure, run, config, self._hints, missed)
        if failure.error == "unknown-tool" and run.stop is None and (stop := repetition.on_unknown_tool(inner, run, config)):
            correction = Correction("limit", stop.text, stop)
        self.autonomy.warned(inner, config)
        return MalformedCall(inner, failure, correction)

    def succeeded(self, call: Call) -> None:
        """What a call waited for is decided."""
        run = self._runs.get(call.run)
        if run and run.identical:
            malformed_loops.on_decided(inner_call(call), run)
            self._touched[call.run] = run

    def message(
        self,
        run_id: str,
        agent: str,
        calls: Iterable[Call],
        decided: Callable[[str], bool] = lambda nonce: False,  # noqa: ARG005
    ) -> list[MalformedCall]:
        """The model has answered with these calls. Where the run ends before they run: a refusal for each of the first
        `MAX_REPORTED`. They are read only as far as they count, since a message may have thousands.

        `decided`: whether the call that is held under a nonce waits no more; asked only before a run would end.
        """
        run = self._runs.get(run_id)
        config = self.config_for(agent)
        if run is None or config.active_mode == "disabled":
            return []
        self._freed(run)
        if run.stop is None and not (malformed_loops.may_end(run) or repetition.may_end(run, config)):
            return []
        inner = [inner_call(call) for call in (islice(calls, MAX_REPORTED) if run.stop else calls)]
        stop = malformed_loops.on_message(inner, run, config, decided) or repetition.on_message(inner, run, config)
        if stop is None:
            return []
        self._touched[run_id] = run
        correction = Correction("stopped", stop.text, stop)
        reported = inner[:MAX_REPORTED]
        return [MalformedCall(call, malformed_loops.known_failure(call, run), correction) for call in reported]

    def ended(self, run_id: str) -> None:
        """The run is over: forget it."""
        self.contexts.ended(run_id)
        if self._runs.pop(run_id, None):
            self._touched[run_id] = None

    def take_touched(self) -> dict[str, Run | None]:
        """The runs that changed since the last time, each once; None for one that is over."""
        taken, self._touched = self._touched, {}
        return taken

    def keep_touched(self, runs: dict[str, Run | None]) -> None:
        """What could not be saved is told again; of more than `MAX_RUNS` runs the latest."""
        kept = {**runs, **self._touched}
        self._touched = dict(islice(kept.items(), max(0, len(kept) - MAX_RUNS), None))

    def remember(self, runs: dict[str, Run]) -> None:
        """What an engine before this one knew of runs that may still be under way."""
        self._runs = OrderedDict({**runs, **self._runs})

    def sweep(self, now: float) -> None:
        """Forgets what has been idle for long."""
        for run in self._runs.values():
            run.used = run.used or now
        for run_id in [name for name, run in self._runs.items() if run.used < now - IDLE_SECONDS]:
            self._runs.pop(run_id)
            self._touched[run_id] = None
        self.autonomy.sweep(now)

    def _run(self, run_id: str, now: float = 0.0, *, touch: bool = True) -> Run:
        if not run_id:
            return Run()  # a call of no known run: what failed before it cannot be told from what others did
        run = self._runs.setdefault(run_id, Run())
        self._freed(run)
        run.used = max(run.used, now)
        self._runs.move_to_end(run_id)
        if touch:
            self._touched[run_id] = run
        while len(self._runs) > self._most_runs:
            self._runs.popitem(last=False)
        return run

    @cached_property
    def _most_runs(self) -> int:
        agents = [self._config, *map(self._config.for_agent, self._config.agents)]
        return min(MAX_RUNS, MAX_STEPS // max(config.loop_detection.history_size for config in agents))


def _place_of(call: Call) -> str:
    """Where the detectors remember what this call did: under its run, or where that is not known under its session."""
    return call.run or (f"session:{call.session}" if call.session else "")


def inner_call(call: Call) -> Call:
    """The call that really runs: looked through Tool Search."""
    searched = is_envelope(call.tool, call.params)
    tool, params = unwrap(call.tool, call.params) if searched else (short_name(call.tool), call.params)
    if tool == call.tool and not (searched or call.searched):
        return call  # nearly always, and making another one takes several times as long
    return replace(call, tool=tool, params=params, searched=searched)
