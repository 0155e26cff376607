"""Whether the limits on cost and tokens can do what they are for."""

from __future__ import annotations

import time

from toolguard_cli.doctor.check_types import Check, DoctorSubject
from toolguard_engine.config import spending_limits
from toolguard_engine.config.strictness import CONVERSATION
from toolguard_engine.host import metrics_path
from toolguard_engine.metrics import database, read_database
from toolguard_engine.metrics.database import Missing
from toolguard_engine.metrics.queries import spending
from toolguard_engine.metrics.result_types import CapUse
from toolguard_engine.wording import printable

ID = "limits"


def effective(subject: DoctorSubject) -> Check:
    caps = spending_limits.caps(subject.settings.limits)
    if not caps:
        return Check(ID, "ok", "no limit on cost or tokens is set")
    now = time.time_ns() // 1_000_000
    try:
        with read_database.asked(metrics_path.resolve(subject.settings.metrics.db_path)) as connection:
            uses = spending.cap_uses(connection, caps, now)
    except Missing:
        uses = spending.cap_uses(database.in_memory(), caps, now)
    return _check(subject, uses)


def _check(subject: DoctorSubject, uses: list[CapUse]) -> Check:
    data = {"limits": [use.key for use in uses]}
    if unpriced := sorted({model for use in uses for model in use.unpriced}):
        text = f"the cost of {', '.join(unpriced)} is unknown, so its calls do not count toward USD limits"
        fix = subject.set_command(f'metrics.prices["{unpriced[0]}"]', '{"input": 3, "output": 15}')
        return Check(ID, "warn", printable.plain(text), f"{fix} (USD for a million tokens), or set a limit in tokens", data)
    if reached := [use for use in uses if use.state == "reached"]:
        text = f"the limit of {reached[0].words} is reached: agents that it covers are stopped"
        return Check(ID, "warn", printable.plain(text), f"wait, or {reached[0].raise_command}", data)
    many = f"{len(uses)} limit{'' if len(uses) == 1 else 's'} on cost and tokens, none reached"
    if subject.get(*CONVERSATION.split(".")) is True:
        return Check(ID, "ok", many, data=data)
    more = (
        "once one is reached, a run outside of chat still starts and ends at its first tool call; "
        f"with {CONVERSATION}, it does not start"
    )
    return Check(ID, "ok", f"{many}; {more}", data=data)
