"""What the model is told about calls that wait for a person, and about those that never run.

The first line follows the block-reason protocol: `<PREFIX>_ESCALATE|<nonce>|<reason>` or `<PREFIX>_BLOCK|<reason>`. The
second says what to do. Reasons are one line, redacted and bounded, so that a call cannot write lines of its own.
"""

from __future__ import annotations

from toolguard_engine import redact, texts
from toolguard_engine.model import Call

MAX_REASON = 300
MAX_CALL = 20_000
HEAD, TAIL = 3_000, 900
"""Of a longer call both ends are shown: what matters may stand last."""


def shown(call: Call) -> str:
    """A call for the person who decides: one line, redacted, as whole as it can be; what is left out is counted."""
    return disclosed(call)[0]


def disclosed(call: Call) -> tuple[str, bool]:
    """The same, and whether that is all of it but for secrets."""
    params, whole = redact.disclose(call.params)
    text = f"{texts.name(call.tool)}({redact.render(params)})"
    return (text, whole) if len(text) <= MAX_CALL else (_ends(text, HEAD, TAIL), False)


def ends(text: str, limit: int) -> str:
    """A call that was made fit to be shown, in at most `limit` characters: whole, or its two ends."""
    both = limit - len(" ...[1234567 characters not shown]... ")
    return text if len(text) <= limit else _ends(text, both - both // 2, both // 2)


def _ends(text: str, head: int, tail: int) -> str:
    return f"{text[:head]} ...[{len(text) - head - tail} characters not shown]... {text[-tail:]}"


def held(prefix: str, nonce: str, reason: str, call: Call) -> str:
    """The first time that this call asks."""
    return (
        f"{prefix}_ESCALATE|{nonce}|{line(reason)} Call: {redact.cut(shown(call), MAX_REASON)}\n"
        f"{how(nonce)} Tell the user so, and why you need it. Do not repeat the call before they have approved it."
    )


def still_held(prefix: str, nonce: str) -> str:
    """The same call again while it waits."""
    return (
        f"{prefix}_ESCALATE|{nonce}|This very call waits already; nobody has decided yet.\n"
        f"Do not repeat it. End your turn now with an answer that tells the user what you want to do, and this: {how(nonce)}"
    )


def ends_waiting(nonces: list[str]) -> str:
    """The run ends because its calls wait."""
    one = len(nonces) == 1
    return f"This turn ends here: {'a call waits' if one else f'{len(nonces)} calls wait'} for approval.\n" + "\n".join(
        how(nonce) for nonce in nonces
    )


def how(nonce: str) -> str:
    """The one line that tells how to approve."""
    return f"Approve with `toolguard approve {nonce}` in a terminal or `/toolguard approve {nonce}` in chat."


def denied(prefix: str, why: str) -> str:
    told = f": {line(why)}" if why else ""
    return (
        f"{prefix}_BLOCK|A person denied this call{told}.\n"
        "Do not retry it, and do not try to reach the same in another way. Tell the user, and ask what they want instead."
    )


def blocked(prefix: str, reason: str) -> str:
    """A rule that no approval lifts."""
    return f"{prefix}_BLOCK|{line(reason)}\nThis cannot be approved. Do not retry it; tell the user why it was blocked."


def stopped(prefix: str, why: str) -> str:
    """The kill switch is on."""
    return (
        f"{prefix}_BLOCK|The kill switch is on: {line(why)}\n"
        "No tool call of any agent runs until a person switches it off (toolguard kill-switch off). "
        "Tell the user so, and stop."
    )


def out_of_order(prefix: str, code: str) -> str:
    """The stores cannot be used, so nothing can be approved."""
    return (
        f"{prefix}_BLOCK|This call needs a person's approval, and approvals are out of order ({code}).\n"
        "Do not retry it. Tell the user to run `toolguard doctor`."
    )


def undecided(prefix: str, code: str) -> str:
    """The guard came to no verdict: it could not read the question, or has a bug."""
    return (
        f"{prefix}_BLOCK|The guard could not judge this call, so it does not run ({code}).\n"
        "Do not repeat it as it is; a simpler call may do. Tell the user to run `toolguard audit show`."
    )


def rewritten(prefix: str, tool: str) -> str:
    """Another plugin made something else of a judged call, and that ran."""
    changed = f"Another plugin changed a call of {texts.name(tool)} after it had been judged"
    return (
        f"{prefix}_BLOCK|{changed}; what ran would not have been let through.\n"
        "This turn ends here. Tell the user to look into the gateway's log and `toolguard audit show`."
    )


def approved(nonce: str, seconds: int, call_shown: str) -> str:
    """Wakes the agent."""
    return (
        f"[TOOLGUARD] The user approved the call that waited under {nonce}: {redact.cut(call_shown, MAX_REASON)}\n"
        f"Repeat exactly this call now, within {seconds} seconds and with the same arguments; it will run once. Then go on."
    )


def go_on(nonce: str, call_shown: str) -> str:
    """Wakes the agent after a checkpoint."""
    call = redact.cut(call_shown, MAX_REASON)
    return (
        f"[TOOLGUARD] The user gave a checkpoint; the call that was held under {nonce} waits no more: {call}\n"
        "If it is still wanted, try it again now. Then go on."
    )


def line(text: str) -> str:
    """A reason in one printable line."""
    clean = redact.redact_text(text)
    whole = clean if len(clean) <= MAX_REASON else f"{clean[:MAX_REASON]}... ({len(text)} characters)"
    return redact.UNPRINTABLE.sub(" ", whole)
