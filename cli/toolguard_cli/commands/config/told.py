"""Findings as a person reads them, and as a script does."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from toolguard_cli.result import Line
from toolguard_cli.validation import Finding
from toolguard_engine import answers


def lines(found: Iterable[Finding]) -> list[Line]:
    """Each with its place, the line of the file with a caret, and the next step."""
    return [line for each in found for line in _lines(each)]


def _lines(each: Finding) -> list[Line]:
    head = Line(each.level, answers.plain(f"{each.where}: {words(each)}"))
    excerpt = [Line("info", f"  {text}") for text in each.excerpt.splitlines()]
    return [head, *excerpt, *([Line("info", answers.plain(f"-> {each.fix}"))] if each.fix else [])]


def words(each: Finding) -> str:
    return answers.plain(f"{each.path}: {each.message}" if each.path else each.message)


def by_path(found: Iterable[Finding]) -> list[str]:
    """One text for each path, however much is said about it: OpenClaw tells each kind of value that would have done."""
    said: dict[str, list[str]] = {}
    for each in found:
        said.setdefault(each.path, []).append(each.message)
    paths = {path: " / ".join(dict.fromkeys(messages)) for path, messages in said.items()}
    return [answers.plain(f"{path}: {message}" if path else message) for path, message in paths.items()]


def with_tabs(text: str) -> str:
    """A line of a file for the terminal; tabs indent it, and nothing else moves anything."""
    return "\t".join(map(answers.plain, text.split("\t")))


def public(found: Iterable[Finding]) -> list[dict[str, Any]]:
    return [asdict(each) for each in found]
