"""Which texts the gateway part must not show to a model: collected at the start, and again when their files change.

The first collection is complete before the engine is ready. Later ones run beside the loop, at most one at a time, while
messages arrive: without a call there is no result that could contain a secret.
"""

from __future__ import annotations

import os
from functools import partial

from toolguard_engine.config.settings import metrics_of
from toolguard_engine.host import metrics_path
from toolguard_engine.server.clock import Every
from toolguard_engine.server.engine_context import Context
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.install_paths import notification_secrets
from toolguard_engine.server.outbox import fault
from toolguard_engine.server.store_queue import StoreJob
from toolguard_engine.stores.secret_sources import SecretPlaces, SecretSources
from toolguard_engine.wire import messages
from toolguard_engine.wording import secret_values
from toolguard_engine.wording.secret_values import Replacement

FIRST_SECONDS = 2.0
"""For which the first collection may take: a home folder on a network may hang. It then goes on beside the loop."""


class SecretsWatch:
    """Keeps `session.hidden` up to date, and tells the gateway part of changes once it has asked."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._session = context.session
        self._sources: SecretSources | None = None
        self._timer = Every(context.clock, context.intervals.rules)
        self._is_looking = False
        self._is_asked = False

    def begin(self) -> None:
        self._sources, self._is_asked = self._opened(), False
        answer = FileReader(wait=FIRST_SECONDS).bounded(self._read, self._sources)
        if answer is None:
            self._context.output.complain("the secrets of this gateway could not be read in time; reading goes on")
        self._session.hidden = answer or ()

    def _opened(self) -> SecretSources:
        hello, config = self._context.hello, self._session.config
        home = self._session.setup.home
        return SecretSources(
            SecretPlaces(
                state_dir=hello.state_dir,
                config_path=hello.config_path or os.path.join(hello.state_dir, "openclaw.json"),  # noqa: PTH118 - a text
                home=home,
                token_file=str(metrics_path.token_path(metrics_path.resolve(metrics_of(hello.config).db_path))),
                own_files=notification_secrets(config.notify, home),
            ),
            self._session.setup.environment,
            self._context.clock.monotonic,
            is_on=config.redact_secrets and config.active_mode != "disabled",
        )

    @staticmethod
    def _read(sources: SecretSources) -> tuple[Replacement, ...]:
        return secret_values.replacements(sources.collect())

    def note(self, message: messages.Incoming) -> None:
        """What the gateway part said: from its first question on it is told of changes."""
        self._is_asked = self._is_asked or isinstance(message, messages.AskSecrets)

    def look(self) -> None:
        """Looks for changes beside the loop, where it is due."""
        sources = self._sources
        if sources is None or not self._is_asked or self._is_looking or not self._timer.due():
            return
        self._timer.restart()
        self._is_looking = True
        self._context.queue.do(StoreJob(work=partial(self._read, sources), done=self._found, failed=self._failed))

    def _found(self, hidden: tuple[Replacement, ...]) -> None:
        self._is_looking = False
        if hidden != self._session.hidden:
            self._session.hidden = hidden
            self._context.output.send(messages.Secrets(hidden=hidden))

    def _failed(self, error: Exception) -> None:
        self._is_looking = False
        self._context.output.complain(f"secrets could not be read: {fault(error)}; please report this")
