"""The path that a person writes: one of toolguard's settings, or any path of the whole config.

`mode`, `agents.main.mode`, `rulesOff[0]` mean our settings, wherever they lie in the config; `plugins.allow` means the whole
config. A key with odd characters is quoted: `plugins.entries["a b"]`.
"""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import dataclass
from typing import Any

from toolguard_cli import json5_edit
from toolguard_cli.configtree import ConfigTree, Steps
from toolguard_cli.errors import UserError
from toolguard_cli.migrations.hostloops import agent_id
from toolguard_cli.setup.entry import ENTRY
from toolguard_cli.validation import entry, schema
from toolguard_cli.validation.subject import OWN
from toolguard_engine import answers, manifest

MAX_STEPS = 64
EXAMPLES = """mode, agents.main.mode, rulesOff[0], plugins.entries["a b"]"""
MAX_LENGTH = 1000
_STEP = re.compile(
    r"""(?P<dot>\.)?(?P<bare>[^.\[\]"'\s](?:[^.\[\]"']*[^.\[\]"'\s])?)"""
    r"""|\[(?P<index>\d{1,6})\]"""
    r"""|\[(?P<quoted>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')\]"""
)


@dataclass(frozen=True)
class Named:
    """A path of the whole config. `schema`: what ours says of it; None where it is not ours, or there is no such setting."""

    steps: Steps
    schema: dict[str, Any] | None

    @property
    def is_ours(self) -> bool:
        return self.steps[: len(OWN)] == OWN

    @property
    def setting(self) -> Steps:
        """The path below our settings."""
        return self.steps[len(OWN) :]

    @property
    def whole(self) -> str:
        return json5_edit.path_name(self.steps)


def resolve(text: str, tree: ConfigTree, *, root: bool) -> Named:
    """Raises `UserError` where it is no path, or a name that is nearly one of our settings."""
    written = _parsed(text)
    ours = manifest.config_schema()
    first = str(written[0])
    if not root and first in ours["properties"]:
        written = (*OWN, *written)
    elif not root and first not in tree.value and (meant := schema.like(first, ours)):
        raise UserError(
            f"toolguard has no setting {answers.cut(first, 80)}, and the config no such key",
            f"did you mean {meant}? With --root it means the whole config",
        )
    steps = _indexed(tree, written)
    return Named(steps, schema.at(ours, steps[len(OWN) :]) if steps[: len(OWN)] == OWN else None)


def refuse_other_agents(named: Named, text: str, tree: ConfigTree, command: str) -> None:
    """Raises `UserError` for what is no setting of an agent of ours and not written either: OpenClaw has agents too.

    `command`: as a person types it, in front of the path.
    """
    if named.is_ours and named.setting[0:1] == ("agents",) and named.schema is None and tree.part(named.steps) is None:
        meant = nearest(named)
        if (group := _only_some(named)) is not None:
            some = " and ".join(".".join((*map(str, named.setting[2:-1]), key)) for key in group["properties"])
            raise UserError(f"there is no setting {named.whole}: an agent may only have {some} of its own", meant)
        raise UserError(
            f"there is no setting {named.whole}: agents here means toolguard's own; with --root it means OpenClaw's",
            f"{command} --root {shlex.quote(answers.cut(text, 200))}{f'; or {meant}' if meant else ''}",
        )


def _only_some(named: Named) -> dict[str, Any] | None:
    """The group of an agent's settings that has not got this one; None where it is no general setting either."""
    whole, rest = manifest.config_schema(), named.setting[2:]
    group = schema.at(whole, named.setting[:-1])
    is_general = len(rest) > 1 and schema.at(whole, rest) is not None
    return group if is_general and group and group.get("properties") else None


def nearest(named: Named) -> str:
    """Asks for the name in the innermost group that there is; empty where none is near."""
    whole = manifest.config_schema()
    for depth in range(len(named.setting)):
        group = schema.at(whole, named.setting[:depth])
        if group is not None and schema.at(whole, named.setting[: depth + 1]) is None:
            meant = schema.like(str(named.setting[depth]), group)
            return f"did you mean {meant}?" if meant else ""
    return ""


def _parsed(text: str) -> Steps:
    steps: list[str | int] = []
    at = 0
    while at < len(text) and len(steps) < MAX_STEPS:
        found = _STEP.match(text, at)
        if not found or (found["bare"] is not None and bool(found["dot"]) is (at == 0)):
            break
        steps.append(_step(found))
        at = found.end()
    if at < len(text) or not steps or len(text) > MAX_LENGTH:
        raise UserError(f"{answers.cut(text, 80)!r} is no path", f"write it like {EXAMPLES}")
    return tuple(steps)


def _step(found: re.Match[str]) -> str | int:
    if found["index"] is not None:
        return int(found["index"])
    return str(json5_edit.loads(found["quoted"])) if found["quoted"] else found["bare"]


def _indexed(tree: ConfigTree, written: Steps) -> Steps:
    """`rulesOff.0` means `rulesOff[0]` where a list is."""
    steps: Steps = ()
    for step in written:
        is_list = isinstance(tree.get(*steps), list)
        steps = (*steps, int(step) if is_list and isinstance(step, str) and step.isdecimal() else step)
    return steps


def value_for(named: Named, text: str) -> Any:
    """The value that the text means: JSON5, or the text itself where it is none or where the setting wants a text.

    Raises `UserError` for what begins like a list or an object and is none.
    """
    wants_text = named.schema is not None and named.schema.get("type") == "string"
    try:
        value: Any = json5_edit.loads(text)
    except json5_edit.Json5Error as error:
        if wants_text or not text.lstrip().startswith(("[", "{")):
            return text
        quoted = shlex.quote(json.dumps(answers.cut(text, 80), ensure_ascii=False))
        raise UserError(f"VALUE is not valid JSON5: {error.message}", f"mend it; a text is written {quoted}") from error
    return text if wants_text and not isinstance(value, str) else value


def as_list(named: Named, value: Any) -> str:
    """How to write this text as the list that belongs there, for a shell; empty where none does."""
    law = named.schema if named.is_ours else schema.at(entry.PLUGINS, named.steps)
    if not isinstance(value, str) or (law or {}).get("type") != "array":
        return ""
    return shlex.quote(json.dumps([answers.cut(value, 120)], ensure_ascii=False))


def is_meant_otherwise(text: str, value: Any) -> bool:
    """Whether a text was made of what looks like a number, `null` or the like."""
    if not isinstance(value, str):
        return False
    try:
        return not isinstance(json5_edit.loads(text), str)
    except json5_edit.Json5Error:
        return False


def as_the_gateway_calls_it(named: Named) -> tuple[Named, str]:
    """The same setting under the id that the gateway gives the agent, and that id; empty where it is written like that."""
    if not named.is_ours or named.setting[:1] != ("agents",) or len(named.setting) == 1:
        return named, ""
    _, written, *rest = named.setting
    meant = agent_id(written)
    return (Named((*OWN, "agents", meant, *rest), named.schema), meant) if meant not in {"", written} else (named, "")


def shown(value: Any) -> str:
    """For the end of a line."""
    return answers.cut(json.dumps(value, ensure_ascii=False), 120)


def refuse_missing_entry(named: Named, tree: ConfigTree, command: str) -> None:
    """Our settings belong to an entry that `install` makes. Raises `UserError`."""
    if named.is_ours and tree.part(ENTRY) is None:
        raise UserError(f"{tree.path} has no entry {json5_edit.path_name(ENTRY)}", f"{command} makes it; then repeat")
