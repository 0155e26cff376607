"""The settings that `GIT_CONFIG_COUNT` and `GIT_CONFIG_PARAMETERS` give to Git, as options."""

from __future__ import annotations

from shlex import split

from toolguard_engine.effects.facts.command import ProgramRun
from toolguard_engine.effects.syntax.shell_state import ShellState

MAX_SETTINGS = 16
_COUNT, _PARAMETERS, _KEY, _VALUE = "GIT_CONFIG_COUNT", "GIT_CONFIG_PARAMETERS", "GIT_CONFIG_KEY_", "GIT_CONFIG_VALUE_"
NAMES = (_COUNT, _PARAMETERS)
"""Without these, the variables give no settings."""


def settings(program: ProgramRun, state: ShellState) -> list[str]:
    """The words of `-c KEY=VALUE` for all of them."""
    given = [value.text for value in program.words.values("--config-env")][:MAX_SETTINGS]
    values = {name: value for name, value in state.variables.items() if given or name.startswith("GIT_CONFIG")}
    known = {
        **{name: value if isinstance(value, str) else value[0] for name, value in values.items()},
        **dict(program.assigns),
    }
    pairs = []
    if _COUNT in known:
        numbers = [name.removeprefix(_KEY) for name in known if name.startswith(_KEY)][:MAX_SETTINGS]
        pairs += [f"{known[_KEY + number]}={known.get(_VALUE + number, '')}" for number in numbers]
    if parameters := known.get(_PARAMETERS, ""):
        pairs += _words(parameters.replace("'='", "="))[:MAX_SETTINGS]
    for setting in given:
        key, sign, variable = setting.rpartition("=")
        if sign and variable in known:
            pairs.append(f"{key}={known[variable]}")
    return [word for setting in pairs for word in ("-c", setting)]


def _words(text: str) -> list[str]:
    try:
        return split(text)
    except ValueError:
        return text.split()
