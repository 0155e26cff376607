"""Texts for the model about held and blocked calls.

The first line follows the block-reason protocol: `<PREFIX>_ESCALATE|<nonce>|<reason>` or `<PREFIX>_BLOCK|<reason>`. The
second says what to do. Reasons are one line, redacted and bounded, so that a call cannot inject lines.
"""

from __future__ import annotations

from toolguard_engine.model.call import Call
from toolguard_engine.wording import correction, redact
from toolguard_engine.wording.visible_text import one_line, visible_cut

MAX_REASON = 300
MAX_CALL = 20_000
HEAD, TAIL = 3_000, 900
"""Characters shown of the two ends of a longer call: what matters may come last."""


def shown(call: Call) -> str:
    """A call for its approver: one line, redacted, as complete as possible; omitted characters are counted."""
    return disclosed(call)[0]


def disclosed(call: Call) -> tuple[str, bool]:
    """`shown`, and whether nothing but secrets was left out."""
    params, whole = redact.disclose(call.params)
    text = f"{correction.name(call.tool)}({redact.render(params)})"
    return (text, whole) if len(text) <= MAX_CALL else (_ends(text, HEAD, TAIL), False)


def ends(text: str, limit: int) -> str:
    """A shown call in at most `limit` characters: whole, or its two ends."""
    both = limit - len(" ...[1234567 characters not shown]... ")
    return text if len(text) <= limit else _ends(text, both - both // 2, both // 2)


def _ends(text: str, head: int, tail: int) -> str:
    return f"{text[:head]} ...[{len(text) - head - tail} characters not shown]... {text[-tail:]}"


def held(prefix: str, nonce: str, reason: str, call_shown: str, *, signed: bool = False) -> str:
    """The call is held for the first time. `call_shown`: as `shown` shows it; `signed`: as for `how`."""
    return (
        f"{prefix}_ESCALATE|{nonce}|{line(reason)} Call: {redact.cut(call_shown, MAX_REASON)}\n"
        f"{how(nonce, signed=signed)} Tell the user this, and why you need it. "
        "Do not repeat the call until they have approved it."
    )


def still_held(prefix: str, nonce: str, *, signed: bool = False) -> str:
    """The same call again, while it waits."""
    return (
        f"{prefix}_ESCALATE|{nonce}|This call is already waiting for a decision.\n"
        "Do not repeat it. End your turn now: tell the user what you want to do, and how to approve it: "
        f"{how(nonce, signed=signed)}"
    )


def ends_waiting(nonces: list[str], *, signed: bool = False) -> str:
    """The run ends because its calls wait."""
    waiting = "a call is waiting" if len(nonces) == 1 else f"{len(nonces)} calls are waiting"
    return f"This turn ends here: {waiting} for approval.\n" + "\n".join(how(nonce, signed=signed) for nonce in nonces)


def how(nonce: str, *, signed: bool = False) -> str:
    """How to approve, in one line. `signed`: it needs a signature, which a chat cannot make."""
    if signed:
        return f"Approve with `toolguard approve {nonce}` in a terminal, which signs the approval."
    return f"Approve with `toolguard approve {nonce}` in a terminal or `/toolguard approve {nonce}` in chat."


def denied(prefix: str, why: str) -> str:
    reason = f": {line(why)}" if why else ""
    return (
        f"{prefix}_BLOCK|A person denied this call{reason}.\n"
        "Do not retry it, and do not try to get the same result another way. Tell the user, and ask what they want instead."
    )


def blocked(prefix: str, reason: str) -> str:
    """A rule blocks the call, and no approval is possible."""
    return f"{prefix}_BLOCK|{line(reason)}\nThis cannot be approved. Do not retry it; tell the user why it was blocked."


def stopped(prefix: str, why: str) -> str:
    """The kill switch is on."""
    return (
        f"{prefix}_BLOCK|The kill switch is on: {line(why)}\n"
        "No tool call by any agent runs until a person switches it off (toolguard kill-switch off). "
        "Tell the user this, and stop."
    )


def stopped_by_fleet(prefix: str, why: str) -> str:
    """The fleet's kill switch is on, or its state is unknown for too long."""
    return (
        f"{prefix}_BLOCK|The fleet has stopped this gateway: {line(why)}\n"
        "No tool call by any agent runs until somebody in the fleet's team changes that. Tell the user this, and stop."
    )


def out_of_order(prefix: str, code: str) -> str:
    """The stores do not work, so nothing can be approved."""
    return (
        f"{prefix}_BLOCK|This call needs a person's approval, but approvals are unavailable ({code}).\n"
        "Do not retry it. Tell the user to run `toolguard doctor`."
    )


def not_now(prefix: str, reason: str) -> str:
    """The call needs an approval, and whether it has one is not known now."""
    return f"{prefix}_BLOCK|This call needs a person's approval, but {reason}.\nIf it is still needed, repeat it once."


def not_signed(prefix: str, reason: str) -> str:
    """The approval of the call has no valid signature."""
    return (
        f"{prefix}_BLOCK|This call did not run: {line(reason)}.\n"
        "Tell the user this. If the call is still needed, repeat it once: it is then held under a new nonce."
    )


def undecided(prefix: str, code: str) -> str:
    """The guard reached no verdict: it could not read the request, or has a bug."""
    return (
        f"{prefix}_BLOCK|The guard could not judge this call, so it does not run ({code}).\n"
        "Do not repeat it unchanged; a simpler call may work. Tell the user to run `toolguard audit show`."
    )


def rewritten(prefix: str, tool: str) -> str:
    """Another plugin changed a judged call, and the changed one ran."""
    changed = f"Another plugin changed a call to {correction.name(tool)} after it was judged"
    return (
        f"{prefix}_BLOCK|{changed}; the changed call would not have been allowed.\n"
        "This turn ends here. Tell the user to check the gateway's log and `toolguard audit show`."
    )


def approved(nonce: str, call_shown: str) -> str:
    """Wakes the agent after an approval."""
    return (
        f"[TOOLGUARD] The user approved the call that waited under {nonce}: {redact.cut(call_shown, MAX_REASON)}\n"
        "Repeat exactly this call now, with the same arguments; it runs once. Then continue."
    )


def go_on(nonce: str, call_shown: str) -> str:
    """Wakes the agent after a checkpoint."""
    call = redact.cut(call_shown, MAX_REASON)
    return (
        f"[TOOLGUARD] The user ran a checkpoint; the call that was held under {nonce} is no longer waiting: {call}\n"
        "If it is still wanted, try it again now. Then continue."
    )


def revived(nonce: str, call_shown: str) -> str:
    """Wakes the agent after a person has revived a call that nobody had answered in time, or that did not run in time."""
    call = redact.cut(call_shown, MAX_REASON)
    return (
        f"[TOOLGUARD] The user is back. The call under {nonce} did not run in time: {call}\n"
        "If it is still needed, make it again now, with the same arguments; it is held again and the user can approve it."
    )


def line(text: str) -> str:
    """A reason as one printable line, redacted and bounded."""
    return visible_cut(one_line(redact.redact_text(text)), MAX_REASON, len(text))
