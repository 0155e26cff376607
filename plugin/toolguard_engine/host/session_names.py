"""Sessions that come anew with each run.

The gateway gives each run of an automation a session of its own: `agent:<id>:cron:<job>:run:<uuid>`. What a person decides
about a call of that automation is meant for its next run as well.
"""

from __future__ import annotations

import re

from toolguard_engine import lazy_re

_RUN_OF_JOB = lazy_re.compile(r"((?:agent:[^:]+:)?cron:[^:]+):run:[^:]+", re.DOTALL)


def lasting(session: str) -> str:
    """The automation to which a run's session belongs; any other session as it is."""
    match = _RUN_OF_JOB.fullmatch(session) if ":run:" in session else None
    return match[1] if match else session
