"""What the gateway requires of its config at the start, but OpenClaw's own validation does not check."""

from __future__ import annotations

from collections.abc import Iterator

from toolguard_cli.hostconfig.config_tree import ConfigTree, Steps
from toolguard_cli.hostconfig.finding import ConfigFinding, finding
from toolguard_cli.hostconfig.json5_edit import path_name
from toolguard_cli.validation.subject import ConfigSubject

MODE: Steps = ("gateway", "mode")


def lacks_mode(tree: ConfigTree) -> bool:
    """Whether the gateway would not start without its mode; false if it may be in an unreadable include."""
    return not tree.problems and not tree.get(*MODE)


def has_mode(subject: ConfigSubject) -> Iterator[ConfigFinding]:
    if subject.tree.exists and lacks_mode(subject.tree):
        message = "is missing: the gateway does not start without it, although OpenClaw's own validation passes"
        yield finding(subject.tree, MODE, "warn", message, subject.command("config", "set", path_name(MODE), "local"))
