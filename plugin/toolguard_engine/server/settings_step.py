"""Whether settings guard less than a person accepted, and why the guard stopped."""

from __future__ import annotations

from toolguard_engine.config import strictness
from toolguard_engine.host import plugin_state
from toolguard_engine.server.clock import Alarm
from toolguard_engine.server.engine_context import Context
from toolguard_engine.server.records_step import Records
from toolguard_engine.server.weakening_notices import Weakenings
from toolguard_engine.stores import gateway_config
from toolguard_engine.stores.locked import Busy, StoreError
from toolguard_engine.wire.messages import Hello, Log

STOPPING = "gateway stopping"
"""What a gateway calls its own end."""


class SettingsWatch:
    """Compares the settings at the start, and reports an end that the gateway outlives."""

    def __init__(self, context: Context, records: Records) -> None:
        self._context = context
        self._session = context.session
        self._output = context.output
        self._records = records
        self._weakenings: Weakenings | None = None
        self._retry = Alarm(context.clock, context.intervals.retry)
        self._found_at_start = False
        """Whether the gateway's config named the folder of the plugin when it was loaded."""

    def begin(self) -> None:
        self._weakenings = Weakenings(
            self._context.state_dir, self._context.hello.config_path, self._context.clock.time, self._records.write_first
        )
        self._session.weakenings = self._weakenings

    @property
    def next(self) -> float:
        """When to compare again, by the monotonic clock."""
        return self._retry.next

    def retry(self) -> None:
        """Where it is due."""
        if self._retry.due():
            self.compare()

    def compare(self) -> None:
        """Whether they guard less than what a person accepted. Tried again where another process holds the store."""
        hello, config = self._session.hello, self._session.config
        if self._weakenings is None or hello is None:
            return
        self._retry.clear()
        plugins = gateway_config.plugins(hello.config_path) if hello.root else None
        self._found_at_start = bool(plugins is not None and plugin_state.is_found(plugins, hello.root, hello.state_dir))
        try:
            texts = self._weakenings.begin(strictness.settings_of(config, conversation=hello.conversation))
        except Busy:
            self._retry.set()
        except StoreError as error:
            self._output.complain(f"cannot find out whether settings became weaker: {error}")
        else:
            self._warn(texts)

    def _warn(self, texts: list[str]) -> None:
        """Warns in the gateway's log, also where warnings are kept out of it."""
        level = self._session.config.log_level
        self._output.send_all([Log("error" if level == "error" else "warn", text) for text in texts])

    def report_end(self) -> None:
        """An end that the gateway outlives is reported like a weaker setting; that of the gateway is a line of the audit
        log. So is one of which neither is known. A reload leaves nothing: the config still loads the plugin."""
        hello = self._context.hello
        entries = gateway_config.plugins(hello.config_path)
        state_dir = hello.state_dir if self._found_at_start else ""
        why = plugin_state.why_unloaded(entries, hello.root, state_dir) if entries is not None else ""
        if why:
            self._session.ended("guard.unloaded", f"the gateway stopped the guard: {why}")
        elif self._session.leaving == STOPPING:
            self._session.ended("guard.gateway-stopped", "the guard stopped with its gateway")
        elif self._session.signalled:
            text = f"{self._session.signalled} ended the engine; the gateway starts another one if it still runs"
            self._session.ended("guard.signalled", text)
        elif hello.config_path and (entries is None or _is_named_unclearly(entries, hello, state_dir)):
            text = "the guard stopped for an unknown reason: the gateway's config cannot be read as the gateway reads it"
            self._session.ended("guard.ended", text)
        if why and self._weakenings is not None:
            try:
                self._warn(self._weakenings.end(why))
            except StoreError as error:
                self._output.complain(f"the end of the guard could not be recorded: {error}")


def _is_named_unclearly(plugins: object, hello: Hello, state_dir: str) -> bool:
    """Whether only the gateway knows if its config still names the folder of the plugin, as it did at the start."""
    return bool(state_dir) and plugin_state.is_found(plugins, hello.root, state_dir) is None
