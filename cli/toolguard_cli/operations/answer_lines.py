"""Config findings as lines for the terminal and as data for scripts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import Any

from toolguard_cli.terminal.result import Line
from toolguard_cli.validation import ConfigFinding
from toolguard_engine.wording import printable


def lines(findings: Iterable[ConfigFinding]) -> list[Line]:
    return [line for finding in findings for line in _lines(finding)]


def _lines(finding: ConfigFinding) -> list[Line]:
    head = Line(finding.level, printable.plain(f"{finding.where}: {describe(finding)}"))
    excerpt = [Line("info", f"  {text}") for text in finding.excerpt.splitlines()]
    return [head, *excerpt, *([Line("info", printable.plain(f"-> {finding.fix}"))] if finding.fix else [])]


def describe(finding: ConfigFinding) -> str:
    return printable.plain(f"{finding.path}: {finding.message}" if finding.path else finding.message)


def by_path(findings: Iterable[ConfigFinding]) -> list[str]:
    """One text per path, because OpenClaw reports every accepted kind of value separately."""
    messages_by_path: dict[str, list[str]] = {}
    for finding in findings:
        messages_by_path.setdefault(finding.path, []).append(finding.message)
    paths = {path: " / ".join(dict.fromkeys(messages)) for path, messages in messages_by_path.items()}
    return [printable.plain(f"{path}: {message}" if path else message) for path, message in paths.items()]


def public(findings: Iterable[ConfigFinding]) -> list[dict[str, Any]]:
    return [asdict(finding) for finding in findings]
