"""What the engine keeps on disk: the audit log, the log of malformed calls, the counts of runs, how the agents stand."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from msgspec import structs

from toolguard_engine.config import conflicts
from toolguard_engine.metrics.backlog import Backlog
from toolguard_engine.model.call import Call, Verdict
from toolguard_engine.rules import risk_levels
from toolguard_engine.server.clock import Every
from toolguard_engine.server.engine_context import Context
from toolguard_engine.server.session import CODE_REWRITTEN
from toolguard_engine.server.store_queue import StoreJob
from toolguard_engine.server.verdicts import CODE_ERROR, CODE_UNREADABLE
from toolguard_engine.stores import audit_log, call_log
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import Busy, Damaged, Newer, StoreError
from toolguard_engine.stores.ports import AuditLogStore, CallLogStore, CounterStore, FileMemoryStore, StandingsStore
from toolguard_engine.wire import messages

LOUD = (("security", CODE_REWRITTEN), ("error", CODE_ERROR), ("error", CODE_UNREADABLE))
"""Events, with their codes, that are reported in the gateway's log too."""

CODE_DROPPED = "audit.dropped"
MAX_UNSAVED = 1_000
"""Lines that wait while the audit log cannot be written; the oldest of more are dropped."""


class Records:
    """Opens these files once the gateway has said where they are, and writes what the session has for them."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._session = context.session
        self._output = context.output
        self._log: CallLogStore | None = None
        self._audit: AuditLogStore | None = None
        self._counters: CounterStore | None = None
        self._file_memory: FileMemoryStore | None = None
        self._saved_changes = 0
        self._is_saving = False
        self._save = Every(context.clock, context.intervals.publish)
        self._standings: StandingsStore | None = None
        self._unsaved = Backlog[audit_log.AuditEvent](MAX_UNSAVED)
        self._writing: list[audit_log.AuditEvent] = []
        self._awaited: dict[str, audit_log.AuditEvent] = {}
        """By id, the lines for which answers wait, until it is known what became of them."""
        self._retry = Every(context.clock, context.intervals.retry)
        self.log_error = ""

    def begin_audit(self) -> None:
        self._audit = stores.audit_log(self._context.state_dir)

    def begin_counters(self) -> None:
        self._counters = stores.counters(self._context.state_dir)

    def begin_file_memory(self) -> None:
        self._file_memory = stores.file_memory(self._context.state_dir)
        self._saved_changes = self._changes

    @property
    def _changes(self) -> int:
        return self._session.guard.files.changes + self._session.guard.living.changes

    def _restore_files(self) -> None:
        """The files that agents made, as an engine before this one knew them."""
        if self._file_memory is None:
            return
        try:
            saved = self._file_memory.load()
            self._session.guard.files.restore(saved.tree, saved.changes)
            self._session.guard.living.restore(saved.programs)
            self._session.files.code_ahead.restore(self._session.guard.files)
        except Newer as error:
            self._file_memory = None
            self._output.complain(f"the record of files made by agents is not used: {error}")
        except Damaged as error:
            self._output.complain(f"the record of files made by agents is lost: {error}")
        except StoreError:
            pass  # there was nothing to read; that nothing can be written is reported when it is tried

    def begin_standings(self) -> None:
        self._output.safely(self.close_standings)
        self._session.standings = self._standings = stores.standings(self._context.state_dir)

    def begin_log(self) -> None:
        self.log_error = ""
        path = conflicts.log_path(self._session.config)
        self._log = stores.call_log(call_log.resolve(path, self._context.state_dir))

    def restore(self) -> None:
        """What an engine before this one counted in runs that are still under way."""
        if self._counters is None:
            return
        self._restore_files()
        risk_levels.load()  # not while the first call waits
        self._session.restore(patient=True)
        try:
            self._session.remember(self._counters.load())
        except Damaged as error:
            self._output.complain(f"the counts of an earlier engine are lost: {error}")
        except StoreError:
            pass  # there was nothing to read; that nothing can be written is reported when it is tried

    def write_log(self) -> None:
        """The malformed calls."""
        records = self._session.outbox.take_records()
        if self._log is None:
            return
        for line in records:
            if news := self._log.append(line):
                self.log_error = news
                self._output.send(messages.Log("warn", f"{news}; malformed calls are not logged"))

    def write_events(self) -> None:
        """The lines for the audit log that no store writes itself. They are written beside the loop."""
        self._retry.restart()
        self._take_events()
        if self._unsaved and self._audit is not None and not self._writing:
            self._writing = self._unsaved.take(MAX_UNSAVED)
            work = partial(self._audit.append, tuple(self._writing), patient=False)
            self._context.queue.do(StoreJob(work=work, done=lambda _: self._written(), failed=self._written))

    def answer_after(self, send: Callable[[], None]) -> None:
        """Sends a refusal once its lines are on the disk, or once it is certain that this takes too long: what is refused
        stays refused. Its lines wait for no others, which may be stuck."""
        if self._audit is None:
            send()
            return
        lines = self._fresh_events()
        if len(self._awaited) + len(lines) > MAX_UNSAVED:  # as if its time were over
            self._unsaved.add(lines)
            send()
            return
        self._awaited |= {line.id: line for line in lines}

        def answered(error: Exception | None) -> None:
            send()
            self._tried(lines, error)

        job = StoreJob(
            work=partial(_appended, self._audit, lines), done=answered, late=partial(self._tried, lines), failed=answered,
            overdue=send, seconds=self._context.queue.answer_seconds, always=True,
        )  # fmt: skip
        self._context.queue.do(job)

    def _tried(self, lines: list[audit_log.AuditEvent], error: Exception | None) -> None:
        for line in lines:
            self._awaited.pop(line.id, None)
        if error is not None:
            self._unsaved.add(lines)
            self._output.complain(f"the audit log cannot be written: {error}")

    def _take_events(self) -> None:
        self._unsaved.add(self._fresh_events())

    def _fresh_events(self) -> list[audit_log.AuditEvent]:
        fresh = self._session.outbox.take_events()
        for event in fresh:
            if (event.event, event.code) in LOUD:
                self._output.send(messages.Log("error", f"SECURITY: {event.tool} {event.reason}"))
        return fresh

    def _written(self, error: Exception | None = None) -> None:
        lines, self._writing = self._writing, []
        if error is None:
            self._unsaved.done()
            self._report_dropped()
            return
        self._unsaved.put_back(lines)
        if not isinstance(error, Busy):  # then soon again
            self._output.complain(f"the audit log cannot be written: {error}")
        if not isinstance(error, StoreError):
            raise error

    def _report_dropped(self) -> None:
        """Once all that is left is written."""
        if not self._unsaved and (dropped := self._unsaved.take_lost()):
            reason = f"{dropped} lines were dropped, because the audit log could not be written for a long time"
            self._output.complain(reason)
            self._session.outbox.event("error", Call("", None), Verdict("allow", CODE_DROPPED, reason=reason))

    def write_last_events(self) -> None:
        """When the engine ends, and no thread does it any longer. What one that hangs writes later is there already."""
        self._take_events()
        self._writing += [*self._awaited.values(), *self._unsaved.take(MAX_UNSAVED)]
        if self._writing and self._audit is not None:
            try:
                self._audit.append(self._writing)
            except StoreError as error:
                self._written(error)

    @property
    def next_retry(self) -> float:
        """When to try again to write lines of the audit log, by the monotonic clock."""
        return self._retry.next if self._unsaved and not self._writing else math.inf

    def retry_events(self) -> None:
        """Where it is due."""
        if self._unsaved and self._retry.due():
            self.write_events()

    @property
    def next_save(self) -> float:
        """When to save the memory of files, by the monotonic clock."""
        is_new = self._file_memory is not None and self._changes != self._saved_changes
        return self._save.next if is_new and not self._is_saving else math.inf

    def save_file_memory(self) -> None:
        """Saves the memory of files beside the loop, if that is due."""
        if self.next_save == math.inf or not self._save.due() or self._file_memory is None:
            return
        self._save.restart()
        self._is_saving, self._saved_changes = True, self._changes
        work = self._saving(self._file_memory)
        self._context.queue.do(StoreJob(work=work, done=lambda _: self._files_saved(), failed=self._files_saved))

    def _saving(self, store: FileMemoryStore) -> Callable[[], None]:
        """What is to be done beside the loop. A copy of the memory costs nothing."""
        guard = self._session.guard
        changes, programs = guard.files.take_unsaved(), guard.living.lasting
        if changes is None or store.wants_all:
            memory = guard.files.fork()
            return lambda: store.save(memory.listed, programs)
        return partial(store.append, changes, programs)

    def _files_saved(self, error: Exception | None = None) -> None:
        self._is_saving = False
        if error is None and self._file_memory is not None and self._file_memory.wants_all:
            self._saved_changes = -1  # nothing was saved yet
        if error is not None:
            self._output.complain(f"the record of files made by agents cannot be saved: {error}")

    def save_last_file_memory(self) -> None:
        """When the engine ends, and no thread does it any longer."""
        self._session.files.settle()
        guard = self._session.guard
        if self._file_memory is not None and self._changes != self._saved_changes:
            with suppress(StoreError):
                self._saving(self._file_memory)()
                if self._file_memory.wants_all:
                    self._file_memory.save(guard.files.listed, guard.living.lasting)

    def write_first(self, events: list[audit_log.AuditEvent]) -> None:
        """Lines that belong in the audit log before something else is written. Raises `StoreError`."""
        gateway = self._session.hello.gateway if self._session.hello else ""
        assert self._audit is not None  # noqa: S101 - it is there before the weakenings
        try:
            self._audit.append([structs.replace(event, gateway=gateway) for event in events], patient=False)
        except Busy:
            raise
        except StoreError as error:
            self._output.complain(
                f"the audit log cannot be written: {error}; not logged: {'; '.join(event.reason for event in events)}"
            )
            raise

    def report_standings(self) -> None:
        """What there is to say of them. What was spent is written before its answer, in `session`."""
        if self._standings is not None:
            self._output.complain(self._standings.trouble)
        self._output.send_all(self._session.outbox.take_log())

    def close_standings(self) -> None:
        if self._standings is not None:
            self._standings.close()

    def save_counters(self) -> None:
        self._session.save_standings()
        changed = self._session.take_touched()
        if not changed or self._counters is None:
            return
        try:
            self._counters.save(changed)
        except StoreError as error:
            self._session.guard.keep_touched(changed)
            self._output.complain("" if isinstance(error, Busy) else f"counts cannot be saved: {error}")


def _appended(log: AuditLogStore, lines: list[audit_log.AuditEvent]) -> Exception | None:
    """What went wrong, as a result: of a job that is late, an exception would be lost."""
    try:
        log.append(lines)
    except Exception as error:  # noqa: BLE001 - the loop deals with it
        return error
    return None
