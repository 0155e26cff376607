"""Judges calls in this process as the gateway's guard would: nothing is counted, held or used up.

Uses the gateway's settings, the user's own rules and the grants if there are any; `Basis` says which. If there is no state
directory, the defaults are used and nothing is created.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from toolguard_cli.hostconfig import gateway_stores, signed_grants
from toolguard_cli.policy import kept_calls
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_engine.approvals import call_meaning, exact_grant, granted_meaning, held_view
from toolguard_engine.approvals import grant_matching as grants
from toolguard_engine.approvals.call_meaning import Meaning
from toolguard_engine.approvals.grant_record import Grant
from toolguard_engine.approvals.held_view import HeldView
from toolguard_engine.approvals.ledger import HeldCall
from toolguard_engine.config.settings import Config, parse
from toolguard_engine.effects.calls import named_places
from toolguard_engine.effects.calls.call_texts import EXEC_TOOLS
from toolguard_engine.guard import Guard, inner_call
from toolguard_engine.host.tool_search import OUTER_TOOL, is_envelope, tool_name
from toolguard_engine.model.call import Call, Host
from toolguard_engine.model.lazy import FAILURES
from toolguard_engine.rules import hold_details, packs
from toolguard_engine.rules.rulebook import Rule, Rulebook
from toolguard_engine.server.file_reader import FileReader
from toolguard_engine.server.install_paths import (
    included,
    links_to,
    measured,
    notification_secrets,
    notifying,
    own_places,
    public_names,
)
from toolguard_engine.server.world_reader import WorldReader
from toolguard_engine.stores import open as stores
from toolguard_engine.stores.call_log import resolve
from toolguard_engine.wording import approval, printable

if TYPE_CHECKING:
    from toolguard_engine.rules.judgement import Judgement


@dataclass(frozen=True)
class Basis:
    """What the verdicts are based on. Paths are empty if the defaults are used."""

    config: str
    policy: str
    mode: str
    threshold: int
    own_rules: frozenset[str]
    grants: int

    def describe(self) -> str:
        settings = f"settings of {self.config}" if self.config else "default settings"
        own = [printable.counted(len(self.own_rules), "rule* of your own")] if self.own_rules else []
        own += [printable.counted(self.grants, "grant")] if self.grants else []
        policy = f"{_listed(own) or 'nothing'} from {self.policy}" if self.policy else "no policy.toml"
        return printable.plain(f"{settings}; {policy}")

    def public(self) -> dict[str, Any]:
        return {
            "config": self.config or None,
            "policy": self.policy or None,
            "mode": self.mode,
            "threshold": self.threshold,
            "ownRules": len(self.own_rules),
            "grants": self.grants,
        }


class Judging:
    """Weighs calls with these settings and rules, as a gateway at `host` would."""

    def __init__(
        self,
        config: Config,
        host: Host,
        book: Rulebook,
        basis: Basis,
        given: tuple[Grant, ...] = (),
        kept_from: kept_calls.KeptFrom | None = None,
    ) -> None:
        """`kept_from`: see `kept_calls`."""
        self.config = config
        self.basis = basis
        self.book = book
        self.host = host
        self._guard = Guard(config, {}, host, book, files=FileReader())
        self._world = WorldReader()
        self.grants = given
        self._kept_from = kept_from

    def weigh(self, call: Call) -> Judgement:
        """The verdict, including grants and what a room keeps from a command. `call`: as the gateway receives it, with the
        Tool Search envelope."""
        inner = inner_call(call)
        self._guard.kept_from = self._kept_from
        judgement = self._guard.weigh(inner)
        self._guard.kept_from = None
        return self._granted(inner, judgement) if judgement.decision == "hold" and self.grants else judgement

    def weigh_bare(self, call: Call) -> Judgement:
        return self._guard.weigh(inner_call(call))

    def _granted(self, call: Call, judgement: Judgement) -> Judgement:
        left, now = list(self.grants), time.time()
        while grant := grants.covering(call, left, now):
            if self._is_meant(call, grant):
                break
            left.remove(grant)
        if grant is None:
            return judgement
        return msgspec.structs.replace(
            judgement, decision="allow", code=f"grant.{grant.id}", reason=f"It is covered by the grant {grant.id}."
        )

    def _is_meant(self, call: Call, grant: Grant) -> bool:
        """Whether the grant was given for what the call does now; if its folder is not known, in a folder of the grant."""
        folders = [call.cwd] if call.cwd or not grant.bound else [meaning.folder for meaning in grant.bound]
        calls = (replace(call, cwd=folder) for folder in folders)
        return any(not granted_meaning.more(grant, self.meaning(played) if grant.bound else None) for played in calls)

    def meaning(self, call: Call, code: Iterable[str] = ()) -> Meaning:
        """What the call means now. `code`: further files that it may run."""
        named = named_places.places_to_look_at(self._guard.read(inner_call(call)))
        named = msgspec.structs.replace(named, unread=(*named.unread, *code))
        return call_meaning.derive(named, self._world.look(named))

    def as_held(self, call: Call) -> HeldCall | None:
        """The entry as which the gateway would hold this call; None where it would not."""
        inner = inner_call(call)
        verdict = self._guard.judge(replace(inner, run=""))
        if verdict.decision != "hold" or verdict.named is None:
            return None
        shown, whole = approval.disclosed(inner)
        return HeldCall(
            nonce="", binding="", tool=inner.tool, agent=inner.agent, session=inner.session, run="", code=verdict.code,
            reason=verdict.reason, shown=shown, whole=whole, created=0.0, expires=0.0, cwd=inner.cwd,
            details=verdict.details, exact=exact_grant.kept(inner),
            meaning=call_meaning.derive(verdict.named, self._world.look(verdict.named)),
        )  # fmt: skip

    def view(self, call: Call, judgement: Judgement) -> HeldView | None:
        """What a person would see of this call, were it held; None where nothing that it does is known."""
        inner = inner_call(call)
        reading = self._guard.read(replace(inner, run=""))
        try:
            details = self._guard.timer.limited(
                reading.work, lambda: hold_details.collect(judgement, reading, self.book.waits)
            )
        except FAILURES:
            return None
        if not (details.effects or details.rules):
            return None
        shown, whole = approval.disclosed(inner)
        return held_view.view(
            HeldCall(
                nonce="", binding="", tool=inner.tool, agent=inner.agent, session="", run="", code=judgement.code,
                reason=judgement.reason, shown=shown, whole=whole, created=0.0, expires=0.0, details=details,
            )
        )  # fmt: skip

    def without(self, names: Iterable[str]) -> Judging:
        return Judging(self.config, self.host, self.book.without(names), self.basis, self.grants, self._kept_from)

    @property
    def own(self) -> frozenset[str]:
        return self.basis.own_rules

    def config_for(self, agent: str) -> Config:
        return self.config.for_agent(agent)


def missing(call: Call) -> str:
    """What a call lacks, so that the gateway would refuse it; empty if it is complete."""
    if not call.tool.strip():
        return "the tool is not named"
    if not isinstance(call.params, dict):
        return "params must be an object"
    if tool_name(call.tool) == OUTER_TOOL and not is_envelope(call.tool, call.params):
        return f"{OUTER_TOOL} needs the id of a tool"
    inner = inner_call(call)
    if not isinstance(inner.params, dict):
        return "args must be an object"
    if tool_name(inner.tool) not in EXEC_TOOLS:
        return "" if inner.tool.strip() else "the tool is not named"
    command = inner.params.get("command")
    if command is None:
        return "command is missing"
    return "" if _is_command(command) else "command must be a string"


def _is_command(value: Any) -> bool:
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(isinstance(word, str) for word in value)
    )


def load(places: Places) -> Judging:
    config, config_path = _settings(places)
    policies = stores.grants(places.state_dir)
    with gateway_stores.user_errors():
        given = signed_grants.counting(places, config, policies.active(time.time()))
        own = stores.user_rules(places.state_dir).rules()
        of_fleet = stores.fleet_rules(places.state_dir, config.fleet)
    policy = str(policies.path) if policies.path.exists() else ""
    mode, threshold = config.active_mode, config.escalation_threshold
    basis = Basis(config_path, policy, mode, threshold, _ids(own), len(given))
    book = packs.load().without(config.rules_off).plus((*own, *of_fleet))
    host = _host(places, config)
    return Judging(config, host, book, basis, tuple(given), kept_calls.kept_from(places, config, host))


def all_rules() -> tuple[Rule, ...]:
    return packs.load().rules


def own_rules(places: Places) -> tuple[Rule, ...]:
    with gateway_stores.user_errors():
        return stores.user_rules(places.state_dir).rules()


def _settings(places: Places) -> tuple[Config, str]:
    entry = gateway_stores.entry(places)
    if entry is None:
        return Config(), ""
    try:
        return parse(entry), str(places.config)
    except msgspec.ValidationError as error:
        where = f"{'.'.join(gateway_stores.ENTRY)} in {places.config}"
        raise UserError(f"{where}: {error}", "fix that setting; toolguard doctor lists all errors") from error


def _host(places: Places, config: Config) -> Host:
    """The host as the gateway reports it to the engine, without processes."""
    guarded = [*own_places(), *included(str(places.config)), *notifying(config.notify, str(Path.home()))]
    if isinstance(config.store_path, str):
        guarded.append(str(resolve(config.store_path, places.state_dir)))
    file, dashboard = measured(config.metrics)
    home, state, own = str(Path.home()), str(places.state_dir), str(places.config)
    return Host(
        home, state, own, tuple(guarded), metrics=file, dashboard=dashboard, links=links_to(home, state),
        dashboard_names=public_names(config.metrics), secrets=notification_secrets(config.notify, home),
    )  # fmt: skip


def _ids(rules: Iterable[Rule]) -> frozenset[str]:
    return frozenset(rule.id for rule in rules)


def _listed(texts: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`; empty for none."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def cause(judgement: Judgement) -> str:
    """The rule under which a held or blocked call is counted."""
    own_code = judgement.code.startswith("rule.") or not judgement.matches
    return judgement.code if own_code else f"rule.{judgement.matches[0].rule}"
