"""The guard: events of a gateway in, verdicts and corrections out. No clock, no file, no process in here.

One call goes through the layers in a fixed order (`Guard._first`); the first verdict wins. A `hold` is a question: the
session settles it with the stores (`approvals`) and tells the guard what came of it (`refused`). What the guard remembers
is per run, and bounded: `MAX_RUNS` runs, the least recently used forgotten first.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Literal

from msgspec import structs

from toolguard_engine import approval_texts, judgement, texts
from toolguard_engine.autonomy import Autonomy
from toolguard_engine.config import Config
from toolguard_engine.failures import classify
from toolguard_engine.heard import Ledger
from toolguard_engine.judgement import Judgement
from toolguard_engine.layers import (
    always,
    constraints,
    detectors,
    exemptions,
    killswitch,
    loops,
    nostore,
    protection,
    rubric,
    typed,
    unread,
)
from toolguard_engine.layers.constraints import Constraint
from toolguard_engine.layers.detectors import Reaction
from toolguard_engine.model import Call, Correction, Failure, Host, Run, Stop, Verdict
from toolguard_engine.outcomes import Outcome
from toolguard_engine.rulebook import Rulebook
from toolguard_engine.toolsearch import is_envelope, look_through
from toolguard_engine.typed.processes import Processes

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
Outcomes = Literal["", "tell", "ask"]
TOO_DEEP = Verdict("block", "call.too-deep", reason="Its arguments are nested too deeply to be judged.")


@dataclass(frozen=True, slots=True)
class Refusal:
    """A malformed call, why it was refused, and what the model is told. In shadow mode the telling is left out."""

    call: Call
    failure: Failure
    correction: Correction


class Guard:
    """Owns the state of all runs of one gateway."""

    def __init__(self, config: Config, hints: texts.Hints, host: Host | None = None, book: Rulebook | None = None) -> None:
        self._config = config
        self._configs: dict[str, Config] = {}
        self._hints = hints
        self._host = host or Host()
        self._book = book or Rulebook(())
        self._runs: OrderedDict[str, Run] = OrderedDict()
        self._touched: dict[str, Run | None] = {}
        self._constraints: tuple[Constraint, ...] = ()
        self.killed = ""
        """Why the kill switch is on; empty while it is off."""
        self.lost = ""
        """Why it is not known how the agents stood before this engine, or not kept what they spend; else empty."""
        self.unread = ""
        """What of the person's own rules cannot be read and is not known from before, in words; empty where all is."""
        self.heard = Ledger()
        """What the runs heard, for `layers.provenance`."""
        self.autonomy = Autonomy()
        """How the agents stand: budget, trust, drift."""
        self.processes = Processes()
        """The programs that agents type into."""

    def use(self, book: Rulebook) -> None:
        """Other rules from here on."""
        self._book = book

    def use_host(self, host: Host) -> None:
        """Another view of the gateway's files from here on."""
        self._host = host

    def constrain(self, found: tuple[Constraint, ...]) -> None:
        """Other constraints of the person from here on."""
        self._constraints = found

    def config_for(self, agent: str) -> Config:
        """The settings of an agent. They are laid over the general ones once: a third of a verdict's time otherwise."""
        known = self._configs.get(agent)
        if known is None:
            if len(self._configs) >= MAX_CONFIGS:
                self._configs.clear()
            known = self._configs[agent] = self._config.for_agent(agent)
        return known

    def judge(self, call: Call) -> Verdict:
        """Whether this call may run. In shadow mode it may, under the code that would have stopped it."""
        if self.killed:
            return killswitch.verdict(self.killed, self._config.approval.prefix)
        config = self.config_for(call.agent)
        verdict = self._first(call, config)
        if verdict.decision == "allow":
            return verdict
        if config.active_mode == "shadow" and verdict.code != TOO_DEEP.code:
            return replace(verdict, decision="allow", code=f"shadow.{verdict.code}", text="")
        if verdict.decision == "block" and not verdict.text:
            return replace(verdict, text=approval_texts.blocked(config.approval.prefix, verdict.reason))
        return verdict

    def _first(self, call: Call, config: Config) -> Verdict:
        return exemptions.judge(call, config) or self._by_run(call, config) or self._by_rule(call, config)

    def _by_run(self, call: Call, config: Config) -> Verdict | None:
        run = self._runs.get(_place_of(call))
        if run is None:
            return None
        self._freed(run)
        verdict = loops.judge(call, run, config) or detectors.judge(call, run, config)
        self._leave_session(call, run)
        return verdict

    def _leave_session(self, call: Call, run: Run) -> None:
        """Where the run of a call is not known its end is not either: nothing may stay stopped for good."""
        if run.stop and not call.run:
            self._runs.pop(_place_of(call), None)

    def said(self, session: str) -> None:
        """Somebody wrote in this session: what its calls of no known run did before is another turn."""
        self._runs.pop(f"session:{session}", None)

    def _by_rule(self, call: Call, config: Config) -> Verdict:
        found = self._as_typed(call, config) or self._weighed(call, config)
        if found is typed.NOTHING:
            return found.verdict
        if found.decision == "allow":
            asks = unread.judge(call, found, config, self.unread) if self.unread else None
            asks = asks or (nostore.judge(call, found, config) if self.lost else None)
            if asks := asks or self.autonomy.judge(call, found, config):
                return asks
        if found.decision == "allow" or config.active_mode == "shadow":
            self.autonomy.let_through(call, found, config)
            if found.note:
                self.autonomy.warned(call, config)
        return found.verdict

    def _as_typed(self, call: Call, config: Config) -> Judgement | None:
        """What is typed into a running program, as the command that it comes to; None for any other call."""
        entries = self.processes.entries(call)
        if entries is None:
            return None
        own = None if self.processes.knows(call) else protection.judge(call, self._host)  # as a text of its own
        if own is not None and own.decision == "block":
            return judgement.of(own)
        found = typed.judge(call, entries, lambda command: self._weighed(command, config))
        if self._constraints:
            found = constraints.judge(call, found, self._constraints, self._host)
        return self._always(call, found, own, config)

    def _weighed(self, call: Call, config: Config) -> Judgement:
        """What no approval lifts goes first, then what always asks, then what asks for its score."""
        try:
            own = protection.judge(call, self._host)
            if own is not None and own.decision == "block":
                return judgement.of(own)
            found = rubric.judge(call, config, self._host, self._book, self.heard.of(call.run, call.session))
        except RecursionError:  # it could be read and cannot be looked at
            return judgement.of(TOO_DEEP)
        if self._constraints:
            found = constraints.judge(call, found, self._constraints, self._host)
        return self._always(call, found, own, config)

    @staticmethod
    def _always(call: Call, found: Judgement, own: Verdict | None, config: Config) -> Judgement:
        """The same, held where the call always asks, or where the guard may be harmed (`own`)."""
        if found.decision != "block" and (asks := always.judge(call, config)):
            found = structs.replace(found, decision=asks.decision, code=asks.code, reason=asks.reason)
        if own is not None and found.decision != "block":
            return structs.replace(found, decision=own.decision, code=own.code, reason=own.reason)
        return found

    def weigh(self, call: Call) -> Judgement:
        """All that the guard thinks of a call, but for what happened before in its run. Changes nothing."""
        config = self.config_for(call.agent)
        exempt = exemptions.judge(call, config)
        return judgement.of(exempt) if exempt else self._weighed(call, config)

    def refused(self, call: Call, verdict: Verdict, nonce: str = "") -> tuple[Verdict, Stop | None]:
        """The guard held this call (under `nonce`) or blocked it: what the model is told, and the end of the run, if due."""
        run = self._run(call.run, call.at)
        config = self.config_for(call.agent)
        if verdict.code == killswitch.CODE:
            run.stop = run.stop if run.stop and run.stop.code != killswitch.CODE else Stop(verdict.code, verdict.text)
        if run.stop is not None:
            return verdict, run.stop
        if verdict.decision == "block" and verdict.code.startswith(VIOLATIONS):
            self.autonomy.violated(call, config)
        count = loops.on_refused(call, run, config, nonce)
        if nonce and count > 1:
            verdict = replace(verdict, text=approval_texts.still_held(config.approval.prefix, nonce))
        return verdict, run.stop

    def would_refuse(self, call: Call) -> Verdict | None:
        """The verdict on something that ran without being judged; None where it would have been let through."""
        config = self.config_for(call.agent)
        found = None if exemptions.judge(call, config) else self._as_typed(call, config) or self._weighed(call, config)
        return None if found is None or found.decision == "allow" else found.verdict

    def _freed(self, run: Run) -> None:
        """A run that only the kill switch stopped goes on when that is off."""
        if not self.killed and run.stop and run.stop.code == killswitch.CODE:
            run.stop = None

    def stop(self, run_id: str, stop: Stop) -> None:
        """Ends a run for a reason of its own."""
        self._run(run_id).stop = stop

    def wanted(self, call: Call) -> Outcomes:
        """What the guard wants to hear of a call that may run, when it has run."""
        config = self.config_for(call.agent)
        if config.active_mode == "disabled" or is_envelope(call.tool, call.params):
            return ""
        return detectors.wanted(call, self._runs.get(_place_of(call), _NEW), config)

    def came(self, call: Call, outcome: Outcome | None, *, asked: bool = True) -> Reaction:
        """A call was executed, with or without an error; None: the gateway's own loop detection did not let it run. In
        shadow mode what it leads to is only told. `asked`: whether what it leads to gets to the gateway."""
        config = self.config_for(call.agent)
        run = self._run(_place_of(call), call.at, touch=False)
        mattered = run.identical or run.past.matters
        if outcome is None:
            call = inner_call(call)
            reaction = detectors.on_veto(call, run, config)
        else:
            reaction = detectors.on_outcome(call, outcome, run, config, asked=asked)
        if call.run and (mattered or run.past.matters or run.stop):
            self._touched[call.run] = run
        if run.stop and not call.run:
            self._leave_session(call, run)
            reaction = structs.replace(reaction, stop=None)
        if reaction.code:
            self.autonomy.warned(call, config)
        if outcome and not outcome.failed:
            loops.on_success(call, run)
            # what nobody judges earns nothing, nor does what runs nothing
            if not exemptions.judge(call, config) and not self.processes.enters_nothing(call):
                self.autonomy.clean(call, config)
        return reaction

    def compacted(self, run_id: str, agent: str) -> int:
        """The history of a run was made shorter and the run goes on; for how many calls it is watched."""
        return detectors.on_compaction(self._run(run_id), self.config_for(agent))

    def failed(self, call: Call, text: str, *, judged: bool, missed: int = 0) -> Refusal | None:
        """A call came back with an error. None where it was executed, or is nobody's business (mode `disabled`)."""
        config = self.config_for(call.agent)
        if config.active_mode == "disabled":
            return None
        failure = classify(call.tool, call.params, text, judged=judged)
        if failure is None:
            return None
        inner, run = inner_call(call), self._run(call.run, call.at)
        correction = loops.on_failure(inner, failure, run, config, self._hints, missed)
        if failure.error == "unknown-tool" and run.stop is None and (stop := detectors.on_unknown_tool(inner, run, config)):
            correction = Correction("limit", stop.text, stop)
        self.autonomy.warned(inner, config)
        return Refusal(inner, failure, correction)

    def succeeded(self, call: Call) -> None:
        """What a call waited for is decided."""
        run = self._runs.get(call.run)
        if run and run.identical:
            loops.on_success(inner_call(call), run)
            self._touched[call.run] = run

    def message(
        self,
        run_id: str,
        agent: str,
        calls: list[Call],
        decided: Callable[[str], bool] = lambda nonce: False,  # noqa: ARG005
    ) -> list[Refusal]:
        """The model has answered with these calls. Where the run ends before they run: one refusal for each of them.

        `decided`: whether the call that is held under a nonce waits no more; asked only before a run would end.
        """
        run = self._runs.get(run_id)
        config = self.config_for(agent)
        if run is None or config.active_mode == "disabled":
            return []
        self._freed(run)
        inner = [inner_call(call) for call in calls]
        stop = loops.on_message(inner, run, config, decided) or detectors.on_message(inner, run, config)
        if stop is None:
            return []
        self._touched[run_id] = run
        correction = Correction("stopped", stop.text, stop)
        return [Refusal(call, loops.known_failure(call, run), correction) for call in inner]

    def ended(self, run_id: str) -> None:
        """The run is over: forget it."""
        self.heard.ended(run_id)
        if self._runs.pop(run_id, None):
            self._touched[run_id] = None

    def take_touched(self) -> dict[str, Run | None]:
        """The runs that changed since the last time, each once; None for one that is over."""
        taken, self._touched = self._touched, {}
        return taken

    def keep_touched(self, runs: dict[str, Run | None]) -> None:
        """What could not be saved is told again."""
        self._touched = {**runs, **self._touched}

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
    tool, params = look_through(call.tool, call.params)
    return replace(call, tool=tool, params=params, searched=is_envelope(call.tool, call.params))
