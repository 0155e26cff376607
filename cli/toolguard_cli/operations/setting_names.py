"""Paths as users write them: one of toolguard's settings, or any path of the whole config.

`mode`, `agents.main.mode`, `rulesOff[0]` mean toolguard's settings; `plugins.allow` means the whole
config. A key with odd characters is quoted: `plugins.entries["a b"]`.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Any

from toolguard_cli.hostconfig import json5_edit
from toolguard_cli.hostconfig import schema_check as schema
from toolguard_cli.hostconfig.config_tree import ConfigTree, Steps
from toolguard_cli.migrations.hostloops import agent_id
from toolguard_cli.setup.plugin_entry import ENTRY
from toolguard_cli.system import time_spans
from toolguard_cli.system.errors import UserError
from toolguard_cli.validation import entry_settings
from toolguard_cli.validation.subject import OWN
from toolguard_engine.config import plugin_manifest
from toolguard_engine.wording import printable

MAX_STEPS = 64
EXAMPLES = """mode, agents.main.mode, rulesOff[0], plugins.entries["a b"]"""
MAX_LENGTH = 1000
_STEP = re.compile(
    r"""(?P<dot>\.)?(?P<bare>[^.\[\]"'\s](?:[^.\[\]"']*[^.\[\]"'\s])?)"""
    r"""|\[(?P<index>\d{1,6})\]"""
    r"""|\[(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]"""
)


@dataclass(frozen=True)
class NamedSetting:
    """A path of the whole config. `schema`: of toolguard's setting; None for any other path."""

    steps: Steps
    schema: dict[str, Any] | None

    @property
    def is_ours(self) -> bool:
        return self.steps[: len(OWN)] == OWN

    @property
    def setting(self) -> Steps:
        return self.steps[len(OWN) :]

    @property
    def whole(self) -> str:
        return json5_edit.path_name(self.steps)


def resolve(text: str, tree: ConfigTree, *, root: bool) -> NamedSetting:
    """Raises `UserError` if it is not a path, or nearly the name of a setting."""
    written = _parsed(text)
    ours = plugin_manifest.config_schema()
    first = str(written[0])
    if not root and first in ours["properties"]:
        written = (*OWN, *written)
    elif not root and first not in tree.value and (meant := schema.like(first, ours)):
        raise UserError(
            f"toolguard has no setting {printable.cut(first, 80)}, and the config has no such key",
            f"did you mean {meant}? Use --root for a path in the whole config",
        )
    steps = _indexed(tree, written)
    return NamedSetting(steps, schema.follow(ours, steps[len(OWN) :]) if steps[: len(OWN)] == OWN else None)


def refuse_other_agents(named: NamedSetting, text: str, tree: ConfigTree, command: str) -> None:
    """Raises `UserError` for an agent path that is neither a setting of toolguard nor set, because OpenClaw has agents too.

    `command`: what the user types before the path.
    """
    if named.is_ours and named.setting[0:1] == ("agents",) and named.schema is None and tree.part(named.steps) is None:
        meant = nearest(named)
        if (group := _only_some(named)) is not None:
            some = " and ".join(".".join((*map(str, named.setting[2:-1]), key)) for key in group["properties"])
            raise UserError(f"there is no setting {named.whole}: an agent may only have {some} of its own", meant)
        raise UserError(
            f"there is no setting {named.whole}: agents means toolguard's settings here; use --root for OpenClaw's",
            f"{command} --root {shlex.quote(printable.cut(text, 200))}{f'; or {meant}' if meant else ''}",
        )


def _only_some(named: NamedSetting) -> dict[str, Any] | None:
    """The group of an agent's settings that lacks this one; None if it is not a general setting either."""
    whole, rest = plugin_manifest.config_schema(), named.setting[2:]
    group = schema.follow(whole, named.setting[:-1])
    is_general = len(rest) > 1 and schema.follow(whole, rest) is not None
    return group if is_general and group and group.get("properties") else None


def nearest(named: NamedSetting) -> str:
    """Suggests the path of a name in the innermost existing group; empty if none is similar."""
    whole = plugin_manifest.config_schema()
    for depth in range(len(named.setting)):
        group = schema.follow(whole, named.setting[:depth])
        if group is not None and schema.follow(whole, named.setting[: depth + 1]) is None:
            if meant := schema.like(str(named.setting[depth]), group):
                return f"did you mean {json5_edit.path_name((*named.setting[:depth], meant))}?"
            return ""
    return ""


def _parsed(text: str) -> Steps:
    steps: list[str | int] = []
    at = 0
    while at < len(text) and len(steps) < MAX_STEPS:
        match = _STEP.match(text, at)
        if not match or (match["bare"] is not None and bool(match["dot"]) is (at == 0)):
            break
        steps.append(_step(match))
        at = match.end()
    if at < len(text) or not steps or len(text) > MAX_LENGTH:
        raise UserError(f"{printable.cut(text, 80)!r} is not a path", f"write it like {EXAMPLES}")
    return tuple(steps)


def _step(match: re.Match[str]) -> str | int:
    if match["index"] is not None:
        return int(match["index"])
    return str(json5_edit.loads(match["quoted"])) if match["quoted"] else match["bare"]


def _indexed(tree: ConfigTree, written: Steps) -> Steps:
    """Reads `rulesOff.0` as `rulesOff[0]` if there is a list."""
    steps: Steps = ()
    for step in written:
        is_list = isinstance(tree.get(*steps), list)
        steps = (*steps, int(step) if is_list and isinstance(step, str) and step.isdecimal() else step)
    return steps


def value_for(named: NamedSetting, text: str) -> Any:
    """The value of the text: JSON5, or the text itself if it is not JSON5 or the setting takes a string.

    Raises `UserError` for an invalid list or object.
    """
    wants_text = named.schema is not None and named.schema.get("type") == "string"
    if named.is_ours and (length := _duration(named, text)) is not None:
        return length
    try:
        value: Any = json5_edit.loads(text)
    except json5_edit.Json5Error as error:
        if wants_text or not text.lstrip().startswith(("[", "{")):
            return text
        quoted = shlex.quote(json.dumps(printable.cut(text, 80), ensure_ascii=False))
        raise UserError(f"VALUE is not valid JSON5: {error.message}", f"fix it; to set a string, write {quoted}") from error
    return text if wants_text and not isinstance(value, str) else value


UNITS = {"Ms": 1, "Seconds": 1_000, "minutesAlone": 60_000, "Minutes": 60_000, "Hours": 3_600_000, "Days": 86_400_000}
"""How names of settings end that count a time, and the milliseconds of what they count."""


def unit_of(named: NamedSetting) -> int:
    """The milliseconds of the unit that the setting counts; 0 if it is no duration."""
    is_number = (named.schema or {}).get("type") in ("integer", "number")
    return next((size for end, size in UNITS.items() if is_number and str(named.steps[-1]).endswith(end)), 0)


def _duration(named: NamedSetting, text: str) -> int | None:
    """`8h` in the unit of the setting; None if it is no duration. Raises `UserError` if the unit cannot express it."""
    unit, length = unit_of(named), time_spans.milliseconds(text)
    if not unit or length is None:
        return None
    if length % unit:
        unit_name = next(name for name in ("1d", "1h", "1m", "1s", "1ms") if time_spans.milliseconds(name) == unit)
        raise UserError(f"{named.whole} must be a multiple of {unit_name}, and {text} is not", "choose another duration")
    return length // unit


def as_list(named: NamedSetting, value: Any) -> str:
    """The text as a list, quoted for a shell; empty if the setting does not take a list."""
    own = named.schema if named.is_ours else schema.follow(entry_settings.PLUGINS, named.steps)
    if not isinstance(value, str) or (own or {}).get("type") != "array":
        return ""
    return shlex.quote(json.dumps([printable.cut(value, 120)], ensure_ascii=False))


def is_meant_otherwise(text: str, value: Any) -> bool:
    """Whether text that looks like a number, `null` or similar was read as a string."""
    if not isinstance(value, str):
        return False
    try:
        return not isinstance(json5_edit.loads(text), str)
    except json5_edit.Json5Error:
        return False


def as_the_gateway_calls_it(named: NamedSetting) -> tuple[NamedSetting, str]:
    """The setting under the gateway's id of the agent, and that id; empty if it is already written so."""
    if not named.is_ours or named.setting[:1] != ("agents",) or len(named.setting) == 1:
        return named, ""
    _, written, *rest = named.setting
    meant = agent_id(written)
    return (NamedSetting((*OWN, "agents", meant, *rest), named.schema), meant) if meant not in {"", written} else (named, "")


def shown(value: Any, most: int = 120) -> str:
    return printable.cut(json.dumps(value, ensure_ascii=False), most)


def refuse_missing_entry(named: NamedSetting, tree: ConfigTree, command: str) -> None:
    """Raises `UserError` for a setting of toolguard if its entry does not exist yet."""
    if named.is_ours and tree.part(ENTRY) is None:
        raise UserError(
            f"{tree.path} has no entry {json5_edit.path_name(ENTRY)}", f"run {command} to create it, then try again"
        )
