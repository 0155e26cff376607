"""What the gateway asks of its config at the start, and OpenClaw's own validation does not."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_cli.configtree import ConfigTree, Steps
from toolguard_cli.json5_edit import path_name
from toolguard_cli.validation.finding import Finding, finding
from toolguard_cli.validation.subject import Subject

MODE: Steps = ("gateway", "mode")


def lacks_mode(tree: ConfigTree) -> bool:
    """Whether the gateway would not start for want of its mode; not where it may lie in an include that cannot be read."""
    return not tree.problems and not tree.get(*MODE)


def has_mode(subject: Subject) -> Iterator[Finding]:
    if subject.tree.exists and lacks_mode(subject.tree):
        message = "is missing: the gateway does not start without it, whatever OpenClaw's own validation says"
        yield finding(subject.tree, MODE, "warn", message, subject.mend("config", "set", path_name(MODE), "local"))
