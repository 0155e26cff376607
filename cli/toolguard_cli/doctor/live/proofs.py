"""Turns observations into checks: one pure function for each thing that is proved.

A text reaches the model verbatim if its first line is exactly what the engine wrote: a host that wraps, cuts or rewrites it
fails.
"""

from __future__ import annotations

from toolguard_cli.doctor.check_types import Check
from toolguard_cli.doctor.live.observations import AgentNotice, Forbidden, HeldObservation, Loop, Started, Valid
from toolguard_engine.wording import printable

GATEWAY, HOOKS, BLOCK, CORRECTION, STOP, APPROVAL = (
    f"live-{name}" for name in ("gateway", "hooks", "block", "correct", "stop", "approval")
)
MOST_REQUESTS = 4
"""The number of requests within which an endless malformed call must end, including the final answer."""

BLOCKED, ESCALATED = "TOOLGUARD_BLOCK|", "TOOLGUARD_ESCALATE|"
CORRECTED, LIMIT = "[TOOL ERROR]", "[TOOL ERROR LIMIT]"
SHOWN = 160
NOTHING = "nothing"

RELEASE = "update toolguard, or use a tested release of OpenClaw (docs/compatibility.md)"
NOT_LOADED = "see the plugin checks of `toolguard doctor`; `toolguard install` copies its files again"
REINSTALL = (
    "run `toolguard install`, then try again; if it still fails, use a tested release of OpenClaw (docs/compatibility.md)"
)


def gateway(seen: Started, fix: str) -> Check:
    """`fix`: the next step if the engine's interpreter does not work."""
    what = f"OpenClaw {seen.version} with the plugin from {seen.folder}"
    if not seen.engine and seen.own:
        return Check(GATEWAY, "error", f"{what}: the engine does not run with {seen.python}: {quoted(seen.own)}", fix)
    if not seen.engine:
        why = quoted(seen.about) or "its log does not mention it"
        return Check(GATEWAY, "error", f"{what}: the gateway runs, but did not load the plugin: {why}", NOT_LOADED)
    return Check(GATEWAY, "ok", f"{what} and {seen.python}: ready after {seen.seconds:.1f} s")


def hooks(seen: Valid) -> Check:
    if seen.hooks != "works" or seen.judged == 0:
        what = "judged no call" if seen.hooks == "works" else "received no message"
        return Check(HOOKS, "error", f"the gateway loads the plugin but does not call its hooks: it {what}", RELEASE)
    if seen.word not in seen.notice.first:
        return Check(HOOKS, "error", f"a harmless call failed: the model received {quoted(seen.notice.first)}", RELEASE)
    return Check(HOOKS, "ok", f"a call was judged before it ran, {_seconds(seen.notice)}")


def block(seen: Forbidden) -> Check:
    if seen.ran:
        return Check(BLOCK, "error", "a call that changes the guard's own files ran: nothing is guarded", REINSTALL)
    if not seen.notice.first:
        return Check(BLOCK, "error", f"no request to the model after a blocked call: {_ending(seen.notice)}", RELEASE)
    if not seen.reason or seen.notice.first.partition("\n")[0] != f"{BLOCKED}{seen.reason}":
        why = "the verdict does not reach the model" if seen.reason else "there was no verdict"
        return Check(BLOCK, "error", f"{why}: the model received {quoted(seen.notice.first)}", RELEASE)
    return Check(BLOCK, "ok", f"a forbidden call did not run, and the model received the reason, {_seconds(seen.notice)}")


def correction(seen: Loop) -> Check:
    if not seen.notice.first:
        return Check(CORRECTION, "error", f"no request to the model after read({{}}): {_ending(seen.notice)}", RELEASE)
    if not seen.notice.first.startswith(CORRECTED) or "'path'" not in seen.notice.first:
        return Check(CORRECTION, "error", f"for read({{}}), the model received {quoted(seen.notice.first)}", RELEASE)
    return Check(CORRECTION, "ok", "the request after read({}) says what was wrong, and how to correct it")


def stop(seen: Loop) -> Check:
    notice, after = seen.notice, seen.after
    if notice.requests > MOST_REQUESTS:
        return Check(STOP, "error", f"an endless read({{}}) was still running after {_requests(notice)}", RELEASE)
    if not notice.ok or not notice.answer.strip():
        return Check(STOP, "error", f"the loop ended without an answer: {_ending(notice)}", RELEASE)
    if not after.ok or seen.word not in after.first:
        return Check(STOP, "error", f"the session is unusable after a loop was ended: {_ending(after)}", RELEASE)
    how = f"an endless read({{}}) ended after {_requests(notice)} with {_closing(seen)}"
    return Check(STOP, "ok", f"{how}; the session can continue, {notice.seconds + after.seconds:.1f} s")


def _closing(seen: Loop) -> str:
    answer = seen.notice.answer.strip()
    if answer == seen.closing:
        return "the model's own final answer"
    if answer.startswith(LIMIT):
        return "the guard's text as the answer"
    return f"a notice of this release: {quoted(answer)}"


def approval(seen: HeldObservation) -> Check:
    if seen.unasked:
        return Check(APPROVAL, "error", "a call that needs an approval ran without one", REINSTALL)
    if not seen.nonce or not seen.notice.first.startswith(f"{ESCALATED}{seen.nonce}|"):
        why = "the nonce does not reach the model" if seen.nonce else "the call was not held"
        return Check(APPROVAL, "error", f"{why}: the model received {quoted(seen.notice.first) or NOTHING}", RELEASE)
    if seen.again is None or seen.ran != 1:
        times = f"ran {seen.ran} times" if seen.ran else "did not run"
        words = quoted(seen.again.first if seen.again else "")
        return Check(APPROVAL, "error", f"approved once, the call {times}; the model received {words or NOTHING}", RELEASE)
    took = seen.notice.seconds + seen.again.seconds
    return Check(APPROVAL, "ok", f"a held call was approved from outside and ran exactly once, {took:.1f} s")


def quoted(text: str) -> str:
    """Text from a gateway or model, as one bounded, printable line in quotes."""
    line = " ".join(printable.plain(" ".join(text.split())).split())
    return f'"{printable.cut(line, SHOWN)}"' if line else ""


def _ending(notice: AgentNotice) -> str:
    words = quoted(notice.answer) or "no answer"
    return f"after {_requests(notice)} the user got {words}"


def _requests(notice: AgentNotice) -> str:
    return f"{notice.requests} request{'s' if notice.requests != 1 else ''}"


def _seconds(notice: AgentNotice) -> str:
    return f"{notice.seconds:.1f} s"
