"""The gateway's own loop detection, beside ours."""

from __future__ import annotations

from toolguard_cli.checks.check import MEND_CONFIG, UNREAD, Check, Subject
from toolguard_engine.config import NOT_YET

ID = "loops"


def beside(subject: Subject) -> Check:
    """Both on is no fault: the gateway's comes first and looks at calls that are valid only."""
    if subject.config is None:
        return Check(ID, "warn", UNREAD, MEND_CONFIG)
    native = subject.get("tools", "loopDetection", "enabled") is True
    own = subject.settings.loop_detection.enabled is True
    data = {"native": native, "own": own}
    idle = "; toolguard's has no effect in this version" if own and "loopDetection" in NOT_YET else ""
    return Check(ID, "ok", _TOLD[native, own] + idle, data=data)


_MALFORMED = "loops of malformed calls are toolguard's in any case"
_TOLD = {
    (False, False): f"no detection of repeated valid calls is on; {_MALFORMED}",
    (False, True): "toolguard's own detection is on, the gateway's is off",
    (True, False): f"the gateway's own detection is on; {_MALFORMED}",
    (True, True): (
        "the gateway's detection and toolguard's are both on, neither hides the other: the gateway looks first, "
        "what it blocks toolguard does not judge; both count every call, so the lower threshold acts"
    ),
}
