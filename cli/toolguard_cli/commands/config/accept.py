"""`toolguard config accept`: a person has seen what guards less than before, and means it."""

from __future__ import annotations

from toolguard_cli import asking, inside, stores, weakenings
from toolguard_cli.paths import Places
from toolguard_cli.result import Line, Result
from toolguard_engine import answers

NOTHING = "no setting is weaker than what was accepted: nothing to do"


def run(places: Places, *, yes: bool, dry_run: bool, reason: str, as_json: bool) -> Result:
    """What is shown is what is accepted: where something else became weaker meanwhile, nothing is. Raises `UserError`."""
    inside.refuse(places, weakenings.COMMAND, loosens=not dry_run)
    with stores.told():
        seen = weakenings.found(places)
        told = [weakenings.words(each) for each in seen]
        data = {"dryRun": dry_run, "accepted": [weakenings.public(each) for each in seen]}
        if not seen:
            return Result(weakenings.COMMAND, data, (Line("ok", NOTHING),))
        if dry_run:
            return Result(weakenings.COMMAND, data, tuple(Line("ok", f"would accept: {text}") for text in told))
        if not yes and not asking.confirm(told, "Accept?", as_json=as_json, what="what became weaker"):
            said = Line("info", "nothing was accepted; toolguard status goes on showing it")
            return Result(weakenings.COMMAND, {"dryRun": False, "accepted": []}, (said,), 1)
        weakenings.accept(places, seen, stores.decision(reason))
    lines = [Line("ok", answers.plain(f"accepted: {each.text}")) for each in seen]
    return Result(weakenings.COMMAND, data, (*lines, Line("info", "from here on this is what settings are compared with")))
