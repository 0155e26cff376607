"""`toolguard config set`: changes one value, or several at once."""

from __future__ import annotations

import re
from functools import partial
from typing import Annotated

import typer

from toolguard_cli.commands.command_options import (
    DryRun,
    Offline,
    Root,
    announce_openclaw,
    command,
    command_app,
    setting_names_offered,
)
from toolguard_cli.operations import set_setting
from toolguard_cli.operations.change_setting import ChangeOptions
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal.negative_numbers import TakesNegative
from toolguard_cli.terminal.result import Result

_ASSIGNED = re.compile(r"""([^=\["'\s]+(?:\[[^\]]*\][^=\["'\s]*)*)=(.*)""", re.DOTALL)
ONE, SEVERAL = "PATH VALUE", "PATH=VALUE"

app = command_app()


@command(
    app,
    "toolguard config set mode soft",
    "toolguard config set pendingTimeoutMs 8m",
    "toolguard config set agents.main.escalationThreshold 50",
    "toolguard config set mode=soft budget.mode=shadow metrics.enabled=true",
    """toolguard config set alwaysBlock '["gateway", "nodes"]'""",
    "toolguard config set plugins.entries.toolguard.enabled true --dry-run",
    cls=TakesNegative,
)
def config_set(
    places: Places,
    words: Annotated[
        list[str],
        typer.Argument(
            metavar=f"{ONE} | {SEVERAL}...",
            help="VALUE is JSON5, or a duration like 8h if the setting is a time; anything else is a string. "
            "Put -- before a string that starts with -.",
            show_default=False,
            autocompletion=setting_names_offered,
        ),
    ],
    *,
    root: Root = False,
    dry_run: DryRun = False,
    offline: Offline = False,
    as_json: bool = False,
) -> Result:
    """Change one value, or several.

    PATH is, for example, mode, agents.main.mode or plugins.entries["a b"]. Several changes are made together or not at
    all. Before anything is written, the whole config is validated with the change. If OpenClaw is on PATH, it validates
    the config too, unless the change only concerns toolguard's own settings. A change that would keep the gateway from
    starting is refused. A backup is written beside the file.
    """
    announce = partial(announce_openclaw, offline=offline, as_json=as_json)
    options = ChangeOptions(root=root, dry_run=dry_run, offline=offline, before_asking=announce)
    return set_setting.run_all(places, pairs(words), options)


def pairs(words: list[str]) -> list[tuple[str, str]]:
    """The paths and their values."""
    assigned = [_ASSIGNED.fullmatch(word) for word in words]
    if len(words) == 2 and not assigned[0]:  # noqa: PLR2004 - a path and its value
        return [(words[0], words[1])]
    if wrong := next((word for word, match in zip(words, assigned, strict=True) if not match), None):
        hint = f"{wrong} has no value" if len(words) == 1 else f"{wrong} is not {SEVERAL}, and only one {ONE} can be given"
        raise typer.BadParameter(hint, param_hint=SEVERAL)
    return [(match[1], match[2]) for match in assigned if match]
