"""`toolguard config`: the gateway's config, and toolguard's settings in it."""

from __future__ import annotations

from toolguard_cli.commands.command_options import command_app, examples
from toolguard_cli.commands.command_table import ConfigGroup

app = command_app()


@app.callback(
    cls=ConfigGroup,
    no_args_is_help=True,
    epilog=examples(
        "toolguard config validate",
        "toolguard config show",
        "toolguard config set mode soft",
        "toolguard config unset mode",
    ),
)
def group() -> None:
    """Read, check and change the gateway's config.

    toolguard's settings are part of it. Comments, order and layout are kept; a value is changed in the file that holds it,
    which may be an included one. PATH is one of toolguard's settings, for example mode or agents.main.mode, or a path
    in the whole config, for example plugins.allow.
    """
