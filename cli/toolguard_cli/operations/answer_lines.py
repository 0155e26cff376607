"""Config findings as lines for the terminal and as data for scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from toolguard_cli.terminal.result import Line
from toolguard_cli.validation import ConfigFinding
from toolguard_engine.wording import printable


def lines(found: Iterable[ConfigFinding]) -> list[Line]:
    return [line for each in found for line in _lines(each)]


def _lines(each: ConfigFinding) -> list[Line]:
    head = Line(each.level, printable.plain(f"{each.where}: {words(each)}"))
    excerpt = [Line("info", f"  {text}") for text in each.excerpt.splitlines()]
    return [head, *excerpt, *([Line("info", printable.plain(f"-> {each.fix}"))] if each.fix else [])]


def words(each: ConfigFinding) -> str:
    return printable.plain(f"{each.path}: {each.message}" if each.path else each.message)


def by_path(found: Iterable[ConfigFinding]) -> list[str]:
    """One text per path, because OpenClaw reports every accepted kind of value separately."""
    messages_by_path: dict[str, list[str]] = {}
    for each in found:
        messages_by_path.setdefault(each.path, []).append(each.message)
    paths = {path: " / ".join(dict.fromkeys(messages)) for path, messages in messages_by_path.items()}
    return [printable.plain(f"{path}: {message}" if path else message) for path, message in paths.items()]


def public(found: Iterable[ConfigFinding]) -> list[dict[str, Any]]:
    return [asdict(each) for each in found]
