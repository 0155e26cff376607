"""Sets or removes one limit on cost or tokens."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from toolguard_cli.hostconfig.draft import Draft
from toolguard_cli.migrations.hostloops import agent_id
from toolguard_cli.operations.change_setting import ChangeOptions, SettingChange
from toolguard_cli.system.errors import UserError
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.config.spending_limits import SpendingCap, shown
from toolguard_engine.wording import printable

SETTING = "limits"
MAX_SHOWN = 200


@dataclass(frozen=True)
class LimitScope:
    """What a limit is about. `agent`, `model`: empty for all."""

    per: str
    agent: str = ""
    model: str = ""

    @property
    def written(self) -> dict[str, Any]:
        named = {name: value for name, value in (("agent", self.agent), ("model", self.model)) if value}
        return {"per": self.per, **named}

    @property
    def words(self) -> str:
        named = ((name, value) for name, value in self.written.items() if name != "per")
        return f"per {self.per}{''.join(f' for {name} {value}' for name, value in named)}"

    def is_about(self, limit: object) -> bool:
        return isinstance(limit, dict) and all(limit.get(name, "") == value for name, value in self._members.items())

    @property
    def _members(self) -> dict[str, str]:
        return {"per": self.per, "agent": self.agent, "model": self.model}


def run(places: Places, scope: LimitScope, amounts: dict[str, float], options: ChangeOptions) -> Result:
    """`amounts`: by unit; others of the same limit stay. Raises `UserError`; then nothing was written."""
    change = SettingChange(places, "limits set", SETTING, options)
    steps, amounts = change.named.steps, {unit: _plain(amount) for unit, amount in amounts.items()}

    def edit(draft: Draft) -> None:
        at = _places(draft, change, scope)
        if not at:
            draft.append(steps, {**scope.written, **amounts})
        for index in at:
            for unit, amount in amounts.items():
                draft.set((*steps, index, unit), amount)

    change.notes.extend(_unknown_names(change.draft, scope))
    what = " and ".join(shown(amount, "usd" if unit == "usd" else "tokens") for unit, amount in amounts.items())
    name = f"the limit {scope.words}"
    return change.make(edit, f"set {name} to {what}", f"{name} is already {what}", done=f"{name} is now {what}")


def remove(places: Places, scope: LimitScope, options: ChangeOptions) -> Result:
    """Raises `UserError` if there is none."""
    change = SettingChange(places, "limits remove", SETTING, options)
    if not _places(change.draft, change, scope):
        raise UserError(f"there is no limit {scope.words}", "toolguard limits lists them")

    def edit(draft: Draft) -> None:
        for index in reversed(_places(draft, change, scope)):
            draft.delete((*change.named.steps, index))

    return change.make(edit, f"remove the limit {scope.words}", "", done=f"removed the limit {scope.words}")


def _unknown_names(draft: Draft, scope: LimitScope) -> Iterator[Line]:
    """A misspelled limit never counts anything."""
    agents, models = _agents(draft), _models(draft)
    if scope.agent and scope.agent not in agents:
        yield _unknown("agent", scope.agent, agents)
    if scope.model and models and not any(_covers(scope.model, model) for model in models):
        yield _unknown("model", scope.model, models)


def _covers(pattern: str, model: str) -> bool:
    provider, _, name = model.partition("/")
    return SpendingCap("day", "usd", 1.0, model=pattern).covers("", provider, name)


def _unknown(kind: str, name: str, known: set[str]) -> Line:
    names = printable.cut(", ".join(sorted(known)), MAX_SHOWN)
    text = f"the config names no {kind} {name}, only {names}: the limit may never count anything"
    return Line("warn", printable.plain(text))


def _models(draft: Draft) -> set[str]:
    """The models that the config names, as `provider/model`; aliases are left out."""
    models: set[str] = set()
    _collect(draft.tree.get("agents"), models)
    providers = draft.tree.get("models", "providers")
    for provider, value in (providers if isinstance(providers, dict) else {}).items():
        listed = value.get("models") if isinstance(value, dict) else None
        ids = [entry.get("id") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        models |= {f"{provider}/{model_id}" for model_id in ids if isinstance(model_id, str)}
    return models


def _collect(value: object, models: set[str], depth: int = 8) -> None:
    """The models of agents: `model`, `models` and the like, which are texts, lists and objects by release."""
    if not isinstance(value, dict | list) or not depth:
        return
    for key, inner in value.items() if isinstance(value, dict) else ((None, item) for item in value):
        if isinstance(key, str) and (key.lower().endswith("model") or key == "models"):
            models |= {text for text in _texts(inner) if "/" in text}
        _collect(inner, models, depth - 1)


def _texts(value: object, depth: int = 3) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list) and depth:
        for item in value:
            yield from _texts(item, depth - 1)
        if isinstance(value, dict):
            for item in value.values():
                yield from _texts(item, depth - 1)


def _agents(draft: Draft) -> set[str]:
    """The ids of the agents in the config; without any, OpenClaw runs `main`."""
    listed, keyed = draft.tree.get("agents", "list"), draft.tree.get("agents", "entries")
    written = [entry.get("id") for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
    written += list(keyed) if isinstance(keyed, dict) else []
    return {name for name in map(agent_id, written) if name} or {"main"}


def _plain(amount: float) -> float:
    """`5`, not `5.0`."""
    return int(amount) if amount == int(amount) else amount


def _places(draft: Draft, change: SettingChange, scope: LimitScope) -> list[int]:
    keys = draft.tree.get(*change.named.steps)
    return [index for index, limit in enumerate(keys if isinstance(keys, list) else []) if scope.is_about(limit)]
