"""What people say about tools while the engine runs, and what tools say of themselves."""

from __future__ import annotations

from functools import partial

from toolguard_engine.approvals.tool_answer import ToolAnswer, ToolAnswers
from toolguard_engine.layers.seen_tools import SeenTools
from toolguard_engine.model.tool_use import ToolUse
from toolguard_engine.server.clock import Every
from toolguard_engine.server.engine_context import Context
from toolguard_engine.server.store_queue import StoreJob, nothing
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.locked import StoreError
from toolguard_engine.stores.ports import ToolAnswerStore


class ToolWatch:
    """Passes answers to the guard. Where they need signatures only refusals: who trusts what is then asked of the store, as
    the signatures are verified there."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._seen = SeenTools()
        self._store: ToolAnswerStore | None = None
        self._answers: tuple[ToolAnswer, ...] | None = None
        self._known = ToolAnswers()
        """All of them, whether they need a signature or not."""
        self._timer = Every(context.clock, context.intervals.rules)

    def begin(self) -> None:
        self._store, self._answers = stores.tool_answers(self._context.state_dir), None
        self._context.session.guard.tools = self._seen
        self._seen.shown = self._note
        self._timer.expire()
        self.look()

    def look_now(self) -> None:
        """Lets what was said a moment ago count for the call that comes, of a tool that answers may be about."""
        self._timer.expire()
        self.look()

    def look(self) -> None:
        """Takes over what people have said: two `stat` in a second."""
        if self._store is None or not self._timer.due():
            return
        self._timer.restart()
        try:
            answers = self._store.known()
        except StoreError as error:
            self._unread(str(error))
            return
        self._seen.unread = ""
        if answers is not self._answers:
            self._answers, self._known = answers, ToolAnswers(answers)
            config = self._context.session.config
            is_signed = config.approval.is_signed or config.fleet.enabled
            self._seen.answers = ToolAnswers(answer for answer in answers if not is_signed or answer.answer == "refuse")
            for use in self._seen.uses():
                self._note(use)

    def _unread(self, why: str) -> None:
        """What was refused stays refused, and nothing counts as trusted."""
        if self._seen.unread != why:
            self._context.output.complain(f"what people said about tools cannot be read: {why}")
        known, self._answers = self._answers or (), None
        if not self._seen.unread:
            self._seen.answers = ToolAnswers(answer for answer in known if answer.answer == "refuse")
        self._seen.unread = why

    def _note(self, use: ToolUse) -> None:
        """The tool has shown itself. It is trusted as what it is now, if it was trusted without being seen; if it has
        changed, that is kept, as it may not show itself again."""
        approvals = self._context.session.approvals
        if approvals is not None and approvals.tools is not None and self._known.noted(use):
            work = partial(approvals.tools.note, use)
            self._context.queue.do(StoreJob(work=work, done=nothing, failed=self._failed))

    def _failed(self, error: Exception) -> None:
        self._context.output.complain(f"how a tool describes itself could not be noted: {error}")
