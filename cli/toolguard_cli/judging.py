"""Calls weighed as the gateway's guard would weigh them, in this process: nothing is counted, held or used up.

What is used is what the gateway would use: the settings, the person's own rules and their grants, where there are any;
`Basis` says which. Where a state directory is not there, the defaults are used and nothing is made.
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from toolguard_cli import stores
from toolguard_cli.errors import UserError
from toolguard_cli.paths import Places
from toolguard_engine import answers, rulepacks
from toolguard_engine.config import Config, parse
from toolguard_engine.guard import Guard, inner_call
from toolguard_engine.layers import grants
from toolguard_engine.layers.calltexts import EXEC_TOOLS
from toolguard_engine.layers.constraints import Constraint
from toolguard_engine.layers.grants import Grant
from toolguard_engine.model import Call, Host
from toolguard_engine.ownplaces import included, links_to, measured, own_places
from toolguard_engine.rulebook import Rule, Rulebook
from toolguard_engine.stores.calllog import resolve
from toolguard_engine.stores.policy import Policies
from toolguard_engine.stores.userconstraints import UserConstraints
from toolguard_engine.stores.userrules import UserRules
from toolguard_engine.toolsearch import OUTER_TOOL, is_envelope, tool_name

if TYPE_CHECKING:
    from toolguard_engine.judgement import Judgement


@dataclass(frozen=True)
class Basis:
    """What the verdicts rest on. Paths are empty where the defaults are used."""

    config: str
    policy: str
    mode: str
    threshold: int
    own_rules: frozenset[str]
    grants: int
    constraints: int = 0

    def words(self) -> str:
        """For a person."""
        settings = f"settings of {self.config}" if self.config else "default settings"
        own = [_counted(len(self.own_rules), "rule of your own", "rules of your own")] if self.own_rules else []
        own += [_counted(self.constraints, "constraint", "constraints")] if self.constraints else []
        own += [_counted(self.grants, "grant", "grants")] if self.grants else []
        policy = f"{_listed(own) or 'nothing'} from {self.policy}" if self.policy else "no policy.toml"
        return answers.plain(f"{settings}; {policy}")

    def public(self) -> dict[str, Any]:
        return {
            "config": self.config or None,
            "policy": self.policy or None,
            "mode": self.mode,
            "threshold": self.threshold,
            "ownRules": len(self.own_rules),
            "constraints": self.constraints,
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
        constraints: tuple[Constraint, ...] = (),
    ) -> None:
        self.config = config
        self.basis = basis
        self.book = book
        self._host = host
        self._guard = Guard(config, {}, host, book)
        self._guard.constrain(constraints)
        self.constraints = constraints
        self._grants = given

    def weigh(self, call: Call) -> Judgement:
        """The verdict, with what was granted beforehand. `call`: as the gateway gets it, envelope of Tool Search and all."""
        inner = inner_call(call)
        found = self._guard.weigh(inner)
        return self._granted(inner, found) if found.decision == "hold" and self._grants else found

    def weigh_bare(self, call: Call) -> Judgement:
        """The same as if nothing was granted."""
        return self._guard.weigh(inner_call(call))

    def _granted(self, call: Call, found: Judgement) -> Judgement:
        grant = grants.covering(call, self._grants, time.time())
        if grant is None:
            return found
        return msgspec.structs.replace(
            found, decision="allow", code=f"grant.{grant.id}", reason=f"It is covered by the grant {grant.id}."
        )

    def without(self, names: Iterable[str]) -> Judging:
        """The same with further rules switched off."""
        return Judging(self.config, self._host, self.book.without(names), self.basis, self._grants, self.constraints)

    def unconstrained(self, left_out: Iterable[Constraint]) -> Judging:
        """The same without some of the constraints."""
        gone = {each.id for each in left_out}
        kept = tuple(each for each in self.constraints if each.id not in gone)
        return Judging(self.config, self._host, self.book, self.basis, self._grants, kept)

    @property
    def own(self) -> frozenset[str]:
        """The names of the person's own rules."""
        return self.basis.own_rules

    def config_for(self, agent: str) -> Config:
        return self.config.for_agent(agent)


def missing(call: Call) -> str:
    """What a call lacks, so that nothing can be said about it and the gateway would refuse it; empty where it is one."""
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
    return "" if _is_command(command) else "command must be a text"


def _is_command(value: Any) -> bool:
    """A list of words is judged too."""
    return isinstance(value, str) or (
        isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)
    )


def load(places: Places) -> Judging:
    """What the gateway of these places would judge with. Raises `UserError`."""
    config, config_path = _settings(places)
    policies = Policies(places.state_dir)
    with stores.told():
        given = grants.active(policies.grants(), time.time())
        own = UserRules(places.state_dir).rules()
        limits = UserConstraints(places.state_dir).constraints()
    policy = str(policies.path) if policies.path.exists() else ""
    mode, threshold = config.active_mode, config.escalation_threshold
    basis = Basis(config_path, policy, mode, threshold, _ids(own), len(given), len(limits))
    book = rulepacks.load().without(config.rules_off).plus(own)
    return Judging(config, _host(places, config), book, basis, tuple(given), limits)


def all_rules() -> tuple[Rule, ...]:
    """Those that come with toolguard."""
    return rulepacks.load().rules


def own_rules(places: Places) -> tuple[Rule, ...]:
    """The person's own rules. Raises `UserError`."""
    with stores.told():
        return UserRules(places.state_dir).rules()


def _settings(places: Places) -> tuple[Config, str]:
    entry = stores.entry(places)
    if entry is None:
        return Config(), ""
    try:
        return parse(entry), str(places.config)
    except msgspec.ValidationError as error:
        where = f"{'.'.join(stores.ENTRY)} in {places.config}"
        raise UserError(f"{where}: {error}", "mend that setting; toolguard doctor names all that is wrong") from error


def _host(places: Places, config: Config) -> Host:
    """As the engine is told by its gateway, but for the processes."""
    guarded = [*own_places(), *included(str(places.config))]
    if isinstance(config.store_path, str):
        guarded.append(str(resolve(config.store_path, places.state_dir)))
    file, dashboard = measured(config.metrics)
    home, state, own = str(Path.home()), str(places.state_dir), str(places.config)
    return Host(home, state, own, tuple(guarded), metrics=file, dashboard=dashboard, links=links_to(home, state))


def _ids(rules: Iterable[Rule]) -> frozenset[str]:
    return frozenset(rule.id for rule in rules)


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _listed(texts: list[str]) -> str:
    """`a`, `a and b`, `a, b and c`; empty for none."""
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def cause(found: Judgement) -> str:
    """The one rule that a held or blocked call is counted under."""
    own_code = found.code.startswith("rule.") or not found.matches
    return found.code if own_code else f"rule.{found.matches[0].rule}"
