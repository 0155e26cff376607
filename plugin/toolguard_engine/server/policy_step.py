"""What a person changes while the engine runs: their own rules, the files of the gateway's config, the kill switch."""

from __future__ import annotations

from collections.abc import Callable

from toolguard_engine.layers import engaged_kill_switch
from toolguard_engine.rules.rulebook import Rule
from toolguard_engine.server.clock import Every
from toolguard_engine.server.engine_context import Context
from toolguard_engine.server.install_paths import included, stamps
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.ports import UserPolicy


class Includes:
    """The files that the gateway's config includes, and what shows later that they have changed."""

    def __init__(self) -> None:
        self._files: tuple[str, ...] = ()
        self._stamps: tuple[tuple[int, int], ...] = ()

    def read(self, config_path: str) -> tuple[str, ...]:
        """The state of the config is noted first: what changes while it is read is seen as a change."""
        before = stamps((config_path,))
        self._files = included(config_path)
        self._stamps = before + stamps(self._files)
        return self._files

    def changed(self, config_path: str) -> bool:
        return self._stamps != stamps((config_path, *self._files))


class PolicyWatch:
    """Looks for such changes and passes them to the session. `fleet_stop`: why the fleet stops this gateway; empty where it
    does not."""

    def __init__(self, context: Context, includes: Includes, fleet_stop: Callable[[], str] = str) -> None:
        self._fleet_stop = fleet_stop
        self._session = context.session
        self._context = context
        self._includes = includes
        self._own: UserPolicy | None = None
        self._rules: tuple[Rule, ...] | None = None
        self._rules_timer = Every(context.clock, context.intervals.rules)
        self._switch_timer = Every(context.clock, context.intervals.switch)

    def begin_switch(self) -> None:
        self._session.kill_switch = stores.kill_switch(self._context.state_dir)

    def expire_switch(self) -> None:
        """The kill switch is to be looked at before the next call."""
        self._switch_timer.expire()

    def begin_rules(self) -> None:
        self._own, self._rules = stores.user_policy(self._context.state_dir, self._session.config.fleet), None
        self._rules_timer.expire()
        self.look_at_rules()
        for name in self._session.unknown_rules:
            self._context.output.complain(
                f"rulesOff names {name}, which is neither a rule nor a pack: toolguard check --list lists them all"
            )

    def look_at_rules(self) -> None:
        """Takes over what the person changed in their own rules.

        Before the answers, so that a rule counts for the next call: once a second that costs two `stat`.
        """
        own = self._own
        if own is None or not self._rules_timer.due():
            return
        self._rules_timer.restart()
        own.look()
        if own.rules is not self._rules:
            self._rules = own.rules
            self._session.use_rules(own.rules)
        self._session.guard.unread = own.unread
        for text in own.faults:
            self._context.output.complain(text)

    def look_at_includes(self) -> None:
        """Guards the files that the gateway's config includes now: a person may have added one.

        Before each answer, so that a new file is guarded from the first call on. Folders are searched only where a file has
        changed.
        """
        hello = self._session.hello
        if hello is None:
            return
        if self._includes.changed(hello.config_path):
            self._session.use_includes()

    def look_at_switch(self) -> None:
        """Whether a person has stopped or freed everything."""
        switch = self._session.kill_switch
        if switch is None or not self._switch_timer.due():
            return
        self._switch_timer.restart()
        guard, why = self._session.guard, switch.why()
        guard.killed = why or self._fleet_stop()
        guard.kill_code = engaged_kill_switch.CODE if why or not guard.killed else engaged_kill_switch.FLEET_CODE
