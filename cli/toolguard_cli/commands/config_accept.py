"""`toolguard config accept`: a user accepts settings that guard less than before."""

from __future__ import annotations

from toolguard_cli.commands.command_options import DryRun, Reason, Yes, command, command_app
from toolguard_cli.hostconfig import gateway_stores
from toolguard_cli.person import require_human
from toolguard_cli.policy import accepted_view
from toolguard_cli.system.paths import Places
from toolguard_cli.terminal import confirm as asking
from toolguard_cli.terminal.result import Line, Result
from toolguard_engine.wording import printable

NOTHING = "no setting is weaker than what was accepted: nothing to do"

app = command_app()


@command(app, "toolguard config accept", "toolguard config accept --dry-run", "toolguard config accept --yes --json")
def run(places: Places, *, yes: Yes = False, reason: Reason = "", dry_run: DryRun = False, as_json: bool = False) -> Result:
    """Accept settings that have become weaker.

    If the gateway runs with weaker settings than before, status, doctor and the dashboard report it until a person
    accepts or restores them. Shows all of them and asks for confirmation.
    """
    require_human.refuse(places, accepted_view.COMMAND, loosens=not dry_run)
    with gateway_stores.user_errors():
        seen = accepted_view.load(places)
        texts = [accepted_view.describe(notice) for notice in seen]
        data = {"dryRun": dry_run, "accepted": [accepted_view.public(notice) for notice in seen]}
        if not seen:
            return Result(accepted_view.COMMAND, data, (Line("ok", NOTHING),))
        if dry_run:
            return Result(accepted_view.COMMAND, data, tuple(Line("ok", f"would accept: {text}") for text in texts))
        # only what was shown is accepted: nothing, if something else became weaker meanwhile
        if not yes and not asking.confirm(texts, "Accept?", as_json=as_json, what="the weaker settings"):
            message = Line("info", "nothing was accepted; toolguard status keeps reporting these settings")
            return Result(accepted_view.COMMAND, {"dryRun": False, "accepted": []}, (message,), 1)
        accepted_view.accept(places, seen, gateway_stores.decision(reason))
    lines = [Line("ok", printable.plain(f"accepted: {notice.text}")) for notice in seen]
    lines.append(Line("info", "from now on, settings are compared with the accepted ones"))
    return Result(accepted_view.COMMAND, data, tuple(lines))
