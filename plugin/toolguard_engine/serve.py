"""The shell around the core: reads lines from the gateway part, writes answers, then the records.

Answers leave before anything is written to disk, but for what restricts: what was spent, what is held. The engine ends
when its input ends, and so with its gateway, however that one died. No line can end it: what cannot be read is answered
with a block where it was about a call, else with an error; so is what brings a bug to light. Silence alone is the fail mode.
"""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import structs

from toolguard_engine import (
    __version__,
    hints,
    pluginstate,
    protocol,
    readtypes,
    risklevels,
    rulepacks,
    settingrules,
    strictness,
)
from toolguard_engine.approvals import Approvals
from toolguard_engine.config import Config
from toolguard_engine.lines import Lines
from toolguard_engine.metrics import place
from toolguard_engine.metrics.modelcalls import WAIT_SECONDS
from toolguard_engine.ownplaces import included, links_to, own_places, package_of, stamps
from toolguard_engine.rulebook import Rule
from toolguard_engine.session import CODE_ERROR, CODE_REWRITTEN, CODE_UNREADABLE, Session, Setup, fault
from toolguard_engine.stores import audit, calllog, engines, hostconfig, key
from toolguard_engine.stores.counters import Counters
from toolguard_engine.stores.killswitch import KillSwitch
from toolguard_engine.stores.locked import Busy, Damaged, StoreError
from toolguard_engine.stores.nonces import FileNonces
from toolguard_engine.stores.ownpolicy import OwnPolicy
from toolguard_engine.stores.policy import Policies
from toolguard_engine.stores.standings import FileStandings
from toolguard_engine.wakes import Wakes
from toolguard_engine.weakenings import Weakenings

if TYPE_CHECKING:
    from toolguard_engine.metrics.recorder import Recorder

CHUNK = 1 << 18
PUBLISH_EVERY = 1.0
"""Seconds between two writes of the engine's own files, while there is news."""

LOUD = (("security", CODE_REWRITTEN), ("error", CODE_ERROR), ("error", CODE_UNREADABLE))
"""Events, with their codes, that are said in the gateway's log too."""

MAX_UNSAVED = 1_000
MAX_COMPLAINTS = 100
RETRY_EVERY = 0.5
"""Seconds until lines that could not be written are tried again."""

RULES_EVERY = 1.0
"""Seconds between two looks at whether the person's own rules were changed."""

SWITCH_EVERY = 0.1
"""Seconds between two looks at the kill switch."""

SWEEP_EVERY = 60.0
"""Seconds between two looks for what has been idle for long."""

RECORD_AFTER = WAIT_SECONDS + 0.1
"""Seconds of silence after which nothing more is waited for of model calls that were told in part."""

STOPPING = "gateway stopping"
"""What a gateway calls its own end."""

POLL_EVERY = 0.2
"""Seconds between two looks at the book of held calls, while calls wait."""


class Engine:
    """One engine process. `run` returns when the input ends."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink
        self._lines = Lines(protocol.MAX_LINE)
        self._session = Session(
            Setup(
                hints=hints.load(),
                clock=lambda: datetime.now(UTC),
                pid=os.getpid(),
                book=rulepacks.load(),
                home=str(Path.home()),
                guarded=own_places(),
                included=self._included,
                links=links_to,
                package=package_of,
                open_approvals=self._open_approvals,
            )
        )
        self._started = time.time()
        self._log: calllog.CallLog | None = None
        self._audit: audit.AuditLog | None = None
        self._counters: Counters | None = None
        self._standings: FileStandings | None = None
        self._wakes: Wakes | None = None
        self._nonces = Path()
        self._recorder: Recorder | None = None
        self._heard = 0.0
        self._own: OwnPolicy | None = None
        self._rules: tuple[Rule, ...] | None = None
        self._looked = -RULES_EVERY
        self._switched = -SWITCH_EVERY
        self._sought = -RULES_EVERY
        self._includes: tuple[str, ...] = ()
        self._stamps: tuple[tuple[int, int], ...] = ()
        self._swept = 0.0
        self._unsaved: list[audit.Event] = []
        self._log_error = ""
        self._complaints: set[str] = set()
        self._published = 0.0
        self._polled = 0.0
        self._tried = 0.0
        self._news = False
        self._weakenings: Weakenings | None = None
        self._compare_at = 0.0
        """When the settings are to be compared with those that were accepted; 0: that is done."""
        self._found_at_start = False
        """Whether the gateway's config named the folder of the plugin when it was loaded."""

    def run(self) -> None:
        try:
            while data := self._read():
                self._safely(self._look_at_rules)
                self._safely(self._look_at_switch)
                for line, too_long in self._lines.feed(data):
                    self._answer(line, too_long=too_long)
                for step in (self._write_records, self._tell, self._do_what_is_due, self._look_at_includes):
                    self._safely(step)
        except BrokenPipeError:
            pass  # the gateway is gone, and nobody is left to tell
        finally:
            self._leave()

    def _read(self) -> bytes:
        """The next bytes; does what is due while nothing else is to do."""
        while (wait := self._until_due()) is not None:
            if select.select([self._source], [], [], wait)[0]:
                break
            self._safely(self._do_what_is_due)
        return os.read(self._source, CHUNK)

    def _until_due(self) -> float | None:
        """Seconds until something is to be done without being asked; None where nothing is."""
        due = [self._published + PUBLISH_EVERY] if self._news else []
        if self._wakes and self._wakes.watching:
            due.append(self._polled + POLL_EVERY)
        if self._unsaved:
            due.append(self._tried + RETRY_EVERY)
        if self._heard:
            due.append(self._heard + RECORD_AFTER)
        if self._compare_at:
            due.append(self._compare_at)
        return max(0.0, min(due) - time.monotonic()) if due else None

    def _do_what_is_due(self) -> None:
        now = time.monotonic()
        if self._news and now - self._published >= PUBLISH_EVERY:
            self._publish()
            self._save_counters()
            self._sweep(now)
        if self._wakes and self._wakes.watching and now - self._polled >= POLL_EVERY:
            self._polled = now
            self._send_all(self._wakes.poll())
            self._complain(self._wakes.trouble)
        if self._unsaved and now - self._tried >= RETRY_EVERY:
            self._write_events()
        if self._heard and now - self._heard >= RECORD_AFTER:
            self._heard = 0.0
            self._record()
        if self._compare_at and now >= self._compare_at:
            self._compare_settings()

    def _answer(self, line: bytes, *, too_long: bool) -> None:
        if not line.strip():
            return
        answer = self._decide(line, too_long=too_long)
        if answer is not None:
            self._send_answer(answer, line)
        if isinstance(answer, protocol.Ready):
            for step in (
                self._restore,
                self._take_own_rules,
                self._look_at_switch,
                self._begin_recording,
                self._compare_settings,
            ):
                self._safely(step)

    def _decide(self, line: bytes, *, too_long: bool) -> protocol.Wire | None:
        if too_long:
            return self._unreadable(protocol.leading(line), f"a line of more than {protocol.MAX_LINE} bytes")
        try:
            message = protocol.decode(line)
        except protocol.ProtocolError as error:
            return self._unreadable(error.leading, str(error))
        try:
            answer = self._session.answer(message)
        except Exception as error:  # noqa: BLE001 - a bug must become an answer, or the call would hang
            return self._failed(message, error)
        if isinstance(answer, protocol.Ready):
            self._begin()
        if isinstance(message, protocol.Decide) and message.action == "kill-switch":
            self._switched = -SWITCH_EVERY  # what was answered holds from the next call on
            self._safely(self._look_at_switch)
        self._safely(partial(self._follow, message, answer))
        self._news = True
        return answer

    def _unreadable(self, leading: protocol.Leading, reason: str) -> protocol.Wire:
        self._news = True
        return self._session.unreadable(leading, reason)

    def _safely(self, step: Callable[[], None]) -> None:
        """A step beside the answers: a bug in it must not end the engine, which would be silence for every session."""
        try:
            step()
        except BrokenPipeError:
            raise
        except Exception as error:  # noqa: BLE001 - told, and the engine goes on
            self._complain(f"{fault(error)}; please report this")

    def _send_answer(self, answer: protocol.Wire, line: bytes) -> None:
        try:
            data = protocol.encode(answer)
        except Exception as error:  # noqa: BLE001 - no answer at all would be silence
            data = protocol.encode(self._unreadable(protocol.leading(line), f"its answer cannot be written: {fault(error)}"))
        self._write(data)

    def _follow(self, message: protocol.Incoming, answer: protocol.Wire | None) -> None:
        """What an answer means for the watch over held calls."""
        if self._wakes is None:
            return
        if isinstance(answer, protocol.VerdictAnswer) and answer.decision == "hold":
            self._wakes.look()
        elif isinstance(message, protocol.RunEnd):
            self._send_all(self._wakes.ended(message.session))
        elif isinstance(message, protocol.Decide | protocol.Resolved):
            self._wakes.look()

    def _send_all(self, messages: Sequence[protocol.Wire]) -> None:
        for message in messages:
            self._send(message)

    def _failed(self, message: protocol.Incoming, error: Exception) -> protocol.Wire:
        self._send(protocol.Log("error", f"the engine could not decide: {fault(error)}; please report this"))
        self._news = True
        return self._session.failed(message, error)

    def _send(self, message: protocol.Wire) -> None:
        self._write(protocol.encode(message))

    def _write(self, encoded: bytes) -> None:
        data = memoryview(encoded)
        while data:
            data = data[os.write(self._sink, data) :]

    def _open_approvals(self, hello: protocol.Hello, config: Config) -> Approvals:
        state_dir = Path(hello.state_dir)
        named = settingrules.store_path(config)
        nonces = FileNonces(state_dir, calllog.resolve(named, state_dir) if named else None, hello.gateway)
        self._nonces = nonces.path
        self._wakes = Wakes(nonces.path, nonces, time.time, wake=config.approval.wake)
        return Approvals(nonces, Policies(state_dir), time.time)

    def _begin(self) -> None:
        """The gateway has introduced itself: now it is known where things are. A step that fails stops no other."""
        self._log_error = ""
        self._complaints.clear()
        self._published = 0.0
        self._switched = -SWITCH_EVERY
        for step in (
            self._begin_switch,
            self._begin_audit,
            self._begin_counting,
            self._begin_standings,
            self._begin_weakenings,
            self._begin_log,
            self._name_problems,
        ):
            self._safely(step)

    def _begin_switch(self) -> None:
        self._session.kill_switch = KillSwitch(self._state_dir)

    def _begin_audit(self) -> None:
        self._audit = audit.AuditLog(self._state_dir)

    def _begin_counting(self) -> None:
        self._counters = Counters(self._state_dir)

    def _begin_standings(self) -> None:
        self._safely(self._close_standings)
        self._session.standings = self._standings = FileStandings(self._state_dir)

    def _begin_weakenings(self) -> None:
        hello = self._session.hello
        assert hello is not None  # noqa: S101 - only used after hello
        self._weakenings = Weakenings(self._state_dir, hello.config_path, time.time, self._log_first)
        self._session.weakenings = self._weakenings

    def _begin_log(self) -> None:
        self._log = calllog.CallLog(calllog.resolve(settingrules.log_path(self._session.config), self._state_dir))

    def _name_problems(self) -> None:
        for problem in settingrules.problems(self._session.config):
            self._complain(f"{'.'.join(problem.path)}: {problem.text}")

    def _log_first(self, events: list[audit.Event]) -> None:
        """Lines for the audit log that belong there before something else is written. Raises `StoreError`."""
        gateway = self._session.hello.gateway if self._session.hello else ""
        assert self._audit is not None  # noqa: S101 - it is there before the weakenings
        try:
            self._audit.append([structs.replace(event, gateway=gateway) for event in events], patient=False)
        except Busy:
            raise
        except StoreError as error:
            self._complain(
                f"the audit log cannot be written: {error}; not in it: {'; '.join(each.reason for each in events)}"
            )
            raise

    def _compare_settings(self) -> None:
        """Whether they guard less than what a person accepted. Tried again where somebody else is at the store."""
        hello, config = self._session.hello, self._session.config
        if self._weakenings is None or hello is None:
            return
        self._compare_at = 0.0
        plugins = hostconfig.plugins(hello.config_path) if hello.root else None
        self._found_at_start = bool(plugins is not None and pluginstate.is_found(plugins, hello.root, hello.state_dir))
        try:
            told = self._weakenings.begin(strictness.settings_of(config, conversation=hello.conversation))
        except Busy:
            self._compare_at = time.monotonic() + RETRY_EVERY
        except StoreError as error:
            self._complain(f"whether settings became weaker is not known: {error}")
        else:
            self._warn(told)

    def _warn(self, told: list[str]) -> None:
        """Into the gateway's log, also where warnings are kept out of it."""
        level = self._session.config.log_level
        self._send_all([protocol.Log("error" if level == "error" else "warn", text) for text in told])

    def _say_why_it_ends(self) -> None:
        """An end that the gateway outlives is reported like a weaker setting; that of the gateway is a line of the audit
        log. So is one of which neither is known. A reload leaves nothing: the config still loads the plugin."""
        hello = self._session.hello
        assert hello is not None  # noqa: S101 - only used after hello
        found = hostconfig.plugins(hello.config_path)
        state_dir = hello.state_dir if self._found_at_start else ""
        why = pluginstate.why_unloaded(found, hello.root, state_dir) if found is not None else ""
        if why:
            self._session.ended("guard.unloaded", f"the gateway stopped the guard: {why}")
        elif self._session.leaving == STOPPING:
            self._session.ended("guard.gateway-stopped", "the guard ended with its gateway, which was told to stop")
        elif hello.config_path and (found is None or self._is_named_unclearly(found, hello, state_dir)):
            text = "the guard ended, and why is not known: the gateway's config cannot be read as the gateway reads it"
            self._session.ended("guard.ended", text)
        if why and self._weakenings is not None:
            try:
                self._warn(self._weakenings.end(why))
            except StoreError as error:
                self._complain(f"that the guard ended could not be kept: {error}")

    @staticmethod
    def _is_named_unclearly(plugins: object, hello: protocol.Hello, state_dir: str) -> bool:
        """Whether only the gateway knows if its config still names the folder of the plugin, as it did at the start."""
        return bool(state_dir) and pluginstate.is_found(plugins, hello.root, state_dir) is None

    def _begin_recording(self) -> None:
        """Where metrics are wanted. What keeps them from being recorded keeps nothing else."""
        self._end_recording()
        if self._session.config.metrics.enabled:
            try:
                self._recorder = self._new_recorder()
            except Exception as error:  # noqa: BLE001 - verdicts go on
                self._session.measure_nothing()
                self._complain(f"metrics cannot be recorded: {fault(error)}")

    def _new_recorder(self) -> Recorder:
        """What it needs is loaded here: after the answer, and by no other engine."""
        from toolguard_engine.metrics import prices  # noqa: PLC0415
        from toolguard_engine.metrics.recorder import Recorder  # noqa: PLC0415
        from toolguard_engine.metrics.registry import GatewayFacts  # noqa: PLC0415

        hello, config = self._session.hello, self._session.config
        assert hello is not None  # noqa: S101 - only used after hello
        facts = GatewayFacts(
            name=hello.gateway,
            state_dir=hello.state_dir,
            config_path=hello.config_path,
            nonces=str(self._nonces),
            host=hello.host,
            version=__version__,
            mode=config.active_mode,
            pid=self._session.setup.pid,
        )
        estimate = partial(prices.estimate, table=prices.load(config.metrics.prices))
        readtypes.read()  # from here on there is a second thread
        return Recorder(place.resolve(config.metrics.db_path), facts, config.metrics, estimate)

    def _record(self, *, last: bool = False) -> None:
        if self._recorder is None:
            return
        try:
            self._recorder.add(self._session.take_calls(last=last), self._session.take_verdicts())
        except Exception as error:  # noqa: BLE001 - verdicts go on
            self._complain(f"metrics: {fault(error)}; please report this")
        self._tell_of(self._recorder)

    def _end_recording(self) -> None:
        recorder = self._recorder
        if recorder is None:
            return
        try:
            self._record(last=True)
        finally:
            self._recorder = None
            recorder.close()
        self._tell_of(recorder)

    def _tell_of(self, recorder: Recorder) -> None:
        for told in recorder.take_told():
            self._complain(told)

    def _take_own_rules(self) -> None:
        self._own, self._looked, self._rules = OwnPolicy(self._state_dir), -RULES_EVERY, None
        self._look_at_rules()
        for name in self._session.unknown_rules:
            self._complain(f"rulesOff names {name}, which is no rule and no pack: toolguard check --list names them all")

    def _look_at_rules(self) -> None:
        """Takes over what the person changed in their own rules and constraints.

        Before the answers, so that a rule counts for the next call: once a second that costs two `stat`.
        """
        own = self._own
        if own is None or time.monotonic() - self._looked < RULES_EVERY:
            return
        self._looked = time.monotonic()
        own.look()
        if own.rules is not self._rules:
            self._rules = own.rules
            self._session.use_rules(own.rules)
        self._session.use_constraints(own.constraints)
        self._session.guard.unread = own.unread
        for said in own.faults:
            self._complain(said)

    def _included(self, config_path: str) -> tuple[str, ...]:
        """The files that the gateway's config takes in, and by what one sees later that they are others.

        How the config looked is noted first: what changes while it is read is seen as a change.
        """
        before = stamps((config_path,))
        self._includes = included(config_path)
        self._stamps = before + stamps(self._includes)
        return self._includes

    def _look_at_includes(self) -> None:
        """Guards the files that the gateway's config takes in now: a person may have added one. As often as the rules.

        After the answers, for it looks through folders. What was changed is guarded a call later.
        """
        hello = self._session.hello
        if hello is None or time.monotonic() - self._sought < RULES_EVERY:
            return
        self._sought = time.monotonic()
        if self._stamps != stamps((hello.config_path, *self._includes)):
            self._session.use_includes()

    def _look_at_switch(self) -> None:
        """Whether a person has stopped or freed everything: at most a tenth of a second ago."""
        switch = self._session.kill_switch
        if not isinstance(switch, KillSwitch) or time.monotonic() - self._switched < SWITCH_EVERY:
            return
        self._switched = time.monotonic()
        self._session.guard.killed = switch.why()

    def _sweep(self, now: float) -> None:
        if now - self._swept >= SWEEP_EVERY:
            self._swept = now
            self._session.guard.sweep(time.time())

    def _restore(self) -> None:
        """What an engine before this one counted in runs that are still under way."""
        if self._counters is None:
            return
        risklevels.load()  # not while the first call waits
        self._session.restore(patient=True)
        try:
            self._session.remember(self._counters.load())
        except Damaged as error:
            self._complain(f"the counts of an earlier engine are lost: {error}")
        except StoreError:
            pass  # there was nothing to read; that nothing can be written is told when it is tried

    @property
    def _state_dir(self) -> Path:
        assert self._session.hello is not None  # noqa: S101 - only used after hello
        return Path(self._session.hello.state_dir)

    def _write_records(self) -> None:
        records = self._session.take_records()
        self._write_events()
        self._record()
        self._heard = time.monotonic() if self._recorder else 0.0
        if self._session.approvals:
            self._complain(self._session.approvals.trouble)
        if self._log is None:
            return
        for line in records:
            if news := self._log.append(line):
                self._log_error = news
                self._send(protocol.Log("warn", f"{news}; malformed calls are not logged"))

    def _write_events(self, *, patient: bool = False) -> None:
        fresh = self._session.take_events()
        for event in fresh:
            if (event.event, event.code) in LOUD:
                self._send(protocol.Log("error", f"SECURITY: {event.tool} {event.reason}"))
        self._unsaved += fresh
        if not self._unsaved or self._audit is None:
            return
        try:
            self._tried = time.monotonic()
            self._audit.append(self._unsaved, patient=patient)
        except Busy:
            pass  # soon again: no other session waits for this
        except StoreError as error:
            self._complain(f"the audit log cannot be written: {error}")
            self._unsaved = self._unsaved[-MAX_UNSAVED:]
        else:
            self._unsaved = []

    def _tell(self) -> None:
        """What there is to say of them. What was spent is written before its answer, in `session`."""
        if self._standings is not None:
            self._complain(self._standings.trouble)
        self._send_all(self._session.take_told())

    def _close_standings(self) -> None:
        if self._standings is not None:
            self._standings.close()

    def _save_counters(self) -> None:
        self._session.save_standings()
        changed = self._session.take_touched()
        if not changed or self._counters is None:
            return
        try:
            self._counters.save(changed)
        except StoreError as error:
            self._session.guard.keep_touched(changed)
            self._complain("" if isinstance(error, Busy) else f"counts cannot be saved: {error}")

    def _complain(self, text: str) -> None:
        """Into the gateway's log, once per text."""
        if text and text not in self._complaints and len(self._complaints) < MAX_COMPLAINTS:
            self._complaints.add(text)
            self._send(protocol.Log("warn", text))

    def _publish(self) -> None:
        self._news = False
        hello, config, tally = self._session.hello, self._session.config, self._session.tally
        if hello is None:
            return
        first = self._published == 0.0
        self._published = time.monotonic()
        try:
            if first:
                engines.sweep(self._state_dir)
                with suppress(StoreError):
                    key.load(self._state_dir)  # its time tells the command line since when there are agents here
            engines.publish(
                self._state_dir,
                engines.EngineInfo(
                    pid=self._session.setup.pid,
                    gateway_pid=hello.gateway_pid,
                    gateway=hello.gateway,
                    host=hello.host,
                    version=__version__,
                    plugin=hello.plugin,
                    started=self._started,
                    mode=config.active_mode,
                    log_path=str(calllog.resolve(config.log_path, self._state_dir)),
                    config_error=self._session.config_error,
                    log_error=self._log_error,
                    judged=tally.judged,
                    corrected=tally.corrected,
                    loops=tally.loops,
                    stopped=tally.stopped,
                    held=tally.held,
                    blocked=tally.blocked,
                    approved=tally.approved,
                    repeated=tally.repeated,
                    seams=self._session.seams,
                    namespaces=engines.namespaces(),
                ),
            )
        except (OSError, ValueError) as error:  # ValueError: a NUL in the path
            self._complain(f"cannot write below {self._state_dir}: {getattr(error, 'strerror', None) or error}")

    def _leave(self) -> None:
        if self._session.hello is None:
            return
        for step in (
            self._say_why_it_ends,
            self._save_counters,
            self._close_standings,
            partial(self._write_events, patient=True),
            self._retire,
            self._end_recording,  # last: it may have to wait
        ):
            with suppress(BrokenPipeError):
                self._safely(step)

    def _retire(self) -> None:
        with suppress(OSError, ValueError):  # the state directory went away before the gateway did
            self._publish()
            engines.retire(self._state_dir, self._session.setup.pid)
