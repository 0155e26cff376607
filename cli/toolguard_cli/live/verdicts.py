"""What the facts mean: one function for each thing that the canary proves. Pure.

A text that the model is told counts as verbatim where its first line is, from the first character to the last, what the
engine wrote: a host that wraps, cuts or rewrites it fails.
"""

from __future__ import annotations

from toolguard_cli.checks.check import Check
from toolguard_cli.live.seen import Forbidden, Held, Loop, Started, Told, Valid
from toolguard_engine import answers

GATEWAY, HOOKS, BLOCK, CORRECTION, STOP, APPROVAL = (
    f"live-{name}" for name in ("gateway", "hooks", "block", "correct", "stop", "approval")
)
MOST_REQUESTS = 4
"""Within which an endless malformed call has to end, closing answer included."""

BLOCKED, ESCALATED = "TOOLGUARD_BLOCK|", "TOOLGUARD_ESCALATE|"
CORRECTED, LIMIT = "[TOOL ERROR]", "[TOOL ERROR LIMIT]"
SHOWN = 160
NOTHING = "nothing"

RELEASE = "update toolguard, or use a release of OpenClaw that its README lists as really run"
NOT_LOADED = "the checks of the plugin (toolguard doctor) tell why; toolguard install copies its files anew"
REINSTALL = "toolguard install, then this again; if it still fails, use a release of OpenClaw that the README lists"


def gateway(seen: Started, mend: str) -> Check:
    """`mend`: what to do about the interpreter of the engine."""
    what = f"OpenClaw {seen.version} with the plugin from {seen.folder}"
    if not seen.engine and seen.own:
        return Check(GATEWAY, "error", f"{what}: no engine of {seen.python} runs: {quoted(seen.own)}", mend)
    if not seen.engine:
        why = quoted(seen.about) or "its log does not mention it"
        return Check(GATEWAY, "error", f"{what}: it runs, but did not load the plugin: {why}", NOT_LOADED)
    return Check(GATEWAY, "ok", f"{what} and {seen.python}: ready after {seen.seconds:.1f} s")


def hooks(seen: Valid) -> Check:
    if seen.hooks != "works" or seen.judged == 0:
        what = "judged no call" if seen.hooks == "works" else "was shown no message"
        return Check(HOOKS, "error", f"the gateway loads the plugin but does not call its hooks: it {what}", RELEASE)
    if seen.word not in seen.told.first:
        return Check(HOOKS, "error", f"a harmless call was disturbed: the model was told {quoted(seen.told.first)}", RELEASE)
    return Check(HOOKS, "ok", f"a call was judged before it ran, {_seconds(seen.told)}")


def block(seen: Forbidden) -> Check:
    if seen.ran:
        return Check(BLOCK, "error", "a call that changes the guard's own files ran: nothing is guarded", REINSTALL)
    if not seen.told.first:
        return Check(BLOCK, "error", f"after a blocked call the model was not asked again: {_ending(seen.told)}", RELEASE)
    if not seen.reason or seen.told.first.partition("\n")[0] != f"{BLOCKED}{seen.reason}":
        why = "the verdict does not reach the model" if seen.reason else "there was no verdict"
        return Check(BLOCK, "error", f"{why}: it was told {quoted(seen.told.first)}", RELEASE)
    return Check(BLOCK, "ok", f"a forbidden call did not run, and the model was told why, {_seconds(seen.told)}")


def correction(seen: Loop) -> Check:
    if not seen.told.first:
        return Check(CORRECTION, "error", f"after read({{}}) the model was not asked again: {_ending(seen.told)}", RELEASE)
    if not seen.told.first.startswith(CORRECTED) or "'path'" not in seen.told.first:
        return Check(CORRECTION, "error", f"the model was told {quoted(seen.told.first)} of its read({{}})", RELEASE)
    return Check(CORRECTION, "ok", "the next request after read({}) says what was wrong, and how to do it right")


def stop(seen: Loop) -> Check:
    told, after = seen.told, seen.after
    if told.requests > MOST_REQUESTS:
        return Check(STOP, "error", f"an endless read({{}}) was still going on after {_requests(told)}", RELEASE)
    if not told.ok or not told.answer.strip():
        return Check(STOP, "error", f"the loop ended, but without an answer: {_ending(told)}", RELEASE)
    if not after.ok or seen.word not in after.first:
        return Check(STOP, "error", f"the session cannot be used after a loop was ended: {_ending(after)}", RELEASE)
    how = f"an endless read({{}}) ended after {_requests(told)} with {_closing(seen)}"
    return Check(STOP, "ok", f"{how}; the session goes on, {told.seconds + after.seconds:.1f} s")


def _closing(seen: Loop) -> str:
    answer = seen.told.answer.strip()
    if answer == seen.closing:
        return "the model's own closing answer"
    if answer.startswith(LIMIT):
        return "the guard's text as the answer"
    return f"a notice of this release: {quoted(answer)}"


def approval(seen: Held) -> Check:
    if seen.unasked:
        return Check(APPROVAL, "error", "a call that needs an approval ran without one", REINSTALL)
    if not seen.nonce or not seen.told.first.startswith(f"{ESCALATED}{seen.nonce}|"):
        why = "the nonce does not reach the model" if seen.nonce else "the call was not held"
        return Check(APPROVAL, "error", f"{why}: it was told {quoted(seen.told.first) or NOTHING}", RELEASE)
    if seen.again is None or seen.ran != 1:
        times = f"ran {seen.ran} times" if seen.ran else "did not run"
        words = quoted(seen.again.first if seen.again else "")
        return Check(APPROVAL, "error", f"approved once, the call {times}; the model was told {words or NOTHING}", RELEASE)
    took = seen.told.seconds + seen.again.seconds
    return Check(APPROVAL, "ok", f"a held call was approved from outside and ran exactly once, {took:.1f} s")


def quoted(text: str) -> str:
    """Words of a gateway, in one printable line."""
    line = " ".join(answers.plain(" ".join(text.split())).split())
    return f'"{answers.cut(line, SHOWN)}"' if line else ""


def _ending(told: Told) -> str:
    words = quoted(told.answer) or "no words"
    return f"after {_requests(told)} the person got {words}"


def _requests(told: Told) -> str:
    return f"{told.requests} request{'s' if told.requests != 1 else ''}"


def _seconds(told: Told) -> str:
    return f"{told.seconds:.1f} s"
