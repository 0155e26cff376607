"""What a call makes of the gateway's config, setting by setting, for every way of changing the file.

A change is known if the text that results is known, or if the program changes named settings and nothing else (`jq`, a
Python script). Of a text, the settings count that differ from those in the file that is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from toolguard_engine.effects.calls import asked_settings
from toolguard_engine.effects.calls.known_config import (
    CHANGING,
    NOT_WORKED_OUT,
    WRITERS,
    ConfigChange,
    ConfigContent,
    Expected,
    KnownConfig,
    may_be,
)
from toolguard_engine.effects.facts import program_catalogue
from toolguard_engine.effects.facts.command import Effect
from toolguard_engine.effects.facts.places import Where
from toolguard_engine.model.call import Host
from toolguard_engine.model.files import FileSource

MAX_TEXT = 262_144
MAX_EDITS = 50
ASKED = frozenset({"gateway", "openclaw"})
"""The gateway's tools that change settings by their paths."""

_PATCHES = program_catalogue.tools("patches")
_WRITTEN = frozenset({"path", "file_path", "filePath", "content"})
_REPLACED = (("oldText", "newText"), ("old_string", "new_string"), ("old_str", "new_str"))


def of_tool(
    tool: str,
    params: dict[str, Any],
    effects: Iterable[Effect],
    host: Host,
    where: Where,
    files: FileSource,
    expected: Expected,
) -> ConfigChange | None:
    """What a tool that writes files makes of the config. None if it does not change the config."""
    if tool in ASKED:
        return asked_settings.of_tool(tool, params, KnownConfig(host, where, files, expected))
    changing = [effect for effect in effects if effect.kind in CHANGING and may_be(effect.target, host)]
    if not changing:
        return None
    config = KnownConfig(host, where, files, expected)
    ours = [effect for effect in changing if config.is_it(effect.target)]
    if not ours:
        return None
    if len(ours) > 1 or ours[0].kind != "write" or "deletes" in ours[0].flags:
        return NOT_WORKED_OUT
    return config.judged(ConfigContent(text=_text_of_tool(tool, params, ours[0].target, config)))


def _text_of_tool(tool: str, params: dict[str, Any], path: str, config: KnownConfig) -> str | None:
    if tool in _PATCHES:
        return _patched(str(params.get("input") or params.get("patch") or "")[:MAX_TEXT], path, config.text())
    content = params.get("content")
    edits = list(_edits(params))
    if isinstance(content, str) and not edits:
        return content if tool in WRITERS and _WRITTEN.issuperset(params) else None
    text = config.text()
    for old, new in edits:
        if text is None or text.count(old) != 1:
            return None
        text = text.replace(old, new)
    return text if edits else None


def _edits(params: dict[str, Any]) -> Iterator[tuple[str, str]]:
    given = params.get("edits")
    for edit in given[:MAX_EDITS] if isinstance(given, list) else (params,):
        for old, new in _REPLACED:
            if isinstance(edit, dict) and isinstance(edit.get(old), str) and isinstance(edit.get(new), str) and edit[old]:
                yield edit[old], edit[new]


def _patched(patch: str, path: str, text: str | None) -> str | None:
    """The text of a file after a patch in OpenClaw's format; each hunk must fit in one place."""
    lines = patch.split("\n")
    starts = [at for at, line in enumerate(lines) if line.startswith("*** ") and line.rstrip().endswith(f": {path}")]
    if len(starts) != 1:
        return None
    end = next((at for at in range(starts[0] + 1, len(lines)) if lines[at].startswith("*** ")), len(lines))
    body = lines[starts[0] + 1 : end]
    if lines[starts[0]].startswith("*** Add File"):
        return "\n".join(line[1:] for line in body if line.startswith("+")) + "\n"
    if not lines[starts[0]].startswith("*** Update File") or (end < len(lines) and lines[end].startswith("*** Move")):
        return None
    for old, new in _hunks(body):
        if text is None or not old or f"\n{text}".count(f"\n{old}\n") != 1:
            return None
        text = f"\n{text}".replace(f"\n{old}\n", f"\n{new}\n" if new else "\n")[1:]
    return text


def _hunks(body: list[str]) -> Iterator[tuple[str, str]]:
    hunks: list[list[str]] = [[]]
    for line in body:
        if line.startswith("@@"):
            hunks.append([])
        elif line:
            hunks[-1].append(line)
    for hunk in hunks:
        if hunk:
            yield (
                "\n".join(line[1:] for line in hunk if line[0] in " -"),
                "\n".join(line[1:] for line in hunk if line[0] in " +"),
            )
